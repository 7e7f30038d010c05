"""Messages, requests and replies of chat models, and the protocol of the endpoints that answer them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from hybrid_core.errors import UsageError
from hybrid_core.types.usage import Usage

Role = Literal["system", "user", "assistant", "tool"]
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a function. ``arguments`` is JSON, as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Tools:
    """Functions that a model may call.

    ``functions`` are OpenAI's definitions: a name, and optionally a description, JSON schema parameters and strict.
    The choice "required" demands a call, "none" forbids one; ``named`` demands a call of this function. ``parallel``
    allows several calls in one reply, None if the model decides.
    """

    functions: tuple[Mapping[str, Any], ...]
    choice: Literal["auto", "none", "required"] = "auto"
    named: str = ""
    parallel: bool | None = None

    @property
    def demanded(self) -> bool:
        return self.choice == "required" or bool(self.named)


@dataclass(frozen=True, slots=True)
class Message:
    """A message in a chat. ``images`` are whole PNG or JPEG files, shown before the text.

    ``calls`` are the calls of an assistant's message. A message of the role tool is the result of the call with the id
    ``call``.
    """

    role: Role
    text: str
    images: tuple[bytes, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call: str = ""


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A reply of a chat model. ``value`` is the answer parsed into a schema, None if plain text was requested."""

    text: str
    value: T | None
    usage: Usage
    finished: bool = True  # False if ``max_tokens`` cut the text off
    calls: tuple[ToolCall, ...] = ()


_KINDS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"))


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a chat model.

    ``schema`` is the JSON schema of the answer, None for plain text; ``title`` is its name.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    schema: dict[str, Any] | None = None
    title: str = ""
    tools: Tools | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A response of an endpoint. Tokens are 0 if the endpoint does not count them.

    ``finished`` is False if ``max_tokens`` cut the text off.
    """

    text: str
    finished: bool = True
    input_tokens: int = 0
    output_tokens: int = 0
    calls: tuple[ToolCall, ...] = ()


class Endpoint(Protocol):
    """A connection to a model of a provider, without retries and limits. Several threads may use it."""

    @property
    def name(self) -> str: ...

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        """Send a request and return the response.

        ``timeout`` is in seconds without data, or in total if ``on_text`` streams the response. With a schema the
        response is JSON as far as the endpoint can enforce it; it is not validated here. Raise ChatError if it fails.
        """
        ...

    def close(self) -> None: ...


def image_type(image: bytes) -> str:
    """Return the media type of an image. Raise UsageError for anything but PNG and JPEG."""
    for start, name in _KINDS:
        if image.startswith(start):
            return name
    raise UsageError(
        "The image to send to the model is neither a PNG nor a JPEG file.",
        "Set the parameter image_format to png or jpeg.",
    )
