"""Decide whether a model is called for a search, and order the pages by its reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.types.documents import Strategy
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import EffortUsed, Reasoning, ReasoningOutcome, ReasoningStep
from hybrid_core.types.usage import Usage
from retrievers.query.expert import Expansion, Role, together
from retrievers.query.intent import pages_wanted
from retrievers.ranking.walk import DocumentScores, PageRef, PageVisit
from retrievers.reason.board import Board, SearchAgain, Verdict, reorder
from retrievers.trees.contents import PageTexts

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from retrievers.reason.asker import Asker

NO_MODEL = Note("effort.no-model")
REQUESTED = Note("requested")

_ONE_CALL = 0.7  # probability that one of the first pages answers, from which choosing among them takes one call


def untold(_: ReasoningStep) -> None:
    """Ignore a reasoning step. This is the default for ``on_step``."""


@dataclass(frozen=True, slots=True)
class ReasonLimits:
    """Limits of model calls for one question.

    Effort ``auto`` calls the model if the probability that the first page answers is less than ``below``. ``tokens``
    and ``seconds`` limit all calls together, including those that choose documents. ``setting`` is the name of the
    setting for the time limit. ``rounds`` limits the outline strategy, and ``calls`` the tree search.
    """

    below: float = 0.1
    tokens: int = 7000
    rounds: int = 3
    calls: int = 8
    seconds: float = 480.0
    setting: str = "model_timeout"


@dataclass(frozen=True, slots=True)
class Reasoner:
    """A model with the strategy and limits for one question.

    ``on_step`` receives each reasoning step as soon as it happens. ``scope`` holds the remaining tokens and seconds.
    """

    model: ChatModel
    strategy: Strategy = "outline"
    limits: ReasonLimits = ReasonLimits()
    on_step: Callable[[ReasoningStep], None] = untold
    scope: CallScope = field(init=False, repr=False)

    def __post_init__(self) -> None:
        limits = self.limits
        scope = CallScope(tokens=limits.tokens, seconds=limits.seconds, setting=limits.setting)
        object.__setattr__(self, "scope", scope)


@dataclass(frozen=True, slots=True)
class ReasoningResult:
    """The pages after a model was asked, unchanged if it was not asked or failed.

    ``note`` describes a failure, ``NONE`` if there was none.
    """

    visits: Sequence[PageVisit]
    scores: Sequence[DocumentScores]
    effort: EffortUsed
    verdicts: Mapping[PageRef, Note] = field(default_factory=dict)
    reasoning: Reasoning | None = None
    usage: Usage = field(default_factory=Usage)
    note: Note = NONE
    expansions: Sequence[
        Expansion
    ] = ()  # the expert terms of documents that further searches added, after the first ones


@dataclass(frozen=True, slots=True)
class RankedPages:
    """The pages as ranked without a model. ``scores`` and ``expansions`` have one item for each document.

    ``sure`` is the calibrated probability that the first page answers, ``likely`` that one of the first pages does.
    """

    visits: Sequence[PageVisit]
    scores: Sequence[DocumentScores]
    expansions: Sequence[Expansion]
    texts: PageTexts
    sure: float
    likely: float = 0.0


def reason(
    reasoner: Reasoner,
    request: SearchRequest,
    ranked: RankedPages,
    named: Sequence[int] = (),
    search: SearchAgain | None = None,
    dead: bool = False,
) -> ReasoningResult:
    """Let a model find the pages that answer, and return the new order.

    The effort and the probability that pages answer decide whether the model is called. After a failure the order
    stays, with a note. ``named`` are the documents that the question names or that were chosen. ``search`` searches
    again in the model's words. ``dead`` means that the model already failed. If one of the first pages probably
    answers, effort auto ends with the first reply that names a page.
    """
    effort_asked, visits, scores, sure = request.effort, ranked.visits, ranked.scores, ranked.sure

    def unchanged(why: Note) -> ReasoningResult:
        return ReasoningResult(visits, scores, EffortUsed(effort_asked, "fast", why))

    if not visits and (effort_asked != "deep" or search is None or reasoner.strategy != "outline"):
        return unchanged(Note("effort.no-pages"))
    below = reasoner.limits.below
    if effort_asked == "auto" and sure >= below:
        return unchanged(Note("effort.sure", sure=round(float(sure), 4), below=float(below)))
    if dead:
        gone = Reasoning(reasoner.strategy, reasoner.model.name, (), "failed")
        return replace(unchanged(Note("effort.failed-before")), reasoning=gone)
    from retrievers.reason.asker import Asker  # with pydantic, which a search without a model does not wait for

    board = Board(list(scores), [(visit.doc, visit.page) for visit in visits])
    expansion = together(ranked.expansions)
    asker = Asker(reasoner.model, reasoner.scope, reasoner.on_step, request.question, expansion, board, ranked.texts)
    page_count = pages_wanted(request.question, request.scoring.rerank.model_pages)
    roles = {doc: (*expanded.roles, *expanded.primary) for doc, expanded in enumerate(ranked.expansions)}
    failure = NONE
    short = effort_asked == "auto" and ranked.likely >= _ONE_CALL
    try:
        verdict = _ask(reasoner, board, asker, roles, page_count, named, search, short)
        asker.verdict(verdict)
    except PageIndexError as error:
        verdict, failure = Verdict(), error.note
        asker.step("failed", failure)
    invented = any(step.kind == "dropped" for step in asker.steps)
    outcome: ReasoningOutcome = "named" if verdict else "failed" if failure or invented else "nothing"
    reasoning = Reasoning(reasoner.strategy, reasoner.model.name, tuple(asker.steps), outcome)
    if not verdict:
        named_none = Note("effort.named-unknown") if invented else Note("effort.named-none")
        why = Note("effort.failed", error=failure) if failure else named_none
        return replace(unchanged(why), reasoning=reasoning, usage=asker.usage, note=why)
    order, after, verdicts = reorder(verdict, board, visits, board.scores, page_count)
    why = REQUESTED
    if effort_asked != "deep":
        why = Note("effort.unsure", sure=round(float(sure), 4), below=float(below))
    if short:
        why = Note("effort.one-call", reason=why, likely=round(float(ranked.likely), 4))
    effort = EffortUsed(effort_asked, "deep", why)
    ended = [step.text for step in asker.steps if step.kind == "failed"]
    note = Note("search.ended-early", error=ended[-1]) if ended else NONE
    return ReasoningResult(order, after, effort, verdicts, reasoning, asker.usage, note, tuple(board.more))


def _ask(
    reasoner: Reasoner,
    board: Board,
    asker: Asker,
    roles: Mapping[int, Sequence[Role]],
    page_count: int,
    named: Sequence[int],
    search: SearchAgain | None,
    short: bool,
) -> Verdict:
    if reasoner.strategy == "mcts":
        from retrievers.reason.mcts import TreeSearch

        return TreeSearch(board, asker, reasoner.limits.calls).verdict()
    from retrievers.reason.rounds import Rounds

    return Rounds(board, asker, reasoner.limits.rounds, roles, page_count, named, search, short).verdict()
