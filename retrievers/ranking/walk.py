"""What the pages of a document are worth, what adds up to it, and in which order pages are visited.

``best_first`` sorts the pages of all documents by value. ``walk`` goes down their section trees, where somebody asks
for its trace: a node's promise is the best value of any page in its subtree, so that a best-first walk opens only
sections that lead to a page it returns, and reaches the pages in the order of their values.

Pages that hold nothing of what a question asks for, but words of how it asks, come last. "Mark the passages of this
lease about subletting that we ought to check" searches for subletting; where that reaches fewer pages than are wanted,
pages that speak of leases and checks are likelier than none.
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
        """Return what was added to a page (1-based) under this name, None where nothing was looked at."""
        gains = self.contributions.get(name)
        value = None if gains is None else float(gains[page - 1])
        return None if value is None or isnan(value) else value

    def parts(self, page: int) -> float:
        """Return all that was added to a page, also where nothing speaks for it."""
        return sum(self.part(name, page) or 0.0 for name in self.contributions)

    def plus(self, name: str, gains: Mapping[int, float]) -> PageScores:
        """Add gains by page (1-based) under a name; a page that had no value gets its other parts too."""
        values = self.values.copy()
        gains_before = self.contributions.get(name)
        added = np.full(len(values), np.nan) if gains_before is None else gains_before.copy()
        for page, gain in gains.items():
            values[page - 1] = (float(values[page - 1]) or self.parts(page)) + gain
            before = added[page - 1]
            added[page - 1] = gain if isnan(before) else before + gain
        return replace(self, values=values, contributions={**self.contributions, name: added})

    def times(self, share: float) -> PageScores:
        """Return the scores with all values and their parts multiplied."""
        if share == 1.0:
            return self
        parts = {name: part * share for name, part in self.contributions.items()}
        return replace(self, values=self.values * share, contributions=parts)


def gained(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], name: str, gains: Mapping[Place, float]
) -> tuple[list[PageVisit], list[PageScores]]:
    """Return the pages sorted by their values with these gains, whose name is ``name``; equal ones keep their order."""
    by_document: dict[int, dict[int, float]] = {}
    for (doc, page), gain in gains.items():
        by_document.setdefault(doc, {})[page] = gain
    after = [pages.plus(name, by_document[doc]) if doc in by_document else pages for doc, pages in enumerate(scores)]
    return sorted(visits, key=lambda visit: -after[visit.doc].values[visit.page - 1]), after


def best_pages(values: Floats, section: Section) -> tuple[int, ...]:
    """Return the numbers of a section's pages with the highest values, float64 (pages of the document,); 0 is none."""
    pages = range(section.start_page, section.end_page + 1)
    best = sorted((p for p in pages if values[p - 1] > 0), key=lambda p: (-values[p - 1], p))
    return tuple(best[:_BEST_PAGES])


Tree = tuple[Content, Floats]  # with the value of every page, float64 (pages,), 0 for no match


@dataclass(slots=True)
class WalkTrace:
    """Keeps what a walk did, as (document, section) indices: sections that came up, and those it opened; in order."""

    seen: list[tuple[int, int]] = field(default_factory=list)
    opened: list[tuple[int, int]] = field(default_factory=list)


def best_first(values: Sequence[Floats], limit: int) -> list[PageVisit]:
    """Return the ``limit`` pages of highest value, best first, equal ones by document and page.

    ``values`` are by document, float64 (pages,), 0 for no match. A smaller limit gives the beginning of the same list.
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
    """Walk down the trees to the pages of ``best_first``, and return them with what the walk did."""
    steps = WalkTrace()
    queue: list[tuple[float, int, int, int, int]] = []  # (-promise, document, page or 0, section, tie)
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
    """Return the best value of each section's pages."""
    starts, ends = content.spans
    if not len(starts):
        return []
    values = np.append(values, 0.0)  # an end may lie behind the last page
    best: list[float] = np.maximum.reduceat(values, np.stack([starts, ends], axis=1).ravel())[::2].tolist()
    return best


INSTRUCTION = "instruction"


def remaining_pages(
    question: Question, visits: Sequence[PageVisit], pages: Sequence[PageScores], limit: int, scoring: PageScoring
) -> tuple[list[PageVisit], Mapping[Place, float]]:
    """Return visits to fill up to ``limit``, best first, and what is added to each page.

    The pages are worth less than any visited one, whatever their documents and sections are worth. Return nothing where
    the question instructs nobody.
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


def beginnings(pages: Sequence[PageScores]) -> list[PageVisit]:
    """Return the first pages of the documents that the question's words name at least in part, best first.

    A word that stands only in what a document is called, by hand or by its file, leads to its beginning.
    """
    routing = [document.candidate.routing for document in pages]
    named = [(-score, doc) for doc, score in enumerate(routing) if score > 0]
    return [PageVisit(doc, 1) for _, doc in sorted(named)]
