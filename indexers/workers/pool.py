"""Worker processes that parse and build. They are our own module, so a caller needs no ``__main__`` guard."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, cast

from hybrid_core.errors import Cancelled, DocumentError, LimitError, PageIndexError
from indexers.workers.protocol import Reply, Task, receive, send


class WorkerPool:
    """``workers`` processes, each driven by one thread. A worker that dies costs only its task."""

    def __init__(self, workers: int, seconds_per_task: float) -> None:
        self._seconds = seconds_per_task
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="index-worker")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def submit(self, task: Task, on_page: Callable[[], None] = lambda: None) -> Future[object]:
        """Run a task in a worker. The future raises DocumentError, LimitError or Cancelled."""
        return self._threads.submit(self._run, task, on_page)

    def close(self) -> None:
        """End every worker at once; tasks under way fail with Cancelled."""
        with self._lock:
            self._closed = True
            running = list(self._processes)
        for process in running:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in running:
            _reap(process)

    def _run(self, task: Task, on_page: Callable[[], None]) -> object:
        process = self._worker()
        timed_out = threading.Event()

        def stop() -> None:
            timed_out.set()
            process.kill()

        timer = threading.Timer(self._seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            send(cast(IO[bytes], process.stdin), task)
            while isinstance(reply := receive(cast(IO[bytes], process.stdout)), Reply):
                if reply.kind == "page":
                    on_page()
                elif reply.kind == "failed":
                    raise cast(PageIndexError, reply.value)
                else:
                    return reply.value
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        self._forget(process)
        if self._closed:
            raise Cancelled("Indexing was stopped.")
        if timed_out.is_set():
            raise LimitError(
                f"it took longer than {self._seconds:.0f} s for one stretch of pages.",
                "Raise limits.seconds_per_task.",
            )
        raise DocumentError(f"the process that was reading it died (exit status {process.returncode}).")

    def _worker(self) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] | None = getattr(self._local, "process", None)
        if process is not None and process.poll() is None:
            return process
        with self._lock:
            if self._closed:
                raise Cancelled("Indexing was stopped.")
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "indexers.workers.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self._processes.add(process)
        self._local.process = process
        return process

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        _reap(process)
        with self._lock:
            self._processes.discard(process)
        self._local.process = None


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                continue
