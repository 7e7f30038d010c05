"""Questions about paths that anybody typed."""

from __future__ import annotations

from pathlib import Path


def exists(path: Path) -> bool:
    """Whether something is there. False also for what can be no file's name, such as one of 300 characters."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
