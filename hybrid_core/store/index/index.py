"""The search index of a library, and combined indexes: joined, weighted by BM25, or auxiliary.

An auxiliary index (Manning, Raghavan & Schütze 2008, §4.5) finds words in documents that are not in the index yet, so
that searches need not wait for indexing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.database import parts
from hybrid_core.store.index.follower import Follower, PointStore, translated
from hybrid_core.store.index.points import (
    MOST_SENT,
    SPARSE,
    Found,
    Head,
    PageIndex,
    Point,
    PointSource,
    Query,
    VectorName,
    best_pages,
    least_equal,
    ranked,
    vector_names,
    version_tag,
)
from hybrid_core.text.bm25 import Bm25, document_weights, idf, query_weights
from hybrid_core.text.terms import TermCounts, Uint32
from hybrid_core.types.documents import Hit

Floats = npt.NDArray[np.float64]
_DOCUMENTS_AT_ONCE = 200  # documents whose term counts are read together


class VectorIndex:
    """The search index of a library, embedded or on a server. Created by ``open_edge`` or ``open_server``."""

    def __init__(self, store: PointStore) -> None:
        self.store = store
        self._follower = Follower(store)
        self._points_per_page: dict[VectorName, float] = {}
        self._source: PointSource | None = None  # the source of the last update

    @property
    def stand(self) -> Head:
        """Return the last change of the catalog that was applied to this index."""
        return self._follower.stand

    @property
    def position(self) -> int:
        """Return the number (``seq``) of the last change of the catalog that was applied to this index."""
        return self._follower.stand.seq

    @property
    def rebuilt(self) -> str:
        """Return why this process rebuilt the index, "" if it did not, or if the index was new."""
        return self._follower.rebuilt

    def catch_up(
        self,
        source: PointSource,
        until: int | None = None,
        enough: Callable[[], bool] = lambda: False,
        *,
        fill: bool = True,
    ) -> None:
        """Apply new changes of the catalog to the index. Arguments and errors are those of ``Follower.follow``.

        If there are no new changes, nothing is done.
        """
        self._source = source
        self._follower.follow(source, until, enough, fill=fill)

    def resume(self, source: PointSource) -> bool:
        """Use the index in its recorded state, without applying changes. Return False if it must be rebuilt.

        Raise ``OtherHistoryError`` if a copy of the catalog writes the index.
        """
        self._source = source
        return self._follower.resume(source)

    def refill(self, source: PointSource) -> None:
        """Rebuild the index from the catalog. Raise the errors of ``Follower.follow``."""
        self._source = source
        self._follower.refill(source)

    def search(self, query: Query) -> list[Hit]:
        """Return the best pages for a query, ordered by (−score, doc_id, page).

        Return [] if the index has no vectors of the query's kind. Raise ``StoreError`` for an invalid vector, and
        ``IndexDamagedError`` if the index must first be repaired by ``catch_up`` or opened again.
        """
        store = self.store
        if store.closed:
            raise StoreError("The search index is closed.")
        if store.amiss:
            raise IndexDamagedError(store.amiss)
        if query.using not in vector_names(store.dimension, store.learned):
            return []
        checked = query.checked(store.dimension)
        if not checked.asks:
            return []
        try:
            hits = best_pages(checked, store.nearest, store.payloads, self._points_per_page)
            if store.doubted and self._source is not None:
                self._follower.trust(self._source)
            return hits
        except IndexDamagedError as error:
            store.distrust(error.message)
            raise

    def count(self) -> int:
        """Return the exact number of vectors of all kinds: BM25 (one per page), dense and learned sparse."""
        if self.store.closed:
            raise StoreError("The search index is closed.")
        return self.store.count()

    def pages(self) -> int:
        """Return the exact number of pages in the index, including outdated ones."""
        return self.store.count(SPARSE)

    def settle(self) -> None:
        """Optimise the index after many changes; searches wait meanwhile.

        If that makes the index unusable, it is rebuilt when it is next opened or caught up.
        """
        with translated():
            self.store.settle()

    def close(self) -> None:
        """Close the index after the write in progress. Safe to call twice; no data is lost without this call."""
        with self._follower.stopped():
            self.store.close()


class JoinedIndex:
    """Several indexes that answer queries like one index of all their pages."""

    def __init__(self, indexes: Sequence[PageIndex]) -> None:
        self._indexes = indexes

    @property
    def rebuilt(self) -> str:
        """Return why one of the indexes was rebuilt, "" if none was."""
        return next((index.rebuilt for index in self._indexes if index.rebuilt), "")

    def search(self, query: Query) -> list[Hit]:
        """Return the best pages of all indexes, ordered by (−score, doc_id, page)."""
        hits = [hit for index in self._indexes for hit in index.search(query)]
        return ranked(query.using, (((hit.doc_id, hit.version, hit.page), hit.score) for hit in hits))[: query.limit]


@dataclass(frozen=True, slots=True, eq=False)
class CountedDocument:
    """A published version of a document with the term counts of its pages."""

    doc_id: str
    content_id: str
    counts: TermCounts


class CountsSource(Protocol):
    def counted(self, doc_ids: Collection[str], cached: Mapping[str, TermCounts]) -> list[CountedDocument]:
        """Return the published documents among ``doc_ids``, with their term counts.

        ``cached`` maps content ids to term counts that need not be read again.
        """
        ...


class CountedDocuments:
    """Published documents with their term counts.

    They are read on each iteration, because they may exceed the memory; up to ``page_limit`` pages are cached.
    """

    def __init__(
        self, source: CountsSource, doc_ids: Collection[str], cached: Mapping[str, TermCounts], page_limit: int
    ) -> None:
        self._source, self._doc_ids, self._known, self._most = source, sorted(doc_ids), cached, page_limit
        self.kept: dict[str, TermCounts] = {}  # by content
        self._pages = 0

    def __iter__(self) -> Iterator[CountedDocument]:
        for some in parts(self._doc_ids, _DOCUMENTS_AT_ONCE):
            for document in self._source.counted(some, {**self._known, **self.kept}):
                pages = document.counts.page_count
                if document.content_id not in self.kept and self._pages + pages <= self._most:
                    self.kept[document.content_id] = document.counts
                    self._pages += pages
                yield document
        self._known = {}


class AuxiliaryIndex:
    """An index that computes BM25 scores directly from the term counts of documents. It has no vectors."""

    rebuilt = ""

    def __init__(self, documents: Iterable[CountedDocument], bm25: Bm25) -> None:
        self._documents, self._bm25 = documents, bm25

    def search(self, query: Query) -> list[Hit]:
        """Return the best pages for a "bm25" query, ordered by (−score, doc_id, page). Return [] for other queries."""
        if query.using != SPARSE or query.limit < 1:
            return []
        terms = np.asarray(query.vector[0], np.uint32)
        weights = np.asarray(query.vector[1], np.float64)
        scored = [
            (document.doc_id, version_tag(document.content_id), self._scores(document.counts, terms, weights))
            for document in self._searched(query)
        ]
        threshold = _score_limit([scores for _, _, scores in scored], query.limit)
        pages = [
            ((doc_id, version, at + 1), score)
            for doc_id, version, scores in scored
            for best in (np.flatnonzero(scores >= threshold),)
            for at, score in zip(best.tolist(), scores[best].tolist(), strict=True)
        ]
        return ranked(SPARSE, pages)[: query.limit]

    def _searched(self, query: Query) -> Iterable[CountedDocument]:
        if query.doc_ids is None:
            return self._documents
        doc_ids = set(query.doc_ids)
        return (document for document in self._documents if document.doc_id in doc_ids)

    def _scores(self, counts: TermCounts, terms: Uint32, weights: Floats) -> Floats:
        """Return the BM25 score of each page as float64 (pages,), 0 for a page without any of the terms."""
        occurrences = counts.occurrences(terms)
        page_weights = document_weights(self._bm25.weights(occurrences.counts, counts.lengths[occurrences.pages]))
        parts = weights[occurrences.terms] * page_weights
        return np.bincount(occurrences.pages, parts, counts.page_count).astype(np.float64)


def _score_limit(scores: Sequence[Floats], limit: int) -> float:
    """Return the lowest score of a page in the result: that of the page at rank ``limit``, less the rounding error.

    If fewer pages have a score above 0, return the lowest of these scores.
    """
    positive = np.concatenate([*scores, np.zeros(0)])
    positive = positive[positive > 0]
    if len(positive) <= limit:
        return float(positive.min(initial=np.inf))
    return least_equal(float(np.partition(positive, -limit)[-limit]))


class _WithoutDocuments:
    """An index whose results leave out the documents ``without``. ``rest`` are all other documents, None if unknown."""

    def __init__(self, index: VectorIndex, without: Collection[str], rest: Collection[str] | None) -> None:
        self._index, self._without = index, without
        # if there are more, the hits of excluded documents are dropped
        self._rest = rest if rest is not None and len(rest) <= MOST_SENT else None

    @property
    def rebuilt(self) -> str:
        return self._index.rebuilt

    def search(self, query: Query) -> list[Hit]:
        if self._rest is not None and not self._rest:
            return []
        if query.doc_ids is None and self._rest is not None:
            return self._index.search(replace(query, doc_ids=self._rest))
        if query.doc_ids is None:
            return self._index.search(replace(query, without=self._without))
        return self._index.search(replace(query, doc_ids=set(query.doc_ids).difference(self._without)))


class EmptyStore:
    """A ``PointStore`` for an index for which no disk has space. It is empty and refuses writes."""

    dimension = 0
    learned = shared = replicated = False
    documents_at_once = 1
    amiss = ""

    def __init__(self, refusal: StoreError) -> None:
        """Create the store. ``refusal`` is the error that explains why there is no space; writes raise it."""
        self.refusal, self.closed = refusal, False
        self.trusted, self.doubted = Head(), set[Head]()

    def position(self) -> int:
        return 0

    def stand(self) -> tuple[Head, Head]:
        raise type(self.refusal)(self.refusal.message, self.refusal.advice)

    def announce(self, head: Head, own: Callable[[Head], bool]) -> None:
        """Raise the error with which this store was created, because it cannot be written."""
        raise type(self.refusal)(self.refusal.message, self.refusal.advice)

    def writing(self) -> AbstractContextManager[None]:
        raise type(self.refusal)(self.refusal.message, self.refusal.advice)

    def replace(self, doc_ids: Collection[str], points: Iterable[Point], at: int) -> None:
        """Do nothing, since ``writing`` raises an error before. So do ``refill``, ``advance`` and ``clear``."""

    def refill(self, points: Iterable[Point], at: int, *, anew: bool = False) -> None: ...

    def advance(self, position: int, mark: int = 0, *, more: bool = False) -> None: ...

    def clear(self, latest: Mapping[str, int]) -> None: ...

    def nearest(self, query: Query) -> list[Found]:
        return []

    def payloads(self, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        return {}

    def count(self, *kinds: VectorName) -> int:
        return 0

    def ids(self) -> Iterator[str]:
        return iter(())

    def settle(self) -> None:
        """Do nothing: the store is empty."""

    def distrust(self, reason: str) -> None:
        """Do nothing: the store is empty."""

    def close(self) -> None:
        self.closed = True


def completed(
    index: VectorIndex,
    changed: Collection[str],
    documents: Iterable[CountedDocument],
    bm25: Bm25,
    unchanged: Collection[str] | None = None,
) -> JoinedIndex:
    """Return an index that answers "bm25" queries as if it contained the present versions of ``changed`` documents.

    ``documents`` are the published ones among the changed documents. Searches by other vectors do not find them.
    ``unchanged`` are the other published documents, None if unknown.
    """
    return JoinedIndex([_WithoutDocuments(index, changed, unchanged), AuxiliaryIndex(documents, bm25)])


class PageCounts(Protocol):
    """A source of page counts: the number of all pages, and of the pages with each term."""

    def of(self, terms: Sequence[int]) -> tuple[int, npt.NDArray[np.int64]]: ...


class WeightedIndex:
    """An index that weights query terms by their idf, from counts over the pages of all searched libraries."""

    def __init__(self, index: PageIndex, counts: PageCounts, bm25: Bm25 = Bm25()) -> None:
        """Wrap an index whose document weights were computed with the parameters ``bm25``."""
        self._index, self._counts, self._bm25 = index, counts, bm25

    @property
    def rebuilt(self) -> str:
        """Return why the index was rebuilt, "" if it was not."""
        return self._index.rebuilt

    def search(self, query: Query) -> list[Hit]:
        """Return the best pages for a query, ordered by (−score, doc_id, page).

        For "bm25" the score is Σ query weight · idf(term) · document weight. The weights are rounded first
        (``exact_weights``), so the sum is exact.
        """
        if query.using != SPARSE:
            return self._index.search(query)
        terms, weights = np.asarray(query.vector[0], np.uint32), np.asarray(query.vector[1], np.float64)
        pages, holding = self._counts.of(terms.tolist())
        return self._index.search(replace(query, vector=(terms, query_weights(weights * idf(pages, holding)))))

    def within(self, documents: Sequence[CountedDocument]) -> WeightedIndex:
        """Return an index of these documents for "bm25" queries, which computes scores from their term counts.

        It does not read the stored index, but its scores equal those of the stored index exactly.
        """
        return WeightedIndex(AuxiliaryIndex(documents, self._bm25), self._counts, self._bm25)

    def holding(self, terms: Sequence[int]) -> list[int]:
        """Return the number of pages that contain each of the terms, in their order."""
        counts: list[int] = self._counts.of(terms)[1].tolist()
        return counts
