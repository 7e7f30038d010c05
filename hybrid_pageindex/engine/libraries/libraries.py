"""Libraries: their sizes and last use, and the removal of documents and whole libraries."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import text

from hybrid_core.errors import PageIndexError, StoreError, UnreachableError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.home import CACHE, COPIES, ORIGINALS, unwritable
from hybrid_core.types.documents import Document, DocumentRow
from hybrid_core.types.libraries import Library
from hybrid_core.types.notes import Note
from hybrid_pageindex.engine.documents.reading import library_documents
from hybrid_pageindex.engine.search.handles import index_folder
from hybrid_pageindex.engine.search.indexes import Indexes
from retrievers.candidates import documents as select

_SOME_WAIT = text("SELECT 1 FROM jobs WHERE status = 'waiting' AND stage = 'refine' LIMIT 1")


def mark_used(home: Path, library: str) -> None:
    """Record that a library was searched now. Do nothing if the home cannot be written."""
    with suppress(OSError):
        file = _file(home, library)
        if unwritable(file):  # the owner of an unwritable file could still change its time
            return
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.touch(mode=0o600)


def last_used(home: Path, library: str) -> str:
    """Return the time of the last search of a library (ISO 8601, UTC, milliseconds), "" if it was never searched."""
    try:
        used = _file(home, library).stat().st_mtime
    except OSError:
        return ""
    return datetime.datetime.fromtimestamp(used, datetime.UTC).isoformat(timespec="milliseconds")


def forget_use(home: Path, library: str) -> None:
    _file(home, library).unlink(missing_ok=True)


def mark_asked(catalog: Catalog, documents: Collection[Document]) -> None:
    """Give queued jobs that refine the section trees of these documents priority, because a search found them.

    This costs one query if no such job is queued.
    """
    with suppress(StoreError):
        with catalog.reading() as connection:
            waits = connection.scalar(_SOME_WAIT)
        if waits:
            from hybrid_core.store.jobs.queue import refine_first

            refine_first(catalog, {(document.library, document.path) for document in documents})


def _file(home: Path, library: str) -> Path:
    return home / "libraries" / f"{quote(library, safe=' ')}~used"


_REPAIR_ADVICE = "Repair the file and index it again, or remove the document."
_NEWEST = 100  # newest failed jobs to search for the last error


@dataclass(frozen=True, slots=True)
class LibrarySize:
    """The size and state of a library.

    ``documents`` and ``pages`` can be searched; ``waiting`` counts waiting and running jobs, ``failed`` the files whose
    last attempt failed. ``last_error`` is the newest failure with advice, "" if there is none. ``vector_bytes`` is the
    disk use of the search index.

    ``embedder`` made the vectors in use ("" for none), ``embedded`` documents have them, and ``next_embedder`` is
    making new ones. The ``id`` never changes. ``used_at`` is the time of the last search or indexing, ``changed_at``
    that of the last change of its documents, "" for never.
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
    """Disk use in bytes: catalog, caches, search indexes, and stored or fetched files."""

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
        folder_bytes(home / "libraries"), sum(folder_bytes(home / folder) for folder in (ORIGINALS, COPIES)),
    )  # fmt: skip


def library_sizes(catalog: Catalog, home: Path, part: str = "") -> list[LibrarySize]:
    """Return the libraries whose name or alias contains ``part``, most recently used first."""
    from hybrid_core.store.jobs.reader import JobReader

    waiting = JobReader(catalog).active()  # read first: a job that ends meanwhile then counts twice rather than never
    with catalog.snapshot() as snapshot:
        documents = {
            library: snapshot.document_rows(library.id) for library in snapshot.named_libraries() if library.fits(part)
        }
        sizes = [
            (_size(snapshot, library, rows, waiting.get(library.id, 0)), rows) for library, rows in documents.items()
        ]
    measured = [_measured(catalog, home, size, rows) for size, rows in sizes]
    return sorted(measured, key=lambda size: size.used_at, reverse=True)


def _measured(catalog: Catalog, home: Path, size: LibrarySize, documents: Sequence[DocumentRow]) -> LibrarySize:
    from hybrid_core.store.jobs.reader import JobReader

    vectors = folder_bytes(index_folder(home, size.id))
    failed = {document.path: document for document in documents if document.error}
    last = max(failed.values(), key=lambda document: document.indexed_at, default=None)
    if failed:
        newest = JobReader(catalog).listed(library=size.id, status=["failed"], limit=_NEWEST)
        last = next((failed[job.subject] for job in newest if job.subject in failed), last)
    error = f"{last.name}: {last.error} {_REPAIR_ADVICE}" if last else ""
    return replace(size, vector_bytes=vectors, used_at=last_used(home, size.id), last_error=error)


def _size(snapshot: Snapshot, library: Library, documents: Sequence[DocumentRow], waiting: int) -> LibrarySize:
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
        waiting=waiting,
        failed=sum(bool(d.error) for d in documents),
        last_error="",
        vector_bytes=0,
        embedder=serving.name if serving else "",
        embedded=sum(d.content_id in done for d in published),
        next_embedder=coming.name if coming else "",
    )


def folder_bytes(folder: Path) -> int:
    """Return the disk use of a folder or file in bytes. Files that vanish meanwhile do not count."""
    total = 0
    for path in (folder, *folder.rglob("*")):
        try:
            stat = path.lstat()
        except OSError:
            continue
        total += stat.st_blocks * 512 if path.is_file() else 0
    return total


@dataclass(frozen=True, slots=True)
class Removal:
    """The result of a removal. ``entry`` is the id of the documents in the bin, "" if they were deleted for good."""

    documents: tuple[Document, ...]
    entry: str


def remove(
    catalog: Catalog, cache: Cache, home: Path, library: str, names: Sequence[str], *, for_good: bool = False
) -> Removal:
    """Remove documents, with the files inside removed archives and mails. Return all removed documents.

    They go to the bin, unless ``for_good`` deletes them. Updates and watching then skip their files. Cached refusals of
    models for their pages are deleted too.
    """
    from hybrid_core.store.catalog.bin import put_documents
    from hybrid_core.store.catalog.libraries import exclude
    from hybrid_core.store.jobs.control import JobControl
    from indexers.enrich.pages import forget_refusals

    jobs = JobControl(catalog)
    with catalog.snapshot() as snapshot:
        documents = library_documents(snapshot, library)
        library_id = snapshot.library(library).id
    named = [document.doc_id for document in select.select_by_name(documents, names)]
    removed = dict.fromkeys(catalog.with_members(named))
    by_id = {document.doc_id: document for document in documents}
    paths = [by_id[doc_id].path for doc_id in removed if doc_id in by_id]
    jobs.revoke(library=library_id, subjects=paths, cause=Note("job.document-removed"))
    entry = ""
    if for_good:
        catalog.remove(list(removed))
        jobs.forget(library=library_id, subjects=paths)
    elif removed:
        entry = put_documents(catalog, library_id, list(removed))
    exclude(catalog, library_id, [document.path for document in documents if document.doc_id in named])
    forget_refusals(cache)
    if for_good:
        _erase(catalog, cache, home, {by_id[doc_id].sha256 for doc_id in removed if doc_id in by_id})
    return Removal(tuple(by_id[doc_id] for doc_id in removed if doc_id in by_id), entry)


def bin_library(catalog: Catalog, name: str) -> Library:
    """Move a library to the bin and return it. Running jobs of the library can write nothing afterwards."""
    from hybrid_core.store.catalog.bin import put_library
    from hybrid_core.store.jobs.control import JobControl

    with catalog.snapshot() as snapshot:
        library = snapshot.library(name)
    jobs = JobControl(catalog)
    jobs.revoke(library=library.id, cause=Note("job.library-removed"))
    put_library(catalog, library.id)
    jobs.erase(library.id)
    return library


def empty_bin(
    catalog: Catalog, cache: Cache, indexes: Indexes, home: Path, entry: str | None = None, *, expired: bool = False
) -> int:
    """Delete one entry of the bin, all entries, or the ``expired`` ones for good. Return the number of deleted entries.

    Raise NotFoundError for an unknown entry.
    """
    from hybrid_core.store.catalog.bin import contents_of_bin

    doomed = contents_of_bin(catalog, entry, expired=expired)
    if doomed:
        try:
            indexes.check()  # without a server that answers, its vectors would stay
        except PageIndexError:
            if expired:
                return 0  # the next call deletes them
            raise
    hashes = set[str]()
    for each in doomed:
        hashes |= _remove_library(catalog, each)
        indexes.forget(each)
        forget_use(home, each)
    if doomed:
        catalog.sweep_originals()
        catalog.shrink()
        _erase(catalog, cache, home, hashes)
    return len(doomed)


def clear(
    catalog: Catalog, cache: Cache, indexes: Indexes, home: Path, library: str | None, session: str = ""
) -> list[str]:
    """Delete a library, or everything, for good. Running jobs of a deleted library can write nothing afterwards.

    After deleting everything, the home holds an empty catalog and cache, config.yaml, and the browser session with the
    secret ``session``. The bin is deleted too; with one library, only its own entries.
    """
    from hybrid_core.store.catalog.bin import entries_from
    from hybrid_core.store.catalog.maintenance import forget_files

    with catalog.snapshot() as snapshot:
        cleared = snapshot.named_libraries() if library is None else [snapshot.library(library)]
        binned = set(snapshot.library_ids()).difference(each.id for each in cleared) if library is None else ()
    with catalog.writing():
        pass  # raises an error in a read-only home before anything is deleted
    indexes.check()  # check first: without a server that answers, its vectors would stay
    hashes = set[str]()
    for library_row in cleared:
        if library is not None:
            for entry in entries_from(catalog, library_row.id):
                hashes |= _remove_library(catalog, entry)
            hashes |= _remove_library(catalog, library_row.id)
        else:
            hashes |= _hashes(catalog, library_row.id)
        indexes.forget(library_row.id)
        forget_use(home, library_row.id)
    for entry in binned:
        hashes |= _hashes(catalog, entry)
        indexes.forget(entry)
    if library is None:
        catalog.clear(session)
        cache.clear()
    catalog.sweep_originals()
    if library is None:
        forget_files(home)
    catalog.shrink()
    _erase(catalog, cache, home, hashes)
    return [library_row.name for library_row in cleared]


def _remove_library(catalog: Catalog, library: str) -> set[str]:
    """Delete a library and its jobs. Return the hashes of its files."""
    from hybrid_core.store.catalog.bin import origin_of
    from hybrid_core.store.jobs.control import JobControl

    jobs, hashes = JobControl(catalog), _hashes(catalog, library)
    jobs.revoke(library=library, cause=Note("job.library-cleared"))
    if origin := origin_of(catalog, library):  # documents in the bin: their jobs belong to the library they were in
        with catalog.snapshot() as snapshot:
            jobs.forget(library=origin, subjects=[*snapshot.paths(library).values()])
    catalog.remove_library(library)
    jobs.erase(library)
    return hashes


def _hashes(catalog: Catalog, library: str) -> set[str]:
    with catalog.snapshot() as snapshot:
        return {document.sha256 for document in snapshot.documents(library)}


def _erase(catalog: Catalog, cache: Cache, home: Path, hashes: Collection[str]) -> None:
    """Delete all data derived from files that were deleted for good, and the remains of their rows on disk.

    ``hashes`` are the hashes of the deleted files. Data that another document uses stays.
    """
    from hybrid_core.store.words import forget_words

    with catalog.snapshot() as snapshot:
        gone = set(hashes) - snapshot.stored_hashes(hashes)
        contents = snapshot.content_ids()
    forget_words(home, contents)
    cache.forget_files(gone)
    with suppress(UnreachableError):
        catalog.objects.drop_derived(gone)
    catalog.wipe()
