"""One lock per document, among the calls of this server and all servers of a home."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from pathlib import Path

from hybrid_core.errors import StoreError
from hybrid_core.store.home import make_folder

_PLACES = 2**62  # a file's locks may lie far behind its end


class DocumentLocks:
    """A lock is one byte of one file, at the place that library and path hash to (a POSIX record lock).

    Such locks belong to the process and end with it, so they tell processes apart; within this one a set does.
    Safe for several threads. One object for each home and process: closing it gives up all of them.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / "locks" / "builds"
        self._held: set[int] = set()
        self._lock = threading.Lock()
        self._file: int | None = None

    def take(self, library: str, path: Path) -> bool:
        """Whether the lock was free and is now held. Raises StoreError where the home cannot be written."""
        place = _place(library, path)
        with self._lock:
            if place in self._held:
                return False
            try:
                fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):  # another process has it
                return False
            except OSError as error:
                raise StoreError(
                    f"{self._path}: cannot be locked ({error.strerror}).", "Choose another home."
                ) from error
            self._held.add(place)
            return True

    def give(self, library: str, path: Path) -> None:
        """Give a lock back; nothing happens where it is not held."""
        place = _place(library, path)
        with self._lock:
            if place in self._held and self._file is not None:
                self._held.remove(place)
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        with self._lock:
            self._held.clear()
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _opened(self) -> int:
        if self._file is None:
            try:
                make_folder(self._path.parent)
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreError(
                    f"{self._path}: cannot be opened ({error.strerror}).", "Choose another home."
                ) from error
        return self._file


def _place(library: str, path: Path) -> int:
    return int.from_bytes(hashlib.sha256(f"{library}\n{path}".encode(errors="surrogateescape")).digest()[:8]) % _PLACES
