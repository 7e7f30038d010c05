"""Requests to a remote model: within its limits, with retries, and refused while the model is down."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import TypeVar

from hybrid_core.errors import EndpointError, EndpointFailure, UsageError
from hybrid_core.llm.client.limiter import FOR_GOOD, Breaker, Failure, Limiter, NoPlaceError
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.types.usage import Usage

T = TypeVar("T")
_QUICK = 1.0  # longest wait in seconds that a server may ask for while a user waits
_BRIEF = 5.0  # seconds; after a slower failure there is no retry while a user waits
_PATIENCE = 10.0  # seconds; a timeout after less time (or half the timeout) says nothing about the endpoint
_BUSY: frozenset[EndpointFailure] = frozenset(("overload", "rate limit"))
_OF_THE_TEXT: frozenset[EndpointFailure] = frozenset(("refusal", "reply", "too long"))
_HEARD: frozenset[EndpointFailure] = _OF_THE_TEXT | {"request"}  # failures that show that the endpoint works


@dataclass(frozen=True, slots=True)
class Retries:
    """Limits of retries. Waits are in seconds and double, with jitter."""

    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0  # between two attempts, if the server asks for no other wait
    longest_asked: float = 120.0  # if a server asks for a longer wait (Retry-After), the call fails


@dataclass(slots=True)
class Deadline:
    """A time (monotonic) after which no request is sent. Time spent waiting for other calls is added to it."""

    at: float = math.inf


class _RefusedError(Exception):
    """The client refused to send the request. ``error`` is the reason."""

    def __init__(self, error: EndpointError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class _Tries:
    """The attempts of one call: their limit, their time, and whether the last one was final."""

    scope: CallScope
    ends: Deadline
    retries: InitVar[Retries]
    shown: Callable[[], bool]
    limit: int = 0
    longest_wait: float = 0.0  # seconds that the server may ask for
    began: float = field(default_factory=time.monotonic)
    number: int = 0
    seconds: float = 0.0
    wait: float = 0.0  # seconds until the next attempt
    finished: bool = False

    def __post_init__(self, retries: Retries) -> None:
        self.limit, self.longest_wait = retries.tries, retries.longest_asked
        if not self.scope.patient:
            self.limit, self.longest_wait = min(self.limit, 2), min(self.longest_wait, _QUICK)


class Client:
    """Requests to one model behind an endpoint, for chats and embeddings. Safe for several threads.

    ``timeout`` is in seconds for one request; ``limiter`` may be shared by the users of the endpoint. ``error`` is the
    type raised if the client itself refuses to send.
    """

    def __init__(
        self, name: str, limiter: Limiter, retries: Retries, timeout: float, error: type[EndpointError] = EndpointError
    ) -> None:
        if not timeout > 0:
            raise UsageError(
                f"The timeout of requests to the model is {timeout} s.", "Set timeout to more than 0 seconds."
            )
        self._name, self._limiter, self._retries, self._timeout = name, limiter, retries, timeout
        self._error = error
        self._closed = threading.Event()

    def check_open(self) -> None:
        """Raise UsageError after ``close``."""
        if self._closed.is_set():
            raise UsageError(f"{self._name} is closed.", "Load the model again.")

    def close(self) -> None:
        """Stop all waiting calls. Call it before the connection is closed."""
        self._closed.set()

    def send(
        self,
        request: Callable[[float], T],
        *,
        scope: CallScope,
        ends: Deadline | None = None,
        shown: Callable[[], bool] = lambda: False,
    ) -> tuple[T, float]:
        """Call ``request``, with retries. Return its result and the seconds of all attempts.

        ``request`` makes one request within the given seconds, or raises EndpointError. In a patient scope, for which
        no user waits, ``Retries`` limits the retries; in others there is at most one, after a short wait. ``shown``
        returns whether part of an answer was already shown; then there is no retry.

        Raise the last error, with the seconds of all attempts as its usage. While the circuit breaker of the endpoint
        or of the scope is open, raise its error at once, with the remaining seconds as ``wait``. A patient scope
        ignores the endpoint's breaker.
        """
        if (refusal := self._refusal(scope)) is not None:
            raise refusal
        tries = _Tries(scope, ends or Deadline(), self._retries, shown)
        while True:
            tries.number += 1
            try:
                return self._once(request, tries), tries.seconds
            except _RefusedError as refused:
                refused.error.usage = Usage(seconds=tries.seconds)
                raise refused.error from None
            except EndpointError as error:
                if tries.finished:
                    raise
                if error.wait:
                    self._limiter.pause(error.wait)
            self._closed.wait(tries.wait)

    def _judge(self, error: EndpointError, tries: _Tries) -> None:
        """Decide whether a failed attempt is the last one of its call. If so, report it to the circuit breakers."""
        limits, patient = self._retries, tries.scope.patient
        tries.seconds += error.usage.seconds
        wait = random.uniform(0.5, 1) * min(limits.longest_wait, limits.first_wait * 2 ** (tries.number - 1))
        tries.wait = error.wait * random.uniform(1, 1.1) if error.wait else wait
        is_late = time.monotonic() + tries.wait >= tries.ends.at
        is_slow = not patient and error.usage.seconds > _BRIEF
        last_try = tries.number == tries.limit or is_late or is_slow or error.wait > tries.longest_wait
        shown = tries.shown()
        tries.finished = last_try or not error.retryable or shown
        if not tries.finished:
            return
        error.message += f" It was tried {tries.number} times." if tries.number > 1 else ""
        error.message += f" The server asks to wait {error.wait:.0f} s." if error.wait else ""
        error.message += " The deadline leaves no time for another try." if error.retryable and is_late else ""
        if not shown:
            self._tell(error, tries.began, tries.number, tries.scope.breaker)
        error.usage = Usage(seconds=tries.seconds)

    def _tell(self, error: EndpointError, began: float, tried: int, of_run: Breaker | None) -> None:
        """Tell the circuit breakers about a failure, unless it concerns only this request."""
        breaker, again = self._limiter.breaker, tried > 1
        why = Failure(error.message, error.advice, error.failure, error.retryable)
        if of_run is not None and error.failure not in _OF_THE_TEXT:
            hear = of_run.failed if error.failure in (*FOR_GOOD, "cassette") else of_run.stumbled
            hear(self._name, why, time.monotonic())  # parallel calls count too, since each had its own attempts
        if error.failure in _HEARD:
            breaker.answered(self._name, began)
        elif error.failure in FOR_GOOD or (error.failure in _BUSY and (again or error.wait)):
            breaker.failed(self._name, why, began, rest=error.wait)
        elif error.failure == "connection" and again:
            breaker.failed(self._name, why, began, everywhere=True)
        elif error.failure == "timeout" and error.retryable:
            if error.usage.seconds >= min(_PATIENCE, self._timeout / 2):
                breaker.stumbled(self._name, why, began)
        elif error.failure in (*_BUSY, "connection"):
            breaker.stumbled(self._name, why, began)

    def _refusal(self, scope: CallScope) -> EndpointError | None:
        """Return the error if nothing may be sent now, else None.

        Nothing is sent if the endpoint failed a moment ago, or the circuit breaker of this run is open.
        """
        for breaker in filter(None, (scope.breaker, None if scope.patient else self._limiter.breaker)):
            if (refused := breaker.refuses(self._name)) is not None:
                why, rest = refused
                wait = rest if math.isfinite(rest) else 0.0
                return self._error(why.resting(rest), why.advice, failure=why.kind, retryable=why.retryable, wait=wait)
        return None

    def _once(self, request: Callable[[float], T], tries: _Tries) -> T:
        """Wait for a slot and make one attempt.

        Its outcome is recorded before the slot is released, so that the next caller sees it.
        """
        longest_pause = math.inf if tries.scope.patient else tries.longest_wait
        try:
            with self._limiter.place(tries.ends.at, self._closed.is_set, longest_pause) as waited:
                tries.ends.at += waited
                self.check_open()
                if (
                    refusal := self._refusal(tries.scope) if waited else None
                ) is not None:  # another call has failed meanwhile
                    raise _RefusedError(refusal)
                start = time.monotonic()
                try:
                    reply = request(min(self._timeout, max(tries.ends.at - start, 0.001)))
                except EndpointError as error:
                    self.check_open()  # raises if the connection was closed meanwhile
                    error.usage = Usage(seconds=time.monotonic() - start)
                    self._judge(error, tries)
                    raise
                tries.seconds += time.monotonic() - start
                for breaker in filter(None, (self._limiter.breaker, tries.scope.breaker)):
                    breaker.answered(self._name, start)
                return reply
        except NoPlaceError as full:
            self.check_open()
            if full.pause > longest_pause:
                failure = self._error(
                    f"{self._name} refuses calls for a while.",
                    "Try again later.",
                    failure="rate limit",
                    retryable=True,
                    wait=full.pause,
                )
            else:
                message = f"{self._name}: the deadline passed before a call could be made."
                failure = self._error(message, "Allow more time, or more concurrent calls.", failure="timeout")
            self._judge(failure, tries)
            raise failure from None
