"""Candidate pages scored by the ranking model, as the stages that follow read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hybrid_core.types.features import CandidateFeatures
from retrievers.features.model import LEAST, PAIRS, RankingModel
from retrievers.features.table import FEATURES, GROUPS, FeatureTable
from retrievers.pages.page_score import PageQuery
from retrievers.pages.scores import PageScores, Place

Floats = npt.NDArray[np.float64]


def scored(
    table: FeatureTable,
    model: RankingModel,
    rest: Floats,
    nodes: Sequence[Floats],
    queries: Sequence[PageQuery],
    signals: Sequence[Mapping[str, Mapping[int, float]]],
) -> list[PageScores]:
    """Every page of the documents with what the model adds up, by groups of features.

    ``rest``, float64 (pages,), numbered through the documents, orders the pages that are no candidates: those above 0
    come after all candidates. ``nodes``, ``queries`` and ``signals`` are by document.
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
        least = float(values[candidates.at].min(initial=1.0))
        values[others] = 0.5 * least * rest[others] / float(rest.max())
        groups["page"][others] = values[others]
        groups["document"][others] = groups["structure"][others] = 0.0
    found = []
    for at, document in enumerate(candidates.documents):
        own = slice(int(firsts[at]), int(firsts[at + 1]))
        parts = {name: part[own] for name, part in groups.items()}
        found.append(PageScores(document, values[own], nodes[at], parts, queries[at], signals[at]))
    return found


def candidate_features(table: FeatureTable | None, model: RankingModel) -> CandidateFeatures:
    """The table as it is handed to whoever learns weights from it; empty where there were no candidates."""
    if table is None:
        return CandidateFeatures(tuple(FEATURES), np.zeros((0, len(FEATURES))), (), np.zeros(0), PAIRS)
    found = table.candidates
    ids = [one.document.doc_id for one in found.documents]
    pages = tuple((ids[doc], page) for doc, page in zip(found.doc.tolist(), found.page.tolist(), strict=True))
    return CandidateFeatures(tuple(FEATURES), table.values, pages, model.scores(table), PAIRS)


def addends_of(table: FeatureTable, model: RankingModel, places: Sequence[Place]) -> dict[Place, dict[str, float]]:
    """Return what each feature adds to pages (number of the document, page), greatest first, with «base» at the end.

    Features that add nothing are left out, and pages that are no candidates.
    """
    rows = {place: row for place in places if (row := table.candidates.rows.get(place)) is not None}
    addends = model.addends(table)
    found: dict[Place, dict[str, float]] = {}
    for place, row in rows.items():
        own = {name: round(add, 4) for name, add in zip(FEATURES, addends[row].tolist(), strict=True)}
        ordered = sorted(((name, add) for name, add in own.items() if add), key=lambda pair: -abs(pair[1]))
        found[place] = {**dict(ordered), "base": round(model.base, 4)}
    return found
