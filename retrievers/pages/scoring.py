"""The first steps of every search: read the question, coarse pass, choose documents, value their pages and sections.

A search goes on from here to its results; a scored outline stops here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.types.documents import Hit
from hybrid_core.types.requests import SearchRequest
from retrievers.documents import select
from retrievers.documents.candidates import Valued, Wanted, choose
from retrievers.documents.route import Routing
from retrievers.documents.routing.choose import Choice, Routed, choose_documents
from retrievers.explain.clock import Clock
from retrievers.pages.coarse import Key, by_meaning
from retrievers.pages.content import ContentCache
from retrievers.pages.hearing import CoarsePass, hear, value_heard
from retrievers.query.expert import Advice, Expert
from retrievers.query.options import LibraryView, Meaning
from retrievers.query.question import Question, read_question
from retrievers.reason.reasoner import Reasoner


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What is known of a question before its results are put in order.

    ``scope`` are the doc_ids that filters leave, None without one. ``coarse`` are the scores of ``hits``, 1 for the
    best. ``asked`` are the question's terms that pages are scored by. ``valued`` are the documents looked into, best
    first; of each ``advice`` is what expert knowledge says in it, ``wanted`` the terms together, and ``near`` are the
    hits by meaning within them.
    """

    question: Question
    advice: Sequence[Advice]
    scope: frozenset[str] | None
    hits: Sequence[Hit]
    coarse: Mapping[Key, float]
    routed: Routed
    asked: Mapping[str, float]
    wanted: Sequence[Wanted]
    near: Mapping[Key, Hit]
    valued: list[Valued]
    notes: tuple[str, ...] = ()

    @property
    def routing(self) -> Routing:
        return self.routed.routing


def score(
    request: SearchRequest,
    view: LibraryView,
    contents: Contents,
    index: VectorIndex,
    cache: ContentCache,
    expert: Expert,
    meaning: Meaning,
    reasoner: Reasoner | None,
    clock: Clock,
) -> Scored:
    """Raises as ``retrievers.pipeline.search`` does."""
    scoring = request.scoring
    question = read_question(request.question)
    scope = searched(view, request)
    cards = view.router.route(question)
    clock.lap("question")

    named = {} if request.route == "semantic" else cards.scores
    hearing = hear(expert, request.question, cards.names, named, view, scope, scoring.expansion)
    coarsely = CoarsePass(index, dict.fromkeys(question.terms, 1.0), hearing, meaning, view, request)
    hits, heard = coarsely.hits(scope)
    clock.lap("coarse")

    documents = view.documents if scope is None else {doc_id: view.documents[doc_id] for doc_id in scope}
    choice = Choice(question, cards, hits, documents, scope, scoring.documents)
    routed = choose_documents(request.route, choice, request.effort, reasoner)
    routing = routed.routing
    if routed.scope != scope:
        hits, heard = coarsely.hits(routed.scope)
    clock.lap("routing")
    best_hit = max((hit.score for hit in heard), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best_hit for hit in heard}
    candidates, left_out = choose(
        hits, routing, view, routed.scope, contents, cache, scoring.documents, coarsely.within
    )
    clock.lap("gather")

    asked = _inside_query(question, routing)
    inspected = [c.document.doc_id for c in candidates]
    near, similar = by_meaning(
        index, meaning, view.documents, inspected, scoring.first_stage, 2 * scoring.first_stage.hits
    )
    wanted, valued = value_heard(candidates, asked, hearing, coarse, similar, scoring, request.fusion)
    if not any(one.values.any() for one in valued):  # nothing but what named the document occurs in it
        asked = dict.fromkeys(question.terms, 1.0)
        wanted, valued = value_heard(candidates, asked, hearing, coarse, similar, scoring, request.fusion)
    clock.lap("pages")
    notes = tuple(note for note in (meaning.note, *routed.notes, *left_out) if note)
    advice = [hearing.of(candidate.document) for candidate in candidates]
    return Scored(question, advice, scope, heard, coarse, routed, asked, wanted, near, valued, notes)


def searched(view: LibraryView, request: SearchRequest) -> frozenset[str] | None:
    """The doc_ids that a filter leaves, None without a filter. Raises as ``search`` does."""
    if not request.documents and not request.where:
        return None
    documents = list(view.documents.values())
    if request.documents:
        documents = select.by_name(documents, request.documents)
    return frozenset(d.doc_id for d in select.where(documents, request.where))


def _inside_query(question: Question, routing: Routing) -> dict[str, float]:
    """The terms to score pages by: what named the document holds on all its pages and is left out."""
    kept = [term for term in question.terms if term not in routing.matched_terms] or list(question.terms)
    return dict.fromkeys(kept, 1.0)
