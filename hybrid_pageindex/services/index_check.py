"""``doctor`` and the indexes of libraries: whether each holds the pages that are published, document by document."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.index.comparing import KINDS, Difference
from hybrid_core.text.plural import counted
from hybrid_pageindex.services.checks import Check, DocumentList
from hybrid_pageindex.services.indexes import Indexes
from hybrid_pageindex.services.sizes import LibrarySize

_NAMED = 20
_QUIET = 1.0  # seconds of comparing before anybody hears of it
_WORDS: dict[Difference, str] = {
    "missing": "missing from the search index",
    "extra": "in the search index and not published",
    "incomplete": "in the search index with other pages than are published",
}


def check_index(
    indexes: Indexes, catalog: Catalog, size: LibrarySize, on_progress: Callable[[int, int], None]
) -> Check:
    """Compare a library's index with the catalog, then bring it up to date.

    ``on_progress`` hears how many documents of how many are compared, where that takes long.
    """
    name = f"library '{size.name}'"
    try:
        comparison = indexes.compare(size.id, _progress(size.documents, on_progress))
        if comparison.same:
            rebuilt = indexes.ready(size.id).rebuilt  # which compares the number of vectors, too
            if comparison.behind:
                comparison = indexes.compare(size.id, _progress(size.documents, on_progress))
    except (PageIndexError, OSError) as error:
        return Check(name, False, str(error))
    if comparison.same:
        return Check(name, True, _described(size, rebuilt))
    lists = {kind: DocumentList(comparison.counts[kind], _names(catalog, comparison.doc_ids[kind])) for kind in KINDS}
    return Check(name, False, _differing(lists, size.name), {kind: lists[kind] for kind in KINDS if lists[kind].count})


def check_collections(indexes: Indexes) -> list[Check]:
    """Name the collections that are left on the server from other epochs of this catalog: they are no fault."""
    try:
        names = indexes.other_epochs()
    except PageIndexError:
        return []  # the check of the vector index says it
    if not names:
        return []
    node = indexes.server_url.split(",")[0].strip()
    command = f"curl -X DELETE {node}/collections/{names[0]}"
    key = ' -H "api-key: $PAGEINDEX_QDRANT_API_KEY"' if indexes.server_key else ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    detail = (
        f"{', '.join(names[:_NAMED])}{more}: this home does not use them. They are of a copy of its catalog, or of the "
        f"catalog before a restore. If no other home uses them, delete each: {command}{key}"
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
        known = {doc_id: snapshot.document(doc_id) for doc_id in doc_ids}
    return tuple(document.name if document else doc_id or "points of no document" for doc_id, document in known.items())


def _differing(lists: dict[Difference, DocumentList], library: str) -> str:
    parts = []
    for kind, listed in lists.items():
        if listed.count:
            more = f" and {listed.count - _NAMED} more" if listed.count > _NAMED else ""
            parts.append(
                f"{counted(listed.count, 'document')} {_WORDS[kind]}: {', '.join(listed.names[:_NAMED])}{more}"
            )
    command = f"hybrid-pageindex rebuild --index --library {shlex.quote(library)}"
    return f"{'; '.join(parts)}. Rebuild the index with «{command}»."


def _described(size: LibrarySize, rebuilt: str) -> str:
    failed = f", {size.failed} failed" if size.failed else ""
    vectors = (
        f"{size.embedded} of {size.documents} documents embedded by {size.embedder}"
        if size.embedder
        else "no embedder (BM25 and trees)"
    )
    coming = f", {size.next_embedder} in the making" if size.next_embedder else ""
    anew = f" (it was rebuilt: {rebuilt})" if rebuilt else ""
    extent = f"{counted(size.documents, 'document')}, {counted(size.pages, 'page')}"
    return f"{extent}{failed}; vector index complete{anew}; {vectors}{coming}"
