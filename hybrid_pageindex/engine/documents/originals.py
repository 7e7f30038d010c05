"""Original files of documents: temporary copies, links, and work on single pages in a worker process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import working_folder
from hybrid_core.store.objects import Distant
from hybrid_core.types.documents import Document
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents import reading

_KEPT_SECONDS = 20.0  # seconds for which an unused copy is kept
_SPARE = 1 << 20  # bytes that must stay free on the disk of a copy
_MAX_COPIES = 3  # maximum unused copies, since files may be large


@dataclass(slots=True, eq=False)
class _Copy:
    """A temporary copy of a file. ``seen`` is the file's inode, size and times when it was copied."""

    path: Path
    sha256: str
    seen: tuple[int, ...]
    removing: ExitStack
    users: int = 1
    used: float = 0.0


class Originals:
    """A store of private temporary copies of original files, which other users cannot change.

    Safe for several threads. Copies are in the folder ``scratch``, or outside the home if ``scratch`` has no space.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._lock = threading.Lock()
        self._copies: dict[Path, _Copy] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    @contextmanager
    def lent(self, document: Document, at: Path, *, alone: bool) -> Iterator[Path]:
        """Yield the path of a temporary copy of a document's file. ``at`` is where the file is now.

        ``alone`` copies the file without the files next to it. Raise DocumentError if the file is missing or has
        changed.
        """
        file = Path(document.path)
        if not os.access(at, os.R_OK):
            raise DocumentError(
                "the original file is missing or cannot be read, so its pages cannot be drawn.",
                "The text and outline remain available. To see the pages, index the file again at its present path.",
                file=file,
            )
        copy = (self._cached_copy(document, at) if alone else None) or self._make_copy(document, file, at)
        try:
            yield copy.path
        except DocumentError as error:
            error.name_original(copy.path, file)
            error.name_file(file)
            raise
        finally:
            self._given_back(copy, at, keep=alone)

    def forget(self) -> None:
        """Delete the temporary copies that are not in use."""
        self._remove_unused(0.0)

    def close(self) -> None:
        """Delete all copies. A copy in use is deleted once its user has finished."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        self.forget()

    def _cached_copy(self, document: Document, at: Path) -> _Copy | None:
        with self._lock:
            copy = self._copies.get(at)
            if copy is None or copy.sha256 != document.sha256 or copy.seen != _file_stamp(at):
                return None
            copy.users += 1
            return copy

    def _make_copy(self, document: Document, file: Path, at: Path) -> _Copy:
        from hybrid_core.store.home import scratch_folder  # imports filelock, which a search does not need
        from indexers.files.private_copy import private_copy

        with ExitStack() as removing:
            seen = _file_stamp(at)
            if (
                at == file and document.sha256 and at.stat().st_size != document.size
            ):  # avoids reading a file that may be large
                raise _changed(file)
            parent = working_folder(self._scratch, at.stat().st_size + _SPARE, f"A copy of {file}")
            folder = removing.enter_context(scratch_folder(parent))
            copy_path = removing.enter_context(private_copy(file, folder, at))
            if copy_path.sha256 != document.sha256:
                raise _changed(file)
            return _Copy(copy_path.path, copy_path.sha256, seen, removing.pop_all())

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
        self._remove_unused(_KEPT_SECONDS)

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(_KEPT_SECONDS, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        self._remove_unused(_KEPT_SECONDS)
        with self._lock:
            self._timer = None
            if self._copies:
                self._look_later()

    def _remove_unused(self, seconds: float) -> None:
        """Delete the copies that were not used for ``seconds``, and the oldest copies beyond the limit."""
        now = time.monotonic()
        with self._lock:
            unused = sorted((copy.used, at) for at, copy in self._copies.items() if not copy.users)
            many = len(self._copies) - _MAX_COPIES
            gone = [
                self._copies.pop(at) for rank, (used, at) in enumerate(unused) if now - used >= seconds or rank < many
            ]
        for copy in gone:
            copy.removing.close()


def _changed(file: Path) -> DocumentError:
    return DocumentError(
        "the file has changed since it was indexed.", "Index the file again, or update the library.", file=file
    )


def _file_stamp(at: Path) -> tuple[int, ...]:
    stat = at.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


if TYPE_CHECKING:
    from hybrid_core.types.locators import Illustration
    from indexers.formats.format import Format
    from indexers.workers.pool import WorkerPool
    from indexers.workers.protocol import Task

    Shown = tuple[tuple[Illustration, ...], ...]  # illustrations of each page


class PageWork:
    """A worker process for tasks on single pages, started for the first task. Safe for several threads."""

    def __init__(self, catalog: Catalog, cache: Cache, settings: Settings) -> None:
        self.catalog, self.cache, self.settings = catalog, cache, settings
        self._lock = threading.Lock()
        self._pool: WorkerPool | None = None
        self._originals = Originals(settings.storage_path / "tmp")

    def run(self, task: Task) -> object:
        """Run a task in the worker process and return its result.

        Raise DocumentError if the task fails, LimitError if it takes too much time or memory, Cancelled if the process
        is closed.
        """
        from indexers.workers.pool import WorkerLimits, WorkerPool

        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(1, self.settings.part(WorkerLimits))
            pool = self._pool
        return pool.submit(task, pool.allowance()).result()

    def prepare(self) -> None:
        """Start the worker process with the drawing libraries, so that the first page image does not wait for them."""
        from indexers.formats.format import PictureOptions
        from indexers.workers.protocol import TextPictureTask

        self.run(TextPictureTask(((1, ""),), PictureOptions(dpi=10), ((),)))

    @contextmanager
    def original(self, library: str, document: Document) -> Iterator[Path]:
        """Yield the path of a copy of a document's file; ``library`` is the id of its library.

        Raise DocumentError if the file is missing or has changed since it was indexed.
        """
        at = self.catalog.locate(library, document.path)
        with self._originals.lent(document, at, alone=not format_of_document(document).reads_siblings) as path:
            yield path

    def may_show(self, library: str, document: Document) -> bool:
        """Return whether a document's file can be read and its format may have pictures besides text."""
        readable = os.access(self.catalog.locate(library, document.path), os.R_OK)
        return readable and format_of_document(document).may_have_pictures

    def illustrations(self, library: str, document: Document, pages: tuple[tuple[int, str], ...]) -> Shown | None:
        """Return the pictures on pages, which are given as (number, text).

        Return None if the file is missing or has changed.
        """
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import IllustrationsTask

        try:
            with self.original(library, document) as path:
                return cast("Shown", self.run(IllustrationsTask(path, None, pages, self.settings.part(ParseLimits))))
        except DocumentError:
            return None

    def forget(self) -> None:
        """Delete the unused copies of files. Later work copies the files anew."""
        self._originals.forget()

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None
        self._originals.close()


def format_of_document(document: Document) -> Format:
    """Return the format of a document. Raise UsageError if the package that read the format was removed."""
    from indexers.formats.registry import named

    format = named(document.format)
    if format is None:
        raise UsageError(
            f"{document.name}: the format {document.format} is not supported by this installation.",
            "Install the package that reads this format.",
        )
    return format


_LINK_SECONDS = 300


def original(catalog: Catalog, library: str, name: str) -> Path:
    """Return the path of a document's file. Raise NotFoundError for an unknown document, DocumentError if the file is
    missing.
    """
    held_by, row = _document(catalog, library, name)
    file = catalog.locate(held_by, row.path)
    if not os.access(file, os.R_OK):
        advice = "The text and outline remain available. To see the pages, index the file again at its present path."
        raise DocumentError("the original file is missing or cannot be read.", advice, file=row.path)
    return file


@contextmanager
def lent_original(catalog: Catalog, pages: PageWork, library: str, name: str) -> Iterator[Path]:
    """Yield the path of a document's file as it was indexed: a copy, or the stored file in the home.

    Use it to send files to callers, because a link at the original path could lead to a file that they must not read.
    Raise DocumentError if the file is missing or has changed, NotFoundError for an unknown document.
    """
    file = original(catalog, library, name)
    held_by, row = _document(catalog, library, name)
    if catalog.kept_as(held_by, row.path) is not None:  # stored in the home, where no other user writes
        yield file
        return
    with pages.original(held_by, row) as path:
        yield path


def signed_link(catalog: Catalog, library: str, name: str) -> str | None:
    """Return a URL at which the bucket provides a document's file for five minutes.

    Return None if the file is not in a bucket. Raise NotFoundError for an unknown document.
    """
    held_by, row = _document(catalog, library, name)
    stored_as = catalog.kept_as(held_by, row.path)
    return None if stored_as is None else catalog.objects.link(stored_as, _LINK_SECONDS)


def distant_original(catalog: Catalog, library: str, name: str) -> Distant | None:
    """Return a handle to read a document's file from the bucket in parts.

    Return None if the file is not in a bucket or this home has a copy. Raise NotFoundError for an unknown document.
    """
    held_by, row = _document(catalog, library, name)
    stored_as = catalog.kept_as(held_by, row.path)
    return None if stored_as is None else catalog.objects.distant(stored_as)


def _document(catalog: Catalog, library: str, name: str) -> tuple[str, Document]:
    with catalog.snapshot() as snapshot:
        return snapshot.library(library).id, reading.find_document(snapshot, library, name, published=False)
