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
    """The parameters of BM25. ``average`` stands for the average number of words on a page.

    It is a constant, because stored vectors depend on it.
    """

    k1: float = 1.2
    b: float = 1.0
    average: float = 300.0

    def weights(self, counts: npt.NDArray[np.uint16], lengths: npt.NDArray[np.generic] | float) -> Floats:
        """Return the term-frequency part of the BM25 score as float32 with the shape of ``counts``.

        ``counts`` are occurrences of terms on pages, ``lengths`` the numbers of words of these pages. The result is
        between 0 and 1; higher is better.
        """
        tf = counts.astype(np.float32)
        norm = self.k1 * (1 - self.b + self.b * np.asarray(lengths, np.float32) / self.average)
        return (tf / (tf + norm)).astype(np.float32)


def idf(documents: int, holding: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the inverse document frequency of terms.

    ``documents`` is the number of all documents, ``holding`` the number of those with each term. The result is float64
    with the shape of ``holding``, above 0, and higher for rarer terms.
    """
    holders = np.asarray(holding, np.float64)
    return np.asarray(np.log1p((documents - holders + 0.5) / (holders + 0.5)))


_DOCUMENT_BITS = 10
_QUERY_UNITS = 1 << (24 - _DOCUMENT_BITS)


def document_weights(weights: npt.ArrayLike) -> Floats:
    """Round weights of at most 1 to multiples of 2⁻¹⁰, none of them to 0. Return float32 of the same shape."""
    return _multiples(weights, 2.0**-_DOCUMENT_BITS).astype(np.float32)


def query_weights(weights: npt.ArrayLike) -> Floats:
    """Round weights to multiples of a power of two. Return float32 of the same shape (n,). Only 0 becomes 0.

    The power is the lowest one of which the sum of all weights is at most 2¹⁴ multiples. With more than 2¹⁴ weights,
    sums are not exact.
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
