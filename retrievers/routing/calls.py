"""Calls of a model that choose documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel

from hybrid_core.prompts import prompt
from hybrid_core.token_estimate import estimate
from retrievers.model_calls import ModelCalls
from retrievers.reason.reasoner import Reasoner

T = TypeVar("T", bound=BaseModel)
_REPLY = 600  # tokens that a reply may have


class Calls(ModelCalls):
    """The calls for one question."""

    def __init__(self, reasoner: Reasoner, question: str) -> None:
        super().__init__(reasoner.model, reasoner.told, reasoner.limits.seconds)
        self.question = question

    def ask(self, name: str, schema: type[T], values: Mapping[str, str]) -> T:
        """The model's reply to a prompt. Raises ChatError."""
        written = prompt(name)
        messages = written.messages({"question": self.question, **values})
        return self.reply(written, messages, schema, sum(estimate(message.text) for message in messages), _REPLY)
