"""What there is: libraries with what can be searched, waits or failed, and what all of it takes on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.home import CACHE, COPIES, ORIGINALS
from hybrid_core.types.documents import DocumentRow
from hybrid_core.types.libraries import Library
from hybrid_pageindex.services.indexes import index_folder
from hybrid_pageindex.services.use import last_used

_THEN = "Index it again when that is mended, or remove it."
_NEWEST = 100  # failed jobs that are looked at for the last error


@dataclass(frozen=True, slots=True)
class LibrarySize:
    """``documents`` can be searched, with so many ``pages``; ``waiting`` counts the jobs that wait or run, and
    ``failed`` the files whose newest attempt failed. ``last_error`` says of the last of these what to do about it, ""
    for none. ``vector_bytes`` is the derived index's disk use.

    ``embedder`` is whose vectors serve ("" for none), ``embedded`` how many documents have them, and
    ``next_embedder`` whose are being made. The ``id`` stays when the name changes; ``used_at`` is when it was last
    searched or indexed, and ``changed_at`` when the newest of what its documents hold came, "" for never.
    """

    id: str
    name: str
    alias: str
    used_at: str
    changed_at: str
    documents: int
    pages: int
    waiting: int
    failed: int
    last_error: str
    vector_bytes: int
    embedder: str
    embedded: int
    next_embedder: str


@dataclass(frozen=True, slots=True)
class HomeSize:
    """Bytes on the disk: the catalog, what can be made again at a price, the indexes, kept and fetched files."""

    home: str
    libraries: tuple[LibrarySize, ...]
    catalog_bytes: int
    cache_bytes: int
    index_bytes: int
    original_bytes: int


def home_size(catalog: Catalog, home: Path) -> HomeSize:
    cache = sum(folder_bytes(file) for file in home.glob(f"{CACHE}*"))
    return HomeSize(
        str(home), tuple(library_sizes(catalog, home)), catalog.size_bytes(), cache,
        folder_bytes(home / "libraries"), sum(folder_bytes(home / kept) for kept in (ORIGINALS, COPIES)),
    )  # fmt: skip


def library_sizes(catalog: Catalog, home: Path, part: str = "") -> list[LibrarySize]:
    """Those whose name or alias holds ``part``; the one that was used last comes first."""
    with catalog.snapshot() as snapshot:
        documents = {one: snapshot.document_rows(one.id) for one in snapshot.named_libraries() if one.fits(part)}
        sizes = [(_size(snapshot, one, held), held) for one, held in documents.items()]
    measured = [_measured(catalog, home, size, held) for size, held in sizes]
    return sorted(measured, key=lambda size: size.used_at, reverse=True)


def _measured(catalog: Catalog, home: Path, size: LibrarySize, documents: Sequence[DocumentRow]) -> LibrarySize:
    from hybrid_core.store.jobs.reading import JobReader

    jobs, vectors = JobReader(catalog), folder_bytes(index_folder(home, size.id))
    counts = jobs.counts(library=size.id)
    failed = {document.path: document for document in documents if document.error}
    last = max(failed.values(), key=lambda document: document.indexed_at, default=None)
    if failed:
        newest = jobs.listed(library=size.id, status=["failed"], most=_NEWEST)
        last = next((failed[job.subject] for job in newest if job.subject in failed), last)
    error = f"{last.name}: {last.error} {_THEN}" if last else ""
    waiting = counts.waiting + counts.running
    return replace(size, vector_bytes=vectors, used_at=last_used(home, size.id), waiting=waiting, last_error=error)


def _size(snapshot: Snapshot, library: Library, documents: Sequence[DocumentRow]) -> LibrarySize:
    published = [d for d in documents if d.content_id]
    serving, coming = snapshot.embedder(library.id)
    done = snapshot.embedded(serving.fingerprint) if serving else frozenset()
    return LibrarySize(
        id=library.id,
        name=library.name,
        alias=library.alias,
        used_at="",
        changed_at=max((d.indexed_at for d in published), default=""),
        documents=len(published),
        pages=sum(d.pages for d in published),
        waiting=0,
        failed=sum(bool(d.error) for d in documents),
        last_error="",
        vector_bytes=0,
        embedder=serving.name if serving else "",
        embedded=sum(d.content_id in done for d in published),
        next_embedder=coming.name if coming else "",
    )


def folder_bytes(folder: Path) -> int:
    """Disk use of a folder or file; files that vanish meanwhile do not count."""
    total = 0
    for path in (folder, *folder.rglob("*")):
        try:
            stat = path.lstat()
        except OSError:
            continue
        total += stat.st_blocks * 512 if path.is_file() else 0
    return total
