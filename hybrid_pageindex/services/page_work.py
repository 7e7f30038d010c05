"""What is made of single pages when somebody looks at them, by a worker process: it holds up nobody, and may fail."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document
from hybrid_pageindex.config.settings import Settings

if TYPE_CHECKING:
    from hybrid_core.types.layouts import Illustration
    from indexers.formats.format import Format
    from indexers.workers.pool import WorkerPool
    from indexers.workers.protocol import Task

    Shown = tuple[tuple[Illustration, ...], ...]  # page by page


class PageWork:
    """Safe for several threads. The worker is started with the first task and stays until ``close``."""

    def __init__(self, catalog: Catalog, cache: Cache, settings: Settings) -> None:
        self.catalog, self.cache, self.settings = catalog, cache, settings
        self._lock = threading.Lock()
        self._pool: WorkerPool | None = None

    def run(self, task: Task) -> object:
        """Raises DocumentError, LimitError or Cancelled."""
        from indexers.workers.pool import WorkerLimits, WorkerPool

        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(1, self.settings.part(WorkerLimits))
            pool = self._pool
        return pool.submit(task, pool.allowance()).result()

    @contextmanager
    def original(self, library: str, found: Document) -> Iterator[Path]:
        """A copy of the file of a document, so that it stays what was indexed; ``library`` is the id of its library.

        Raises DocumentError where the file is gone, or is not the one that was indexed.
        """
        at = self.catalog.locate(library, found.path)
        with _original(found, at, self.settings.storage_path / "tmp") as path:
            yield path

    def may_show(self, library: str, found: Document) -> bool:
        """Whether there may be pictures to draw with the text of its pages: in its format, and its file is there."""
        there = os.access(self.catalog.locate(library, found.path), os.R_OK)
        return there and format_of_document(found).illustrated

    def illustrations(self, library: str, found: Document, pages: tuple[tuple[int, str], ...]) -> Shown | None:
        """The pictures of pages, given by their numbers and texts; None where the file is not the one indexed."""
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import IllustrationsTask

        try:
            with self.original(library, found) as path:
                return cast("Shown", self.run(IllustrationsTask(path, None, pages, self.settings.part(ParseLimits))))
        except DocumentError:
            return None

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None


def format_of_document(found: Document) -> Format:
    """Raises UsageError where the package that brought it is gone."""
    from indexers.formats.registry import named

    format = named(found.format)
    if format is None:
        raise UsageError(f"{found.name}: its format {found.format} is not known here.", "Install what brings it.")
    return format


@contextmanager
def _original(found: Document, at: Path, scratch: Path) -> Iterator[Path]:
    """A copy of a document's file, so that it stays what was indexed while it is drawn. Errors name the file.

    Raises DocumentError where the file is not the one that was indexed.
    """
    from hybrid_core.store.scratch import scratch_folder
    from indexers.files.private_copy import private_copy

    path = Path(found.path)
    if not os.access(at, os.R_OK):
        raise DocumentError(
            f"{path}: the original is gone or cannot be read, so no page can be drawn.",
            "Its text and outline still work; index the file again where it lies now.",
        )
    try:
        with scratch_folder(scratch) as folder, private_copy(path, folder, at) as copy:
            if copy.sha256 != found.sha256:
                raise DocumentError(f"{path}: it has changed since it was indexed.", "Index it again.")
            yield copy.path
    except DocumentError as error:
        error.message = f"{path}: {error.message.removeprefix(f'{path}: ')}"
        raise
