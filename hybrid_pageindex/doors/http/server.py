"""What the routes of one server share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request

from hybrid_pageindex.doors.http.feed import Feed
from hybrid_pageindex.doors.http.metrics import Metrics
from hybrid_pageindex.doors.http.security.identity import Callers
from hybrid_pageindex.doors.http.security.rates import Turns
from hybrid_pageindex.doors.mcp.access import Access
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.standby import Standby

T = TypeVar("T")
_UPLOADS = 100  # bodies that are received at once: each holds a connection and two files
_REMEMBERED = 2.0  # seconds that what is missing holds: probes come often, and each asks the search server


@dataclass
class Server:
    """``reads``, ``searches``, and ``answers`` (which may wait for a model) take turns, each among themselves.
    ``access`` says which files of this machine may be indexed by their path. ``ending`` is set once it is to end.
    """

    engine: Engine
    callers: Callers
    cookie: str
    access: Access
    reads: Turns
    searches: Turns
    answers: Turns
    standby: Standby
    feed: Feed
    metrics: Metrics
    uploads: Turns = field(default_factory=lambda: Turns(_UPLOADS, 0))
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    _working: set[asyncio.Task[Any]] = field(default_factory=set)
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _missing: tuple[float, dict[str, str]] | None = None

    async def turn(self, turns: Turns, work: Coroutine[Any, Any, T]) -> T:
        """Work that goes on, and keeps its turn, where the client goes away: threads cannot be stopped."""

        async def held() -> T:
            async with turns.one():
                return await work

        task = asyncio.ensure_future(held())
        self._working.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                work.close()  # it never had its turn

    async def missing(self) -> dict[str, str]:
        """Return ``Engine.missing``, looked up once in two seconds whoever asks."""
        async with self._looking:
            if self._missing is None or time.monotonic() >= self._missing[0] + _REMEMBERED:
                missing = await self.engine.missing()
                self._missing = time.monotonic(), missing
        return dict(self._missing[1])

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled():
            task.exception()  # looked at: nobody may be waiting any more


def server_of(request: Request) -> Server:
    found: Server = request.app.state.server
    return found
