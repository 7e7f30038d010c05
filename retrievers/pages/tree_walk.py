"""The deterministic reasoning pass: a best-first walk over the section trees of the chosen documents.

A node's promise is the best value of any page in its subtree, so the walk opens only sections that lead
to a page it returns, and the pages come out best first. A page's value is its own score plus what its
section's place earns: along the path from the top, each section's NodeScore relative to its best sibling.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from retrievers.pages.content import Content

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Walkable:
    """One document before the walk; ``values`` is float64 (pages,), higher is better, 0 for no match."""

    content: Content
    values: Floats


@dataclass(frozen=True, slots=True)
class Reached:
    """A page the walk returns; ``doc`` is the number of its document."""

    doc: int
    page: int
    opened: int  # sections opened before this page came up


@dataclass(slots=True)
class Steps:
    """What a walk did, as (document, section) indices: the sections that came up, and those it opened; in order."""

    seen: list[tuple[int, int]] = field(default_factory=list)
    opened: list[tuple[int, int]] = field(default_factory=list)


def path_shares(content: Content, nodes: Floats) -> Floats:
    """How well each section stands among its siblings, averaged along its path: float64 (sections,), 0 to 1."""
    parents = content.parents
    best = np.zeros(len(nodes) + 1)  # of each section's children; the last are the top sections
    np.maximum.at(best, parents, nodes)
    beside = best[parents]
    own = np.divide(nodes, beside, out=np.zeros(len(nodes)), where=beside > 0)
    along = own.copy()
    for level in content.levels[1:]:
        along[level] += along[parents[level]]
    depth = np.zeros(len(nodes))
    for number, level in enumerate(content.levels, 1):
        depth[level] = number
    return np.asarray(along / depth)


def page_structure(content: Content, shares: Floats) -> Floats:
    """Each page's best section share: float64 (pages,)."""
    sections, begins = content.covering
    if not len(begins):
        return np.zeros(0)
    return np.asarray(np.maximum.reduceat(shares[sections], begins))


def walk(documents: Sequence[Walkable], limit: int, steps: Steps | None = None) -> list[Reached]:
    """The ``limit`` pages of highest value, best first; a smaller limit gives the beginning of the same list.

    ``steps``, where given, is filled with what the walk does.
    """
    queue: list[tuple[float, int, int, int, int]] = []  # (-promise, document, page or 0, section, tie)
    promised = [_promises(document) for document in documents]
    for doc, document in enumerate(documents):
        for top in document.content.children[-1]:
            _push(queue, promised[doc][top], doc, top, steps)
    reached: list[Reached] = []
    seen: set[tuple[int, int]] = set()
    opened = 0
    while queue and len(reached) < limit:
        promise, doc, page, at, _ = heapq.heappop(queue)
        if promise >= 0:
            break
        if page:
            if (doc, page) not in seen:
                seen.add((doc, page))
                reached.append(Reached(doc, page, opened))
            continue
        opened += 1
        if steps is not None:
            steps.opened.append((doc, at))
        document = documents[doc]
        children = document.content.children[at]
        for child in children:
            _push(queue, promised[doc][child], doc, child, steps)
        section = document.content.sections[at]
        last = document.content.sections[children[0]].start_page if children else section.end_page
        for number in range(section.start_page, last + 1):
            value = float(document.values[number - 1])
            if value > 0:
                heapq.heappush(queue, (-value, doc, number, at, len(queue)))
    return reached


def _promises(document: Walkable) -> list[float]:
    """The best value of each section's pages."""
    starts, ends = document.content.spans
    if not len(starts):
        return []
    values = np.append(document.values, 0.0)  # an end may lie behind the last page
    best: list[float] = np.maximum.reduceat(values, np.stack([starts, ends], axis=1).ravel())[::2].tolist()
    return best


def _push(
    queue: list[tuple[float, int, int, int, int]], promise: float, doc: int, at: int, steps: Steps | None
) -> None:
    if promise > 0:
        heapq.heappush(queue, (-promise, doc, 0, at, len(queue)))
        if steps is not None:
            steps.seen.append((doc, at))
