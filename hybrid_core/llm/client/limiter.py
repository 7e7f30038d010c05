"""How many calls an endpoint gets at once and per minute, over all threads and models that use it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hybrid_core.errors import UsageError
from hybrid_core.llm.client.breaker import Breaker

_LOOK = 0.2  # seconds between two looks whether a caller that waits has been closed


class NoPlaceError(Exception):
    """The wait for a place ended without one. ``pause`` is how many seconds more nothing is to be sent."""

    def __init__(self, pause: float) -> None:
        super().__init__(pause)
        self.pause = pause


class Limiter:
    """``concurrency`` calls at most are under way; ``per_minute`` start in a minute, evenly spread, 0 for no limit.

    ``breaker`` remembers for the same callers whether the endpoint can be asked at all.
    """

    def __init__(self, concurrency: int, per_minute: int = 0) -> None:
        if concurrency < 1 or per_minute < 0:
            raise UsageError(
                f"An endpoint's limits are {concurrency} calls at once and {per_minute} per minute.",
                "Allow at least one at once; 0 per minute means no limit.",
            )
        self.breaker = Breaker()
        self._free = concurrency
        self._interval = 60 / per_minute if per_minute else 0.0
        self._next = 0.0  # when the next call may start, after those before it
        self._paused = 0.0  # until when none may start, since the endpoint asked for it
        self._change = threading.Condition()

    @contextmanager
    def place(self, until: float, stop: Callable[[], bool], longest_pause: float = math.inf) -> Iterator[float]:
        """Wait for a place and hold it: the seconds for which calls of others took them all.

        Raises NoPlaceError once ``until`` (monotonic), put off by these seconds, passes, ``stop`` is true or a pause is
        longer than so many seconds.
        """
        waited = self._take(until, stop, longest_pause)
        try:
            yield waited
        finally:
            with self._change:
                self._free += 1
                self._change.notify()

    def pause(self, seconds: float) -> None:
        """Let no call start for a while: the endpoint asked for it."""
        with self._change:
            self._paused = max(self._paused, time.monotonic() + seconds)
            self._change.notify_all()

    def _take(self, until: float, stop: Callable[[], bool], longest_pause: float) -> float:
        waited = 0.0
        with self._change:
            while True:
                now = time.monotonic()
                start = max(self._next, self._paused)
                if now >= until + waited or stop() or self._paused - now > longest_pause:
                    self._change.notify()  # the wake-up may have been meant for another
                    raise NoPlaceError(self._paused - now)
                if self._free and now >= start:
                    self._free -= 1
                    self._next = max(self._next, now) + self._interval if self._interval else self._next
                    if self._free:
                        self._change.notify()
                    return waited
                if self._free:
                    self._change.wait(min(max(start - now, 0.001), _LOOK, max(until + waited - now, 0.001)))
                else:
                    self._change.wait(_LOOK)
                    waited += time.monotonic() - now
