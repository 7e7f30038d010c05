"""Calls of a model that choose documents: counted, told step by step, within a time for all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.prompts import prompt
from hybrid_core.results import ReasoningStep, StepKind
from hybrid_core.token_estimate import estimate
from hybrid_core.usage import Usage
from retrievers.reason.reasoner import Reasoner

T = TypeVar("T", bound=BaseModel)
_REPLY = 600  # tokens that a reply may have


class Calls:
    """The calls for one question, with their steps and what they took, also in vain."""

    def __init__(self, reasoner: Reasoner, question: str) -> None:
        self.question = question
        self.steps: list[ReasoningStep] = []
        self.usage = Usage()
        self._model, self._told = reasoner.model, reasoner.told
        self._ends = time.monotonic() + reasoner.limits.seconds

    def ask(self, name: str, schema: type[T], values: Mapping[str, str]) -> T:
        """The model's reply to a prompt. Raises ChatError."""
        written = prompt(name)
        messages = written.messages({"question": self.question, **values})
        self.step("asked", f"{name}, about {sum(estimate(message.text) for message in messages)} tokens")
        try:
            left = self._ends - time.monotonic()
            reply = self._model.ask(messages, schema, prompt=written.id, max_tokens=_REPLY, deadline=left)
        except ChatError as error:
            self.usage += error.usage
            raise
        self.usage += reply.usage
        if reply.value is None:
            raise ChatError("the model gave no answer.", failure="reply")
        if thought := " ".join(getattr(reply.value, "reasoning", "").split()):
            self.step("thought", thought)
        return reply.value

    def step(self, kind: StepKind, text: str) -> None:
        step = ReasoningStep(kind, text)
        self.steps.append(step)
        self._told(step)
