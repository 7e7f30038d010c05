"""Removing, clearing, counting, and the doctor."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import unwritable
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.checks import Check
from hybrid_pageindex.services.indexes import Indexes
from hybrid_pageindex.services.models import Kind, Models
from hybrid_pageindex.services.reading import known
from hybrid_pageindex.services.use import forget_use
from retrievers.documents import select

if TYPE_CHECKING:
    pass

_LEAST_FREE = 500 * 10**6
_NEXT_TO_NONE = 100 * 10**6  # bytes below which not even the index of a few documents can be written


@dataclass(frozen=True, slots=True)
class Health:
    home: str
    version: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class Removal:
    """``entry`` is the id in the bin, "" for what was deleted for good."""

    documents: tuple[Document, ...]
    entry: str


def remove(catalog: Catalog, cache: Cache, library: str, names: Sequence[str], *, for_good: bool = False) -> Removal:
    """Move documents, and what lies in them, into the bin, or delete them ``for_good``.

    No update or watch brings their files back. Also forgets which pages models refused, so that indexing a document
    again asks for them again.
    """
    from hybrid_core.store.catalog.bin import put_documents
    from hybrid_core.store.catalog.sources import exclude
    from hybrid_core.store.jobs.control import JobControl
    from indexers.enrich.pages import forget_refusals

    with catalog.snapshot() as snapshot:
        documents = known(snapshot, library)
        library_id = snapshot.library(library).id
    named = [document.doc_id for document in select.by_name(documents, names)]
    removed = dict.fromkeys(catalog.with_members(named))
    by_id = {document.doc_id: document for document in documents}
    paths = [by_id[doc_id].path for doc_id in removed if doc_id in by_id]
    JobControl(catalog).revoke(library=library_id, subjects=paths, cause="Its document was removed.")
    entry = ""
    if for_good:
        catalog.remove(list(removed))
    elif removed:
        entry = put_documents(catalog, library_id, list(removed))
    exclude(catalog, library_id, [document.path for document in documents if document.doc_id in named])
    forget_refusals(cache)
    return Removal(tuple(by_id[doc_id] for doc_id in removed if doc_id in by_id), entry)


def bin_library(catalog: Catalog, name: str) -> Library:
    """Move a library into the bin. Whoever works for it can write nothing of it from now on. Return what it was."""
    from hybrid_core.store.catalog.bin import put_library
    from hybrid_core.store.jobs.control import JobControl

    with catalog.snapshot() as snapshot:
        library = snapshot.library(name)
    jobs = JobControl(catalog)
    jobs.revoke(library=library.id, cause="Its library was removed.")
    put_library(catalog, library.id)
    jobs.erase(library.id)
    return library


def empty_bin(
    catalog: Catalog, indexes: Indexes, home: Path, entry: str | None = None, *, expired: bool = False
) -> int:
    """Delete an entry of the bin for good, or all, or those that ``expired``. Return how many.

    Raises NotFoundError for an unknown entry.
    """
    from hybrid_core.store.catalog.bin import contents_of_bin

    doomed = contents_of_bin(catalog, entry, expired=expired)
    if doomed:
        try:
            indexes.check()  # vectors on a server that does not answer would stay there
        except PageIndexError:
            if expired:
                return 0  # the next look deletes them
            raise
    for each in doomed:
        _remove_library(catalog, each)
        indexes.forget(each)
        forget_use(home, each)
    if doomed:
        catalog.sweep_originals()
        catalog.shrink()
    return len(doomed)


def clear(
    catalog: Catalog, cache: Cache, indexes: Indexes, home: Path, library: str | None, session: str = ""
) -> list[str]:
    """Delete a library for good, or everything. Whoever works for a library can write nothing of it from now on.

    Of the whole home only the empty catalog and cache stay, with the user's own config.yaml, and the browser's session
    with the secret ``session``. The bin goes with it; with one library, what was removed from it.
    """
    from hybrid_core.store.catalog.bin import entries_from
    from hybrid_core.store.forgetting import forget_files

    with catalog.snapshot() as snapshot:
        cleared = snapshot.named_libraries() if library is None else [snapshot.library(library)]
        binned = set(snapshot.library_ids()).difference(each.id for each in cleared) if library is None else ()
    with catalog.writing():
        pass  # a home that cannot be written is refused before anything is deleted
    indexes.check()  # before anything is deleted: vectors on a server that does not answer would stay there
    for one in cleared:
        if library is not None:
            for entry in entries_from(catalog, one.id):
                _remove_library(catalog, entry)
            _remove_library(catalog, one.id)
        indexes.forget(one.id)
        forget_use(home, one.id)
    for entry in binned:
        indexes.forget(entry)
    if library is None:
        catalog.clear(session)
        cache.clear()
    catalog.sweep_originals()
    if library is None:
        forget_files(home)
    catalog.shrink()
    return [one.name for one in cleared]


def _remove_library(catalog: Catalog, library: str) -> None:
    from hybrid_core.store.jobs.control import JobControl

    jobs = JobControl(catalog)
    jobs.revoke(library=library, cause="Its library was cleared.")
    catalog.remove_library(library)
    jobs.erase(library)


def health(
    settings: Settings,
    catalog: Callable[[], Catalog],
    cache: Callable[[], Cache],
    indexes: Callable[[], Indexes],
    on_progress: Callable[[int, int], None],
) -> Health:
    """Try everything a search and an index run need; ``on_progress`` hears how many documents of a library's index are
    compared, of how many, where that takes long.
    """
    from hybrid_pageindex.services.embedders_check import embedders
    from hybrid_pageindex.services.index_check import check_collections, check_index
    from hybrid_pageindex.services.sizes import library_sizes

    home = settings.storage_path
    checks = [
        Check("python", sys.version_info >= (3, 11), platform.python_version()),
        _tried("parser", lambda: f"PyMuPDF {importlib.metadata.version('pymupdf')}"),
        _tried("vector index", lambda: indexes().check()),
        _tried("catalog", lambda: f"{catalog()} ({catalog().check()})"),
        _tried("cache", lambda: f"{cache().path} ({cache().check()})"),
        _tried("formats", _formats),
        _tried("disk", lambda: _free(home)),
        _tried("ocr", lambda: _ocr(settings)),
    ]
    damage = checks[3]
    if not damage.ok:  # by which the others are opened
        unseen = "not looked at, for the catalog cannot be opened"
        checks = [
            one if one is damage or one.detail != damage.detail else replace(one, detail=unseen) for one in checks
        ]
    sizes = library_sizes(catalog(), home) if damage.ok else []
    checks += [check_index(indexes(), catalog(), size, on_progress) for size in sizes]
    checks += check_collections(indexes()) if checks[2].ok and damage.ok else []
    checks += [
        _tried("embedders", lambda: embedders(settings, [size.embedder for size in sizes if size.embedder])),
        _tried("language model", partial(_model, settings, "llm", "none (deterministic tree walk)")),
        _tried("vision model", partial(_model, settings, "vlm", "none (pages are read by their text)")),
    ]
    return Health(str(home), importlib.metadata.version("hybrid-pageindex"), tuple(checks))


def missing(home: Path, catalog: Callable[[], Catalog], indexes: Callable[[], Indexes]) -> dict[str, str]:
    """Return the parts that a server cannot do without and does not have, and why; no address and no path is in it.

    A home that could not be written when it was opened is there to be read.
    """
    found: dict[str, str] = {}
    read_only = ""
    try:
        read_only = catalog().read_only
        JobReader(catalog()).last_event()
    except PageIndexError:
        found["catalog"] = "It cannot be read."
    try:
        indexes().check()
    except PageIndexError:
        if "catalog" not in found:  # by which the indexes are opened
            found["search"] = "The server that holds the vectors cannot be used."
    try:
        if not os.access(home, os.W_OK):
            found |= {} if read_only else {"disk": "The home cannot be written."}
        elif shutil.disk_usage(home).free < _NEXT_TO_NONE:
            found["disk"] = "The disk is full."
    except OSError:
        found["disk"] = "The home cannot be reached."
    return found


def _formats() -> str:
    from indexers.formats.registry import formats_read, problems

    if wrong := problems():
        raise PageIndexError(f"{'; '.join(wrong)}.", "Repair or remove the package that brings it.")
    return formats_read()


def _tried(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name, True, attempt())
    except (PageIndexError, importlib.metadata.PackageNotFoundError, OSError) as error:
        return Check(name, False, str(error))


def unread_advice(settings: Settings) -> str:
    """What would read pages that have no readable text."""
    from indexers.ocr.find import NoOcr, find_ocr

    try:
        found = find_ocr(settings.ocr, settings.ocr_languages)
    except PageIndexError as error:
        return f"OCR cannot read them: {error}"
    if isinstance(found, NoOcr):
        return found.reason
    if settings.vlm_model:
        return "index them again, which reads by OCR what it can, and what it cannot by the vision model"
    return "index them again to read them by OCR; what OCR could not read a vision model may (vlm_model)"


def _ocr(settings: Settings) -> str:
    """Going without is no fault: only scanned pages need it."""
    from indexers.ocr.find import NoOcr, find_ocr

    found = find_ocr(settings.ocr, settings.ocr_languages)
    if isinstance(found, NoOcr):
        return f"none; pages without text stay unread: {found.reason}"
    return found.shown


def _model(settings: Settings, kind: Kind, none: str) -> str:
    """Asks a configured model: whether its key, name and kind are right, and how fast it is, shows only in a call."""
    return Models(settings, None).examine(kind) or none


def _free(home: Path) -> str:
    if reason := unwritable(home):
        return f"{home} cannot be written ({reason}): it is read, and nothing can be indexed"
    free = shutil.disk_usage(home).free
    if free < _LEAST_FREE:
        raise PageIndexError(f"only {free / 1e6:.0f} MB free at {home}.", "Free some space before indexing.")
    return f"{free / 1e9:.1f} GB free"
