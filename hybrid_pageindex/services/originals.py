"""Copies of the files of documents, each kept for some seconds: who looks at a page looks at the next one too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import Document

_SECONDS = 20.0  # that a copy stays when nobody uses it
_SPARE = 1 << 20  # bytes that stay free beside a copy
_MOST = 3  # copies that stay, since files may be large


@dataclass(slots=True, eq=False)
class _Copy:
    """``seen`` is what the system told of the file when it was copied."""

    path: Path
    sha256: str
    seen: tuple[int, ...]
    removing: ExitStack
    users: int = 1
    used: float = 0.0


class Originals:
    """Safe for several threads. Copies lie below ``scratch``, or outside the home where that has no room; they are
    private, so that nobody can change them.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._lock = threading.Lock()
        self._copies: dict[Path, _Copy] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    @contextmanager
    def lent(self, found: Document, at: Path, *, alone: bool) -> Iterator[Path]:
        """The file of a document, which lies ``at``, as it was indexed. ``alone``: no file beside it is part of it.

        Raises DocumentError, naming the file, where it is gone or is not the one that was indexed.
        """
        file = Path(found.path)
        if not os.access(at, os.R_OK):
            raise DocumentError(
                f"{file}: the original is gone or cannot be read, so no page can be drawn.",
                "Its text and outline still work; index the file again where it lies now.",
            )
        copy = (self._kept(found, at) if alone else None) or self._made(found, file, at)
        try:
            yield copy.path
        except DocumentError as error:
            error.message = error.message.replace(str(copy.path), str(file))
            error.message = f"{file}: {error.message.removeprefix(f'{file}: ')}"
            raise
        finally:
            self._given_back(copy, at, keep=alone)

    def forget(self) -> None:
        """Remove the copies that nobody uses now."""
        self._remove_unused(0.0)

    def close(self) -> None:
        """Remove the copies that nobody uses; those in use go when they are given back."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        self.forget()

    def _kept(self, found: Document, at: Path) -> _Copy | None:
        with self._lock:
            copy = self._copies.get(at)
            if copy is None or copy.sha256 != found.sha256 or copy.seen != _told(at):
                return None
            copy.users += 1
            return copy

    def _made(self, found: Document, file: Path, at: Path) -> _Copy:
        from hybrid_core.store.scratch import scratch_folder  # with filelock, which a search does not need
        from hybrid_core.store.temporary import working_folder
        from indexers.files.private_copy import private_copy

        with ExitStack() as removing:
            seen = _told(at)
            if at == file and found.sha256 and at.stat().st_size != found.size:  # it may be large: no need to read it
                raise _changed(file)
            parent = working_folder(self._scratch, at.stat().st_size + _SPARE, f"A copy of {file}")
            folder = removing.enter_context(scratch_folder(parent))
            made = removing.enter_context(private_copy(file, folder, at))
            if made.sha256 != found.sha256:
                raise _changed(file)
            return _Copy(made.path, made.sha256, seen, removing.pop_all())

    def _given_back(self, copy: _Copy, at: Path, *, keep: bool) -> None:
        with self._lock:
            copy.users -= 1
            copy.used = time.monotonic()
            if copy.users:
                return
            before = self._copies.get(at)
            if keep and not self._closed:
                self._copies[at] = copy
                self._look_later()
            elif before is copy:
                del self._copies[at]
        if before is not None and before is not copy and keep and not before.users:
            before.removing.close()
        if not keep or self._closed:
            copy.removing.close()
        self._remove_unused(_SECONDS)

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(_SECONDS, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        self._remove_unused(_SECONDS)
        with self._lock:
            self._timer = None
            if self._copies:
                self._look_later()

    def _remove_unused(self, seconds: float) -> None:
        """Those that nobody used for so long, and the oldest of more than may stay."""
        now = time.monotonic()
        with self._lock:
            unused = sorted((copy.used, at) for at, copy in self._copies.items() if not copy.users)
            many = len(self._copies) - _MOST
            gone = [
                self._copies.pop(at) for rank, (used, at) in enumerate(unused) if now - used >= seconds or rank < many
            ]
        for copy in gone:
            copy.removing.close()


def _changed(file: Path) -> DocumentError:
    return DocumentError(f"{file}: it has changed since it was indexed.", "Index it again, or update its library.")


def _told(at: Path) -> tuple[int, ...]:
    stat = at.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
