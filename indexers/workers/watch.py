"""One thread that ends workers which run too long or hold too much memory."""

from __future__ import annotations

import resource
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Verdict = Literal["time", "memory"]
_PAGE = resource.getpagesize()
_PROC = Path("/proc/self/statm").exists()
_EVERY = 0.1 if _PROC else 1.0  # seconds; elsewhere each look starts a process


@dataclass(slots=True)
class _Watched:
    deadline: float
    largest: int = 0
    verdict: Verdict | None = None


class Watch:
    """Kills a process at its deadline or above ``max_memory`` bytes resident, and remembers why."""

    def __init__(self, max_memory: int) -> None:
        self._max_memory = max_memory
        self._lock = threading.Lock()
        self._watched: dict[subprocess.Popen[bytes], _Watched] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, name="index-watch", daemon=True)
        self._thread.start()

    def begin(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        with self._lock:
            self._watched[process] = _Watched(time.monotonic() + seconds)

    def finish(self, process: subprocess.Popen[bytes]) -> tuple[Verdict | None, int]:
        """Stop watching: why it was killed, if it was, and the largest resident set seen in bytes.

        After this the process is not killed any more.
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
                    if watched.verdict is None and (over := self._over(watched, now)):
                        watched.verdict = over
                        process.kill()

    def _over(self, watched: _Watched, now: float) -> Verdict | None:
        if now >= watched.deadline:
            return "time"
        return "memory" if watched.largest > self._max_memory else None


def resident_bytes(pid: int) -> int:
    """The resident set of a process, 0 where it is gone."""
    try:
        if _PROC:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            return pages * _PAGE
        said = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(said.stdout.strip() or 0) * 1024
    except (OSError, ValueError, IndexError):
        return 0
