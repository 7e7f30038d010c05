"""Threads that begin what is most urgent of what waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count


class TaskThreads:
    """Run tasks in at most so many threads; each begins when a task finds none free.

    Tasks of one urgency, 0 the greatest, keep their order. A thread is free before others hear of its result, so that
    a task which follows from that result begins no further thread.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._waiting: list[tuple[int, int, Future[object], Callable[[], object]]] = []
        self._numbers = count()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._free = 0
        self._closed = False

    def submit(self, urgency: int, work: Callable[[], object]) -> Future[object]:
        """Raises RuntimeError once they are closed."""
        future: Future[object] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("the threads are closed")
            heappush(self._waiting, (urgency, next(self._numbers), future, work))
            if self._free < len(self._waiting) and len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name=f"{self._name}-{len(self._threads)}", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._changed.notify()
        return future

    def close(self) -> None:
        """What has not begun is cancelled; what has is waited for."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            self._changed.notify_all()
        for *_, future, _ in waiting:
            future.cancel()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        self._release()
        while (task := self._next()) is not None:
            future, work = task
            if not future.set_running_or_notify_cancel():
                self._release()
            else:
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001 - whoever waits for it hears of it
                    self._release()
                    future.set_exception(error)
                else:
                    self._release()
                    future.set_result(result)
                    del result
            del task, future, work  # what a task holds is not kept until the next one

    def _release(self) -> None:
        with self._changed:
            self._free += 1

    def _next(self) -> tuple[Future[object], Callable[[], object]] | None:
        """Return the most urgent task, for a thread that counts as free; None once they are closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            self._free -= 1
            if self._closed:
                return None
            *_, future, work = heappop(self._waiting)
            return future, work
