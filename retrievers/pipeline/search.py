"""Run the stages of a search, add pages of an earlier answer, and score sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hybrid_core.types.documents import Document
from hybrid_core.types.notes import Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import SearchResult
from retrievers.candidates.documents import CandidateDocument
from retrievers.explain.receipts import trace
from retrievers.pipeline.candidate_stages import (
    coarse_stage,
    gather_stage,
    pages_stage,
    question_stage,
    routing_stage,
    spelling_stage,
)
from retrievers.pipeline.result_stages import (
    evidence_stage,
    places_stage,
    reasoning_stage,
    remaining_stage,
    rerank_stage,
    results_stage,
    selection_stage,
    walk_stage,
)
from retrievers.pipeline.state import (
    Candidates,
    Ranking,
    SearchResources,
    SearchState,
    Stage,
    Stages,
    inserted,
    run_stages,
    stage,
)
from retrievers.query.expert import together
from retrievers.ranking.walk import DocumentScores, PageVisit, best_pages

STAGES: Stages = (
    question_stage, coarse_stage, spelling_stage, routing_stage, gather_stage, pages_stage, walk_stage, remaining_stage,
    rerank_stage, places_stage, evidence_stage, reasoning_stage, selection_stage, results_stage,
)  # fmt: skip
"""The stages of every search. An engine can be given other stages (``Engine(stages=…)``)."""


def search(request: SearchRequest, resources: SearchResources, stages: Sequence[Stage] = STAGES) -> SearchResult:
    """Run a search and return its result. Pages that are removed in the meantime are left out, with a note.

    A failure of a model is noted in the result. Raise NotFoundError for an unknown document, and UsageError for an
    invalid filter condition.
    """
    state, laps = run_stages(stages, SearchState.begin(request, resources))
    candidates, ranking, outcome = state.candidates, state.ranking, state.outcome
    return SearchResult(
        query=request.question,
        library=", ".join(request.libraries),
        evidence=outcome.evidence,
        effort=state.effort_used,
        results=tuple(outcome.results),
        sections=tuple(outcome.sections),
        documents=tuple(outcome.documents),
        embedded_share=round(resources.embedding.share, 4),
        expert=together(ranking.expansions).sources,
        notes=_search_notes(state),
        timings_ms=laps,
        trace=None
        if ranking.walk is None
        else trace(candidates.page_hits, ranking.pages, ranking.walk, ranking.visits),
        sureness=outcome.sureness,
        reasoning=outcome.reasoning,
        usage=outcome.usage,
        route=candidates.choice.used,
    )


def _search_notes(state: SearchState) -> tuple[Note, ...]:
    query, gone = state.query, state.resources.contents.gone
    if query.scope is not None and not query.scope:
        filters = (*(query.request.documents or ()), *query.request.where)
        return (Note("search.no-document-matches", filters=filters),)
    notes = list(state.outcome.notes)
    if gone:
        view = state.resources.view
        names = sorted(view.documents[doc_id].name for doc_id, content in view.contents.entries() if content in gone)
        notes.append(Note("search.gone", names=names))
    if not state.ranking.pages:
        notes.append(Note("search.no-shared-word"))
    return tuple(notes)


_GAIN = 0.1  # gain of a page of the earlier answer that contains words of the question
_WHY = Note("route.earlier")


def with_earlier(pages: Sequence[tuple[str, int]], stages: Stages) -> Stages:
    """Return the stages, extended to consider pages (doc_id, number) of an earlier answer.

    Pages are ignored if they are no longer published or not in the searched documents.
    """
    if not pages:
        return stages
    cited = {doc_id: [page for owner, page in pages if owner == doc_id] for doc_id, _ in pages}

    @stage("earlier documents")
    def earlier_documents(candidates: Candidates, resources: SearchResources) -> Candidates:
        scope = candidates.choice.scope
        present = {candidate.document.doc_id for candidate in candidates.documents}
        added = []
        for doc_id in cited:
            document = resources.view.documents.get(doc_id)
            if document is None or doc_id in present or (scope is not None and doc_id not in scope):
                continue
            content = resources.cache.get(resources.contents, document.content_id)
            if content is not None:
                added.append(CandidateDocument(document, content, 0.0, 0.0, 0.0, _WHY))
        return replace(candidates, documents=[*candidates.documents, *added]) if added else candidates

    @stage("earlier")
    def earlier_pages(ranking: Ranking) -> Ranking:
        gains = {
            (doc, page): _GAIN
            for doc, scores in enumerate(ranking.pages)
            for page in cited.get(scores.candidate.document.doc_id, ())
            if page <= len(scores.values) and scores.values[page - 1]
        }
        reached = {(visit.doc, visit.page) for visit in ranking.visits}
        missed = [PageVisit(doc, page) for doc, page in gains if (doc, page) not in reached]
        return replace(ranking, visits=[*ranking.visits, *missed]).plus("earlier", gains) if gains else ranking

    return inserted(earlier_pages, "walk", inserted(earlier_documents, "gather", stages))


@dataclass(frozen=True, slots=True)
class SectionScores:
    """The NodeScore and the best pages of each section of a document, by node_id.

    NodeScore sums the scores of the hits in a section, reduced for large sections. ``notes`` are remarks for the user,
    as in a search result.
    """

    query: str
    document: Document
    sections: Mapping[str, tuple[float, tuple[int, ...]]]
    notes: tuple[Note, ...] = ()


def of_document(
    request: SearchRequest, document: Document, score: Callable[[SearchRequest], SearchState]
) -> SectionScores:
    """Return the section scores of one document, from a library search that ``score`` runs.

    If the search does not choose the document, all its scores would be 0. Then the document is searched alone, and a
    note says so.
    """
    sections = of_documents(score(request), document)
    if sections:
        return sections[0]
    note = Note("search.other-document", document=document.name)
    alone = of_documents(score(replace(request, documents=(document.doc_id,))), document)
    section_scores = alone[0] if alone else SectionScores(request.question, document, {})
    return replace(section_scores, notes=(note, *section_scores.notes))


def of_documents(state: SearchState, only: Document | None = None) -> list[SectionScores]:
    """Return the section scores of the documents that a search chose, best first.

    With ``only``, return those of this document alone.
    """
    return [
        _score_sections(state.query.request.question, pages, state.outcome.notes)
        for pages in state.ranking.pages
        if only is None or pages.candidate.document.doc_id == only.doc_id
    ]


def _score_sections(query: str, pages: DocumentScores, notes: tuple[Note, ...]) -> SectionScores:
    document = pages.candidate.document
    scores = {
        section.node_id: (round(float(node), 4), best_pages(pages.values, section))
        for section, node in zip(pages.content.sections, pages.nodes, strict=True)
    }
    if not pages.nodes.any():
        notes = (*notes, Note("search.no-page-of", document=document.name))
    return SectionScores(query, document, scores, notes)
