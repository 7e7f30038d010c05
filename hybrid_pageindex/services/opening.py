"""The file that a document was made of."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.objects.objects import Distant
from hybrid_core.types.documents import Document
from hybrid_pageindex.services import reading
from hybrid_pageindex.services.page_work import PageWork

_SECONDS = 300


def original(catalog: Catalog, library: str, name: str) -> Path:
    """Raises NotFoundError for an unknown document, DocumentError where its file is gone."""
    held_by, found = _document(catalog, library, name)
    file = catalog.locate(held_by, found.path)
    if not os.access(file, os.R_OK):
        advice = "Its text and outline still work; index the file again where it lies now."
        raise DocumentError(f"{found.path}: the original is gone or cannot be read.", advice)
    return file


@contextmanager
def lent_original(catalog: Catalog, pages: PageWork, library: str, name: str) -> Iterator[Path]:
    """Yield the file as it was indexed: for callers who may not read whatever lies at its path by now.

    Raises as ``original`` does, and DocumentError where it is not the one that was indexed. A file of the user's is
    copied and compared first: at its path there may be a link to any other file meanwhile.
    """
    file = original(catalog, library, name)
    held_by, found = _document(catalog, library, name)
    if catalog.kept_as(held_by, found.path) is not None:  # in the home, where nobody else writes
        yield file
        return
    with pages.original(held_by, found) as path:
        yield path


def signed_link(catalog: Catalog, library: str, name: str) -> str | None:
    """A URL of a bucket that gives the file for five minutes; None where it is kept elsewhere. Raises NotFoundError."""
    held_by, found = _document(catalog, library, name)
    kept = catalog.kept_as(held_by, found.path)
    return None if kept is None else catalog.objects.link(kept, _SECONDS)


def distant_original(catalog: Catalog, library: str, name: str) -> Distant | None:
    """The file where it lies in a bucket and not in this home. Raises NotFoundError."""
    held_by, found = _document(catalog, library, name)
    kept = catalog.kept_as(held_by, found.path)
    return None if kept is None else catalog.objects.distant(kept)


def _document(catalog: Catalog, library: str, name: str) -> tuple[str, Document]:
    with catalog.snapshot() as snapshot:
        return snapshot.library(library).id, reading.one(snapshot, library, name, published=False)
