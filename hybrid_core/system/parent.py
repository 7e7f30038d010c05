"""Processes that must not outlive the one that started them."""

from __future__ import annotations

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # looked up here: between fork and exec that could wait for ever


def end_with_parent() -> None:
    """Be killed when the process that started us is: inside an endless page nothing else would stop us (Linux)."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
