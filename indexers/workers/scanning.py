"""A page read by one engine, and by a second one where the first is in doubt."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import cast

from hybrid_core.errors import DocumentError
from indexers.ocr.doubt import better
from indexers.ocr.engine import EngineName
from indexers.workers.protocol import EngineAnswer, ScanTask

Ask = Callable[[ScanTask], Future[object]]


class PageReading(Future[object]):
    """The packed reading that is taken. ``ask`` has a task done that names its engine.

    Where the second engine fails the first one's reading stays, as unsure as it is.
    """

    def __init__(self, task: ScanTask, ask: Ask) -> None:
        super().__init__()
        self._task, self._ask = task, ask
        self._asked = self._begin(task.ocr.first, self._on_first)

    def cancel(self) -> bool:
        """Where no engine is at it."""
        return self._asked.cancel()

    def _begin(self, engine: EngineName, then: Callable[[Future[object]], None]) -> Future[object]:
        asked = self._ask(replace(self._task, engine=engine))
        self._asked = asked
        asked.add_done_callback(then)
        return asked

    def _on_first(self, asked: Future[object]) -> None:
        if self._ended(asked):
            return None
        answer, second = cast(EngineAnswer, asked.result()), self._task.ocr.second
        if second is None or not answer.doubtful:
            return self.set_result(answer.packed)
        try:
            self._begin(second, lambda asked: self._on_second(answer, asked))
        except RuntimeError as error:  # the pool was closed
            self.set_exception(error)

    def _on_second(self, first: EngineAnswer, asked: Future[object]) -> None:
        if not asked.cancelled() and isinstance(asked.exception(), DocumentError):
            self.set_result(first.packed)
        elif not self._ended(asked):
            answer = cast(EngineAnswer, asked.result())
            self.set_result((answer if better(answer.text, answer.sure, first.text) else first).packed)

    def _ended(self, asked: Future[object]) -> bool:
        """Whether nothing more comes."""
        if asked.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
        elif (error := asked.exception()) is not None:
            self.set_exception(error)
        return self.done()
