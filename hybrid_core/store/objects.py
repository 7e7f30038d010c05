"""Files named by the hash of their bytes, which never change: the protocol, and its form in a folder of the home."""

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
"""Pictures of pages, and OCR readings of them."""

Used = Callable[[Collection[str]], set[str]]
"""Return those of these names that the catalog uses at the time of the call."""


@dataclass(frozen=True, slots=True)
class Distant:
    """A file that need not be fetched. ``size`` is in bytes.

    ``part`` yields the bytes from a start to before a stop, and returns None if the file is gone. It raises
    UnreachableError, also while it yields.
    """

    size: int
    part: Callable[[int, int], Iterator[bytes] | None]


class Objects(Protocol):
    """A store of files. Safe for several threads and processes.

    A file is kept in three steps: ``upload``, ``keep`` in the transaction that makes the catalog use it, ``confirm``.
    It is deleted in two: ``drop`` in a transaction that finds it unused, ``delete``. Write transactions exclude each
    other, so the methods called in them ask no server.

    Raises UnreachableError if a server does not answer, OSError if the home's disk refuses.
    """

    def place(self, name: str) -> Path:
        """Return the path of a file in this home; it lies there once it is fetched."""
        ...

    def upload(self, name: str, file: Path) -> None:
        """Do the slow part of keeping a file; the file stays in its place."""
        ...

    def keep(self, name: str, file: Path) -> None:
        """Keep a file, in a write transaction of the catalog. It is moved away unless its bytes are kept already."""
        ...

    def confirm(self, name: str, file: Path) -> None:
        """Keep the file again if it was deleted by a process that found it unused before that transaction."""
        ...

    def drop(self, name: str) -> None:
        """Prepare a deletion, in a write transaction of the catalog in which nobody comes to use the file."""
        ...

    def delete(self, names: Collection[str], used: Used) -> None:
        """Delete files after that transaction, but for those that are ``used`` again.

        A process that is killed here may leave unused files, and never removes a used one.
        """
        ...

    def fetch(self, name: str) -> Path:
        """Return the path of a file in this home. Nothing lies there if the file is not kept.

        Raises StoreError if the home's disk refuses.
        """
        ...

    def distant(self, name: str) -> Distant | None:
        """Return a file to be read in parts, None if it lies in this home or is not kept."""
        ...

    def names(self) -> Iterable[str]:
        """Return the names of all kept files."""
        ...

    def link(self, name: str, seconds: int) -> str | None:
        """Return a URL where anybody can read the file for some time, None if there is none."""
        ...

    def derived(self, kind: DerivedKind, key: str) -> bytes | None:
        """Return a value that another machine may have derived from a file."""
        ...

    def keep_derived(self, kind: DerivedKind, key: str, value: bytes) -> None:
        """Keep a derived value for other machines; it may vanish at any time."""
        ...


class Folder:
    """An ``Objects`` in a folder of the home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, name: str) -> Path:
        return self.folder / name[:2] / name

    def upload(self, name: str, file: Path) -> None:
        """Do nothing: there is no server."""

    def keep(self, name: str, file: Path) -> None:
        target = self.place(name)
        if not target.exists():
            make_folder(target.parent)
            file.chmod(stat.S_IRUSR)  # programs that show it must not change it
            file.replace(target)

    def confirm(self, name: str, file: Path) -> None:
        """Do nothing: a deletion happens in a transaction too."""

    def drop(self, name: str) -> None:
        remove_file(self.place(name))

    def delete(self, names: Collection[str], used: Used) -> None:
        """Do nothing: ``drop`` has deleted them."""

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
        """Do nothing: the cache of this home has it."""


_COPY_SECONDS = 600.0  # seconds for which a copy stays after it was asked for, whatever room there is


class Copies(Folder):
    """Copies in this home of files that a bucket has, in a folder that holds nothing else."""

    def __init__(self, folder: Path, room: int) -> None:
        """Keep at most ``room`` bytes of copies."""
        super().__init__(folder)
        self._room = room

    def make_room(self) -> None:
        """Delete the copies that were asked for longest ago, until the others fit."""
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
