"""The section trees of many documents in common arrays, so that all are scored at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.trees import column
from retrievers.documents.content import Content
from retrievers.documents.postings import FieldArrays, GrowingArray, Postings, idf_of, offsets, ranges

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_EXACT = 2.0**40


@dataclass(frozen=True, eq=False)
class Trees:
    """The sections of several documents, numbered through, parents before their children.

    start, end: int64 (s,), the first page of each and the one after its last, numbered through. parent: int64 (s,),
    numbered through; of a top section s + the place of its document. level: int64 (s,), 1 at the top. firsts: int64
    (documents + 1,), the first section of each document. whole: float64 (s,), the idf of all terms of its title within
    its document. titles: the terms of the titles.
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
        """The sections of each level, the top level first."""
        return [np.flatnonzero(self.level == depth) for depth in range(1, int(self.level.max(initial=0)) + 1)]

    def node_scores(self, page_hits: Floats) -> Floats:
        """NodeScore of every section: float64 (s,), higher is better, comparable among siblings only.

        NodeScore(n) = Σ h / √(N + 1) over the N hits whose page lies in n's subtree. ``page_hits``, float64 (pages,),
        are the hits' scores divided by the question's best, 0 where a page is no hit.
        """
        exact = np.rint(page_hits * _EXACT).astype(np.int64)  # whole numbers: no document's sum depends on the others
        sums, numbers = offsets(exact), offsets((page_hits > 0).astype(np.int64))
        held = numbers[self.end] - numbers[self.start]
        return np.asarray((sums[self.end] - sums[self.start]) / _EXACT / np.sqrt(held + 1.0))

    def path_shares(self, nodes: Floats) -> Floats:
        """How well each section stands among its siblings, averaged along its path: float64 (s,), 0 to 1."""
        count = len(nodes)
        best = np.zeros(count + len(self.firsts) - 1)
        np.maximum.at(best, self.parent, nodes)
        beside = best[self.parent]
        along = np.divide(nodes, beside, out=np.zeros(count), where=beside > 0)
        for level in self.levels[1:]:
            along[level] += along[self.parent[level]]
        return along / np.maximum(self.level, 1)

    def path_masks(self) -> Ints:
        """Which of the first 63 terms asked for the titles along each section's path hold: int64 (s,), a bit a term."""
        masks = np.zeros(len(self.start), np.int64)
        np.bitwise_or.at(masks, self.titles.pages, np.int64(1) << np.minimum(self.titles.terms, 62))
        for level in self.levels[1:]:
            masks[level] |= masks[self.parent[level]]
        return masks

    def covered_titles(self, weights: Floats, power: float, pages: int) -> Floats:
        """For each page the best Σ w · idf · (Σ w · idf / Σ idf of all its terms)^power of the titles that begin there.

        The sums are over the title's terms, the idf over the titles of the document; ``weights``: float64 (t,).
        Returns float64 (pages,), higher is better, 0 for none.
        """
        found = np.zeros(pages)
        titles = self.titles
        named = np.bincount(titles.document_of, titles.lengths > 0, len(self.firsts) - 1).astype(np.int64)
        each = weights * idf_of(named[:, None], titles.holding)
        held = np.bincount(titles.pages, each[titles.documents, titles.terms], len(self.start)).astype(np.float64)
        at = np.flatnonzero(held)
        share = np.minimum(1.0, held[at] / self.whole[at]) ** power
        np.maximum.at(found, self.start[at], held[at] * share)
        return found


class TreeArrays:
    """The section trees of many documents. Documents are numbered as they are added, from 0."""

    def __init__(self) -> None:
        self._titles = FieldArrays()
        self._start, self._end = GrowingArray(np.int64), GrowingArray(np.int64)  # pages of the document, from 0
        self._parent, self._level = GrowingArray(np.int64), GrowingArray(np.int64)
        self._whole = GrowingArray(np.float64)
        self._covering, self._first_covering = GrowingArray(np.int64), GrowingArray(np.int64)
        self._covering_counts = GrowingArray(np.int64)

    def add(self, content: Content) -> None:
        """Append the next document."""
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
        """Those of some documents, int64 (d,), with the terms ``hashes`` of their titles.

        ``first_pages``, int64 (d + 1,), says where each document's pages begin.
        """
        titles = self._titles.postings(documents, hashes)
        rows, own = self._titles.rows(documents), titles.document_of
        parent = self._parent.values[rows]
        parent = np.where(parent < 0, len(rows) + own, parent + titles.firsts[own])
        start, end = self._start.values[rows] + first_pages[own], self._end.values[rows] + first_pages[own]
        return Trees(start, end, parent, self._level.values[rows], titles.firsts, self._whole.values[rows], titles)

    def covering(self, pages: Ints, first_sections: Ints) -> tuple[Ints, Ints]:
        """The sections that cover some pages, and the row of each one's page, both int64 (c,).

        ``pages``, int64 (n,), are places among the pages of all documents. ``first_sections``, int64 (n,), says where
        the sections of each page's document begin.
        """
        counts = self._covering_counts.values[pages]
        row = np.repeat(np.arange(len(pages)), counts)
        sections = self._covering.values[ranges(self._first_covering.values[pages], counts)]
        return np.asarray(sections + first_sections[row]), row
