"""Show progress of all work except indexing on stderr: bars on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.console import Console

from hybrid_pageindex.cli.output import visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from indexers.jobs.embedding import EmbedProgress


LINE_EVERY = 10.0  # seconds between two lines
FORECAST_FACTOR = 100  # times as long as was measured: what would take longer is not known yet


@contextmanager
def embed_progress(*, quiet: bool) -> Iterator[Callable[[EmbedProgress], None]]:
    """Yield a progress callback for ``Engine.models.embed``.

    Show a bar on a terminal; otherwise print lines, or nothing with ``quiet``.
    """
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
    """Yield a progress callback for ``Engine.admin.doctor``.

    Show a bar on a terminal; otherwise print a line after each tenth of the documents.
    """
    if not sys.stderr.isatty():
        yield _tenths
        return
    with _bar("comparing", "documents") as bar:
        contents = bar.add_task("documents", total=None, visible=False)
        yield lambda done, of: bar.update(contents, total=of, completed=done, visible=True)


def _tenths(done: int, of: int) -> None:
    if of and done * 10 // of > (done - 1) * 10 // of:
        print(f"compared {done} of {of} documents", file=sys.stderr)


def _bar(what: str, unit: str) -> Progress:
    """Return a progress bar on stderr that disappears at the end.

    The time left is estimated from the last two minutes.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    return Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=120)


class Pace:
    """An estimate of the remaining time from the number of finished pages or texts."""

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def left(self, done: int, of: int) -> str:
        """Return the remaining time, such as "0:00:36".

        Return "" if no work is left, or if too little was measured for an estimate.
        """
        now = time.monotonic()
        if self._began is None and of:
            self._began = (now, done)
        if self._began is None or done >= of or done <= self._began[1]:
            return ""
        measured = now - self._began[0]
        seconds = measured / (done - self._began[1]) * (of - done)
        return "" if seconds > FORECAST_FACTOR * measured else str(timedelta(seconds=round(seconds)))


class _Seldom:
    """A printer that prints a changed line, but at most once in ``LINE_EVERY`` seconds."""

    def __init__(self) -> None:
        self._told, self._at = "", time.monotonic()

    def say(self, text: str) -> None:
        if text != self._told and time.monotonic() >= self._at + LINE_EVERY:
            self._told, self._at = text, time.monotonic()
            say(text)


def _embed_lines() -> Callable[[EmbedProgress], None]:
    pace, seldom, began = Pace(), _Seldom(), time.monotonic()

    def show(progress: EmbedProgress) -> None:
        left = pace.left(progress.texts_done, progress.texts)
        rate = progress.texts_done / max(time.monotonic() - began, 1e-3)
        seldom.say(f"{progress.texts_done} of {progress.texts} texts, {rate:.1f} a second{left and f', {left} left'}")

    return show


def _ignore(_: object) -> None:
    return None


def say(text: str) -> None:
    with suppress(OSError):  # the program that reads the progress may end; the work continues
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()
