"""Where a search looked, for those who ask why a page was not found."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.documents import Hit
from hybrid_core.types.results import Trace
from retrievers.pages.scores import PageScores, PageVisit
from retrievers.pages.tree_walk import WalkTrace


def trace(hits: Sequence[Hit], scores: Sequence[PageScores], steps: WalkTrace, visits: Sequence[PageVisit]) -> Trace:
    """Where one search looked. ``hits`` are those of the first stage, best first."""
    ids = [one.candidate.document.doc_id for one in scores]
    nodes = [[section.node_id for section in one.content.sections] for one in scores]
    return Trace(
        coarse=tuple((hit.doc_id, hit.page) for hit in hits),
        documents=tuple(ids),
        sections=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.seen),
        opened=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.opened),
        read=tuple((ids[one.doc], one.page) for one in visits),
    )
