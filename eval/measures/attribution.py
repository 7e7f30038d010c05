"""Which stage of the search lost a question's page: the compass for making the engine better.

The stages follow the search: the document is chosen, its sections come up as candidates, some are opened, their pages
are reached, the best of those are returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eval.records.rankings import RankedPage
from eval.records.runs import STAGES, GoldPlace, QuestionRecord
from hybrid_core.types.results import Trace

FIRST = 5
"""A hit is a gold page among so many first results."""


@dataclass(frozen=True, slots=True)
class Loss:
    """``ceiling`` is the share of questions that may still be won after this stage, were all later ones perfect."""

    stage: str
    count: int
    share: float
    ceiling: float


def stage(
    gold: Sequence[GoldPlace],
    pages: Sequence[RankedPage],
    trace: Trace | None,
    ids: Mapping[str, str],
    sections: Callable[[str, int], Sequence[str]],
    first: int = FIRST,
) -> str:
    """Where a question ended: one of STAGES, "" where there is a miss and no trace. The gold that came furthest counts.

    ``ids`` are doc_ids by document name; ``sections`` gives the node_ids of the sections that have text on a page.
    """
    wanted = [(place.document, page) for place in gold if place.page is not None for page in (place.page, *place.also)]
    if not wanted:
        return "no gold placed"
    if any((page.document, page.page) in wanted for page in pages[:first]):
        return "hit"
    if trace is None:
        return ""
    ended = [_ended(ids.get(document, ""), page, sections(document, page), trace) for document, page in wanted]
    return max(ended, key=STAGES.index)


def _ended(doc_id: str, page: int, sections: Sequence[str], trace: Trace) -> str:
    if doc_id not in trace.documents:
        return "wrong document"
    if (doc_id, page) in trace.read:
        return "not ranked"
    if any((doc_id, section) in trace.opened for section in sections):
        return "wrong page"
    if any((doc_id, section) in trace.sections for section in sections):
        return "section not chosen"
    return "section not a candidate"


def losses(records: Sequence[QuestionRecord]) -> tuple[Loss, ...]:
    """The table of a run, in the order of the stages, hits last; empty where no question has a stage.

    Questions without an answer or without gold on pages do not count, but gold that found no place has its row.
    """
    counts = Counter(record.stage for record in records if record.stage)
    total, left = counts.total(), counts.total()
    rows = []
    for name in STAGES:
        if name != "hit":
            left -= counts[name]
        if total:
            rows.append(Loss(name, counts[name], counts[name] / total, left / total))
    return tuple(rows)
