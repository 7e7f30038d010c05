"""Postings and section trees of many documents in common arrays, with BM25 and NodeScore computed over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.trees import column
from hybrid_core.text.bm25 import Bm25
from hybrid_core.text.terms import TermCounts
from retrievers.trees.content import Content

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_FIRST_ROOM = 1024


@dataclass(frozen=True, eq=False)
class Postings:
    """The postings of a query's terms in several documents, whose pages have one consecutive numbering.

    terms: int64 (p,), index of the term in the query. documents: int64 (p,), index of the document. pages: int64 (p,),
    consecutive numbers. counts: uint16 (p,), term frequency on the page. holding: int64 (documents, terms), the number
    of each document's pages that contain a term. lengths: float64 (pages,), words. firsts: int64 (documents + 1,), the
    first page of each document.
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
        """Return the number of pages of each document: int64 (documents,)."""
        return np.diff(self.firsts)

    @cached_property
    def document_of(self) -> Ints:
        """Return the index of the document of every page: int64 (pages,)."""
        return np.repeat(np.arange(len(self.firsts) - 1), self.sizes)

    @cached_property
    def _totals(self) -> Floats:
        """Return the number of words of each document."""
        return np.bincount(self.document_of, self.lengths, len(self.sizes)).astype(np.float64)

    def library_bm25(self, weights: Floats, model: Bm25) -> Floats:
        """Return BM25 of every page, with equal term weights in all documents: float64 (pages,).

        ``weights``: float64 (t,). Higher is better.
        """
        adds = weights[self.terms] * model.weights(self.counts, self.lengths[self.pages])
        return np.bincount(self.pages, adds, len(self.lengths)).astype(np.float64)

    def own_bm25(self, weights: Floats, k1: float, b: float) -> Floats:
        """Return BM25 of every page by the statistics of its own document: idf and average length of the document's
        pages.

        ``weights``: float64 (t,) or (documents, t), multiplied by the idf. The result is float64 (pages,), higher is
        better.
        """
        sizes = np.maximum(self.sizes, 1)
        each = weights * idf_of(sizes[:, None], self.holding)
        average = np.maximum(self._totals / sizes, 1.0)
        norm = k1 * (1 - b + b * self.lengths[self.pages] / average[self.documents])
        tf = self.counts.astype(np.float64)
        adds = each[self.documents, self.terms] * tf / (tf + norm)
        return np.bincount(self.pages, adds, len(self.lengths)).astype(np.float64)

    def document_bm25(self, weights: Floats, k1: float = 1.2, b: float = 0.75) -> Floats:
        """Return BM25 of whole documents with average length over these: float64 (documents,).

        ``weights``: float64 (t,). Higher is better.
        """
        shape = self.holding.shape
        at = self.documents * shape[1] + self.terms
        tf = np.bincount(at, self.counts, shape[0] * shape[1]).reshape(shape)
        average = float(self._totals.mean()) if shape[0] else 0.0
        norm = k1 * (1 - b + b * self._totals / max(1.0, average))
        return np.asarray((weights * tf / (tf + norm[:, None])).sum(axis=1))

    def best_of(self, values: Floats) -> Floats:
        """Return the highest of ``values``, float64 (pages,), in each document, at least 0: float64 (documents,)."""
        best = np.zeros(len(self.sizes))
        filled = np.flatnonzero(self.sizes)
        if len(filled):
            best[filled] = np.maximum(np.maximum.reduceat(values, self.firsts[filled]), 0.0)
        return best


def idf_of(pages: Ints, holding: Ints) -> Floats:
    """Return the idf of terms in several collections, as ``bm25.idf`` does for one collection.

    ``pages`` are the sizes of the collections, ``holding`` the numbers of their pages with each term.
    """
    return np.asarray(np.log1p((pages - holding + 0.5) / (holding + 0.5)), np.float64)


def ranges(firsts: Ints, sizes: Ints) -> Ints:
    """Return several ranges of consecutive integers as one array.

    ``firsts`` are the first integers of the ranges, and ``sizes`` their lengths.
    """
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) + np.repeat(firsts - before, sizes))


def offsets(sizes: Ints) -> Ints:
    """Return the offset of each range in a consecutive numbering of ranges, then the total size."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


class GrowingArray:
    """An array that grows at its end. Views that were taken earlier keep their values."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._data: npt.NDArray[Any] = np.empty(_FIRST_ROOM, dtype)
        self._used = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        """Append the values."""
        needed = self._used + len(values)
        if needed > len(self._data):
            grown = np.empty(max(needed, 2 * len(self._data)), self._data.dtype)
            grown[: self._used] = self._data[: self._used]
            self._data = grown
        self._data[self._used : needed] = values
        self._used = needed

    @property
    def values(self) -> npt.NDArray[Any]:
        """Return all values appended so far."""
        return self._data[: self._used]

    def __len__(self) -> int:
        return self._used


class FieldArrays:
    """The term counts of one field of many documents, numbered from 0 as they are added."""

    def __init__(self) -> None:
        self._keys = GrowingArray(np.uint64)  # document number and term hash, ascending
        self._firsts, self._sizes = GrowingArray(np.int64), GrowingArray(np.int64)  # range of the postings of each key
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
        """Return the total number of pages of all documents."""
        return len(self._lengths)

    def first_pages(self, documents: Ints) -> Ints:
        """Return the number of each document's first page in the consecutive numbering of all pages."""
        return np.asarray(self._first_pages.values[documents])

    def page_counts(self, documents: Ints) -> Ints:
        """Return the number of pages of each of these documents."""
        return np.asarray(self._page_counts.values[documents])

    def rows(self, documents: Ints) -> Ints:
        """Return the consecutive numbers of all pages of these documents, document by document."""
        return ranges(self.first_pages(documents), self.page_counts(documents))

    def postings(self, documents: Ints, hashes: Ints) -> Postings:
        """Return the postings of terms in some documents.

        documents: int64 (d,), document numbers. hashes: int64 (t,), all different.
        """
        shape = len(documents), len(hashes)
        wanted_keys = (documents.astype(np.uint64)[:, None] << np.uint64(32) | hashes.astype(np.uint64)).ravel()
        keys = self._keys.values
        places = np.minimum(keys.searchsorted(wanted_keys), max(0, len(keys) - 1))
        matches = np.flatnonzero(keys[places] == wanted_keys) if len(keys) else np.zeros(0, np.int64)
        sizes = self._sizes.values[places[matches]]
        holding = np.zeros(shape[0] * shape[1], np.int64)
        holding[matches] = sizes
        rows = ranges(self._firsts.values[places[matches]], sizes)
        own, terms = np.divmod(np.repeat(matches, sizes), max(1, shape[1]))
        firsts = offsets(self.page_counts(documents))
        pages = self._pages.values[rows].astype(np.int64) + firsts[own]
        lengths = self._lengths.values[self.rows(documents)]
        return Postings(terms, own, pages, self._counts.values[rows], holding.reshape(shape), lengths, firsts)


_EXACT = 2.0**40


@dataclass(frozen=True, eq=False)
class Trees:
    """The sections of several documents in one consecutive numbering, parents before their children.

    start, end: int64 (s,), the first page of each section and the page after its last, consecutively numbered. parent:
    int64 (s,), a section, or s + index of the document for top sections. level: int64 (s,), 1 at the top. firsts: int64
    (documents + 1,), the first section of each document. whole: float64 (s,), the idf sum of all terms of the title
    within its document. titles: the postings of the titles.
    """

    start: Ints
    end: Ints
    parent: Ints
    level: Ints
    firsts: Ints
    whole: Floats
    titles: Postings

    @property
    def levels(self) -> list[Ints]:
        """Return the sections of each level, the top level first."""
        return [np.flatnonzero(self.level == depth) for depth in range(1, int(self.level.max(initial=0)) + 1)]

    def node_scores(self, page_hits: Floats) -> Floats:
        """Return the NodeScore of every section: float64 (s,), higher is better, comparable among siblings only.

        NodeScore(n) = Σ h / √(N + 1) over the N hits whose page lies in n's subtree. ``page_hits``, float64 (pages,),
        are the hits' scores divided by the question's best, 0 where a page is no hit.
        """
        exact = np.rint(page_hits * _EXACT).astype(np.int64)  # whole numbers: no document's sum depends on the others
        sums, numbers = offsets(exact), offsets((page_hits > 0).astype(np.int64))
        hits = numbers[self.end] - numbers[self.start]
        return np.asarray((sums[self.end] - sums[self.start]) / _EXACT / np.sqrt(hits + 1.0))

    def path_shares(self, nodes: Floats) -> Floats:
        """Return the mean of relative NodeScores on the path to each section: float64 (s,), 0 to 1.

        A relative NodeScore is a section's NodeScore divided by that of its best sibling.
        """
        count = len(nodes)
        best = np.zeros(count + len(self.firsts) - 1)
        np.maximum.at(best, self.parent, nodes)
        best_sibling = best[self.parent]
        along = np.divide(nodes, best_sibling, out=np.zeros(count), where=best_sibling > 0)
        for level in self.levels[1:]:
            along[level] += along[self.parent[level]]
        return along / np.maximum(self.level, 1)

    def path_masks(self) -> Ints:
        """Return a bit mask of the query terms in the titles on each section's path: int64 (s,).

        The path is the section and its ancestors. Terms after the 63rd share the last bit.
        """
        masks = np.zeros(len(self.start), np.int64)
        np.bitwise_or.at(masks, self.titles.pages, np.int64(1) << np.minimum(self.titles.terms, 62))
        for level in self.levels[1:]:
            masks[level] |= masks[self.parent[level]]
        return masks

    def covered_titles(self, weights: Floats, power: float, pages: int) -> Floats:
        """Return the best coverage of the titles that begin on each page: float64 (pages,).

        Let c be Σ w · idf over the title's query terms. Coverage is c · (c / Σ idf of all its terms)^power, 0 without a
        match. Higher is better. The idf is computed over the titles of the document; ``weights``: float64 (t,).
        """
        scores = np.zeros(pages)
        titles = self.titles
        named = np.bincount(titles.document_of, titles.lengths > 0, len(self.firsts) - 1).astype(np.int64)
        each = weights * idf_of(named[:, None], titles.holding)
        weights_held = np.bincount(titles.pages, each[titles.documents, titles.terms], len(self.start)).astype(
            np.float64
        )
        at = np.flatnonzero(weights_held)
        share = np.minimum(1.0, weights_held[at] / self.whole[at]) ** power
        np.maximum.at(scores, self.start[at], weights_held[at] * share)
        return scores


class TreeArrays:
    """The section trees of many documents, numbered from 0 as they are added."""

    def __init__(self) -> None:
        self._titles = FieldArrays()
        self._start, self._end = GrowingArray(np.int64), GrowingArray(np.int64)  # pages of the document, from 0
        self._parent, self._level = GrowingArray(np.int64), GrowingArray(np.int64)
        self._whole = GrowingArray(np.float64)
        self._covering, self._first_covering = GrowingArray(np.int64), GrowingArray(np.int64)
        self._covering_counts = GrowingArray(np.int64)

    def add(self, content: Content) -> None:
        """Append the section tree of a document."""
        start, end = content.spans
        self._titles.add(content.titles.terms)
        self._whole.extend(content.titles.whole)
        self._start.extend(start)
        self._end.extend(end)
        self._parent.extend(np.array(column(content.sections, "parent"), np.int64) - 1)
        self._level.extend(np.array(column(content.sections, "level"), np.int64))
        sections, begins = content.covering
        self._first_covering.extend(begins + len(self._covering))
        self._covering_counts.extend(np.diff(np.append(begins, len(sections))))
        self._covering.extend(sections)

    def trees(self, documents: Ints, hashes: Ints, first_pages: Ints) -> Trees:
        """Return the trees of some documents, int64 (d,), with the postings of ``hashes`` in their titles.

        ``first_pages``, int64 (d + 1,), holds the offset of each document's pages.
        """
        titles = self._titles.postings(documents, hashes)
        rows, own = self._titles.rows(documents), titles.document_of
        parent = self._parent.values[rows]
        parent = np.where(parent < 0, len(rows) + own, parent + titles.firsts[own])
        start, end = self._start.values[rows] + first_pages[own], self._end.values[rows] + first_pages[own]
        return Trees(start, end, parent, self._level.values[rows], titles.firsts, self._whole.values[rows], titles)

    def covering(self, pages: Ints, first_sections: Ints) -> tuple[Ints, Ints]:
        """Return the sections that cover pages, and for each the index of its page in ``pages``.

        ``pages``, int64 (n,), are in the consecutive numbering of all pages. ``first_sections``, int64 (n,), is the
        offset of the sections of each page's document. Both results are int64 (c,).
        """
        counts = self._covering_counts.values[pages]
        row = np.repeat(np.arange(len(pages)), counts)
        sections = self._covering.values[ranges(self._first_covering.values[pages], counts)]
        return np.asarray(sections + first_sections[row]), row
