"""What a closer look at the best pages changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from retrievers.documents.candidates import Valued
from retrievers.pages.tree_walk import Reached


@dataclass(frozen=True, slots=True)
class Raised:
    """Pages in their new order, the values that say so, and what was added, by (document, page).

    ``note`` says why nothing was compared where that was asked for.
    """

    reached: list[Reached]
    valued: list[Valued]
    added: Mapping[tuple[int, int], float] = field(default_factory=dict)
    note: str = ""


def raised(reached: Sequence[Reached], valued: Sequence[Valued], gains: Sequence[float]) -> Raised:
    """The first pages with these gains (0 or more) in the order of their new values, the others behind them."""
    best, rest = list(reached[: len(gains)]), reached[len(gains) :]
    added = {(one.doc, one.page): gain for one, gain in zip(best, gains, strict=True)}
    values = {doc: valued[doc].values.copy() for doc, _ in added}
    for (doc, page), gain in added.items():
        values[doc][page - 1] += gain
    best.sort(key=lambda one: -values[one.doc][one.page - 1])
    again = [replace(one, values=values.get(doc, one.values)) for doc, one in enumerate(valued)]
    return Raised([*best, *rest], again, added)
