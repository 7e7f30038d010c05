"""Which of the possible headings are headings: boosted trees over their evidence, learned from authors' outlines.

``headings.json`` beside this file holds the trees that ``eval fit-headings`` learned, and what from. A tree asks the
same questions of every row, so that a document takes a few array operations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from indexers.outline.evidence import FEATURES

Floats = npt.NDArray[np.float64]
_SHIPPED = Path(__file__).with_name("headings.json")
PRIOR = 1.5
"""Log odds of what the rules make a heading; of what they do not, its negative. The trees add to it."""
_TOGETHER = 0.5  # how much the other lines of its style count for a line
_BOLD = 0.8  # of the bound that is best for F1: a heading too many costs a reader less than one that is missing


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """``columns`` and ``bounds`` (trees, depth): a row goes right where its value is above the bound. ``leaves``
    (trees, 2 ** depth): what a tree adds; the first question is the lowest bit of the leaf's number.
    """

    columns: npt.NDArray[np.int64]
    bounds: Floats
    leaves: Floats

    def scores(self, values: Floats) -> Floats:
        """Return what the trees add to the log odds of each row of ``values``, float64 (rows, features)."""
        trees, depth = self.columns.shape
        right = values[:, self.columns.ravel()] > self.bounds.ravel()
        leaf = right.reshape(len(values), trees, depth) @ (1 << np.arange(depth))
        return np.asarray(self.leaves[np.arange(trees), leaf].sum(axis=1))


def likelihoods(
    trees: BoostedTrees, values: Floats, likely: npt.NDArray[np.bool_], styles: npt.NDArray[np.int64]
) -> Floats:
    """Return the probability that each row is a heading, float64 (rows,).

    likely: bool (rows,), whether the rules make it one. styles: int64 (rows,), the number of its style. The lines of a
    style decide together: the log odds are halfway between a line's own and the mean of its style.
    """
    odds = trees.scores(values) + np.where(likely, PRIOR, -PRIOR)
    means = np.bincount(styles, odds) / np.maximum(1, np.bincount(styles))
    return np.asarray(1 / (1 + np.exp(-(1 - _TOGETHER) * odds - _TOGETHER * means[styles])))


def choose(chances: Floats) -> npt.NDArray[np.bool_]:
    """Return which rows are headings: those above a bound that goes by the F1 to be expected of the document.

    The best bound for F1 is half of the best F1 (Lipton, Elkan and Narayanaswamy 2014).
    """
    falling = np.sort(chances)[::-1]
    best = (2 * falling.cumsum() / (np.arange(1, len(falling) + 1) + falling.sum())).max(initial=0.0)
    return np.asarray(chances >= _BOLD * best / 2)


@cache
def heading_model() -> BoostedTrees:
    """Return the shipped trees."""
    return read_trees(json.loads(_SHIPPED.read_text(encoding="utf-8")))


def read_trees(written: Mapping[str, Any]) -> BoostedTrees:
    """Return trees from the form of ``headings.json``, whose questions name their features."""
    at = {name: column for column, name in enumerate(FEATURES)}
    columns = np.array([[at[name] for name in tree["features"]] for tree in written["trees"]], np.int64)
    bounds, leaves = (np.array([tree[key] for tree in written["trees"]], np.float64) for key in ("bounds", "leaves"))
    return BoostedTrees(columns, bounds, leaves)
