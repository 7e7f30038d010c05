"""The pages of the chosen documents, best first, and the walk down their section trees that leads to them.

A node's promise is the best value of any page in its subtree. A best-first walk therefore opens only sections that lead
to a page it returns, and reaches the pages in the order of their values. A search sorts them; the walk is made where
somebody asks for its trace.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from retrievers.documents.content import Content
from retrievers.documents.postings import offsets
from retrievers.pages.scores import PageVisit

Floats = npt.NDArray[np.float64]
Tree = tuple[Content, Floats]  # with the value of every page, float64 (pages,), 0 for no match


@dataclass(slots=True)
class WalkTrace:
    """What a walk did, as (document, section) indices: the sections that came up, and those it opened; in order."""

    seen: list[tuple[int, int]] = field(default_factory=list)
    opened: list[tuple[int, int]] = field(default_factory=list)


def best_first(values: Sequence[Floats], limit: int) -> list[PageVisit]:
    """Return the ``limit`` pages of highest value, best first, equal ones by document and page.

    ``values`` are by document, float64 (pages,), 0 for no match. A smaller limit gives the beginning of the same list.
    """
    firsts = offsets(np.array([len(one) for one in values], np.int64))
    together = np.concatenate([np.zeros(0), *values])
    found = np.flatnonzero(together > 0)
    if 0 < limit < len(found):
        least = np.partition(together[found], -limit)[-limit]
        found = found[together[found] >= least]
    order = found[np.argsort(-together[found], kind="stable")][: max(0, limit)]
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
    """The best value of each section's pages."""
    starts, ends = content.spans
    if not len(starts):
        return []
    values = np.append(values, 0.0)  # an end may lie behind the last page
    best: list[float] = np.maximum.reduceat(values, np.stack([starts, ends], axis=1).ravel())[::2].tolist()
    return best
