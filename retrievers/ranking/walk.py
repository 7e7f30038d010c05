"""Scores of pages, their contributions, and the order of pages.

``best_first`` sorts the pages of all documents by score. ``walk`` finds the same pages through the section trees, for a
trace. Sections are opened in the order of the best score of their pages, so only sections that lead to a result are
opened.

Pages that match only instruction words come last. "Mark the passages of this lease about subletting that we ought to
check" searches for subletting. If too few pages match, pages about leases and checks are added.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np
import numpy.typing as npt

from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.documents import Section
from hybrid_core.types.scoring import PageScoring
from retrievers.candidates.documents import CandidateDocument
from retrievers.features.pages import PageQuery, page_scores
from retrievers.query.question import Question
from retrievers.trees.content import Content
from retrievers.trees.postings import offsets

Floats = npt.NDArray[np.float64]
_BEST_PAGES = 3  # best pages of a section
PageRef = tuple[int, int]  # (index of the document, page), or (index of the document, index of the section)


@dataclass(frozen=True, slots=True)
class PageVisit:
    """A page in the ranking. ``doc`` is the index of its document, and ``page`` counts from 1."""

    doc: int
    page: int


@dataclass(frozen=True, slots=True, eq=False)
class DocumentScores:
    """The scores (``values``) of a document's pages: float64 (pages,), 0 for pages without a match.

    Higher is better. ``contributions`` are the parts of the scores by name, NaN if a part was not computed. ``nodes``
    is the NodeScore of each section, float64 (sections,). ``query`` contains the scored terms. ``signals`` are further
    measurements by name and page.
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
        """Return the contribution ``name`` to the score of a page (from 1), None if it was not computed."""
        gains = self.contributions.get(name)
        value = None if gains is None else float(gains[page - 1])
        return None if value is None or isnan(value) else value

    def parts(self, page: int) -> float:
        """Return the sum of all contributions to a page (from 1). It may exceed 0 for a page with score 0."""
        return sum(self.part(name, page) or 0.0 for name in self.contributions)

    def plus(self, name: str, gains: Mapping[int, float]) -> DocumentScores:
        """Return the scores with ``gains`` by page (from 1) added. They are recorded under ``name``.

        A page with score 0 first gets the sum of its earlier contributions.
        """
        values = self.values.copy()
        gains_before = self.contributions.get(name)
        added = np.full(len(values), np.nan) if gains_before is None else gains_before.copy()
        for page, gain in gains.items():
            values[page - 1] = (float(values[page - 1]) or self.parts(page)) + gain
            before = added[page - 1]
            added[page - 1] = gain if isnan(before) else before + gain
        return replace(self, values=values, contributions={**self.contributions, name: added})

    def times(self, share: float) -> DocumentScores:
        """Return the scores and their contributions, multiplied by ``share``."""
        if share == 1.0:
            return self
        parts = {name: part * share for name, part in self.contributions.items()}
        return replace(self, values=self.values * share, contributions=parts)


def gained(
    visits: Sequence[PageVisit], scores: Sequence[DocumentScores], name: str, gains: Mapping[PageRef, float]
) -> tuple[list[PageVisit], list[DocumentScores]]:
    """Add ``gains`` to the scores of pages, and sort the pages again.

    The gains are recorded under ``name``. Return the sorted pages and the new scores. Pages with equal scores keep
    their order.
    """
    by_document: dict[int, dict[int, float]] = {}
    for (doc, page), gain in gains.items():
        by_document.setdefault(doc, {})[page] = gain
    after = [pages.plus(name, by_document[doc]) if doc in by_document else pages for doc, pages in enumerate(scores)]
    return sorted(visits, key=lambda visit: -after[visit.doc].values[visit.page - 1]), after


def best_pages(values: Floats, section: Section) -> tuple[int, ...]:
    """Return the pages of a section with the highest values, best first, at most ``_BEST_PAGES``.

    Pages of value 0 are left out.
    """
    pages = range(section.start_page, section.end_page + 1)
    best = sorted((p for p in pages if values[p - 1] > 0), key=lambda p: (-values[p - 1], p))
    return tuple(best[:_BEST_PAGES])


Tree = tuple[Content, Floats]  # with the value of every page, float64 (pages,), 0 without a match


@dataclass(slots=True)
class WalkTrace:
    """The record of a walk through the section trees.

    It lists the sections that were considered and opened, in order, as (document, section) indices.
    """

    seen: list[tuple[int, int]] = field(default_factory=list)
    opened: list[tuple[int, int]] = field(default_factory=list)


def best_first(values: Sequence[Floats], limit: int) -> list[PageVisit]:
    """Return the ``limit`` pages with the highest values, best first; ties by document and page.

    ``values`` has an array for each document, float64 (pages,), 0 for no match. A smaller limit returns the beginning
    of the same list.
    """
    firsts = offsets(np.array([len(pages) for pages in values], np.int64))
    joined = np.concatenate([np.zeros(0), *values])
    rows = np.flatnonzero(joined > 0)
    if 0 < limit < len(rows):
        lowest = np.partition(joined[rows], -limit)[-limit]
        rows = rows[joined[rows] >= lowest]
    order = rows[np.argsort(-joined[rows], kind="stable")][: max(0, limit)]
    docs = firsts.searchsorted(order, "right") - 1
    return [PageVisit(doc, page) for doc, page in zip(docs.tolist(), (order - firsts[docs] + 1).tolist(), strict=True)]


def walk(trees: Sequence[Tree], limit: int) -> tuple[list[PageVisit], WalkTrace]:
    """Find the pages of ``best_first`` through the section trees.

    Return these pages and a record of the walk.
    """
    steps = WalkTrace()
    queue: list[tuple[float, int, int, int, int]] = []  # (-best value, document, page or 0, section, tie)
    promised = [_promises(content, values) for content, values in trees]

    def push(doc: int, at: int) -> None:
        if promised[doc][at] > 0:
            heapq.heappush(queue, (-promised[doc][at], doc, 0, at, len(queue)))
            steps.seen.append((doc, at))

    for doc, (content, _) in enumerate(trees):
        for top in content.children[-1]:
            push(doc, top)
    reached: dict[tuple[int, int], PageVisit] = {}
    while queue and len(reached) < limit:
        _, doc, page, at, _ = heapq.heappop(queue)
        if page:
            reached.setdefault((doc, page), PageVisit(doc, page))
            continue
        steps.opened.append((doc, at))
        content, values = trees[doc]
        children = content.children[at]
        for child in children:
            push(doc, child)
        starts, ends = content.spans
        last = int(starts[children[0]]) + 1 if children else int(ends[at])
        for number in range(int(starts[at]) + 1, last + 1):
            if values[number - 1] > 0:
                heapq.heappush(queue, (-float(values[number - 1]), doc, number, at, len(queue)))
    return list(reached.values()), steps


def _promises(content: Content, values: Floats) -> list[float]:
    """Return the highest value of any page in each section. Sections are opened in this order."""
    starts, ends = content.spans
    if not len(starts):
        return []
    values = np.append(values, 0.0)  # an end may be after the last page
    best: list[float] = np.maximum.reduceat(values, np.stack([starts, ends], axis=1).ravel())[::2].tolist()
    return best


INSTRUCTION = "instruction"


def remaining_pages(
    question: Question, visits: Sequence[PageVisit], pages: Sequence[DocumentScores], limit: int, scoring: PageScoring
) -> tuple[list[PageVisit], Mapping[PageRef, float]]:
    """Return pages that match only instruction words, best first, and the score gain of each.

    They fill a ranking up to ``limit`` pages and rank below every visited page. Return nothing if the question contains
    no instruction words.
    """
    words = set(tokenise(question.text)).difference(question.terms)
    if len(visits) >= limit or not words or not pages:
        return [], {}
    query = {cached_hash(word): 1.0 for word in words}
    seen = {(visit.doc, visit.page) for visit in visits}
    rows: list[tuple[float, int, int]] = []
    for doc, scores in enumerate(pages):
        values = page_scores(scores.content, query, scoring)
        pages_held = (np.flatnonzero(values) + 1).tolist()
        rows += [(float(values[page - 1]), doc, page) for page in pages_held if (doc, page) not in seen]
    best = sorted(rows, key=lambda row: (-row[0], row[1], row[2]))[: limit - len(visits)]
    if not best:
        return [], {}
    lowest = min((float(pages[visit.doc].values[visit.page - 1]) for visit in visits), default=1.0)
    worth = {(doc, page): 0.5 * lowest * value / best[0][0] - pages[doc].parts(page) for value, doc, page in best}
    return [PageVisit(doc, page) for _, doc, page in best], worth


def beginnings(pages: Sequence[DocumentScores]) -> list[PageVisit]:
    """Return the first pages of documents whose names match the question at least partly, best first.

    Names are those on cards, in file names, and set by users.
    """
    routing = [document.candidate.routing for document in pages]
    named = [(-score, doc) for doc, score in enumerate(routing) if score > 0]
    return [PageVisit(doc, 1) for _, doc in sorted(named)]
