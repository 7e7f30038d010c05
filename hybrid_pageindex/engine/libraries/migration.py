"""Move search indexes between the home and a server, catalogs between databases, and original files into a bucket.

Indexes are built at the target, compared with the catalog, and deleted at the source. Catalogs are copied and never
deleted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from hybrid_core.errors import IndexDamagedError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import kept_files
from hybrid_core.store.index.catalog_source import CatalogSource
from hybrid_core.store.index.index import VectorIndex
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.search.handles import Backend, no_server
from hybrid_pageindex.engine.search.indexes import Indexes

_TRIES = 20  # attempts, because the catalog may change meanwhile


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of moving a search index.

    ``vectors`` is the number of its vectors, which equals ``expected``, their number in the catalog. ``dropped`` is
    True if the index at the old place was deleted.
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
    """The result of copying a catalog. ``rows`` counts the rows of all ``tables``; ``next`` advises the next step."""

    to: str
    rows: int
    tables: dict[str, int]
    next: str


def copied(catalog: Catalog, to: str) -> CatalogCopy:
    """Copy a catalog to a PostgreSQL database (URL ``to``), or into its home folder for "sqlite".

    Return the result with the number of copied rows and advice.
    """
    from hybrid_core.store.catalog.maintenance import copy_catalog
    from hybrid_core.store.postgres import address_of

    url = "" if to == "sqlite" else to
    if bool(url) == bool(catalog.url):
        location = "in a PostgreSQL database" if catalog.url else "in the home"
        raise UsageError(
            f"The catalog is already {location}.",
            "Name another target: a PostgreSQL URL, or sqlite for a file in the home.",
        )
    target = Catalog(catalog.path, url, copying=True)
    try:
        tables: dict[str, int] = {}
        rows = copy_catalog(catalog, target, tables.__setitem__)
    finally:
        target.close()
    advice = "Set PAGEINDEX_POSTGRES_URL to this database to use it. The catalog in the home stays, but is not used."
    if not url:
        advice = (
            "Unset PAGEINDEX_POSTGRES_URL to use the catalog in the home. The database stays, but is not used any more."
        )
    where = address_of(url).render_as_string(hide_password=True) if url else str(catalog.path)
    return CatalogCopy(where, rows, tables, advice)


def upload_originals(catalog: Catalog, settings: Settings) -> int:
    """Upload the original files of the home that documents use to the bucket. Return the number of uploaded files.

    Raise UsageError if no bucket is configured.
    """
    from hybrid_core.store.objects import FolderStore

    if not settings.objects_url:
        raise UsageError("No bucket is configured.", "Set PAGEINDEX_OBJECTS_URL, for example to s3://bucket/folder.")
    local = FolderStore(catalog.originals)
    with catalog.reading() as connection:
        stored = kept_files(connection)
    names = [name for name in local.names() if name in stored]
    for name in names:
        catalog.objects.upload(name, local.place(name))
    return len(names)


def migrate(catalog: Catalog, indexes: Indexes, to: Backend, library: str | None) -> list[Migration]:
    """Move the search indexes of one library, or of all, to the place ``to``. Return the moved indexes.

    Raise UsageError if no server is configured, StoreError if a new index cannot be built or differs from the catalog.
    After an error, that library and the following ones stay unchanged.
    """
    with catalog.snapshot() as snapshot:
        libraries = snapshot.named_libraries() if library is None else [snapshot.library(library)]
    if to == "server" and indexes.backend != "server":
        raise no_server()
    return [replace(_migrated(indexes, library_row.id, to), library=library_row.name) for library_row in libraries]


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
        notes.append(
            "another process has the embedded index open, so it was not moved; run this command again when that "
            "process has ended"
        )
    if to == "embedded" and reachable:
        notes.append(
            "while PAGEINDEX_QDRANT_URL is set, the next search builds the index on the server again; unset the "
            "variable"
        )
    return Migration(library, to, vectors, expected, dropped, time.perf_counter() - began, tuple(notes))


def _verified(index: VectorIndex, source: CatalogSource) -> tuple[int, int]:
    """Return (vectors in the index, vectors in the catalog). Both are counted while the catalog is unchanged.

    Raise IndexDamagedError if the numbers still differ after several attempts.
    """
    vectors = expected = 0
    for _attempt in range(_TRIES):
        index.catch_up(source)
        position = source.position()
        vectors, expected = index.count(), source.expected_vectors()
        if vectors == expected and position == index.position == source.position():
            return vectors, expected
    raise IndexDamagedError(
        f"The new search index contains {vectors} vectors, but the catalog expects {expected}, "
        "so the old index was not deleted.",
        "Try again when no files are being indexed.",
    )
