"""Moving vector indexes between the embedded engine and a Qdrant server, and catalogs between SQLite and PostgreSQL.

Indexes are derived from the catalog: built there, verified, deleted here. A catalog is copied, and never deleted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from hybrid_core.errors import IndexDamagedError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.index.catalog_source import CatalogSource
from hybrid_core.store.index.index import VectorIndex
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.indexes import Backend, Indexes, no_server

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


@dataclass(frozen=True, slots=True)
class CatalogCopy:
    """``rows`` are of all ``tables`` together; ``next`` is what to do."""

    to: str
    rows: int
    tables: dict[str, int]
    next: str


def copied(catalog: Catalog, to: str) -> CatalogCopy:
    """Copy a catalog to the URL of a PostgreSQL database, or for "sqlite" into its home."""
    from hybrid_core.store.catalog.copying import copy_catalog
    from hybrid_core.store.postgres import address_of

    url = "" if to == "sqlite" else to
    if bool(url) == bool(catalog.url):
        here = "in a PostgreSQL database" if catalog.url else "in the home"
        raise UsageError(f"The catalog is {here} already.", "Name the other kind: a PostgreSQL URL, or sqlite.")
    target = Catalog(catalog.path, url, copying=True)
    try:
        tables: dict[str, int] = {}
        rows = copy_catalog(catalog, target, tables.__setitem__)
    finally:
        target.close()
    said = "Set PAGEINDEX_POSTGRES_URL to it: what is in the home stays, and is not used then."
    if not url:
        said = "Unset PAGEINDEX_POSTGRES_URL: what is in the database stays, and is not used then."
    where = address_of(url).render_as_string(hide_password=True) if url else str(catalog.path)
    return CatalogCopy(where, rows, tables, said)


def upload_originals(catalog: Catalog, settings: Settings) -> int:
    """How many of this home the bucket has now. Raises UsageError where no bucket is set."""
    from hybrid_core.store.catalog.originals import kept_files
    from hybrid_core.store.objects.folder import Folder

    if not settings.objects_url:
        raise UsageError("No bucket is set.", "Set PAGEINDEX_OBJECTS_URL, for example to s3://bucket/folder.")
    here = Folder(catalog.originals)
    with catalog.reading() as connection:
        known = kept_files(connection)
    names = [name for name in here.names() if name in known]
    for name in names:
        catalog.objects.upload(name, here.place(name))
    return len(names)


def migrate(catalog: Catalog, indexes: Indexes, to: Backend, library: str | None) -> list[Migration]:
    """Move one library, or all of them, one after the other.

    Raises UsageError where no server is set, StoreError where the target cannot be built or differs from the
    catalog; the library concerned, and those after it, stay as they were.
    """
    with catalog.snapshot() as snapshot:
        libraries = snapshot.named_libraries() if library is None else [snapshot.library(library)]
    if to == "server" and indexes.backend != "server":
        raise no_server()
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
