"""One look at the jobs' events, and at what else changes in the home, for all who listen."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.state import HomeState
from hybrid_pageindex.engine import Engine

_LOOK = 0.25  # seconds between two looks while somebody listens


class Feed:
    def __init__(self, engine: Engine) -> None:
        self._engine, self._listeners = engine, 0
        self._state: HomeState | None = None  # as it was seen last; None while nobody listens
        self._news, self._heard = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._heard.wait()
            with suppress(PageIndexError):  # a catalog that is busy is looked at again
                state = await self._engine.home_state()
                if state != self._state:
                    self._state = state
                    self._news.set()
                    self._news = asyncio.Event()
            await asyncio.sleep(_LOOK)

    async def after(self, number: int, before: HomeState | None = None) -> HomeState:
        """Wait for job events after a number, or for anything else that differs from ``before``.

        Return the state as it is then.
        """
        self._listeners += 1
        self._heard.set()
        try:
            while (now := self._state) is None or not (now.event > number or (before and now.changed(before))):
                await self._news.wait()
            return now
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._heard.clear()
                self._state = None
