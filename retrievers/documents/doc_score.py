"""DocScore: the hits in a document gathered, Σ s / √(N + 1) over its N hits, s being a hit's score divided by the
question's best (PageIndex's document score). Many middling hits can outweigh one good one, but only by their square
root."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from hybrid_core.types.documents import Hit


def gather(scores: Iterable[float]) -> float:
    """Σ s / √(N + 1); 0 for no hits. Higher is better."""
    found = list(scores)
    return sum(found) / math.sqrt(len(found) + 1)


def doc_scores(hits: Sequence[Hit]) -> dict[str, float]:
    """DocScore of every document that has a hit."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return {}
    grouped: dict[str, list[float]] = {}
    for hit in hits:
        grouped.setdefault(hit.doc_id, []).append(hit.score / best)
    return {doc_id: gather(scores) for doc_id, scores in grouped.items()}
