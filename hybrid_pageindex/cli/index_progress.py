"""Measure the progress of indexing and show it on stderr: a live table on a terminal, else lines or JSON events."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hybrid_core.logs import written_as_json
from hybrid_core.text.prose import counted
from hybrid_core.types.libraries import shown_name
from hybrid_pageindex.cli.output import visible
from hybrid_pageindex.cli.progress import FORECAST_FACTOR, LINE_EVERY, say

if TYPE_CHECKING:
    from indexers.enrich.steps import Stage
    from indexers.jobs.report import FileResult, IndexProgress

_QUOTING = ("warning.left-open", "warning.left-open-more")
_WINDOW, _STEP = 60.0, 0.25  # seconds that a rate is measured over, and between two samples
_MODELS: tuple[Stage, ...] = ("refine", "describe", "tree", "summaries")
_EVENT_EVERY = 1.0
_ROWS = 8  # files of a table
_ALL_SEARCHABLE = "all files can be searched; some outlines are being improved (Ctrl-C ends this, and nothing is lost)"
_STAGES: dict[Stage, str] = {
    "parse": "parsing", "ocr": "OCR", "refine": "improving the outline", "describe": "describing",
    "tree": "checking the outline", "summaries": "summarising", "embed": "embedding",
}  # fmt: skip


@contextmanager
def index_progress(*, json: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """Yield a progress callback for ``Engine.index``.

    It updates a table on a terminal; otherwise it prints lines, or with ``json`` JSON events.
    """
    if sys.stderr.isatty():
        telling = _show_table()
    else:
        telling = _reporting(_Events(), _EVENT_EVERY) if json else _reporting(_Lines(), LINE_EVERY)
    with telling as hear:
        yield hear


@contextmanager
def worker_progress(*, json: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """Yield a progress callback for ``Engine.jobs.work``. It prints a line per file, or with ``json`` a JSON event.

    The lines of a worker are kept as its log, so they quote no document. If logs are JSON, the lines are log records.
    """
    notes, events = _Notes(quotes=False), _Events()

    def show(progress: IndexProgress) -> None:
        if progress.finished is None or progress.finished.unread:
            return
        if written_as_json():
            logging.getLogger(__name__).info("%s", outcome(progress, notes))
        else:
            say(outcome(progress, notes))

    yield events.hear if json else show


class _Reporter(Protocol):
    def hear(self, progress: IndexProgress) -> None:
        """Print the events in a progress report that were not printed before."""

    def tell(self, overview: Overview) -> None:
        """Print an overview of the whole run."""


@contextmanager
def _reporting(reporter: _Reporter, seconds: float) -> Iterator[Callable[[IndexProgress], None]]:
    """Yield a callback for progress reports.

    Also print an overview every ``seconds``, even if no reports arrive.
    """
    meter, ended, lock = Meter(), threading.Event(), threading.Lock()

    def hear(progress: IndexProgress) -> None:
        meter.hear(progress)
        with lock:
            reporter.hear(progress)

    def tell() -> None:
        while not ended.wait(seconds):
            if (overview := meter.overview()) is not None:
                with lock:
                    reporter.tell(overview)

    telling = threading.Thread(target=tell, name="progress", daemon=True)
    telling.start()
    try:
        yield hear
    finally:
        ended.set()
        telling.join()


class _Lines:
    def __init__(self) -> None:
        self._notes, self._searchable = _Notes(), _Searchable()

    def hear(self, progress: IndexProgress) -> None:
        for note in self._notes.new(progress):
            say(f"note: {note}")
        if self._searchable.begins(progress):
            say(_ALL_SEARCHABLE)
        if progress.finished is not None and not progress.finished.unread:  # else OCR continues
            say(f"[{progress.files_done}/{progress.files}] {outcome(progress, self._notes)}")

    def tell(self, overview: Overview) -> None:
        say(summary(overview))


class _Events:
    """A reporter that prints one JSON object per line.

    Events are ``document`` for each published file, ``note``, ``progress``, and ``searchable`` when all files are
    published and only outlines are being improved.
    """

    def __init__(self) -> None:
        self._notes, self._searchable = _Notes(), _Searchable()

    def hear(self, progress: IndexProgress) -> None:
        for note in self._notes.new(progress):
            self._event("note", {"note": note})
        if self._searchable.begins(progress):
            self._event("searchable", {"documents": progress.files_done})
        if (done := progress.finished) is not None:
            fields = {"path": done.path, "status": done.status, "error": done.error, "doc_id": done.doc_id}
            self._event("document", {**fields, "pages": done.pages, "seconds": done.seconds, "unread": done.unread})

    def tell(self, overview: Overview) -> None:
        self._event("progress", asdict(overview))

    def _event(self, kind: str, values: Mapping[str, Any]) -> None:
        say(dumps({"event": kind, **values}))


@contextmanager
def _show_table() -> Iterator[Callable[[IndexProgress], None]]:
    """Yield a callback for progress reports that updates a table on stderr. The table disappears at the end."""
    from rich.live import Live

    meter, notes, searchable = Meter(), _Notes(), _Searchable()

    def drawn() -> Table | str:
        overview = meter.overview()
        if overview is None:
            return "indexing"
        left = "" if overview.seconds_left is None else _clock(overview.seconds_left)
        table = Table(
            "indexing", "stage", "pages", "pages/s", "left", box=None, header_style="bold", pad_edge=False, expand=True
        )
        done = f"{overview.searchable} of {counted(overview.documents, 'document')}"
        failed = f", {overview.failed} failed" if overview.failed else ""
        scans = f", {overview.scans_read} of {overview.scans} scans" if overview.scans else ""
        rate = f"{overview.rate:.1f}" if overview.rate else ""
        table.add_row(f"{done}{failed}", "", f"{overview.pages:,}{scans}", rate, left)
        for file in overview.working[:_ROWS]:
            pages = f"{file.done} of {file.pages}" if file.pages else ""
            file_left = "" if file.seconds_left is None else _clock(file.seconds_left)
            name = escape(visible(_file_label(file)))
            table.add_row(f"  {name}", _STAGES[file.stage], pages, f"{file.rate:.1f}" if file.rate else "", file_left)
        if (more := len(overview.working) - _ROWS) > 0:
            table.add_row(f"  and {more} more")
        return table

    with Live(get_renderable=drawn, console=Console(stderr=True), transient=True) as live:

        def hear(progress: IndexProgress) -> None:
            meter.hear(progress)
            for note in notes.new(progress):
                live.console.print(f"note: {visible(note)}", markup=False)
            if searchable.begins(progress):
                live.console.print(_ALL_SEARCHABLE, markup=False)

        yield hear


class _Searchable:
    """A detector of the moment when every file is published and only outlines are left to improve."""

    def __init__(self) -> None:
        self._ended = False

    def begins(self, progress: IndexProgress) -> bool:
        begins = not self._ended and progress.stage == "refine" and progress.files_done >= progress.files
        self._ended = self._ended or begins
        return begins


class _Notes:
    """A filter that drops notes on a run and its files that were printed before.

    Without ``quotes``, it also drops notes that quote a document.
    """

    def __init__(self, *, quotes: bool = True) -> None:
        self._told, self._quotes = 0, quotes
        self._said: set[str] = set()

    def unsaid(self, file: FileResult) -> str:
        """Return the notes of a file that were not printed for an earlier file, joined by semicolons."""
        parts = [
            part for part in file.note.parts if part not in self._said and (self._quotes or part.code not in _QUOTING)
        ]
        self._said.update(parts)
        return "; ".join(parts)

    def new(self, progress: IndexProgress) -> tuple[str, ...]:
        notes = progress.notes[self._told :]
        self._told = max(self._told, len(progress.notes))
        return notes


def outcome(progress: IndexProgress, notes: _Notes) -> str:
    """Return a line of text about the file that has just finished a stage."""
    assert progress.finished is not None
    file, note = progress.finished, notes.unsaid(progress.finished)
    if progress.stage != "refine" or file.status == "failed":
        return line(file, note)
    more = f" ({note})" if note else ""
    return f"improved   {shown_name(file.path)}: {counted(file.sections, 'section')}{more}"


def line(file: FileResult, note: str) -> str:
    """Return the outcome of one file as a line of text, with its note."""
    name = shown_name(file.path)
    if file.status == "failed":
        return f"failed     {name}: {file.error}"
    note = f" ({note})" if note else ""
    models = f", models {file.model_seconds:.1f} s ({counted(file.usage.calls, 'call')})" if file.steps else ""
    extent = f"{counted(file.pages, 'page')}, {counted(file.sections, 'section')}"
    return f"{file.status:<10} {name}: {extent}, {file.seconds:.1f} s{models}{note}"


def summary(overview: Overview) -> str:
    """Return the progress of the run as one line."""
    of = f"{overview.searchable} of {counted(overview.documents, 'document')}"
    failed = f" ({overview.failed} failed)" if overview.failed else ""
    scans = f", {overview.scans_read} of {overview.scans} scans read" if overview.scans else ""
    rate = f", {overview.rate:.1f} pages/s" if overview.rate else ""
    left = "" if overview.seconds_left is None else f", {_clock(overview.seconds_left)} left"
    at = f"; {'; '.join(_file_progress(file) for file in overview.working[:2])}" if overview.working else ""
    return f"{of}{failed}, {counted(overview.pages, 'page')}{scans}{rate}{left}{at}"


def _file_progress(file: WorkingFile) -> str:
    done = f" {file.done} of {file.pages}" if file.pages else ""
    return f"{_file_label(file)}: {_STAGES[file.stage]}{done}"


def _file_label(file: WorkingFile) -> str:
    """Return the name of the file, or "vectors" for the embedding of a library."""
    return shown_name(file.path) if file.path else "vectors"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


class Meter:
    """A meter of the progress of one indexing run. Any thread may report to it."""

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
            previous = self._files.get(now.file)
            rate = previous[1] if previous and previous[0].stage == now.stage else Rate(self._clock)
            rate.count(now.stage_done)
            self._files[now.file] = now, rate

    def overview(self) -> Overview | None:
        """Return the progress so far, None before the first report."""
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
        """Return the estimated seconds until the run ends, None while a rate is unknown.

        The times of parsing and OCR are added, because both use the processor. Models work at the same time.
        """
        estimates = [
            self._rates["bytes"].seconds(now.bytes - now.bytes_done),
            self._rates["scans"].seconds(now.scans - now.scans_done),
        ]
        measured = [seconds for seconds in estimates if seconds is not None]
        models = self._rates["models"]
        model_seconds = models.seconds(now.files - len(self._over)) if models.started else 0.0
        if len(measured) < len(estimates) or model_seconds is None:
            return None
        vectors = sum(file.seconds_left or 0.0 for file in self._working() if file.stage == "embed")
        return max(sum(measured), model_seconds) + vectors

    def _working(self) -> Iterator[WorkingFile]:
        for path, (now, rate) in self._files.items():
            left = rate.seconds(now.stage_pages - now.stage_done) if now.stage_pages else None
            yield WorkingFile(path, now.stage, now.stage_done, now.stage_pages, rate.per_second, left)


class Rate:
    """A measurement of how fast a count has grown during the last minute."""

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
        """Return the estimated seconds for ``left`` more units.

        Return None if the estimate is far longer than the time measured so far.
        """
        if left <= 0:
            return 0.0
        rate = self.per_second
        measured = self._clock() - self._began
        return left / rate if rate > 0 and left / rate <= FORECAST_FACTOR * measured else None


@dataclass(frozen=True, slots=True)
class WorkingFile:
    """A file that is being processed. ``done`` of its ``pages`` are finished in this stage.

    Both are 0 if the stage does not count pages. While a library is embedded, ``path`` is empty and both count texts.
    """

    path: str
    stage: Stage
    done: int
    pages: int
    rate: float  # pages a second
    seconds_left: float | None  # of this stage


@dataclass(frozen=True, slots=True)
class Overview:
    """The progress of an indexing run.

    ``searchable`` counts documents that are published, unchanged or refused, ``done`` those with all stages finished.
    ``rate`` is the pages per second of parsing, or of OCR after it. ``seconds_left`` is None while unknown.
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
