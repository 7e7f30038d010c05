"""From a file to everything that a publication writes: its page ranges and scans go to the workers, then its build."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace

from hybrid_core.types.documents import IndexedContent
from hybrid_core.types.layouts import RegionsByPage
from indexers.build.chunks import ChunkSize
from indexers.files.private_copy import PrivateCopy
from indexers.formats.registry import format_of
from indexers.stages.parsing import Parser
from indexers.stages.scans import ReadScans, ScanReader
from indexers.stages.turn import Turn
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import BuildTask


@dataclass(frozen=True, slots=True)
class FileContent:
    """What was made of a file. ``scanned``: it has pages that need OCR; ``scans`` says how far they are."""

    content: IndexedContent
    scanned: bool
    scans: ReadScans


class Maker:
    def __init__(self, pool: WorkerPool, parser: Parser, scans: ScanReader, chunks: ChunkSize) -> None:
        self._pool, self._parser, self._scans, self._chunks = pool, parser, scans, chunks

    def make(
        self,
        turn: Turn,
        copy: PrivateCopy,
        ocr_seconds: float,
        on_page: Callable[[int], None],
        regions: RegionsByPage | None = None,
    ) -> FileContent:
        """Parse, read scans for about ``ocr_seconds``, build. Raises DocumentError, LimitError or Cancelled."""
        allowance = self._pool.allowance(turn.stop)
        with self._parser.work() as work:
            parsed = self._parser.spools(copy, work, allowance, on_page)
            scans = self._scans.read(turn, copy, parsed.unread, ocr_seconds)
            built = work / "index"
            format = format_of(turn.source).name
            build = BuildTask(
                turn.file.name, copy.sha256, format, parsed.spools, built, self._chunks, scans.pages,
                regions,
            )  # fmt: skip
            self._pool.submit(build, allowance, stretches=parsed.stretches).result()
            with built.open("rb") as stream:
                content: IndexedContent = pickle.load(stream)
        return FileContent(replace(content, warnings=(*content.warnings, *scans.said)), bool(parsed.unread), scans)
