"""Choose the documents of a search: by metadata and text, by a metadata filter, or by a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.types.documents import Document, Hit, Route
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.results import ReasoningStep, RouteUsed
from hybrid_core.types.scoring import DocumentScoring
from hybrid_core.types.usage import Usage
from retrievers.candidates.documents import doc_scores, normalised, ranked, weighted
from retrievers.candidates.router import CardScores
from retrievers.query.question import Question
from retrievers.reason.board import Described, SeenPage
from retrievers.reason.conditions import Condition, FilterMatch, apply, fields_of
from retrievers.reason.reasoner import REQUESTED, Reasoner

if TYPE_CHECKING:
    from retrievers.reason.asker import QuestionSession


BY_CARDS = Note("route.by-cards")
DEAD: Collection[EndpointFailure] = ("key", "model", "quota", "connection", "overload")  # another call would fail too
_WELL_READ_DOCUMENTS, _HITS_EACH = (
    4,
    3,
)  # documents of which so many of the best pages are read; of the others the best one
_TELLS = 0.4  # a card's score from which what matched is a reason
_WHY = 200  # characters of what a model says of its choice


@dataclass(frozen=True, slots=True)
class DocumentChoice:
    """The documents chosen for a search.

    ``scope`` are the documents to which the search is limited, None for all. ``routing`` are weights of documents.
    ``usage`` is that of the model. ``dead`` is True if the model cannot be reached, so that it should not be called
    again. ``picked`` are the documents that the model chose.
    """

    routing: CardScores
    scope: frozenset[str] | None
    used: RouteUsed = RouteUsed("auto", "auto")
    usage: Usage = field(default_factory=Usage)
    notes: tuple[Note, ...] = ()
    dead: bool = False
    picked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contenders:
    """The documents from which to choose for a question.

    ``documents`` are the searched documents. ``hits`` are those of the coarse pass. ``seen`` is a function that reads
    pages, given as (doc_id, page).
    """

    question: Question
    routing: CardScores
    hits: Sequence[Hit]
    documents: Mapping[str, Document]
    scope: frozenset[str] | None
    weights: DocumentScoring
    seen: Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], SeenPage]] = lambda _: {}

    def text_scores(self) -> dict[str, float]:
        """Return the DocScores of the documents, divided by the best one, 0 to 1."""
        return normalised(doc_scores(self.hits))

    def scores(self) -> dict[str, float]:
        """Return the combined DocScores and card scores, as the search uses them."""
        routed = {doc_id: score for doc_id, score in self.routing.scores.items() if doc_id in self.documents}
        return weighted([(1.0, self.text_scores()), (self.weights.cards, routed)])


def choose_documents(route: Route, contenders: Contenders, reasoner: Reasoner | None) -> DocumentChoice:
    """Choose documents by the requested route. If a model fails, use metadata, and add a note.

    ``auto`` uses metadata and text, and no model: a model that finds pages sees passages of all likely documents.
    ``metadata`` restricts the search to documents that match a filter. ``description`` prefers the documents that a
    model chooses. ``semantic`` ignores metadata.
    """
    if route == "semantic":
        routing = replace(contenders.routing, scores={}, reasons={})
        return DocumentChoice(routing, contenders.scope, RouteUsed(route, route, REQUESTED))
    if len(contenders.documents) < 2:
        return DocumentChoice(
            contenders.routing, contenders.scope, RouteUsed(route, "auto", Note("route.one-document"))
        )
    if route == "metadata":
        return _by_metadata(contenders, reasoner)
    if route == "description":
        return _by_description(contenders, reasoner)
    return DocumentChoice(contenders.routing, contenders.scope, RouteUsed("auto", "auto", BY_CARDS))


def _by_metadata(contenders: Contenders, reasoner: Reasoner | None) -> DocumentChoice:
    filtered: FilterMatch | None = None
    steps: tuple[ReasoningStep, ...] = ()
    failures: list[Note] = []
    usage, dead = Usage(), False
    if reasoner is not None:
        calls = _calls(reasoner, contenders)
        try:
            filtered = _filtered(contenders, calls)
        except ChatError as error:
            calls.step("failed", str(error))
            failures.append(Note("route.failed-filter", error=error.note))
            dead = error.failure in DEAD
        steps, usage = tuple(calls.steps), calls.usage
    if filtered is None:
        filtered = _filtered(contenders, None)
    notes = (*failures, *_dropped(filtered))
    if not filtered.conditions:
        why = Note("route.no-field", decided=BY_CARDS)
        used = RouteUsed("metadata", "auto", why, (), steps)
        return DocumentChoice(contenders.routing, contenders.scope, used, usage, (*notes, why), dead)
    reasons = {
        doc_id: Note.joined((contenders.routing.reasons.get(doc_id, NONE), _met(filtered)))
        for doc_id in filtered.documents
    }
    routing = replace(contenders.routing, reasons=reasons)
    used = RouteUsed("metadata", "metadata", REQUESTED, tuple(map(str, filtered.conditions)), steps)
    return DocumentChoice(routing, filtered.documents, used, usage, notes, dead)


def _by_description(contenders: Contenders, reasoner: Reasoner | None) -> DocumentChoice:
    if reasoner is None:
        why = Note("route.no-model", decided=BY_CARDS)
        return DocumentChoice(contenders.routing, contenders.scope, RouteUsed("description", "auto", why), notes=(why,))
    calls = _calls(reasoner, contenders)
    scores = {**dict.fromkeys(contenders.documents, 0.0), **contenders.scores()}
    try:
        return _picked(contenders, calls, ranked(scores))
    except ChatError as error:
        calls.step("failed", str(error))
        failed = Note("route.failed", error=error.note, decided=BY_CARDS)
        return _by_cards(contenders, calls, failed, dead=error.failure in DEAD)


def _picked(contenders: Contenders, calls: QuestionSession, shown: Sequence[str]) -> DocumentChoice:
    """Return a choice that ranks first the documents that a model picks from ``shown``.

    Raise ChatError if the model fails.
    """
    from retrievers.reason import document_prompts

    picked = document_prompts.pick(calls, _described(contenders, shown))
    if not picked.documents:
        return _by_cards(contenders, calls, Note("route.none-chosen", decided=BY_CARDS))
    calls.step("verdict", ", ".join(contenders.documents[doc_id].name for doc_id in picked.documents))
    reasons = dict.fromkeys(picked.documents, _with_reason(picked.reasoning))
    routing = preferred(contenders, picked.documents, reasons, contenders.weights.lead)
    used = RouteUsed("description", "description", REQUESTED, (), tuple(calls.steps))
    return DocumentChoice(routing, contenders.scope, used, calls.usage, picked=tuple(picked.documents))


def _by_cards(contenders: Contenders, calls: QuestionSession, why: Note, dead: bool = False) -> DocumentChoice:
    used = RouteUsed("description", "auto", why, (), tuple(calls.steps))
    return DocumentChoice(contenders.routing, contenders.scope, used, calls.usage, (why,), dead)


def _described(contenders: Contenders, shown: Sequence[str]) -> list[Described]:
    """Return the documents with the passages of their best hits, and why their cards match.

    The reason is left out if a document's card score is low, because then the cards of many documents match.
    """
    hits: dict[str, list[int]] = {}
    for hit in contenders.hits:
        if len(best_hits := hits.setdefault(hit.doc_id, [])) < _HITS_EACH and hit.page not in best_hits:
            best_hits.append(hit.page)
    few = {
        doc_id: hits.get(doc_id, [])[: _HITS_EACH if at < _WELL_READ_DOCUMENTS else 1]
        for at, doc_id in enumerate(shown)
    }
    seen = contenders.seen([(doc_id, page) for doc_id, pages in few.items() for page in pages])
    routing = contenders.routing
    return [
        Described(
            contenders.documents[doc_id],
            routing.reasons.get(doc_id, NONE) if routing.scores.get(doc_id, 0.0) >= _TELLS else NONE,
            {page: seen[doc_id, page] for page in hits.get(doc_id, ()) if (doc_id, page) in seen},
        )
        for doc_id in shown
    ]


def preferred(contenders: Contenders, doc_ids: Sequence[str], reasons: Mapping[str, Note], lead: float) -> CardScores:
    """Return the routing with the documents ``doc_ids`` ranked first, in this order.

    The first exceeds all other documents by ``lead``, each later one by a step less. Scores stay between 0 and 1, so
    those of other documents may be lowered.
    """
    weights, text_scores, scores = contenders.weights, contenders.text_scores(), contenders.scores()
    best = max(scores.values(), default=0.0)
    lifted = {doc_id: contenders.routing.scores.get(doc_id, 0.0) for doc_id in scores}
    for place, doc_id in enumerate(doc_ids):
        target = best + lead * (len(doc_ids) - place) / len(doc_ids)
        lifted[doc_id] = max(0.0, (target - text_scores.get(doc_id, 0.0)) / weights.cards)
    excess = max(0.0, max(lifted.values(), default=0.0) - 1.0)
    scores_left = {doc_id: score - excess for doc_id, score in lifted.items() if score > excess}
    reasons_by_id = {
        doc_id: Note.joined((contenders.routing.reasons.get(doc_id, NONE), reason))
        for doc_id, reason in reasons.items()
    }
    return replace(contenders.routing, scores=scores_left, reasons={**contenders.routing.reasons, **reasons_by_id})


def _filtered(contenders: Contenders, calls: QuestionSession | None) -> FilterMatch:
    """Return the documents that meet a filter.

    A model writes the filter. If ``calls`` is None, it is derived from the matches of cards with the question. Raise
    ChatError if the model fails.
    """
    fields = fields_of(contenders.documents)
    conditions: list[Condition]
    if calls is None:
        conditions = card_conditions(contenders.question, contenders.routing, contenders.documents)
    else:
        from retrievers.reason import document_prompts

        conditions = document_prompts.ask_conditions(calls, contenders.question, fields)
    filtered = apply(fields, conditions, contenders.documents)
    if calls is not None:
        for why in filtered.dropped:
            calls.step("dropped", why)
        if filtered.conditions:
            calls.step("verdict", _met(filtered))
    return filtered


def card_conditions(question: Question, routing: CardScores, documents: Mapping[str, Document]) -> list[Condition]:
    """Return filter conditions for the organisation, type and year that a question names.

    There is none for a quarter, because the report on the year also answers. There is none for the organisation if one
    of the named documents has no organisation, such as an agreement of several parties.
    """
    conditions = []
    named = [documents[doc_id] for doc_id in routing.named if doc_id in documents]
    if named and all(document.card.names for document in named):
        conditions.append(Condition("organisation", "is", _each(document.card.names[0] for document in named)))
    if question.types:
        conditions.append(Condition("type", "is", question.types))
    if question.years:
        conditions.append(Condition("year", "is", _each(map(str, question.years))))
    return conditions


def _each(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _calls(reasoner: Reasoner, contenders: Contenders) -> QuestionSession:
    from retrievers.reason.asker import (
        QuestionSession,  # with pydantic, which a search without a model does not wait for
    )

    return QuestionSession(reasoner.model, reasoner.scope, reasoner.on_step, {"question": contenders.question.text})


def _dropped(filtered: FilterMatch) -> tuple[Note, ...]:
    return tuple(Note("route.condition-dropped", reason=why) for why in filtered.dropped)


def _met(filtered: FilterMatch) -> Note:
    return Note.joined(map(str, filtered.conditions))


def _with_reason(why: str) -> Note:
    short = why if len(why) <= _WHY else why[: _WHY - 1].rstrip() + "…"
    return Note("route.picked-because", reason=short) if short else Note("route.picked")
