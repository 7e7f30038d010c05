"""Limits and costs of model calls: token estimates, the input budget of a question, prices and meters."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

from hybrid_core.errors import ChatError, UsageError
from hybrid_core.types.usage import Usage

BYTES = 3  # bytes per token; English prose has 4 to 5, tables of numbers about 3, Chinese 3 per character

MESSAGE_TOKENS = 6
"""The tokens that mark the beginning, the role and the end of a message."""
_FIRST_SHARE = 2 / 3  # share of the tokens for the first request, since the endpoint may count half as many again


def estimate(text: str) -> int:
    """Return the estimated number of tokens of a text. The estimate is rather too high than too low."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def shares(lengths: list[int], budget: int) -> list[int]:
    """Divide a budget among parts of these lengths. Return the share of each part, at most its length.

    Long parts share equally what short parts leave.
    """
    granted = [0] * len(lengths)
    left, order = budget, sorted(range(len(lengths)), key=lambda at: lengths[at])
    for done, at in enumerate(order):
        granted[at] = min(lengths[at], left // (len(order) - done))
        left -= granted[at]
    return granted


def cut(text: str, tokens: int) -> str:
    """Return the beginning of a text of at most ``tokens`` estimated tokens, ending in "…" if it is cut."""
    if estimate(text) <= tokens:
        return text
    return text.encode("utf-8", "replace")[: max(0, tokens - 1) * BYTES].decode("utf-8", "ignore") + "…"


class _Message(Protocol):
    @property
    def text(self) -> str: ...


class InputBudget:
    """The budget of ``tokens`` for all model inputs of one question. For one thread at a time.

    The estimated tokens of a request are taken from the budget before it is sent. If the endpoint counts more tokens,
    the difference is taken too, and later estimates are raised by the same factor. A retry of a failed request takes
    nothing.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = self.left = tokens
        self._rate = 1.0
        self._messages = 0  # messages of the last request

    def size(self, messages: Sequence[_Message], schema: Mapping[str, Any] | None) -> int:
        """Return the estimated tokens of a request: its texts, messages and schema, without pictures."""
        written = sum(estimate(message.text) + MESSAGE_TOKENS for message in messages)
        if schema is not None:
            written += estimate(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
        return math.ceil(written * self._rate)

    def room(self, messages: Sequence[_Message], schema: Mapping[str, Any] | None, keep: int = 0) -> int:
        """Return the tokens of text that may be added to a request if ``keep`` tokens stay free for later requests."""
        left = self.left - keep
        if self.left == self.tokens:
            left = min(left, int(_FIRST_SHARE * self.tokens))
        return max(0, int((left - self.size(messages, schema)) / self._rate))

    def require(self, size: int) -> None:
        """Raise ChatError ("too long") if fewer than ``size`` tokens are left."""
        if size > self.left:
            message = (
                f"The request has about {size} tokens, but only {self.left} of the {self.tokens} tokens allowed "
                "for this question are left."
            )
            raise ChatError(message, "Raise the setting reason_tokens.", failure="too long")

    def take(self, messages: Sequence[_Message], schema: Mapping[str, Any] | None) -> int:
        """Take the ``size`` of a request from the budget and return it. Raise the same errors as ``require``."""
        size = self.size(messages, schema)
        self.require(size)
        self._messages = len(messages)
        self.left -= size
        return size

    def counted(self, size: int, tokens: int) -> None:
        """Correct the budget after a request that was estimated as ``size`` tokens.

        ``tokens`` is the number that the endpoint counted, 0 if it counted none.
        """
        if tokens > size:
            marks = math.ceil(self._messages * MESSAGE_TOKENS * self._rate)
            # assumes that it counts no marks between messages: a longer request has relatively fewer
            self._rate *= tokens / max(1, size - marks)
            self.left -= tokens - size


@dataclass(frozen=True, slots=True)
class Price:
    """Prices per million tokens, in the currency of the price table."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def read_prices(table: str) -> Mapping[str, Price]:
    """Parse a price table like "gpt-4o=2.50/10, qwen2.5-vl=0/0": model, input, output.

    Raise UsageError for an invalid table.
    """
    prices = {}
    for entry in filter(None, (part.strip() for part in table.split(","))):
        model, _, numbers = entry.rpartition("=")
        try:
            amounts = [float(number) for number in numbers.split("/")]
        except ValueError:
            amounts = []
        if not model.strip() or len(amounts) != 2 or not all(math.isfinite(n) and n >= 0 for n in amounts):
            raise UsageError(
                f"The setting model_prices contains an invalid entry: '{entry}'.",
                "Write entries like gpt-4o=2.50/10: model, input price and output price per million tokens.",
            )
        prices[model.strip()] = Price(*amounts)
    return prices


@dataclass(frozen=True, slots=True)
class Charge:
    """The account to which model calls are charged.

    ``library`` is an id, "" for none or several; ``who`` is a caller's name, "" for the local user.
    """

    library: str = ""
    who: str = ""


class Meter(Protocol):
    """A counter of tokens, calls and costs of models. Several threads may use it."""

    def check(self, model: str, *, priced: bool) -> None:
        """Raise ChatError ("quota") before a call if a spending limit is reached."""

    def add(self, model: str, usage: Usage, charge: Charge, *, priced: bool) -> None:
        """Count a call that was answered. ``priced`` is True if the price of the model is known."""


_NOBODY = Charge()

_charge: ContextVar[Charge] = ContextVar("charge", default=_NOBODY)


def current_charge() -> Charge:
    return _charge.get()


@contextmanager
def charged(*, library: str | None = None, who: str | None = None) -> Iterator[None]:
    """Charge the calls of this thread or task to a library and a caller. None leaves a value unchanged."""
    changes = {name: value for name, value in (("library", library), ("who", who)) if value is not None}
    token = _charge.set(replace(_charge.get(), **changes))
    try:
        yield
    finally:
        _charge.reset(token)
