"""How far a server reaches on its disk at every later look: a link may have come below its roots since the first."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

OUTSIDE = "a link that leads out of the folders that this server may read."


@dataclass(frozen=True, slots=True)
class Reach:
    """``roots`` are absolute and free of links. What lies below one by its name must lie below one in truth.

    What the command line named elsewhere is the user's own choice, and stays readable. ``folders`` are the resolved
    folders of the sources that a file comes from, () where it was named itself.
    """

    roots: tuple[Path, ...]
    folders: tuple[Path, ...] = ()

    def allows(self, path: Path, resolved: Path, source: Path | None = None) -> bool:
        """Return whether a path that leads to ``resolved`` may be read.

        ``source`` is the resolved folder of its source, which it may not leave where no root holds it.
        """
        if self._hold(resolved):
            return True
        return not self._hold(path) and (source is None or resolved.is_relative_to(source))

    def allows_open(self, path: Path, descriptor: int) -> bool:
        """Return whether a file may be read that was opened by a path, whatever lies at that path by now."""
        place = opened_path(path, descriptor)
        return any(self.allows(path, place, folder) for folder in self.folders or (None,))

    def _hold(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)


def opened_path(path: Path, descriptor: int) -> Path:
    """Return where an open file lies, as the system tells it; where it does not, where its path leads to now."""
    if sys.platform == "linux":
        try:
            return Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - a magic link
        except OSError:  # no /proc here
            pass
    if sys.platform == "darwin":
        import fcntl

        found: bytes = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return Path(os.fsdecode(found.rstrip(b"\0")))
    return Path(os.path.realpath(path))
