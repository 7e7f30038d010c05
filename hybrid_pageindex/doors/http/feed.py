"""One look at the jobs' events for all who listen."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from hybrid_core.errors import PageIndexError
from hybrid_pageindex.engine import Engine

_LOOK = 0.25  # seconds between two looks while somebody listens


class Feed:
    def __init__(self, engine: Engine) -> None:
        self._engine, self._last, self._listeners = engine, -1, 0
        self._news, self._heard = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._heard.wait()
            with suppress(PageIndexError):  # a catalog that is busy is looked at again
                last = await self._engine.last_job_event()
                if last != self._last:
                    self._last = last
                    self._news.set()
                    self._news = asyncio.Event()
            await asyncio.sleep(_LOOK)

    async def after(self, number: int) -> None:
        """Wait until there may be events after a number."""
        self._listeners += 1
        self._heard.set()
        try:
            while self._last <= number:
                await self._news.wait()
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._heard.clear()
