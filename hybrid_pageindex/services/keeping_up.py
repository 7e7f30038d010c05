"""A server that keeps libraries up to date with their watched folders, and its bin short, beside its calls."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError

if TYPE_CHECKING:
    from hybrid_pageindex.engine import Engine
    from hybrid_pageindex.services.standby import Standby
    from hybrid_pageindex.services.watching import WatchEvent

_LOOK = 2.0  # seconds between two looks whether there is a folder to watch
_HOUSEKEEPING = 3600.0  # seconds between two looks whether entries of the bin have expired
_ASKED = 0.5  # seconds until what was found has been asked for
_log = logging.getLogger(__name__)


async def keep_up(engine: Engine, standby: Standby) -> None:
    """Until it is cancelled; what is found is done by ``standby``. Nothing is imported before there is a folder."""
    loop = asyncio.get_running_loop()

    def heard(event: WatchEvent) -> None:
        if event.event == "found":
            loop.call_soon_threadsafe(loop.call_later, _ASKED, standby.wake)
        elif event.event in ("failed", "note"):
            _log.warning("%s: %s", event.path, event.detail)

    cleaned = float("-inf")
    while True:
        await asyncio.sleep(_LOOK)
        try:
            if loop.time() > cleaned + _HOUSEKEEPING:
                cleaned = loop.time()
                await engine.expire_bin()
            if await engine.watches():
                await engine.watch(work=False, on_event=heard)
        except PageIndexError as error:
            _log.warning("%s", error)
