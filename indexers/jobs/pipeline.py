"""The pipeline from files to the store: queue jobs for new files, run them, and wait for the results.

A Batch follows the jobs that one call waits for, whichever process runs them.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from hybrid_core.errors import Cancelled
from hybrid_core.llm.budget import current_charge
from hybrid_core.llm.replies import ReplyCache
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import sweep
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.workers import MACHINE, SESSION
from hybrid_core.types.documents import Document
from hybrid_core.types.files import StoredVersion
from hybrid_core.types.jobs import WANTED, Job, JobEvent, JobRequest, JobStage, JobUpdate
from hybrid_core.types.notes import Note
from indexers.assembly.versions import StoredContents
from indexers.files.discover import discover
from indexers.files.identity import UnchangedFiles, gone, prune
from indexers.files.private_copy import size, system_stat
from indexers.jobs.file_stages import FileStages, unchanged
from indexers.jobs.members import members_of
from indexers.jobs.options import IndexOptions
from indexers.jobs.refiner import unrefined
from indexers.jobs.report import FileResult, FileStage, IndexProgress, IndexReport, Tally
from indexers.jobs.runner import Lane, Runner, workplace
from indexers.jobs.stage_run import ANEW, StageRun

_LOOK = 0.5  # seconds between two looks at what others do
_CERTAIN = 10.0  # seconds between two counts of unfinished jobs, to notice jobs that were deleted
_PAUSED = Note("file.paused")
_ENDS = ("done", "failed", "cancelled")
_EVENTS = 1_000
_ALL = 1_000_000  # jobs


class Batch:
    """The jobs that one call waits for. ``after`` is the number of the newest event before they were queued.

    ``waiter`` is the id of this process as a worker; ``at_work`` returns the jobs that run in this process.
    """

    def __init__(
        self,
        reader: JobReader,
        waiter: str,
        at_work: Callable[[], Set[int]],
        jobs: Mapping[int, Path],
        after: int,
        tally: Tally,
    ) -> None:
        self._reader, self._waiter, self._here, self._tally, self._after = reader, waiter, at_work, tally, after
        self._left, self._known = dict(jobs), set(jobs)
        self._pages: dict[int, int] = {}  # shown pages by job, for jobs that other processes run
        self._unsettled: dict[
            int, tuple[StageRun, JobUpdate]
        ] = {}  # jobs that ended in this process since the last check
        self._shown: set[int] = set()  # jobs of other processes whose end was reported
        self._holders: dict[int, str] = {}  # who took a job last
        self._looked = time.monotonic()
        self._counted = self._looked - _CERTAIN + _LOOK  # soon, for the first time
        self.results: dict[Path, FileResult] = {}

    def has_ended(self) -> bool:
        """Return whether every job has ended. Jobs of other processes are checked every half second."""
        now = time.monotonic()
        self.settle()
        if not self._left:
            self._find_more()
        elif now >= self._looked + _LOOK:
            self._looked = now
            self._find_more()
            while len(new := self._reader.events(self._after, waiter=self._waiter, limit=_EVENTS)) > 0:
                self._hear(new)
            if now >= self._counted + _CERTAIN:
                self._counted = now
                self._hear_of_rows()
        return not self._left

    def left(self) -> list[int]:
        return list(self._left)

    def ended(self, stage_run: StageRun, advance: JobUpdate) -> None:
        """Record that a stage of a file's job has ended in this process. Its progress has already been reported."""
        if stage_run.job.id not in self._known:
            self._add(stage_run.job)
        if stage_run.job.id in self._left and advance.status in _ENDS:
            self._unsettled[stage_run.job.id] = stage_run, advance

    def settle(self) -> None:
        """Close the jobs that have ended in this process. A job that was requested again while it ran stays open."""
        ended, self._unsettled = self._unsettled, {}
        again = {job.id for job in self._reader.jobs(ended) if not job.ended} if ended else set()
        for number, (stage_run, advance) in ended.items():
            file = self._left.get(number)
            if file is not None and number not in again:
                self._close(
                    number, _result(file, advance.status, advance.result or stage_run.job.result, advance.cause)
                )

    def _find_more(self) -> None:
        """Add the jobs that were started by jobs of this batch, such as those for files inside archives and mails."""
        if self._reader.awaited(self._waiter) <= len(self._known):
            return
        for job in self._reader.listed(waiter=self._waiter, limit=_ALL):
            if job.id not in self._known:
                self._add(job)
                if job.ended:
                    self._move(job, Path(job.subject), job.status)

    def _add(self, job: Job) -> None:
        self._known.add(job.id)
        self._left[job.id] = Path(job.subject)
        self._tally.files += 1

    def _hear(self, events: list[JobEvent]) -> None:
        self._after = events[-1].number
        moved = {event.job for event in events if event.kind in (*_ENDS, "stage") and event.job in self._left}
        rows = {job.id: job for job in self._reader.jobs(moved)}
        for event in events:
            if event.kind == "claimed":
                self._holders[event.job] = event.detail["worker"]
            file = self._left.get(event.job)
            if file is None or self._holders.get(event.job) == self._waiter:
                continue
            if event.kind == "progress":
                self._show(event, file)
            elif (job := rows.get(event.job)) and (event.kind == "stage" or (event.kind in _ENDS and job.ended)):
                self._move(job, file, event.kind)  # a job that was requested again continues

    def _hear_of_rows(self) -> None:
        at_work = self._here()  # they tell of themselves, a moment after their end was written
        active, paused = self._reader.active_awaited(self._waiter)
        ended = [number for number in self._left if number not in active and number not in at_work]
        rows = {job.id: job for job in self._reader.jobs(ended)}
        for number in ended:
            file = self._left.get(number)
            if file is None:
                continue
            job = rows.get(number)
            if job is None:
                self._close(number, FileResult(str(file), "failed", "the job of this file was removed from the queue."))
            elif job.ended:
                self._move(job, file, job.status)
        if paused:
            self._tally.add_note(_PAUSED)

    def _show(self, event: JobEvent, file: Path) -> None:
        done, pages = int(event.detail["done"]), int(event.detail["total"])
        stage = event.detail["stage"]
        at = FileStage(str(file), "describe" if stage == "enrich" else stage, pages, done)
        more = max(0, done - self._pages.get(event.job, 0)) if stage == "parse" else 0
        self._pages[event.job] = self._pages.get(event.job, 0) + more
        self._tally.add(pages=more, size=more * size(file) / max(1, pages), at=at)

    def _move(self, job: Job, file: Path, kind: str) -> None:
        """Record that a stage or a job has ended in another process."""
        again = job.id in self._shown
        result = _result(file, kind, job.result, job.cause)
        pages, share = 0, 0.0
        if not again:
            shown = self._pages.pop(job.id, 0)
            pages = max(0, result.pages - shown) if result.status == "indexed" else 0
            share = size(file) * max(0.0, 1 - shown / max(1, result.pages))
        self._shown.add(job.id)
        self._tally.add(pages=pages, size=share, finished=result, again=again)
        if kind in _ENDS:
            self._close(job.id, result)

    def _close(self, job: int, result: FileResult) -> None:
        file = self._left.pop(job)
        self.results[file] = result
        self._tally.add(settled=str(file))


def _result(file: Path, status: str, stored: Mapping[str, Any] | None, cause: str) -> FileResult:
    """Return the result of a file from the result that is stored with its job."""
    if not stored:
        return FileResult(str(file), "failed", cause or Note("job.no-result"))
    result = FileResult.from_json(stored)
    if status == "failed" and result.status != "failed":
        return replace(result, status="failed", error=cause, unread=0)
    if status == "cancelled":
        note = result.note.plus(Note("file.rest-cancelled"))
        return replace(result, note=note, unread=0)
    return result


@dataclass(frozen=True, slots=True)
class IndexRun:
    """The parameters of a call that indexes files into a library and waits for them.

    ``cache`` stores OCR results and model replies; ``scratch`` is a folder for working files. ``job_options`` are
    stored with the jobs for workers of other processes. ``detach`` queues the jobs without waiting for them; ``works``
    says whether this process runs jobs itself. When ``cancelled`` is set, jobs that no other process waits for are
    cancelled, unless ``leaving`` is set.
    """

    catalog: Catalog
    cache: Cache
    library: str
    options: IndexOptions
    scratch: Path
    cancelled: threading.Event = field(default_factory=threading.Event)
    leaving: threading.Event = field(default_factory=threading.Event)
    job_options: Mapping[str, Any] = field(default_factory=dict)
    detach: bool = False
    works: bool = True
    priority: int = WANTED


def index(
    run: IndexRun, paths: Sequence[str | Path], on_progress: Callable[[IndexProgress], None] = lambda _: None
) -> IndexReport:
    """Index the files that ``paths`` name. A failing file does not stop the others. Return a report.

    Raise Cancelled after cancellation; published documents stay. Raise UsageError for an invalid library name,
    StoreError if the catalog cannot be written.
    """
    catalog, library, options = run.catalog, run.library, run.options
    members = [Path(path) for path in map(str, paths) if catalog.kept_as(library, path)]
    discovered = discover([path for path in paths if Path(path) not in members], empty_folders=options.prune)
    files = (*discovered.files, *members)
    if files:
        catalog.ensure_library(library)
    failed = [FileResult(path, "failed", error) for path, error in discovered.problems]
    tally = Tally(on_progress, len(failed) + len(files), sum(size(file) for file in files))
    tally.add()
    for problem in failed:
        tally.add(finished=problem)
    with catalog.snapshot() as snapshot:  # a file whose document is damaged fails by itself once it is read
        documents = {document.path: document for document in snapshot.sound_documents(library)}
    done, requests = _sort_files(run, files, documents, tally)
    if run.detach:
        JobQueue(catalog).enqueue(list(requests.values()))
    elif requests:
        done |= _work(run, requests, tally, len(done))
    else:  # a run that was killed after its last file left working files
        sweep(run.scratch)
    inside = sorted(done.keys() - set(files))  # files inside archives and mails
    results = [*failed, *(done[file] for file in (*files, *inside) if file in done)]
    removed = prune(catalog, library, discovered.roots) if options.prune else ()
    indexed = any(result.status == "indexed" for result in results)
    left = () if options.prune or not discovered.files else gone(catalog, library, discovered.roots)
    absent = (Note("index.files-missing", documents=len(left)),) if left else ()
    notes = (
        *discovered.notes,
        *((Note("index.left-to-workers", files=len(requests)),) if run.detach else ()),
        *absent,
        *tally.notes,
        *(options.notes if indexed else ()),
    )
    return IndexReport(tuple(results), removed, notes, discovered.skipped)


def _sort_files(
    run: IndexRun, files: Sequence[Path], documents: Mapping[str, Document], tally: Tally
) -> tuple[dict[Path, FileResult], dict[Path, JobRequest]]:
    """Return the results of unchanged files, and the job requests for the others."""
    catalog, library, options = run.catalog, run.library, run.options
    needs, job_options = options.needs, run.job_options
    if options.password is not None:  # only this process has the password
        secret = f"{SESSION}{uuid.uuid4().hex}"
        needs, job_options = needs | {secret}, {**job_options, "password": secret}
    machine = {MACHINE + options.machine} if options.machine else set[str]()
    stored = UnchangedFiles(catalog, library, StoredContents(catalog, options.ocr, options.chunks))
    if options.anew:
        job_options = {**job_options, ANEW: True}
    unimproved = _unimproved(run.cache, options)
    estimate = options.models is not None and options.models.estimate  # takes no other job's place
    done: dict[Path, FileResult] = {}
    requests: dict[Path, JobRequest] = {}
    named_files, inside = set(files), [*files]
    able = needs | machine | options.enrich_needs
    waiting = JobReader(catalog).waiting_stages(library, able)  # left by a command that was killed, for instance
    for file in inside:  # grows by what lies in those that are unchanged
        if file in done or file in requests:
            continue
        document = documents.get(str(file))
        stage: JobStage = "parse"
        looked_at = not options.check_hashes and not options.anew
        if document is not None and looked_at and stored.is_unchanged(file, document):
            result = unchanged(file, document)
            further = [path for path in members_of(catalog, library, document) if path not in named_files]
            inside += further
            tally.files += len(further)
            version = stored.version(document)
            models = bool(options.enrich_needs)
            left = waiting.get(str(file))
            coarse = version is not None and (
                (options.outline != "fast" and left == "refine") or unrefined(document, version.version, options)
            )
            if version is None or not (coarse or (models and left == "enrich") or unimproved(version)):
                done[file] = result
                tally.add(size=document.size, finished=result, settled=str(file))
                continue
            tally.add(size=document.size, finished=result)
            stage = "refine" if coarse else "enrich"
        member_version, stamp = catalog.kept_as(library, file), system_stat(file)
        version_of_file = member_version or (
            "" if stamp is None else f"{stamp.st_size} {stamp.st_mtime_ns} {stamp.st_ctime_ns} {stamp.st_ino}"
        )
        requests[file] = JobRequest(
            library, "index", str(file), stage, options=job_options, needs=needs if member_version else needs | machine,
            priority=run.priority, owner=current_charge().who, version=version_of_file,
            key=f"estimate\n{library}\n{file}" if estimate else "",
        )  # fmt: skip
    return done, requests


def _unimproved(cache: Cache, options: IndexOptions) -> Callable[[StoredVersion], bool]:
    """Return a function that tells whether the configured models have work to do on a document."""
    if options.models is None:
        return lambda _: False
    from indexers.jobs.improver import unimproved  # with pydantic and the prompts, which others do not wait for

    return partial(unimproved, ReplyCache(cache), options.models)


def _work(run: IndexRun, requests: Mapping[Path, JobRequest], tally: Tally, done: int) -> dict[Path, FileResult]:
    """Run the jobs and return the results by file, whichever process ran them. Raise Cancelled.

    ``done`` is the number of files that needed no job.
    """
    catalog, options = run.catalog, run.options
    abilities = options.enrich_needs.union(*(request.needs for request in requests.values()))
    parsers = options.workers or os.cpu_count() or 1
    with (
        workplace(
            catalog, run.scratch, "command", abilities, parsers, options.worker_limits, run.leaving, options.job_limits
        ) as place,
        ExitStack() as stack,
    ):
        reader = JobReader(catalog)
        after = reader.last_event()
        enqueued = place.queue.enqueue(list(requests.values()), waiter=place.worker.id)
        jobs = {enqueued_job.job: file for enqueued_job, file in zip(enqueued, requests, strict=True)}
        batch = Batch(reader, place.worker.id, place.leases.at_work, jobs, after, tally)
        place.leases.awaited = batch.left
        lanes: list[Lane] = []
        if run.works:
            stages = FileStages(catalog, run.cache, place, options, tally)
            stack.callback(stages.close)
            lanes = stages.lanes()

        def begin(job: Job) -> StageRun:
            return StageRun(job, catalog.place(job.library, job.subject), tally)

        runner = Runner(place, lanes, begin, batch.ended, only_awaited=True, for_caller=True)
        stack.callback(runner.close)
        runner.run(batch.has_ended, run.cancelled)
        batch.settle()
        if run.cancelled.is_set():
            ended, files = done + len(batch.results), done + len(requests)
            stays = f"{ended} of {files} files are done and stay"
            if tally.files_done >= tally.files > ended:
                stays = f"all {files} files can be searched, and {ended} are complete"
            raise Cancelled(f"Indexing was stopped; {stays}.", "Index them again to complete the rest.")
        return batch.results
