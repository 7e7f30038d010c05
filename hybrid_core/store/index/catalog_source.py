"""The catalog as the source of a search index, and the comparison of an index with the catalog.

A point is the entry of a page or chunk in the index. The comparison reads the ids of points, which encode document,
version and page, document by document. Both sides are sorted by id, so only one document is in memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, Protocol

import numpy as np

from hybrid_core.errors import DamageError, StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.contents import TermVector, Vector
from hybrid_core.store.catalog.embeddings import content_texts
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.index.index import CountedDocument, VectorIndex
from hybrid_core.store.index.points import Point, named_page, naming_id, version_tag
from hybrid_core.text.bm25 import Bm25, document_weights
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Change, StoredEmbedder

_log = logging.getLogger(__name__)
_NO_TERMS = np.zeros(0, np.uint32)
_DOCUMENTS_AT_ONCE = 500  # documents per read
_NO_WEIGHTS = np.zeros(0, np.float32)
Difference = Literal["missing", "extra", "incomplete"]
"""How a document and its points differ: it has no points, it is not published but has points, or it has other
points.
"""
KINDS: tuple[Difference, ...] = ("missing", "extra", "incomplete")
UNNAMED = ""
_MAX_LISTED = 1000  # maximum number of documents that are listed per kind of difference
_LAST = "~"  # sorts after all ids


class CatalogSource:
    """The change log and the points of a library as a ``PointSource``, with the vectors of one embedder or none."""

    def __init__(self, catalog: Catalog, library: str, bm25: Bm25, embedder: StoredEmbedder | None = None) -> None:
        self._catalog, self._library, self._bm25, self._embedder = catalog, library, bm25, embedder

    def position(self) -> int:
        with self._catalog.snapshot() as snapshot:
            return snapshot.position(self._library)

    def mark(self, seq: int) -> int | None:
        with self._catalog.snapshot() as snapshot:
            return snapshot.mark(self._library, seq)

    def changes(self, after: int) -> Iterable[Change]:
        with self._catalog.snapshot() as snapshot:
            return snapshot.changes(self._library, after)

    def changed(self, after: int) -> frozenset[str]:
        """Return the ids of the documents that changed after the change with the number ``after``."""
        with self._catalog.snapshot() as snapshot:
            return snapshot.changed_documents(self._library, after)

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        with self._catalog.snapshot() as snapshot:
            return list(snapshot.published(self._library, doc_ids).items())

    def points(self, doc_id: str, content_id: str) -> Iterable[Point]:
        """Return the index points of a document version: one per page, and one per embedded chunk.

        If its stored terms are damaged, the points contain no terms, so that other documents can still be indexed.
        """
        with self._catalog.snapshot() as snapshot:
            try:
                counts = snapshot.terms(content_id)
                body = None if counts is None else counts[0]
            except DamageError as error:
                _log.warning(
                    "the terms of document %s cannot be read, so searches do not find it by its words: %s",
                    doc_id,
                    error,
                )
                pages, _ = snapshot.extent(content_id)
                body = TermCounts.build([{}] * pages, [0] * pages)
            embedded = {} if body is None or self._embedder is None else self._embedded(snapshot, content_id)
        return () if body is None else self._build_points(doc_id, content_id, body, embedded)

    def counted(self, doc_ids: Collection[str], cached: Mapping[str, TermCounts]) -> list[CountedDocument]:
        """Return the published documents among ``doc_ids``, with their term counts.

        ``cached`` maps content ids to term counts that need not be read again.
        """
        with self._catalog.snapshot() as snapshot:
            published = snapshot.published(self._library, doc_ids)
            counts = snapshot.page_terms([content for content in published.values() if content not in cached])
        counts |= {content: cached[content] for content in published.values() if content in cached}
        return [CountedDocument(doc, content, counts[content]) for doc, content in published.items()]

    def pages_of(self, doc_ids: Collection[str]) -> int:
        """Return the total number of pages of the published documents among ``doc_ids``."""
        with self._catalog.snapshot() as snapshot:
            return snapshot.expected_pages(self._library, doc_ids)

    def point_ids(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the published documents by ascending doc_id, each with the sorted ids of its points."""
        after = ""
        while True:
            with self._catalog.snapshot() as snapshot:
                some = [
                    (doc_id, content_id, pages, self._chunks(snapshot, content_id))
                    for doc_id, content_id, pages in snapshot.page_counts(self._library, after, _DOCUMENTS_AT_ONCE)
                ]
            for doc_id, content_id, pages, chunks in some:
                tag = version_tag(content_id)
                places = sorted([*((page, 0) for page in range(1, pages + 1)), *chunks])
                yield doc_id, [naming_id(doc_id, tag, *place) for place in places]
            if len(some) < _DOCUMENTS_AT_ONCE:
                return
            after = some[-1][0]

    def _chunks(self, snapshot: Snapshot, content_id: str) -> list[tuple[int, int]]:
        """Return (page, chunk) of the chunks of a document that have points in the index."""
        embedder = self._embedder
        if embedder is None or not snapshot.embedded(embedder.fingerprint, [content_id], chunks=True):
            return []
        return [(text.page, text.chunk) for text in content_texts(snapshot, content_id, chunks=True) if text.chunk]

    def expected_vectors(self) -> int:
        with self._catalog.snapshot() as snapshot:
            pages = snapshot.expected_pages(self._library)
            if self._embedder is None:
                return pages
            texts = snapshot.expected_texts(self._library, self._embedder.fingerprint)
            return pages + (2 if self._embedder.sparse else 1) * texts

    def _embedded(self, snapshot: Snapshot, content_id: str) -> dict[tuple[int, int], tuple[Vector, TermVector | None]]:
        """Return (vector, learned term weights) by (page, chunk); {} if some pages of the document have no vector."""
        embedder = self._embedder
        if embedder is None or not snapshot.embedded(embedder.fingerprint, [content_id]):
            return {}
        chunks = bool(snapshot.embedded(embedder.fingerprint, [content_id], chunks=True))
        texts = content_texts(snapshot, content_id, chunks=chunks)
        keys = list({text.key for text in texts})
        vectors = snapshot.vectors(embedder.fingerprint, keys)
        learned = snapshot.weights(embedder.fingerprint, keys) if embedder.sparse else {}
        return {
            (text.page, text.chunk): (vectors[text.key], learned.get(text.key)) for text in texts if text.key in vectors
        }

    def _build_points(
        self,
        doc_id: str,
        content_id: str,
        body: TermCounts,
        embedded: dict[tuple[int, int], tuple[Vector, TermVector | None]],
    ) -> Iterator[Point]:
        for at, (terms, tf) in enumerate(body.page_vectors()):
            weights = document_weights(self._bm25.weights(tf, float(body.lengths[at])))
            dense, learned = embedded.get((at + 1, 0), (None, None))
            yield Point(doc_id, content_id, at + 1, terms, weights, dense=dense, learned=learned)
        for (page, chunk), (vector, learned) in embedded.items():
            if chunk:
                yield Point(doc_id, content_id, page, _NO_TERMS, _NO_WEIGHTS, chunk, vector, learned)


class IdSource(Protocol):
    def point_ids(self) -> Iterable[tuple[str, list[str]]]:
        """Yield the published documents by ascending doc_id, each with the sorted ids of its points."""
        ...

    def changed(self, after: int) -> frozenset[str]:
        """Return the ids of the documents that changed after the change with the number ``after``."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing an index with its catalog.

    ``counts`` is the number of differing documents per kind of difference; ``doc_ids`` lists up to 1,000 of each kind.
    ``behind`` is True if documents were skipped because the index lacks their latest changes.
    """

    counts: dict[Difference, int]
    doc_ids: dict[Difference, list[str]]
    behind: bool

    @property
    def same(self) -> bool:
        return not any(self.counts.values())


def compare(index: VectorIndex, source: IdSource, on_document: Callable[[], object]) -> Comparison:
    """Compare an index with its source, the catalog. The index may lack recent changes, and may be written meanwhile.

    ``on_document`` is called for each published document. Raise the same errors as a search.
    """
    stand = index.stand.seq
    changed = source.changed(stand)
    counts: dict[Difference, int] = dict.fromkeys(KINDS, 0)
    doc_ids: dict[Difference, list[str]] = {kind: [] for kind in KINDS}
    for doc_id, kind in differences(index.store.ids(), _call_for_each(source.point_ids(), on_document)):
        if doc_id not in changed:
            counts[kind] += 1
            doc_ids[kind] += [doc_id] if len(doc_ids[kind]) < _MAX_LISTED else []
    later = source.changed(stand) - changed
    for kind, listed in doc_ids.items():
        unchanged = [doc_id for doc_id in listed if doc_id not in later]
        counts[kind] -= len(listed) - len(unchanged)
        doc_ids[kind] = unchanged
    return Comparison(counts, doc_ids, bool(changed))


def _call_for_each(
    documents: Iterable[tuple[str, list[str]]], on_document: Callable[[], object]
) -> Iterator[tuple[str, list[str]]]:
    for document in documents:
        yield document
        on_document()


def differences(ids: Iterable[str], documents: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, Difference]]:
    """Yield the documents whose points differ between an index and its source, with the kind of difference.

    ``ids`` are the ids of the index's points in ascending order. ``documents`` are the published documents by ascending
    doc_id (twelve hexadecimal digits), each with the sorted ids of its points. Points whose id fits no document come
    last, under UNNAMED. Raise ``StoreError`` if ``ids`` are not in order.
    """
    unnamed = list[str]()
    groups = groupby(_ids_of_pages(ids, unnamed), key=lambda id: id[:8] + id[9:13])
    indexed, indexed_ids = _next_group(groups)
    for doc_id, expected in documents:
        while indexed < doc_id:
            yield indexed, "extra"
            indexed, indexed_ids = _next_group(groups)
        if indexed == doc_id:
            if indexed_ids != expected:
                yield doc_id, "incomplete" if expected else "extra"
            indexed, indexed_ids = _next_group(groups)
        elif expected:
            yield doc_id, "missing"
    while indexed != _LAST:
        yield indexed, "extra"
        indexed, indexed_ids = _next_group(groups)
    if unnamed:
        yield UNNAMED, "extra"


def _next_group(groups: Iterator[tuple[str, Iterator[str]]]) -> tuple[str, list[str]]:
    doc_id, ids = next(groups, (_LAST, iter(())))
    return doc_id, list(ids)


def _ids_of_pages(ids: Iterable[str], unnamed: list[str]) -> Iterator[str]:
    """Yield the ids that name a page of a document. Set ``unnamed`` to the last of the other ids, if any.

    Raise StoreError if the ids are not in ascending order.
    """
    last = ""
    for id in ids:
        if named_page(id) is None:
            unnamed[:] = [id]
            continue
        if id <= last:
            raise StoreError(
                f"The search index lists its entries in the wrong order ({id} after {last}), so it "
                "cannot be compared with the catalog.",
                "Try again.",
            )
        yield id
        last = id
