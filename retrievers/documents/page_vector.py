"""A page as a vector of its terms, for how alike two pages are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_core.text.term_counts import TermCounts


def page_vector(counts: TermCounts, page: int) -> dict[int, float]:
    """A page (1-based) as {term hash: 1 + ln tf}, unit length; {} for a page without terms."""
    rows = np.flatnonzero(counts.pages == page - 1)
    terms = counts.terms[np.searchsorted(counts.starts, rows, side="right") - 1]
    weights: npt.NDArray[np.float64] = 1 + np.log(counts.counts[rows].astype(np.float64))
    length = float(np.sqrt((weights**2).sum()))
    return dict(zip(terms.tolist(), (weights / length).tolist(), strict=True)) if length else {}


def cosine(a: dict[int, float], b: dict[int, float]) -> float:
    """Of two unit vectors: 0 to 1."""
    if len(b) < len(a):
        a, b = b, a
    return sum(weight * b.get(term, 0.0) for term, weight in a.items())
