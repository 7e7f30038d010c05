"""The first steps of every search: read the question, coarse pass, choose documents, value their pages and sections.

A search goes on from here to its results; a scored outline stops here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hybrid_core import text
from hybrid_core.store.contents import Contents
from hybrid_core.store.vectors import VectorIndex
from hybrid_core.types import Document, Hit
from retrievers import select
from retrievers.candidates import Valued, choose, value_pages
from retrievers.clock import Clock
from retrievers.coarse import Key, by_meaning, coarse_pass
from retrievers.content import ContentCache
from retrievers.expert import Advice, Expert
from retrievers.options import LibraryView, Meaning, SearchOptions, Weights
from retrievers.question import Question, read_question
from retrievers.reason.reasoner import Reasoner
from retrievers.route import Routing
from retrievers.routing.choose import Choice, Routed, choose_documents


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What is known of a question before its results are put in order.

    ``scope`` are the doc_ids that filters leave, None without one. ``coarse`` are the scores of ``hits``, 1 for the
    best. ``asked`` are the question's terms that pages are scored by, ``inside`` these and what expert knowledge adds.
    ``near`` are the hits by meaning within the documents looked into, which ``valued`` holds, best first.
    """

    question: Question
    advice: Advice
    scope: frozenset[str] | None
    hits: Sequence[Hit]
    coarse: Mapping[Key, float]
    routed: Routed
    asked: Mapping[str, float]
    inside: Mapping[str, float]
    near: Mapping[Key, Hit]
    valued: list[Valued]
    notes: tuple[str, ...] = ()

    @property
    def routing(self) -> Routing:
        return self.routed.routing


def score(
    question_text: str,
    options: SearchOptions,
    view: LibraryView,
    contents: Contents,
    index: VectorIndex,
    cache: ContentCache,
    expert: Expert,
    meaning: Meaning,
    weights: Weights,
    reasoner: Reasoner | None,
    clock: Clock,
) -> Scored:
    """Raises as ``retrievers.pipeline.search`` does."""
    question = read_question(question_text)
    scope = searched(view, options)
    cards = view.router.route(question)
    clock.lap("question")

    advice = expert.advise(question_text, view.types(scope))
    words = {**advice.terms, **dict.fromkeys(question.terms, 1.0)}
    query = {text.cached_hash(term): weight for term, weight in words.items()}
    hits = coarse_pass(index, query, meaning, view.documents, scope, weights)
    clock.lap("coarse")

    documents = view.documents if scope is None else {doc_id: view.documents[doc_id] for doc_id in scope}
    choice = Choice(question, cards, hits, documents, scope, weights)
    routed = choose_documents(options.route, choice, options.effort, reasoner)
    routing = routed.routing
    if routed.scope != scope:
        hits = coarse_pass(index, query, meaning, view.documents, routed.scope, weights)
    clock.lap("routing")
    best_hit = max((hit.score for hit in hits), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best_hit for hit in hits}

    def hits_within(document: Document) -> list[Hit]:
        only, many = {document.doc_id: document}, replace(weights, coarse_hits=weights.pages // 2)
        return coarse_pass(index, query, meaning, only, frozenset(only), many)

    candidates = choose(hits, routing, view, routed.scope, contents, cache, weights, hits_within)
    clock.lap("gather")

    asked = _inside_query(question, routing)
    inside = {**advice.terms, **asked}
    inspected = [c.document.doc_id for c in candidates]
    near, similar = by_meaning(index, meaning, view.documents, inspected, weights, 2 * weights.coarse_hits)
    valued = value_pages(candidates, coarse, inside, advice.headings, similar, weights)
    if not any(one.values.any() for one in valued):  # nothing but what named the document occurs in it
        inside, asked = words, dict.fromkeys(question.terms, 1.0)
        valued = value_pages(candidates, coarse, inside, advice.headings, similar, weights)
    clock.lap("pages")
    notes = tuple(note for note in (meaning.note, *routed.notes) if note)
    return Scored(question, advice, scope, hits, coarse, routed, asked, inside, near, valued, notes)


def searched(view: LibraryView, options: SearchOptions) -> frozenset[str] | None:
    """The doc_ids that a filter leaves, None without a filter. Raises as ``search`` does."""
    if not options.documents and not options.where:
        return None
    documents = list(view.documents.values())
    if options.documents:
        documents = select.by_name(documents, options.documents)
    return frozenset(d.doc_id for d in select.where(documents, options.where))


def _inside_query(question: Question, routing: Routing) -> dict[str, float]:
    """The terms to score pages by: what named the document holds on all its pages and is left out."""
    kept = [term for term in question.terms if term not in routing.matched_terms] or list(question.terms)
    return dict.fromkeys(kept, 1.0)
