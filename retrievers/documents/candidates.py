"""The documents whose pages are candidates: those with hits, and those that the question names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.types.documents import Document, Hit
from hybrid_core.types.scoring import DocumentScoring
from retrievers.documents.content import Content
from retrievers.documents.content_cache import ContentCache
from retrievers.documents.doc_score import doc_scores
from retrievers.documents.fusion import normalised, ranked, weighted
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Routing


@dataclass(frozen=True, slots=True)
class CandidateDocument:
    """``score`` is ``doc_score`` (best 1) + weight · ``routing`` (at most 1). ``searched`` says that the best of all
    its pages are candidates, not its hits alone."""

    document: Document
    content: Content
    score: float
    doc_score: float
    routing: float
    reason: str
    searched: bool = True


def candidate_documents(
    hits: Sequence[Hit],
    page_hits: Sequence[Hit],
    routing: Routing,
    view: LibraryView,
    scope: frozenset[str] | None,
    contents: Contents,
    cache: ContentCache,
    scoring: DocumentScoring,
    apart: Collection[str] = (),
) -> list[CandidateDocument]:
    """Return every document with a hit and every one that the question names, best first.

    ``hits`` compare documents, ``page_hits`` their pages. Searched wholly are the documents named most surely, those of
    ``apart``, those of the best DocScores, and all of a scope of few. Documents that are gone are left out.
    """
    found = normalised(doc_scores(hits))
    routed = routing.scores if scope is None else {d: s for d, s in routing.scores.items() if d in scope}
    few = scope if scope is not None and len(scope) <= scoring.most else ()
    apart = [doc_id for doc_id in apart if scope is None or doc_id in scope]
    searched = dict.fromkeys((*ranked(routed, scoring.most), *apart, *ranked(found, scoring.best), *sorted(few)))
    scores = weighted([(1.0, found), (scoring.cards, {d: routed.get(d, 0.0) for d in searched})])
    among = dict.fromkeys((*searched, *(hit.doc_id for hit in page_hits if scope is None or hit.doc_id in scope)))
    order = ranked({doc_id: scores.get(doc_id, 0.0) for doc_id in among}, len(among))
    documents = [view.documents[doc_id] for doc_id in order]
    read = cache.get_all(contents, [document.content_id for document in documents])
    return [
        CandidateDocument(
            document, read[document.content_id], scores.get(document.doc_id, 0.0), found.get(document.doc_id, 0.0),
            routed.get(document.doc_id, 0.0), routing.reasons.get(document.doc_id, ""), document.doc_id in searched,
        )
        for document in documents
        if document.content_id in read
    ]  # fmt: skip
