"""BM25 in Lucene's form (Robertson & Zaragoza 2009; Kamphuis et al. 2020, variant "Lucene (accurate)").

score(q, d) = Σ_t idf(t) · tf / (tf + k1 · (1 - b + b · |d| / average))
idf(t)      = ln(1 + (N - n_t + 0.5) / (n_t + 0.5))

Vector engines sum a score in the order of a segment's terms, and rounding depends on this order: two indexes of the
same pages would differ in the last digit. ``document_weights`` and ``query_weights`` are therefore multiples of powers
of two. No sum needs more than the 24 bits of a float32, so nothing is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Bm25:
    """The parameters of BM25. ``average`` is a recorded constant, because stored vectors depend on it."""

    k1: float = 1.2
    b: float = 1.0
    average: float = 300.0

    def weights(self, counts: npt.NDArray[np.uint16], lengths: npt.NDArray[np.generic] | float) -> Floats:
        """Return the term-frequency part of the BM25 score: float32 of the shape of ``counts``, 0 to 1, higher is
        better.
        """
        tf = counts.astype(np.float32)
        norm = self.k1 * (1 - self.b + self.b * np.asarray(lengths, np.float32) / self.average)
        return (tf / (tf + norm)).astype(np.float32)


def idf(documents: int, holding: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the inverse document frequency of terms.

    ``holding`` is the number of ``documents`` with each term. The result is float64 of the same shape, above 0, higher
    for rarer terms.
    """
    holders = np.asarray(holding, np.float64)
    return np.asarray(np.log1p((documents - holders + 0.5) / (holders + 0.5)))


_DOCUMENT_BITS = 10
_QUERY_UNITS = 1 << (24 - _DOCUMENT_BITS)


def document_weights(weights: npt.ArrayLike) -> Floats:
    """Round weights, at most 1, to the nearest non-zero multiples of 2⁻¹⁰: float32 of the same shape."""
    return _multiples(weights, 2.0**-_DOCUMENT_BITS).astype(np.float32)


def query_weights(weights: npt.ArrayLike) -> Floats:
    """Round weights to multiples of a power of two, only 0 to 0: float32 of the same shape (n,).

    The step is the lowest power of two for which the sum of all weights is at most 2¹⁴ steps. With more than 2¹⁴
    weights sums are not exact.
    """
    values = np.asarray(weights, np.float64)
    total = float(np.abs(values).sum())
    if not total:
        return values.astype(np.float32)
    limit, step = max(_QUERY_UNITS, values.size), 2.0 ** math.ceil(math.log2(total / _QUERY_UNITS))
    while np.abs(rounded := _multiples(values, step)).sum() > limit * step:
        step *= 2
    return rounded.astype(np.float32)


def _multiples(weights: npt.ArrayLike, step: float) -> npt.NDArray[np.float64]:
    values = np.asarray(weights, np.float64)
    units = np.maximum(np.round(np.abs(values) / step), 1.0)
    return np.where(values == 0, 0.0, np.copysign(units, values) * step)
