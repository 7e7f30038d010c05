"""What an adapter of an SDK offers: one request, one answer, every failure a ChatError."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hybrid_core.errors import UsageError
from hybrid_core.llm.chat import Message

_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))


@dataclass(frozen=True, slots=True)
class Request:
    """``schema`` is the JSON schema of the answer that is wanted, None for words; ``title`` names it."""

    messages: tuple[Message, ...]
    max_tokens: int
    schema: dict[str, Any] | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Tokens are 0 where the endpoint does not count them. ``finished`` is False where ``max_tokens`` cut it off."""

    text: str
    finished: bool = True
    input_tokens: int = 0
    output_tokens: int = 0


class Endpoint(Protocol):
    """One model behind one interface. Several threads may use it. Neither retries nor limits are its work."""

    @property
    def name(self) -> str: ...

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        """One answer; ``timeout`` is in seconds, of silence in general and of everything where it is streamed.

        With ``on_text`` it is streamed. A request with a schema is answered in JSON as far as the endpoint can force
        it; nothing here checks that. Raises ChatError.
        """
        ...

    def close(self) -> None: ...


def image_type(image: bytes) -> str:
    """Raises UsageError for anything but PNG and JPEG."""
    for start, name in _KINDS:
        if image.startswith(start):
            return name
    raise UsageError("An image for a model is neither PNG nor JPEG.", "Set image_format to png or jpeg.")
