"""Moving vector indexes between the embedded engine and a Qdrant server: build there, verify, delete here.

The indexes are derived from the catalog, so nothing is copied and nothing can be lost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from hybrid_core.errors import IndexDamagedError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.index.catalog_source import CatalogSource
from hybrid_core.store.index.index import VectorIndex
from hybrid_pageindex.services.indexes import Backend, Indexes

_TRIES = 20  # the catalog may be written meanwhile


@dataclass(frozen=True, slots=True)
class Migration:
    """``vectors`` is what the new index holds, ``expected`` what the catalog has; they are equal.

    ``dropped`` says whether an index of the other kind was deleted.
    """

    library: str
    to: Backend
    vectors: int
    expected: int
    dropped: bool
    seconds: float
    notes: tuple[str, ...]


def migrate(catalog: Catalog, indexes: Indexes, to: Backend, library: str | None) -> list[Migration]:
    """Move one library, or all of them, one after the other.

    Raises UsageError where no server is set, StoreError where the target cannot be built or differs from the
    catalog; the library concerned, and those after it, stay as they were.
    """
    with catalog.snapshot() as snapshot:
        libraries = snapshot.named_libraries() if library is None else [snapshot.library(library)]
    if to == "server" and indexes.backend != "server":
        advice = "Set PAGEINDEX_QDRANT_URL, for example to http://localhost:6333."
        raise UsageError("No Qdrant server is set.", advice)
    return [replace(_migrated(indexes, one.id, to), library=one.name) for one in libraries]


def _migrated(indexes: Indexes, library: str, to: Backend) -> Migration:
    began = time.perf_counter()
    index, source = indexes.build(library, to)
    try:
        vectors, expected = _verified(index, source)
    finally:
        index.close()
    other: Backend = "embedded" if to == "server" else "server"
    reachable = to == "server" or indexes.backend == "server"
    dropped = reachable and indexes.drop(library, other)
    notes = []
    if to == "server" and not dropped and indexes.embedded(library):
        notes.append("another process has the embedded index open, so it was left; run this again when that has ended")
    if to == "embedded" and reachable:
        notes.append("while PAGEINDEX_QDRANT_URL is set, a search builds the index on the server again; unset it")
    return Migration(library, to, vectors, expected, dropped, time.perf_counter() - began, tuple(notes))


def _verified(index: VectorIndex, source: CatalogSource) -> tuple[int, int]:
    """(vectors in the index, vectors that the catalog has), counted while nothing changed."""
    vectors = expected = 0
    for _attempt in range(_TRIES):
        index.catch_up(source)
        position = source.position()
        vectors, expected = index.count(), source.expected_vectors()
        if vectors == expected and position == index.position == source.position():
            return vectors, expected
    raise IndexDamagedError(
        f"The new search index holds {vectors} vectors and the catalog {expected}; nothing was deleted.",
        "Try again when nothing is being indexed.",
    )
