"""How much one caller may ask for: requests a second, and work at once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hybrid_pageindex.doors.http.errors import Refusal

_CALLERS = 10_000  # whose rates are remembered


class Rates:
    """Buckets that fill with ``a_minute`` requests and hold those of ten seconds; 0: as many as come."""

    def __init__(self, a_minute: int) -> None:
        self._a_second, self._most = a_minute / 60, max(a_minute / 6, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Raises Refusal where it asks too often."""
        if not self._a_second:
            return
        now = time.monotonic()
        held, at = self._buckets.pop(caller, (self._most, now))
        held = min(self._most, held + (now - at) * self._a_second)
        self._buckets[caller] = (max(held - 1, 0.0) if held >= 1 else held, now)
        if len(self._buckets) > _CALLERS:
            self._buckets.popitem(last=False)
        if held < 1:
            wait = str(max(1, round((1 - held) / self._a_second)))
            raise Refusal(429, "too_many_requests", "These are too many requests.", f"Wait {wait} s.", retry_after=wait)


class Turns:
    """``at_once`` of these work, ``waiting`` more wait for their turn, and others are sent away."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._turn, self._room = asyncio.Semaphore(at_once), at_once + waiting
        self.held = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Raises Refusal where too many wait already."""
        if self.held >= self._room:
            raise Refusal(503, "busy", "Too much is asked at once.", "Try again in a moment.", retry_after="1")
        self.held += 1
        try:
            async with self._turn:
                yield
        finally:
            self.held -= 1
