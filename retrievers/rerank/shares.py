"""Each of several documents that a question names has its share of the first results."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.scoring import SelectionScoring
from retrievers.pages.scores import PageScores, PageVisit


def shared_out(
    visits: Sequence[PageVisit], scores: Sequence[PageScores], doc_ids: Sequence[str], scoring: SelectionScoring
) -> Sequence[PageVisit]:
    """Return the pages with those of each document among the first ``slots_within``, as many of each as fit.

    The best page of each document comes first. Pages of a document stay in their order, and so do all that follow.
    With fewer than two documents that have pages, nothing changes.
    """
    named = [doc for doc, one in enumerate(scores) if one.candidate.document.doc_id in doc_ids]
    present = {one.doc for one in visits}
    named = [doc for doc in named if doc in present]
    if len(named) < 2:
        return visits
    share, over = divmod(scoring.slots_within, len(named))
    left = dict.fromkeys(named, share)
    leading: dict[int, PageVisit] = {}
    first: list[PageVisit] = []
    for one in visits:
        if one.doc not in left or not (left[one.doc] or over):
            continue
        if left[one.doc]:
            left[one.doc] -= 1
        else:
            over -= 1
        if one.doc in leading:
            first.append(one)
        else:
            leading[one.doc] = one
    first = [*leading.values(), *first]
    chosen = {(one.doc, one.page) for one in first}
    return [*first, *(one for one in visits if (one.doc, one.page) not in chosen)]
