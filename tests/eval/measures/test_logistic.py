"""Calibrated probabilities: learned weights are found again, and calibration is what its definition says."""

from __future__ import annotations

import numpy as np
import pytest

from eval.measures.learning import calibration_error, fit_logistic
from eval.runs.features import Judged, learn_evidence


def test_known_weights_are_found_again_and_are_calibrated() -> None:
    chance = np.random.default_rng(1)
    values = chance.normal(size=(6000, 2)) * [1.0, 10.0] + [0.0, 5.0]
    likely = 1 / (1 + np.exp(-(values @ [2.0, -0.1] + 0.7)))
    right = chance.random(6000) < likely
    weights, base = fit_logistic(values, right, np.ones(6000), 1e-6)
    assert weights == pytest.approx([2.0, -0.1], rel=0.15) and base == pytest.approx(0.7, abs=0.2)
    found = 1 / (1 + np.exp(-(values @ weights + base)))
    assert calibration_error(found.tolist(), right.tolist()) < 0.03


def test_one_outcome_or_equal_values_are_no_error() -> None:
    weights, base = fit_logistic(np.ones((5, 1)), np.ones(5, bool), np.ones(5), 0.01)
    assert np.isfinite(weights).all() and base > 1


def test_calibration_by_hand() -> None:
    assert calibration_error([0.95, 0.95, 0.15, 0.15], [True, True, False, True]) == pytest.approx(
        0.5 * 0.05 + 0.5 * 0.35
    )
    assert calibration_error([1.0, 0.0], [True, False]) == 0.0


def test_a_kind_is_judged_by_others_alone() -> None:
    """In one kind the signal means the opposite: learning from it would make its own figure good."""

    def rows(dataset: str, sign: int) -> list[Judged]:
        return [Judged(dataset, {"score": sign * (at % 10)}, at % 10 > 4, at % 10 > 4, True) for at in range(100)]

    weights, found = learn_evidence([*rows("here", 1), *rows("there", 1), *rows("more", 1), *rows("odd", -1)])
    auroc = {(row.dataset, row.what): row.auroc for row in found}
    assert auroc["here", "first"] == auroc["there", "five"] == 1.0 and auroc["odd", "first"] == 0.0
    assert set(weights) == {"first", "five"} and set(weights["five"]) == {"score", "base"}
