"""Copies in this home of files that a bucket has: those that were asked for longest ago go first."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from hybrid_core.store.objects.folder import Folder

_USED = 600.0  # seconds for which a copy stays after it was asked for, whatever room there is


class Copies(Folder):
    """In a folder of their own: of what lies elsewhere in the home there may be no other."""

    def __init__(self, folder: Path, room: int) -> None:
        """``room`` in bytes."""
        super().__init__(folder)
        self._room = room

    def make_room(self) -> None:
        files = [(stat.st_mtime, stat.st_size, file) for file in self.folder.glob("*/*") if (stat := _stat(file))]
        total = sum(size for _, size, _ in files)
        for used, size, file in sorted(files):
            if total <= self._room or used > time.time() - _USED:
                return
            file.unlink(missing_ok=True)
            total -= size


def _stat(file: Path) -> os.stat_result | None:
    with suppress(OSError):
        return file.stat()
    return None
