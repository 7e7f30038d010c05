"""The work around an endpoint: cache, limits, retries, answers of a shape with one repair turn, and what it cost."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from hybrid_core.errors import ChatError, ReplyError, UsageError
from hybrid_core.models.chat import Message, Reply
from hybrid_core.models.endpoint import Completion, Endpoint, Request, image_type
from hybrid_core.models.limiter import Limiter, NoPlaceError
from hybrid_core.models.prices import Price
from hybrid_core.models.remote import Retries
from hybrid_core.models.reply_cache import ReplyCache, request_key
from hybrid_core.models.structured import json_schema, read_reply
from hybrid_core.prompts import prompt as load_prompt
from hybrid_core.usage import Usage

T = TypeVar("T", bound=BaseModel)
_MORE = 2  # times the tokens, for an answer that was cut off
_ECHO = 4000  # characters of an unusable answer that the model is shown again
_OTHER = "Choose a model that gives such answers, or raise max_tokens."


class Caller:
    """The ``ChatModel`` over an endpoint. ``timeout`` is in seconds for one request; ``limiter`` may be shared."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        limiter: Limiter | None = None,
        cache: ReplyCache | None = None,
        price: Price = Price(),
        retries: Retries = Retries(),
        timeout: float = 120.0,
    ) -> None:
        if not timeout > 0:
            raise UsageError(f"timeout is {timeout}.", "It must be above 0 seconds.")
        self._endpoint = endpoint
        self._limiter = limiter or Limiter(8)
        self._cache = cache
        self._price = price
        self._retries = retries
        self._timeout = timeout
        self._closed = threading.Event()

    def __repr__(self) -> str:
        return f"Caller({self.name!r})"

    @property
    def name(self) -> str:
        return self._endpoint.name

    def ask(
        self,
        messages: Sequence[Message],
        schema: type[T],
        *,
        prompt: str = "",
        max_tokens: int = 2000,
        deadline: float | None = None,
    ) -> Reply[T]:
        request = _checked(Request(tuple(messages), max_tokens, json_schema(schema), schema.__name__))
        key = request_key(self.name, prompt, request) if self._cache else ""
        if (held := self._held(key)) is not None:
            with contextlib.suppress(ValueError):  # it was kept before the schema's own checks changed
                return Reply(held, read_reply(held, schema), Usage(cached=1))
        ends = _ends(deadline)
        first = self._call(request, ends, None)
        try:
            reply = Reply(first.text, read_reply(first.text, schema), first.usage)
        except ValueError as problem:
            reply = self._repaired(request, schema, first, str(problem), ends)
        self._keep(key, reply.text)
        return reply

    def say(
        self,
        messages: Sequence[Message],
        *,
        on_text: Callable[[str], None] | None = None,
        prompt: str = "",
        max_tokens: int = 2000,
        deadline: float | None = None,
    ) -> Reply[Any]:
        request = _checked(Request(tuple(messages), max_tokens))
        key = request_key(self.name, prompt, request) if self._cache else ""
        if (held := self._held(key)) is not None:
            if on_text is not None:
                on_text(held)
            return Reply(held, None, Usage(cached=1))
        ends = _ends(deadline)
        reply = self._call(request, ends, on_text)
        if not reply.text.strip():
            again = _after(reply.usage, lambda: self._call(request, ends, on_text))
            reply = replace(again, usage=reply.usage + again.usage)
        if not reply.text.strip():
            raise _spent(ReplyError(f"{self.name} answered nothing, twice.", _OTHER), reply.usage)
        if reply.finished:
            self._keep(key, reply.text)
        return reply

    def close(self) -> None:
        self._closed.set()
        self._endpoint.close()
        if self._cache:
            self._cache.flush()

    def _repaired(self, request: Request, schema: type[T], first: Reply[Any], problem: str, ends: float) -> Reply[T]:
        """The second and last attempt: the model is told what is wrong, or given more room where it was cut off."""
        if first.finished:
            turns = [Message("assistant", first.text[:_ECHO])] if first.text.strip() else []
            asked = load_prompt("repair").messages({"problem": problem})
            second = replace(request, messages=(*request.messages, *turns, *asked))
        else:
            second = replace(request, max_tokens=request.max_tokens * _MORE)
        again = _after(first.usage, lambda: self._call(second, ends, None))
        usage = first.usage + again.usage
        try:
            return Reply(again.text, read_reply(again.text, schema), usage)
        except ValueError as error:
            cut = "" if again.finished else f" It was cut off after {second.max_tokens} tokens."
            message = f"{self.name} gave no usable answer, also after it was told so: {error}{cut}"
            raise _spent(ReplyError(message, _OTHER, text=again.text), usage) from error

    def _call(self, request: Request, ends: float, on_text: Callable[[str], None] | None) -> Reply[Any]:
        """One answered request, tried again where that may help."""
        limits = self._retries
        usage = Usage()
        shown = False  # whether a part of the answer has been given away: then there is no way back

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            if on_text is not None:
                on_text(text)

        for tried in range(1, limits.tries + 1):
            try:
                completion, seconds = self._once(request, ends, show if on_text else None)
                return self._reply(completion, usage + Usage(seconds=seconds))
            except _Failed as failed:
                error, usage = failed.error, usage + Usage(seconds=failed.seconds)
            wait = random.uniform(0.5, 1) * min(limits.longest_wait, limits.first_wait * 2 ** (tried - 1))
            wait = error.wait * random.uniform(1, 1.1) if error.wait else wait
            late = time.monotonic() + wait >= ends
            if not error.retryable or shown or tried == limits.tries or error.wait > limits.longest_asked or late:
                error.message += f" It was tried {tried} times." if tried > 1 else ""
                error.message += f" The server asks to wait {error.wait:.0f} s." if error.wait else ""
                error.message += " The deadline leaves no time for another try." if error.retryable and late else ""
                raise _spent(error, usage)
            if error.wait:
                self._limiter.pause(wait)
            self._closed.wait(wait)
        raise AssertionError("the last try returns or raises")

    def _once(self, request: Request, ends: float, on_text: Callable[[str], None] | None) -> tuple[Completion, float]:
        """One request and how many seconds it took. Raises _Failed."""
        try:
            with self._limiter.place(ends, self._closed.is_set):
                if self._closed.is_set():
                    raise UsageError(f"{self.name} is closed.", "Load it again.")
                start = time.monotonic()
                try:
                    completion = self._endpoint.complete(request, min(self._timeout, max(ends - start, 0.001)), on_text)
                except ChatError as error:
                    raise _Failed(error, time.monotonic() - start) from error
                return completion, time.monotonic() - start
        except NoPlaceError:
            if self._closed.is_set():
                raise UsageError(f"{self.name} is closed.", "Load it again.") from None
            message = f"{self.name}: the deadline passed before a call could be made."
            raise _Failed(
                ChatError(message, "Allow more time or more calls at once.", failure="timeout"), 0.0
            ) from None

    def _reply(self, completion: Completion, spent: Usage) -> Reply[Any]:
        tokens = completion.input_tokens, completion.output_tokens
        usage = spent + Usage(1, 0, *tokens, cost=self._price.cost(*tokens))
        return Reply(completion.text, None, usage, completion.finished)

    def _held(self, key: str) -> str | None:
        if self._closed.is_set():
            raise UsageError(f"{self.name} is closed.", "Load it again.")
        return self._cache.get(key) if self._cache else None

    def _keep(self, key: str, text: str) -> None:
        if self._cache:
            self._cache.put(key, text)


class _Failed(Exception):
    """A request that failed after ``seconds``."""

    def __init__(self, error: ChatError, seconds: float) -> None:
        super().__init__(error)
        self.error = error
        self.seconds = seconds


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


def _ends(deadline: float | None) -> float:
    return float("inf") if deadline is None else time.monotonic() + deadline


def _after(usage: Usage, call: Callable[[], Reply[Any]]) -> Reply[Any]:
    """A second call whose failure tells what the first one cost."""
    try:
        return call()
    except ChatError as error:
        raise _spent(error, usage + error.usage) from error


def _spent(error: ChatError, usage: Usage) -> ChatError:
    error.usage = usage
    return error
