"""What keeps files by names that begin with the hash of their bytes, so that no file is ever changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Made = Literal["pictures", "readings"]
"""Pictures of pages; what was read from them."""

Used = Callable[[Collection[str]], set[str]]
"""Which of these names the catalog uses, as it is when this is called."""


@dataclass(frozen=True, slots=True)
class Distant:
    """A file of so many bytes. ``part`` gives those from one to before another, None where it is gone meanwhile;
    raises UnreachableError, also while it gives them.
    """

    size: int
    part: Callable[[int, int], Iterator[bytes] | None]


class Objects(Protocol):
    """Safe for several threads and processes. Raises UnreachableError where a server does not answer, OSError where the
    home's disk refuses.

    A file is kept in three steps: ``upload``, ``keep`` in the transaction that makes the catalog use it, ``confirm``.
    It is deleted in two: ``drop`` in a transaction that finds it unused, ``delete``. While one writes nobody else
    does, so that what is called in a transaction asks no server.
    """

    def place(self, name: str) -> Path:
        """Where a file lies in this home, or will once it is fetched."""
        ...

    def upload(self, name: str, file: Path) -> None:
        """What takes long of keeping a file; it stays where it is."""
        ...

    def keep(self, name: str, file: Path) -> None:
        """In a write transaction of the catalog. The file is taken away, unless its bytes are kept."""
        ...

    def confirm(self, name: str, file: Path) -> None:
        """Whoever found it unused before that transaction may have deleted it meanwhile: then it is kept again."""
        ...

    def drop(self, name: str) -> None:
        """In a write transaction of the catalog, in which nobody comes to use it."""
        ...

    def delete(self, names: Collection[str], used: Used) -> None:
        """After that transaction, but for those which are ``used`` again. A process that ends in here may leave files
        that nobody uses, and takes away none that somebody does.
        """
        ...

    def fetch(self, name: str) -> Path:
        """Where it lies in this home; nothing lies there where it is not kept. Raises StoreError where the home's disk
        refuses.
        """
        ...

    def distant(self, name: str) -> Distant | None:
        """To read some of a file that need not be fetched; None where it lies in this home, or is not kept."""
        ...

    def names(self) -> Iterable[str]:
        """Of everything that is kept."""
        ...

    def link(self, name: str, seconds: int) -> str | None:
        """A URL that anybody can read it at for some time; None where it is not kept, or there is no such thing."""
        ...

    def made(self, kind: Made, key: str) -> bytes | None:
        """What another machine may have made."""
        ...

    def keep_made(self, kind: Made, key: str, value: bytes) -> None:
        """For other machines; it may vanish at any time."""
        ...
