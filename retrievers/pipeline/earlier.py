"""Pages that an earlier answer of a conversation rests on are candidates for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrievers.documents.candidates import CandidateDocument
from retrievers.pages.scores import PageVisit
from retrievers.pipeline.stage import Stage, Stages, inserted
from retrievers.pipeline.state import SearchState

_GAIN = 0.1  # of a page that the question's words speak for too: beside equals it leads
_WHY = "an earlier answer rests on it"


def with_earlier(pages: Sequence[tuple[str, int]], stages: Stages) -> Stages:
    """A row of stages that also looks at these pages (doc_id, number), where they are still published and searched."""
    if not pages:
        return stages
    wanted = {doc_id: [page for one, page in pages if one == doc_id] for doc_id, _ in pages}

    def documents(state: SearchState) -> SearchState:
        opened, scope = state.resources, state.choice.scope
        known = {one.document.doc_id for one in state.candidates}
        added = []
        for doc_id in wanted:
            document = opened.view.documents.get(doc_id)
            if document is None or doc_id in known or (scope is not None and doc_id not in scope):
                continue
            content = opened.cache.get(opened.contents, document.content_id)
            if content is not None:
                added.append(CandidateDocument(document, content, 0.0, 0.0, 0.0, _WHY))
        return replace(state, candidates=[*state.candidates, *added]) if added else state

    def preferred(state: SearchState) -> SearchState:
        gains = {
            (doc, page): _GAIN
            for doc, one in enumerate(state.pages)
            for page in wanted.get(one.candidate.document.doc_id, ())
            if page <= len(one.values) and one.values[page - 1]
        }
        reached = {(visit.doc, visit.page) for visit in state.visits}
        missed = [PageVisit(doc, page) for doc, page in gains if (doc, page) not in reached]
        return replace(state, visits=[*state.visits, *missed]).plus("earlier", gains) if gains else state

    row = inserted(Stage("earlier documents", documents), "gather", stages)
    return inserted(Stage("earlier", preferred), "walk", row)
