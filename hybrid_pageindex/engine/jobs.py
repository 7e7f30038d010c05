"""The job queue of a home: list, follow, pause, cancel, retry and run jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybrid_core.errors import Advice, ConflictError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import unwritable
from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import JobOffers, Offer, Workers
from hybrid_core.system import Reach
from hybrid_core.text.prose import counted
from hybrid_core.types.jobs import ACTIVE, CANCELLED, Job, JobStatus, Worker, WorkKind
from hybrid_pageindex.engine.concurrency import ignore_progress, read_in_thread, stoppable
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.index.worker import work
from hybrid_pageindex.engine.job_views import (
    STATUSES,
    JobAction,
    JobChoice,
    JobDecision,
    JobHistory,
    JobList,
    JobNews,
    JobView,
    state,
)

if TYPE_CHECKING:
    from indexers.jobs.report import IndexProgress

_AT_ONCE = 500


class JobsEngine(SubEngine, subject="jobs"):
    """List, follow, pause, cancel, retry and run the jobs of a home."""

    async def get(self, id: int) -> JobHistory:
        """Return a job with its events. Raise NotFoundError for an unknown job."""
        return await read_in_thread(lambda: _Jobs(self._context.catalog).history(id))

    async def pause(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Pause jobs by number, the jobs of a library, or all, until ``resume``, even across restarts.

        Running jobs stop after their current pages. Like ``resume``, ``cancel``, ``retry`` and ``forget``, it raises
        UsageError unless exactly one selection is given, and NotFoundError for an unknown job.
        """
        return await self._decided("pause", ids, library, everything)

    async def resume(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Resume paused jobs. ``everything`` ends every pause. Arguments and errors are those of ``pause``."""
        return await self._decided("resume", ids, library, everything)

    async def cancel(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Cancel waiting jobs at once, and running jobs within seconds. Published documents stay."""
        return await self._decided("cancel", ids, library, everything)

    async def retry(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Queue failed jobs again. Cancelled jobs are queued again only if they are named by number."""
        return await self._decided("retry", ids, library, everything)

    async def forget(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Delete the records of ended jobs. Documents stay."""
        return await self._decided("forget", ids, library, everything)

    async def _decided(
        self, action: JobAction, ids: tuple[int, ...], library: str | None, everything: bool
    ) -> JobDecision:
        choice = JobChoice(ids, library, everything)
        return await asyncio.to_thread(lambda: _Jobs(self._context.catalog, self._context.reach).decide(action, choice))

    async def events(
        self, after: int | None = None, *, job: int | None = None, libraries: Sequence[str] | None = None
    ) -> JobNews:
        """Return the events after event number ``after``, of one job or of the libraries with these ids.

        ``state`` contains the current jobs if ``after`` is None or if some events after it were already deleted.
        """
        return await read_in_thread(lambda: _job_news(self._context.catalog, after, job, libraries))

    async def waits(self) -> bool:
        """Return whether jobs wait in the queue. Return False in a read-only home, which has no workers."""
        if unwritable(self._context.home):
            return False
        return await read_in_thread(lambda: JobReader(self._context.catalog).counts().waiting > 0)

    async def offers(self, limit: int) -> list[Offer]:
        """Return the jobs that workers could run now: at most ``limit`` of each kind, most urgent first.

        Dispatchers such as Celery send their numbers to workers.
        """
        limits = self._context.settings.part(JobLimits)
        return await asyncio.to_thread(lambda: JobOffers(self._context.catalog, limits=limits).all(limit))

    async def work(
        self,
        *,
        concurrency: int | None = None,
        on_progress: Callable[[IndexProgress], None] | None = None,
        enough: Callable[[], bool] | None = None,
        kind: WorkKind | None = None,
    ) -> None:
        """Process queued jobs of all callers until the task is cancelled. Unfinished jobs return to the queue.

        ``concurrency`` is the number of parsing processes (default: the setting ``workers``). With ``enough``, return
        once the queue is empty and ``enough()`` is true. ``kind`` ("index" or "embed") restricts the jobs.
        """
        progress, finished = on_progress or ignore_progress, enough or (lambda: False)
        await stoppable(
            lambda stop: work(
                self._context.parts, self._context.settings, concurrency, progress, stop, finished, kind=kind
            )
        )

    async def work_on(self, job: int) -> None:
        """Run one job by its number, with the stages that this process can run. Queue the remaining stages again.

        Do nothing if the job has ended or another worker holds it, so a dispatcher may send a number twice.
        """
        work_on_job = partial(work, self._context.parts, self._context.settings, None, ignore_progress)
        await stoppable(lambda stop: work_on_job(stop, lambda: True, job))

    def hand_back(self) -> None:
        """From now on, leave the jobs of cancelled calls in the queue, so that other workers can run them."""
        self._context.parts.leaving.set()

    async def list(self, *, library: str | None = None, status: Sequence[JobStatus] = (), limit: int = 100) -> JobList:
        """Return the running and waiting jobs and the most recent ended ones, of one library or all."""
        return await read_in_thread(lambda: _Jobs(self._context.catalog).listed(library, status, limit))

    async def path(self, address: str, *, library: str) -> str | None:
        """Return the path of a file that a waiting or running job of a library indexes, None without such a job.

        ``address`` is that path or the id of its document. Raise NotFoundError for an unknown library.
        """
        return await read_in_thread(lambda: _Jobs(self._context.catalog).path(address, library))


class _Jobs:
    """Blocking versions of the methods of ``JobsEngine``."""

    def __init__(self, catalog: Catalog, reach: Reach | None = None) -> None:
        self._catalog, self._reach = catalog, reach
        self._reader, self._control, self._workers = JobReader(catalog), JobControl(catalog), Workers(catalog)

    def listed(self, library: str | None, status: Collection[JobStatus], limit: int) -> JobList:
        """Return running, then waiting, then ended jobs, newest first, at most ``limit``.

        Without ``status`` include jobs of every status. Raise NotFoundError for an unknown library, UsageError for an
        unknown status.
        """
        if wrong := set(status) - set(STATUSES):
            raise UsageError(f"'{min(wrong)}' is not the status of a job.", f"Choose from {', '.join(STATUSES)}.")
        id = None if library is None else self._library(library)
        jobs = self._reader.listed(library=id, status=status or None, limit=limit)
        names = self._names()
        paused = [self._paused(scope, name, names) for scope, name in self._control.pauses()]
        workers = tuple(self._workers.all())
        return JobList(self._views(jobs, names, workers), self._reader.counts(library=id), tuple(paused), workers)

    def path(self, address: str, library: str) -> str | None:
        from indexers.files.identity import usual_id

        id = self._library(library)
        paths = self._reader.active_subjects(id)
        return next((path for path in paths if address in (path, usual_id(id, path))), None)

    def history(self, id: int) -> JobHistory:
        """Return a job with its events. Raise NotFoundError for an unknown job."""
        job = self._reader.job(id)
        [view] = self._views([job], self._names(), self._workers.all())
        return JobHistory(view, tuple(self._reader.events(job=id, limit=10_000)))

    def decide(self, action: JobAction, choice: JobChoice) -> JobDecision:
        """Carry out an action on the chosen jobs. Raise UsageError for an unclear choice, NotFoundError for an unknown
        job.
        """
        choice.check()
        decisions = {
            "pause": self._pause, "resume": self._resume, "cancel": self._cancel, "retry": self._retry,
            "forget": self._forget,
        }  # fmt: skip
        return decisions[action](choice)

    def _pause(self, choice: JobChoice) -> JobDecision:
        for job in self._named(choice):
            if job.ended:
                raise ConflictError(
                    f"Job {job.id} cannot be paused, because its status is {job.status}.",
                    Advice(
                        "Only waiting and running jobs can be paused.",
                        "Only waiting and running jobs can be paused: jobs list shows them.",
                    ),
                )
            self._control.pause("job", str(job.id))
        if choice.library is not None:
            self._control.pause("library", self._library(choice.library))
        elif choice.everything:
            self._control.pause("all")
        return JobDecision(choice.ids, f"{_what(choice)} paused until resumed.")

    def _resume(self, choice: JobChoice) -> JobDecision:
        if choice.library is not None:
            resumed = self._control.resume("library", self._library(choice.library))
        elif choice.everything:
            resumed = self._control.resume("all")
        else:
            resumed = bool(sum(self._control.resume("job", str(job.id)) for job in self._named(choice)))
        return JobDecision(choice.ids, f"{_what(choice)} {'resumed' if resumed else 'not paused'}.")

    def _cancel(self, choice: JobChoice) -> JobDecision:
        """Cancel jobs. Published documents stay."""
        self._named(choice)
        ended = self._control.cancel(choice.ids or None, library=self._id(choice), cause=CANCELLED)
        running = sum(job.status == "running" for job in self._reader.jobs(ended))
        soon = f"; {running} of them still run and end within seconds" if running else ""
        return JobDecision(tuple(ended), f"{counted(len(ended), 'job')} cancelled{soon}. Published documents stay.")

    def _retry(self, choice: JobChoice) -> JobDecision:
        """Queue failed jobs again, and also cancelled jobs that are named."""
        self._named(choice)
        # a server reads no more than it may, even if the command line asked first
        options = {} if self._reach is None else {"roots": list(map(str, self._reach.roots))}
        again = self._control.retry(choice.ids or None, library=self._id(choice), options=options)
        return JobDecision(tuple(again), f"{counted(len(again), 'job waits', 'jobs wait')} again.")

    def _forget(self, choice: JobChoice) -> JobDecision:
        """Delete the records of ended jobs; documents stay. Raise ConflictError if a named job has not ended."""
        named = self._named(choice)
        if going := [job.id for job in named if not job.ended]:
            raise ConflictError(
                f"Job {going[0]} cannot be deleted, because it has not ended.",
                Advice("Cancel the job first.", "Cancel the job first: jobs cancel."),
            )
        gone = self._control.forget(choice.ids or None, library=self._id(choice))
        return JobDecision(choice.ids, f"{counted(gone, 'job')} deleted from the list.")

    def _named(self, choice: JobChoice) -> list[Job]:
        """Return the jobs named by number. Raise NotFoundError for an unknown job."""
        return [self._reader.job(id) for id in choice.ids]

    def _id(self, choice: JobChoice) -> str | None:
        return None if choice.library is None else self._library(choice.library)

    def _library(self, name: str) -> str:
        with self._catalog.snapshot() as snapshot:
            return snapshot.library(name).id

    def _names(self) -> Mapping[str, str]:
        with self._catalog.snapshot() as snapshot:
            return {library.id: library.name for library in snapshot.named_libraries()}

    def _views(self, jobs: Sequence[Job], names: Mapping[str, str], workers: Sequence[Worker]) -> tuple[JobView, ...]:
        ahead = self._reader.ahead([job.id for job in jobs if job.status == "waiting"])
        return tuple(
            JobView(job, names.get(job.library, job.library), state(job, ahead.get(job.id, 0), workers)) for job in jobs
        )

    @staticmethod
    def _paused(scope: str, name: str, names: Mapping[str, str]) -> str:
        return {"all": "everything", "library": f"library {names.get(name, name)}", "job": f"job {name}"}[scope]


def _what(choice: JobChoice) -> str:
    if choice.ids:
        return f"{'Job' if len(choice.ids) == 1 else 'Jobs'} {', '.join(map(str, choice.ids))}:"
    return f"Library {choice.library}:" if choice.library is not None else "All jobs:"


_AT_ONCE = 500


def _job_news(catalog: Catalog, after: int | None, job: int | None, libraries: Sequence[str] | None) -> JobNews:
    """Return the job events after a number, or the current jobs if these events are missing.

    Raise NotFoundError for an unknown job.
    """
    reader = JobReader(catalog)
    last = reader.last_event()  # read before the state, so that a concurrent event is reported twice rather than never
    if after is not None and not _missing(reader, after, last):
        events = reader.events(after, job=job, library=libraries, limit=_AT_ONCE)
        number = events[-1].number if len(events) == _AT_ONCE else max(last, after)
        return JobNews(max([number, *(event.number for event in events)]), tuple(events))
    if job is not None:
        return JobNews(last, (), (_Jobs(catalog).history(job).view,))
    views = _Jobs(catalog).listed(None, ACTIVE, _AT_ONCE).jobs
    shown = tuple(view for view in views if libraries is None or view.job.library in libraries)
    return JobNews(last, (), shown)


def _missing(reader: JobReader, after: int, last: int) -> bool:
    """Return whether events after event number ``after`` were deleted, or ``after`` is from a cleared catalog."""
    return after > last or (after < last and reader.oldest_event() > after + 1)
