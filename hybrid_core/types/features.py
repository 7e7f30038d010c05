"""What ranking weights are learned from: the candidate pages of a question with their features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

TIMES_NAMED = "*named"
"""The end of a weight's name that is of a feature's product with the feature «named»."""


def weight_names(names: Iterable[str], pairs: Iterable[str]) -> tuple[str, ...]:
    """Return the names of weights: every feature, then the product of each of ``pairs`` with «named»."""
    return (*names, *(name + TIMES_NAMED for name in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class CandidateFeatures:
    """The candidate pages of one question as the ranking model sees them.

    names: the features in order. values: float64 (n, features), most of them 0 to 1. pages: (doc_id, 1-based page) of
    each row. scores: float64 (n,), what the model in use makes of them, higher is better. pairs: the features whose
    product with the feature «named» the model weighs, too. signals: what evidence is computed from, by name; first: the
    first five pages of the search, (doc_id, page).
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    pages: tuple[tuple[str, int], ...]
    scores: npt.NDArray[np.float64]
    pairs: tuple[str, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    first: tuple[tuple[str, int], ...] = ()
