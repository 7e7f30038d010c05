"""Threads of the indexing process that drive the workers.

They run tasks by priority, and OCR by one or two engines. A separate thread enforces the limits of time and memory.
"""

from __future__ import annotations

import mmap
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Literal, cast

from hybrid_core.errors import DocumentError
from hybrid_core.system import POSIX
from indexers.ocr.engines import EngineName
from indexers.ocr.pages import better
from indexers.workers.protocol import EngineAnswer, ScanTask


class TaskThreads:
    """A limited number of threads that run tasks by priority. Threads start on demand.

    Tasks of equal priority (0 is the highest) keep their order. A thread counts as free before its result is delivered,
    so a task that follows from the result needs no further thread.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._most, self._name = limit, name
        self._waiting: list[tuple[int, int, Future[object], Callable[[], object]]] = []
        self._numbers = count()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._free = 0
        self._closed = False

    def submit(self, urgency: int, work: Callable[[], object]) -> Future[object]:
        """Add a task. Raise RuntimeError if the threads are closed."""
        future: Future[object] = Future()
        within: Callable[[], object] = partial(copy_context().run, work)  # its log lines name the job
        with self._changed:
            if self._closed:
                raise RuntimeError("no more work is accepted, because the threads are being closed")
            heappush(self._waiting, (urgency, next(self._numbers), future, within))
            if self._free < len(self._waiting) and len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name=f"{self._name}-{len(self._threads)}", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._changed.notify()
        return future

    def close(self) -> None:
        """Cancel tasks that have not begun, and wait for the others."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            self._changed.notify_all()
        for *_, future, _ in waiting:
            future.cancel()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        self._release()
        while (task := self._next()) is not None:
            future, work = task
            if not future.set_running_or_notify_cancel():
                self._release()
            else:
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001 - whoever waits for it hears of it
                    self._release()
                    future.set_exception(error)
                else:
                    self._release()
                    future.set_result(result)
                    del result
            del task, future, work  # so that objects of a task are freed before the next one

    def _release(self) -> None:
        with self._changed:
            self._free += 1

    def _next(self) -> tuple[Future[object], Callable[[], object]] | None:
        """Return the most urgent task for a free thread; None if the threads are closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            self._free -= 1
            if self._closed:
                return None
            *_, future, work = heappop(self._waiting)
            return future, work


Ask = Callable[[ScanTask], Future[object]]


class PageReading(Future[object]):
    """The future of OCR on a page by one or two engines. ``ask`` submits a task for one named engine.

    If the second engine fails, the result of the first is used.
    """

    def __init__(self, task: ScanTask, ask: Ask) -> None:
        super().__init__()
        self._task, self._ask = task, ask
        self._answer = self._begin(task.ocr.first, self._on_first)

    def cancel(self) -> bool:
        """Cancel the reading unless an engine has begun it."""
        return self._answer.cancel()

    def _begin(self, engine: EngineName, then: Callable[[Future[object]], None]) -> Future[object]:
        answer = self._ask(replace(self._task, engine=engine))
        self._answer = answer
        answer.add_done_callback(then)
        return answer

    def _on_first(self, future: Future[object]) -> None:
        if self._ended(future):
            return None
        answer, second = cast(EngineAnswer, future.result()), self._task.ocr.second
        if second is None or not answer.doubtful:
            return self.set_result(answer.packed)
        try:
            self._begin(second, lambda future: self._on_second(answer, future))
        except RuntimeError as error:  # the pool was closed
            self.set_exception(error)

    def _on_second(self, first: EngineAnswer, future: Future[object]) -> None:
        if not future.cancelled() and isinstance(future.exception(), DocumentError):
            self.set_result(first.packed)
        elif not self._ended(future):
            answer = cast(EngineAnswer, future.result())
            self.set_result((answer if better(answer.text, answer.sure, first.text) else first).packed)

    def _ended(self, future: Future[object]) -> bool:
        """Return whether this reading has ended, because the engine's task failed or was cancelled."""
        if future.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
        elif (error := future.exception()) is not None:
            self.set_exception(error)
        return self.done()


Verdict = Literal["time", "memory"]
_PAGE = mmap.PAGESIZE
_PROC = Path("/proc/self/statm").exists()
_EVERY = 0.1 if _PROC else 1.0  # seconds; on other systems each check starts a process


@dataclass(slots=True)
class _WatchEntry:
    deadline: float
    largest: int = 0
    verdict: Verdict | None = None


class Watch:
    """A thread that kills processes at their deadline or above ``max_memory`` resident bytes.

    It records the reason.
    """

    def __init__(self, max_memory: int) -> None:
        self._max_memory = max_memory
        self._lock = threading.Lock()
        self._watched: dict[subprocess.Popen[bytes], _WatchEntry] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, name="index-watch", daemon=True)
        self._thread.start()

    def begin(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        with self._lock:
            self._watched[process] = _WatchEntry(time.monotonic() + seconds)

    def finish(self, process: subprocess.Popen[bytes]) -> tuple[Verdict | None, int]:
        """Stop watching a process. Return (reason for killing it, maximum resident size in bytes).

        The reason is None if the process ended by itself.
        """
        with self._lock:
            watched = self._watched.pop(process)
        return watched.verdict, watched.largest

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(_EVERY):
            with self._lock:
                pids = {process.pid for process in self._watched}
            sizes = {pid: resident_bytes(pid) for pid in pids}
            now = time.monotonic()
            with self._lock:
                for process, watched in self._watched.items():
                    watched.largest = max(watched.largest, sizes.get(process.pid, 0))
                    if watched.verdict is None and (verdict := self._verdict(watched, now)):
                        watched.verdict = verdict
                        process.kill()

    def _verdict(self, watched: _WatchEntry, now: float) -> Verdict | None:
        if now >= watched.deadline:
            return "time"
        return "memory" if watched.largest > self._max_memory else None


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 if it has ended."""
    try:
        if _PROC:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            return pages * _PAGE
        if not POSIX:
            return _resident_by_psutil(pid)
        output = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(output.stdout.strip() or 0) * 1024
    except (OSError, ValueError, IndexError):
        return 0


def _resident_by_psutil(pid: int) -> int:
    import psutil  # installed on Windows only

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
