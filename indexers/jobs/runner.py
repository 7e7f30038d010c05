"""The process as a worker of the job queue: its folders, its leases, and the runner of its jobs.

A separate thread renews the leases and checks for requests to stop, so that long work does not delay either.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from hybrid_core.errors import Cancelled, LeaseLostError, PageIndexError, StoreError
from hybrid_core.logs import about
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import disk_full, living, scratch_folder
from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.store.jobs.control import fold
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.tracing import span
from hybrid_core.types.jobs import CANCELLED, Fence, Job, JobProgress, JobStage, JobUpdate, Worker
from hybrid_core.types.notes import Note
from indexers.formats.limits import plain_reason
from indexers.jobs.stage_run import StageRun
from indexers.workers.pool import WorkerLimits, WorkerPool

_log = logging.getLogger(__name__)
_LISTEN = 0.5  # seconds between two checks for requests to stop
_TELL = 1.0  # seconds between two writes of the jobs' progress
_RENEW = 10.0
_PATIENCE = 3.0  # seconds after which the parsers of a job to stop are killed


class Leases:
    """The leases of the jobs that run in this process. A thread renews them.

    ``bury`` releases the jobs of processes that have died.
    """

    def __init__(
        self, queue: JobQueue, workers: Workers, worker: Worker, pool: WorkerPool, bury: Callable[[], None]
    ) -> None:
        self._queue, self._workers, self._worker, self._pool, self._bury = queue, workers, worker, pool, bury
        self._lock = threading.Lock()
        self._runs: dict[int, StageRun] = {}
        self._reported: dict[int, tuple[int, int]] = {}
        self._asked: dict[int, float] = {}  # time since which a run has to stop
        self._unknown: dict[Fence, float] = {}  # time since which a lease has no run
        self.awaited: Callable[[], Sequence[int]] = list
        """The jobs that this process waits for."""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="index-leases", daemon=True)
        self._thread.start()

    def begin(self, run: StageRun) -> None:
        with self._lock:
            self._runs[run.job.id] = run

    def end(self, run: StageRun) -> None:
        with self._lock:
            for by_job in (self._runs, self._reported, self._asked):
                by_job.pop(run.job.id, None)

    def at_work(self) -> Set[int]:
        """Return the ids of the jobs on which a thread of this process is still working.

        This includes jobs whose end is already stored.
        """
        with self._lock:
            return set(self._runs)

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _keep(self) -> None:
        renewed = reported = time.monotonic()
        while not self._end.wait(_LISTEN):
            now = time.monotonic()
            # If the database is busy or memory is short, try again later; lost leases are fenced.
            with suppress(PageIndexError, MemoryError):
                if now >= renewed + _RENEW:
                    renewed = now
                    self._renew()
                if now >= reported + _TELL:
                    reported = now
                    self._tell()
                self._look(now)

    def _renew(self) -> None:
        self._queue.renew(self._worker.id)
        if not self._workers.beat(self._worker.id):  # this machine was suspended, and others have removed the worker
            self._workers.register(self._worker)
            self._queue.wait_for(self._worker.id, self.awaited())
        self._workers.sweep(self._worker.id)
        self._bury()

    def _tell(self) -> None:
        with self._lock:
            new = {job: (run.done, run.pages) for job, run in self._runs.items() if run.pages}
            changed = {job: at for job, at in new.items() if self._reported.get(job) != at}
            reports = [JobProgress(self._runs[job].job.fence, *at) for job, at in changed.items()]
            self._reported |= changed
        self._queue.progress(reports)

    def _look(self, now: float) -> None:
        with self._lock:
            runs = list(self._runs.values())
        leases = {lease.fence: lease for lease in self._queue.leases(self._worker.id)}
        self._give_back(leases.keys() - {run.job.fence for run in runs}, now)
        for run in runs:
            lease = leases.get(run.job.fence)
            if run.written:
                continue
            if lease is None:
                run.stop.ask("lost")
            elif lease.cancel_requested:
                run.stop.ask("cancelled")
            elif lease.paused:
                run.stop.ask("paused")
            if run.stop.asked.is_set() and now >= self._asked.setdefault(run.job.id, now) + _PATIENCE:
                self._pool.end(run.stop)

    def _give_back(self, unknown: Set[Fence], now: float) -> None:
        """Return jobs to the queue that this process holds a lease for, but no longer runs.

        Their end could not be recorded.
        """
        self._unknown = {fence: self._unknown.get(fence, now) for fence in unknown}
        for fence in [fence for fence, since in self._unknown.items() if now >= since + _RENEW]:
            self._queue.release(fence)


@dataclass(frozen=True, slots=True)
class Workplace:
    """The resources of a worker process.

    ``folder`` is for working files; ``parsers`` is the number of parser processes.
    """

    worker: Worker
    folder: Path
    parsers: int
    pool: WorkerPool
    queue: JobQueue
    workers: Workers
    leases: Leases


@contextmanager
def workplace(
    catalog: Catalog,
    scratch: Path,
    kind: str,
    abilities: Collection[str],
    parsers: int,
    limits: WorkerLimits = WorkerLimits(),
    leaving: threading.Event | None = None,
    job_limits: JobLimits = JobLimits(),
) -> Iterator[Workplace]:
    """Register this process as a worker and yield its resources. At the end its jobs return to the queue.

    After an error, jobs that no other process waits for are cancelled, unless ``leaving`` is set.
    """
    queue, workers = JobQueue(catalog, limits=job_limits), Workers(catalog)
    with scratch_folder(scratch) as folder:
        home = hashlib.sha256(str(scratch.absolute()).encode()).hexdigest()[:8]
        host = f"{platform.node()}:{home}"  # processes of another home have their own working folders
        worker = Worker(folder.name, host, os.getpid(), kind, frozenset(abilities))
        bury = partial(_bury, queue, workers, worker, scratch)
        bury()
        worker = workers.register(worker)
        pool = WorkerPool(parsers, limits)
        leases = Leases(queue, workers, worker, pool, bury)
        try:
            yield Workplace(worker, folder, parsers, pool, queue, workers, leases)
        except BaseException:
            if leaving is None or not leaving.is_set():
                with suppress(StoreError):
                    workers.cancel_awaited(worker.id)
            raise
        finally:
            leases.close()
            pool.close()
            workers.leave(worker.id)
            fold(catalog)


def _bury(queue: JobQueue, workers: Workers, me: Worker, scratch: Path) -> None:
    """Release the jobs of dead processes on this machine, so that others need not wait for expired leases.

    A process is dead if its working folder is not locked.
    """
    others = [worker.id for worker in workers.all() if worker.host == me.host and worker.id != me.id]
    alive = living(scratch) if others else set()
    gone = [worker for worker in others if worker not in alive]
    if gone:
        queue.lapse(gone)
    for worker in gone:
        workers.leave(worker)


_LOOK = 0.2  # seconds between two checks of the queue while no job ends
_BRIEF = 0.5  # seconds: a shorter run counts as brief
_BATCH_FILES, _BATCH_BYTES = 32, 1 << 20  # maximum files and bytes of a batch
_AGAIN = 5.0  # seconds before the next check after a failure


@dataclass(frozen=True, slots=True)
class Lane:
    """A group of at most ``at_once`` threads, and the stages of jobs that they run.

    ``work`` runs a stage and returns the job's next state, or raises Cancelled. With ``behind`` the lane claims no job
    while the lane before it is full. With ``last`` it claims no job while an earlier lane works, and returns its jobs
    when one begins. ``batching`` runs small files together, several on one thread.
    """

    stages: frozenset[JobStage]
    at_once: int
    work: Callable[[StageRun], JobUpdate]
    behind: bool = False
    batching: Batching | None = None
    last: bool = False


class Batching(Protocol):
    """The processing of small files in batches in a lane."""

    def key(self, run: StageRun) -> str | None:
        """Return the key that files of one batch share, None for a file to process alone."""

    def run(
        self, runs: Sequence[StageRun], end: Callable[[StageRun, JobUpdate], None], alone: Callable[[StageRun], None]
    ) -> None:
        """Process files with the same key in one batch.

        Call ``end`` for each processed file, and ``alone`` for each that must be processed alone.
        """


class Runner:
    """The loop that claims and runs jobs in lanes (groups of threads).

    With ``only_awaited`` it claims only jobs that this process waits for. With ``for_caller`` errors are raised in
    ``run`` instead of being recorded with the job. ``on_end`` is called for every stage that ended in this process.
    """

    def __init__(
        self,
        place: Workplace,
        lanes: Sequence[Lane],
        begin: Callable[[Job], StageRun],
        on_end: Callable[[StageRun, JobUpdate], None],
        *,
        only_awaited: bool,
        for_caller: bool,
    ) -> None:
        self._for_caller = for_caller
        self._place, self._queue, self._leases = place, place.queue, place.leases
        self._begin, self._over, self._only_awaited = begin, on_end, only_awaited
        self._lanes = [(lane, ThreadPoolExecutor(lane.at_once, "index-job")) for lane in lanes]
        self._running: dict[Future[JobUpdate], tuple[StageRun, Lane]] = {}
        self._brief: set[Lane] = set()  # lanes whose last run was brief
        self._batch_size: dict[Lane, int] = {}  # number of jobs to claim per free thread
        self.idle = False
        """Whether there was no job to claim at the last check."""

    def run(self, done: Callable[[], bool], stopped: threading.Event) -> None:
        """Run jobs until ``done`` returns True or ``stopped`` is set. Raise StoreError.

        Jobs that still run then return to the queue in ``close``.
        """
        while not done() and not stopped.is_set():
            try:
                self._take()
            except StoreError:
                if self._for_caller:
                    raise
                stopped.wait(_AGAIN)  # a full disk or a locked database may become usable again
            self.idle = not self._running
            if self._running:
                ended, _ = wait(self._running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in ended:
                    self._settle(future)
            else:
                stopped.wait(_LOOK)

    def close(self) -> None:
        """Stop all running stages and return their jobs to the queue."""
        for run, _ in self._running.values():
            run.stop.ask("closing")
            self._place.pool.end(run.stop)
        for _, threads in self._lanes:
            threads.shutdown(wait=True, cancel_futures=True)
        for future in list(self._running):
            self._settle(future)

    def _take(self) -> None:
        full = busy = False
        for lane, threads in self._lanes:
            if lane.behind and full:
                continue
            if lane.last and busy:
                self._yield(lane)
                continue
            free = lane.at_once - self._running_in(lane)
            size = self._batch_size.get(lane, 1)
            if lane in self._brief and size == 1:  # claiming several jobs costs as much as claiming one
                free += lane.at_once if free >= 0 else 0
            full = free <= 0
            if full:
                busy = True
                continue
            jobs = self._queue.claim(
                self._place.worker.id, self._place.worker.abilities, stages=lane.stages,
                only_awaited=self._only_awaited, limit=free * size,
            )  # fmt: skip
            self._start(lane, threads, [self._begin(job) for job in jobs], free)
            full = self._running_in(lane) >= lane.at_once
            busy = busy or self._running_in(lane) > 0

    def _yield(self, lane: Lane) -> None:
        """Ask the running jobs of a lane to stop, so that they return to the queue."""
        for run, of in self._running.values():
            if of is lane:
                run.stop.ask("yielding")

    def _start(self, lane: Lane, threads: ThreadPoolExecutor, runs: Sequence[StageRun], free: int) -> None:
        """Start as many jobs as ``free`` threads allow: small files in batches, others alone.

        Return the remaining jobs to the queue. The next claim is larger if all jobs were small files, and smaller if
        not.
        """
        size = self._batch_size.get(lane, 1)
        units = _units(lane, runs, free)
        single = any(len(unit) == 1 and lane.batching and lane.batching.key(unit[0]) is None for unit in units)
        if lane.batching is not None and len(runs) == free * size and not single:
            self._batch_size[lane] = min(2 * size, _BATCH_FILES)
        elif single:
            self._batch_size[lane] = 1 if len(units) > free else max(1, size // 2)
        self._queue.give_back([run.job.fence for unit in units[free:] for run in unit])
        for unit in units[:free]:
            for run in unit:
                self._leases.begin(run)
            if len(unit) == 1:
                self._running[threads.submit(_done, lane, unit[0])] = unit[0], lane
            else:
                batch = _Batch(lane, threads, unit)
                self._running |= {future: (run, lane) for run, future in batch.futures.items()}
                batch.submit()

    def _running_in(self, lane: Lane) -> int:
        return len({run.slot for run, of in self._running.values() if of is lane})

    def _settle(self, future: Future[JobUpdate]) -> None:
        run, lane = self._running.pop(future)
        self._leases.end(run)
        (self._brief.add if run.seconds < _BRIEF else self._brief.discard)(lane)
        try:
            with _about(run.job):
                self._write(run, future)
        except LeaseLostError:
            return
        except StoreError:  # the lease thread returns the job when the store is writable again
            if self._for_caller:
                raise

    def _write(self, run: StageRun, future: Future[JobUpdate]) -> None:
        fence = run.job.fence
        try:
            advance = future.result()
            if not run.written:
                self._queue.advance(fence, advance)
        except LeaseLostError:
            raise
        except (Cancelled, CancelledError):
            if run.stop.reason != "cancelled":
                self._queue.release(fence)
                return
            advance = JobUpdate("cancelled", cause=CANCELLED)
            self._queue.advance(fence, advance)
        except Exception as error:
            full = disk_full(error, self._place.folder)
            reported = full or error
            if isinstance(reported, PageIndexError):  # an error of the settings or the store, not of the job
                with suppress(StoreError):
                    if self._for_caller:
                        self._queue.release(fence)
                    else:
                        self._queue.fail(fence, reported.note, passing=full is not None)
                if self._for_caller:
                    if reported is error:
                        raise
                    raise reported from error
                return
            advance = JobUpdate("failed", cause=Note("job.failed", reason=plain_reason(error, run.job.subject)))
            self._queue.advance(fence, advance)
        _log_outcome(run, advance)
        self._over(run, advance)


def _log_outcome(run: StageRun, advance: JobUpdate) -> None:
    """Log how a stage of a job ended. Failures are no warnings, since the user interface shows them too."""
    extra = {"seconds": round(run.seconds, 3)}
    if advance.status == "failed":
        _log.info("Job %d failed: %s", run.job.id, Note.of(advance.cause), extra=extra)
    else:
        _log.info("Job %d: the stage %s ended, %s.", run.job.id, run.job.stage, advance.status, extra=extra)


def _done(lane: Lane, run: StageRun) -> JobUpdate:
    run.begin()
    if run.stop.asked.is_set():
        raise Cancelled("Indexing was stopped.")
    with _about(run.job), span(f"job {run.job.kind} {run.job.stage}", job=run.job.id, library=run.job.library):
        return lane.work(run)


def _about(job: Job) -> AbstractContextManager[None]:
    """Return a context in which log lines name a job, its library, document and stage."""
    document = job.subject if job.kind == "index" else ""
    return about(
        request_id=job.request_id, job=job.id, library=job.library, document=document, kind=job.kind, stage=job.stage
    )


class _Batch:
    """Small files that are processed together on one thread of a lane. Each file has its own future."""

    def __init__(self, lane: Lane, threads: ThreadPoolExecutor, runs: Sequence[StageRun]) -> None:
        self._lane, self._threads = lane, threads
        self.futures: dict[StageRun, Future[JobUpdate]] = {run: Future() for run in runs}
        self._left = set(runs)
        for run in runs:
            run.slot = self

    def submit(self) -> None:
        self._threads.submit(self._run).add_done_callback(self._drop)

    def _run(self) -> None:
        batching = self._lane.batching
        if batching is not None:
            for run in self.futures:
                run.begin()
            jobs = [run.job for run in self.futures]
            same = {"request_id": {job.request_id for job in jobs}, "library": {job.library for job in jobs}}
            with (
                about(**{name: values.pop() for name, values in same.items() if len(values) == 1}),
                span(f"jobs {jobs[0].kind} {jobs[0].stage}", jobs=len(jobs)),
            ):
                batching.run(list(self.futures), self._end, self._run_alone)

    def _end(self, run: StageRun, advance: JobUpdate) -> None:
        self._left.discard(run)
        self.futures[run].set_result(advance)

    def _run_alone(self, run: StageRun) -> None:
        """Process a file of the batch alone, on its own thread. If its job was asked to stop, cancel it."""
        self._left.discard(run)
        if run.stop.asked.is_set():
            self.futures[run].set_exception(Cancelled("Indexing was stopped."))
            return
        run.slot = run
        try:
            self._threads.submit(_done, self._lane, run).add_done_callback(partial(_hand_on, self.futures[run]))
        except RuntimeError:  # the thread pool is being closed
            self.futures[run].cancel()

    def _drop(self, batch: Future[None]) -> None:
        """Complete the futures of the remaining files after the whole batch failed or was cancelled."""
        for run in self._left:
            if batch.cancelled():
                self.futures[run].cancel()
            else:
                self.futures[run].set_exception(
                    batch.exception() or RuntimeError("the batch returned no result for a file")
                )


def _hand_on(target: Future[JobUpdate], source: Future[JobUpdate]) -> None:
    """Copy the outcome of ``source`` to the future ``target``."""
    if source.cancelled():
        target.cancel()
    elif (error := source.exception()) is not None:
        target.set_exception(error)
    else:
        target.set_result(source.result())


def _units(lane: Lane, runs: Sequence[StageRun], threads: int) -> list[list[StageRun]]:
    """Divide files into batches and single files, keeping their order. There is one batch for each thread."""
    if lane.batching is None:
        return [[run] for run in runs]
    keys = {run: lane.batching.key(run) for run in runs}
    small = sum(key is not None for key in keys.values())
    limit = min(_BATCH_FILES, -(-small // max(threads, 1)))
    units: list[list[StageRun]] = []
    filling: dict[str, list[StageRun]] = {}
    for run, key in keys.items():
        unit = None if key is None else filling.get(key)
        if key is None or unit is None or len(unit) >= limit or sum(of.unshown for of in unit) > _BATCH_BYTES:
            units.append(unit := [])
            if key is not None:
                filling[key] = unit
        unit.append(run)
    return units
