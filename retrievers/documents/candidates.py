"""The documents whose pages are candidates, what their hits are worth, and where expert knowledge speaks.

Candidates are the documents with hits and those that the question names. Several scorings of the same things are added
up as weighted sums of their scores, which a search does unless another fusion is asked for, or of their reciprocal
ranks: those forget by how much one thing is better, and rankers of unequal strength then hurt (docs/lab/retrieval.md).
Expert knowledge expands a question document by document, in documents of the types that an entry speaks of; where the
question names documents, in those alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import TypeVar

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.types.documents import Document, Hit
from hybrid_core.types.scoring import DocumentScoring, ExpansionScoring
from retrievers.documents.content import Content
from retrievers.documents.content_cache import ContentCache
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Routing
from retrievers.query.expert import NO_EXPANSION, Expansion, Expert


def gather(scores: Iterable[float]) -> float:
    """Return Σ s / √(N + 1), 0 for no hits; higher is better."""
    values = list(scores)
    return sum(values) / math.sqrt(len(values) + 1)


def doc_scores(hits: Sequence[Hit]) -> dict[str, float]:
    """Return the DocScore of every document that has a hit: its hits gathered, each divided by the question's best.

    Many middling hits can outweigh one good one, but only by their square root. Source: PageIndex's document score.
    """
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:
        return {}
    grouped: dict[str, list[float]] = {}
    for hit in hits:
        grouped.setdefault(hit.doc_id, []).append(hit.score / best)
    return {doc_id: gather(scores) for doc_id, scores in grouped.items()}


K = TypeVar("K", bound=Hashable)


def normalised(scores: Mapping[K, float]) -> dict[K, float]:
    """Divide scores by the best: 0 to 1. All are 0 where none is above 0."""
    best = max(scores.values(), default=0.0)
    return {key: max(score, 0.0) / best if best > 0 else 0.0 for key, score in scores.items()}


def weighted(parts: Sequence[tuple[float, Mapping[K, float]]]) -> dict[K, float]:
    """Return Σ weight · score over the parts; what a part does not name has 0 there. Higher is better."""
    total: dict[K, float] = {}
    for weight, scores in parts:
        for key, score in scores.items():
            total[key] = total.get(key, 0.0) + weight * score
    return total


def reciprocal_ranks(parts: Sequence[Mapping[K, float]], k: float) -> dict[K, float]:
    """Return Σ 1/(k + rank) over the parts, ranks from 1: Reciprocal Rank Fusion.

    What a part does not name, or scores 0, has no rank there. Higher is better. Source: Cormack, Clarke and Büttcher
    2009.
    """
    total: dict[K, float] = {}
    for scores in parts:
        for rank, key in enumerate(ranked({key: score for key, score in scores.items() if score > 0}), 1):
            total[key] = total.get(key, 0.0) + 1 / (k + rank)
    return total


def ranked(scores: Mapping[K, float], limit: int | None = None) -> list[K]:
    """Rank keys by falling score, all or the first ``limit``. Ties go by the keys' text, so that answers repeat."""
    if limit is not None and limit < len(scores):
        lowest = nlargest(limit, scores.values())[-1]
        scores = {key: score for key, score in scores.items() if score >= lowest}
    return sorted(scores, key=lambda key: (-scores[key], str(key)))[:limit]


@dataclass(frozen=True, slots=True)
class ExpansionScope:
    """``by_type`` is by document type; ``named`` are the documents it is restricted to, None for no restriction."""

    by_type: Mapping[str, Expansion] = field(default_factory=dict)
    named: frozenset[str] | None = None

    def of(self, document: Document) -> Expansion:
        """Return the expansion that applies to a document."""
        if self.named is not None and document.doc_id not in self.named:
            return NO_EXPANSION
        return self.by_type.get(document.card.type, NO_EXPANSION)

    def groups(self, view: LibraryView, scope: Collection[str] | None) -> list[tuple[Expansion, frozenset[str] | None]]:
        """Return each expansion with the documents of a scope that it applies to; None for all of the scope."""
        if self.named is None and len(view.types(scope) - self.by_type.keys()) == 0 and len(self._different()) == 1:
            return [(expansion, None) for expansion in self._different()]
        searched = self.named if self.named is not None else scope
        groups: list[tuple[Expansion, frozenset[str] | None]] = []
        for expansion in self._different():
            types = [kind for kind, expanded in self.by_type.items() if expanded is expansion]
            doc_ids = view.of_types(types, searched)
            if doc_ids:
                groups.append((expansion, doc_ids))
        return groups

    def _different(self) -> list[Expansion]:
        return list({id(expansion): expansion for expansion in self.by_type.values()}.values())


def expansion_scope(
    expert: Expert,
    question: str,
    names: Collection[str],
    scores: Mapping[str, float],
    view: LibraryView,
    scope: frozenset[str] | None,
    scoring: ExpansionScoring,
) -> ExpansionScope:
    """``names`` are those in the question that documents are linked by; ``scores`` says how surely it names each, 0
    to 1, and counts as named from ``scoring.named`` on."""
    by_type = expert.expand(question, view.types(scope), names, scoring.full_terms)
    if not by_type:
        return ExpansionScope()
    named = frozenset(d for d, score in scores.items() if score >= scoring.named and (scope is None or d in scope))
    everything = len(named) == len(view.documents if scope is None else scope)
    return ExpansionScope(by_type, None if everything or not named else named)


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
