"""NodeScore and DocScore: hits gathered per section and per document.

NodeScore(n) = Σ s / √(N + 1) over the N hits whose page lies in n's subtree, s being a hit's score
divided by the question's best (PageIndex's document score, applied to every node). Many middling hits
can outweigh one good one, but only by their square root. It grows with N, so it is compared among
siblings only, never between parent and child.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hybrid_core.types.documents import Hit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def gather(scores: Iterable[float]) -> float:
    """Σ s / √(N + 1); 0 for no hits. Higher is better."""
    found = list(scores)
    return sum(found) / float(np.sqrt(len(found) + 1))


def doc_scores(hits: Sequence[Hit]) -> dict[str, float]:
    """DocScore of every document that has a hit."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return {}
    grouped: dict[str, list[float]] = {}
    for hit in hits:
        grouped.setdefault(hit.doc_id, []).append(hit.score / best)
    return {doc_id: gather(scores) for doc_id, scores in grouped.items()}


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
