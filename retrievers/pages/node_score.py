"""NodeScore: DocScore applied to every section, and what a section's place earns its pages.

NodeScore(n) = Σ s / √(N + 1) over the N hits whose page lies in n's subtree, s being a hit's score divided by the
question's best. It grows with N, so it is compared among siblings only, never between parent and child.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from retrievers.documents.content import Content

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def node_scores(spans: tuple[Ints, Ints], page_hits: Floats) -> Floats:
    """NodeScore of every section: float64 (sections,).

    ``spans`` holds their first pages (0-based) and end pages (excluded), int64 (sections,) each;
    ``page_hits`` is float64 (pages,): each page's hit score divided by the question's best, 0 where the
    page is no hit.
    """
    start, end = spans
    sums = np.concatenate(([0.0], np.cumsum(page_hits)))
    numbers = np.concatenate(([0], np.cumsum(page_hits > 0)))
    return np.asarray((sums[end] - sums[start]) / np.sqrt(numbers[end] - numbers[start] + 1.0))


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
