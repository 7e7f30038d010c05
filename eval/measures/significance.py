"""Whether a difference is more than chance: the paired bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
_AT_ONCE = 2_000_000  # values drawn in one step, so that many questions do not fill the memory


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and the bounds of its interval; ``pairs`` is what it rests on."""

    mean: float
    low: float
    high: float
    pairs: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    differences: Sequence[float], *, resamples: int = RESAMPLES, level: float = 0.95, seed: int = 0
) -> Interval:
    """The percentile interval of the mean of paired differences (Efron and Tibshirani 1993, chapter 13).

    Questions are drawn with replacement, each with both of its values. The same seed gives the same interval.
    Without pairs everything is zero.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not values.size:
        return Interval(0.0, 0.0, 0.0, 0)
    draw = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // values.size)
    means = np.concatenate(
        [
            values[draw.integers(values.size, size=(min(rows, resamples - start), values.size))].mean(axis=1)
            for start in range(0, resamples, rows)
        ]
    )
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(values.mean()), float(low), float(high), values.size)
