"""The ranking model: a weighted sum of features, so that a receipt can list the contribution of each.

``weights.json`` contains what ``eval fit`` learned: the weight of every feature, the weight of its product with the
certainty that the question names the document, and the training sets.
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

from hybrid_core.errors import Advice, UsageError
from hybrid_core.types.scoring import TIMES_NAMED, CandidateFeatures, weight_names
from retrievers.features.pages import PageQuery
from retrievers.features.table import FEATURES, GROUPS, FeatureTable
from retrievers.ranking.walk import DocumentScores, PageRef

Floats = npt.NDArray[np.float64]
_SHIPPED = Path(__file__).with_name("weights.json")
PAIRS = (
    "inside", "inside_best", "window_rest", "heading", "title", "pack", "pack_heading", "path", "bm25", "structure",
    "doc_score", "window", "pairs", "written", "pairs_rest", "written_rest", "bm25_size", "figures", "node", "name",
)  # fmt: skip
"""The features that also have a weight for their product with the certainty that the question names the document."""
LEAST = 1e-6
"""The minimum score of a candidate page. A page with score 0 is no result."""
_ADVICE = Advice(
    "Learn the ranking weights again, or unset ranking_weights.",
    "Learn the ranking weights again (hybrid-pageindex eval fit), or unset ranking_weights.",
)


@dataclass(frozen=True, slots=True, eq=False)
class RankingModel:
    """A linear ranking model: base + Σ weight · feature + Σ weight · feature · named.

    ``named`` is the certainty that the question names the document. A higher score is better.

    plain, named: the weights of both sums, float64 (features,), in the order of FEATURES. base is chosen so that good
    pages score about 1. scale: the factor that was applied to the learned weights for this. learned: a description of
    the training. evidence: weights of ``SIGNALS`` and "base" for the probabilities that the first page answers
    ("first") and that one of the first five does ("five").
    """

    plain: Floats
    named: Floats
    base: float
    scale: float = 1.0
    learned: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def addends(self, table: FeatureTable) -> Floats:
        """Return the contribution of each feature to each page's score: float64 (n, features).

        The sum over a page's features and ``base`` is its score.
        """
        named = table.column("named")[:, None]
        return np.asarray(table.values * (self.plain + named * self.named))

    def scores(self, table: FeatureTable) -> Floats:
        """Return the score of each page, the sum of its contributions and ``base``: float64 (n,), higher is better."""
        return np.asarray(self.base + self.addends(table).sum(axis=1))

    def weights(self, pairs: Sequence[str] = PAIRS) -> dict[str, float]:
        """Return the weights by name: one of each feature, and one of each of ``pairs`` times "named"."""
        names = list(FEATURES)
        products = [float(self.named[names.index(name)]) for name in pairs]
        return dict(zip(weight_names(FEATURES, pairs), [*self.plain.tolist(), *products], strict=True))

    @classmethod
    def of(cls, written: Any, where: str) -> RankingModel:
        """Return a model from weights as written by ``eval fit``. A missing feature has the weight 0.

        Raise UsageError with the source ``where`` for an unknown feature or an invalid number.
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
            raise UsageError(
                f"{where}: this file does not contain valid ranking weights ({error!r}).", _ADVICE
            ) from error
        if not all(map(isfinite, (*weights.values(), base, scale))) or scale <= 0:
            raise UsageError(
                f"{where}: this file does not contain valid ranking weights (a weight is NaN or infinite).", _ADVICE
            )
        for name, weight in weights.items():
            feature = name.removesuffix(TIMES_NAMED)
            if feature not in FEATURES:
                raise UsageError(
                    f"{where}: the file contains a weight for the feature '{feature}', which this version does not "
                    "have.",
                    _ADVICE,
                )
            target = named if name.endswith(TIMES_NAMED) else plain
            target[names.index(feature)] = weight
        if not evidence and where != str(_SHIPPED):
            # weights learned from ratings include none for evidence
            evidence = {what: dict(own) for what, own in shipped_model().evidence.items()}
        return cls(plain, named, base, scale, learned, evidence)


def load_model(path: Path) -> RankingModel:
    """Return the model in a file of weights.

    Raise UsageError with the file's name if it cannot be read or is invalid.
    """
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: the file of ranking weights cannot be read ({error}).", _ADVICE) from error
    return RankingModel.of(written, str(path))


@cache
def shipped_model() -> RankingModel:
    """Return the model with the weights that are shipped with this version."""
    return load_model(_SHIPPED)


def scored(
    table: FeatureTable,
    model: RankingModel,
    rest: Floats,
    nodes: Sequence[Floats],
    queries: Sequence[PageQuery],
    signals: Sequence[Mapping[str, Mapping[int, float]]],
) -> list[DocumentScores]:
    """Return the scores of all pages of the documents, with the contributions of feature groups.

    ``rest``, float64 (pages,), scores the pages that are not candidates. Those with a score above 0 rank after all
    candidates. ``nodes``, ``queries`` and ``signals`` have one item for each document.
    """
    candidates = table.candidates
    firsts = candidates.firsts
    adds = model.addends(table)
    groups = {name: np.full(firsts[-1], np.nan) for name in dict.fromkeys(GROUPS.values())}
    for name, values in groups.items():
        columns = [at for at, feature in enumerate(FEATURES) if GROUPS[feature] == name]
        values[candidates.at] = adds[:, columns].sum(axis=1)
    groups["page"][candidates.at] += model.base
    scores = sum(values[candidates.at] for values in groups.values())
    short = np.maximum(scores, LEAST) - scores
    groups["page"][candidates.at] += short
    values = np.zeros(firsts[-1])
    values[candidates.at] = scores + short
    others = rest > 0
    others[candidates.at] = False
    if others.any():
        lowest = float(values[candidates.at].min(initial=1.0))
        values[others] = 0.5 * lowest * rest[others] / float(rest.max())
        groups["page"][others] = values[others]
        groups["document"][others] = groups["structure"][others] = 0.0
    pages = []
    for at, document in enumerate(candidates.documents):
        own = slice(int(firsts[at]), int(firsts[at + 1]))
        parts = {name: part[own] for name, part in groups.items()}
        pages.append(DocumentScores(document, values[own], nodes[at], parts, queries[at], signals[at]))
    return pages


def candidate_features(table: FeatureTable | None, model: RankingModel) -> CandidateFeatures:
    """Return the features of the candidate pages, for learning weights. Without candidates it is empty."""
    if table is None:
        return CandidateFeatures(tuple(FEATURES), np.zeros((0, len(FEATURES))), (), np.zeros(0), PAIRS)
    candidates = table.candidates
    ids = [candidate.document.doc_id for candidate in candidates.documents]
    pages = tuple((ids[doc], page) for doc, page in zip(candidates.doc.tolist(), candidates.page.tolist(), strict=True))
    return CandidateFeatures(tuple(FEATURES), table.values, pages, model.scores(table), PAIRS)


def addends_of(table: FeatureTable, model: RankingModel, places: Sequence[PageRef]) -> dict[PageRef, dict[str, float]]:
    """Return the contributions of features to the scores of pages, highest first, then "base".

    ``places`` gives the pages as (index of the document, page). Features that contribute 0 and pages that are not
    candidates are left out.
    """
    rows = {place: row for place in places if (row := table.candidates.rows.get(place)) is not None}
    addends = model.addends(table)
    addends_at: dict[PageRef, dict[str, float]] = {}
    for place, row in rows.items():
        own = {name: round(add, 4) for name, add in zip(FEATURES, addends[row].tolist(), strict=True)}
        ordered = sorted(((name, add) for name, add in own.items() if add), key=lambda pair: -abs(pair[1]))
        addends_at[place] = {**dict(ordered), "base": round(model.base, 4)}
    return addends_at
