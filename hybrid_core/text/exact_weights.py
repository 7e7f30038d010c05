"""Weights whose inner products are exact in float32.

Engines add a score up in the order in which a segment happens to hold its terms, and rounding depends on that order:
two indexes of the same pages differ in the last digit. Here all weights of documents are multiples of one power of
two, those of a query of another, and no sum needs more than the 24 bits of a float32; so nothing is ever rounded.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
_DOCUMENT_BITS = 10
_QUERY_UNITS = 1 << (24 - _DOCUMENT_BITS)


def document_weights(weights: npt.ArrayLike) -> Floats:
    """The nearest multiples of 2⁻¹⁰ that are not 0: float32 of the shape of ``weights``, which are at most 1."""
    return _multiples(weights, 2.0**-_DOCUMENT_BITS).astype(np.float32)


def query_weights(weights: npt.ArrayLike) -> Floats:
    """The nearest multiples, 0 for 0 alone, of the least power of two of which they make up 2¹⁴ at most: float32 of the
    shape of ``weights``, (n,). More than 2¹⁴ of them are not exact.
    """
    given = np.asarray(weights, np.float64)
    total = float(np.abs(given).sum())
    if not total:
        return given.astype(np.float32)
    most, step = max(_QUERY_UNITS, given.size), 2.0 ** math.ceil(math.log2(total / _QUERY_UNITS))
    while np.abs(rounded := _multiples(given, step)).sum() > most * step:
        step *= 2
    return rounded.astype(np.float32)


def _multiples(weights: npt.ArrayLike, step: float) -> npt.NDArray[np.float64]:
    given = np.asarray(weights, np.float64)
    units = np.maximum(np.round(np.abs(given) / step), 1.0)
    return np.where(given == 0, 0.0, np.copysign(units, given) * step)
