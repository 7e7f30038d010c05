"""One model asked by prompts, about one thing: a question, a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.chat import Message
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.llm.reply_cache import part_key
from hybrid_core.llm.structured import json_schema
from hybrid_core.types.usage import Usage

T = TypeVar("T", bound=BaseModel)


class Session:
    """Its calls belong to ``scope``. ``language`` is that of the prompts; ``given`` are the values that all have."""

    def __init__(
        self, model: ChatModel, scope: CallScope, *, language: str = "", given: Mapping[str, str] | None = None
    ) -> None:
        self.scope = scope
        self._model, self._language, self._given = model, language, given or {}
        self._before: list[Message] = []

    def ask(
        self,
        name: str,
        schema: type[T],
        values: Mapping[str, str],
        *,
        tokens: int = 4000,
        images: tuple[bytes, ...] = (),
    ) -> T:
        """The model's reply to a prompt; ``images`` go with its last turn. Raises ChatError, also where the prompt is
        more than the tokens left.
        """
        self._before = self._messages(name, values)
        *before, last = self._before
        messages = [*before, replace(last, images=images)]
        written = prompt(name, self._language).id
        reply = self._model.ask(messages, schema, prompt=written, max_tokens=tokens, scope=self.scope)
        if reply.value is None:
            raise ChatError("the model gave no answer.", failure="reply")
        return reply.value

    def size(self, name: str, schema: type[BaseModel], values: Mapping[str, str]) -> int:
        """Tokens of a prompt."""
        return self.scope.budget.size(self._messages(name, values), json_schema(schema))

    def room(self, name: str, schema: type[BaseModel], values: Mapping[str, str], keep: int = 0) -> int:
        """Tokens that may be put where ``values`` have "", where ``keep`` are left to others."""
        return self.scope.budget.room(self._messages(name, values), json_schema(schema), keep)

    def key(self, name: str, *parts: str | bytes, kind: str = "") -> str:
        """The key of what is kept of a reply to a prompt about ``parts``; its kind is the prompt's name or ``kind``."""
        return part_key(kind or name, self._model.name, prompt(name, self._language).id, *parts)

    def get(self, key: str) -> str | None:
        """What is kept, counted as a call that costs nothing."""
        held = self.held(key)
        if held is not None:
            self.scope.add(Usage(cached=1))
        return held

    def held(self, key: str) -> str | None:
        """What is kept, not counted."""
        return None if self.scope.replies is None else self.scope.replies.get(key)

    def put(self, key: str, value: str) -> None:
        if self.scope.replies is not None:
            self.scope.replies.put_part(key, value)

    def _messages(self, name: str, values: Mapping[str, str]) -> list[Message]:
        return prompt(name, self._language).messages({**self._given, **values}, self._before)
