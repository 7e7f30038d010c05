"""What keeps files by names that begin with the hash of their bytes, so that no file is ever changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Protocol

Made = Literal["pictures", "readings"]
"""Pictures of pages; what was read from them."""


class Objects(Protocol):
    """Safe for several threads and processes. Raises UnreachableError where a server does not answer, OSError where the
    home's disk refuses.
    """

    def place(self, name: str) -> Path:
        """Where a file lies in this home, or will once it is fetched."""
        ...

    def upload(self, name: str, file: Path) -> None:
        """What takes long of keeping a file, for which nobody else should wait; it stays where it is."""
        ...

    def keep(self, name: str, file: Path) -> None:
        """Keep a file, which is taken away, unless its bytes are kept."""
        ...

    def fetch(self, name: str) -> Path:
        """Where it lies in this home; nothing lies there where it is not kept."""
        ...

    def delete(self, name: str) -> None: ...

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
