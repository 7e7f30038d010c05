"""One request to an endpoint: within its limits, tried again where that may help, and not sent where it is down."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from hybrid_core.errors import ChatError, ChatFailure, UsageError
from hybrid_core.models.breaker import Failure
from hybrid_core.models.endpoint import Completion, Endpoint, Request
from hybrid_core.models.limiter import Limiter, NoPlaceError
from hybrid_core.models.remote import Retries
from hybrid_core.usage import Usage

_PATIENCE = 10.0  # seconds; an answer that was given less time says nothing of the endpoint (or half the timeout)
_UNREACHABLE = 2  # tries of a connection that fails, where somebody waits
_FOR_GOOD: frozenset[ChatFailure] = frozenset(("key", "model", "quota"))  # the next call would fare no better
_BUSY: frozenset[ChatFailure] = frozenset(("overload", "rate limit"))
_HEARD: frozenset[ChatFailure] = frozenset(("refusal", "reply", "request", "too long"))  # the endpoint is up
OnText = Callable[[str], None]


class Sender:
    """Safe for several threads. ``limiter`` may be shared with others that use the endpoint."""

    def __init__(self, endpoint: Endpoint, limiter: Limiter, retries: Retries, timeout: float) -> None:
        self._endpoint, self._limiter, self._retries, self._timeout = endpoint, limiter, retries, timeout
        self._name = endpoint.name
        self._closed = threading.Event()

    def check_open(self) -> None:
        """Raises UsageError after ``close``."""
        if self._closed.is_set():
            raise UsageError(f"{self._name} is closed.", "Load it again.")

    def close(self) -> None:
        """Let go of the endpoint; whoever waits stops."""
        self._closed.set()
        self._endpoint.close()

    def send(
        self, request: Request, *, ends: float, patient: bool = False, on_text: OnText | None = None
    ) -> tuple[Completion, float]:
        """The answer and the seconds that all tries took. ``ends`` is in monotonic time.

        Raises ChatError. Where the endpoint failed a moment ago in a way that this request would meet too, it is raised
        at once, with the seconds until somebody may ask again as ``wait``; ``patient`` sends all the same.
        """
        breaker = self._limiter.breaker
        if not patient and (refused := breaker.refuses(self._name)) is not None:
            why, rest = refused
            raise ChatError(why.resting(rest), why.advice, failure=why.kind, retryable=why.retryable, wait=rest)
        limits = self._retries
        began, seconds = time.monotonic(), 0.0
        shown = False  # whether a part of the answer has been given away: then there is no way back

        def show(text: str) -> None:
            nonlocal shown
            shown = True
            if on_text is not None:
                on_text(text)

        for tried in range(1, limits.tries + 1):
            try:
                completion, took = self._once(request, ends, show if on_text else None)
                breaker.answered(self._name)
                return completion, seconds + took
            except _Failed as failed:
                error, waited, seconds = failed.error, failed.seconds, seconds + failed.seconds
            wait = random.uniform(0.5, 1) * min(limits.longest_wait, limits.first_wait * 2 ** (tried - 1))
            wait = error.wait * random.uniform(1, 1.1) if error.wait else wait
            late = time.monotonic() + wait >= ends
            most = limits.tries if patient or error.failure != "connection" else min(limits.tries, _UNREACHABLE)
            if not error.retryable or shown or tried >= most or error.wait > limits.longest_asked or late:
                error.message += f" It was tried {tried} times." if tried > 1 else ""
                error.message += f" The server asks to wait {error.wait:.0f} s." if error.wait else ""
                error.message += " The deadline leaves no time for another try." if error.retryable and late else ""
                error.usage = Usage(seconds=seconds)
                if not shown:
                    self._tell(error, began, tried, waited)
                raise error
            if error.wait:
                self._limiter.pause(wait)
            self._closed.wait(wait)
        raise AssertionError("the last try returns or raises")

    def _tell(self, error: ChatError, began: float, tried: int, waited: float) -> None:
        """What a failure says of the next request: nothing where it is this request's own, or a single hiccup."""
        breaker = self._limiter.breaker
        why = Failure(error.message, error.advice, error.failure, error.retryable)
        if error.failure in _HEARD:
            breaker.answered(self._name)
        elif error.failure in _FOR_GOOD or (error.failure in _BUSY and tried > 1):
            breaker.failed(self._name, why, began)
        elif error.failure == "connection" and tried > 1:
            breaker.failed(self._name, why, began, everywhere=True)
        elif error.failure == "timeout" and error.retryable and waited >= min(_PATIENCE, self._timeout / 2):
            breaker.silent(self._name, why, began)

    def _once(self, request: Request, ends: float, on_text: OnText | None) -> tuple[Completion, float]:
        """One request and how many seconds it took. Raises _Failed."""
        try:
            with self._limiter.place(ends, self._closed.is_set):
                self.check_open()
                start = time.monotonic()
                try:
                    completion = self._endpoint.complete(request, min(self._timeout, max(ends - start, 0.001)), on_text)
                except ChatError as error:
                    raise _Failed(error, time.monotonic() - start) from error
                return completion, time.monotonic() - start
        except NoPlaceError:
            self.check_open()
            message = f"{self._name}: the deadline passed before a call could be made."
            raise _Failed(
                ChatError(message, "Allow more time or more calls at once.", failure="timeout"), 0.0
            ) from None


class _Failed(Exception):
    """A request that failed after ``seconds``."""

    def __init__(self, error: ChatError, seconds: float) -> None:
        super().__init__(error)
        self.error = error
        self.seconds = seconds
