"""Who listens to messages in this process hears at once that there is more to read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class News:
    """Safe for several threads and event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[int, list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}

    @contextmanager
    def listening(self, message: int) -> Iterator[asyncio.Event]:
        """An event that is set when something happens to a message."""
        mine = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            self._listeners.setdefault(message, []).append(mine)
        try:
            yield mine[1]
        finally:
            with self._lock:
                self._listeners[message].remove(mine)
                if not self._listeners[message]:
                    del self._listeners[message]

    def tell(self, message: int) -> None:
        with self._lock:
            listeners = list(self._listeners.get(message, ()))
        for loop, event in listeners:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(event.set)
