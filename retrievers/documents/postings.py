"""Where a question's terms stand in many documents, looked up at once in common arrays, and BM25 over these."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.text.bm25 import Bm25
from hybrid_core.text.term_counts import TermCounts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_FIRST_ROOM = 1024


@dataclass(frozen=True, eq=False)
class Postings:
    """Where terms stand in several documents, whose pages are numbered through.

    terms: int64 (p,), the place among the terms asked for. documents: int64 (p,). pages: int64 (p,), numbered
    through. counts: uint16 (p,). holding: int64 (documents, terms), how many pages of each document hold a term.
    lengths: float64 (pages,), words. firsts: int64 (documents + 1,), the first page of each document.
    """

    terms: Ints
    documents: Ints
    pages: Ints
    counts: npt.NDArray[np.uint16]
    holding: Ints
    lengths: Floats
    firsts: Ints

    @property
    def sizes(self) -> Ints:
        """Pages of each document: int64 (documents,)."""
        return np.diff(self.firsts)

    @cached_property
    def document_of(self) -> Ints:
        """The document of every page: int64 (pages,)."""
        return np.repeat(np.arange(len(self.firsts) - 1), self.sizes)

    @cached_property
    def _totals(self) -> Floats:
        """Words of each document."""
        return np.bincount(self.document_of, self.lengths, len(self.sizes)).astype(np.float64)

    def library_bm25(self, weights: Floats, model: Bm25) -> Floats:
        """BM25 of every page with the same ``weights`` of terms, float64 (t,), in all documents: float64 (pages,)."""
        adds = weights[self.terms] * model.weights(self.counts, self.lengths[self.pages])
        return np.bincount(self.pages, adds, len(self.lengths)).astype(np.float64)

    def own_bm25(self, weights: Floats, k1: float, b: float) -> Floats:
        """BM25 of every page by its document's statistics: idf and average length of its own pages.

        ``weights``: float64 (t,) or (documents, t), beside the idf. Returns float64 (pages,), higher is better.
        """
        sizes = np.maximum(self.sizes, 1)
        each = weights * idf_of(sizes[:, None], self.holding)
        average = np.maximum(self._totals / sizes, 1.0)
        norm = k1 * (1 - b + b * self.lengths[self.pages] / average[self.documents])
        tf = self.counts.astype(np.float64)
        adds = each[self.documents, self.terms] * tf / (tf + norm)
        return np.bincount(self.pages, adds, len(self.lengths)).astype(np.float64)

    def document_bm25(self, weights: Floats, k1: float = 1.2, b: float = 0.75) -> Floats:
        """BM25 of whole documents against each other: float64 (documents,)."""
        shape = self.holding.shape
        at = self.documents * shape[1] + self.terms
        tf = np.bincount(at, self.counts, shape[0] * shape[1]).reshape(shape)
        average = float(self._totals.mean()) if shape[0] else 0.0
        norm = k1 * (1 - b + b * self._totals / max(1.0, average))
        return np.asarray((weights * tf / (tf + norm[:, None])).sum(axis=1))

    def best_of(self, values: Floats) -> Floats:
        """The best of ``values``, float64 (pages,), in each document, 0 at least: float64 (documents,)."""
        best = np.zeros(len(self.sizes))
        filled = np.flatnonzero(self.sizes)
        if len(filled):
            best[filled] = np.maximum(np.maximum.reduceat(values, self.firsts[filled]), 0.0)
        return best


def idf_of(pages: Ints, holding: Ints) -> Floats:
    """``hybrid_core.text.bm25.idf`` for many collections at once."""
    return np.asarray(np.log1p((pages - holding + 0.5) / (holding + 0.5)), np.float64)


def ranges(firsts: Ints, sizes: Ints) -> Ints:
    """Whole numbers from each of ``firsts`` on, so many as ``sizes`` says, one range after the other."""
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(firsts - before, sizes))


def offsets(sizes: Ints) -> Ints:
    """Where each of several pieces begins when they are numbered through, and where the last ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


class GrowingArray:
    """An array that grows at its end. What was read of it stays as it was read."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._data: npt.NDArray[Any] = np.empty(_FIRST_ROOM, dtype)
        self._used = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append values of any number."""
        needed = self._used + len(values)
        if needed > len(self._data):
            grown = np.empty(max(needed, 2 * len(self._data)), self._data.dtype)
            grown[: self._used] = self._data[: self._used]
            self._data = grown
        self._data[self._used : needed] = values
        self._used = needed

    @property
    def values(self) -> npt.NDArray[Any]:
        """What was appended so far."""
        return self._data[: self._used]

    def __len__(self) -> int:
        return self._used


class FieldArrays:
    """The term counts of one field of many documents. Documents are numbered as they are added, from 0."""

    def __init__(self) -> None:
        self._keys = GrowingArray(np.uint64)  # number of the document and hash of the term, ascending
        self._firsts, self._sizes = GrowingArray(np.int64), GrowingArray(np.int64)  # the postings of each key
        self._pages, self._counts = GrowingArray(np.uint32), GrowingArray(np.uint16)
        self._lengths = GrowingArray(np.float64)
        self._first_pages, self._page_counts = GrowingArray(np.int64), GrowingArray(np.int64)

    def add(self, counts: TermCounts) -> int:
        """Append a document and return its number."""
        number = len(self._first_pages)
        self._keys.extend(counts.terms.astype(np.uint64) | np.uint64(number << 32))
        self._firsts.extend(counts.starts[:-1] + len(self._pages))
        self._sizes.extend(np.diff(counts.starts))
        self._pages.extend(counts.pages)
        self._counts.extend(counts.counts)
        self._first_pages.extend(np.array([len(self._lengths)]))
        self._page_counts.extend(np.array([counts.page_count]))
        self._lengths.extend(counts.lengths)
        return number

    @property
    def pages(self) -> int:
        """How many pages all documents have."""
        return len(self._lengths)

    def first_pages(self, documents: Ints) -> Ints:
        """Where the pages of documents begin among those of all."""
        return np.asarray(self._first_pages.values[documents])

    def page_counts(self, documents: Ints) -> Ints:
        """How many pages each of some documents has."""
        return np.asarray(self._page_counts.values[documents])

    def rows(self, documents: Ints) -> Ints:
        """The places of some documents' pages among those of all, document after document."""
        return ranges(self.first_pages(documents), self.page_counts(documents))

    def postings(self, documents: Ints, hashes: Ints) -> Postings:
        """Where terms stand in some documents: int64 (d,), their numbers; ``hashes`` int64 (t,), all different."""
        shape = len(documents), len(hashes)
        wanted = (documents.astype(np.uint64)[:, None] << np.uint64(32) | hashes.astype(np.uint64)).ravel()
        keys = self._keys.values
        places = np.minimum(keys.searchsorted(wanted), max(0, len(keys) - 1))
        found = np.flatnonzero(keys[places] == wanted) if len(keys) else np.zeros(0, np.int64)
        sizes = self._sizes.values[places[found]]
        holding = np.zeros(shape[0] * shape[1], np.int64)
        holding[found] = sizes
        rows = ranges(self._firsts.values[places[found]], sizes)
        own, terms = np.divmod(np.repeat(found, sizes), max(1, shape[1]))
        firsts = offsets(self.page_counts(documents))
        pages = self._pages.values[rows].astype(np.int64) + firsts[own]
        lengths = self._lengths.values[self.rows(documents)]
        return Postings(terms, own, pages, self._counts.values[rows], holding.reshape(shape), lengths, firsts)
