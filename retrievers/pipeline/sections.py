"""Sections scored for a question: a search that stops before its walk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hybrid_core.types.documents import Document
from hybrid_core.types.requests import SearchRequest
from retrievers.pages.scores import PageScores, best_pages
from retrievers.pipeline.state import SearchState


@dataclass(frozen=True, slots=True)
class SectionScores:
    """(NodeScore, best pages) of every section of a document, by node_id, as a search of the library has them.

    ``notes`` say what the user should know, as those of a search do.
    """

    query: str
    document: Document
    sections: Mapping[str, tuple[float, tuple[int, ...]]]
    notes: tuple[str, ...] = ()


def of_document(
    request: SearchRequest, document: Document, score: Callable[[SearchRequest], SearchState]
) -> SectionScores:
    """A document's sections by the search that ``score`` makes of the library.

    Where that search does not look into the document, its sections are scored by a search of this document alone, and
    a note says so: with none of its pages compared they would all be 0.
    """
    found = of_documents(score(request), document)
    if found:
        return found[0]
    note = (
        f"a search of the library does not look into {document.name} for this question: "
        "its sections are scored by a search of it alone"
    )
    alone = of_documents(score(replace(request, documents=(document.doc_id,))), document)
    made = alone[0] if alone else SectionScores(request.question, document, {})
    return replace(made, notes=(note, *made.notes))


def of_documents(state: SearchState, only: Document | None = None) -> list[SectionScores]:
    """What a search knows of the sections of the documents that it looked into, best first."""
    return [
        _of(state.request.question, pages, state.notes)
        for pages in state.pages
        if only is None or pages.candidate.document.doc_id == only.doc_id
    ]


def _of(query: str, pages: PageScores, notes: tuple[str, ...]) -> SectionScores:
    document = pages.candidate.document
    scores = {
        section.node_id: (round(float(node), 4), best_pages(pages.values, section))
        for section, node in zip(pages.content.sections, pages.nodes, strict=True)
    }
    if not pages.nodes.any():
        notes = (*notes, f"no page of {document.name} is among the best hits: all its sections score 0")
    return SectionScores(query, document, scores, notes)
