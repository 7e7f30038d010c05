"""A temporary folder outside the home: for copies that a home which cannot be written has no place for."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from hybrid_core.errors import DiskFullError
from hybrid_core.store.home import is_there, unwritable

_USUAL = ("/tmp", "/var/tmp")


def temporary_folder(need: int, purpose: str) -> Path:
    """Return a folder of this user alone, on the first disk of the system's temporary folders with ``need`` bytes free.

    ``purpose`` begins the message. Raises DiskFullError, naming each place and what it has free, where none has room.
    """
    refused = []
    for place in _places():
        try:
            folder = _own_folder(place)
            free = shutil.disk_usage(folder).free
        except OSError as error:
            refused.append(f"{place} ({error.strerror or error})")
            continue
        if free >= need:
            return folder
        refused.append(f"{place} ({free >> 20} MB free)")
    megabytes = (need >> 20) + 1
    raise DiskFullError(
        f"{purpose} needs {megabytes} MB in a temporary folder, and none has room: {', '.join(refused)}.",
        f"Set TMPDIR to a folder with {megabytes} MB free.",
    )


def working_folder(folder: Path, need: int, purpose: str) -> Path:
    """Return a folder of the home where it can be written and its disk has ``need`` bytes free, else one outside.

    Raises as ``temporary_folder``.
    """
    existing = next(parent for parent in (folder, *folder.parents) if is_there(parent))
    if not unwritable(existing) and shutil.disk_usage(existing).free >= need:
        return folder
    return temporary_folder(need, purpose)


def _places() -> Iterator[Path]:
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    yield from dict.fromkeys(Path(place).absolute() for place in (*named, *_USUAL) if place)


def _own_folder(place: Path) -> Path:
    """Return a folder below ``place`` that nobody else can open. Raises OSError where there can be none."""
    folder = place / f"hybrid-pageindex-{os.geteuid()}"
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(0, f"{folder.name} is not a folder of this user alone")
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(0, "cannot be written")
    return folder
