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
from hybrid_pageindex.services.originals import Originals

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
        self._originals = Originals(settings.storage_path / "tmp")

    def run(self, task: Task) -> object:
        """Raises DocumentError, LimitError or Cancelled."""
        from indexers.workers.pool import WorkerLimits, WorkerPool

        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(1, self.settings.part(WorkerLimits))
            pool = self._pool
        return pool.submit(task, pool.allowance()).result()

    def prepare(self) -> None:
        """Start the worker with what draws pages, so that the first that is asked for need not wait for it."""
        from indexers.formats.drawing import Picture
        from indexers.workers.protocol import TextPictureTask

        self.run(TextPictureTask(((1, ""),), Picture(dpi=10), ((),)))

    @contextmanager
    def original(self, library: str, found: Document) -> Iterator[Path]:
        """A copy of the file of a document, so that it stays what was indexed; ``library`` is the id of its library.

        Raises DocumentError where the file is gone, or is not the one that was indexed.
        """
        at = self.catalog.locate(library, found.path)
        with self._originals.lent(found, at, alone=not format_of_document(found).nearby) as path:
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

    def forget(self) -> None:
        """Keep nothing of the files that were looked at."""
        self._originals.forget()

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None
        self._originals.close()


def format_of_document(found: Document) -> Format:
    """Raises UsageError where the package that brought it is gone."""
    from indexers.formats.registry import named

    format = named(found.format)
    if format is None:
        raise UsageError(f"{found.name}: its format {found.format} is not known here.", "Install what brings it.")
    return format
