"""Chat models, vision included: what the steps of the engine say to one, and what an endpoint must offer.

``ChatModel`` is what steps call; ``Caller`` is the one that does the work around any ``Endpoint``: reply cache,
limits, retries, structured output with one repair turn. All of it blocks, and several threads may use one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from hybrid_core.llm.input_budget import InputBudget
from hybrid_core.types.usage import Usage

Role = Literal["system", "user", "assistant"]
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. ``images`` are whole PNG or JPEG files, shown before the text."""

    role: Role
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """``value`` is what ``ask`` made of the text (never None there), None from ``say``."""

    text: str
    value: T | None
    usage: Usage
    finished: bool = True  # False where ``max_tokens`` cut the text off


class ChatModel(Protocol):
    """A model that answers messages. The messages given are never changed.

    Every method raises ChatError where the endpoint fails for good (``failure`` says how, ``usage`` what was
    spent), and UsageError after ``close``. ``prompt`` is a prompt's ``id`` ("name@version"), part of the cache's key.
    ``deadline`` is in seconds over everything, retries and the repair turn too, but for the wait until one of the
    calls that an endpoint takes at once is free: many questions wait, they do not fail. ``patient`` is for work
    that nobody waits for: an endpoint that failed a moment ago is asked all the same, and more often.
    """

    @property
    def name(self) -> str:
        """As in "openai:MODEL@https://host/v1": without secrets."""
        ...

    def ask(
        self,
        messages: Sequence[Message],
        schema: type[T],
        *,
        prompt: str = "",
        max_tokens: int = 2000,
        deadline: float | None = None,
        patient: bool = False,
        budget: InputBudget | None = None,
    ) -> Reply[T]:
        """An answer of a shape. What is sent for it, the repair turn included, is taken from ``budget``, also where the
        reply was kept from before.

        Raises ReplyError where, after one repair turn, the reply still does not fit ``schema``.
        """
        ...

    def say(
        self,
        messages: Sequence[Message],
        *,
        on_text: Callable[[str], None] | None = None,
        prompt: str = "",
        max_tokens: int = 2000,
        deadline: float | None = None,
        patient: bool = False,
    ) -> Reply[Any]:
        """An answer in words. With ``on_text`` it is streamed: called with each piece as it comes.

        A stream that breaks off after its first piece is not tried again: ChatError, its pieces stay shown.
        Raises ReplyError for an empty answer.
        """
        ...

    def close(self) -> None:
        """Let go of the connection; calls that wait stop. May be called twice."""
        ...
