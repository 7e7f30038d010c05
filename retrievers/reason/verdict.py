"""What a model said about where the answer stands, and what that does to the order of the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retrievers.pages.scores import PageScores, PageVisit, Place
from retrievers.reason.board import Board

NAME = "reasoning"  # of what a verdict adds to a page
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


def reorder(
    verdict: Verdict, board: Board, visits: Sequence[PageVisit], scores: Sequence[PageScores], most: int
) -> tuple[list[PageVisit], list[PageScores], dict[Place, str]]:
    """The pages that were named first (``most`` at most), in that order; behind them all the others, by value as
    before. With values that say so, and a sentence for each named page.
    """
    said = dict.fromkeys(verdict.pages, "named by the model")
    for node in verdict.nodes:
        if not any(doc == node[0] and page in board.pages_of(node) for doc, page in verdict.pages):
            for page in board.best_pages(node, _PAGES_OF_A_NODE):
                said.setdefault((node[0], page), f"in {board.name(node)}, which the model named")
    said = dict(list(said.items())[:most])
    order = list(said)
    best = max((float(one.values.max(initial=0.0)) for one in scores), default=0.0)
    after = list(scores)
    for rank, (doc, page) in enumerate(order):
        lifted = best + _STEP * (len(order) - rank)
        after[doc] = after[doc].plus(
            NAME, {page: lifted - (float(scores[doc].values[page - 1]) or scores[doc].parts(page))}
        )
    held = {(one.doc, one.page): one for one in visits}
    first = [held.get(place, PageVisit(*place)) for place in order]
    rest = [one for one in visits if (one.doc, one.page) not in said]
    why = _first_sentences(verdict.reasoning)
    sentences = {
        place: f"{how}, {rank} of {len(order)}" + (f": {why}" if why else "")
        for rank, (place, how) in enumerate(said.items(), 1)
    }
    return [*first, *rest], after, sentences


def unique(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(places))


def _first_sentences(text: str, most: int = 240) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else one_line[: most - 1].rstrip() + "…"
