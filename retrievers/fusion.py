"""Several scorings of the same things added up.

Weighted sums of normalised scores, not reciprocal ranks: ranks forget by how much one thing is better, and
rankers of unequal strength then hurt (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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


def ranked(scores: Mapping[K, float]) -> list[K]:
    """Keys by falling score; ties in the order of the keys' text, so that an answer can be repeated."""
    return sorted(scores, key=lambda key: (-scores[key], str(key)))
