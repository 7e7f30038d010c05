"""Checks of the command ``doctor``: indexes against the catalog, and parsed documents against their files."""

from __future__ import annotations

import os
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import scratch_folder, working_folder
from hybrid_core.store.index.catalog_source import KINDS, Difference
from hybrid_core.text.prose import counted
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.reading import library_documents
from hybrid_pageindex.engine.index.indexing import IndexCall, index_paths
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.engine.parts import Parts
from hybrid_pageindex.engine.search.indexes import Indexes

if TYPE_CHECKING:
    from indexers.jobs.comparison import Comparison, State
_MAX_NAMES = 20
_QUIET = 1.0  # seconds of comparing before progress is reported
_WORDS: dict[Difference, str] = {
    "missing": "missing from the search index",
    "extra": "in the search index, but not published",
    "incomplete": "in the search index with pages that differ from the published ones",
}


def check_index(
    indexes: Indexes, catalog: Catalog, size: LibrarySize, on_progress: Callable[[int, int], None]
) -> Check:
    """Compare the index of a library with the catalog, then update the index. Return the result of the check.

    ``on_progress`` receives the number of compared documents and their total, if the comparison takes long.
    """
    name = f"library '{size.name}'"
    try:
        comparison = indexes.compare(size.id, _progress(size.documents, on_progress))
        if comparison.same:
            rebuilt = indexes.ready(size.id).rebuilt  # also compares the number of vectors
            if comparison.behind:
                comparison = indexes.compare(size.id, _progress(size.documents, on_progress))
    except (PageIndexError, OSError) as error:
        return Check(name, False, str(error))
    if comparison.same:
        return Check(name, True, _described(size, rebuilt))
    lists = {kind: DocumentList(comparison.counts[kind], _names(catalog, comparison.doc_ids[kind])) for kind in KINDS}
    return Check(name, False, _differing(lists, size.name), {kind: lists[kind] for kind in KINDS if lists[kind].count})


def check_collections(indexes: Indexes) -> list[Check]:
    """Return a check that lists collections on the Qdrant server which this home no longer uses.

    They belong to a copy of its catalog, or to the catalog before a restore. The check does not count as failed.
    """
    try:
        names = indexes.other_epochs()
    except PageIndexError:
        return []  # the check of the vector index reports the error
    if not names:
        return []
    node = indexes.server_url.split(",")[0].strip()
    command = f"curl -X DELETE {node}/collections/{names[0]}"
    key = ' -H "api-key: $PAGEINDEX_QDRANT_API_KEY"' if indexes.server_key else ""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    detail = (
        f"{', '.join(names[:_MAX_NAMES])}{more}: this home does not use these collections. They belong to a copy of "
        "its "
        f"catalog, or to the catalog before a restore. If no other home uses them, delete each: {command}{key}"
    )
    return [Check("other collections", True, detail)]


def _progress(documents: int, on_progress: Callable[[int, int], None]) -> Callable[[], None]:
    began, done = time.monotonic(), 0

    def count() -> None:
        nonlocal done
        done += 1
        if time.monotonic() > began + _QUIET:
            on_progress(min(done, documents), documents)

    return count


def _names(catalog: Catalog, doc_ids: Sequence[str]) -> tuple[str, ...]:
    with catalog.snapshot() as snapshot:
        documents = {doc_id: snapshot.document(doc_id) for doc_id in doc_ids}
    return tuple(
        document.name if document else doc_id or "points that belong to no document"
        for doc_id, document in documents.items()
    )


def _differing(lists: dict[Difference, DocumentList], library: str) -> str:
    parts = []
    for kind, listed in lists.items():
        if listed.count:
            more = f" and {listed.count - _MAX_NAMES} more" if listed.count > _MAX_NAMES else ""
            parts.append(
                f"{counted(listed.count, 'document')} {_WORDS[kind]}: {', '.join(listed.names[:_MAX_NAMES])}{more}"
            )
    command = f"hybrid-pageindex rebuild --index --library {shlex.quote(library)}"
    return f"{'; '.join(parts)}. To rebuild the index, run: {command}"


def _described(size: LibrarySize, rebuilt: str) -> str:
    failed = f", {size.failed} failed" if size.failed else ""
    vectors = (
        f"{size.embedded} of {size.documents} documents embedded by {size.embedder}"
        if size.embedder
        else "no embedder (BM25 and trees)"
    )
    coming = f", {size.next_embedder} is being built" if size.next_embedder else ""
    anew = f" (it was rebuilt: {rebuilt})" if rebuilt else ""
    extent = f"{counted(size.documents, 'document')}, {counted(size.pages, 'page')}"
    return f"{extent}{failed}; vector index complete{anew}; {vectors}{coming}"


_WRONG = "the stored text of this document did not match its file"
_NOT_COMPARED: dict[State, str] = {
    "gone": "their files are missing",
    "changed": "their files have changed; index reads them again",
    "older": "an earlier version read them; index reads them again",
    "unread": "their files cannot be opened now",
}


def check_contents(
    parts: Parts,
    settings: Settings,
    mend: bool,
    on_progress: Callable[[int, int], None],
    cancelled: threading.Event,
) -> list[Check]:
    """Compare every parsed document with its file, and return a check per difference and a summary.

    ``mend`` indexes the differing files again. ``on_progress`` receives the number of compared documents and their
    total.
    """
    catalog, cache = parts.catalog, parts.cache
    comparisons = _compare_contents(catalog, settings, on_progress, cancelled)
    wrong = [comparison for comparison in comparisons if comparison.state == "other"]
    same = sum(comparison.state == "same" for comparison in comparisons)
    others = [
        (words, sum(comparison.state == state for comparison in comparisons)) for state, words in _NOT_COMPARED.items()
    ]
    counts = [
        f"{same} of {len(comparisons)} match their files",
        *(f"{n} not compared: {w}" for w, n in others if n),
    ]
    checks = [Check("contents", True, "; ".join(counts))]
    if not mend:
        advice = "repair it with doctor --deep --mend"
        return checks + [
            Check(_check_name(comparison), False, f"{comparison.detail} differ from its file; {advice}")
            for comparison in wrong
        ]
    catalog.discard([comparison.content_id for comparison in wrong], f"{_WRONG}; index it again.")
    for comparison in wrong:
        for kind in ("ocr", "regions", "image"):  # cached results of the same bytes may be wrong too
            cache.clear(f"{kind}/{comparison.documents[0].sha256}/")
    failed = _index_again(parts, settings, wrong, cancelled)
    return checks + [_mended_check(comparison, failed) for comparison in wrong]


def _compare_contents(
    catalog: Catalog, settings: Settings, on_progress: Callable[[int, int], None], cancelled: threading.Event
) -> list[Comparison]:
    from indexers.assembly.chunks import ChunkSize
    from indexers.formats.limits import ParseLimits
    from indexers.jobs.comparison import compare
    from indexers.jobs.reader import Parser
    from indexers.workers.pool import WorkerLimits, WorkerPool

    with catalog.snapshot() as snapshot:
        documents = [
            document for library in snapshot.named_libraries() for document in library_documents(snapshot, library.name)
        ]
    workers = settings.workers or os.cpu_count() or 1
    limits = settings.part(WorkerLimits)
    parse = settings.part(ParseLimits)
    need = max((document.size for document in documents), default=0)
    parent = working_folder(settings.storage_path / "tmp", need, "Reading the files again")
    with scratch_folder(parent) as folder:
        pool = WorkerPool(workers, limits)
        try:
            parser = Parser(pool, folder, parse, None, settings.range_pages, workers + 1)
            return compare(catalog, documents, parser, settings.part(ChunkSize), folder, on_progress, cancelled)
        finally:
            pool.close()


def _index_again(
    parts: Parts, settings: Settings, wrong: Sequence[Comparison], cancelled: threading.Event
) -> dict[str, str]:
    """Index the files again whose stored pages differ. Return error messages by path for the files that failed."""
    by_library: dict[str, list[str]] = {}
    for comparison in wrong:
        for document in comparison.documents:
            by_library.setdefault(document.library, []).append(document.path)
    failed: dict[str, str] = {}
    for library, paths in by_library.items():
        report = index_paths(parts, library, paths, settings, IndexCall(), _ignore_progress, cancelled)
        failed |= {file.path: file.error or "" for file in report.files if file.status == "failed"}
    return failed


def _mended_check(comparison: Comparison, failed: dict[str, str]) -> Check:
    left = [f"{document.path}: {failed[document.path]}" for document in comparison.documents if document.path in failed]
    if left:
        return Check(
            _check_name(comparison),
            False,
            f"{comparison.detail} differed from its file and were removed; {'; '.join(left)}",
        )
    return Check(
        _check_name(comparison), True, f"{comparison.detail} differed from its file; the document was indexed again"
    )


def _check_name(comparison: Comparison) -> str:
    return f"content of {', '.join(document.name for document in comparison.documents)}"


def _ignore_progress(_: object) -> None:
    """Ignore progress reports."""


@dataclass(frozen=True, slots=True)
class DocumentList:
    """A count of documents, and the names of at most a thousand of them.

    A document that is missing in the catalog has its id in place of the name.
    """

    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    For a check of a search index, ``index`` lists by kind of difference the documents that differ from the catalog.
    """

    name: str
    ok: bool
    detail: str
    index: Mapping[Difference, DocumentList] = field(default_factory=dict)
