"""Progress of an index run on stderr: a bar with time left on a terminal, a line per file elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.text.plural import counted
from hybrid_core.types.addresses import shown_name
from hybrid_pageindex.doors.cli.output import visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from indexers.build.embed import EmbedProgress
    from indexers.jobs.report import FileResult, IndexProgress


_LINE_EVERY = 10.0  # seconds


@contextmanager
def index_progress(*, quiet: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """A callback for ``Engine.index``. ``quiet`` leaves out the lines, not the bar."""
    told = _Notes()
    if not sys.stderr.isatty():
        yield _ignore if quiet else partial(_lines, told)
        return
    lock = threading.Lock()
    with _bar("indexing", "files, {task.fields[more]}") as bar:
        files = bar.add_task("files", total=None, more="", left="")
        pace = Pace()

        def show(progress: IndexProgress) -> None:
            with lock:  # the bar moves by bytes, so that one long document moves it too
                share = progress.bytes_done / progress.bytes if progress.bytes else 0.0
                done = min(max(share * progress.files, progress.files_done), progress.files)
                more = counted(progress.pages_done, "page")
                if progress.scans:  # they take most of the time
                    done *= (1 + progress.scans_done / progress.scans) / 2
                    more += f", {progress.scans_done} of {progress.scans} scans read"
                if progress.stage == "embed":
                    more = _embedding(progress)
                elif progress.stage not in ("parse", "ocr") and progress.finished is None:
                    more = f"models: {_model_work(progress)}"
                for note in told.new(progress):
                    bar.console.print(f"note: {visible(note)}", markup=False)
                left = pace.left(progress.scans_done, progress.scans)
                bar.update(files, total=progress.files, completed=round(done, 1), more=more, left=left)

        yield show


@contextmanager
def worker_progress(*, quiet: bool) -> Iterator[Callable[[IndexProgress], None]]:
    """A callback for ``Engine.work``: a line for each file, unless ``quiet``."""
    told = _Notes()

    def show(progress: IndexProgress) -> None:
        if progress.finished is not None and not progress.finished.unread:
            _say(line(progress.finished, told.unsaid(progress.finished)))

    yield _ignore if quiet else show


@contextmanager
def embed_progress(*, quiet: bool) -> Iterator[Callable[[EmbedProgress], None]]:
    """A callback for ``Engine.embed``: a bar on a terminal, now and then a line elsewhere unless ``quiet``."""
    if not sys.stderr.isatty():
        yield _ignore if quiet else _embed_lines()
        return
    with _bar("embedding", "texts, {task.fields[more]}") as bar:
        texts = bar.add_task("texts", total=None, more="", left="")

        def show(progress: EmbedProgress) -> None:
            more = f"{progress.documents_done}/{progress.documents} documents"
            bar.update(texts, total=progress.texts, completed=progress.texts_done, more=more)

        yield show


@contextmanager
def contents_progress() -> Iterator[Callable[[int, int], None]]:
    """A callback for ``Engine.doctor``: a bar on a terminal, elsewhere a line for each tenth."""
    if not sys.stderr.isatty():
        yield _tenths
        return
    with _bar("comparing", "contents") as bar:
        contents = bar.add_task("contents", total=None, visible=False)
        yield lambda done, of: bar.update(contents, total=of, completed=done, visible=True)


def _tenths(done: int, of: int) -> None:
    if of and done * 10 // of > (done - 1) * 10 // of:
        print(f"compared {done} of {of} contents", file=sys.stderr)


def _bar(what: str, unit: str) -> Progress:
    """A bar on stderr that goes when it is done; the time left follows the last minutes, not the last second."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Left(TimeRemainingColumn):
        """What the pages tell that OCR has read, where there are any."""

        def render(self, task: Task) -> Text:
            return Text(task.fields["left"], "progress.remaining") if task.fields["left"] else super().render(task)

    columns = (
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TimeElapsedColumn(), TextColumn("left"), Left(),
    )  # fmt: skip
    return Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=120)


class Pace:
    """The time left of pages or texts, from the time that those took which are done."""

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def left(self, done: int, of: int) -> str:
        """Such as 0:00:36; "" where nothing is left, or nothing done yet to judge by."""
        now = time.monotonic()
        if self._began is None and of:
            self._began = (now, done)
        if self._began is None or done >= of or done <= self._began[1]:
            return ""
        seconds = (now - self._began[0]) / (done - self._began[1]) * (of - done)
        return str(timedelta(seconds=round(seconds)))


class _Seldom:
    """Lines where nobody's terminal shows a bar: one now and then, and only what is new."""

    def __init__(self) -> None:
        self._told, self._at = "", time.monotonic()

    def say(self, text: str) -> None:
        if text != self._told and time.monotonic() >= self._at + _LINE_EVERY:
            self._told, self._at = text, time.monotonic()
            with suppress(OSError):  # whoever reads the progress may go away; the work goes on
                sys.stderr.write(text + "\n")
                sys.stderr.flush()


def _embed_lines() -> Callable[[EmbedProgress], None]:
    pace, seldom, began = Pace(), _Seldom(), time.monotonic()

    def show(progress: EmbedProgress) -> None:
        left = pace.left(progress.texts_done, progress.texts)
        rate = progress.texts_done / max(time.monotonic() - began, 1e-3)
        seldom.say(f"{progress.texts_done} of {progress.texts} texts, {rate:.1f} a second{left and f', {left} left'}")

    return show


class _Notes:
    """What was not told yet of the notes of the run and of its files."""

    def __init__(self) -> None:
        self._told = 0
        self._said: set[str] = set()
        self.seldom, self.pace = _Seldom(), Pace()

    def unsaid(self, file: FileResult) -> str:
        """What is to be said of a file and was not said of one before it."""
        parts = [part for part in file.note.split("; ") if part not in self._said]
        self._said.update(parts)
        return "; ".join(parts)

    def new(self, progress: IndexProgress) -> tuple[str, ...]:
        notes = progress.notes[self._told :]
        self._told = max(self._told, len(progress.notes))
        return notes


def _embedding(progress: IndexProgress) -> str:
    return f"{progress.stage_done} of {progress.stage_pages} texts embedded"


def _model_work(progress: IndexProgress) -> str:
    name = visible(Path(progress.file).name)
    if progress.stage == "describe":
        return f"page {progress.stage_done} of {progress.stage_pages} of {name}"
    return f"{progress.stage} of {name}"


def _ignore(_: object) -> None:
    return None


def _lines(told: _Notes, progress: IndexProgress) -> None:
    for note in told.new(progress):
        with suppress(OSError):
            sys.stderr.write(f"note: {visible(note)}\n")
    left = told.pace.left(progress.scans_done, progress.scans)
    if progress.stage == "embed":
        told.seldom.say(_embedding(progress))
    if progress.scans_done < progress.scans:
        told.seldom.say(f"{progress.scans_done} of {progress.scans} scans read{left and f', {left} left'}")
    if progress.finished is not None and not progress.finished.unread:  # else it has further turns
        said = line(progress.finished, told.unsaid(progress.finished))
        _say(f"[{progress.files_done}/{progress.files}] {said}")


def _say(line: str) -> None:
    with suppress(OSError):  # whoever reads the progress may go away; the work goes on
        sys.stderr.write(f"{visible(line)}\n")
        sys.stderr.flush()


def line(file: FileResult, note: str) -> str:
    """One file's outcome in a line, with what is to be said of it."""
    name = shown_name(file.path)
    if file.status == "failed":
        return f"failed     {name}: {file.error}"
    note = f" ({note})" if note else ""
    models = f", models {file.model_seconds:.1f} s ({counted(file.usage.calls, 'call')})" if file.steps else ""
    extent = f"{counted(file.pages, 'page')}, {counted(file.sections, 'section')}"
    return f"{file.status:<10} {name}: {extent}, {file.seconds:.1f} s{models}{note}"
