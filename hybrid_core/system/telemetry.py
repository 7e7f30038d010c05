"""Libraries that would report to their makers, or ask them for news, are told not to."""

from __future__ import annotations

import os

_SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, which PyMuPDF loads: a device id on the disk, then a host of its maker
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and what is built on it
    "DO_NOT_TRACK": "1",  # the same wish, as several tools read it
    "FASTMCP_CHECK_FOR_UPDATES": "off",
}


def switch_off() -> None:
    """Set each library's own switch, for this process and those it starts, unless the user has set it.

    They are read when a library is imported, so every package of ours calls this before it imports anything else.
    """
    for name, off in _SWITCHES.items():
        os.environ.setdefault(name, off)
