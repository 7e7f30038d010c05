"""Maximal marginal relevance (Carbonell & Goldstein 1998): results that answer, and are not all the same.

Picks one after another the item with the highest lam · relevance - (1 - lam) · (its greatest similarity to
what is picked already).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hybrid_core.text.term_counts import TermCounts

T = TypeVar("T")


def mmr(items: Sequence[tuple[T, float]], k: int, lam: float, similar: Callable[[T, T], float]) -> list[T]:
    """At most ``k`` of (item, relevance); relevance and similarity between 0 and 1.

    ``lam`` 1 is the order of relevance, 0 looks at difference alone. Ties go to the earlier item.
    """
    if not 0 <= lam <= 1:
        raise ValueError(f"lam is {lam}, it must be between 0 and 1")
    left = list(range(len(items)))
    nearest = [0.0] * len(items)  # greatest similarity to what is picked
    picked: list[int] = []
    while left and len(picked) < k:
        best = max(left, key=lambda at: (lam * items[at][1] - (1 - lam) * nearest[at], -at))
        picked.append(best)
        left.remove(best)
        for at in left:
            nearest[at] = max(nearest[at], similar(items[best][0], items[at][0]))
    return [items[at][0] for at in picked]


def page_vector(counts: TermCounts, page: int) -> dict[int, float]:
    """A page (1-based) as {term hash: 1 + ln tf}, unit length; {} for a page without terms."""
    rows = np.flatnonzero(counts.pages == page - 1)
    terms = counts.terms[np.searchsorted(counts.starts, rows, side="right") - 1]
    weights: npt.NDArray[np.float64] = 1 + np.log(counts.counts[rows].astype(np.float64))
    length = float(np.sqrt((weights**2).sum()))
    return dict(zip(terms.tolist(), (weights / length).tolist(), strict=True)) if length else {}


def cosine(a: dict[int, float], b: dict[int, float]) -> float:
    """Of two unit vectors: 0 to 1."""
    if len(b) < len(a):
        a, b = b, a
    return sum(weight * b.get(term, 0.0) for term, weight in a.items())
