"""Chat models, including vision: replies as text or in a schema, with one repair turn, cached and counted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError, ReplyError, UsageError
from hybrid_core.llm.budget import InputBudget, Meter, Price
from hybrid_core.llm.chat import Completion, Endpoint, Message, Reply, Request, Tools, image_type
from hybrid_core.llm.client.client import Client, Deadline, Retries
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.llm.prompts import prompt as load_prompt
from hybrid_core.llm.replies import ReplyCache, json_schema, part_key, read_reply, request_key
from hybrid_core.types.usage import Usage

T = TypeVar("T", bound=BaseModel)
OnText = Callable[[str], None]
_Call = Callable[[Request], Reply[Any]]
_MORE = 2  # factor for the token limit after an answer was cut off
_ECHO = 4000  # maximum characters of an unusable answer in the repair turn
_OTHER = "Choose a model that can reply in the required form, or raise max_tokens."


class ChatModel:
    """A chat model behind an endpoint.

    ``timeout`` is in seconds for one request; ``limiter`` and ``cache`` may be shared. ``meter`` counts usage. Without
    a ``price`` the cost is 0. Calls block; several threads may call.

    Each call belongs to a ``scope`` with shared limits, by default to a new one without limits. The argument ``prompt``
    of a call is the prompt's ``id`` ("name@version"), which is part of the cache key.

    Every call raises ChatError if the endpoint fails after all retries (``failure`` is the kind, ``usage`` the usage so
    far), and UsageError after ``close``.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        limiter: Limiter | None = None,
        cache: ReplyCache | None = None,
        price: Price | None = None,
        meter: Meter | None = None,
        retries: Retries = Retries(),
        timeout: float = 120.0,
    ) -> None:
        self._name, self._endpoint = endpoint.name, endpoint
        self._client = Client(endpoint.name, limiter or Limiter(8), retries, timeout, ChatError)
        self._cache = cache
        self._price, self._meter = price, meter

    def __repr__(self) -> str:
        return f"ChatModel({self.name!r})"

    @property
    def name(self) -> str:
        """Return the name, such as "openai:MODEL@https://host/v1", without secrets."""
        return self._name

    @property
    def takes_schemas(self) -> bool:
        """Return False if the endpoint has refused a schema, so that prompts describe it in words."""
        return bool(getattr(self._endpoint, "takes_schemas", True))

    @property
    def price(self) -> Price | None:
        """Return the price of the model's tokens, None if it is unknown."""
        return self._price

    def ask(
        self,
        messages: Sequence[Message],
        schema: type[T],
        *,
        prompt: str = "",
        max_tokens: int = 2000,
        scope: CallScope | None = None,
    ) -> Reply[T]:
        """Return a reply whose answer is parsed into ``schema``.

        All inputs, including the repair turn, are taken from the scope's tokens, even if the reply was cached. Raise
        ReplyError if the reply does not fit ``schema`` after one repair turn.
        """
        scope = scope or CallScope()
        request = _validate_request(Request(tuple(messages), max_tokens, json_schema(schema), schema.__name__))
        return scope.call(lambda seconds: self._ask(request, schema, prompt, seconds, scope))

    def _ask(self, request: Request, schema: type[T], prompt: str, seconds: float, scope: CallScope) -> Reply[T]:
        cache, budget = self._cache or scope.replies, scope.budget
        size = budget.take(request.messages, request.schema)
        key = request_key(self.name, prompt, request) if cache else ""
        if (cached := self._cached(cache, key)) is not None:
            with contextlib.suppress(ValueError):  # it was stored before the schema's own checks changed
                return Reply(cached, read_reply(cached, schema), Usage(cached=1))
        call = partial(self._complete, scope=scope, ends=Deadline(time.monotonic() + seconds))
        first = call(request)
        budget.counted(size, first.usage.input_tokens)
        try:
            reply = Reply(first.text, read_reply(first.text, schema), first.usage)
        except ValueError as problem:
            reply = self._repair(request, schema, first, str(problem), call, budget)
        if cache:
            cache.put(key, reply.text)
        return reply

    def say(
        self,
        messages: Sequence[Message],
        *,
        on_text: OnText | None = None,
        prompt: str = "",
        max_tokens: int = 2000,
        scope: CallScope | None = None,
        tools: Tools | None = None,
    ) -> Reply[Any]:
        """Return a reply in plain text. ``on_text`` streams it: it is called with each piece.

        A stream that breaks off after its first piece is not retried. It raises ChatError, although pieces were
        delivered. Raise ReplyError for an empty answer. With ``tools`` the reply may contain calls instead of a text;
        it is not cached.
        """
        scope = scope or CallScope()
        request = _validate_request(Request(tuple(messages), max_tokens, tools=tools))
        return scope.call(lambda seconds: self._say(request, prompt, on_text, seconds, scope))

    def _say(
        self, request: Request, prompt: str, on_text: OnText | None, seconds: float, scope: CallScope
    ) -> Reply[Any]:
        cache = None if request.tools else self._cache or scope.replies
        key = request_key(self.name, prompt, request) if cache else ""
        if (cached := self._cached(cache, key)) is not None:
            if on_text is not None:
                on_text(cached)
            return Reply(cached, None, Usage(cached=1))
        call = partial(self._complete, scope=scope, ends=Deadline(time.monotonic() + seconds), on_text=on_text)
        reply = call(request)
        if not reply.text.strip() and not reply.calls:
            again = _after(reply.usage, lambda: call(request))
            reply = replace(again, usage=reply.usage + again.usage)
        if not reply.text.strip() and not reply.calls:
            raise _spent(ReplyError(f"{self.name} returned an empty answer twice.", _OTHER), reply.usage)
        if cache and reply.finished:
            cache.put(key, reply.text)
        return reply

    def close(self) -> None:
        """Close the connection and stop waiting calls. May be called twice."""
        self._client.close()
        self._endpoint.close()
        if self._cache:
            self._cache.flush()

    def _repair(
        self, request: Request, schema: type[T], first: Reply[Any], problem: str, call: _Call, budget: InputBudget
    ) -> Reply[T]:
        """Request an answer once more, after a first one that does not fit the schema.

        Report the problem to the model. If the first answer was cut off, raise the token limit instead.
        """
        if first.finished:
            turns = [Message("assistant", first.text[:_ECHO])] if first.text.strip() else []
            repair = load_prompt("repair").messages({"problem": problem})
            second = replace(request, messages=(*request.messages, *turns, *repair))
        else:
            second = replace(request, max_tokens=request.max_tokens * _MORE)
        try:
            size = budget.take(second.messages, second.schema)
        except ChatError as error:
            message = f"{self.name} gave no usable answer ({problem}) and was not asked again: {error.message}"
            raise _spent(ReplyError(message, error.advice, text=first.text), first.usage) from error
        again = _after(first.usage, lambda: call(second))
        budget.counted(size, again.usage.input_tokens)
        usage = first.usage + again.usage
        try:
            return Reply(again.text, read_reply(again.text, schema), usage)
        except ValueError as error:
            cut = "" if again.finished else f" It was cut off after {second.max_tokens} tokens."
            message = f"{self.name} gave no usable answer, even when asked to correct it: {error}{cut}"
            raise _spent(ReplyError(message, _OTHER, text=again.text), usage) from error

    def _complete(
        self, request: Request, *, scope: CallScope, ends: Deadline, on_text: OnText | None = None
    ) -> Reply[Any]:
        """Send one request. Return the response with its usage. Raise ChatError if it fails after all retries."""
        shown = False

        def send(timeout: float) -> Completion:
            return self._endpoint.complete(request, timeout, show if on_text else None)

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            if on_text is not None:
                on_text(text)

        priced = self._price is not None
        if self._meter is not None:
            self._meter.check(self.name, priced=priced)
        completion, seconds = self._client.send(send, scope=scope, ends=ends, shown=lambda: shown)
        tokens = completion.input_tokens, completion.output_tokens
        usage = Usage(1, 0, *tokens, cost=self._price.cost(*tokens) if self._price else 0.0, seconds=seconds)
        if self._meter is not None:
            self._meter.add(self.name, usage, scope.charge, priced=priced)
        return Reply(completion.text, None, usage, completion.finished, completion.calls)

    def _cached(self, cache: ReplyCache | None, key: str) -> str | None:
        self._client.check_open()
        return cache.get(key) if cache else None


def _validate_request(request: Request) -> Request:
    """Check a request and replace characters that cannot be sent. Raise UsageError if the request is invalid."""
    if not request.messages or request.messages[-1].role not in ("user", "tool"):
        raise UsageError(
            "The last message of the request to the model is neither the user's nor a tool's.",
            "Add a message with the role user at the end.",
        )
    if request.max_tokens < 1:
        raise UsageError(
            f"The parameter max_tokens of the request to the model is {request.max_tokens}.",
            "Set max_tokens to at least 1 token.",
        )
    for message in request.messages:
        for image in message.images:
            image_type(image)
    sound = (replace(m, text=m.text.encode("utf-8", "replace").decode("utf-8")) for m in request.messages)
    return replace(request, messages=tuple(sound))


def _after(usage: Usage, call: Callable[[], Reply[Any]]) -> Reply[Any]:
    """Make the second call for a request. If it fails, add the usage of the first call to its error."""
    try:
        return call()
    except ChatError as error:
        raise _spent(error, usage + error.usage) from error


def _spent(error: ChatError, usage: Usage) -> ChatError:
    error.usage = usage
    return error


class Session:
    """Prompts to one model about one subject: a question or a document.

    Its calls belong to ``scope``. ``language`` is the language of the prompts; ``shared`` are values for all prompts.
    """

    def __init__(
        self, model: ChatModel, scope: CallScope, *, language: str = "", shared: Mapping[str, str] | None = None
    ) -> None:
        self.scope = scope
        self._model, self._language, self._shared = model, language, shared or {}
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
        """Return the model's reply to a prompt. ``images`` are sent with its last message.

        Raise ChatError, also if the prompt is longer than the tokens left.
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
        """Return the estimated tokens of a prompt."""
        return self.scope.budget.size(self._messages(name, values), json_schema(schema))

    def room(self, name: str, schema: type[BaseModel], values: Mapping[str, str], keep: int = 0) -> int:
        """Return the tokens available for values that are still "", if ``keep`` tokens stay free for later prompts."""
        return self.scope.budget.room(self._messages(name, values), json_schema(schema), keep)

    def key(self, name: str, *parts: str | bytes, kind: str = "") -> str:
        """Return the cache key of a reply to a prompt about ``parts``.

        It begins with ``kind``, by default the prompt's name.
        """
        return part_key(kind or name, self._model.name, prompt(name, self._language).id, *parts)

    def get(self, key: str) -> str | None:
        """Return the cached value of a key and count a cached call. Return None if there is no value."""
        reply = self.peek(key)
        if reply is not None:
            self.scope.add(Usage(cached=1))
        return reply

    def peek(self, key: str) -> str | None:
        """Return the cached value of a key, None if there is none. Unlike ``get``, count no call."""
        return None if self.scope.replies is None else self.scope.replies.get(key)

    def put(self, key: str, value: str) -> None:
        if self.scope.replies is not None:
            self.scope.replies.put_part(key, value)

    def _messages(self, name: str, values: Mapping[str, str]) -> list[Message]:
        return prompt(name, self._language).messages({**self._shared, **values}, self._before)
