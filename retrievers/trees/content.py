"""The content of one document for a search: terms, headings, section tree, and title coverage.

A section is relevant if the question covers its whole title: "governing law" means "Governing Law", while one word of a
long title says little. BM25 over headings cannot express this, because it ignores the uncovered words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.trees import column, terms_of_titles
from hybrid_core.text import bm25
from hybrid_core.text.terms import Occurrences, TermCounts
from hybrid_core.types.documents import Section
from retrievers.query.expert import Pattern

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Titles:
    """The titles of a document's sections. ``terms`` has a row for each; numbers are left out."""

    terms: TermCounts
    pages: npt.NDArray[np.int64]  # (sections,), the page on which each begins, from 0

    @classmethod
    def of(cls, sections: Sequence[Section]) -> Titles:
        return cls(terms_of_titles(sections), np.array(column(sections, "start_page"), np.int64) - 1)

    @cached_property
    def _named(self) -> int:
        """Return how many titles have at least one term."""
        return int(np.count_nonzero(self.terms.lengths))

    @cached_property
    def whole(self) -> Floats:
        """Return the sum of the idf of each title's terms: float64 (titles,)."""
        counts = np.diff(self.terms.starts)
        rarities = np.repeat(bm25.idf(self._named, counts), counts)
        return np.asarray(np.bincount(self.terms.pages, rarities, self.terms.page_count), np.float64)

    def covered(self, query: Mapping[int, float], pages: int, power: float) -> Floats:
        """Return the best value of the titles that begin on each page: float64 (pages,).

        ``query`` maps term hashes to weights w. Let c be Σ w · idf over the title's terms in ``query``. The value of a
        title is c · (c / Σ idf of all its terms)^power, 0 without a match. Higher is better.
        """
        best = np.zeros(pages)
        titles, weights = self._weigh(query)
        sums = np.bincount(titles.pages, weights, self.terms.page_count).astype(np.float64)
        rows = np.flatnonzero(sums)
        np.maximum.at(best, self.pages[rows], sums[rows] * _share(sums[rows], self.whole[rows], power))
        return best

    def adds(self, query: Mapping[int, float], page: int, power: float) -> dict[int, float]:
        """Return the contribution of each term hash to the ``covered`` value of a page (from 1)."""
        rows = np.flatnonzero((self.pages == page - 1) & (self.terms.lengths > 0)).tolist()
        if not rows:
            return {}
        titles, weights = self._weigh(query)
        terms = list(query)
        best: dict[int, float] = {}
        for title in rows:
            at = np.flatnonzero(titles.pages == title)
            worth_of = {terms[n]: add for n, add in zip(titles.terms[at].tolist(), weights[at].tolist(), strict=True)}
            share = float(_share(sum(worth_of.values()), self.whole[title], power))
            adds = {term: weight * share for term, weight in worth_of.items()}
            best = max(best, adds, key=lambda terms: sum(terms.values()))
        return best

    def _weigh(self, query: Mapping[int, float]) -> tuple[Occurrences, Floats]:
        """Find the query's terms in the titles. Return the occurrences, and the weight w · idf of each."""
        occurrences = self.terms.occurrences(query)
        weights = np.fromiter(query.values(), np.float64, len(query))
        return occurrences, (weights * bm25.idf(self._named, occurrences.holding))[occurrences.terms]


def _share(sums: Floats | float, whole: Floats, power: float) -> Floats:
    """Return the covered share of each title raised to ``power``: (sums / whole)^power, at most 1.

    With a power above 1, a half-covered title counts less than half.
    """
    return np.asarray(np.minimum(1.0, sums / whole) ** power)


Ints = npt.NDArray[np.int64]
_SENTENCE, _SMALL = 7, 3  # words from which a title may be a sentence; letters of short words, whose case is ignored


@dataclass(frozen=True, eq=False)
class Content:
    """The terms and section tree of one parsed document, immutable.

    A repair may replace the document under the same content_id.
    """

    content_id: str
    body: TermCounts
    headings: TermCounts
    sections: Sequence[Section]
    children: Children

    @property
    def pages(self) -> int:
        return self.body.page_count

    @cached_property
    def spans(self) -> tuple[Ints, Ints]:
        """Return the first page (from 0) and the end page (excluded) of every section: int64 (sections,) each."""
        return (
            np.array(column(self.sections, "start_page"), np.int64) - 1,
            np.array(column(self.sections, "end_page"), np.int64),
        )

    @cached_property
    def titles(self) -> Titles:
        return Titles.of(self.sections)

    @cached_property
    def leaves(self) -> npt.NDArray[np.bool_]:
        """Return for each section whether it has no subsections: bool (sections,)."""
        leaves = np.ones(len(self.sections), np.bool_)
        parents = np.array(column(self.sections, "parent"), np.int64)
        leaves[parents[parents > 0] - 1] = False
        return leaves

    @cached_property
    def covering(self) -> tuple[Ints, Ints]:
        """Return the sections that cover each page, as two arrays.

        The first lists section indices page by page. The second holds the offset in it at which each page begins.
        """
        start, end = self.spans
        lengths = end - start
        sections = np.repeat(np.arange(len(start)), lengths)
        pages = np.arange(len(sections)) + np.repeat(start - lengths.cumsum() + lengths, lengths)
        order = np.argsort(pages, kind="stable")
        return sections[order], np.searchsorted(pages[order], np.arange(self.pages))

    @cached_property
    def beginnings(self) -> list[tuple[int, bool]]:
        """Return the page (from 1) on which each section begins, and whether it is synthetic (has no heading)."""
        return list(zip(*self._columns("start_page", "synthetic"), strict=True))

    @cached_property
    def headings_at(self) -> dict[int, tuple[int, ...]]:
        """Return the character offsets of headings, by page (from 1)."""
        anchors_at: dict[int, list[int]] = {}
        for page, anchor, synthetic in zip(*self._columns("start_page", "anchor", "synthetic"), strict=True):
            if not synthetic:
                anchors_at.setdefault(page, []).append(anchor)
        return {page: tuple(sorted(anchors)) for page, anchors in anchors_at.items()}

    @cached_property
    def _names(self) -> list[tuple[int, str]]:
        """Return (section index, title) of all headings that are titles and not sentences."""
        titles, synthetic = self._columns("title", "synthetic")
        return [(at, title) for at, title in enumerate(titles) if not synthetic[at] and not _is_sentence(title)]

    @cached_property
    def _titled(self) -> dict[Pattern, tuple[Section, ...]]:
        return {}

    def titled(self, pattern: Pattern) -> tuple[Section, ...]:
        """Return the sections whose titles match a pattern, cached by pattern.

        Titles that are sentences ("… could harm our results of operations") are left out.
        """
        if pattern not in self._titled:
            self._titled[pattern] = tuple(self.sections[at] for at, title in self._names if pattern.search(title))
        return self._titled[pattern]

    @cached_property
    def _vectors(self) -> dict[int, dict[int, float]]:
        return {}

    def vector(self, page: int) -> dict[int, float]:
        """Return the unit vector of a page's terms (page from 1), computed at the first call."""
        if page not in self._vectors:
            self._vectors[page] = page_vector(self.body, page)
        return self._vectors[page]

    def path(self, at: int) -> tuple[int, ...]:
        """Return the indices of the sections from the top of the tree down to section ``at``."""
        path = [at]
        while (parent := self.sections[path[-1]].parent_id) is not None:
            path.append(int(parent) - 1)
        return tuple(reversed(path))

    @cached_property
    def _begins(self) -> list[tuple[int, int]]:
        return list(zip(*self._columns("start_page", "anchor"), strict=True))

    def _columns(self, *names: str) -> list[list[Any]]:
        return [column(self.sections, name) for name in names]

    def section_at(self, page: int, offset: int) -> int:
        """Return the index of the deepest section that contains the character at ``offset`` on a page (from 1)."""
        for at in range(bisect_right(self._begins, (page, offset)) - 1, 0, -1):  # preorder: the last is the deepest
            end = self.sections[at].end_page, self.sections[at].end_anchor
            if end[0] > page or (end[0] == page and (end[1] is None or offset < end[1])):
                return at
        return 0


def _is_sentence(title: str) -> bool:
    """Return whether a title is a sentence: it is long, and most of its longer words begin with a small letter."""
    words = [word for word in title.split() if len(word) > _SMALL]
    return len(words) >= _SENTENCE and 2 * sum(word[0].islower() for word in words) > len(words)


class Children:
    """The indices of the children of each section. Index -1 gives the top sections."""

    def __init__(self, parents: Ints) -> None:
        """Index the children.

        ``parents`` are the parent positions of the sections, from 1, or 0 for top sections: int64 (sections,).
        """
        order = np.argsort(parents, kind="stable")
        self._order: list[int] = order.tolist()
        self._begins: list[int] = np.searchsorted(parents[order], np.arange(len(parents) + 2)).tolist()

    def __getitem__(self, at: int) -> list[int]:
        return self._order[self._begins[at + 1] : self._begins[at + 2]]


def children_of(sections: Sequence[Section]) -> Children:
    return Children(np.array(column(sections, "parent"), np.int64))


def page_vector(counts: TermCounts, page: int) -> dict[int, float]:
    """Return a page (from 1) as {term hash: 1 + ln tf} of unit length; {} for a page without terms."""
    rows = np.flatnonzero(counts.pages == page - 1)
    terms = counts.terms[np.searchsorted(counts.starts, rows, side="right") - 1]
    weights: npt.NDArray[np.float64] = 1 + np.log(counts.counts[rows].astype(np.float64))
    length = float(np.sqrt((weights**2).sum()))
    return dict(zip(terms.tolist(), (weights / length).tolist(), strict=True)) if length else {}


def cosine(a: dict[int, float], b: dict[int, float]) -> float:
    """Return the cosine of two unit vectors with non-negative weights, from 0 to 1."""
    if len(b) < len(a):
        a, b = b, a
    return sum([weight * b[term] for term, weight in a.items() if term in b])
