"""Which of the visited pages are returned, and in which order.

Each named document has its share of the first results; results may be grouped by document; copies are shown once;
and where variety is asked for, results differ (MMR).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hybrid_core.text.tokens import tokenise
from hybrid_core.types.scoring import SelectionScoring
from retrievers.documents.content import cosine
from retrievers.pages.scores import PageScores, PageVisit

T = TypeVar("T")

_EACH = 3  # pages shown of a document where results are grouped
_WEAK = 0.5  # a document whose score is below this share of the best has no place by right


@dataclass(frozen=True, slots=True)
class ResultSlot:
    """A page to return; ``also_in`` names pages with the same text."""

    visit: PageVisit
    also_in: tuple[PageVisit, ...] = ()


def select_pages(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], top_k: int, lam: float, scoring: SelectionScoring
) -> list[ResultSlot]:
    """Return at most ``top_k`` of the visited pages (best first), in the order to show them.

    ``lam`` below 1 trades value for variety (MMR). With ``lam`` 1 the first n pages of a longer list are the list of n.
    """
    most = scoring.varied * top_k if lam < 1 else top_k
    chosen = _without_copies(visits, scores, most, scoring)
    return _varied(chosen[:most], scores, top_k, lam) if lam < 1 else chosen[:top_k]


def grouped(visits: Sequence[PageVisit], documents: int) -> list[PageVisit]:
    """Return the best pages of each of so many documents, together, the document with the best page first."""
    by_document: dict[int, list[PageVisit]] = {}
    for visit in visits:
        by_document.setdefault(visit.doc, []).append(visit)
    return [visit for pages in list(by_document.values())[:documents] for visit in pages[:_EACH]]


def one_of_each(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], terms: Collection[str]
) -> Sequence[PageVisit]:
    """Return the best page of each document that fits, then the other pages in their order.

    Documents stand by their scores; one whose whole title is among the ``terms`` gains what the best score is.
    """
    best = max((pages.candidate.score for pages in scores), default=0.0)
    worth = [pages.candidate.score + best * _titled(pages, terms) for pages in scores]
    first: dict[int, PageVisit] = {}
    for visit in visits:
        if worth[visit.doc] >= _WEAK * best:
            first.setdefault(visit.doc, visit)
    return _led_by(sorted(first.values(), key=lambda visit: -worth[visit.doc]), visits)


def shared_out(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], doc_ids: Sequence[str], scoring: SelectionScoring
) -> Sequence[PageVisit]:
    """Return the pages with those of each document among the ``scoring.first`` results, as many of each as fit.

    The best page of each document comes first. Pages of a document stay in their order, and so do all that follow.
    With fewer than two documents that have pages, nothing changes.
    """
    present = {visit.doc for visit in visits}
    named = [doc for doc in sorted(present) if scores[doc].candidate.document.doc_id in doc_ids]
    if len(named) < 2:
        return visits
    share, remainder = divmod(scoring.first, len(named))
    left = dict.fromkeys(named, share)
    leading: dict[int, PageVisit] = {}
    first: list[PageVisit] = []
    for visit in visits:
        if visit.doc not in left or not (left[visit.doc] or remainder):
            continue
        if left[visit.doc]:
            left[visit.doc] -= 1
        else:
            remainder -= 1
        if visit.doc in leading:
            first.append(visit)
        else:
            leading[visit.doc] = visit
    return _led_by([*leading.values(), *first], visits)


def _led_by(leading: Sequence[PageVisit], visits: Sequence[PageVisit]) -> list[PageVisit]:
    """Put some of the visited pages first; the others stay in their order."""
    chosen = {(visit.doc, visit.page) for visit in leading}
    return [*leading, *(visit for visit in visits if (visit.doc, visit.page) not in chosen)]


def mmr(items: Sequence[tuple[T, float]], k: int, lam: float, similar: Callable[[T, T], float]) -> list[T]:
    """Return at most ``k`` of (item, relevance), relevance and similarity between 0 and 1, that are not all the same.

    Maximal marginal relevance (Carbonell & Goldstein 1998): pick one after another the item with the highest
    lam · relevance - (1 - lam) · (its greatest similarity to what is picked already). ``lam`` 1 is the order of
    relevance, 0 looks at difference alone. Ties go to the earlier item. Raises ValueError for another ``lam``.
    """
    if not 0 <= lam <= 1:
        raise ValueError(f"lam is {lam}, it must be between 0 and 1")
    left = list(range(len(items)))
    nearest = [0.0] * len(items)  # greatest similarity to what is picked
    picked: list[int] = []
    while left and len(picked) < k:
        best = max(left, key=lambda at: (lam * items[at][1] - (1 - lam) * nearest[at], -at))
        picked.append(best)
        left.remove(best)
        for at in left:
            nearest[at] = max(nearest[at], similar(items[best][0], items[at][0]))
    return [items[at][0] for at in picked]


def _without_copies(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], most: int, scoring: SelectionScoring
) -> list[ResultSlot]:
    """Copies of the first ``most`` pages are left out and named with them; pages behind are not compared."""
    kept: list[ResultSlot] = []
    lengths: list[int] = []  # words on the first of the kept pages
    lengths_of = [one.content.body.lengths.tolist() for one in scores]
    for one in visits:
        words = lengths_of[one.doc][one.page - 1]
        room = scoring.same_length * words
        alike = (at for at, length in enumerate(lengths) if abs(length - words) <= room)
        copy_of = next((at for at in alike if _same(scores, one, kept[at].visit, scoring)), None)
        if copy_of is None:
            if len(kept) < most:
                lengths.append(words)
            kept.append(ResultSlot(one))
        else:
            kept[copy_of] = replace(kept[copy_of], also_in=(*kept[copy_of].also_in, one))
    return kept


def _same(scores: Sequence[PageScores], a: PageVisit, b: PageVisit, scoring: SelectionScoring) -> bool:
    """The same page of the same bytes, or the same words on a page of another document."""
    first, second = scores[a.doc].candidate.content, scores[b.doc].candidate.content
    if first.content_id == second.content_id:
        return a.page == b.page
    one, other = _vector(scores, a), _vector(scores, b)
    return abs(len(one) - len(other)) <= scoring.same_length * len(one) and cosine(one, other) >= scoring.same


def _varied(chosen: Sequence[ResultSlot], scores: Sequence[PageScores], top_k: int, lam: float) -> list[ResultSlot]:
    best = max((_value(scores, one) for one in chosen), default=1.0)
    items = [(one, _value(scores, one) / best) for one in chosen]
    return mmr(items, top_k, lam, lambda a, b: cosine(_vector(scores, a.visit), _vector(scores, b.visit)))


def _titled(scores: PageScores, terms: Collection[str]) -> bool:
    title = set(tokenise(scores.candidate.document.title))
    return bool(title) and title <= set(terms)


def _value(scores: Sequence[PageScores], one: ResultSlot) -> float:
    return float(scores[one.visit.doc].values[one.visit.page - 1])


def _vector(scores: Sequence[PageScores], one: PageVisit) -> dict[int, float]:
    return scores[one.doc].candidate.content.vector(one.page)
