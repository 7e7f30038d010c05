"""A server that does, beside its calls, what waits in the queue; between that no worker process is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError

if TYPE_CHECKING:
    from hybrid_pageindex.engine import Engine

_LOOK = 5.0  # seconds between two looks at what others left in the queue


class Standby:
    def __init__(self, engine: Engine, busy: Callable[[], bool] = lambda: False) -> None:
        """``busy``: more is about to be asked for, so that the processes are kept."""
        self._engine, self._busy, self._asked = engine, busy, asyncio.Event()

    def wake(self) -> None:
        """Something was asked for."""
        self._asked.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                if self._busy() or await self._engine.waits():
                    await self._engine.work(enough=lambda: not self._busy())
            except PageIndexError as error:
                logging.getLogger(__name__).warning("%s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), _LOOK)
            self._asked.clear()
