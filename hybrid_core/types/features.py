"""What ranking weights are learned from: the candidate pages of a question with their features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFeatures:
    """The candidate pages of one question as the ranking model sees them.

    names: the features in order. values: float64 (n, features), most of them 0 to 1. pages: (doc_id, 1-based page) of
    each row. scores: float64 (n,), what the model in use makes of them, higher is better.
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    pages: tuple[tuple[str, int], ...]
    scores: npt.NDArray[np.float64]
