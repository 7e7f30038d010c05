"""The one runner: takes jobs from the queue, has their stages done side by side, and writes what becomes of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from hybrid_core.errors import Cancelled, LeaseLostError, PageIndexError, StoreError
from hybrid_core.store.home import disk_full
from hybrid_core.types.jobs import Advance, Job, JobStage
from indexers.formats.defects import plain_reason
from indexers.jobs.workplace import Workplace
from indexers.stages.turn import Turn

_LOOK = 0.2  # seconds between two looks at the queue while nothing ends here
_BRIEF = 0.5  # seconds
_AGAIN = 5.0  # and before the next one, where a worker could not look


@dataclass(frozen=True, slots=True)
class Lane:
    """Stages that share ``at_once`` threads. ``work`` returns what becomes of the job; raises Cancelled once the turn's
    stop is asked for. ``behind``: it takes nothing while the lane before it is full.
    """

    stages: frozenset[JobStage]
    at_once: int
    work: Callable[[Turn], Advance]
    behind: bool = False


class Runner:
    """``only_awaited``: of what this process waits for. ``for_caller``: somebody here is told what goes wrong, not the
    job. ``over`` hears of every turn that has ended here.
    """

    def __init__(
        self,
        place: Workplace,
        lanes: Sequence[Lane],
        begin: Callable[[Job], Turn],
        over: Callable[[Turn, Advance], None],
        *,
        only_awaited: bool,
        for_caller: bool,
    ) -> None:
        self._for_caller = for_caller
        self._place, self._queue, self._leases = place, place.queue, place.leases
        self._begin, self._over, self._only_awaited = begin, over, only_awaited
        self._lanes = [(lane, ThreadPoolExecutor(lane.at_once, "index-job")) for lane in lanes]
        self._running: dict[Future[Advance], tuple[Turn, Lane]] = {}
        self._brief: set[Lane] = set()  # whose last turn was over at once
        self.idle = False
        """Whether there was nothing to take when it looked last."""

    def run(self, done: Callable[[], bool], stopped: threading.Event) -> None:
        """Until ``done``, or ``stopped``: then what is under way is given back. Raises StoreError."""
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
                only_awaited=self._only_awaited, most=free,
            ):  # fmt: skip
                turn = self._begin(job)
                self._leases.begun(turn)
                self._running[threads.submit(_done, lane, turn)] = turn, lane
            full = self._running_in(lane) >= lane.at_once

    def _running_in(self, lane: Lane) -> int:
        return sum(of is lane for _, of in self._running.values())

    def _settle(self, future: Future[Advance]) -> None:
        turn, lane = self._running.pop(future)
        self._leases.over(turn)
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
            advance = Advance("cancelled", cause="It was cancelled.")
            self._queue.advance(fence, advance)
        except Exception as error:
            full = disk_full(error, self._place.folder)
            told = full or error
            if isinstance(told, PageIndexError):  # of the settings or the store, not of what the job is about
                with suppress(StoreError):
                    if self._for_caller:
                        self._queue.release(fence)
                    else:
                        self._queue.fail(fence, str(told), passing=full is not None)
                if self._for_caller:
                    if told is error:
                        raise
                    raise told from error
                return
            advance = Advance("failed", cause=f"This could not be done: {plain_reason(error, turn.job.subject)}.")
            self._queue.advance(fence, advance)
        self._over(turn, advance)


def _done(lane: Lane, turn: Turn) -> Advance:
    turn.begin()
    if turn.stop.asked.is_set():
        raise Cancelled("Indexing was stopped.")
    return lane.work(turn)
