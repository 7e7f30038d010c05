"""A chat model, vision included: answers in words or of a shape, with one repair turn, kept and counted."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError, ReplyError, UsageError
from hybrid_core.llm.chat import Message, Reply
from hybrid_core.llm.client.client import Client, Deadline
from hybrid_core.llm.client.endpoint import Completion, Endpoint, Request, image_type
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.remote import Retries
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.input_budget import InputBudget
from hybrid_core.llm.metering import Meter
from hybrid_core.llm.prices import Price
from hybrid_core.llm.prompts import prompt as load_prompt
from hybrid_core.llm.reply_cache import ReplyCache, request_key
from hybrid_core.llm.structured import json_schema, read_reply
from hybrid_core.types.usage import Usage

T = TypeVar("T", bound=BaseModel)
OnText = Callable[[str], None]
_Call = Callable[[Request], Reply[Any]]
_MORE = 2  # times the tokens, for an answer that was cut off
_ECHO = 4000  # characters of an unusable answer that the model is shown again
_OTHER = "Choose a model that gives such answers, or raise max_tokens."


class ChatModel:
    """The model behind an endpoint. ``timeout`` is in seconds for one request; ``limiter`` and ``cache`` may be shared;
    ``meter`` counts what is spent. Without a ``price`` cost is 0.

    Calls block, and several threads may make them. They belong to a scope: by default to one of their own, which
    somebody waits for and nothing bounds. The messages given are never changed; ``prompt`` is a prompt's ``id``
    ("name@version"), part of the cache's key. Every call raises ChatError where the endpoint fails for good
    (``failure`` says how, ``usage`` what was spent), and UsageError after ``close``.
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
        """As in "openai:MODEL@https://host/v1": without secrets."""
        return self._name

    @property
    def price(self) -> Price | None:
        """What its tokens cost, where that is known."""
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
        """An answer of a shape. What is sent for it, the repair turn included, is taken from the scope's tokens, also
        where the reply was kept from before.

        Raises ReplyError where, after one repair turn, the reply still does not fit ``schema``.
        """
        scope = scope or CallScope()
        request = _checked(Request(tuple(messages), max_tokens, json_schema(schema), schema.__name__))
        return scope.call(lambda seconds: self._fitting(request, schema, prompt, seconds, scope))

    def _fitting(self, request: Request, schema: type[T], prompt: str, seconds: float, scope: CallScope) -> Reply[T]:
        cache, budget = self._cache or scope.replies, scope.budget
        size = budget.take(request.messages, request.schema)
        key = request_key(self.name, prompt, request) if cache else ""
        if (held := self._held(cache, key)) is not None:
            with contextlib.suppress(ValueError):  # it was kept before the schema's own checks changed
                return Reply(held, read_reply(held, schema), Usage(cached=1))
        call = partial(self._answered, scope=scope, ends=Deadline(time.monotonic() + seconds))
        first = call(request)
        budget.counted(size, first.usage.input_tokens)
        try:
            reply = Reply(first.text, read_reply(first.text, schema), first.usage)
        except ValueError as problem:
            reply = self._repaired(request, schema, first, str(problem), call, budget)
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
    ) -> Reply[Any]:
        """An answer in words. With ``on_text`` it is streamed: called with each piece as it comes.

        A stream that breaks off after its first piece is not tried again: ChatError, its pieces stay shown.
        Raises ReplyError for an empty answer.
        """
        scope = scope or CallScope()
        request = _checked(Request(tuple(messages), max_tokens))
        return scope.call(lambda seconds: self._said(request, prompt, on_text, seconds, scope))

    def _said(
        self, request: Request, prompt: str, on_text: OnText | None, seconds: float, scope: CallScope
    ) -> Reply[Any]:
        cache = self._cache or scope.replies
        key = request_key(self.name, prompt, request) if cache else ""
        if (held := self._held(cache, key)) is not None:
            if on_text is not None:
                on_text(held)
            return Reply(held, None, Usage(cached=1))
        call = partial(self._answered, scope=scope, ends=Deadline(time.monotonic() + seconds), on_text=on_text)
        reply = call(request)
        if not reply.text.strip():
            again = _after(reply.usage, lambda: call(request))
            reply = replace(again, usage=reply.usage + again.usage)
        if not reply.text.strip():
            raise _spent(ReplyError(f"{self.name} answered nothing, twice.", _OTHER), reply.usage)
        if cache and reply.finished:
            cache.put(key, reply.text)
        return reply

    def close(self) -> None:
        """Let go of the connection; calls that wait stop. May be called twice."""
        self._client.close()
        self._endpoint.close()
        if self._cache:
            self._cache.flush()

    def _repaired(
        self, request: Request, schema: type[T], first: Reply[Any], problem: str, call: _Call, budget: InputBudget
    ) -> Reply[T]:
        """The second and last attempt: the model is told what is wrong, or given more room where it was cut off."""
        if first.finished:
            turns = [Message("assistant", first.text[:_ECHO])] if first.text.strip() else []
            asked = load_prompt("repair").messages({"problem": problem})
            second = replace(request, messages=(*request.messages, *turns, *asked))
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
            message = f"{self.name} gave no usable answer, also after it was told so: {error}{cut}"
            raise _spent(ReplyError(message, _OTHER, text=again.text), usage) from error

    def _answered(
        self, request: Request, *, scope: CallScope, ends: Deadline, on_text: OnText | None = None
    ) -> Reply[Any]:
        """One request with its answer and what that cost. Raises ChatError."""
        shown = False

        def once(timeout: float) -> Completion:
            return self._endpoint.complete(request, timeout, show if on_text else None)

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            if on_text is not None:
                on_text(text)

        priced = self._price is not None
        if self._meter is not None:
            self._meter.check(self.name, priced=priced)
        made, seconds = self._client.send(once, scope=scope, ends=ends, shown=lambda: shown)
        tokens = made.input_tokens, made.output_tokens
        usage = Usage(1, 0, *tokens, cost=self._price.cost(*tokens) if self._price else 0.0, seconds=seconds)
        if self._meter is not None:
            self._meter.add(self.name, usage, scope.charge, priced=priced)
        return Reply(made.text, None, usage, made.finished)

    def _held(self, cache: ReplyCache | None, key: str) -> str | None:
        self._client.check_open()
        return cache.get(key) if cache else None


def _checked(request: Request) -> Request:
    """The request as endpoints can take it. Raises UsageError where it makes no sense."""
    if not request.messages or request.messages[-1].role != "user":
        raise UsageError("The last message to a model must be the user's.", "Add what is asked.")
    if request.max_tokens < 1:
        raise UsageError(f"max_tokens is {request.max_tokens}.", "It must be at least 1.")
    for message in request.messages:
        for image in message.images:
            image_type(image)
    sound = (replace(m, text=m.text.encode("utf-8", "replace").decode("utf-8")) for m in request.messages)
    return replace(request, messages=tuple(sound))


def _after(usage: Usage, call: Callable[[], Reply[Any]]) -> Reply[Any]:
    """A second call whose failure tells what the first one cost."""
    try:
        return call()
    except ChatError as error:
        raise _spent(error, usage + error.usage) from error


def _spent(error: ChatError, usage: Usage) -> ChatError:
    error.usage = usage
    return error
