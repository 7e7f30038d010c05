"""A model that answers from a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from hybrid_core.llm.client.endpoint import Completion, Request

Rule = Callable[[Request], "Completion | BaseModel | dict[str, Any] | str"]
"""What it replies; models and dictionaries become JSON."""


class ScriptedEndpoint:
    """An ``Endpoint`` without a network. Keeps every request in ``requests``."""

    def __init__(self, rule: Rule, name: str = "rules") -> None:
        self._rule = rule
        self._name = f"scripted:{name}"
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        self.requests.append(request)
        reply = self._rule(request)
        if not isinstance(reply, Completion):
            text = as_text(reply)
            reply = Completion(text, True, tokens(request), len(text) // 4)
        if on_text is not None:
            for piece in pieces(reply.text):
                on_text(piece)
        return reply

    def close(self) -> None:
        pass


def as_text(reply: BaseModel | dict[str, Any] | str) -> str:
    if isinstance(reply, BaseModel):
        return reply.model_dump_json()
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def tokens(request: Request) -> int:
    """What a scripted model counts: four characters a token, 500 an image."""
    return sum(len(m.text) // 4 + 500 * len(m.images) for m in request.messages)


def pieces(text: str) -> list[str]:
    """A text as it is streamed, word by word."""
    return re.findall(r"\s*\S+|\s+$", text)
