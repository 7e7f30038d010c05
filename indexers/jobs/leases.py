"""What this process has of the queue is kept, and what is asked of it is heard, by a thread of its own: neither parsing
nor publishing delays it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence, Set
from contextlib import suppress

from hybrid_core.errors import PageIndexError
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import Fence, JobProgress, Worker
from indexers.stages.turn import Turn
from indexers.workers.pool import WorkerPool

_LOOK = 0.5  # seconds between two looks at what is asked
_TELL = 1.0  # between two writes of how far the jobs are
_RENEW = 10.0
_PATIENCE = 3.0  # after which the parsers of a job that is to stop are ended


class Leases:
    """Of the turns that are ``begun`` and not yet ``over``. ``bury`` sees to processes that have died."""

    def __init__(
        self, queue: JobQueue, workers: Workers, worker: Worker, pool: WorkerPool, bury: Callable[[], None]
    ) -> None:
        self._queue, self._workers, self._worker, self._pool, self._bury = queue, workers, worker, pool, bury
        self._lock = threading.Lock()
        self._turns: dict[int, Turn] = {}
        self._told: dict[int, tuple[int, int]] = {}
        self._asked: dict[int, float] = {}  # since when a turn is to stop
        self._unknown: dict[Fence, float] = {}  # since when there is a lease without a turn
        self.awaited: Callable[[], Sequence[int]] = list
        """The jobs that this process waits for."""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="index-leases", daemon=True)
        self._thread.start()

    def begun(self, turn: Turn) -> None:
        with self._lock:
            self._turns[turn.job.id] = turn

    def over(self, turn: Turn) -> None:
        with self._lock:
            for held in (self._turns, self._told, self._asked):
                held.pop(turn.job.id, None)

    def at_work(self) -> Set[int]:
        """The jobs whose turns are not over yet, also where their end is written already."""
        with self._lock:
            return set(self._turns)

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _keep(self) -> None:
        renewed = told = time.monotonic()
        while not self._end.wait(_LOOK):
            now = time.monotonic()
            with suppress(PageIndexError):  # a database that is busy is asked again; what is lost meanwhile is fenced
                if now >= renewed + _RENEW:
                    renewed = now
                    self._renew()
                if now >= told + _TELL:
                    told = now
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
            changed = {job: at for job, at in new.items() if self._told.get(job) != at}
            reports = [JobProgress(self._turns[job].job.fence, *at) for job, at in changed.items()]
            self._told |= changed
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
        """Jobs whose end could not be written: nobody works at them here."""
        self._unknown = {fence: self._unknown.get(fence, now) for fence in unknown}
        for fence in [fence for fence, since in self._unknown.items() if now >= since + _RENEW]:
            self._queue.release(fence)
