"""Show the progress of a run and the time left.

In a terminal this is a bar on stderr, otherwise a line from time to time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hybrid_pageindex.cli.progress import FORECAST_FACTOR

_LINE_EVERY = 10.0  # seconds between two lines


class Progress:
    """A display of a run's progress. ``quiet`` shows nothing."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def say(self, line: str) -> None:
        if not self._quiet:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    @contextmanager
    def bar(self, what: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
        """Show a bar for ``total`` steps, and yield a function to call after each step.

        ``done`` steps are complete at the beginning.
        """
        if self._quiet or not sys.stderr.isatty():
            yield self._lines(what, total, done)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
            TimeRemainingColumn(),
        )  # fmt: skip
        with Bars(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=120) as bars:
            task = bars.add_task(what, total=total, completed=done)
            yield lambda: bars.advance(task)

    def _lines(self, what: str, total: int, done: int) -> Callable[[], None]:
        began = last = time.monotonic()
        taken = 0

        def step() -> None:
            nonlocal last, taken
            taken += 1
            now = time.monotonic()
            if now - last >= _LINE_EVERY:
                last = now
                steps, left = total - done - taken, ""
                if steps <= FORECAST_FACTOR * taken:
                    left = f", about {(now - began) / taken * steps:.0f} s left"
                self.say(f"{what}: {done + taken} of {total}{left}")

        return step
