"""The ranking model: a weighted sum of features, so that a receipt is the list of its addends.

``weights.json`` beside this file holds what ``eval fit`` learned: the weight of every feature, and of its product with
how surely the question names the document; what they were learned from stands there too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.errors import UsageError
from hybrid_core.types.features import TIMES_NAMED, weight_names
from retrievers.features.table import FEATURES, FeatureTable

Floats = npt.NDArray[np.float64]
_SHIPPED = Path(__file__).with_name("weights.json")
PAIRS = (
    "inside", "inside_best", "window_rest", "heading", "title", "pack", "pack_heading", "path", "bm25", "structure",
    "doc_score", "window", "pairs", "written", "pairs_rest", "written_rest", "bm25_size", "figures", "node", "name",
)  # fmt: skip
"""The features whose product with how surely the document is named has a weight of its own."""
LEAST = 1e-6
"""What a candidate page is worth at least: a page worth 0 is no result."""
_ADVICE = "Learn weights anew (hybrid-pageindex eval fit), or unset ranking_weights."


@dataclass(frozen=True, slots=True, eq=False)
class RankingModel:
    """score = base + Σ weight · feature + Σ weight · feature · named; higher is better.

    plain, named: float64 (features,), in the order of FEATURES. base is chosen so that good pages score about 1.
    scale: what the learned weights were multiplied by to that end. learned: what they were learned from. evidence:
    weights of ``SIGNALS`` and «base», by «first» and «five», of the probability that the first page answers, and that
    one of the first five does.
    """

    plain: Floats
    named: Floats
    base: float
    scale: float = 1.0
    learned: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def addends(self, table: FeatureTable) -> Floats:
        """What each feature adds to each page: float64 (n, features); with ``base`` they sum to the score."""
        named = table.column("named")[:, None]
        return np.asarray(table.values * (self.plain + named * self.named))

    def scores(self, table: FeatureTable) -> Floats:
        """The score of each page, the sum of its addends and ``base``: float64 (n,)."""
        return np.asarray(self.base + self.addends(table).sum(axis=1))

    def weights(self, pairs: Sequence[str] = PAIRS) -> dict[str, float]:
        """Return the weight of every feature, and of every product of ``pairs`` with «named»."""
        names = list(FEATURES)
        products = [float(self.named[names.index(name)]) for name in pairs]
        return dict(zip(weight_names(FEATURES, pairs), [*self.plain.tolist(), *products], strict=True))

    @classmethod
    def of(cls, written: Any, where: str) -> RankingModel:
        """Read weights as ``eval fit`` writes them; a feature that is not mentioned weighs 0.

        Raises UsageError for an unknown feature and for anything that is no number, naming ``where`` it stands.
        """
        plain, named = np.zeros(len(FEATURES)), np.zeros(len(FEATURES))
        names = list(FEATURES)
        try:
            weights = {str(name): float(weight) for name, weight in dict(written["weights"]).items()}
            base, scale = float(written["base"]), float(written.get("scale", 1.0))
            learned = dict(written.get("learned", {}))
            evidence = {
                str(what): {str(name): float(weight) for name, weight in dict(weights).items()}
                for what, weights in dict(written.get("evidence", {})).items()
            }
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{where}: these are no ranking weights ({error!r}).", _ADVICE) from error
        if not all(map(isfinite, (*weights.values(), base, scale))) or scale <= 0:
            raise UsageError(f"{where}: these are no ranking weights (a number is not finite).", _ADVICE)
        for name, weight in weights.items():
            feature = name.removesuffix(TIMES_NAMED)
            if feature not in FEATURES:
                raise UsageError(f"{where}: there is no feature '{feature}' to weigh.", _ADVICE)
            target = named if name.endswith(TIMES_NAMED) else plain
            target[names.index(feature)] = weight
        if not evidence and where != str(_SHIPPED):
            # weights that were learned from ratings say nothing of evidence
            evidence = {what: dict(own) for what, own in shipped_model().evidence.items()}
        return cls(plain, named, base, scale, learned, evidence)


def load_model(path: Path) -> RankingModel:
    """Read a file of weights. Raises UsageError, which names it, where it cannot be read or holds something else."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: the ranking weights cannot be read ({error}).", _ADVICE) from error
    return RankingModel.of(written, str(path))


@cache
def shipped_model() -> RankingModel:
    """Return the weights that come along."""
    return load_model(_SHIPPED)
