"""When a library was last searched or indexed: the time of an empty file, since a search must not wait for a writer."""

from __future__ import annotations

import datetime
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote


def mark_used(home: Path, library: str) -> None:
    """A home that cannot be written is searched all the same."""
    with suppress(OSError):
        file = _file(home, library)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.touch(mode=0o600)


def last_used(home: Path, library: str) -> str:
    """ISO 8601, UTC, milliseconds; "" where it never was."""
    try:
        used = _file(home, library).stat().st_mtime
    except OSError:
        return ""
    return datetime.datetime.fromtimestamp(used, datetime.UTC).isoformat(timespec="milliseconds")


def forget_use(home: Path, library: str) -> None:
    _file(home, library).unlink(missing_ok=True)


def _file(home: Path, library: str) -> Path:
    return home / "libraries" / f"{quote(library, safe=' ')}~used"
