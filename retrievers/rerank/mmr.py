"""Maximal marginal relevance (Carbonell & Goldstein 1998): results that answer, and are not all the same.

Picks one after another the item with the highest lam · relevance - (1 - lam) · (its greatest similarity to
what is picked already).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

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
