"""What tells whether a page that was found answers, and the calibrated probability that it does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from retrievers.features.table import FeatureTable
from retrievers.pages.scores import PageScores, PageVisit

SIGNALS: Mapping[str, str] = {
    "covered": "the question's terms, by rarity, that the best page holds, less where its document is another's",
    "score": "score of the first page",
    "lead": "what it leads the second by",
    "lead_five": "what it leads the fifth by",
    "cover": "share of the question's terms, by idf, on the first page",
    "window": "the same within 50 terms",
    "written": "the same, as the question writes them",
    "pairs": "share of the question's neighbouring terms that are neighbours there",
    "cover_five": "the best cover of the first five pages",
}
"""What evidence is computed from."""
_JUDGED = 5


def signals(
    visits: Sequence[PageVisit], pages: Sequence[PageScores], table: FeatureTable | None, covered: float
) -> dict[str, float]:
    """Return the signals of the pages in their order; {} where there are none. ``covered`` is 0 to 1."""
    best = visits[:_JUDGED]
    if not best or table is None:
        return {}
    scores = [float(pages[one.doc].values[one.page - 1]) for one in best]
    found = table.candidates
    rows = {(d, p): at for at, (d, p) in enumerate(zip(found.doc.tolist(), found.page.tolist(), strict=True))}
    first = rows.get((best[0].doc, best[0].page))
    covers = table.column("cover")
    held = [float(covers[at]) for one in best if (at := rows.get((one.doc, one.page))) is not None]
    own = {
        name: 0.0 if first is None else float(table.column(name)[first])
        for name in ("cover", "window", "written", "pairs")
    }
    return {
        "covered": covered,
        "score": scores[0],
        "lead": scores[0] - (scores[1] if len(scores) > 1 else 0.0),
        "lead_five": scores[0] - (scores[4] if len(scores) == _JUDGED else 0.0),
        **own,
        "cover_five": max(held, default=0.0),
    }


def probability(weights: Mapping[str, float], found: Mapping[str, float]) -> float:
    """Return the logistic function of Σ weight · signal + base: 0 to 1; 0 where nothing was found."""
    if not found:
        return 0.0
    total = weights.get("base", 0.0) + math.fsum(weights.get(name, 0.0) * value for name, value in found.items())
    return float(1 / (1 + np.exp(-np.clip(total, -50, 50))))
