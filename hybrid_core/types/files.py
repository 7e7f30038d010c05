"""What the system tells of a file without its bytes being read."""

from __future__ import annotations

import os
from dataclasses import dataclass

_COARSE = 2.0  # seconds: the coarsest clock of a file system in use (FAT)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file as it was when its bytes were last read, at ``read_at``; times in seconds since the epoch.

    ``ctime`` is when the file's entry was last changed: unlike ``mtime`` nobody can set it back.
    """

    size: int
    mtime: float
    ctime: float
    inode: str  # a number, which may have more than 63 bits
    read_at: float

    @classmethod
    def of(cls, stat: os.stat_result, read_at: float) -> FileStamp:
        return cls(stat.st_size, stat.st_mtime, stat.st_ctime, str(stat.st_ino), read_at)

    def fits(self, stat: os.stat_result) -> bool:
        """Whether the system tells the same of a file now."""
        return self == FileStamp.of(stat, self.read_at)

    def proves(self, stat: os.stat_result) -> bool:
        """Whether a file of which the system tells this now surely holds what was read.

        Not where it was read within 2 s of its last change: another change may have left the same time.
        """
        return self.read_at - self.mtime > _COARSE and self.fits(stat)
