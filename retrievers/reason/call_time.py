"""The time that several calls of a model may take together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hybrid_core.errors import ChatError

_PAUSE = 1.0  # seconds at most between two tries of a call, which no call counts as its own


class CallTime:
    """``seconds`` that the calls of one question may take; the wait for a place among calls of others is no part of
    them. ``setting`` is the name of the one that decides them. For one thread at a time.
    """

    def __init__(self, seconds: float, setting: str) -> None:
        self.left = seconds
        self._seconds, self._setting = seconds, setting

    @contextmanager
    def call(self) -> Iterator[float]:
        """The seconds that a call has. Raises ChatError ("timeout") where none are left; one that the call raises when
        they end says which setting that was.
        """
        advice = f"Allow more time ({self._setting})."
        if self.left <= 0:
            message = f"The {self._seconds:g} s that a model has for one question are over."
            raise ChatError(message, advice, failure="timeout")
        try:
            yield self.left
        except ChatError as error:
            unsent = not error.retryable  # the sender itself found that no time was left
            if error.failure == "timeout" and (unsent or error.usage.seconds + _PAUSE >= self.left):
                error.advice = advice
            self.left -= error.usage.seconds
            raise
