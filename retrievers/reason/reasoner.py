"""Whether a model is asked, how, and what becomes of the order of pages when it answers or fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.input_budget import InputBudget
from hybrid_core.types.documents import Effort, Strategy
from hybrid_core.types.results import EffortUsed, LookedOutcome, Reasoning, ReasoningStep
from hybrid_core.types.usage import Usage
from retrievers.documents.candidates import Valued
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.tree_walk import Reached
from retrievers.query.expert import Advice
from retrievers.reason.board import Board, Place
from retrievers.reason.call_time import CallTime
from retrievers.reason.verdict import Verdict, reorder

if TYPE_CHECKING:
    from hybrid_core.llm.chat import ChatModel
    from retrievers.reason.asker import Asker

NO_MODEL = "no language model is configured, so the deterministic tree walk answered"


def untold(_: ReasoningStep) -> None:
    """Steps that nobody asked to see."""


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
    """A model and how to ask it about one question. ``told`` hears every step at once; ``budget`` and ``time`` have
    what is left of the question's tokens and seconds.
    """

    model: ChatModel
    strategy: Strategy = "outline"
    limits: ReasonLimits = ReasonLimits()
    told: Callable[[ReasoningStep], None] = untold
    budget: InputBudget = field(init=False, repr=False)
    time: CallTime = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", InputBudget(self.limits.tokens))
        object.__setattr__(self, "time", CallTime(self.limits.seconds, self.limits.setting))


@dataclass(frozen=True, slots=True)
class Reasoned:
    """The order of pages after a model was asked, or as it was. ``note`` says what went wrong, "" where nothing did."""

    reached: list[Reached]
    valued: list[Valued]
    effort: EffortUsed
    added: dict[Place, float] = field(default_factory=dict)
    verdicts: dict[Place, str] = field(default_factory=dict)
    reasoning: Reasoning | None = None
    usage: Usage = field(default_factory=Usage)
    note: str = ""


def reason(
    reasoner: Reasoner | None,
    asked: Effort,
    sure: float,
    question: str,
    advice: Advice,
    reached: list[Reached],
    valued: list[Valued],
    texts: PageTexts,
    most: int,
    dead: bool = False,
) -> Reasoned:
    """Ask the model where effort and sureness call for it. Its failure leaves the order as it was and is told; what it
    names moves ``most`` pages.

    ``dead``: it failed for good before, while documents were chosen.
    """

    def unchanged(why: str) -> Reasoned:
        return Reasoned(reached, valued, EffortUsed(asked, "fast", why))

    if asked == "fast":
        return unchanged("asked for")
    if reasoner is None:
        return unchanged(NO_MODEL)
    if not reached:
        return unchanged("nothing was found that a model could choose from")
    below = reasoner.limits.below
    if asked == "auto" and sure >= below:
        return unchanged(f"the first page leads clearly (sureness {sure:.2f}, a model is asked below {below:g})")
    if dead:
        gone = Reasoning(reasoner.strategy, reasoner.model.name, (), "failed")
        why = "the model failed while documents were chosen and was not asked again"
        return replace(unchanged(why), reasoning=gone)
    from retrievers.reason.asker import Asker  # with pydantic, which a search without a model does not wait for

    board = Board(valued, [(one.doc, one.page) for one in reached])
    calls = (reasoner.model, reasoner.budget, reasoner.time, reasoner.told)
    asker = Asker(*calls, question, advice, board, texts)
    failure = ""
    try:
        verdict = _found(reasoner, board, asker)
        asker.verdict(verdict)
    except PageIndexError as error:
        verdict, failure = Verdict(), str(error)
        asker.step("failed", failure)
    invented = any(step.kind == "dropped" for step in asker.steps)
    outcome: LookedOutcome = "named" if verdict else "failed" if failure or invented else "nothing"
    reasoning = Reasoning(reasoner.strategy, reasoner.model.name, tuple(asker.steps), outcome)
    if not verdict:
        named = "only what does not exist" if invented else "no page"
        said = f"the model failed ({failure})" if failure else f"the model named {named}"
        why = f"{said}, so the deterministic tree walk answered"
        effort = EffortUsed(asked, "fast", why)
        return Reasoned(reached, valued, effort, reasoning=reasoning, usage=asker.usage, note=why)
    new = reorder(verdict, board, reached, valued, most)
    why = "asked for" if asked == "deep" else f"several pages are as likely (sureness {sure:.2f}, below {below:g})"
    effort = EffortUsed(asked, "deep", why)
    ended = [step.text for step in asker.steps if step.kind == "failed"]
    note = f"the model was asked no further than to what it had named by then ({ended[-1]})" if ended else ""
    return Reasoned(new.reached, new.valued, effort, new.added, new.verdicts, reasoning, asker.usage, note)


def _found(reasoner: Reasoner, board: Board, asker: Asker) -> Verdict:
    if reasoner.strategy == "mcts":
        from retrievers.reason.mcts import TreeSearch

        return TreeSearch(board, asker, reasoner.limits.calls).verdict()
    from retrievers.reason.rounds import Rounds

    return Rounds(board, asker, reasoner.limits.rounds).verdict()
