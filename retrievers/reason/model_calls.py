"""Calls of a model for one question, within its time and its tokens: counted, also in vain, and told step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.chat import ChatModel
from hybrid_core.llm.input_budget import InputBudget
from hybrid_core.llm.prompts import prompt
from hybrid_core.llm.structured import json_schema
from hybrid_core.llm.token_estimate import cut, estimate, shares
from hybrid_core.types.results import ReasoningStep, StepKind
from hybrid_core.types.usage import Usage
from retrievers.reason.call_time import CallTime

T = TypeVar("T", bound=BaseModel)
_LINE = 3  # tokens of an item's number and of the end of its line


class ModelCalls:
    """``steps`` and ``usage`` grow with each call.

    ``given`` are the values that every prompt has, ``reply`` the most tokens of an answer. Of the budget, ``keep`` are
    left to others where texts are measured by ``room``.
    """

    def __init__(
        self,
        model: ChatModel,
        budget: InputBudget,
        time: CallTime,
        told: Callable[[ReasoningStep], None],
        given: Mapping[str, str],
        *,
        reply: int,
        keep: int = 0,
    ) -> None:
        self.steps: list[ReasoningStep] = []
        self.usage = Usage()
        self.budget = budget
        self._model, self._told, self._given = model, told, given
        self._time = time
        self._reply, self._keep = reply, keep

    def ask(self, name: str, schema: type[T], values: Mapping[str, str]) -> T:
        """The model's reply to a prompt. Raises ChatError, also where the prompt is more than the tokens left."""
        written = prompt(name)
        messages = written.messages({**self._given, **values})
        size = self.budget.size(messages, json_schema(schema))
        self.budget.require(size)
        self.step("asked", f"{written.name}, about {size} tokens")
        try:
            with self._time.call() as left:
                reply = self._model.ask(
                    messages, schema, prompt=written.id, max_tokens=self._reply, deadline=left, budget=self.budget
                )
        except ChatError as error:
            self.usage += error.usage
            raise
        self.usage += reply.usage
        self._time.left -= reply.usage.seconds
        if reply.value is None:
            raise ChatError("the model gave no answer.", failure="reply")
        if thought := " ".join(getattr(reply.value, "reasoning", "").split()):
            self.step("thought", thought)
        return reply.value

    def room(self, name: str, schema: type[BaseModel], values: Mapping[str, str]) -> int:
        """Tokens that may be put where ``values`` have ""."""
        messages = prompt(name).messages({**self._given, **values})
        return self.budget.room(messages, json_schema(schema), self._keep)

    def step(self, kind: StepKind, text: str) -> None:
        step = ReasoningStep(kind, text)
        self.steps.append(step)
        self._told(step)


def fitted(lines: Sequence[str], tokens: int) -> list[str]:
    """Lines that a numbered list of at most so many tokens holds: the long ones are cut."""
    given = shares([estimate(line) for line in lines], max(0, tokens - _LINE * len(lines)))
    return [cut(line, size) for line, size in zip(lines, given, strict=True)]
