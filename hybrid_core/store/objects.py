"""Storage of immutable files, named by the hash of their bytes: the protocol, and storage in a folder of the home."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hybrid_core.store.home import make_folder
from hybrid_core.system import remove_file

DerivedKind = Literal["pictures", "readings"]
"""The kinds of derived values: pictures of pages, and OCR results."""

Used = Callable[[Collection[str]], set[str]]
"""A function that returns those of these names that the catalog uses now."""


@dataclass(frozen=True, slots=True)
class Distant:
    """A stored file that can be read in parts without a download. ``size`` is in bytes.

    ``part(start, stop)`` yields the bytes from ``start`` to before ``stop``, and returns None if the file no longer
    exists. It raises UnreachableError, also between two parts, if the server does not answer.
    """

    size: int
    part: Callable[[int, int], Iterator[bytes] | None]


class ObjectStore(Protocol):
    """Storage of original files. Safe for several threads and processes.

    A file is stored in three steps: ``upload``, ``keep`` in the transaction that makes the catalog use it, ``confirm``.
    It is deleted in two: ``drop`` in a transaction that finds it unused, then ``delete``. ``keep`` and ``drop`` send no
    requests to a server, since a transaction that waits for one would block all other writers.

    Methods raise UnreachableError if a server does not answer, and OSError if the home's disk cannot be used.
    """

    def check(self) -> str:
        """Return where the files are stored. Raise within seconds if a server does not answer."""
        ...

    def place(self, name: str) -> Path:
        """Return the local path of a file. If the file is stored on a server, it exists there only after ``fetch``."""
        ...

    def upload(self, name: str, file: Path) -> None:
        """Upload a file to the server, if there is one, before the transaction that uses it. The local file stays."""
        ...

    def keep(self, name: str, file: Path) -> None:
        """Store a file within a write transaction of the catalog.

        The file is moved, unless its bytes are stored already.
        """
        ...

    def confirm(self, name: str, file: Path) -> None:
        """Complete the storage after the transaction: store the file again if another process has just deleted it."""
        ...

    def drop(self, name: str) -> None:
        """Prepare the deletion of an unused file, within a write transaction of the catalog."""
        ...

    def delete(self, names: Collection[str], used: Used) -> None:
        """Delete files after the transaction that called ``drop``, except those that ``used`` says are used again.

        If the process is killed here, unused files may remain, but a used file is never deleted.
        """
        ...

    def fetch(self, name: str) -> Path:
        """Return the local path of a file. Download it if needed. If the file is not stored, the path does not exist.

        Raise StoreError if the home's disk cannot be used.
        """
        ...

    def distant(self, name: str) -> Distant | None:
        """Return a stored file that can be read in parts without a download.

        Return None if the file exists locally or is not stored.
        """
        ...

    def names(self) -> Iterable[str]:
        """Return the names of all stored files."""
        ...

    def link(self, name: str, seconds: int) -> str | None:
        """Return a URL from which anyone can read the file for ``seconds``.

        Return None if the file is not stored, or if the storage has no such URLs.
        """
        ...

    def derived(self, kind: DerivedKind, key: str) -> bytes | None:
        """Return a stored value that a machine has derived from a file, such as a page image, None if there is none."""
        ...

    def keep_derived(self, kind: DerivedKind, key: str, value: bytes) -> None:
        """Store a value that was derived from a file, so that other machines need not compute it.

        It may be deleted at any time.
        """
        ...

    def drop_derived(self, hashes: Collection[str]) -> None:
        """Delete all values that were derived from files with these hashes."""
        ...


class FolderStore:
    """Storage of original files in a folder of the home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self) -> str:
        return str(self.folder)

    def place(self, name: str) -> Path:
        return self.folder / name[:2] / name

    def upload(self, name: str, file: Path) -> None:
        """Do nothing: there is no server."""

    def keep(self, name: str, file: Path) -> None:
        target = self.place(name)
        if not target.exists():
            make_folder(target.parent)
            file.chmod(stat.S_IRUSR)  # programs that open it must not change it
            file.replace(target)

    def confirm(self, name: str, file: Path) -> None:
        """Do nothing: files are deleted only within transactions, so no other process can have deleted the file."""

    def drop(self, name: str) -> None:
        remove_file(self.place(name))

    def delete(self, names: Collection[str], used: Used) -> None:
        """Do nothing: ``drop`` has deleted the files."""

    def fetch(self, name: str) -> Path:
        return self.place(name)

    def distant(self, name: str) -> Distant | None:
        return None

    def names(self) -> Iterable[str]:
        return [file.name for file in self.folder.glob("*/*")]

    def link(self, name: str, seconds: int) -> str | None:
        return None

    def derived(self, kind: DerivedKind, key: str) -> bytes | None:
        return None

    def keep_derived(self, kind: DerivedKind, key: str, value: bytes) -> None:
        """Do nothing: the value is in the cache of this home."""

    def drop_derived(self, hashes: Collection[str]) -> None:
        """Do nothing: the values are in the cache of this home."""


_COPY_SECONDS = 600.0  # minimum time in seconds that a copy stays after its last use, even if the space is exceeded


class Copies(FolderStore):
    """Local copies of files from a bucket, in a separate folder."""

    def __init__(self, folder: Path, room: int) -> None:
        """Open the folder. ``room`` is the maximum size of all copies in bytes."""
        super().__init__(folder)
        self._room = room

    def make_room(self) -> None:
        """Delete the least recently used copies until the total size is within the limit."""
        files = [(stat.st_mtime, stat.st_size, file) for file in self.folder.glob("*/*") if (stat := _stat(file))]
        total = sum(size for _, size, _ in files)
        for used, size, file in sorted(files):
            if total <= self._room or used > time.time() - _COPY_SECONDS:
                return
            file.unlink(missing_ok=True)
            total -= size


def _stat(file: Path) -> os.stat_result | None:
    with suppress(OSError):
        return file.stat()
    return None
