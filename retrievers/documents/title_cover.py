"""Sections whose title the question covers: «governing law» asks for the section «Governing Law», while one word of a
long title says little. BM25 over headings cannot tell these, since it adds up words, not what is left of a title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.trees import column, terms_of_titles
from hybrid_core.text import bm25
from hybrid_core.text.term_counts import Occurrences, TermCounts
from hybrid_core.types.documents import Section

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Titles:
    """The titles of a document's sections. ``terms`` has a row for each section, numbers left out."""

    terms: TermCounts
    pages: npt.NDArray[np.int64]  # (sections,), the page each begins on, 0-based

    @classmethod
    def of(cls, sections: Sequence[Section]) -> Titles:
        return cls(terms_of_titles(sections), np.array(column(sections, "start_page"), np.int64) - 1)

    @cached_property
    def _named(self) -> int:
        """How many titles there are: a section may have none, or one without words."""
        return int(np.count_nonzero(self.terms.lengths))

    @cached_property
    def whole(self) -> Floats:
        """What a question that holds all of a title's terms has of it: float64 (titles,)."""
        held = np.diff(self.terms.starts)
        each = np.repeat(bm25.idf(self._named, held), held)
        return np.asarray(np.bincount(self.terms.pages, each, self.terms.page_count), np.float64)

    def covered(self, query: Mapping[int, float], pages: int, power: float) -> Floats:
        """For each page the best Σ w · idf · (Σ w · idf / Σ idf of all its terms)^power of the titles that begin there,
        the sums over the title's terms in {term hash: weight}: float64 (pages,), higher is better, 0 for none."""
        found = np.zeros(pages)
        titles, told = self._told(query)
        held = np.bincount(titles.pages, told, self.terms.page_count).astype(np.float64)
        at = np.flatnonzero(held)
        np.maximum.at(found, self.pages[at], held[at] * _share(held[at], self.whole[at], power))
        return found

    def adds(self, query: Mapping[int, float], page: int, power: float) -> dict[int, float]:
        """What each term adds to ``covered`` of a page (1-based)."""
        here = np.flatnonzero((self.pages == page - 1) & (self.terms.lengths > 0)).tolist()
        if not here:
            return {}
        titles, told = self._told(query)
        terms = list(query)
        best: dict[int, float] = {}
        for title in here:
            at = np.flatnonzero(titles.pages == title)
            held = {terms[n]: add for n, add in zip(titles.terms[at].tolist(), told[at].tolist(), strict=True)}
            share = float(_share(sum(held.values()), self.whole[title], power))
            adds = {term: weight * share for term, weight in held.items()}
            best = max(best, adds, key=lambda terms: sum(terms.values()))
        return best

    def _told(self, query: Mapping[int, float]) -> tuple[Occurrences, Floats]:
        """The titles that hold the terms, and what each term tells there."""
        found = self.terms.occurrences(query)
        weights = np.fromiter(query.values(), np.float64, len(query))
        return found, (weights * bm25.idf(self._named, found.holding))[found.terms]


def _share(held: Floats | float, whole: Floats, power: float) -> Floats:
    """Of a title's words how much the question holds, to that power: a half-covered title counts less than half."""
    return np.asarray(np.minimum(1.0, held / whole) ** power)
