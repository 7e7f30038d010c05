"""Deterministic learning in numpy: listwise softmax, gradient boosting and logistic regression.

The boosted trees are oblivious: every level has one split, which is used for all rows (Kohavi and Li 1995). They are
boosted as in CatBoost (Prokhorenkova et al. 2018), on quantiles of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_pageindex.engine.index.formats import BoostedTrees

Floats = npt.NDArray[np.float64]
L2 = 0.1
STEPS = 150
KEEP = 110
"""The maximum number of candidates of one question that are used for learning."""
_GOLD = 20  # maximum right candidates that are always kept
_RATE, _LATE_RATE, _LATE = 0.08, 0.02, 0.6  # Adam's step, and the smaller step after this share of all steps
_MOMENTUM, _SPREAD = 0.9, 0.98  # Adam's decay rates
_TINY = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class RankedList:
    """The candidate pages of one question with their features.

    values: float32 (n, f). gold: bool (n,), whether each candidate is right.
    """

    values: npt.NDArray[np.float32]
    gold: npt.NDArray[np.bool_]

    @property
    def teaches(self) -> bool:
        """Return whether the list contains both right and wrong candidates, so that a model can learn from it."""
        return bool(self.gold.any() and not self.gold.all())


def learn(
    sets: Sequence[Sequence[RankedList]], *, l2: float = L2, prior: Floats | None = None, steps: int = STEPS
) -> Floats:
    """Return the weights, float64 (f,), that minimise the mean of −ln Σ_gold softmax(values · weights).

    Each set has equal weight, and so has each question in a set. The loss is the top-one probability of ListNet (Cao et
    al. 2007), summed over the right candidates. ``l2`` · |weights − prior|² / 2 is added, for weights of standardised
    columns; ``prior`` is 0 by default. A column that is equal for all candidates of each question keeps the prior's
    weight. Raise ValueError if no question has both right and wrong candidates.
    """
    taught = [[question for question in questions if question.teaches] for questions in sets]
    lists = [question for questions in taught for question in questions]
    if not lists:
        raise ValueError("no question has both right and wrong candidate pages")
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
    """The gradient of the loss function over all candidates, which are ordered by question."""

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
    """Return the indexes of the candidates to learn from, ascending.

    They are right candidates, and candidates with a high rank in a column. columns: float32 (n, c), higher is better.
    At most ``keep`` are returned, among them up to 20 right ones.
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
    """Return the rank (from 1) of the best right candidate, 0 if no candidate is right.

    Candidates with equal scores keep their order.
    """
    order = np.argsort(-scores, kind="stable")
    places = np.flatnonzero(gold[order])
    return int(places[0]) + 1 if len(places) else 0


Ints = npt.NDArray[np.int64]
_BINS = 48


@dataclass(frozen=True, slots=True)
class BoostingPlan:
    """Parameters of gradient boosting.

    ``columns`` and ``rows`` are the shares of columns and rows that each tree uses. ``leaf`` is the minimum weight of
    rows on each side of a split. ``l2`` shrinks the values of leaves.
    """

    trees: int = 80
    depth: int = 4
    rate: float = 0.08
    l2: float = 8.0
    leaf: float = 20.0
    columns: float = 0.35
    rows: float = 0.7
    seed: int = 0


def fit_trees(
    values: Floats, right: npt.NDArray[np.bool_], shares: Floats, prior: Floats, plan: BoostingPlan = BoostingPlan()
) -> BoostedTrees:
    """Return boosted trees that, added to ``prior``, estimate the log odds that a row is right.

    The result depends only on rows and seed. values: float64 (rows, features). right: bool (rows,). shares: float64
    (rows,), the weight of each row, 1 on average. prior: float64 (rows,), the log odds without the trees.
    """
    chance = np.random.default_rng(plan.seed)
    rows, features = values.shape
    cuts = [_cuts(values[:, at]) for at in range(features)]
    bins = np.stack([np.searchsorted(cut, values[:, at]) for at, cut in enumerate(cuts)], axis=1).astype(np.int32)
    scores = prior.copy()
    columns = np.zeros((plan.trees, plan.depth), np.int64)
    bounds, leaves = np.zeros((plan.trees, plan.depth)), np.zeros((plan.trees, 2**plan.depth))
    usable = np.array([at for at, cut in enumerate(cuts) if len(cut)])
    for tree in range(plan.trees):
        likely = 1 / (1 + np.exp(-scores))
        slope, curve = (right - likely) * shares, likely * (1 - likely) * shares
        part = np.flatnonzero(chance.random(rows) < plan.rows)
        tried = chance.permutation(usable)[: max(1, round(plan.columns * len(usable)))]
        inside = bins[np.ix_(part, tried)]
        weights = [np.repeat(each[part], len(tried)) for each in (slope, curve, shares)]
        leaf = np.zeros(rows, np.int64)
        for level in range(plan.depth):
            at, cut = _question(inside, leaf[part], 2**level, weights, plan)
            column = int(tried[at])
            cut = min(cut, len(cuts[column]) - 1)
            columns[tree, level], bounds[tree, level] = column, cuts[column][cut]
            leaf |= (bins[:, column] > cut).astype(np.int64) << level
        size = 2**plan.depth
        gained = np.bincount(leaf[part], slope[part], size)
        leaves[tree] = plan.rate * gained / (np.bincount(leaf[part], curve[part], size) + plan.l2)
        scores += leaves[tree][leaf]
    return BoostedTrees(columns, bounds, leaves)


def _cuts(column: Floats) -> Floats:
    """Return the bounds between the bins of a column, halfway between neighbouring values.

    There is one bound fewer than bins.
    """
    different = np.unique(column)
    if len(different) > _BINS:
        different = np.unique(np.quantile(column, np.linspace(0, 1, _BINS), method="nearest"))
    return (different[1:] + different[:-1]) / 2


def _question(
    bins: npt.NDArray[np.int32], leaf: Ints, leaves: int, weights: Sequence[Floats], plan: BoostingPlan
) -> tuple[int, int]:
    """Return the column and the bin of the best split, which is used in all leaves of a level.

    Rows above the bin go right. weights: the slope, curvature and share of each row, repeated for each column.
    """
    columns = bins.shape[1]
    slots = ((leaf[:, None] * columns + np.arange(columns)) * _BINS + bins).ravel()
    size, shape = leaves * columns * _BINS, (leaves, columns, _BINS)
    sums = (np.bincount(slots, each, size).reshape(shape).cumsum(axis=2) for each in weights)
    left_slope, left_curve, left_shares = sums
    right_slope, right_curve = left_slope[..., -1:] - left_slope, left_curve[..., -1:] - left_curve
    gain = (left_slope**2 / (left_curve + plan.l2) + right_slope**2 / (right_curve + plan.l2)).sum(axis=0)
    fewer = np.minimum(left_shares, left_shares[..., -1:] - left_shares).sum(axis=0)
    gain[fewer < plan.leaf] = -1.0
    best = int(np.argmax(gain))
    return best // _BINS, best % _BINS


_STEPS, _CALIBRATION_BINS = 30, 10


def fit_logistic(values: Floats, right: npt.NDArray[np.bool_], shares: Floats, l2: float) -> tuple[Floats, float]:
    """Return the weights, float64 (n,), and the base of a logistic regression.

    The probability is 1 / (1 + exp(−(values · weights + base))). values: float64 (rows, n). right: bool (rows,).
    shares: float64 (rows,), the weight of each row. ``l2`` applies to standardised weights. Newton's method starts from
    zero, so that equal rows give equal weights.
    """
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    rows = np.column_stack([(values - mean) / spread, np.ones(len(values))])
    penalty = np.append(np.full(values.shape[1], l2), 1e-6)
    solution, total = np.zeros(rows.shape[1]), float(shares.sum())
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ solution, -50, 50)))
        slope = rows.T @ ((likely - right) * shares) / total + penalty * solution
        curve = (rows * (likely * (1 - likely) * shares)[:, None]).T @ rows / total + np.diag(penalty)
        solution -= np.linalg.solve(curve, slope)
    weights = solution[:-1] / spread
    return weights, float(solution[-1] - weights @ mean)


def calibration_error(likely: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean difference between probabilities and outcomes: 0 to 1, lower is better.

    The mean is over ten equal bins of probability, weighted by rows (expected calibration error: Naeini, Cooper and
    Hauskrecht 2015).
    """
    predicted, outcome = np.asarray(likely, np.float64), np.asarray(right, np.float64)
    bins = np.minimum((predicted * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
    gaps = (abs(float(predicted[bins == bucket].mean() - outcome[bins == bucket].mean())) * np.mean(bins == bucket)
            for bucket in np.unique(bins))  # fmt: skip
    return float(sum(gaps))
