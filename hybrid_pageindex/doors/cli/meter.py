"""How far a run of indexing is, how fast it goes, and how long the rest takes by what was measured so far."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexers.enrich.steps import Stage
    from indexers.stages.report import IndexProgress

_WINDOW, _STEP = 60.0, 0.25  # seconds that a rate is measured over, and between two samples
_FORETOLD = 100  # times as long as was measured: what would take longer is not known yet
_MODELS: tuple[Stage, ...] = ("refine", "describe", "tree", "summaries")


@dataclass(frozen=True, slots=True)
class WorkingFile:
    """A file that is worked at: ``done`` of its ``pages`` in this stage, 0 of 0 where it does not go by pages. Texts in
    place of pages, and no path, where a library is embedded.
    """

    path: str
    stage: Stage
    done: int
    pages: int
    rate: float  # pages a second
    seconds_left: float | None  # of this stage


@dataclass(frozen=True, slots=True)
class Overview:
    """``searchable`` of the ``documents`` are published or unchanged or refused, ``done`` have nothing left to do.

    ``rate`` is in pages a second, of parsing or, once that is over, of what is slower. ``seconds_left`` is None where
    nothing was measured yet.
    """

    documents: int
    searchable: int
    failed: int
    done: int
    pages: int
    scans: int
    scans_read: int
    rate: float
    seconds_left: float | None
    working: tuple[WorkingFile, ...]


class Rate:
    """How fast a count grows, over the last minute. What it is when it is first heard of took no time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque()
        self._began = clock()

    def count(self, value: float) -> None:
        now = self._clock()
        if len(self._seen) > 1 and now - self._seen[-2][0] < _STEP:
            self._seen.pop()
        self._seen.append((now, value))
        while len(self._seen) > 2 and self._seen[1][0] <= now - _WINDOW:
            self._seen.popleft()

    @property
    def started(self) -> bool:
        return bool(self._seen)

    @property
    def per_second(self) -> float:
        if len(self._seen) < 2:
            return 0.0
        (began, first), (_, last) = self._seen[0], self._seen[-1]
        return (last - first) / max(self._clock() - began, 1e-3)

    def seconds(self, left: float) -> float | None:
        """How long so much more takes; None where that is far beyond what was measured."""
        if left <= 0:
            return 0.0
        rate = self.per_second
        measured = self._clock() - self._began
        return left / rate if rate > 0 and left / rate <= _FORETOLD * measured else None


class Meter:
    """Hears the progress of one run from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._now: IndexProgress | None = None
        self._rates = {name: Rate(clock) for name in ("bytes", "pages", "scans", "models")}
        self._files: dict[str, tuple[IndexProgress, Rate]] = {}
        self._skipped = 0  # bytes of files that were unchanged: they tell nothing of how fast others are
        self._failed: set[str] = set()
        self._over: set[str] = set()

    def hear(self, now: IndexProgress) -> None:
        with self._lock:
            before, self._now = self._now, now
            finished = now.finished
            if finished is not None and finished.status == "unchanged" and before is not None:
                self._skipped += now.bytes_done - before.bytes_done
            if finished is not None and finished.status == "failed":
                self._failed.add(finished.path)
            if now.over:
                self._over.add(now.over)
            self._rates["bytes"].count(now.bytes_done - self._skipped)
            self._rates["pages"].count(now.pages_done)
            if now.scans:
                self._rates["scans"].count(now.scans_done)
            if now.stage in _MODELS or (now.over and self._rates["models"].started):
                self._rates["models"].count(len(self._over))
            self._place(now)

    def _place(self, now: IndexProgress) -> None:
        for gone in filter(None, (now.over, now.finished.path if now.finished else "")):
            self._files.pop(gone, None)
        if (now.file or now.stage == "embed") and now.finished is None:
            known = self._files.get(now.file)
            rate = known[1] if known and known[0].stage == now.stage else Rate(self._clock)
            rate.count(now.stage_done)
            self._files[now.file] = now, rate

    def overview(self) -> Overview | None:
        """None where nothing was heard yet."""
        with self._lock:
            now = self._now
            if now is None:
                return None
            searchable, done = now.files_done, len(self._over)
            return Overview(
                now.files, searchable, len(self._failed), done, now.pages_done, now.scans, now.scans_done,
                self._pace(now), self._left(now), tuple(self._working()),
            )  # fmt: skip

    def _pace(self, now: IndexProgress) -> float:
        parsing = now.files_done < now.files
        return self._rates["pages" if parsing or not now.scans else "scans"].per_second

    def _left(self, now: IndexProgress) -> float | None:
        """Parsers and OCR share the machine, so their times add up; models work beside them."""
        here = [
            self._rates["bytes"].seconds(now.bytes - now.bytes_done),
            self._rates["scans"].seconds(now.scans - now.scans_done),
        ]
        known = [seconds for seconds in here if seconds is not None]
        models = self._rates["models"]
        beside = models.seconds(now.files - len(self._over)) if models.started else 0.0
        if len(known) < len(here) or beside is None:
            return None
        vectors = sum(file.seconds_left or 0.0 for file in self._working() if file.stage == "embed")
        return max(sum(known), beside) + vectors

    def _working(self) -> Iterator[WorkingFile]:
        for path, (now, rate) in self._files.items():
            left = rate.seconds(now.stage_pages - now.stage_done) if now.stage_pages else None
            yield WorkingFile(path, now.stage, now.stage_done, now.stage_pages, rate.per_second, left)
