"""Files that hold still: what is being written is left alone until it is whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class FileSign(NamedTuple):
    """What tells one state of a file from another: bytes, nanoseconds, and which file it is."""

    size: int
    mtime: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileSign:
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


class Stillness:
    """Which files have not changed for some seconds, by looks at them; the system's clock does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[Path, tuple[FileSign, float]] = {}

    @property
    def waiting(self) -> tuple[Path, ...]:
        """Files that were seen and are not yet known to hold still."""
        return tuple(self._since)

    def look(self, seen: Mapping[Path, FileSign], now: float) -> list[Path]:
        """Those of the files seen now that held still long enough; they are then forgotten, as those not seen are."""
        before, self._since = self._since, {}
        ready = []
        for path, sign in seen.items():
            old, since = before.get(path, (None, now))
            if old == sign and now - since >= self._seconds:
                ready.append(path)
            else:
                self._since[path] = sign, since if old == sign else now
        return ready
