"""Limits of an endpoint: concurrent calls, calls per minute, and a circuit breaker (Nygard, Release It!, 2007)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hybrid_core.errors import EndpointFailure, UsageError

# failures that the next call would have too
FOR_GOOD: frozenset[EndpointFailure] = frozenset(("key", "model", "quota"))

_LOOK = 0.2  # seconds between two checks whether a waiting caller was closed


@dataclass(frozen=True, slots=True)
class Failure:
    """The message of an error, stored without the error's traceback."""

    message: str
    advice: str
    kind: EndpointFailure
    retryable: bool

    def resting(self, seconds: float) -> str:
        """Return the error message for calls that are refused for ``seconds`` more, because of this failure."""
        if math.isinf(seconds):
            return self.message
        return f"{self.message} The next call is made in {math.ceil(seconds)} s."


@dataclass(slots=True)
class _Open:
    why: Failure
    at: float  # time (monotonic) when it opened or last let a test call through
    until: float  # monotonic


@dataclass(slots=True)
class _Model:
    answered: float = 0.0  # time of the last answer, monotonic
    stumbles: int = 0  # ambiguous failures in sequence
    stumbled: float = 0.0  # end of the last one, monotonic
    open: _Open | None = None


class Breaker:
    """The circuit breaker of one endpoint, or of one background run. Safe for several threads.

    When closed, it lets calls pass. A failure that would also affect the next call opens it for ``rest`` seconds. Then
    one test call may pass (half-open): an answer closes the breaker, a failure opens it again. An unreachable endpoint
    opens it for all models; a bad key, a server error or a timeout only for the model. ``in_a_row`` failures in
    sequence that may concern only one call open it too.
    """

    def __init__(self, rest: float = 30.0, in_a_row: int = 2) -> None:
        self.rest, self._in_a_row = rest, in_a_row
        self._models: dict[str, _Model] = {}
        self._unreachable: _Open | None = None  # the endpoint is unreachable, for all of its models
        self._lock = threading.Lock()

    def refuses(self, model: str) -> tuple[Failure, float] | None:
        """Return the failure that blocks calls of a model, and the seconds left. Return None if it may be called."""
        now = time.monotonic()
        with self._lock:
            openings = [opening for opening in (self._unreachable, self._state_of(model).open) if opening is not None]
            if waiting := [opening for opening in openings if now < opening.until]:
                last = max(waiting, key=lambda opening: opening.until)
                return last.why, last.until - now
            for opening in openings:
                # this call is the test, and others are refused meanwhile
                opening.at, opening.until = now, now + self.rest
        return None

    def answered(self, model: str, began: float) -> None:
        """Record that a model answered a call that began at ``began`` (monotonic).

        The answer closes the breaker, unless the endpoint refused the key, model or quota after the call began.
        """
        with self._lock:
            self._unreachable = None
            opened = self._state_of(model).open
            stays = opened is not None and opened.why.kind in FOR_GOOD and began < opened.at
            self._models[model] = _Model(answered=time.monotonic(), open=opened if stays else None)

    def failed(self, model: str, why: Failure, began: float, *, everywhere: bool = False, rest: float = 0.0) -> None:
        """Open the breaker because of a failure that would also affect the next call.

        The failed call began at ``began`` (monotonic). The failure is ignored if another call was answered since.
        ``everywhere`` means that no model of the endpoint can be reached. ``rest`` is the wait in seconds that the
        endpoint asks for, 0 for none; it can only shorten the usual time.
        """
        with self._lock:
            answers = [state.answered for name, state in self._models.items() if everywhere or name == model]
            if max(answers, default=0.0) > began:
                return
            now = time.monotonic()
            opened = _Open(why, now, now + min(rest or self.rest, self.rest))
            if everywhere:
                self._unreachable = opened
            else:
                self._state_of(model).open = opened

    def stumbled(self, model: str, why: Failure, began: float) -> None:
        """Record a failure that may concern only one call, such as a timeout.

        Several in sequence open the breaker. Parallel calls do not count as a sequence.
        """
        with self._lock:
            state = self._state_of(model)
            if began < state.stumbled:
                return
            state.stumbles, state.stumbled = state.stumbles + 1, time.monotonic()
            often = state.stumbles >= self._in_a_row
        if often:
            self.failed(model, why, began)

    def _state_of(self, model: str) -> _Model:
        return self._models.setdefault(model, _Model())


class NoPlaceError(Exception):
    """No call slot became free in time. ``pause`` is the number of seconds for which nothing may be sent."""

    def __init__(self, pause: float) -> None:
        super().__init__(pause)
        self.pause = pause


class Limiter:
    """Limits of an endpoint for all its users.

    They are ``concurrency`` calls at once and ``per_minute`` calls, spread evenly; 0 means no limit. ``breaker``
    refuses calls while the endpoint is down.
    """

    def __init__(self, concurrency: int, per_minute: int = 0) -> None:
        if concurrency < 1 or per_minute < 0:
            raise UsageError(
                f"The limits for calls to a model are not valid: {concurrency} calls at once and "
                f"{per_minute} per minute.",
                "Allow at least 1 call at once. 0 calls per minute means no limit.",
            )
        self.breaker = Breaker()
        self._free = concurrency
        self._interval = 60 / per_minute if per_minute else 0.0
        self._next = 0.0  # earliest start of the next call
        self._paused = 0.0  # end of a pause that the endpoint asked for
        self._change = threading.Condition()

    @contextmanager
    def place(self, until: float, stop: Callable[[], bool], longest_pause: float = math.inf) -> Iterator[float]:
        """Wait for a free slot and occupy it. Yield the seconds of waiting for other calls.

        Raise NoPlaceError after ``until`` (monotonic, extended by these seconds), if ``stop`` returns True, or if a
        pause is longer than ``longest_pause``.
        """
        waited = self._take(until, stop, longest_pause)
        try:
            yield waited
        finally:
            with self._change:
                self._free += 1
                self._change.notify()

    def pause(self, seconds: float) -> None:
        """Start no call for ``seconds``, because the endpoint asks for it."""
        with self._change:
            self._paused = max(self._paused, time.monotonic() + seconds)
            self._change.notify_all()

    def _take(self, until: float, stop: Callable[[], bool], longest_pause: float) -> float:
        waited = 0.0
        with self._change:
            while True:
                now = time.monotonic()
                start = max(self._next, self._paused)
                if now >= until + waited or stop() or self._paused - now > longest_pause:
                    self._change.notify()  # the notification may have been for another waiting call
                    raise NoPlaceError(self._paused - now)
                if self._free and now >= start:
                    self._free -= 1
                    self._next = max(self._next, now) + self._interval if self._interval else self._next
                    if self._free:
                        self._change.notify()
                    return waited
                if self._free:
                    self._change.wait(min(max(start - now, 0.001), _LOOK, max(until + waited - now, 0.001)))
                else:
                    self._change.wait(_LOOK)
                    waited += time.monotonic() - now
