"""BM25 in Lucene's form (Robertson & Zaragoza 2009; Kamphuis et al. 2020, variant «Lucene (accurate)»).

score(q, d) = Σ_t idf(t) · tf / (tf + k1 · (1 - b + b · |d| / average))
idf(t)      = ln(1 + (N - n_t + 0.5) / (n_t + 0.5))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Bm25:
    """``average`` is a recorded constant: stored vectors depend on it, so it cannot follow the library."""

    k1: float = 1.2
    b: float = 1.0
    average: float = 300.0

    def weights(self, counts: npt.NDArray[np.uint16], lengths: npt.NDArray[np.generic] | float) -> Floats:
        """The tf part of the score: float32, the shape of ``counts``; between 0 and 1, higher is better."""
        tf = counts.astype(np.float32)
        norm = self.k1 * (1 - self.b + self.b * np.asarray(lengths, np.float32) / self.average)
        return (tf / (tf + norm)).astype(np.float32)


def idf(documents: int, holding: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """How much each term tells that so many of the ``documents`` contain: float64 of the shape of ``holding``, above 0,
    higher for rarer terms."""
    held = np.asarray(holding, np.float64)
    return np.asarray(np.log1p((documents - held + 0.5) / (held + 0.5)))
