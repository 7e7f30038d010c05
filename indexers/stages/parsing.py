"""A file's pages, parsed by the workers in ranges."""

from __future__ import annotations

import shutil
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hybrid_core.types.documents import ParsedPage
from indexers.build.spool import load_spool
from indexers.files.private_copy import PrivateCopy, changed, private_copy
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of
from indexers.workers.pool import Allowance, WorkerPool
from indexers.workers.protocol import ParsedRange, ParseTask


@dataclass(frozen=True, slots=True)
class ParsedRanges:
    """Where the parsed pages lie, in order; those that need OCR; and how many stretches of ``range_pages`` they are."""

    spools: tuple[Path, ...]
    unread: list[int]
    stretches: int


class Parser:
    """``folder`` is for working files. ``at_once`` is how many tasks of a file are given to the workers ahead of their
    turn.
    """

    def __init__(
        self,
        pool: WorkerPool,
        folder: Path,
        limits: ParseLimits,
        password: str | None,
        range_pages: int,
        at_once: int,
    ) -> None:
        self._pool, self._folder, self._limits = pool, folder, limits
        self._password, self._range_pages, self._at_once = password, range_pages, at_once

    @contextmanager
    def copy(self, file: Path, sha256: str, at: Path | None = None) -> Iterator[PrivateCopy]:
        """A file's bytes, which may lie ``at`` another path, for as long as they are read. Raises ChangedError where
        they are not those of the hash.
        """
        with private_copy(file, self._folder, at) as copy:
            if copy.sha256 != sha256:
                raise changed(file)
            yield copy

    @contextmanager
    def work(self) -> Iterator[Path]:
        """A folder for what is made of one file."""
        folder = self._folder / uuid.uuid4().hex
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def opens(self, copy: PrivateCopy) -> None:
        """Raises PasswordError, or another DocumentError, where the file cannot be opened."""
        with self.work() as work:
            task = ParseTask(copy.path, self._password, 2, 2, work / "nothing", self._limits)
            self._pool.submit(task, self._pool.allowance()).result()

    def pages(self, copy: PrivateCopy) -> Iterator[list[ParsedPage]]:
        """A file's pages, range by range. Raises DocumentError, LimitError or Cancelled."""
        with self.work() as work:
            for spool in self.spools(copy, work, self._pool.allowance()).spools:
                yield load_spool(spool).pages

    def spools(
        self, copy: PrivateCopy, work: Path, allowance: Allowance, on_page: Callable[[int], None] = lambda _: None
    ) -> ParsedRanges:
        """A file's pages, parsed into files below ``work``. Raises as ``pages``.

        ``on_page`` hears of every page how many there are.
        """
        whole = format_of(copy.path).whole

        def parse(start: int) -> Future[object]:
            spool = work / f"{start}.pages"
            stop = 0 if whole else start + self._range_pages
            task = ParseTask(copy.path, self._password, start, stop, spool, self._limits)
            return self._pool.submit(task, allowance, on_page)

        first = cast(ParsedRange, parse(1).result())
        starts = range(1, 2 if whole else first.pages + 1, self._range_pages)
        rest = [cast(ParsedRange, done.result()) for done in self._in_turn(parse, starts[1:])]
        unread = [number for parsed in (first, *rest) for number in parsed.unread]
        stretches = len(range(0, first.pages, self._range_pages))
        return ParsedRanges(tuple(work / f"{start}.pages" for start in starts), unread, stretches)

    def _in_turn(self, begin: Callable[[int], Future[object]], starts: Sequence[int]) -> Iterator[Future[object]]:
        """Tasks in order, a few begun at a time: a long file leaves room for others. What is left is called off."""
        running: deque[Future[object]] = deque()
        try:
            for start in starts:
                running.append(begin(start))
                if len(running) > self._at_once:
                    yield running.popleft()
            while running:
                yield running.popleft()
        finally:
            for future in running:
                future.cancel()
