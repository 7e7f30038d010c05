"""Limits of an endpoint: calls at once and per minute, and a circuit breaker (Nygard, Release It!, 2007)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hybrid_core.errors import EndpointFailure, UsageError

FOR_GOOD: frozenset[EndpointFailure] = frozenset(("key", "model", "quota"))  # the next call would fare no better

_LOOK = 0.2  # seconds between two looks whether a caller that waits has been closed


@dataclass(frozen=True, slots=True)
class Failure:
    """The message of an error, without its frames and replies."""

    message: str
    advice: str
    kind: EndpointFailure
    retryable: bool

    def resting(self, seconds: float) -> str:
        """Return the message of a call that is not sent for so many seconds more."""
        if math.isinf(seconds):
            return self.message
        return f"{self.message} That was a moment ago, so it was not asked now; it is in {math.ceil(seconds)} s."


@dataclass(slots=True)
class _Open:
    why: Failure
    at: float  # when it was opened or last let a call through to find out, monotonic
    until: float  # monotonic


@dataclass(slots=True)
class _Model:
    answered: float = 0.0  # when it last did, monotonic
    stumbles: int = 0  # in a row
    stumbled: float = 0.0  # when the last of them ended, monotonic
    open: _Open | None = None


class Breaker:
    """The circuit breaker of one endpoint, or of a run for the one model that it asks. Safe for several threads.

    Closed, it lets calls through. A failure that the next call would meet too opens it for ``rest`` seconds. Then one
    call may find out (half-open): its answer closes the breaker, else it stays open as long again.

    An unreachable endpoint is open for all of its models; a key, a server error or silence concern only the model
    asked. ``in_a_row`` calls that failed in a way that may have been their own open it too.
    """

    def __init__(self, rest: float = 30.0, in_a_row: int = 2) -> None:
        self.rest, self._in_a_row = rest, in_a_row
        self._models: dict[str, _Model] = {}
        self._unreachable: _Open | None = None  # the endpoint itself: none of its models can be asked
        self._lock = threading.Lock()

    def refuses(self, model: str) -> tuple[Failure, float] | None:
        """Return why a model is not to be asked, and for how many seconds more. None if it may be asked."""
        now = time.monotonic()
        with self._lock:
            openings = [opening for opening in (self._unreachable, self._state_of(model).open) if opening is not None]
            if waiting := [opening for opening in openings if now < opening.until]:
                last = max(waiting, key=lambda opening: opening.until)
                return last.why, last.until - now
            for opening in openings:
                opening.at, opening.until = now, now + self.rest  # this call finds out, and no other meanwhile
        return None

    def answered(self, model: str, began: float) -> None:
        """Record that a model answered a call that ``began`` (monotonic).

        A withdrawn key stays withdrawn if an answer to an earlier call arrives after the refusal.
        """
        with self._lock:
            self._unreachable = None
            opened = self._state_of(model).open
            stays = opened is not None and opened.why.kind in FOR_GOOD and began < opened.at
            self._models[model] = _Model(answered=time.monotonic(), open=opened if stays else None)

    def failed(self, model: str, why: Failure, began: float, *, everywhere: bool = False, rest: float = 0.0) -> None:
        """Record that a call that ``began`` (monotonic) failed in a way that the next one would too.

        ``everywhere``: no model of the endpoint can be reached. Calls that were answered meanwhile say otherwise.
        ``rest`` are the seconds that the endpoint asks for, 0 if it asks for none; only fewer than usual count.
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
        """Record a failure that may be the call's own: a timeout, or a failure that was not retried.

        Enough of them in a row open the breaker. Calls side by side, which one deadline may have ended, are no row.
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
    """A wait for a place ended without one. ``pause`` is how many seconds more nothing may be sent."""

    def __init__(self, pause: float) -> None:
        super().__init__(pause)
        self.pause = pause


class Limiter:
    """Limits of an endpoint over all its users: ``concurrency`` calls at once, ``per_minute`` evenly spread, 0 for no
    limit.

    ``breaker`` remembers for the same callers whether the endpoint can be asked at all.
    """

    def __init__(self, concurrency: int, per_minute: int = 0) -> None:
        if concurrency < 1 or per_minute < 0:
            raise UsageError(
                f"An endpoint's limits are {concurrency} calls at once and {per_minute} per minute.",
                "Allow at least one at once; 0 per minute means no limit.",
            )
        self.breaker = Breaker()
        self._free = concurrency
        self._interval = 60 / per_minute if per_minute else 0.0
        self._next = 0.0  # when the next call may start, after those before it
        self._paused = 0.0  # until when none may start, since the endpoint asked for it
        self._change = threading.Condition()

    @contextmanager
    def place(self, until: float, stop: Callable[[], bool], longest_pause: float = math.inf) -> Iterator[float]:
        """Wait for a place and hold it. Yield the seconds in which other calls took all places.

        Raises NoPlaceError once ``until`` (monotonic), put off by these seconds, passes, if ``stop`` is true, or if a
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
        """Let no call start for a while, as the endpoint asked."""
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
                    self._change.notify()  # the wake-up may have been meant for another
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
