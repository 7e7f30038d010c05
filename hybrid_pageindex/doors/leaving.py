"""A process that was told to end gives back the job that it does, where what runs it would wait for the job's end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from hybrid_pageindex import run


class Leaving:
    """Of a process, whichever of its threads work; ``tell`` may be called by the handler of a signal."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._stops: set[Callable[[], object]] = set()

    def work(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do it until its end, or until it is cancelled by ``tell``; nothing once that was called."""
        if self._told.is_set():
            return
        try:
            run(self._work(job))
        except asyncio.CancelledError:
            if not self._told.is_set():
                raise

    def tell(self) -> None:
        self._told.set()
        for stop in list(self._stops):
            stop()

    async def _work(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(job())

        def stop() -> None:
            with suppress(RuntimeError):  # it ended meanwhile, and its loop is closed
                loop.call_soon_threadsafe(task.cancel)

        self._stops.add(stop)
        try:
            if self._told.is_set():
                task.cancel()
            await task
        finally:
            self._stops.discard(stop)
