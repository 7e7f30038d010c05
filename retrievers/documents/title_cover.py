"""Sections whose title the question covers: «governing law» asks for the section «Governing Law», while one word of a
long title says little. BM25 over headings cannot tell these, since it adds up words, not what is left of a title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.stored_sections import column
from hybrid_core.text import bm25, tokens
from hybrid_core.text.term_counts import Occurrences, TermCounts
from hybrid_core.types.documents import Section

Floats = npt.NDArray[np.float64]
_READ = ("title", "start_page", "synthetic")


@dataclass(frozen=True, eq=False)
class Titles:
    """The titles of a document's sections. ``terms`` has one row for each title, numbers left out."""

    terms: TermCounts
    pages: npt.NDArray[np.int64]  # (titles,), the page each begins on, 0-based

    @classmethod
    def of(cls, sections: Sequence[Section]) -> Titles:
        rows, pages = list[list[int]](), list[int]()
        for title, page, synthetic in zip(*(column(sections, name) for name in _READ), strict=True):
            words = [] if synthetic else tokens.word_hashes(title)
            if words:
                rows.append(words)
                pages.append(page - 1)
        return cls(_counted(rows), np.array(pages, np.int64))

    @cached_property
    def _whole(self) -> Floats:
        """What a question that holds all of a title's terms has of it: float64 (titles,)."""
        held = np.diff(self.terms.starts)
        each = np.repeat(bm25.idf(self.terms.page_count, held), held)
        return np.asarray(np.bincount(self.terms.pages, each, self.terms.page_count), np.float64)

    def covered(self, query: Mapping[int, float], pages: int, power: float) -> Floats:
        """For each page the best Σ w · idf · (Σ w · idf / Σ idf of all its terms)^power of the titles that begin there,
        the sums over the title's terms in {term hash: weight}: float64 (pages,), higher is better, 0 for none."""
        found = np.zeros(pages)
        titles, told = self._told(query)
        held = np.bincount(titles.pages, told, self.terms.page_count).astype(np.float64)
        at = np.flatnonzero(held)
        np.maximum.at(found, self.pages[at], held[at] * _share(held[at], self._whole[at], power))
        return found

    def adds(self, query: Mapping[int, float], page: int, power: float) -> dict[int, float]:
        """What each term adds to ``covered`` of a page (1-based)."""
        here = np.flatnonzero(self.pages == page - 1).tolist()
        if not here:
            return {}
        titles, told = self._told(query)
        terms = list(query)
        best: dict[int, float] = {}
        for title in here:
            at = np.flatnonzero(titles.pages == title)
            held = {terms[n]: add for n, add in zip(titles.terms[at].tolist(), told[at].tolist(), strict=True)}
            share = float(_share(sum(held.values()), self._whole[title], power))
            adds = {term: weight * share for term, weight in held.items()}
            best = max(best, adds, key=lambda terms: sum(terms.values()))
        return best

    def _told(self, query: Mapping[int, float]) -> tuple[Occurrences, Floats]:
        """The titles that hold the terms, and what each term tells there."""
        found = self.terms.occurrences(query)
        weights = np.fromiter(query.values(), np.float64, len(query))
        return found, (weights * bm25.idf(self.terms.page_count, found.holding))[found.terms]


def _counted(rows: Sequence[Sequence[int]]) -> TermCounts:
    """The same as ``TermCounts.build`` of each row counted, with the number of its different terms as its length."""
    sizes = [len(row) for row in rows]
    titles = np.repeat(np.arange(len(rows), dtype=np.uint64), sizes)
    words = np.fromiter(chain.from_iterable(rows), np.uint64, sum(sizes))
    both, counts = np.unique(words << np.uint64(32) | titles, return_counts=True)
    terms, starts = np.unique((both >> np.uint64(32)).astype(np.uint32), return_index=True)
    titles = both.astype(np.uint32)  # its lower half
    return TermCounts(
        terms, np.append(starts, len(both)).astype(np.int64), titles, np.minimum(counts, 255).astype(np.uint16),
        np.bincount(titles, minlength=len(rows)).astype(np.uint32),
    )  # fmt: skip


def _share(held: Floats | float, whole: Floats, power: float) -> Floats:
    """Of a title's words how much the question holds, to that power: a half-covered title counts less than half."""
    return np.asarray(np.minimum(1.0, held / whole) ** power)
