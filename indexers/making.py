"""From a file to everything that a publication writes: its page ranges and scans go to the workers, then its build."""

from __future__ import annotations

import os
import pickle
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from hybrid_core.types import IndexedContent
from indexers.parse.limits import ParseLimits
from indexers.report import Point, Tally
from indexers.scans import ReadScans, ScanReader
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import BuildTask, Parsed, ParseTask


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a file. ``scanned``: it has pages that need OCR; ``scans`` says how far they are."""

    content: IndexedContent
    scanned: bool
    scans: ReadScans


class FileProgress:
    """Shows a file's pages and bytes as they are done; every page counts as much."""

    def __init__(self, tally: Tally, file: Path, size: int) -> None:
        self.size, self.shown = size, 0.0
        self._tally, self._file, self._done = tally, str(file), 0

    def page(self, pages: int) -> None:
        """One more of so many."""
        share = max(0.0, self.size - self.shown) / max(1, pages - self._done)
        self.shown += share
        self._done += 1
        self._tally.add(pages=1, size=share, at=Point(self._file, "parse", pages, self._done))


class Maker:
    """``at_once`` is how many tasks of a file are given to the workers ahead of their turn."""

    def __init__(self, pool: WorkerPool, scans: ScanReader, folder: Path, limits: ParseLimits, at_once: int) -> None:
        self._pool, self._scans, self._folder, self._limits, self._at_once = pool, scans, folder, limits, at_once

    def opens(self, file: Path, password: str | None) -> None:
        """Raises PasswordError, or another DocumentError, where the file cannot be opened."""
        nothing = self._folder / uuid.uuid4().hex
        task = ParseTask(file, password, 2, 2, nothing, self._limits)
        self._pool.submit(task, self._pool.allowance()).result()
        nothing.unlink()

    def make(
        self,
        file: Path,
        found: os.stat_result,
        sha256: str,
        password: str | None,
        range_pages: int,
        ocr_seconds: float,
        progress: FileProgress | None,
    ) -> Made:
        """Parse, read scans for about ``ocr_seconds``, build. Raises DocumentError, LimitError or Cancelled."""
        work = self._folder / uuid.uuid4().hex
        work.mkdir()
        allowance = self._pool.allowance()

        def parse(start: int) -> Future[object]:
            spool = work / f"{start}.pages"
            task = ParseTask(file, password, start, start + range_pages, spool, self._limits)
            return self._pool.submit(task, allowance, progress.page if progress else _unseen)

        first = cast(Parsed, parse(1).result())
        starts = range(1, first.pages + 1, range_pages)
        rest = [cast(Parsed, done.result()) for done in self._in_turn(parse, starts[1:])]
        unread = [number for parsed in (first, *rest) for number in parsed.unread]
        scans = self._scans.read(file, found, sha256, unread, ocr_seconds)
        spools = tuple(work / f"{start}.pages" for start in starts)
        built = work / "index"
        build = BuildTask(file.name, sha256, spools, built, scans.pages)
        self._pool.submit(build, allowance, stretches=len(spools)).result()
        with built.open("rb") as stream:
            content: IndexedContent = pickle.load(stream)
        for path in (*spools, built):
            path.unlink()
        return Made(replace(content, warnings=(*content.warnings, *scans.said)), bool(unread), scans)

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


def _unseen(_: int) -> None:
    return None
