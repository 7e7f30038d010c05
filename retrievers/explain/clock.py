"""How long each step of a search takes."""

from __future__ import annotations

import time


class Clock:
    """``laps`` are milliseconds by the step's name, with their ``total``."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._began = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """The step of that name has just ended."""
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self.laps["total"] = round((now - self._began) * 1000, 3)
        self._last = now
