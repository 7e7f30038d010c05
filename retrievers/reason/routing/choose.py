"""How the documents of one search are chosen: by their cards and texts, by a filter on their fields, by a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hybrid_core.errors import ChatError, EndpointFailure
from hybrid_core.types.documents import Document, Effort, Hit, Route
from hybrid_core.types.results import ReasoningStep, RouteUsed
from hybrid_core.types.scoring import DocumentScoring
from hybrid_core.types.usage import Usage
from retrievers.documents.candidates import doc_scores, normalised, ranked, weighted
from retrievers.documents.route import Routing
from retrievers.query.question import Question
from retrievers.reason.page_marks import SeenPage
from retrievers.reason.reasoner import Reasoner
from retrievers.reason.routing import from_cards
from retrievers.reason.routing.conditions import Condition, FilterMatch, apply
from retrievers.reason.routing.fields import fields_of

if TYPE_CHECKING:
    from retrievers.reason.routing import by_model
    from retrievers.reason.session import QuestionSession

BY_CARDS = "the documents' cards and the words of their pages"
DEAD: Collection[EndpointFailure] = ("key", "model", "quota", "connection", "overload")  # another call would fail too
_READ, _HITS = 4, 3  # documents of which so many of the best pages are read; of the others the best one
_TELLS = 0.4  # a card's score from which what matched is a reason
PICKED = "picked by the model"
_WHY = 200  # characters of what a model says of its choice


@dataclass(frozen=True, slots=True)
class DocumentChoice:
    """Which documents count (``scope``, None for all) and how much (``routing``), and what a model took for it.

    ``dead``: the model cannot be reached or used, so that asking it for pages would only cost time again.
    """

    routing: Routing
    scope: frozenset[str] | None
    used: RouteUsed = RouteUsed("auto", "auto", "")
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    dead: bool = False


@dataclass(frozen=True, slots=True)
class Contenders:
    """One question and what was found for it. ``documents`` are those searched, ``hits`` those of the coarse pass;
    ``seen`` reads pages (doc_id, page).
    """

    question: Question
    routing: Routing
    hits: Sequence[Hit]
    documents: Mapping[str, Document]
    scope: frozenset[str] | None
    weights: DocumentScoring
    seen: Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], SeenPage]] = lambda _: {}

    def found(self) -> dict[str, float]:
        """DocScores, 1 for the best."""
        return normalised(doc_scores(self.hits))

    def scores(self) -> dict[str, float]:
        """DocScore and card score together, as the search adds them up."""
        routed = {doc_id: score for doc_id, score in self.routing.scores.items() if doc_id in self.documents}
        return weighted([(1.0, self.found()), (self.weights.cards, routed)])

    def close(self) -> int:
        """The documents whose scores are so close to the best that they do not tell."""
        scores = self.scores().values()
        least = max(scores, default=0.0) - self.weights.close
        return sum(score > least for score in scores)


def choose_documents(asked: Route, contenders: Contenders, effort: Effort, reasoner: Reasoner | None) -> DocumentChoice:
    """Choose them in the way that was asked for. A model's failure is told, and the cards decide instead.

    ``auto`` goes by cards and text; where these leave documents close, a model is asked once, and what it says is a
    preference among them. ``metadata`` restricts the search to what meets a filter. ``description`` prefers what a
    model picks, twice as much; ``semantic`` leaves the cards out.
    """
    if asked == "semantic":
        routing = replace(contenders.routing, scores={}, reasons={}, tied=())
        return DocumentChoice(routing, contenders.scope, RouteUsed(asked, asked, "asked for"))
    if len(contenders.documents) < 2:
        return DocumentChoice(
            contenders.routing, contenders.scope, RouteUsed(asked, "auto", "there are no two documents to choose from")
        )
    if asked == "metadata":
        return _by_metadata(contenders, reasoner)
    if asked == "description":
        return _by_description(contenders, reasoner)
    return _automatic(contenders, effort, reasoner)


def _automatic(contenders: Contenders, effort: Effort, reasoner: Reasoner | None) -> DocumentChoice:
    by_cards = DocumentChoice(contenders.routing, contenders.scope, RouteUsed("auto", "auto", BY_CARDS))
    if reasoner is None or (effort == "auto" and reasoner.limits.below <= 0):
        return by_cards
    if (close := contenders.close()) < 2:
        return by_cards
    from retrievers.reason.routing import by_model

    calls = _calls(reasoner, contenders)
    why = f"{close} documents fit about equally well"
    try:
        if close > by_model.CLOSE:  # more than one would like to describe are told apart by their fields
            return _preferring_filter(contenders, calls, why)
        shown = ranked(contenders.scores())[: by_model.CLOSE]
        return _picked("auto", contenders, calls, shown, f"{why}; the model picked by their descriptions")
    except ChatError as error:
        return _failed("auto", contenders, calls, error)


def _preferring_filter(contenders: Contenders, calls: QuestionSession, why: str) -> DocumentChoice:
    filtered = _filtered(contenders, calls)
    if not filtered.conditions:
        return _nothing("auto", contenders, calls, f"{why}; the model named no field that tells them apart", filtered)
    reasons = dict.fromkeys(filtered.documents, _met(filtered))
    routing = preferred(contenders, [filtered.documents], reasons, contenders.weights.lead)
    conditions = tuple(map(str, filtered.conditions))
    used = RouteUsed("auto", "metadata", f"{why}; those that meet the filter lead", conditions, tuple(calls.steps))
    return DocumentChoice(routing, contenders.scope, used, calls.usage, _dropped(filtered))


def _by_metadata(contenders: Contenders, reasoner: Reasoner | None) -> DocumentChoice:
    filtered: FilterMatch | None = None
    steps: tuple[ReasoningStep, ...] = ()
    failure, usage, dead = "", Usage(), False
    if reasoner is not None:
        calls = _calls(reasoner, contenders)
        try:
            filtered = _filtered(contenders, calls)
        except ChatError as error:
            calls.step("failed", str(error))
            failure = f"the model failed ({error}), so the filter was read from the documents' cards"
            dead = error.failure in DEAD
        steps, usage = tuple(calls.steps), calls.usage
    if filtered is None:
        filtered = _filtered(contenders, None)
    notes = (*([failure] if failure else []), *_dropped(filtered))
    if not filtered.conditions:
        why = f"the question names no field that documents could be filtered by: {BY_CARDS} decided"
        used = RouteUsed("metadata", "auto", why, (), steps)
        return DocumentChoice(contenders.routing, contenders.scope, used, usage, (*notes, why), dead)
    reasons = {
        doc_id: _joined(contenders.routing.reasons.get(doc_id, ""), _met(filtered)) for doc_id in filtered.documents
    }
    routing = replace(contenders.routing, reasons=reasons)
    used = RouteUsed("metadata", "metadata", "asked for", tuple(map(str, filtered.conditions)), steps)
    return DocumentChoice(routing, filtered.documents, used, usage, notes, dead)


def _by_description(contenders: Contenders, reasoner: Reasoner | None) -> DocumentChoice:
    if reasoner is None:
        why = f"no model is asked, so {BY_CARDS} decided"
        return DocumentChoice(contenders.routing, contenders.scope, RouteUsed("description", "auto", why), notes=(why,))
    calls = _calls(reasoner, contenders)
    scores = {**dict.fromkeys(contenders.documents, 0.0), **contenders.scores()}
    try:
        return _picked("description", contenders, calls, ranked(scores), "asked for")
    except ChatError as error:
        return _failed("description", contenders, calls, error)


def _picked(
    asked: Route, contenders: Contenders, calls: QuestionSession, shown: Sequence[str], why: str
) -> DocumentChoice:
    """Documents that a model picks lead. Raises ChatError."""
    from retrievers.reason.routing import by_model

    picked = by_model.pick(calls, _described(contenders, shown))
    if not picked.documents:
        return _nothing(asked, contenders, calls, f"the model picked no document, so {BY_CARDS} decided")
    calls.step("verdict", ", ".join(contenders.documents[doc_id].name for doc_id in picked.documents))
    lead = contenders.weights.lead * (2 if asked == "description" else 1)
    reasons = dict.fromkeys(picked.documents, _said(PICKED, picked.reasoning))
    routing = preferred(contenders, [[doc_id] for doc_id in picked.documents], reasons, lead)
    used = RouteUsed(asked, "description", why, (), tuple(calls.steps))
    return DocumentChoice(routing, contenders.scope, used, calls.usage)


def _described(contenders: Contenders, shown: Sequence[str]) -> list[by_model.Described]:
    """Each with its best hits. A reason that hardly scores is a word that many share, and none."""
    from retrievers.reason.routing.by_model import Described

    hits: dict[str, list[int]] = {}
    for hit in contenders.hits:
        if len(held := hits.setdefault(hit.doc_id, [])) < _HITS and hit.page not in held:
            held.append(hit.page)
    few = {doc_id: hits.get(doc_id, [])[: _HITS if at < _READ else 1] for at, doc_id in enumerate(shown)}
    seen = contenders.seen([(doc_id, page) for doc_id, pages in few.items() for page in pages])
    routing = contenders.routing
    return [
        Described(
            contenders.documents[doc_id],
            routing.reasons.get(doc_id, "") if routing.scores.get(doc_id, 0.0) >= _TELLS else "",
            {page: seen[doc_id, page] for page in hits.get(doc_id, ()) if (doc_id, page) in seen},
        )
        for doc_id in shown
    ]


def preferred(
    contenders: Contenders, groups: Sequence[Collection[str]], reasons: Mapping[str, str], lead: float
) -> Routing:
    """The routing with documents lifted: the best of the first group leads all others by ``lead``, each later group
    by a step less; within a group the order stays. Scores stay in 0 to 1, so others may be lowered instead.
    """
    weights, found, scores = contenders.weights, contenders.found(), contenders.scores()
    best = max(scores.values(), default=0.0)
    lifted = {doc_id: contenders.routing.scores.get(doc_id, 0.0) for doc_id in scores}
    for place, group in enumerate(groups):
        target = best + lead * (len(groups) - place) / len(groups)
        held = max((scores.get(doc_id, 0.0) for doc_id in group), default=0.0)
        for doc_id in group:
            total = scores.get(doc_id, 0.0) + target - held
            lifted[doc_id] = max(0.0, (total - found.get(doc_id, 0.0)) / weights.cards)
    over = max(0.0, max(lifted.values(), default=0.0) - 1.0)
    kept = {doc_id: score - over for doc_id, score in lifted.items() if score > over}
    said = {doc_id: _joined(contenders.routing.reasons.get(doc_id, ""), reason) for doc_id, reason in reasons.items()}
    return replace(contenders.routing, scores=kept, reasons={**contenders.routing.reasons, **said}, tied=())


def _filtered(contenders: Contenders, calls: QuestionSession | None) -> FilterMatch:
    """The filter of a model, or of the cards where there are no calls to make. Raises ChatError."""
    fields = fields_of(contenders.documents)
    asked: list[Condition]
    if calls is None:
        asked = from_cards.conditions(contenders.question, contenders.routing, contenders.documents)
    else:
        from retrievers.reason.routing import by_model

        asked = by_model.conditions(calls, contenders.question, fields)
    filtered = apply(fields, asked, contenders.documents)
    if calls is not None:
        for why in filtered.dropped:
            calls.step("dropped", why)
        if filtered.conditions:
            calls.step("verdict", _met(filtered))
    return filtered


def _failed(asked: Route, contenders: Contenders, calls: QuestionSession, error: ChatError) -> DocumentChoice:
    calls.step("failed", str(error))
    routed = _nothing(asked, contenders, calls, f"the model failed ({error}), so {BY_CARDS} decided")
    return replace(routed, dead=error.failure in DEAD)


def _nothing(
    asked: Route, contenders: Contenders, calls: QuestionSession, why: str, filtered: FilterMatch | None = None
) -> DocumentChoice:
    used = RouteUsed(asked, "auto", why, (), tuple(calls.steps))
    notes = (why, *(() if filtered is None else _dropped(filtered)))
    return DocumentChoice(contenders.routing, contenders.scope, used, calls.usage, notes)


def _calls(reasoner: Reasoner, contenders: Contenders) -> QuestionSession:
    from retrievers.reason.session import (
        QuestionSession,  # with pydantic, which a search without a model does not wait for
    )

    return QuestionSession(reasoner.model, reasoner.scope, reasoner.told, {"question": contenders.question.text})


def _dropped(filtered: FilterMatch) -> tuple[str, ...]:
    return tuple(f"a condition was left out: {why}" for why in filtered.dropped)


def _met(filtered: FilterMatch) -> str:
    return "; ".join(map(str, filtered.conditions))


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _said(what: str, why: str) -> str:
    short = why if len(why) <= _WHY else why[: _WHY - 1].rstrip() + "…"
    return f"{what}: {short}" if short else what
