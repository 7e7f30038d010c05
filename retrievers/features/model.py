"""The ranking model: a weighted sum of features, so that a receipt is the list of its addends.

``weights.json`` beside this file holds what ``eval fit`` learned: the weight of every feature, and of its product with
how surely the question names the document; what they were learned from stands there too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.errors import UsageError
from retrievers.features.table import FEATURES, FeatureTable

Floats = npt.NDArray[np.float64]
_SHIPPED = Path(__file__).with_name("weights.json")
_TIMES_NAMED = "*named"
LEAST = 1e-6
"""What a candidate page is worth at least: a page worth 0 is no result."""


@dataclass(frozen=True, slots=True, eq=False)
class RankingModel:
    """score = base + Σ weight · feature + Σ weight · feature · named; higher is better.

    plain, named: float64 (features,), in the order of FEATURES. base is chosen so that good pages score about 1.
    """

    plain: Floats
    named: Floats
    base: float

    def addends(self, table: FeatureTable) -> Floats:
        """What each feature adds to each page: float64 (n, features); with ``base`` they sum to the score."""
        named = table.column("named")[:, None]
        return np.asarray(table.values * (self.plain + named * self.named))

    @classmethod
    def of(cls, written: Mapping[str, Any], where: str) -> RankingModel:
        """Raises UsageError for a feature that there is none of, naming ``where`` it stands."""
        plain, named = np.zeros(len(FEATURES)), np.zeros(len(FEATURES))
        names = list(FEATURES)
        try:
            weights, base = dict(written["weights"]), float(written["base"])
            for name, weight in weights.items():
                feature = name.removesuffix(_TIMES_NAMED)
                target = named if name.endswith(_TIMES_NAMED) else plain
                target[names.index(feature)] = float(weight)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{where}: these are no ranking weights ({error}).", "Learn them anew: hybrid-pageindex eval fit."
            ) from error
        return cls(plain, named, base)


def load_model(path: Path) -> RankingModel:
    """Read weights. Raises UsageError for a file that cannot be read or holds something else."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: cannot be read ({error}).", "Learn weights anew, or unset ranking_weights."
        ) from error
    return RankingModel.of(written, str(path))


@cache
def shipped_model() -> RankingModel:
    """The weights that come along."""
    return load_model(_SHIPPED)


def feature_names(pairs: Sequence[str]) -> list[str]:
    """The names of weights: every feature, and the ``pairs`` that count by how surely the document is named too."""
    return [*FEATURES, *(name + _TIMES_NAMED for name in pairs)]
