"""A model asked about one question, told step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.session import Session
from hybrid_core.llm.token_estimate import cut, estimate, shares
from hybrid_core.types.results import ReasoningStep, StepKind
from hybrid_core.types.usage import Usage

T = TypeVar("T", bound=BaseModel)
_REPLY = 1500  # tokens that a reply may have
_LINE = 3  # tokens of an item's number and of the end of its line


class QuestionSession(Session):
    """``steps`` grow with each call. ``usage`` is its own; tokens and seconds are those of the question's scope."""

    def __init__(
        self, model: ChatModel, scope: CallScope, told: Callable[[ReasoningStep], None], given: Mapping[str, str]
    ) -> None:
        super().__init__(model, scope.part(), given=given)
        self.steps: list[ReasoningStep] = []
        self._told = told

    @property
    def usage(self) -> Usage:
        return self.scope.usage

    def ask(
        self,
        name: str,
        schema: type[T],
        values: Mapping[str, str],
        *,
        tokens: int = _REPLY,
        images: tuple[bytes, ...] = (),
    ) -> T:
        size = self.size(name, schema, values)
        self.scope.budget.require(size)
        self.step("asked", f"{name}, about {size} tokens")
        reply = super().ask(name, schema, values, tokens=tokens, images=images)
        if thought := " ".join(getattr(reply, "reasoning", "").split()):
            self.step("thought", thought)
        return reply

    def step(self, kind: StepKind, text: str) -> None:
        step = ReasoningStep(kind, text)
        self.steps.append(step)
        self._told(step)


def fitted(lines: Sequence[str], tokens: int) -> list[str]:
    """Lines that a numbered list of at most so many tokens holds: the long ones are cut."""
    given = shares([estimate(line) for line in lines], max(0, tokens - _LINE * len(lines)))
    return [cut(line, size) for line, size in zip(lines, given, strict=True)]
