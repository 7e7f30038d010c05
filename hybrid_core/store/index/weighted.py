"""An index asked by words as BM25 weighs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hybrid_core.store.index.auxiliary import AuxiliaryIndex, CountedDocument
from hybrid_core.store.index.points import SPARSE
from hybrid_core.store.index.query import PageIndex, Query
from hybrid_core.text.bm25 import Bm25, idf
from hybrid_core.text.exact_weights import query_weights
from hybrid_core.types.documents import Hit


class PageCounts(Protocol):
    """How many pages there are, and how many hold a term."""

    def of(self, terms: Sequence[int]) -> tuple[int, npt.NDArray[np.int64]]: ...


class WeightedIndex:
    """Weighs the words of a query by their idf among all pages that are searched, wherever these lie."""

    def __init__(self, index: PageIndex, counts: PageCounts, bm25: Bm25 = Bm25()) -> None:
        """``bm25`` is what the index's points were made by."""
        self._index, self._counts, self._bm25 = index, counts, bm25

    @property
    def rebuilt(self) -> str:
        """Why the index was made anew, "" where it was not."""
        return self._index.rebuilt

    def search(self, query: Query) -> list[Hit]:
        """As ``VectorIndex.search``; by "bm25" the score is Σ query weight · idf(term) · document weight, with weights
        that were rounded before (``exact_weights``) and a sum that is exact.
        """
        if query.using != SPARSE:
            return self._index.search(query)
        terms, weights = np.asarray(query.vector[0], np.uint32), np.asarray(query.vector[1], np.float64)
        pages, holding = self._counts.of(terms.tolist())
        return self._index.search(replace(query, vector=(terms, query_weights(weights * idf(pages, holding)))))

    def within(self, documents: Sequence[CountedDocument]) -> WeightedIndex:
        """What it says of some documents by words, from the term counts of their pages: the same scores to the last
        bit, and no index is asked."""
        return WeightedIndex(AuxiliaryIndex(documents, self._bm25), self._counts, self._bm25)

    def holding(self, terms: Sequence[int]) -> list[int]:
        """How many pages hold each term."""
        found: list[int] = self._counts.of(terms)[1].tolist()
        return found
