"""The jobs of a home: list them, follow their events, and pause, resume, cancel, retry or forget them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from hybrid_core.errors import Advice, ConflictError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.text.prose import counted
from hybrid_core.types.jobs import ACTIVE, Job, JobCounts, JobEvent, JobStatus, Worker

JobAction = Literal["pause", "resume", "cancel", "retry", "forget"]
STATUSES: tuple[JobStatus, ...] = ("waiting", "running", "done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class JobChoice:
    """A selection of jobs: by number, by library, or all."""

    ids: tuple[int, ...] = ()
    library: str | None = None
    everything: bool = False

    def check(self) -> None:
        """Raise UsageError unless exactly one of the three ways to select is used."""
        if bool(self.ids) + (self.library is not None) + self.everything != 1:
            raise UsageError("It is not clear which jobs are meant.", "Name jobs by number, or a library, or all.")


@dataclass(frozen=True, slots=True)
class JobView:
    """A job for display: with the name of its library, and ``state``, a sentence on what it does or waits for.

    ``reason`` in its JSON is an error code, "" if none is known.
    """

    job: Job
    library: str
    state: str

    def to_dict(self) -> dict[str, Any]:
        job = self.job
        return {
            "id": job.id, "library": self.library, "kind": job.kind, "subject": job.subject, "status": job.status,
            "stage": job.stage, "state": self.state, "done": job.done, "total": job.total, "attempts": job.attempts,
            "paused": job.paused, "stalled": job.stalled, "cause": job.cause, "priority": job.priority,
            "reason": job.result.get("reason", ""),
            "worker": job.worker, "created_at": at(job.created_at), "started_at": at(job.started_at),
            "finished_at": at(job.finished_at),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobList:
    """Jobs for display. ``counts`` cover all jobs of the library, or of all; ``paused`` describes the pauses."""

    jobs: tuple[JobView, ...]
    counts: JobCounts
    paused: tuple[str, ...]
    workers: tuple[Worker, ...]

    def to_dict(self) -> dict[str, Any]:
        counts = {status: getattr(self.counts, status) for status in STATUSES}
        return {
            "jobs": [view.to_dict() for view in self.jobs], "counts": counts, "paused": list(self.paused),
            "workers": [
                {"id": worker.id, "host": worker.host, "pid": worker.pid, "kind": worker.kind}
                for worker in self.workers
            ],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobHistory:
    view: JobView
    events: tuple[JobEvent, ...]

    def to_dict(self) -> dict[str, Any]:
        job = self.view.job
        events = [{"at": at(event.at), "kind": event.kind, **event.detail} for event in self.events]
        more = {"options": dict(job.options), "needs": sorted(job.needs), "result": dict(job.result)}
        return self.view.to_dict() | more | {"events": events}


@dataclass(frozen=True, slots=True)
class JobDecision:
    """The outcome of pausing, resuming, cancelling, retrying or forgetting: the job numbers, and a sentence for the
    user.
    """

    jobs: tuple[int, ...]
    said: str


class Jobs:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._reader, self._control, self._workers = JobReader(catalog), JobControl(catalog), Workers(catalog)

    def listed(self, library: str | None, status: Collection[JobStatus], most: int) -> JobList:
        """Return running, then waiting, then ended jobs, newest first. Without ``status`` return all.

        Raise NotFoundError for an unknown library, UsageError for an unknown status.
        """
        if wrong := set(status) - set(STATUSES):
            raise UsageError(f"'{min(wrong)}' is no status of a job.", f"Choose from {', '.join(STATUSES)}.")
        id = None if library is None else self._library(library)
        jobs = self._reader.listed(library=id, status=status or None, limit=most)
        names = self._names()
        paused = [self._paused(scope, name, names) for scope, name in self._control.pauses()]
        workers = tuple(self._workers.all())
        return JobList(self._views(jobs, names, workers), self._reader.counts(library=id), tuple(paused), workers)

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
                    f"Job {job.id} is {job.status}.",
                    Advice("Pause what waits or runs.", "Pause what waits or runs: jobs list."),
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
        ended = self._control.cancel(choice.ids or None, library=self._id(choice), cause="It was cancelled.")
        running = sum(job.status == "running" for job in self._reader.jobs(ended))
        soon = f"; {running} of them still run and end within seconds" if running else ""
        return JobDecision(tuple(ended), f"{counted(len(ended), 'job')} cancelled{soon}. What was published stays.")

    def _retry(self, choice: JobChoice) -> JobDecision:
        """Failed jobs wait again; of named ones also those that were cancelled."""
        self._named(choice)
        again = self._control.retry(choice.ids or None, library=self._id(choice))
        return JobDecision(tuple(again), f"{counted(len(again), 'job waits', 'jobs wait')} again.")

    def _forget(self, choice: JobChoice) -> JobDecision:
        """Delete what is kept of ended jobs; documents stay as they are."""
        named = self._named(choice)
        if going := [job.id for job in named if not job.ended]:
            raise ConflictError(
                f"Job {going[0]} has not ended.", Advice("Cancel it first.", "Cancel it first: jobs cancel.")
            )
        gone = self._control.forget(choice.ids or None, library=self._id(choice))
        return JobDecision(choice.ids, f"{counted(gone, 'job')} forgotten.")

    def _named(self, choice: JobChoice) -> list[Job]:
        """Raises NotFoundError for one that is not there."""
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


def state(job: Job, ahead: int, workers: Sequence[Worker]) -> str:
    """Describe the state of a job in words. A job counts as stalled if its worker has stopped responding."""
    if job.ended:
        return f"{job.status}: {job.cause}" if job.cause else job.status
    if job.status == "running":
        return _running(job)
    if job.paused:
        return "paused"
    if job.not_before > job.read_at:
        seconds = -(-(job.not_before - job.read_at) // 1000)
        return f"tried again in {seconds} s, after {counted(job.attempts, 'failure')}: {job.cause}"
    if not workers:
        return "waiting for a worker: none runs"
    if not any(job.needs <= worker.abilities for worker in workers):
        lacks = min((sorted(job.needs - worker.abilities) for worker in workers), key=len)
        return f"waiting for a worker that has {', '.join(lacks)}"
    return f"waiting behind {counted(ahead, 'other')}" if ahead else "next"


def _running(job: Job) -> str:
    if job.cancel_requested:
        return "ending: it was cancelled"
    if job.stalled:
        return f"stalled: no sign of life for {(job.read_at - job.heartbeat_at) // 1000} s, others take it over"
    where = f", {'text' if job.stage == 'embed' else 'page'} {job.done:,} of {job.total:,}" if job.total else ""
    return f"{job.stage}{where}{', paused at its next pages' if job.paused else ''}"


def at(ms: int) -> str:
    """Format a time in milliseconds as ISO 8601 in UTC, "" for 0."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds") if ms else ""


def _what(choice: JobChoice) -> str:
    if choice.ids:
        return f"{'Job' if len(choice.ids) == 1 else 'Jobs'} {', '.join(map(str, choice.ids))}:"
    return f"Library {choice.library}:" if choice.library is not None else "All jobs:"


_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class JobNews:
    """Events of jobs up to event ``number``. ``state`` is the full list of jobs, None if ``events`` are enough."""

    number: int
    events: tuple[JobEvent, ...]
    state: tuple[JobView, ...] | None = None


def job_news(catalog: Catalog, after: int | None, job: int | None, libraries: Sequence[str] | None) -> JobNews:
    """Return events of jobs after a number. Raise NotFoundError for an unknown job."""
    reader = JobReader(catalog)
    last = reader.last_event()  # before the state is read: what happens meanwhile is told twice rather than never
    if after is not None and not _missing(reader, after, last):
        events = reader.events(after, job=job, library=libraries, limit=_AT_ONCE)
        number = events[-1].number if len(events) == _AT_ONCE else max(last, after)
        return JobNews(max([number, *(event.number for event in events)]), tuple(events))
    if job is not None:
        return JobNews(last, (), (Jobs(catalog).history(job).view,))
    views = Jobs(catalog).listed(None, ACTIVE, _AT_ONCE).jobs
    shown = tuple(view for view in views if libraries is None or view.job.library in libraries)
    return JobNews(last, (), shown)


def _missing(reader: JobReader, after: int, last: int) -> bool:
    """Return whether events after a number are no longer kept, or it is of a catalog that was cleared."""
    return after > last or (after < last and reader.oldest_event() > after + 1)
