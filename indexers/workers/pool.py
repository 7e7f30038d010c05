"""The pool of worker processes, and the stop signal for the work on one file.

Processes start from a module of this package, so callers need no ``__main__`` guard.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import BinaryIO, Literal, cast

from hybrid_core.errors import Cancelled, DocumentError, LimitError, PageIndexError
from hybrid_core.logs import log_here
from hybrid_core.system import child_options, kill_tree
from indexers.formats.limits import MAX_SLOW_PAGES
from indexers.workers.protocol import (
    ParseTask,
    RegionTask,
    Reply,
    ScanTask,
    SmallContent,
    Task,
    ended,
    receive,
    send,
    too_many,
)
from indexers.workers.threads import PageReading, TaskThreads, Verdict, Watch, resident_bytes

Reason = Literal["cancelled", "paused", "lost", "closing", "yielding"]
"""Why work stops. ``lost``: another process has taken over the job. ``closing``: this process ends, and the job returns
to the queue. ``yielding``: more urgent work came, and the job returns to the queue.
"""


class Stop:
    """A signal to stop the work on a file.

    Once it is set, no further task of the file begins. Safe for several threads.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.reason: Reason | None = None

    def ask(self, reason: Reason) -> None:
        """Request a stop. Only the first reason is stored."""
        self.reason = self.reason or reason
        self.asked.set()


_WORN = 0.4  # share of its memory above which an idle worker is replaced, so that no file pays for the ones before
_FULL_OF_MODELS = 0.8
_IDLE_SECONDS = 30.0
_START_SECONDS = 120.0  # seconds for the start of a worker, which do not count for a file
_FULL = 0.6  # share above which a death is put down to memory: libraries abort when an allocation fails


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits of worker processes. Memory is in bytes.

    ``seconds_per_file`` counts the work of all processes on a file, without waiting. ``max_ocr_memory`` is for
    processes with models: RapidOCR or the layout model.
    """

    seconds_per_task: float = 120.0
    seconds_per_file: float = 3600.0
    max_worker_memory: int = 10**9
    max_ocr_memory: int = 2 * 10**9


class Allowance:
    """The remaining seconds and slow pages of a file, shared by all its tasks.

    ``stop`` is the signal that ends the work on the file.
    """

    def __init__(self, seconds: float, stop: Stop) -> None:
        self._left, self._slow = seconds, MAX_SLOW_PAGES
        self.stop = stop
        self._lock = threading.Lock()

    def left(self) -> float:
        with self._lock:
            return self._left

    def spend(self, seconds: float) -> None:
        with self._lock:
            self._left -= seconds

    def slow_page(self) -> bool:
        """Take one from the number of slow pages that the file may have. Return False if none is left."""
        with self._lock:
            self._slow -= 1
            return self._slow >= 0


class _PagesRead:
    """A counter of the pages that a worker reads, which reports each page to ``on_page``.

    The first ``reported`` pages are not reported again.
    """

    def __init__(self, on_page: Callable[[int], None], reported: int) -> None:
        self._on_page, self._told = on_page, reported
        self.read = 0

    def __call__(self, pages: int) -> None:
        self.read += 1
        if self.read > self._told:
            self._on_page(pages)


class _SlowPageError(DocumentError):
    """A worker process ended itself because a page took too long."""


class _IdleEndError(DocumentError):
    """A worker process ended itself because it was idle, at the moment when it received a task."""


class _FullError(DocumentError):
    """A worker with models ran out of memory on a page, because the pages before had filled it."""


class WorkerPool:
    """A pool that runs tasks in ``workers`` processes, each driven by a thread.

    A crashing process loses only its task. Pages for RapidOCR go to one additional process, so they do not delay
    parsing. Pages for the layout model go to additional processes, as many as ``workers``. The additional processes end
    after some idle time, which frees the memory of their models.
    """

    def __init__(self, workers: int, limits: WorkerLimits = WorkerLimits(), idle: float = 0.0) -> None:
        self._limits, self._idle = limits, idle  # seconds without a task after which a worker ends, 0: never
        self._workers = workers
        self._models: dict[str, WorkerPool] = {}
        self._threads = TaskThreads(workers, "index-worker")
        self._watch = Watch(limits.max_worker_memory)
        self._local = threading.local()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._busy: dict[subprocess.Popen[bytes], Stop] = {}
        self._closed = False

    def allowance(self, stop: Stop | None = None, seconds: float | None = None) -> Allowance:
        """Return the time allowance of a new file: ``seconds``, or the default of the limits."""
        return Allowance(self._limits.seconds_per_file if seconds is None else seconds, stop or Stop())

    def end(self, stop: Stop) -> None:
        """Kill the worker processes that still work on a stopped file, with their child processes."""
        with self._lock:
            running = [process for process, of in self._busy.items() if of is stop]
            models = list(self._models.values())
        for process in running:
            kill_tree(process)
        for pool in models:
            pool.end(stop)

    def submit(
        self,
        task: Task,
        allowance: Allowance,
        on_page: Callable[[int], None] = lambda _: None,
        stretches: int = 1,
        on_part: Callable[[int, SmallContent | PageIndexError], None] = lambda *_: None,
    ) -> Future[object]:
        """Run a task in a worker process. The future raises DocumentError, LimitError or Cancelled.

        ``on_page`` is called with the file's page count for every parsed page, ``on_part`` for each finished file of a
        batch. OCR tasks have the lowest priority. ``stretches`` multiplies the time limit ``seconds_per_task``.
        """
        if isinstance(task, ScanTask) and task.engine is None:
            return PageReading(task, lambda asked: self.submit(asked, allowance))
        if isinstance(task, ScanTask) and task.engine == "RapidOCR" and not self._idle:
            return self._with_models("ocr", 1).submit(task, allowance)
        if isinstance(task, RegionTask) and not self._idle:
            return self._with_models("layout", self._workers).submit(task, allowance)
        work = partial(self._run, task, allowance, on_page, stretches, on_part)
        return self._threads.submit(int(isinstance(task, ScanTask)), work)

    def _with_models(self, which: str, processes: int) -> WorkerPool:
        """Return the pool of additional processes for a kind of models: "ocr" or "layout"."""
        with self._lock:
            if self._closed:
                raise Cancelled("Indexing was stopped.")
            if which not in self._models:
                limits = replace(self._limits, max_worker_memory=self._limits.max_ocr_memory)
                self._models[which] = WorkerPool(processes, limits, _IDLE_SECONDS)
            return self._models[which]

    def close(self) -> None:
        """End every worker immediately; running tasks fail with Cancelled."""
        with self._lock:
            self._closed = True
            running, models = list(self._processes), list(self._models.values())
        for pool in models:
            pool.close()
        for process in running:
            kill_tree(process)
        self._threads.close()
        self._watch.close()
        for process in running:
            _reap(process)

    def _run(
        self,
        task: Task,
        allowance: Allowance,
        on_page: Callable[[int], None],
        stretches: int,
        on_part: Callable[[int, SmallContent | PageIndexError], None],
    ) -> object:
        reported = 0
        while True:
            pages = _PagesRead(on_page, reported)
            try:
                return self._once(task, allowance, pages, stretches, on_part)
            except (_IdleEndError, _FullError):
                continue
            except _SlowPageError:
                if not isinstance(task, ParseTask):
                    raise
                if not allowance.slow_page():
                    raise too_many(task.limits.seconds_per_page) from None
                task, reported = task.without(pages.read), max(reported, pages.read)

    def _once(
        self,
        task: Task,
        allowance: Allowance,
        on_page: Callable[[int], None],
        stretches: int,
        on_part: Callable[[int, SmallContent | PageIndexError], None],
    ) -> object:
        seconds, left, stop = self._limits.seconds_per_task * stretches, allowance.left(), allowance.stop
        if left <= 0:
            raise self._too_slow(whole_file=True)
        process = self._worker()
        used = self._local.used
        self._local.used = True
        with self._lock:
            if stop.asked.is_set():
                raise _stopped()
            self._busy[process] = stop
        began = monotonic()
        self._watch.begin(process, min(seconds, left))
        try:
            reply = _converse(process, task, on_page, on_part)
        finally:
            verdict, largest = self._watch.finish(process)
            allowance.spend(monotonic() - began)
            with self._lock:
                del self._busy[process]
        if reply is None or verdict is not None or resident_bytes(process.pid) > self._worn():
            self._forget(process)
        if reply is None:
            raise (
                _stopped() if stop.asked.is_set() else self._cause(process, verdict, largest, whole_file=left < seconds)
            )
        if reply.kind == "failed":
            if self._idle and isinstance(reply.value, LimitError):
                self._forget(process)
                if used:
                    raise _FullError("the worker process ran out of memory.")
            raise cast(PageIndexError, reply.value)
        return reply.value

    def _cause(
        self, process: subprocess.Popen[bytes], verdict: Verdict | None, largest: int, whole_file: bool
    ) -> PageIndexError:
        """Return the error that explains why a worker process ended without a reply."""
        if self._closed:
            return _stopped()
        if ended(process.returncode):
            return _SlowPageError("reading a page took too long.")
        if self._idle and process.returncode == 0:
            return _IdleEndError("the worker process was idle for too long.")
        if verdict == "time":
            return self._too_slow(whole_file)
        max_memory = self._limits.max_worker_memory
        if verdict == "memory" or largest > _FULL * max_memory:
            return LimitError(
                f"reading the file needs more than the {max_memory / 1000000.0:,.0f} MB of memory that a "
                "worker process may use.",
                f"Raise the setting {'max_ocr_memory' if self._idle else 'max_worker_memory'}.",
            )
        return DocumentError(
            f"the worker process that was reading the file ended unexpectedly (exit status {process.returncode})."
        )

    def _worn(self) -> float:
        """Return the memory in bytes above which an idle worker process is replaced by a new one.

        Workers with models need more memory.
        """
        return (_FULL_OF_MODELS if self._idle else _WORN) * self._limits.max_worker_memory

    def _too_slow(self, whole_file: bool) -> LimitError:
        if whole_file:
            return LimitError(
                f"reading the file took longer than {self._limits.seconds_per_file:,.0f} s.",
                "Raise the setting seconds_per_file.",
            )
        return LimitError(
            f"reading a range of the pages took longer than {self._limits.seconds_per_task:,.0f} s.",
            "Raise the setting seconds_per_task.",
        )

    def _worker(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is not None and process.poll() is None:
            return process
        if process is not None:  # it died while it had nothing to do
            self._forget(process)
        with self._lock:
            if self._closed:
                raise _stopped()
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "indexers.workers.start",
                    str(self._limits.max_worker_memory),
                    str(self._idle),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **child_options(),  # Ctrl-C on the terminal is for us, who end the workers
            )
            self._processes.add(process)
        self._local.process, self._local.used = process, False
        self._watch.begin(process, max(_START_SECONDS, self._limits.seconds_per_file))
        receive(cast(BinaryIO, process.stdout))  # its start is no task's time; where it died, the task will find out
        self._watch.finish(process)
        return process

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        kill_tree(process)
        _reap(process)
        with self._lock:
            self._processes.discard(process)
        self._local.process = None


def _converse(
    process: subprocess.Popen[bytes],
    task: Task,
    on_page: Callable[[int], None],
    on_part: Callable[[int, SmallContent | PageIndexError], None],
) -> Reply | None:
    """Send a task to a process and return its last reply; None if the process ends first."""
    try:
        send(cast(BinaryIO, process.stdin), task)
        while isinstance(reply := receive(cast(BinaryIO, process.stdout)), Reply):
            if reply.kind == "page":
                on_page(cast(int, reply.value))
            elif reply.kind == "part":
                on_part(*cast(tuple[int, SmallContent | PageIndexError], reply.value))
            elif reply.kind == "log":
                log_here(cast(logging.LogRecord, reply.value))
            else:
                return reply
    except OSError:  # a broken pipe; Windows calls it otherwise
        pass
    return None


def _stopped() -> Cancelled:
    return Cancelled("Indexing was stopped.")


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue
