"""From a file to everything that a publication writes: its page ranges and scans go to the workers, then its build."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from pathlib import Path

from hybrid_core.types.documents import IndexedContent
from indexers.build.chunks import ChunkSize
from indexers.formats.registry import format_of
from indexers.jobs.files import PrivateCopy
from indexers.jobs.parsing import Parser
from indexers.jobs.report import FileStage, Tally
from indexers.jobs.scans import ReadScans, ScanReader
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import BuildTask


@dataclass(frozen=True, slots=True)
class FileContent:
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
        self._tally.add(pages=1, size=share, at=FileStage(self._file, "parse", pages, self._done))


class Maker:
    def __init__(self, pool: WorkerPool, parser: Parser, scans: ScanReader, chunks: ChunkSize) -> None:
        self._pool, self._parser, self._scans, self._chunks = pool, parser, scans, chunks

    def make(self, file: Path, copy: PrivateCopy, ocr_seconds: float, progress: FileProgress | None) -> FileContent:
        """Parse, read scans for about ``ocr_seconds``, build. Raises DocumentError, LimitError or Cancelled."""
        allowance = self._pool.allowance()
        with self._parser.work() as work:
            parsed = self._parser.spools(copy, work, allowance, progress.page if progress else _unseen)
            scans = self._scans.read(file, copy, parsed.unread, ocr_seconds)
            built = work / "index"
            build = BuildTask(
                file.name, copy.sha256, format_of(file).name, parsed.spools, built, self._chunks, scans.pages
            )
            self._pool.submit(build, allowance, stretches=parsed.stretches).result()
            with built.open("rb") as stream:
                content: IndexedContent = pickle.load(stream)
        return FileContent(replace(content, warnings=(*content.warnings, *scans.said)), bool(parsed.unread), scans)


def _unseen(_: int) -> None:
    return None
