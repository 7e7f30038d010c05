"""How the work on one file is told that it is not wanted any more."""

from __future__ import annotations

import threading
from typing import Literal

Reason = Literal["cancelled", "paused", "lost", "closing"]
"""``lost``: another process has taken the job over. ``closing``: this one ends, and the job goes back."""


class Stop:
    """No further task of the file is begun once it is asked for. Safe for several threads."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.reason: Reason | None = None

    def ask(self, reason: Reason) -> None:
        """The first reason stays."""
        self.reason = self.reason or reason
        self.asked.set()
