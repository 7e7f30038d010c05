"""Several scorings of the same things added up: weighted sums of their scores, or of their reciprocal ranks.

Sums of scores are what a search uses unless it is told otherwise: ranks forget by how much one thing is better,
and rankers of unequal strength then hurt (docs/lab/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from heapq import nlargest
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def normalised(scores: Mapping[K, float]) -> dict[K, float]:
    """Scores divided by the best: 0 to 1. All 0 where none is above 0."""
    best = max(scores.values(), default=0.0)
    return {key: max(score, 0.0) / best if best > 0 else 0.0 for key, score in scores.items()}


def weighted(parts: Sequence[tuple[float, Mapping[K, float]]]) -> dict[K, float]:
    """Σ weight · score over the parts; what a part does not name has 0 there. Higher is better."""
    total: dict[K, float] = {}
    for weight, scores in parts:
        for key, score in scores.items():
            total[key] = total.get(key, 0.0) + weight * score
    return total


def reciprocal_ranks(parts: Sequence[Mapping[K, float]], k: float) -> dict[K, float]:
    """Reciprocal Rank Fusion, Σ 1/(k + rank) over the parts, ranks from 1 (Cormack, Clarke and Büttcher 2009).

    What a part does not name, or scores 0, has no rank there. Higher is better.
    """
    total: dict[K, float] = {}
    for scores in parts:
        for rank, key in enumerate(ranked({key: score for key, score in scores.items() if score > 0}), 1):
            total[key] = total.get(key, 0.0) + 1 / (k + rank)
    return total


def ranked(scores: Mapping[K, float], most: int | None = None) -> list[K]:
    """Keys by falling score, all or the first ones; ties in the order of the keys' text, so that an answer can be
    repeated."""
    if most is not None and most < len(scores):
        least = nlargest(most, scores.values())[-1]
        scores = {key: score for key, score in scores.items() if score >= least}
    return sorted(scores, key=lambda key: (-scores[key], str(key)))[:most]
