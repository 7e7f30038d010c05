"""What tells whether a page that was found answers, and the calibrated probability that it does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from retrievers.features.model import RankingModel
from retrievers.features.table import FeatureTable
from retrievers.pages.scores import PageVisit

SIGNALS: Mapping[str, str] = {
    "covered": "the question's terms, by rarity, that the best page holds, less where its document is another's",
    "score": "what the ranking model gives the first page, at most 1.1",
    "lead": "by how much that is more than the second page's, at most 0.3",
    "lead_five": "by how much it is more than the fifth page's, at most 0.6",
    "cover": "share of the question's terms, by idf, on the first page",
    "window": "the same within 50 terms",
    "written": "the same, as the question writes them",
    "pairs": "share of the question's neighbouring terms that are neighbours there",
    "named": "how surely the question names the first page's document",
    "cover_five": "the best cover of the first five pages",
}
"""What evidence is computed from."""
_OF_FIRST = ("cover", "window", "written", "pairs", "named")
_JUDGED = 5
_MOST_OF_COVERED = 1.6
_MOST_SCORE, _MOST_LEAD, _MOST_LEAD_FIVE = 1.1, 0.3, 0.6
"""A score above these says no more: half of all first pages have 1, and a quotation alone adds 2."""


def signals(
    visits: Sequence[PageVisit], table: FeatureTable | None, model: RankingModel, covered: float
) -> dict[str, float]:
    """Return the signals of pages in their order; {} where there are none. ``covered`` is 0 to 1.

    A page that is no candidate counts as one of score 0 that holds nothing.
    """
    best = visits[:_JUDGED]
    if not best or table is None:
        return {}
    scores = model.scores(table)
    held = [table.candidates.rows.get((visit.doc, visit.page)) for visit in best]
    own = [0.0 if row is None else float(scores[row]) for row in held]
    first = held[0]
    covers = table.column("cover")
    return {
        "covered": covered,
        "score": min(_MOST_SCORE, own[0]),
        "lead": min(_MOST_LEAD, own[0] - (own[1] if len(own) > 1 else 0.0)),
        "lead_five": min(_MOST_LEAD_FIVE, own[0] - (own[4] if len(own) == _JUDGED else 0.0)),
        **{name: 0.0 if first is None else float(table.column(name)[first]) for name in _OF_FIRST},
        "cover_five": max((float(covers[row]) for row in held if row is not None), default=0.0),
    }


def probability(weights: Mapping[str, float], found: Mapping[str, float]) -> float:
    """Return the logistic function of Σ weight · signal + base, at most 1.6 of what is covered: 0 to 1.

    Documents other than the one that is named, and names that a document never says, lower what is covered: no question
    set that was learned from asks the wrong document. 0 where nothing was found.
    """
    if not found:
        return 0.0
    total = weights.get("base", 0.0) + math.fsum(weights.get(name, 0.0) * value for name, value in found.items())
    return min(float(1 / (1 + np.exp(-np.clip(total, -50, 50)))), _MOST_OF_COVERED * found["covered"])
