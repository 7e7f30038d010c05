"""The catalog as the source that a vector index is derived from."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from hybrid_core.errors import DamageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot, TermVector, Vector
from hybrid_core.store.catalog.texts import content_texts
from hybrid_core.store.index.auxiliary import CountedDocument
from hybrid_core.store.index.points import Point, naming_id, version_tag
from hybrid_core.text.bm25 import Bm25
from hybrid_core.text.exact_weights import document_weights
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import Change, StoredEmbedder

_log = logging.getLogger(__name__)
_NO_TERMS = np.zeros(0, np.uint32)
_LISTED = 500  # documents that are read at once
_NO_WEIGHTS = np.zeros(0, np.float32)


class CatalogSource:
    """One library's change log and points (a ``PointSource``), with one embedder's vectors or none."""

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
        """The documents whose changes are later."""
        with self._catalog.snapshot() as snapshot:
            return snapshot.changed_documents(self._library, after)

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        with self._catalog.snapshot() as snapshot:
            return list(snapshot.published(self._library, doc_ids).items())

    def points(self, doc_id: str, content_id: str) -> Iterable[Point]:
        """A document whose stored terms are damaged has points without words, so that all others are followed."""
        with self._catalog.snapshot() as snapshot:
            try:
                counts = snapshot.terms(content_id)
                body = None if counts is None else counts[0]
            except DamageError as error:
                _log.warning("document %s cannot be searched by words: %s", doc_id, error)
                pages, _ = snapshot.extent(content_id)
                body = TermCounts.build([{}] * pages, [0] * pages)
            embedded = {} if body is None or self._embedder is None else self._embedded(snapshot, content_id)
        return () if body is None else self._made(doc_id, content_id, body, embedded)

    def counted(self, doc_ids: Collection[str], known: Mapping[str, TermCounts]) -> list[CountedDocument]:
        """Those of the documents that are published, with term counts; ``known`` ones, by content, are not read."""
        with self._catalog.snapshot() as snapshot:
            published = snapshot.published(self._library, doc_ids)
            counts = snapshot.page_terms([content for content in published.values() if content not in known])
        counts |= {content: known[content] for content in published.values() if content in known}
        return [CountedDocument(doc, content, counts[content]) for doc, content in published.items()]

    def pages_of(self, doc_ids: Collection[str]) -> int:
        """How many pages those of the documents that are published have together."""
        with self._catalog.snapshot() as snapshot:
            return snapshot.expected_pages(self._library, doc_ids)

    def point_ids(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the published documents by ascending doc_id, each with the sorted ids of its points."""
        after = ""
        while True:
            with self._catalog.snapshot() as snapshot:
                some = [
                    (doc_id, content_id, pages, self._chunks(snapshot, content_id))
                    for doc_id, content_id, pages in snapshot.page_counts(self._library, after, _LISTED)
                ]
            for doc_id, content_id, pages, chunks in some:
                tag = version_tag(content_id)
                places = sorted([*((page, 0) for page in range(1, pages + 1)), *chunks])
                yield doc_id, [naming_id(doc_id, tag, *place) for place in places]
            if len(some) < _LISTED:
                return
            after = some[-1][0]

    def _chunks(self, snapshot: Snapshot, content_id: str) -> list[tuple[int, int]]:
        """(page, chunk) of the chunks that have points."""
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
        """(page, chunk) -> vector and learned weights, empty while not every page is embedded."""
        embedder = self._embedder
        if embedder is None or not snapshot.embedded(embedder.fingerprint, [content_id]):
            return {}
        chunks = bool(snapshot.embedded(embedder.fingerprint, [content_id], chunks=True))
        texts = content_texts(snapshot, content_id, chunks=chunks)
        keys = list({text.key for text in texts})
        held = snapshot.vectors(embedder.fingerprint, keys)
        learned = snapshot.weights(embedder.fingerprint, keys) if embedder.sparse else {}
        return {(text.page, text.chunk): (held[text.key], learned.get(text.key)) for text in texts if text.key in held}

    def _made(
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
