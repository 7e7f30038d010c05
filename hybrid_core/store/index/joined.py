"""Several libraries' indexes searched as if they were one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_core.store.index.points import SPARSE
from hybrid_core.store.index.query import PageIndex, Query
from hybrid_core.types.documents import Hit


class JoinedIndex:
    """Answers a query as one index of all their pages would: the idf counts the pages of all of them.

    Each index weighs a term by its own idf, so it is asked with weights that put the one of all in its place.
    """

    def __init__(self, indexes: Sequence[tuple[PageIndex, int]]) -> None:
        """Indexes with their numbers of pages, at one moment: what is worked out of them is kept."""
        self.indexes = indexes
        self._pages = sum(pages for _, pages in indexes)
        self._shares: dict[int, tuple[float, ...]] = {}  # by term: idf among all / idf in each index

    @property
    def rebuilt(self) -> str:
        """Why one of them was made anew."""
        return next((index.rebuilt for index, _ in self.indexes if index.rebuilt), "")

    def search(self, query: Query) -> list[Hit]:
        """As ``VectorIndex.search``."""
        hits: list[Hit] = []
        for at, (index, _) in enumerate(self.indexes):
            hits += index.search(self._weighed(query, at) if query.using == SPARSE else query)
        return sorted(hits, key=lambda hit: (-hit.score, hit.doc_id, hit.page))[: query.limit]

    def pages_with(self, terms: Sequence[int], pages: int) -> list[int]:
        """How many of all their pages hold each term."""
        return [sum(held) for held in zip(*(index.pages_with(terms, own) for index, own in self.indexes), strict=True)]

    def _weighed(self, query: Query, at: int) -> Query:
        terms, weights = np.asarray(query.vector[0]), np.asarray(query.vector[1], np.float32)
        self._learn([term for term in terms.tolist() if term not in self._shares])
        shares = [self._shares[term][at] for term in terms.tolist()]
        return replace(query, vector=(terms, (weights * shares).astype(np.float32)))

    def _learn(self, terms: Sequence[int]) -> None:
        if not terms:
            return
        held = [index.pages_with(terms, pages) for index, pages in self.indexes]
        for term, *holding in zip(terms, *held, strict=True):
            everywhere = _idf(sum(holding), self._pages)
            own = [_idf(count, pages) for count, (_, pages) in zip(holding, self.indexes, strict=True)]
            self._shares[term] = tuple(everywhere / one for one in own)


def _idf(holding: int, pages: int) -> float:
    return math.log(1 + (pages - holding + 0.5) / (holding + 0.5))
