"""A circuit breaker: what would only fail again fails at once (Nygard, Release It!, 2007)."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from hybrid_core.errors import EndpointFailure

FOR_GOOD: frozenset[EndpointFailure] = frozenset(("key", "model", "quota"))  # the next call would fare no better


@dataclass(frozen=True, slots=True)
class Failure:
    """What an error said, without what hangs on it (frames, replies)."""

    message: str
    advice: str
    kind: EndpointFailure
    retryable: bool

    def resting(self, seconds: float) -> str:
        """What a call that is not made for so many seconds more fails with."""
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
    """Of one endpoint, for all threads and models that use it; or of a run, for the one model that it asks.

    Closed, it lets calls through. A failure that the next call would meet too opens it for ``rest`` seconds. Then one
    call may find out (half-open): its answer closes the breaker, else it stays open as long again. An endpoint that
    cannot be reached is open for all of its models; a key, an error of the server or silence concern the one asked.
    ``in_a_row`` calls that failed in a way that may have been their own open it too.
    """

    def __init__(self, rest: float = 30.0, in_a_row: int = 2) -> None:
        self.rest, self._in_a_row = rest, in_a_row
        self._models: dict[str, _Model] = {}
        self._unreachable: _Open | None = None  # the endpoint itself: none of its models can be asked
        self._lock = threading.Lock()

    def refuses(self, model: str) -> tuple[Failure, float] | None:
        """Why a model is not to be asked and for how many seconds more, None where it may be."""
        now = time.monotonic()
        with self._lock:
            held = [one for one in (self._unreachable, self._of(model).open) if one is not None]
            if waiting := [one for one in held if now < one.until]:
                last = max(waiting, key=lambda one: one.until)
                return last.why, last.until - now
            for one in held:
                one.at, one.until = now, now + self.rest  # this call finds out, and no other meanwhile
        return None

    def answered(self, model: str, began: float) -> None:
        """A model answered a call that ``began`` (monotonic), whatever it said.

        A key that was withdrawn stays withdrawn where an answer to an earlier call arrives after the refusal.
        """
        with self._lock:
            self._unreachable = None
            opened = self._of(model).open
            stays = opened is not None and opened.why.kind in FOR_GOOD and began < opened.at
            self._models[model] = _Model(answered=time.monotonic(), open=opened if stays else None)

    def failed(self, model: str, why: Failure, began: float, *, everywhere: bool = False, rest: float = 0.0) -> None:
        """A call that ``began`` (monotonic) failed in a way that the next one would too.

        ``everywhere``: nothing of the endpoint can be reached. Calls that were answered meanwhile say otherwise.
        ``rest`` are the seconds that the endpoint asks for, 0 where it does not; they count where fewer than usual.
        """
        with self._lock:
            heard = [held.answered for name, held in self._models.items() if everywhere or name == model]
            if max(heard, default=0.0) > began:
                return
            now = time.monotonic()
            opened = _Open(why, now, now + min(rest or self.rest, self.rest))
            if everywhere:
                self._unreachable = opened
            else:
                self._of(model).open = opened

    def stumbled(self, model: str, why: Failure, began: float) -> None:
        """A call failed in a way that may be its own (it was not answered in time, or failed and was not tried again):
        enough of them in a row open. Those side by side with it, which one deadline may have ended, are no row.
        """
        with self._lock:
            held = self._of(model)
            if began < held.stumbled:
                return
            held.stumbles, held.stumbled = held.stumbles + 1, time.monotonic()
            often = held.stumbles >= self._in_a_row
        if often:
            self.failed(model, why, began)

    def _of(self, model: str) -> _Model:
        return self._models.setdefault(model, _Model())
