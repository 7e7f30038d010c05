"""The pages of a document that is looked into: what each is worth, and what adds up to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np
import numpy.typing as npt

from hybrid_core.types.documents import Section
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import Content
from retrievers.pages.page_score import PageQuery

Floats = npt.NDArray[np.float64]
_BEST_PAGES = 3  # of a section
Place = tuple[int, int]  # (number of the document, page), or (number of the document, index of the section)


@dataclass(frozen=True, slots=True)
class PageVisit:
    """A page in the order of a search; ``doc`` is the number of its document."""

    doc: int
    page: int


@dataclass(frozen=True, slots=True, eq=False)
class PageScores:
    """``values`` is float64 (pages,), higher is better, 0 for a page that nothing speaks for.

    ``contributions`` are of the same shape, by the name of what added them, NaN on pages that it did not look at: on
    every page with a value they add up to it. ``nodes`` is the NodeScore of every section, float64 (sections,).
    ``query`` is what the pages were scored by; ``signals`` are by name and page what else is known of some of them.
    """

    candidate: CandidateDocument
    values: Floats
    nodes: Floats
    contributions: Mapping[str, Floats]
    query: PageQuery = PageQuery({})
    signals: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @property
    def content(self) -> Content:
        return self.candidate.content

    def part(self, name: str, page: int) -> float | None:
        """What was added to a page (1-based) under this name, None where nothing was looked at."""
        held = self.contributions.get(name)
        value = None if held is None else float(held[page - 1])
        return None if value is None or isnan(value) else value

    def parts(self, page: int) -> float:
        """All that was added to a page, also where nothing speaks for it."""
        return sum(self.part(name, page) or 0.0 for name in self.contributions)

    def plus(self, name: str, gains: Mapping[int, float]) -> PageScores:
        """With gains by page (1-based) under a name; a page that had no value gets its other parts too."""
        values = self.values.copy()
        held = self.contributions.get(name)
        added = np.full(len(values), np.nan) if held is None else held.copy()
        for page, gain in gains.items():
            values[page - 1] = (float(values[page - 1]) or self.parts(page)) + gain
            before = added[page - 1]
            added[page - 1] = gain if isnan(before) else before + gain
        return replace(self, values=values, contributions={**self.contributions, name: added})

    def times(self, share: float) -> PageScores:
        """All values and their parts multiplied."""
        if share == 1.0:
            return self
        parts = {name: part * share for name, part in self.contributions.items()}
        return replace(self, values=self.values * share, contributions=parts)


def gained(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], name: str, gains: Mapping[Place, float]
) -> tuple[list[PageVisit], list[PageScores]]:
    """The pages by their values with these gains, whose name is ``name``; equal ones stay in their order."""
    by_document: dict[int, dict[int, float]] = {}
    for (doc, page), gain in gains.items():
        by_document.setdefault(doc, {})[page] = gain
    after = [one.plus(name, by_document[doc]) if doc in by_document else one for doc, one in enumerate(scores)]
    return sorted(visits, key=lambda one: -after[one.doc].values[one.page - 1]), after


def best_pages(values: Floats, section: Section) -> tuple[int, ...]:
    """The numbers of a section's pages with the highest values, float64 (pages of the document,); 0 is none."""
    pages = range(section.start_page, section.end_page + 1)
    found = sorted((p for p in pages if values[p - 1] > 0), key=lambda p: (-values[p - 1], p))
    return tuple(found[:_BEST_PAGES])
