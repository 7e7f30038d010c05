"""What a closer look at pages does to their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from retrievers.pages.scores import PageScores, Place
from retrievers.pages.tree_walk import PageVisit


def gained(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], name: str, gains: Mapping[Place, float]
) -> tuple[list[PageVisit], list[PageScores]]:
    """The pages by their values with these gains, whose name is ``name``; equal ones stay in their order."""
    by_document: dict[int, dict[int, float]] = {}
    for (doc, page), gain in gains.items():
        by_document.setdefault(doc, {})[page] = gain
    after = [one.plus(name, by_document[doc]) if doc in by_document else one for doc, one in enumerate(scores)]
    return sorted(visits, key=lambda one: -after[one.doc].values[one.page - 1]), after
