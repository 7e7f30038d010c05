"""The deterministic reasoning pass: a best-first walk over the section trees of the chosen documents.

A node's promise is the best value of any page in its subtree, so the walk opens only sections that lead
to a page it returns, and the pages come out best first. A page's value is its own score plus what its
section's place earns (``node_score``).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from retrievers.documents.content import Content
from retrievers.pages.scores import PageVisit

_LEAST = float(np.nextafter(0.0, 1.0))  # a page is worth something
Floats = npt.NDArray[np.float64]
Tree = tuple[Content, Floats]  # with the value of every page, float64 (pages,), 0 for no match


@dataclass(slots=True)
class WalkTrace:
    """What a walk did, as (document, section) indices: the sections that came up, and those it opened; in order."""

    seen: list[tuple[int, int]] = field(default_factory=list)
    opened: list[tuple[int, int]] = field(default_factory=list)


def walk(trees: Sequence[Tree], limit: int, steps: WalkTrace | None = None) -> list[PageVisit]:
    """The ``limit`` pages of highest value, best first; a smaller limit gives the beginning of the same list.

    ``steps``, where given, is filled with what the walk does; else what is worth less than the last of them is not
    even put in the queue.
    """
    least = _least_reached(trees, limit) if steps is None else _LEAST
    queue: list[tuple[float, int, int, int, int]] = []  # (-promise, document, page or 0, section, tie)
    promised = [_promises(content, values) for content, values in trees]
    valued: list[list[float]] = [values.tolist() for _, values in trees]
    spans = [(content.spans[0].tolist(), content.spans[1].tolist()) for content, _ in trees]
    for doc, (content, _) in enumerate(trees):
        for top in content.children[-1]:
            _push(queue, promised[doc][top], doc, top, least, steps)
    reached: list[PageVisit] = []
    seen: set[tuple[int, int]] = set()
    opened = 0
    while queue and len(reached) < limit:
        promise, doc, page, at, _ = heapq.heappop(queue)
        if promise >= 0:
            break
        if page:
            if (doc, page) not in seen:
                seen.add((doc, page))
                reached.append(PageVisit(doc, page, opened))
            continue
        opened += 1
        if steps is not None:
            steps.opened.append((doc, at))
        content, values = trees[doc][0], valued[doc]
        children = content.children[at]
        for child in children:
            _push(queue, promised[doc][child], doc, child, least, steps)
        starts, ends = spans[doc]
        last = starts[children[0]] + 1 if children else ends[at]
        for number in range(starts[at] + 1, last + 1):
            if values[number - 1] >= least:
                heapq.heappush(queue, (-values[number - 1], doc, number, at, len(queue)))
    return reached


def _least_reached(trees: Sequence[Tree], limit: int) -> float:
    """The value of the last page that is reached: every page lies in its tree, so they come in the order of their
    values."""
    values = np.concatenate([values for _, values in trees]) if trees else np.zeros(0)
    if not 0 < limit < len(values):
        return _LEAST
    return max(float(np.partition(values, -limit)[-limit]), _LEAST)


def _promises(content: Content, values: Floats) -> list[float]:
    """The best value of each section's pages."""
    starts, ends = content.spans
    if not len(starts):
        return []
    values = np.append(values, 0.0)  # an end may lie behind the last page
    best: list[float] = np.maximum.reduceat(values, np.stack([starts, ends], axis=1).ravel())[::2].tolist()
    return best


def _push(
    queue: list[tuple[float, int, int, int, int]],
    promise: float,
    doc: int,
    at: int,
    least: float,
    steps: WalkTrace | None,
) -> None:
    if promise >= least:
        heapq.heappush(queue, (-promise, doc, 0, at, len(queue)))
        if steps is not None:
            steps.seen.append((doc, at))
