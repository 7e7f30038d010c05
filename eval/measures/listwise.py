"""Learn the weights of a linear ranker from questions, by the listwise softmax loss. Numpy alone, and deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
L2 = 0.1
STEPS = 150
KEEP = 110
"""Candidates of one question to learn from at most."""
_GOLD = 20  # of these that may be right
_RATE, _LATE_RATE, _LATE = 0.08, 0.02, 0.6  # Adam's step; the smaller one after this share of the steps
_MOMENTUM, _SPREAD = 0.9, 0.98  # Adam's two decays
_TINY = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class RankedList:
    """The candidates of one question. values: float32 (n, f). gold: bool (n,), which of them are right."""

    values: npt.NDArray[np.float32]
    gold: npt.NDArray[np.bool_]

    @property
    def teaches(self) -> bool:
        """Return whether some candidates are right and some are not."""
        return bool(self.gold.any() and not self.gold.all())


def learn(
    sets: Sequence[Sequence[RankedList]], *, l2: float = L2, prior: Floats | None = None, steps: int = STEPS
) -> Floats:
    """Return the weights, float64 (f,), of the least mean of −ln Σ_gold softmax(values · weights).

    Each set counts the same, and so does each question of a set (the top-one probability of ListNet, Cao et al. 2007,
    summed over the right candidates). ``l2`` · |weights − prior|² / 2 is added, for weights of standardised columns;
    ``prior`` is 0 unless given. A column that never differs between two candidates of a question keeps the prior's
    weight. Raises ValueError where no question teaches.
    """
    taught = [[question for question in questions if question.teaches] for questions in sets]
    lists = [question for questions in taught for question in questions]
    if not lists:
        raise ValueError("no question has both right and wrong candidates")
    shares = np.concatenate([np.full(len(questions), 1 / len(questions)) for questions in taught if questions])
    shares /= shares.sum()
    values = np.concatenate([question.values for question in lists])
    each = np.concatenate([np.full(len(q.gold), share / len(q.gold)) for q, share in zip(lists, shares, strict=True)])
    middle = each @ values
    spread = np.sqrt(each @ (values - middle) ** 2) + 1e-6
    values = ((values - middle) / spread).astype(np.float32)
    slope = _Slope(values, np.concatenate([question.gold for question in lists]), lists, shares)
    learnable = np.logical_or.reduce([np.ptp(question.values, axis=0) > 0 for question in lists])
    start = np.zeros(values.shape[1]) if prior is None else np.asarray(prior, np.float64) * spread
    weights, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, steps + 1):
        gradient = (slope(weights) + l2 * (weights - start)) * learnable
        mean = _MOMENTUM * mean + (1 - _MOMENTUM) * gradient
        square = _SPREAD * square + (1 - _SPREAD) * gradient**2
        rate = _LATE_RATE if step > steps * _LATE else _RATE
        weights -= rate * (mean / (1 - _MOMENTUM**step)) / (np.sqrt(square / (1 - _SPREAD**step)) + 1e-9)
    return np.asarray(weights / spread)


class _Slope:
    """The gradient of the loss over all candidates, whose questions follow each other."""

    def __init__(
        self,
        values: npt.NDArray[np.float32],
        gold: npt.NDArray[np.bool_],
        lists: Sequence[RankedList],
        shares: Floats,
    ) -> None:
        sizes = np.array([len(question.gold) for question in lists])
        self._values, self._gold = values, gold
        self._starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        self._question = np.repeat(np.arange(len(lists)), sizes)
        self._shares = shares[self._question]

    def __call__(self, weights: Floats) -> Floats:
        scores = (self._values @ weights.astype(np.float32)).astype(np.float64)
        scores -= np.maximum.reduceat(scores, self._starts)[self._question]
        shares = np.exp(scores)
        right = shares * self._gold
        shares /= np.add.reduceat(shares, self._starts)[self._question]
        right /= np.maximum(np.add.reduceat(right, self._starts), _TINY)[self._question]
        return np.asarray((((shares - right) * self._shares).astype(np.float32) @ self._values), np.float64)


def prune(columns: npt.NDArray[np.float32], gold: npt.NDArray[np.bool_], keep: int = KEEP) -> npt.NDArray[np.int64]:
    """Return the rows to learn from, ascending: the right ones and those that are high in a column.

    columns: float32 (n, c), higher is better. At most ``keep`` rows, of which 20 are right ones for sure.
    """
    rank = np.full(len(gold), len(gold))
    for column in columns.T:
        order = np.argsort(-column, kind="stable")
        rank[order] = np.minimum(rank[order], np.arange(len(order)))
    rows = np.flatnonzero(gold | (rank < keep // 3))
    if len(rows) > keep:
        best = rows[np.argsort(rank[rows], kind="stable")][: keep - _GOLD]
        rows = np.union1d(np.flatnonzero(gold)[:_GOLD], best)
    return rows.astype(np.int64)


def first_gold(scores: npt.NDArray[np.floating], gold: npt.NDArray[np.bool_]) -> int:
    """Return the rank from 1 of the best right candidate, 0 where there is none. Equal scores keep their order."""
    order = np.argsort(-scores, kind="stable")
    places = np.flatnonzero(gold[order])
    return int(places[0]) + 1 if len(places) else 0
