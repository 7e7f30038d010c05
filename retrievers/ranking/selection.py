"""Select results: remove copies, share results among named documents, add variety, and rerank.

Pages are reranked by late interaction, a comparison token by token (Khattab and Zaharia 2020, "ColBERT"). It is the
slowest step, so only a fixed number of pages is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hybrid_core.text.tokens import tokenise
from hybrid_core.types.scoring import RerankScoring, SelectionScoring
from retrievers.ranking.walk import DocumentScores, PageRef, PageVisit
from retrievers.trees.content import cosine
from retrievers.trees.contents import PageTexts

T = TypeVar("T")

_EACH = 3  # maximum pages of a document in grouped results
_WEAK = 0.5  # minimum score of a document, as a share of the best, to be listed once at the top


@dataclass(frozen=True, slots=True)
class ResultSlot:
    """A page to return. ``also_in`` lists its copies, pages with nearly the same text."""

    visit: PageVisit
    also_in: tuple[PageVisit, ...] = ()


def select_pages(
    visits: Sequence[PageVisit], scores: Sequence[DocumentScores], top_k: int, lam: float, scoring: SelectionScoring
) -> list[ResultSlot]:
    """Return at most ``top_k`` of the visited pages, in display order, without copies.

    With ``lam`` below 1, pages with a lower score may replace similar ones (MMR). With ``lam`` 1, a smaller ``top_k``
    returns the beginning of the same list.
    """
    count = scoring.varied * top_k if lam < 1 else top_k
    chosen = _without_copies(visits, scores, count, scoring)
    return _varied(chosen[:count], scores, top_k, lam) if lam < 1 else chosen[:top_k]


def grouped(visits: Sequence[PageVisit], documents: int) -> list[PageVisit]:
    """Return the best pages of the best ``documents`` documents, grouped by document, best document first."""
    by_document: dict[int, list[PageVisit]] = {}
    for visit in visits:
        by_document.setdefault(visit.doc, []).append(visit)
    return [visit for pages in list(by_document.values())[:documents] for visit in pages[:_EACH]]


def one_of_each(
    visits: Sequence[PageVisit], scores: Sequence[DocumentScores], terms: Collection[str]
) -> Sequence[PageVisit]:
    """Move the best page of each matching document to the front. Other pages keep their order.

    Documents are sorted by score. A document whose whole title is among the ``terms`` gains the best score.
    """
    best = max((pages.candidate.score for pages in scores), default=0.0)
    worth = [pages.candidate.score + best * _titled(pages, terms) for pages in scores]
    first: dict[int, PageVisit] = {}
    for visit in visits:
        if worth[visit.doc] >= _WEAK * best:
            first.setdefault(visit.doc, visit)
    return _led_by(sorted(first.values(), key=lambda visit: -worth[visit.doc]), visits)


def shared_out(
    visits: Sequence[PageVisit], scores: Sequence[DocumentScores], doc_ids: Sequence[str], scoring: SelectionScoring
) -> Sequence[PageVisit]:
    """Reorder the pages so that these documents share the first ``scoring.first`` results equally.

    The best page of each document comes first. Pages of one document keep their order, as do all later pages. If fewer
    than two of the documents have pages, nothing changes.
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
    """Return the pages with those in ``leading`` moved to the front. Other pages keep their order."""
    chosen = {(visit.doc, visit.page) for visit in leading}
    return [*leading, *(visit for visit in visits if (visit.doc, visit.page) not in chosen)]


def mmr(items: Sequence[tuple[T, float]], k: int, lam: float, similar: Callable[[T, T], float]) -> list[T]:
    """Return at most ``k`` relevant items that differ from each other (maximal marginal relevance).

    Items are (item, relevance). Repeatedly take the item with the highest lam · relevance - (1 - lam) · (greatest
    similarity to the items taken). Relevance and similarity are 0 to 1. ``lam`` 1 sorts by relevance, 0 by difference.
    Ties go to the earlier item. Raise ValueError for a ``lam`` outside 0 to 1. Source: Carbonell and Goldstein 1998.
    """
    if not 0 <= lam <= 1:
        raise ValueError(f"lam (the weight of relevance against variety) is {lam}, but it must be between 0 and 1")
    left = list(range(len(items)))
    nearest = [0.0] * len(items)  # greatest similarity to the picked items
    picked: list[int] = []
    while left and len(picked) < k:
        best = max(left, key=lambda at: (lam * items[at][1] - (1 - lam) * nearest[at], -at))
        picked.append(best)
        left.remove(best)
        for at in left:
            nearest[at] = max(nearest[at], similar(items[best][0], items[at][0]))
    return [items[at][0] for at in picked]


def _without_copies(
    visits: Sequence[PageVisit], scores: Sequence[DocumentScores], count: int, scoring: SelectionScoring
) -> list[ResultSlot]:
    """Return the pages without copies, at least ``count`` if there are so many.

    Copies are listed with their originals. Only the first ``count`` pages are compared with others.
    """
    slots: list[ResultSlot] = []
    lengths: list[int] = []  # words on the page of each slot
    for visit in visits:
        words = int(scores[visit.doc].candidate.content.body.lengths[visit.page - 1])
        room = scoring.same_length * words
        alike = [at for at, length in enumerate(lengths) if -room <= length - words <= room]
        copy_of = next((at for at in alike if _same(scores, visit, slots[at].visit, scoring)), None)
        if copy_of is None:
            if len(slots) < count:
                lengths.append(words)
            slots.append(ResultSlot(visit))
        else:
            slots[copy_of] = replace(slots[copy_of], also_in=(*slots[copy_of].also_in, visit))
    return slots


def _same(scores: Sequence[DocumentScores], a: PageVisit, b: PageVisit, scoring: SelectionScoring) -> bool:
    """Return whether two pages are copies.

    They are if they are equal pages of equal files, or have nearly the same words in two documents.
    """
    first, second = scores[a.doc].candidate.content, scores[b.doc].candidate.content
    if first.content_id == second.content_id:
        return a.page == b.page
    first_vector, second_vector = _vector(scores, a), _vector(scores, b)
    return (
        abs(len(first_vector) - len(second_vector)) <= scoring.same_length * len(first_vector)
        and cosine(first_vector, second_vector) >= scoring.same
    )


def _varied(chosen: Sequence[ResultSlot], scores: Sequence[DocumentScores], top_k: int, lam: float) -> list[ResultSlot]:
    best = max((_slot_score(scores, slot) for slot in chosen), default=0.0)
    best = best if best > 0 else 1.0  # no page of a document that only its name matches has a score
    items = [(slot, _slot_score(scores, slot) / best) for slot in chosen]
    return mmr(items, top_k, lam, lambda a, b: cosine(_vector(scores, a.visit), _vector(scores, b.visit)))


def _titled(scores: DocumentScores, terms: Collection[str]) -> bool:
    title = set(tokenise(scores.candidate.document.title))
    return bool(title) and title <= set(terms)


def _slot_score(scores: Sequence[DocumentScores], slot: ResultSlot) -> float:
    return float(scores[slot.visit.doc].values[slot.visit.page - 1])


def _vector(scores: Sequence[DocumentScores], visit: PageVisit) -> dict[int, float]:
    return scores[visit.doc].candidate.content.vector(visit.page)


Floats = npt.NDArray[np.float64]


def rerank_gains(
    visits: Sequence[PageVisit],
    scores: Sequence[DocumentScores],
    compare: Callable[[Sequence[str]], npt.NDArray[np.float32]],
    texts: PageTexts,
    scoring: RerankScoring,
) -> dict[PageRef, float]:
    """Return score gains of the first pages from a model's comparison with the question.

    ``scoring.multi_vector_pages`` pages are compared. The best of them gains ``scoring.multi_vector`` and the last 0,
    so that none falls below a page that was not compared. So scores of any scale can be used. Raise the errors of the
    model.
    """
    places = [(visit.doc, visit.page) for visit in visits[: scoring.multi_vector_pages]]
    page_keys = [(scores[doc].content, page) for doc, page in places]
    different = list(dict.fromkeys(page_keys))
    scores_by_page = dict(zip(different, compare([page.text for page in texts.of(different)]), strict=True))
    if not places:
        return {}
    gains = scoring.multi_vector * _scaled(np.array([scores_by_page[visit] for visit in page_keys], np.float64))
    return dict(zip(places, gains.tolist(), strict=True))


def _scaled(scores: Floats) -> Floats:
    """Return the scores scaled linearly to 1 for the best and 0 for the last."""
    width = float(np.ptp(scores))
    return np.asarray((scores - scores.min()) / width if width > 0 else np.ones(len(scores)))
