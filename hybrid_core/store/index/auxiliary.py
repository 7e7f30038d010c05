"""The documents that an index does not hold yet, searched by their words beside it (an auxiliary index: Manning,
Raghavan & Schütze 2008, §4.5), so that whoever finds an index behind its log need not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hybrid_core.errors import StoreError
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.joined import JoinedIndex
from hybrid_core.store.index.points import SPARSE, Head, Point, VectorName, version_tag
from hybrid_core.store.index.query import MOST_SENT, Found, Query, least_equal, ranked
from hybrid_core.store.parts import parts
from hybrid_core.text.bm25 import Bm25
from hybrid_core.text.exact_weights import document_weights
from hybrid_core.text.term_counts import TermCounts, Uint32
from hybrid_core.types.documents import Hit

Floats = npt.NDArray[np.float64]
_DOCUMENTS = 200  # whose term counts are read at once


@dataclass(frozen=True, slots=True, eq=False)
class CountedDocument:
    """A published version with the term counts of its pages."""

    doc_id: str
    content_id: str
    counts: TermCounts


class CountsSource(Protocol):
    def counted(self, doc_ids: Collection[str], known: Mapping[str, TermCounts]) -> list[CountedDocument]:
        """Those of the documents that are published, with term counts; ``known`` ones, by content, are not read."""
        ...


class CountedDocuments:
    """Those of some documents that are published, read anew each time but for so many pages, which are kept: there may
    be more than the memory holds.
    """

    def __init__(
        self, source: CountsSource, doc_ids: Collection[str], known: Mapping[str, TermCounts], most: int
    ) -> None:
        self._source, self._doc_ids, self._known, self._most = source, sorted(doc_ids), known, most
        self.kept: dict[str, TermCounts] = {}  # by content
        self._pages = 0

    def __iter__(self) -> Iterator[CountedDocument]:
        for some in parts(self._doc_ids, _DOCUMENTS):
            for document in self._source.counted(some, {**self._known, **self.kept}):
                pages = document.counts.page_count
                if document.content_id not in self.kept and self._pages + pages <= self._most:
                    self.kept[document.content_id] = document.counts
                    self._pages += pages
                yield document
        self._known = {}


class AuxiliaryIndex:
    """Scores pages from their documents' term counts, as an index of them would; it has no vectors."""

    rebuilt = ""

    def __init__(self, documents: Iterable[CountedDocument], bm25: Bm25) -> None:
        self._documents, self._bm25 = documents, bm25

    def search(self, query: Query) -> list[Hit]:
        """As ``VectorIndex.search``."""
        if query.using != SPARSE or query.limit < 1:
            return []
        terms = np.asarray(query.vector[0], np.uint32)
        weights = np.asarray(query.vector[1], np.float64)
        scored = [
            (document.doc_id, version_tag(document.content_id), self._scores(document.counts, terms, weights))
            for document in self._searched(query)
        ]
        least = _least_of_best([scores for _, _, scores in scored], query.limit)
        pages = [
            ((doc_id, version, at + 1), score)
            for doc_id, version, scores in scored
            for best in (np.flatnonzero(scores >= least),)
            for at, score in zip(best.tolist(), scores[best].tolist(), strict=True)
        ]
        return ranked(SPARSE, pages)[: query.limit]

    def _searched(self, query: Query) -> Iterable[CountedDocument]:
        if query.doc_ids is None:
            return self._documents
        wanted = set(query.doc_ids)
        return (document for document in self._documents if document.doc_id in wanted)

    def _scores(self, counts: TermCounts, terms: Uint32, weights: Floats) -> Floats:
        """float64 (pages,), 0 where a page holds none of the terms."""
        found = counts.occurrences(terms)
        held = document_weights(self._bm25.weights(found.counts, counts.lengths[found.pages]))
        parts = weights[found.terms] * held
        return np.bincount(found.pages, parts, counts.page_count).astype(np.float64)


def _least_of_best(scores: Sequence[Floats], limit: int) -> float:
    """The least score that equals that of the last of the ``limit`` best pages, or the smallest above 0 where there are
    fewer."""
    found = np.concatenate([*scores, np.zeros(0)])
    found = found[found > 0]
    if len(found) <= limit:
        return float(found.min(initial=np.inf))
    return least_equal(float(np.partition(found, -limit)[-limit]))


class _Reduced:
    """An index without some documents; ``rest`` are all that are left, where they are known."""

    def __init__(self, index: VectorIndex, without: Collection[str], rest: Collection[str] | None) -> None:
        self._index, self._without = index, without
        self._rest = rest if rest is not None and len(rest) <= MOST_SENT else None  # else the others are dropped

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
    """The ``PointStore`` of an index that no disk has room for: it holds nothing, and refuses to be filled."""

    dimension = 0
    learned = shared = replicated = False
    documents_at_once = 1
    amiss = ""

    def __init__(self, refusal: StoreError) -> None:
        """``refusal`` is why there is no room."""
        self.refusal, self.closed = refusal, False
        self.trusted, self.doubted = Head(), set[Head]()

    def position(self) -> int:
        return 0

    def stand(self) -> tuple[Head, Head]:
        raise type(self.refusal)(self.refusal.message, self.refusal.advice)

    def announce(self, head: Head, own: Callable[[Head], bool]) -> None:
        """Refuse, as ``writing`` does."""
        raise type(self.refusal)(self.refusal.message, self.refusal.advice)

    def writing(self) -> AbstractContextManager[None]:
        raise type(self.refusal)(self.refusal.message, self.refusal.advice)

    def replace(self, doc_ids: Collection[str], points: Iterable[Point], at: int) -> None:
        """Nobody gets here: see ``writing``. So it is with the next three."""

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
        """There is nothing to put in order."""

    def distrust(self, reason: str) -> None:
        """Nothing is not to be mistrusted."""

    def close(self) -> None:
        self.closed = True


def completed(
    index: VectorIndex,
    changed: Collection[str],
    documents: Iterable[CountedDocument],
    bm25: Bm25,
    unchanged: Collection[str] | None = None,
) -> JoinedIndex:
    """What an index would answer by words if it had taken up the ``changed`` documents, of which ``documents`` are
    published. By meaning it answers without them. ``unchanged`` are the published ones that it holds, where the caller
    knows them.
    """
    return JoinedIndex([_Reduced(index, changed, unchanged), AuxiliaryIndex(documents, bm25)])
