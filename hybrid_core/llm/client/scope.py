"""What calls of a model are made for: a question that somebody waits for, a run that nobody does, a step of either."""

from __future__ import annotations

import math
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from hybrid_core.errors import Cancelled, ChatError
from hybrid_core.llm.client.breaker import Breaker
from hybrid_core.llm.input_budget import InputBudget
from hybrid_core.llm.metering import current_charge
from hybrid_core.types.usage import Usage

if TYPE_CHECKING:
    from hybrid_core.llm.chat import Reply
    from hybrid_core.llm.reply_cache import ReplyCache

R = TypeVar("R", bound="Reply[Any]")
_LOOK = 0.1  # seconds between two looks whether the work was stopped
_PAUSE = 1.0  # seconds at most between two tries of a call, which no call counts as its own


_patient: ContextVar[bool] = ContextVar("patient", default=False)


@contextmanager
def patiently() -> Iterator[None]:
    """Scopes that are made within, in this thread or task, are patient."""
    token = _patient.set(True)
    try:
        yield
    finally:
        _patient.reset(token)


class CallScope:
    """What its calls may take together, and what they took: ``usage``, also in vain. Safe for several threads where
    tokens and seconds are unbounded.

    ``patient``: nobody waits, so an endpoint that failed a moment ago is asked all the same, and more often.
    ``tokens`` are for all inputs. ``seconds`` are what calls take, but for the wait for a place among those of others;
    ``setting`` is the name of the one that decides them. ``calls`` are for the caller to keep to (``spent``).
    ``breaker`` is asked and told beside the endpoint's own, also by who is patient. Once ``stopped`` is set a call is
    left at once, with Cancelled. ``replies`` keeps them where the model itself has no cache. ``charge`` says for
    whom they are, as it was where the scope was made.
    """

    def __init__(
        self,
        *,
        patient: bool = False,
        tokens: int = sys.maxsize,
        seconds: float = math.inf,
        setting: str = "",
        calls: int = sys.maxsize,
        breaker: Breaker | None = None,
        stopped: threading.Event | None = None,
        replies: ReplyCache | None = None,
    ) -> None:
        self.patient, self.breaker, self.replies = patient or _patient.get(), breaker, replies
        self.budget = InputBudget(tokens)
        self.usage = Usage()
        self.charge = current_charge()
        self._seconds, self._setting, self._stopped = seconds, setting, stopped
        self._calls, self._made = calls, 0
        self._over: CallScope | None = None
        self._used = 0.0
        self._lock = threading.Lock()

    def part(self, calls: int = sys.maxsize) -> CallScope:
        """Within this one, with a usage of its own and so many calls."""
        part = CallScope(
            patient=self.patient, setting=self._setting, calls=calls,
            breaker=self.breaker, stopped=self._stopped, replies=self.replies,
        )  # fmt: skip
        part.budget, part.charge, part._over = self.budget, self.charge, self
        return part

    @property
    def spent(self) -> bool:
        """Whether it has made all of its calls; replies that were kept are none."""
        return self._made >= self._calls

    @property
    def left(self) -> float:
        """Seconds."""
        return self._seconds - self._used if self._over is None else self._over.left

    def add(self, usage: Usage, *, made: bool = False) -> None:
        """``made``: a call was made for it."""
        with self._lock:
            self.usage += usage
            self._used += usage.seconds
            self._made += made
        if self._over is not None:
            self._over.add(usage)

    def call(self, ask: Callable[[float], R]) -> R:
        """What ``ask`` replies within the seconds that it is given. Raises what it raises, ChatError ("timeout") where
        no time is left, and Cancelled.
        """
        left, advice = self.left, f"Allow more time ({self._setting})." if self._setting else "Allow more time."
        if left <= 0:
            message = f"The {self._bound():g} s that a model has for one question are over."
            raise ChatError(message, advice, failure="timeout")
        try:
            reply = ask(left) if self._stopped is None else _unless(self._stopped, lambda: ask(left))
        except ChatError as error:
            unsent = not error.retryable  # the client itself found that no time was left
            if self._setting and error.failure == "timeout" and (unsent or error.usage.seconds + _PAUSE >= left):
                error.advice = advice
            self.add(error.usage, made=True)
            raise
        self.add(reply.usage, made=not reply.usage.cached)
        return reply

    def _bound(self) -> float:
        return self._seconds if self._over is None else self._over._bound()


def _unless(stopped: threading.Event, ask: Callable[[], R]) -> R:
    """A call under way when the work is stopped is left alone: its thread ends with a reply that nobody hears."""
    outcome: queue.SimpleQueue[R | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put(ask())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            outcome.put(error)

    if not stopped.is_set():
        threading.Thread(target=work, name="index-model", daemon=True).start()
    while not stopped.is_set():
        try:
            found = outcome.get(timeout=_LOOK)
        except queue.Empty:
            continue
        if isinstance(found, BaseException):
            raise found
        return found
    raise Cancelled("The work was stopped.")
