"""Gradient boosting of oblivious trees for probabilities: every level of a tree asks one question of all rows.

The trees of Kohavi and Li (1995), boosted as CatBoost does (Prokhorenkova et al. 2018), on quantiles of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_pageindex.services.headings import BoostedTrees

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_BINS = 48


@dataclass(frozen=True, slots=True)
class BoostingPlan:
    """``columns`` and ``rows`` are the shares that each tree looks at. ``leaf``: least weight of rows on both sides of
    a question. ``l2`` shrinks leaves."""

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
    """Learn trees that, added to ``prior``, give the log odds that a row is right. Equal rows and seed: equal trees.

    values: float64 (rows, features). right: bool (rows,). shares: float64 (rows,), how much each row counts, 1 on
    average. prior: float64 (rows,), log odds by what is known without the trees.
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
    """Bounds between the bins of a column: halfway between values, at most one fewer than there are bins."""
    different = np.unique(column)
    if len(different) > _BINS:
        different = np.unique(np.quantile(column, np.linspace(0, 1, _BINS), method="nearest"))
    return (different[1:] + different[:-1]) / 2


def _question(
    bins: npt.NDArray[np.int32], leaf: Ints, leaves: int, weights: Sequence[Floats], plan: BoostingPlan
) -> tuple[int, int]:
    """Return the column and the bin above which rows go right that gain most over all leaves.

    weights: the slope, curve and share of each row, repeated for each column.
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
