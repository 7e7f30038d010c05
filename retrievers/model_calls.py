"""Calls of a model for one question, within a time for all of them: counted, also in vain, and told step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.models.chat import ChatModel, Message
from hybrid_core.prompts import Prompt
from hybrid_core.results import ReasoningStep, StepKind
from hybrid_core.usage import Usage

T = TypeVar("T", bound=BaseModel)


class ModelCalls:
    """``steps`` and ``usage`` grow with each call; ``seconds`` are for all of them together."""

    def __init__(self, model: ChatModel, told: Callable[[ReasoningStep], None], seconds: float) -> None:
        self.steps: list[ReasoningStep] = []
        self.usage = Usage()
        self._model, self._told, self._ends = model, told, time.monotonic() + seconds

    def reply(self, written: Prompt, messages: Sequence[Message], schema: type[T], size: int, most: int) -> T:
        """What the model replies to a prompt of about ``size`` tokens, in at most ``most``. Raises ChatError."""
        self.step("asked", f"{written.name}, about {size} tokens")
        try:
            left = self._ends - time.monotonic()
            reply = self._model.ask(messages, schema, prompt=written.id, max_tokens=most, deadline=left)
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
