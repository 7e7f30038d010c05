"""Boosted oblivious trees: they learn what a sum of single features cannot, and the same data give the same trees."""

from __future__ import annotations

import numpy as np

from eval.measures.learning import BoostingPlan, fit_trees

PLAN = BoostingPlan(trees=40, depth=2, rate=0.3, l2=1.0, leaf=5.0, columns=1.0, rows=1.0)


def _either_or(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(seed).random((rows, 3))
    return values, (values[:, 0] > 0.5) != (values[:, 1] > 0.5)


def test_questions_that_only_count_together_are_learned() -> None:
    values, right = _either_or(600, 1)
    values[:, 0] += 0.02 * (values[:, 0] > 0.5)
    trees = fit_trees(values, right, np.ones(600), np.zeros(600), PLAN)
    unseen, truth = _either_or(300, 2)
    assert ((trees.scores(unseen) > 0) == truth).mean() > 0.9
    assert trees.columns.shape == (40, 2) and trees.leaves.shape == (40, 4)


def test_equal_data_and_seed_give_equal_trees() -> None:
    values, right = _either_or(200, 3)
    plan = BoostingPlan(trees=5, depth=3, leaf=2.0)
    first, again = (fit_trees(values, right, np.ones(200), np.zeros(200), plan) for _ in range(2))
    assert np.array_equal(first.columns, again.columns) and np.array_equal(first.leaves, again.leaves)


def test_trees_add_to_what_is_known_without_them() -> None:
    values, right = _either_or(400, 4)
    prior = np.where(right, 4.0, -4.0)
    trees = fit_trees(values, right, np.ones(400), prior, PLAN)
    assert abs(trees.scores(values)).max() < 4.0  # little is left to say


def test_columns_that_never_differ_are_not_asked() -> None:
    values, right = _either_or(200, 5)
    values[:, 2] = 7.0
    trees = fit_trees(values, right, np.ones(200), np.zeros(200), PLAN)
    assert 2 not in trees.columns
