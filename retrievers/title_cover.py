"""Sections whose title the question covers: «governing law» asks for the section «Governing Law», while one word of a
long title says little. BM25 over headings cannot tell these, since it adds up words, not what is left of a title."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_core import bm25, text
from hybrid_core.term_counts import TermCounts
from hybrid_core.types import Section

Floats = npt.NDArray[np.float64]

_POWER = 3  # of the share covered: a half-covered title counts an eighth


@dataclass(frozen=True, eq=False)
class Titles:
    """The titles of a document's sections. ``terms`` has one row for each title, numbers left out."""

    terms: TermCounts
    pages: npt.NDArray[np.int64]  # (titles,), the page each begins on, 0-based

    @classmethod
    def of(cls, sections: Sequence[Section]) -> Titles:
        rows, pages = [], []
        for section in sections:
            counted = text.counts(term for term in text.tokenise(section.title) if not text.is_number(term))
            if counted and not section.synthetic:
                rows.append(counted)
                pages.append(section.start_page - 1)
        return cls(TermCounts.build(rows, [len(row) for row in rows]), np.array(pages, np.int64))

    @cached_property
    def _rarity(self) -> Floats:
        """idf among the titles of each of their terms: float64 (terms,)."""
        titles = self.terms.page_count
        return np.array([bm25.idf(titles, held) for held in np.diff(self.terms.starts).tolist()], np.float64)

    @cached_property
    def _whole(self) -> Floats:
        """What a question that holds all of a title's terms has of it: float64 (titles,)."""
        each = np.repeat(self._rarity, np.diff(self.terms.starts))
        return np.asarray(np.bincount(self.terms.pages, each, self.terms.page_count), np.float64)

    def covered(self, query: Mapping[int, float], pages: int) -> Floats:
        """For each page the best Σ w · idf · (Σ w · idf / Σ idf of all its terms)³ of the titles that begin there, the
        sums over the title's terms in {term hash: weight}: float64 (pages,), higher is better, 0 for none."""
        found = np.zeros(pages)
        held = np.zeros(self.terms.page_count)
        for term, weight in query.items():
            held[self.terms.postings(term)[0]] += weight * self._idf(term)
        at = np.flatnonzero(held)
        np.maximum.at(found, self.pages[at], held[at] * self._share(held, at))
        return found

    def adds(self, query: Mapping[int, float], page: int) -> dict[int, float]:
        """What each term adds to ``covered`` of a page (1-based)."""
        here = np.flatnonzero(self.pages == page - 1).tolist()
        weights: dict[int, dict[int, float]] = {title: {} for title in here}
        for term, weight in query.items() if here else ():
            for title in self.terms.postings(term)[0].tolist():
                if title in weights:
                    weights[title][term] = weight * self._idf(term)
        best: dict[int, float] = {}
        for title, held in weights.items():
            share = min(1.0, sum(held.values()) / float(self._whole[title])) ** _POWER
            adds = {term: weight * share for term, weight in held.items()}
            best = max(best, adds, key=lambda terms: sum(terms.values()))
        return best

    def _idf(self, term: int) -> float:
        at = int(self.terms.terms.searchsorted(np.uint32(term)))
        return float(self._rarity[at]) if at < len(self.terms.terms) and self.terms.terms[at] == term else 0.0

    def _share(self, held: Floats, at: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(np.minimum(1.0, held[at] / self._whole[at]) ** _POWER)
