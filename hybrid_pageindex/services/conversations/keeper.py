"""What keeps a turn under way: its lease, and its events, which are in the database before anybody hears of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType

from hybrid_core.errors import BusyError, Cancelled, LeaseLostError, StoreError
from hybrid_core.store.conversations.turns import Turns
from hybrid_core.types.conversations import Citation, QuestionFrom, TurnFence
from hybrid_core.types.results import ReasoningStep

_TICK = 0.05  # seconds in which pieces of an answer are put together
_RENEW = 2.0  # seconds; also how soon a cancellation by another process is heard


class TurnKeeper:
    """The Listener of a turn that is kept. A thread of its own writes what came and renews the lease.

    ``stopped`` is set where somebody cancels the turn, or another process has it: ``lost``.
    """

    def __init__(self, turns: Turns, fence: TurnFence, stopped: threading.Event, tell: Callable[[int], None]) -> None:
        self._turns, self._fence, self.stopped, self._tell = turns, fence, stopped, tell
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._written = 0.0
        self.shown: list[str] = []
        self.lost = False
        self._over = threading.Event()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="conversation", daemon=True)

    def __enter__(self) -> TurnKeeper:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def searches(self, question: str, question_from: QuestionFrom) -> None:
        self._write(lambda: self._turns.searches(self._fence, question, question_from))

    def step(self, step: ReasoningStep) -> None:
        self._write(lambda: self._turns.log(self._fence, [("step", asdict(step))]))

    def found(self, sources: Sequence[Citation]) -> None:
        self._write(lambda: self._turns.cite(self._fence, sources))

    def text(self, piece: str) -> None:
        """The first piece is told at once, those that follow soon after with it together."""
        with self._lock:
            if self.stopped.is_set():
                return
            self._pieces.append(piece)
            if time.monotonic() - self._written >= _TICK:
                with suppress(BusyError):  # it is written with the next piece
                    self._flush()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    @property
    def so_far(self) -> str:
        """The text that was heard."""
        with self._lock:
            return "".join([*self.shown, *self._pieces])

    def _write(self, write: Callable[[], None]) -> None:
        with self._lock:
            if self.stopped.is_set():
                raise Cancelled("The turn was stopped.")
            self._flush()
            self._guarded(write)
        self._tell(self._fence.message)

    def _flush(self) -> None:
        if self._pieces and not self.lost:
            text = "".join(self._pieces)
            self._guarded(lambda: self._turns.log(self._fence, [("text", {"text": text})]))
            self.shown.append(text)
            self._pieces.clear()
            self._written = time.monotonic()
            self._tell(self._fence.message)

    def _guarded(self, write: Callable[[], None]) -> None:
        try:
            write()
        except LeaseLostError:
            self.lost = True
            self.stopped.set()
            raise

    def _keep(self) -> None:
        renewed = time.monotonic()
        while not self._over.wait(_TICK):
            with suppress(StoreError):  # a store that is busy is written to the next time
                self.flush()
                if time.monotonic() - renewed >= _RENEW:
                    with self._lock:
                        cancelled = self._renewed()
                    renewed = time.monotonic()
                    if cancelled:
                        self.stopped.set()

    def _renewed(self) -> bool:
        try:
            return self._turns.keep(self._fence)
        except LeaseLostError:
            self.lost = True
            return True
