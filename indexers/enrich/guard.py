"""A model for a whole run: left at once when the run is stopped, and no longer asked once it is plainly down."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from hybrid_core.errors import Cancelled, ChatError
from hybrid_core.llm.chat import ChatModel, Message, Reply
from hybrid_core.types.usage import Usage

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R", bound=Reply[Any])
_FOR_GOOD = ("key", "model", "quota", "cassette")
_OF_THE_TEXT = ("refusal", "reply", "too long")  # these say nothing about the next call
_IN_A_ROW = 3  # other failures, each after its own retries, after which the model is given up for this run
_LOOK = 0.1  # seconds between two looks whether the run was stopped


class Guard:
    """Shared by all documents of a run. ``down`` is why the model is no longer asked, None while it is."""

    def __init__(self, model: ChatModel, stopped: threading.Event) -> None:
        self.model, self.down = model, None
        self._stopped = stopped
        self._failed = 0
        self._lock = threading.Lock()

    down: ChatError | None

    def metered(self) -> Metered:
        return Metered(self)

    def call(self, ask: Callable[[], R]) -> R:
        """Raises what ``ask`` raises, ChatError where the model is down, Cancelled where the run is stopped.

        A call under way is left alone then: its thread ends with its answer, which nobody waits for.
        """
        if self._stopped.is_set():
            raise Cancelled("Indexing was stopped.")
        if self.down is not None:
            raise ChatError(self.down.message, self.down.advice, failure=self.down.failure)
        outcome: queue.SimpleQueue[R | BaseException] = queue.SimpleQueue()

        def work() -> None:
            try:
                outcome.put(ask())
            except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
                outcome.put(error)

        threading.Thread(target=work, name="index-model", daemon=True).start()
        while True:
            try:
                found = outcome.get(timeout=_LOOK)
                break
            except queue.Empty:
                if self._stopped.is_set():
                    raise Cancelled("Indexing was stopped.") from None
        if isinstance(found, BaseException):
            if isinstance(found, ChatError):
                self._note(found)
            raise found
        with self._lock:
            self._failed = 0
        return found

    def _note(self, error: ChatError) -> None:
        with self._lock:
            if error.failure in _OF_THE_TEXT:
                return
            self._failed += 1
            if self.down is None and (error.failure in _FOR_GOOD or self._failed >= _IN_A_ROW):
                self.down = error


class Metered:
    """The ``ChatModel`` that a step gets. ``usage`` sums all its calls, also those that failed."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._lock = threading.Lock()
        self.usage = Usage()

    @property
    def name(self) -> str:
        return self._guard.model.name

    def ask(self, messages: Sequence[Message], schema: type[T], **how: Any) -> Reply[T]:
        """``how`` is as for any ``ChatModel``. The model is asked patiently: a run gives it up by a rule of its own."""
        return self._counted(lambda: self._guard.model.ask(messages, schema, **{**how, "patient": True}))

    def say(self, messages: Sequence[Message], **how: Any) -> Reply[Any]:
        return self._counted(lambda: self._guard.model.say(messages, **{**how, "patient": True}))

    def close(self) -> None:
        """The model is the run's, not the step's."""

    def _counted(self, ask: Callable[[], R]) -> R:
        try:
            reply = self._guard.call(ask)
        except ChatError as error:
            self._add(error.usage)
            raise
        self._add(reply.usage)
        return reply

    def _add(self, usage: Usage) -> None:
        with self._lock:
            self.usage += usage
