"""Logistic regression for calibrated probabilities, and how well they are calibrated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_STEPS, _BINS = 30, 10


def fit_logistic(values: Floats, right: npt.NDArray[np.bool_], shares: Floats, l2: float) -> tuple[Floats, float]:
    """Learn weights, float64 (n,), and a base, so that 1 / (1 + exp(−(values · weights + base))) is a probability.

    values: float64 (rows, n). right: bool (rows,). shares: float64 (rows,), how much each row counts. ``l2`` is on
    standardised weights. Newton's method from zero, so that equal rows give equal weights.
    """
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    rows = np.column_stack([(values - mean) / spread, np.ones(len(values))])
    penalty = np.append(np.full(values.shape[1], l2), 1e-6)
    found, total = np.zeros(rows.shape[1]), float(shares.sum())
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ found, -50, 50)))
        slope = rows.T @ ((likely - right) * shares) / total + penalty * found
        curve = (rows * (likely * (1 - likely) * shares)[:, None]).T @ rows / total + np.diag(penalty)
        found -= np.linalg.solve(curve, slope)
    weights = found[:-1] / spread
    return weights, float(found[-1] - weights @ mean)


def calibration_error(likely: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean gap between probabilities and outcomes, over ten equal bins of probability, each by its rows:
    0 to 1, lower is better (expected calibration error: Naeini, Cooper and Hauskrecht 2015)."""
    given, outcome = np.asarray(likely, np.float64), np.asarray(right, np.float64)
    bins = np.minimum((given * _BINS).astype(int), _BINS - 1)
    gaps = (abs(float(given[bins == one].mean() - outcome[bins == one].mean())) * np.mean(bins == one)
            for one in np.unique(bins))  # fmt: skip
    return float(sum(gaps))
