"""Where a search looked, for those who ask why a page was not found."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.documents import Hit
from hybrid_core.types.results import Trace
from retrievers.documents.candidates import Valued
from retrievers.pages.tree_walk import Reached, Steps


def trace(hits: Sequence[Hit], valued: Sequence[Valued], steps: Steps, reached: Sequence[Reached]) -> Trace:
    """The stages of one search. ``hits`` are those of the coarse pass, best first."""
    ids = [one.candidate.document.doc_id for one in valued]
    nodes = [[section.node_id for section in one.candidate.content.sections] for one in valued]
    return Trace(
        coarse=tuple((hit.doc_id, hit.page) for hit in hits),
        documents=tuple(ids),
        sections=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.seen),
        opened=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.opened),
        read=tuple((ids[one.doc], one.page) for one in reached),
    )
