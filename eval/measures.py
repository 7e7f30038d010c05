"""Retrieval measures on pages and documents. A question without results scores zero; it is never dropped."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

T = TypeVar("T")


def hit_at(k: int, ranked: Sequence[T], relevant: Collection[T]) -> float:
    """1.0 where one of the first k is relevant, else 0.0 (success@k)."""
    return float(any(item in relevant for item in ranked[:k]))


def reciprocal_rank(ranked: Sequence[T], relevant: Collection[T]) -> float:
    """1 / the rank of the first relevant item; 0.0 where there is none."""
    return next((1 / rank for rank, item in enumerate(ranked, 1) if item in relevant), 0.0)


def mean(values: Sequence[float]) -> float:
    """0.0 for nothing."""
    return sum(values) / len(values) if values else 0.0
