"""Whether a model is asked, how, and what becomes of the order of pages when it answers or fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.types.documents import Strategy
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import EffortUsed, Reasoning, ReasoningOutcome, ReasoningStep
from hybrid_core.types.usage import Usage
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit, Place
from retrievers.query.expert import Expansion, Role, together
from retrievers.reason.board import Board, SearchAgain
from retrievers.reason.verdict import Verdict, reorder

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from retrievers.reason.asker import Asker

NO_MODEL = "no language model is configured, so the deterministic tree walk answered"

_ONE_CALL = 0.7  # probability that one of the first pages answers, from which choosing among them takes one call


def untold(_: ReasoningStep) -> None:
    """WalkTrace that nobody asked to see."""


@dataclass(frozen=True, slots=True)
class ReasonLimits:
    """``below`` is the sureness under which ``auto`` asks. ``tokens`` are for all inputs of one question together, also
    those that choose documents, and so are ``seconds``, which ``setting`` decides; ``rounds`` bounds the outline
    strategy, ``calls`` the tree search.
    """

    below: float = 0.1
    tokens: int = 6000
    rounds: int = 3
    calls: int = 8
    seconds: float = 480.0
    setting: str = "model_timeout"


@dataclass(frozen=True, slots=True)
class Reasoner:
    """A model and how to ask it about one question. ``told`` hears every step at once; ``scope`` has what
    is left of the question's tokens and seconds.
    """

    model: ChatModel
    strategy: Strategy = "outline"
    limits: ReasonLimits = ReasonLimits()
    told: Callable[[ReasoningStep], None] = untold
    scope: CallScope = field(init=False, repr=False)

    def __post_init__(self) -> None:
        limits = self.limits
        scope = CallScope(tokens=limits.tokens, seconds=limits.seconds, setting=limits.setting)
        object.__setattr__(self, "scope", scope)


@dataclass(frozen=True, slots=True)
class ReasoningResult:
    """The order of pages after a model was asked, or as it was. ``note`` says what went wrong, "" where nothing did."""

    visits: Sequence[PageVisit]
    scores: Sequence[PageScores]
    effort: EffortUsed
    verdicts: Mapping[Place, str] = field(default_factory=dict)
    reasoning: Reasoning | None = None
    usage: Usage = field(default_factory=Usage)
    note: str = ""
    expansions: Sequence[Expansion] = ()  # of the documents that other searches added, behind those that were there


def reason(
    reasoner: Reasoner,
    request: SearchRequest,
    sure: float,
    expansions: Sequence[Expansion],
    visits: Sequence[PageVisit],
    scores: Sequence[PageScores],
    texts: PageTexts,
    dead: bool = False,
    named: Sequence[int] = (),
    search: SearchAgain | None = None,
    shown: float = 0.0,
) -> ReasoningResult:
    """Ask the model where effort and sureness call for it. Its failure leaves the order as it was and is told.

    ``expansions`` are by document, as ``scores`` are. ``dead``: the model failed for good before, while documents were
    chosen. ``named`` are the documents that the question names or that were chosen. ``search`` searches the library
    again, in the model's words. ``shown`` is the calibrated probability that one of the first pages answers: where it
    is high, effort auto ends with the first reply that names a page.
    """
    asked = request.effort

    def unchanged(why: str) -> ReasoningResult:
        return ReasoningResult(visits, scores, EffortUsed(asked, "fast", why))

    if not visits and (asked != "deep" or search is None or reasoner.strategy != "outline"):
        return unchanged("nothing was found that a model could choose from")
    below = reasoner.limits.below
    if asked == "auto" and sure >= below:
        return unchanged(f"the first page is likely to answer ({sure:.2f}, a model is asked below {below:g})")
    if dead:
        gone = Reasoning(reasoner.strategy, reasoner.model.name, (), "failed")
        why = "the model failed while documents were chosen and was not asked again"
        return replace(unchanged(why), reasoning=gone)
    from retrievers.query.pages_wanted import pages_wanted
    from retrievers.reason.asker import Asker  # with pydantic, which a search without a model does not wait for

    board = Board(list(scores), [(one.doc, one.page) for one in visits])
    known = together(expansions)
    asker = Asker(reasoner.model, reasoner.scope, reasoner.told, request.question, known, board, texts)
    wanted = pages_wanted(request.question, request.scoring.rerank.model_pages)
    roles = {doc: (*one.roles, *one.primary) for doc, one in enumerate(expansions)}
    failure = ""
    short = asked == "auto" and shown >= _ONE_CALL
    try:
        verdict = _found(reasoner, board, asker, roles, wanted, named, search, short)
        asker.verdict(verdict)
    except PageIndexError as error:
        verdict, failure = Verdict(), str(error)
        asker.step("failed", failure)
    invented = any(step.kind == "dropped" for step in asker.steps)
    outcome: ReasoningOutcome = "named" if verdict else "failed" if failure or invented else "nothing"
    reasoning = Reasoning(reasoner.strategy, reasoner.model.name, tuple(asker.steps), outcome)
    if not verdict:
        only = "only what does not exist" if invented else "no page"
        said = f"the model failed ({failure})" if failure else f"the model named {only}"
        why = f"{said}, so the deterministic tree walk answered"
        return replace(unchanged(why), reasoning=reasoning, usage=asker.usage, note=why)
    order, after, verdicts = reorder(verdict, board, visits, board.scores, wanted)
    why = "asked for" if asked == "deep" else f"the first page may not answer ({sure:.2f}, below {below:g})"
    if short:
        why += f"; one call, since one of the first pages is likely to ({shown:.2f})"
    effort = EffortUsed(asked, "deep", why)
    ended = [step.text for step in asker.steps if step.kind == "failed"]
    note = f"the model was asked no further than to what it had named by then ({ended[-1]})" if ended else ""
    return ReasoningResult(order, after, effort, verdicts, reasoning, asker.usage, note, tuple(board.more))


def _found(
    reasoner: Reasoner,
    board: Board,
    asker: Asker,
    roles: Mapping[int, Sequence[Role]],
    wanted: int,
    named: Sequence[int],
    search: SearchAgain | None,
    short: bool,
) -> Verdict:
    if reasoner.strategy == "mcts":
        from retrievers.reason.mcts import TreeSearch

        return TreeSearch(board, asker, reasoner.limits.calls).verdict()
    from retrievers.reason.rounds import Rounds

    return Rounds(board, asker, reasoner.limits.rounds, roles, wanted, named, search, short).verdict()
