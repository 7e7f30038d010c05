"""A source of points in memory that works out its own scores, and how they are compared with those of an index."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
import pytest

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import Point, Query, version_tag
from hybrid_core.text.bm25 import document_weights
from hybrid_core.types.documents import Change, Hit

Weights = dict[int, float]  # term to document weight
Vector = Sequence[float]


def arrays(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(weights), np.uint32), np.array(list(weights.values()), np.float32)


class Library:
    """A ``PointSource`` in memory, and the scores worked out by hand from what it publishes."""

    def __init__(self) -> None:
        self.log: list[Change] = []
        self.versions: dict[str, tuple[str, list[Weights]]] = {}
        self.dense: dict[str, dict[tuple[int, int], Vector]] = {}  # of a version: (page, chunk) to vector
        self.learned: dict[str, dict[tuple[int, int], Weights]] = {}  # the same, to learned weights

    def embed(
        self,
        doc_id: str,
        vectors: dict[tuple[int, int], Vector],
        learned: dict[tuple[int, int], Weights] | None = None,
    ) -> None:
        """The published version gets vectors for its pages (chunk 0) and chunks; the log says so."""
        content_id = self.versions[doc_id][0]
        self.dense[content_id] = vectors
        self.learned[content_id] = learned or {}
        self.log.append(Change(self.position() + 1, doc_id, content_id))

    def publish(self, doc_id: str, content_id: str, *pages: Weights) -> None:
        self.versions[doc_id] = (content_id, list(pages))
        self.log.append(Change(self.position() + 1, doc_id, content_id))

    def remove(self, doc_id: str) -> None:
        self.versions.pop(doc_id, None)
        self.log.append(Change(self.position() + 1, doc_id, None))

    def position(self) -> int:
        return self.log[-1].seq if self.log else 0

    def mark(self, seq: int) -> int | None:
        return 0 if seq <= self.position() else None

    def changes(self, after: int) -> Iterable[Change]:
        return (change for change in self.log if change.seq > after)

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        return [(doc, content) for doc, (content, _) in self.versions.items() if doc_ids is None or doc in doc_ids]

    def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
        current, pages = self.versions.get(doc_id, ("", []))
        dense, learned = self.dense.get(content_id, {}), self.learned.get(content_id, {})
        for number, weights in enumerate(pages if current == content_id else [], 1):
            vector = np.array(dense[number, 0], np.float32) if (number, 0) in dense else None
            tokens = arrays(learned[number, 0]) if (number, 0) in learned else None
            yield Point(doc_id, content_id, number, *arrays(weights), dense=vector, learned=tokens)
        for (page, chunk), held in dense.items() if current == content_id else ():
            if chunk:
                tokens = arrays(learned[page, chunk]) if (page, chunk) in learned else None
                yield Point(doc_id, content_id, page, *arrays({}), chunk, np.array(held, np.float32), tokens)

    def expected_vectors(self) -> int:
        return sum(
            len(pages) + len(self.dense.get(content, {})) + len(self.learned.get(content, {}))
            for content, pages in self.versions.values()
        )

    def learned_scores(self, query: Weights, doc_ids: Collection[str] | None = None) -> list[tuple[str, int, float]]:
        """(document, page, the best inner product of its points) where a token is shared, best first."""
        best: dict[tuple[str, int], float] = {}
        for doc_id, (content_id, _) in self.versions.items():
            for (page, _), weights in self.learned.get(content_id, {}).items():
                if (doc_ids is None or doc_id in doc_ids) and not weights.keys().isdisjoint(query):
                    score = sum(query[token] * weights[token] for token in query if token in weights)
                    best[doc_id, page] = max(best.get((doc_id, page), 0.0), score)
        return sorted(((*page, score) for page, score in best.items()), key=lambda row: (-row[2], row[0], row[1]))

    def dense_scores(self, query: Vector, doc_ids: Collection[str] | None = None) -> list[tuple[str, int, float]]:
        """(document, page, the best dot product of its points), best first."""
        best: dict[tuple[str, int], float] = {}
        for doc_id, (content_id, _) in self.versions.items():
            for (page, _), vector in self.dense.get(content_id, {}).items():
                score = float(np.dot(np.array(query, np.float32), np.array(vector, np.float32)))
                if doc_ids is None or doc_id in doc_ids:
                    best[doc_id, page] = max(best.get((doc_id, page), -math.inf), score)
        found = [(doc_id, page, score) for (doc_id, page), score in best.items()]
        return sorted(found, key=lambda row: (-row[2], row[0], row[1]))

    def scores(self, query: Weights, doc_ids: Collection[str] | None = None) -> list[tuple[str, str, int, float]]:
        pages = [
            (doc_id, content_id, number, weights)
            for doc_id, (content_id, pages) in self.versions.items()
            for number, weights in enumerate(pages, 1)
        ]
        found = [
            (doc_id, content_id, number, sum(query[t] * weights[t] for t in query if t in weights))
            for doc_id, content_id, number, weights in pages
            if (doc_ids is None or doc_id in doc_ids) and not weights.keys().isdisjoint(query)
        ]
        return sorted(found, key=lambda row: (-row[3], row[0], row[2]))


def ask(index: VectorIndex, query: Weights, limit: int = 1000, doc_ids: Collection[str] | None = None) -> list[Hit]:
    return index.search(Query("bm25", arrays(query), limit, doc_ids))


def ask_dense(
    index: VectorIndex, query: Vector, limit: int = 1000, doc_ids: Collection[str] | None = None
) -> list[Hit]:
    return index.search(Query("dense", query, limit, doc_ids))


def ask_learned(
    index: VectorIndex, query: Weights, limit: int = 1000, doc_ids: Collection[str] | None = None
) -> list[Hit]:
    return index.search(Query("learned-sparse", arrays(query), limit, doc_ids))


def agree(index: VectorIndex, library: Library, query: Weights, doc_ids: Collection[str] | None = None) -> None:
    """The index returns the pages and scores worked out by hand."""
    hits, expected = ask(index, query, doc_ids=doc_ids), library.scores(query, doc_ids)
    by_page = {(doc_id, version_tag(content_id), page): score for doc_id, content_id, page, score in expected}
    assert {(h.doc_id, h.version, h.page) for h in hits} == by_page.keys()
    for hit in hits:
        assert hit.score == pytest.approx(by_page[hit.doc_id, hit.version, hit.page], rel=1e-5)
        assert hit.sparse == hit.score
    assert hits == sorted(hits, key=lambda h: (-h.score, h.doc_id, h.page))
    assert index.count() == library.expected_vectors()
    assert index.position == library.position()


def random_pages(seed: int, pages: int, terms: int = 30, vocabulary: int = 200) -> list[Weights]:
    rng = np.random.default_rng(seed)
    return [
        {
            int(t): float(w)
            for t, w in zip(
                rng.choice(vocabulary, terms, replace=False), document_weights(rng.random(terms)), strict=True
            )
        }
        for _ in range(pages)
    ]


Opener = Callable[..., VectorIndex]  # of a library, the dense vectors' dimension, whether there are learned ones


def agree_dense(index: VectorIndex, library: Library, query: Vector, doc_ids: Collection[str] | None = None) -> None:
    """The index returns every page that has a vector, each by its best, in order, and counts all of them."""
    hits, expected = ask_dense(index, query, doc_ids=doc_ids), library.dense_scores(query, doc_ids)
    assert [(h.doc_id, h.page) for h in hits] == [row[:2] for row in expected]
    assert [h.score for h in hits] == pytest.approx([row[2] for row in expected], abs=1e-6)
    assert all(h.dense == h.score and h.sparse == 0.0 for h in hits)
    assert all(h.version == version_tag(library.versions[h.doc_id][0]) for h in hits)
    assert index.count() == library.expected_vectors()
    assert index.position == library.position()


def agree_learned(index: VectorIndex, library: Library, query: Weights, doc_ids: Collection[str] | None = None) -> None:
    """The index returns every page that shares a token, each by its best point, in order, and counts all vectors."""
    hits, expected = ask_learned(index, query, doc_ids=doc_ids), library.learned_scores(query, doc_ids)
    assert [(h.doc_id, h.page) for h in hits] == [row[:2] for row in expected]
    assert [h.score for h in hits] == pytest.approx([row[2] for row in expected], abs=1e-6)
    assert all(h.learned == h.score and h.sparse == 0.0 and h.dense is None for h in hits)
    assert all(h.version == version_tag(library.versions[h.doc_id][0]) for h in hits)
    assert index.count() == library.expected_vectors()
