"""The scope of model calls: one question, a background run, or a step of either, with shared limits and usage."""

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
from hybrid_core.llm.budget import InputBudget, current_charge
from hybrid_core.llm.client.limiter import Breaker
from hybrid_core.types.usage import Usage

if TYPE_CHECKING:
    from hybrid_core.llm.chat import Reply
    from hybrid_core.llm.replies import ReplyCache

R = TypeVar("R", bound="Reply[Any]")
_LOOK = 0.1  # seconds between two checks whether the work was stopped
_PAUSE = 1.0  # maximum seconds between two attempts of a call, which count for no call


_patient: ContextVar[bool] = ContextVar("patient", default=False)


@contextmanager
def patiently() -> Iterator[None]:
    """Make every scope patient that is created within this context: its model calls are retried for longer."""
    token = _patient.set(True)
    try:
        yield
    finally:
        _patient.reset(token)


class CallScope:
    """Limits and usage of a group of calls, including failed ones.

    Safe for several threads if there are no token and time limits. ``patient`` means that no user waits: calls are
    retried more often, even after recent failures. ``tokens`` limits all inputs. ``seconds`` limits the time in calls,
    without waiting for slots; ``setting`` names the setting of this limit. The caller must respect the limit ``calls``
    (see ``spent``).

    ``breaker`` is a circuit breaker that is checked besides the endpoint's own. When ``stopped`` is set, waiting calls
    raise Cancelled at once. ``replies`` is the cache for models that have none. ``charge`` is the account of the calls.
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
        self._calls, self._call_count = calls, 0
        self._parent: CallScope | None = None
        self._used = 0.0
        self._lock = threading.Lock()

    def part(self, calls: int = sys.maxsize) -> CallScope:
        """Return a sub-scope with its own usage and call limit. It shares the other limits with this scope."""
        part = CallScope(
            patient=self.patient, setting=self._setting, calls=calls,
            breaker=self.breaker, stopped=self._stopped, replies=self.replies,
        )  # fmt: skip
        part.budget, part.charge, part._parent = self.budget, self.charge, self
        return part

    @property
    def spent(self) -> bool:
        """Return whether all allowed calls were made. Cached replies do not count."""
        return self._call_count >= self._calls

    @property
    def left(self) -> float:
        """Return the seconds that remain for calls."""
        return self._seconds - self._used if self._parent is None else self._parent.left

    def add(self, usage: Usage, *, is_call: bool = False) -> None:
        """Add usage. With ``is_call`` it counts as one call."""
        with self._lock:
            self.usage += usage
            self._used += usage.seconds
            self._call_count += is_call
        if self._parent is not None:
            self._parent.add(usage)

    def call(self, ask: Callable[[float], R]) -> R:
        """Run ``ask`` with the remaining seconds, and return its reply.

        Raise the errors of ``ask``, ChatError ("timeout") if no time is left, and Cancelled.
        """
        left, advice = self.left, f"Allow more time ({self._setting})." if self._setting else "Allow more time."
        if left <= 0:
            message = f"The models may spend {self._bound():g} s on one question, and this time is used up."
            raise ChatError(message, advice, failure="timeout")
        try:
            reply = ask(left) if self._stopped is None else _call_unless(self._stopped, lambda: ask(left))
        except ChatError as error:
            unsent = not error.retryable  # the client itself refused, since no time was left
            if self._setting and error.failure == "timeout" and (unsent or error.usage.seconds + _PAUSE >= left):
                error.advice = advice
            self.add(error.usage, is_call=True)
            raise
        self.add(reply.usage, is_call=not reply.usage.cached)
        return reply

    def _bound(self) -> float:
        return self._seconds if self._parent is None else self._parent._bound()


def _call_unless(stopped: threading.Event, ask: Callable[[], R]) -> R:
    """Call ``ask`` in a thread and return its reply.

    Raise Cancelled when ``stopped`` is set; the reply is then ignored.
    """
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
            result = outcome.get(timeout=_LOOK)
        except queue.Empty:
            continue
        if isinstance(result, BaseException):
            raise result
        return result
    raise Cancelled("The work was stopped.")
