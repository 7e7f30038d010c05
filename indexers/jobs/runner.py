"""This process as a worker of the queue: its folders, its leases, and the runner of its jobs.

A separate thread renews the leases and checks for requests to stop, so that long work does not delay them.
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hybrid_core.errors import Cancelled, LeaseLostError, PageIndexError, StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import disk_full, living, scratch_folder
from hybrid_core.store.jobs.claims import JobLimits
from hybrid_core.store.jobs.control import fold
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import CANCELLED, Advance, Fence, Job, JobProgress, JobStage, Worker
from hybrid_core.types.notes import Note
from indexers.formats.limits import plain_reason
from indexers.jobs.turn import Turn
from indexers.workers.pool import WorkerLimits, WorkerPool

_LISTEN = 0.5  # seconds between two looks at what is asked
_TELL = 1.0  # between two writes of how far the jobs are
_RENEW = 10.0
_PATIENCE = 3.0  # after which the parsers of a job that is to stop are ended


class Leases:
    """Renew the leases of running turns. ``bury`` handles processes that have died."""

    def __init__(
        self, queue: JobQueue, workers: Workers, worker: Worker, pool: WorkerPool, bury: Callable[[], None]
    ) -> None:
        self._queue, self._workers, self._worker, self._pool, self._bury = queue, workers, worker, pool, bury
        self._lock = threading.Lock()
        self._turns: dict[int, Turn] = {}
        self._reported: dict[int, tuple[int, int]] = {}
        self._asked: dict[int, float] = {}  # since when a turn is to stop
        self._unknown: dict[Fence, float] = {}  # since when there is a lease without a turn
        self.awaited: Callable[[], Sequence[int]] = list
        """The jobs that this process waits for."""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="index-leases", daemon=True)
        self._thread.start()

    def begin(self, turn: Turn) -> None:
        with self._lock:
            self._turns[turn.job.id] = turn

    def end(self, turn: Turn) -> None:
        with self._lock:
            for by_job in (self._turns, self._reported, self._asked):
                by_job.pop(turn.job.id, None)

    def at_work(self) -> Set[int]:
        """Return the jobs whose turns are not over yet, also where their end is written already."""
        with self._lock:
            return set(self._turns)

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _keep(self) -> None:
        renewed = reported = time.monotonic()
        while not self._end.wait(_LISTEN):
            now = time.monotonic()
            # A database that is busy, or memory that is short, is tried again; what is lost meanwhile is fenced.
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
        if not self._workers.beat(self._worker.id):  # this machine slept, and others have given it up
            self._workers.register(self._worker)
            self._queue.wait_for(self._worker.id, self.awaited())
        self._workers.sweep(self._worker.id)
        self._bury()

    def _tell(self) -> None:
        with self._lock:
            new = {job: (turn.done, turn.pages) for job, turn in self._turns.items() if turn.pages}
            changed = {job: at for job, at in new.items() if self._reported.get(job) != at}
            reports = [JobProgress(self._turns[job].job.fence, *at) for job, at in changed.items()]
            self._reported |= changed
        self._queue.progress(reports)

    def _look(self, now: float) -> None:
        with self._lock:
            turns = list(self._turns.values())
        leases = {lease.fence: lease for lease in self._queue.leases(self._worker.id)}
        self._give_back(leases.keys() - {turn.job.fence for turn in turns}, now)
        for turn in turns:
            lease = leases.get(turn.job.fence)
            if turn.written:
                continue
            if lease is None:
                turn.stop.ask("lost")
            elif lease.cancel_requested:
                turn.stop.ask("cancelled")
            elif lease.paused:
                turn.stop.ask("paused")
            if turn.stop.asked.is_set() and now >= self._asked.setdefault(turn.job.id, now) + _PATIENCE:
                self._pool.end(turn.stop)

    def _give_back(self, unknown: Set[Fence], now: float) -> None:
        """Release jobs whose end could not be written: nobody works at them here."""
        self._unknown = {fence: self._unknown.get(fence, now) for fence in unknown}
        for fence in [fence for fence, since in self._unknown.items() if now >= since + _RENEW]:
            self._queue.release(fence)


@dataclass(frozen=True, slots=True)
class Workplace:
    """The resources of a worker. ``folder`` is for working files; ``parsers`` processes read files."""

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
    """Yield the resources of this process as a worker. At the end its jobs return to the queue.

    After an error, jobs without other waiters end, unless ``leaving`` is set.
    """
    queue, workers = JobQueue(catalog, limits=job_limits), Workers(catalog)
    with scratch_folder(scratch) as folder:
        home = hashlib.sha256(str(scratch.absolute()).encode()).hexdigest()[:8]
        host = f"{platform.node()}:{home}"  # processes of another home have their folders there
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
                    workers.abandon(worker.id)
            raise
        finally:
            leases.close()
            pool.close()
            workers.leave(worker.id)
            fold(catalog)


def _bury(queue: JobQueue, workers: Workers, me: Worker, scratch: Path) -> None:
    """Bury processes of this machine that died, which their folders show: nobody waits for their leases to end."""
    others = [worker.id for worker in workers.all() if worker.host == me.host and worker.id != me.id]
    alive = living(scratch) if others else set()
    gone = [worker for worker in others if worker not in alive]
    if gone:
        queue.lapse(gone)
    for worker in gone:
        workers.leave(worker)


_LOOK = 0.2  # seconds between two looks at the queue while nothing ends here
_BRIEF = 0.5  # seconds
_AGAIN = 5.0  # and before the next one, where a worker could not look


@dataclass(frozen=True, slots=True)
class Lane:
    """Stages that share ``at_once`` threads. ``work`` runs a turn and returns the next state of its job, or raises
    Cancelled.

    ``behind`` means that the lane takes no job while the lane before it is full.
    """

    stages: frozenset[JobStage]
    at_once: int
    work: Callable[[Turn], Advance]
    behind: bool = False


class Runner:
    """``only_awaited``: of what this process waits for. ``for_caller``: somebody here is told what goes wrong, not the
    job. ``on_end`` hears of every turn that has ended here.
    """

    def __init__(
        self,
        place: Workplace,
        lanes: Sequence[Lane],
        begin: Callable[[Job], Turn],
        on_end: Callable[[Turn, Advance], None],
        *,
        only_awaited: bool,
        for_caller: bool,
    ) -> None:
        self._for_caller = for_caller
        self._place, self._queue, self._leases = place, place.queue, place.leases
        self._begin, self._over, self._only_awaited = begin, on_end, only_awaited
        self._lanes = [(lane, ThreadPoolExecutor(lane.at_once, "index-job")) for lane in lanes]
        self._running: dict[Future[Advance], tuple[Turn, Lane]] = {}
        self._brief: set[Lane] = set()  # whose last turn was over at once
        self.idle = False
        """Whether there was nothing to take when it looked last."""

    def run(self, done: Callable[[], bool], stopped: threading.Event) -> None:
        """Run jobs until ``done``, or until ``stopped`` is set: running jobs then return to the queue.

        Raise StoreError.
        """
        while not done() and not stopped.is_set():
            try:
                self._take()
            except StoreError:
                if self._for_caller:
                    raise
                stopped.wait(_AGAIN)  # a disk that is full, or a database that is locked, may be so no more
            self.idle = not self._running
            if self._running:
                ended, _ = wait(self._running, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in ended:
                    self._settle(future)
            else:
                stopped.wait(_LOOK)

    def close(self) -> None:
        """Stop what is under way and give it back."""
        for turn, _ in self._running.values():
            turn.stop.ask("closing")
            self._place.pool.end(turn.stop)
        for _, threads in self._lanes:
            threads.shutdown(wait=True, cancel_futures=True)
        for future in list(self._running):
            self._settle(future)

    def _take(self) -> None:
        full = False
        for lane, threads in self._lanes:
            if lane.behind and full:
                continue
            free = lane.at_once - self._running_in(lane)
            if lane in self._brief:  # taking several together costs as much as taking one
                free += lane.at_once if free >= 0 else 0
            full = free <= 0
            if full:
                continue
            for job in self._queue.claim(
                self._place.worker.id, self._place.worker.abilities, stages=lane.stages,
                only_awaited=self._only_awaited, limit=free,
            ):  # fmt: skip
                turn = self._begin(job)
                self._leases.begin(turn)
                self._running[threads.submit(_done, lane, turn)] = turn, lane
            full = self._running_in(lane) >= lane.at_once

    def _running_in(self, lane: Lane) -> int:
        return sum(of is lane for _, of in self._running.values())

    def _settle(self, future: Future[Advance]) -> None:
        turn, lane = self._running.pop(future)
        self._leases.end(turn)
        (self._brief.add if turn.seconds < _BRIEF else self._brief.discard)(lane)
        try:
            self._write(turn, future)
        except LeaseLostError:
            return
        except StoreError:  # what it has is given back once that can be written
            if self._for_caller:
                raise

    def _write(self, turn: Turn, future: Future[Advance]) -> None:
        fence = turn.job.fence
        try:
            advance = future.result()
            if not turn.written:
                self._queue.advance(fence, advance)
        except LeaseLostError:
            raise
        except (Cancelled, CancelledError):
            if turn.stop.reason != "cancelled":
                self._queue.release(fence)
                return
            advance = Advance("cancelled", cause=CANCELLED)
            self._queue.advance(fence, advance)
        except Exception as error:
            full = disk_full(error, self._place.folder)
            reported = full or error
            if isinstance(reported, PageIndexError):  # of the settings or the store, not of what the job is about
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
            advance = Advance("failed", cause=Note("job.failed", reason=plain_reason(error, turn.job.subject)))
            self._queue.advance(fence, advance)
        self._over(turn, advance)


def _done(lane: Lane, turn: Turn) -> Advance:
    turn.begin()
    if turn.stop.asked.is_set():
        raise Cancelled("Indexing was stopped.")
    return lane.work(turn)
