"""Results by document: all pages of one together, or of each its best page first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hybrid_core.text.tokens import tokenise
from retrievers.pages.scores import PageScores, PageVisit

_EACH = 3  # pages shown of a document where results are grouped
_WEAK = 0.5  # a document whose score is below this share of the best has no place by right


def grouped(visits: Sequence[PageVisit], documents: int) -> list[PageVisit]:
    """The best pages of each of so many documents, together, the document with the best page first."""
    by_document: dict[int, list[PageVisit]] = {}
    for one in visits:
        by_document.setdefault(one.doc, []).append(one)
    return [one for pages in list(by_document.values())[:documents] for one in pages[:_EACH]]


def one_of_each(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], asked: Collection[str]
) -> Sequence[PageVisit]:
    """The best page of each document that fits, then the other pages in their order.

    Documents stand by their scores; one whose whole title is ``asked`` for gains what the best score is.
    """
    best = max((one.candidate.score for one in scores), default=0.0)
    worth = {doc: one.candidate.score + best * _titled(one, asked) for doc, one in enumerate(scores)}
    first: dict[int, PageVisit] = {}
    for one in visits:
        if worth[one.doc] >= _WEAK * best:
            first.setdefault(one.doc, one)
    leading = sorted(first.values(), key=lambda one: -worth[one.doc])
    chosen = {(one.doc, one.page) for one in leading}
    return [*leading, *(one for one in visits if (one.doc, one.page) not in chosen)]


def _titled(scores: PageScores, asked: Collection[str]) -> bool:
    title = set(tokenise(scores.candidate.document.title))
    return bool(title) and title <= set(asked)
