"""Pictures of pages, drawn from the original files by a worker process: drawing holds up nobody, and may fail."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services import reading

if TYPE_CHECKING:
    from indexers.formats.drawing import Picture
    from indexers.workers.pool import WorkerPool

SHEET = 12  # pages on a contact sheet
SIDE = 1568  # pixels: models that see scale down what is larger
MOST_BYTES = 300_000


class Pictures:
    """Safe for several threads. The worker is started with the first picture and stays until ``close``."""

    def __init__(self, catalog: Catalog, cache: Cache, settings: Settings) -> None:
        self._catalog, self._cache, self._settings = catalog, cache, settings
        self._lock = threading.Lock()
        self._pool: WorkerPool | None = None

    def draw(self, library: str, name: str, pages: Sequence[int], picture: Picture, password: str | None) -> bytes:
        """A page of the original file, or several as a contact sheet; cached by content.

        Raises UsageError where its format has no page images, DocumentError where the original has moved, changed
        or cannot be drawn.
        """
        with self._catalog.snapshot() as snapshot:
            found = reading.one(snapshot, library, name)
            held = snapshot.library(library).id
        _check_shown(found)
        reading.check_inside(pages, found)
        shape = f"{picture.dpi}-{picture.side}-{picture.most_bytes}.{picture.format}"
        key = f"image/{found.sha256}/{','.join(map(str, pages))}/{shape}"
        if (drawn := self._cache.get(key)) is not None:
            return drawn
        at = self._catalog.locate(held, found.path)
        with _original(found, at, self._settings.storage_path / "tmp") as original:
            image = self._drawn(original, pages, picture, password)
        self._cache.put({key: image})
        return image

    def _drawn(self, path: Path, pages: Sequence[int], picture: Picture, password: str | None) -> bytes:
        from indexers.formats.limits import ParseLimits
        from indexers.workers.pool import WorkerLimits, WorkerPool
        from indexers.workers.protocol import PictureTask

        settings = self._settings
        limits = settings.part(ParseLimits)
        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(1, settings.part(WorkerLimits))
            pool = self._pool
        task = PictureTask(path, password, tuple(pages), limits, picture)
        return cast(bytes, pool.submit(task, pool.allowance()).result())

    def close(self) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None


def _check_shown(found: Document) -> None:
    from indexers.formats.registry import named

    format = named(found.format)
    if format is None:
        raise UsageError(f"{found.name}: its format {found.format} is not known here.", "Install what brings it.")
    if format.show is None:
        raise UsageError(f"{found.name}: {found.format} has no page images.", "Read the page's text instead.")


@contextmanager
def _original(found: Document, at: Path, scratch: Path) -> Iterator[Path]:
    """A copy of a document's file, so that it stays what was indexed while it is drawn. Errors name the file.

    Raises DocumentError where the file is not the one that was indexed.
    """
    from hybrid_core.store.scratch import scratch_folder
    from indexers.jobs.files import private_copy

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
