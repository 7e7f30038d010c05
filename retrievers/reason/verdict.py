"""What a model said about where the answer stands, and what that does to the order of the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from retrievers.documents.candidates import Valued
from retrievers.pages.tree_walk import Reached
from retrievers.reason.board import Board, Place

_STEP = 0.01  # between the pages named, above the best value that the deterministic walk gave
_PAGES_OF_A_NODE = 3  # a section named without a page of it stands for its best ones


@dataclass(frozen=True, slots=True)
class Verdict:
    """Pages as (document, page) and sections as (document, index), the best first, and why."""

    pages: tuple[Place, ...] = ()
    nodes: tuple[Place, ...] = ()
    reasoning: str = ""

    def __bool__(self) -> bool:
        return bool(self.pages or self.nodes)


@dataclass(frozen=True, slots=True)
class Reordered:
    """Pages in their new order, values that say so, what was added to them, and a sentence for each named page."""

    reached: list[Reached]
    valued: list[Valued]
    added: dict[Place, float] = field(default_factory=dict)
    verdicts: dict[Place, str] = field(default_factory=dict)


def reorder(
    verdict: Verdict, board: Board, reached: Sequence[Reached], valued: Sequence[Valued], most: int
) -> Reordered:
    """The pages that were named first (``most`` at most), in that order; behind them all the others, by value as
    before.

    A named page gains what lifts it above every other, so that values still say the order.
    """
    said = dict.fromkeys(verdict.pages, "named by the model")
    for node in verdict.nodes:
        if not any(doc == node[0] and page in board.pages_of(node) for doc, page in verdict.pages):
            for page in board.best_pages(node, _PAGES_OF_A_NODE):
                said.setdefault((node[0], page), f"in {board.name(node)}, which the model named")
    said = dict(list(said.items())[:most])
    order = list(said)
    best = max((float(one.values.max(initial=0.0)) for one in valued), default=0.0)
    values = [one.values.copy() for one in valued]
    added = {}
    for rank, (doc, page) in enumerate(order):
        lifted = best + _STEP * (len(order) - rank)
        added[doc, page] = lifted - _parts(valued[doc], page)
        values[doc][page - 1] = lifted
    held = {(one.doc, one.page): one for one in reached}
    first = [held.get(place, Reached(*place, opened=0)) for place in order]
    rest = [one for one in reached if (one.doc, one.page) not in said]
    why = _first_sentences(verdict.reasoning)
    return Reordered(
        [*first, *rest],
        [replace(one, values=new) for one, new in zip(valued, values, strict=True)],
        added,
        {place: f"{how}, {rank} of {len(order)}" + (f": {why}" if why else "")
         for rank, (place, how) in enumerate(said.items(), 1)},
    )  # fmt: skip


def _parts(one: Valued, page: int) -> float:
    """A page's value; of a page that nothing speaks for what its document and sections would have given it."""
    value = float(one.values[page - 1])
    return value or float(one.from_page[page - 1] + one.from_document + one.from_structure[page - 1])


def unique(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(places))


def _first_sentences(text: str, most: int = 240) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else one_line[: most - 1].rstrip() + "…"
