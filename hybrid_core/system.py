"""The machine: optional packages, child processes, and paths."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import importlib
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_core.errors import PageIndexError

_NO_MEMORY = re.compile(
    r"alloc\b.*failed|bad_alloc|out of memory|(?:cannot|failed to) allocate|can't start new thread"
    r"|failed to map segment",
    re.I,
)


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that this process ran out of memory."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


def content_digest(data: bytes | Path) -> str:
    """Return the SHA-256 of bytes, or of the bytes of a file, in hexadecimal digits."""
    if isinstance(data, bytes):
        return hashlib.sha256(data).hexdigest()
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require(module: str, extra: str) -> Any:
    """Import ``module``, which the extra ``extra`` of this project installs.

    Raises PageIndexError if it is missing (with the extra and the pip command) or broken. The type is Any because the
    checker must pass without the extras.
    """
    command = f"pip install 'hybrid-pageindex[{extra}]'"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"This function needs the extra '{extra}': the package {error.name or module} is not installed."
        raise PageIndexError(message, f"Install it with: {command}") from error
    except (ImportError, OSError) as error:  # versions that do not fit, a missing shared library
        reason = " ".join(str(error).split())
        message = f"{module}, of the extra '{extra}', is installed but cannot be imported ({reason})."
        raise PageIndexError(message, f"Repair it with: {command} --force-reinstall") from error


_PR_SET_PDEATHSIG = 1
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # looked up here: between fork and exec that could wait for ever


def end_with_parent() -> None:
    """Let the system kill this process when its parent ends, even during an endless page (Linux only)."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def exists(path: Path) -> bool:
    """Return True if the path exists. A string that can be no file name, such as 300 characters, does not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


OUTSIDE = "a symbolic link to a file outside the folders that this server may read."


@dataclass(frozen=True, slots=True)
class Reach:
    """The folders that a server may read. ``roots`` are absolute and contain no links.

    A path below a root by name must also resolve below a root each time it is used, since links may be created later.
    Paths that the command line names are the user's choice and stay readable. ``folders`` are the resolved folders of a
    file's sources, () if the file itself is the source.
    """

    roots: tuple[Path, ...]
    folders: tuple[Path, ...] = ()

    def allows(self, path: Path, resolved: Path, source: Path | None = None) -> bool:
        """Return True if a path that leads to ``resolved`` may be read.

        ``source`` is the resolved folder of its source, which it may not leave if no root holds it.
        """
        if self._hold(resolved):
            return True
        return not self._hold(path) and (source is None or resolved.is_relative_to(source))

    def allows_open(self, path: Path, descriptor: int) -> bool:
        """Return True if a file may be read that was opened by a path, whatever lies at that path by now."""
        place = opened_path(path, descriptor)
        return any(self.allows(path, place, folder) for folder in self.folders or (None,))

    def _hold(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)


def opened_path(path: Path, descriptor: int) -> Path:
    """Return the place of an open file as the system tells it, else the present target of its path."""
    if sys.platform == "linux":
        try:
            return Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - a magic link
        except OSError:  # no /proc here
            pass
    if sys.platform == "darwin":
        place: bytes = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return Path(os.fsdecode(place.rstrip(b"\0")))
    return Path(os.path.realpath(path))
