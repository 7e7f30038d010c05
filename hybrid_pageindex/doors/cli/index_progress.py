"""Progress of indexing on stderr: a live table on a terminal, elsewhere lines, or events as JSON lines."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Any, Protocol

from rich.markup import escape

from hybrid_core.text.plural import counted
from hybrid_core.types.addresses import shown_name
from hybrid_pageindex.doors.cli.meter import Meter, Overview, WorkingFile
from hybrid_pageindex.doors.cli.output import visible
from hybrid_pageindex.doors.cli.progress import LINE_EVERY, say

if TYPE_CHECKING:
    from rich.table import Table

    from indexers.enrich.steps import Stage
    from indexers.stages.report import FileResult, IndexProgress

_EVENT_EVERY = 1.0
_ROWS = 8  # files of a table


@contextmanager
def index_progress(*, json: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """A callback for ``Engine.index``: a table on a terminal, elsewhere lines, or with ``json`` events."""
    if sys.stderr.isatty():
        telling = _table()
    else:
        telling = _told(_Events(), _EVENT_EVERY) if json else _told(_Lines(), LINE_EVERY)
    with telling as hear:
        yield hear


@contextmanager
def worker_progress(*, json: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """A callback for ``Engine.work``: a line for each file, or an event."""
    notes, events = _Notes(), _Events()

    def show(progress: IndexProgress) -> None:
        if progress.finished is not None and not progress.finished.unread:
            say(line(progress.finished, notes.unsaid(progress.finished)))

    yield events.hear if json else show


class _Teller(Protocol):
    def hear(self, progress: IndexProgress) -> None:
        """Tell what happened."""

    def tell(self, overview: Overview) -> None:
        """Tell how far everything is."""


@contextmanager
def _told(teller: _Teller, seconds: float) -> Iterator[Callable[[IndexProgress], None]]:
    """Everything is told every so many seconds, also where nothing happens, until the end."""
    meter, ended, lock = Meter(), threading.Event(), threading.Lock()

    def hear(progress: IndexProgress) -> None:
        meter.hear(progress)
        with lock:
            teller.hear(progress)

    def tell() -> None:
        while not ended.wait(seconds):
            if (overview := meter.overview()) is not None:
                with lock:
                    teller.tell(overview)

    telling = threading.Thread(target=tell, name="progress", daemon=True)
    telling.start()
    try:
        yield hear
    finally:
        ended.set()
        telling.join()


class _Lines:
    def __init__(self) -> None:
        self._notes = _Notes()

    def hear(self, progress: IndexProgress) -> None:
        for note in self._notes.new(progress):
            say(f"note: {note}")
        if progress.finished is not None and not progress.finished.unread:  # else it has further turns
            said = line(progress.finished, self._notes.unsaid(progress.finished))
            say(f"[{progress.files_done}/{progress.files}] {said}")

    def tell(self, overview: Overview) -> None:
        say(summary(overview))


class _Events:
    """One JSON object a line: ``document`` for each that was published, ``note``, ``progress``."""

    def __init__(self) -> None:
        self._notes = _Notes()

    def hear(self, progress: IndexProgress) -> None:
        for note in self._notes.new(progress):
            self._event("note", {"note": note})
        if (done := progress.finished) is not None:
            said = {"path": done.path, "status": done.status, "error": done.error, "doc_id": done.doc_id}
            self._event("document", {**said, "pages": done.pages, "seconds": done.seconds, "unread": done.unread})

    def tell(self, overview: Overview) -> None:
        self._event("progress", asdict(overview))

    def _event(self, kind: str, values: Mapping[str, Any]) -> None:
        say(dumps({"event": kind, **values}))


def summary(overview: Overview) -> str:
    """How far everything is, in a line."""
    of = f"{overview.searchable} of {counted(overview.documents, 'document')}"
    failed = f" ({overview.failed} failed)" if overview.failed else ""
    scans = f", {overview.scans_read} of {overview.scans} scans read" if overview.scans else ""
    rate = f", {overview.rate:.1f} pages/s" if overview.rate else ""
    left = "" if overview.seconds_left is None else f", {_clock(overview.seconds_left)} left"
    at = f"; {'; '.join(_place(file) for file in overview.working[:2])}" if overview.working else ""
    return f"{of}{failed}, {counted(overview.pages, 'page')}{scans}{rate}{left}{at}"


def _place(file: WorkingFile) -> str:
    done = f" {file.done} of {file.pages}" if file.pages else ""
    return f"{_named(file)}: {_STAGES[file.stage]}{done}"


def _named(file: WorkingFile) -> str:
    """Vectors are made for a whole library."""
    return shown_name(file.path) if file.path else "vectors"


_STAGES: dict[Stage, str] = {
    "parse": "parsing", "ocr": "OCR", "refine": "refining the outline", "describe": "describing",
    "tree": "checking the outline", "summaries": "summarising", "embed": "embedding",
}  # fmt: skip


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


@contextmanager
def _table() -> Iterator[Callable[[IndexProgress], None]]:
    """A table on stderr that goes when the run is over."""
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    meter, notes = Meter(), _Notes()

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
            rest = "" if file.seconds_left is None else _clock(file.seconds_left)
            name = escape(visible(_named(file)))
            table.add_row(f"  {name}", _STAGES[file.stage], pages, f"{file.rate:.1f}" if file.rate else "", rest)
        if (more := len(overview.working) - _ROWS) > 0:
            table.add_row(f"  and {more} more")
        return table

    with Live(get_renderable=drawn, console=Console(stderr=True), transient=True) as live:

        def hear(progress: IndexProgress) -> None:
            meter.hear(progress)
            for note in notes.new(progress):
                live.console.print(f"note: {visible(note)}", markup=False)

        yield hear


class _Notes:
    """What was not told yet of the notes of the run and of its files."""

    def __init__(self) -> None:
        self._told = 0
        self._said: set[str] = set()

    def unsaid(self, file: FileResult) -> str:
        """What is to be said of a file and was not said of one before it."""
        parts = [part for part in file.note.split("; ") if part not in self._said]
        self._said.update(parts)
        return "; ".join(parts)

    def new(self, progress: IndexProgress) -> tuple[str, ...]:
        notes = progress.notes[self._told :]
        self._told = max(self._told, len(progress.notes))
        return notes


def line(file: FileResult, note: str) -> str:
    """One file's outcome in a line, with what is to be said of it."""
    name = shown_name(file.path)
    if file.status == "failed":
        return f"failed     {name}: {file.error}"
    note = f" ({note})" if note else ""
    models = f", models {file.model_seconds:.1f} s ({counted(file.usage.calls, 'call')})" if file.steps else ""
    extent = f"{counted(file.pages, 'page')}, {counted(file.sections, 'section')}"
    return f"{file.status:<10} {name}: {extent}, {file.seconds:.1f} s{models}{note}"
