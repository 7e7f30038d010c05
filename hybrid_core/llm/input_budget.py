"""The input tokens that several calls of a model may have together."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from hybrid_core.errors import ChatError
from hybrid_core.llm.token_estimate import estimate

_TURN = 6  # tokens that mark a turn's beginning, role and end
_UNTRIED = 2 / 3  # of the tokens may be planned for the first request: the endpoint may count half as many again


class _Turn(Protocol):
    @property
    def text(self) -> str: ...


class InputBudget:
    """``tokens`` for the inputs of one question: taken by estimate before a request is sent, made up for after it where
    the endpoint counts more; then all later estimates are raised by that rate. A request that is sent again because it
    was not answered is not taken again. For one thread at a time.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = self.left = tokens
        self._rate = 1.0
        self._turns = 0  # of the last request

    def size(self, messages: Sequence[_Turn], schema: Mapping[str, Any] | None) -> int:
        """Tokens of a request, rather too many: its texts, turns and schema. Pictures are not counted."""
        written = sum(estimate(message.text) + _TURN for message in messages)
        if schema is not None:
            written += estimate(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
        return math.ceil(written * self._rate)

    def room(self, messages: Sequence[_Turn], schema: Mapping[str, Any] | None, keep: int = 0) -> int:
        """Tokens of text, as ``estimate`` counts, that a request may still get if ``keep`` are kept for others."""
        left = self.left - keep
        if self.left == self.tokens:
            left = min(left, int(_UNTRIED * self.tokens))
        return max(0, int((left - self.size(messages, schema)) / self._rate))

    def require(self, size: int) -> None:
        """Raises ChatError ("too long") where less is left."""
        if size > self.left:
            message = f"The request has about {size} tokens, and {self.left} of the question's {self.tokens} are left."
            raise ChatError(message, "Allow more (reason_tokens).", failure="too long")

    def take(self, messages: Sequence[_Turn], schema: Mapping[str, Any] | None) -> int:
        """Take a request's ``size`` and return it. Raises as ``require`` does."""
        size = self.size(messages, schema)
        self.require(size)
        self._turns = len(messages)
        self.left -= size
        return size

    def counted(self, size: int, tokens: int) -> None:
        """What the endpoint counted of a request for which ``size`` were taken, 0 where it counts nothing."""
        if tokens > size:
            marks = math.ceil(self._turns * _TURN * self._rate)
            self._rate *= tokens / max(1, size - marks)  # as if it counted no marks: a longer request has fewer of them
            self.left -= tokens - size
