"""How much work something is, in calls, and how much of it is done: seconds say more of the machine than of either."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from hypothesis import settings


def calls(work: Callable[[], Any]) -> int:
    """How many functions are called, Python's and C's, in this thread."""
    counted = 0

    def seen(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def examples(few: int) -> int:
    """How many examples a costly property is shown: few in the ordinary run, twenty times as many in endurance."""
    return 20 * few if settings.get_current_profile_name() == "endurance" else few
