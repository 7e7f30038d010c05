"""Reading of a file in worker processes: parse ranges of pages, run OCR, and build the document."""

from __future__ import annotations

import pickle
import shutil
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import cast

from hybrid_core.errors import Cancelled, DocumentError
from hybrid_core.store.shared_cache import SharedCache
from hybrid_core.types.documents import IndexedContent, ParsedPage
from hybrid_core.types.locators import RegionsByPage
from hybrid_core.types.notes import Note
from indexers.assembly.chunks import ChunkSize
from indexers.assembly.spool import load_spool
from indexers.files.private_copy import PrivateCopy, changed, private_copy
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of
from indexers.jobs.stage_run import StageRun
from indexers.ocr.engines import NoOcr, Ocr
from indexers.ocr.pages import cache_key
from indexers.workers.pool import Allowance, WorkerPool
from indexers.workers.protocol import BuildTask, ParsedRange, ParseTask, ScanTask


@dataclass(frozen=True, slots=True)
class ParsedRanges:
    """The parsed pages of a file, as the paths of the files (spools) that store them.

    ``unread`` are the pages that need OCR, ``stretches`` is the number of page ranges.
    """

    spools: tuple[Path, ...]
    unread: list[int]
    stretches: int


class Parser:
    """Parses files in worker processes.

    ``folder`` is for working files. ``at_once`` is the number of a file's tasks that wait in the pool at the same time.
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
        """Yield a private copy of a file's bytes, which may be ``at`` another path.

        Raise ChangedError if they do not match the hash.
        """
        with private_copy(file, self._folder, at) as copy:
            if copy.sha256 != sha256:
                raise changed(file)
            yield copy

    @contextmanager
    def work(self) -> Iterator[Path]:
        """Yield a folder for the working files of one file."""
        folder = self._folder / uuid.uuid4().hex
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def opens(self, copy: PrivateCopy) -> None:
        """Raise PasswordError, or another DocumentError, if the file cannot be opened with the password."""
        with self.work() as work:
            task = ParseTask(copy.path, self._password, 2, 2, work / "nothing", self._limits)
            self._pool.submit(task, self._pool.allowance()).result()

    def pages(self, copy: PrivateCopy) -> Iterator[list[ParsedPage]]:
        """Yield the pages of a file in lists, one per range. Raise DocumentError, LimitError or Cancelled."""
        with self.work() as work:
            for spool in self.spools(copy, work, self._pool.allowance()).spools:
                yield load_spool(spool).pages

    def spools(
        self, copy: PrivateCopy, work: Path, allowance: Allowance, on_page: Callable[[int], None] = lambda _: None
    ) -> ParsedRanges:
        """Parse a file's pages into spool files below ``work``. Raise the same errors as ``pages``.

        ``on_page`` is called for every page with the total number of pages.
        """
        whole = format_of(copy.path).needs_whole_file

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
        """Yield the futures of tasks in order.

        Only a few tasks are submitted in advance, so that other files get workers too. Unfinished tasks are cancelled
        at the end.
        """
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


_MAX_FAILED_PAGES = 5  # maximum number of pages with failed OCR that a note names


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """The options of OCR for a file. ``ocr`` returns the engines; it is called when a page needs them."""

    password: str | None
    limits: ParseLimits
    ocr: Callable[[], Ocr | NoOcr]


@dataclass(frozen=True, slots=True)
class ReadScans:
    """The OCR results of a file in page order, packed.

    ``tried`` counts the pages that OCR attempted, ``left`` those still to read. ``stopped`` means that the time of the
    file is used up. ``notes`` are for the user.
    """

    pages: tuple[bytes, ...] = ()
    notes: tuple[Note, ...] = ()
    tried: int = 0
    left: int = 0
    stopped: bool = False


@dataclass(slots=True)
class _File:
    """The OCR state of a file between two stages of its job: its time, running pages, and reasons of failures."""

    allowance: Allowance
    running: dict[int, Future[object]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    stopped: str = ""  # the reason why the rest of its pages is not read
    asked_machines: bool = False  # whether the bucket was checked for results of other machines
    shown: tuple[int, int] = (0, 0)  # completed pages and all pages that need OCR, as reported in the progress


class ScanReader:
    def __init__(self, cache: SharedCache, pool: WorkerPool, options: ScanOptions, at_once: int) -> None:
        self._cache, self._pool, self._options, self._at_once = cache, pool, options, at_once
        self._files: dict[int, _File] = {}  # by job id
        self._lock = threading.Lock()

    def read(
        self,
        run: StageRun,
        copy: PrivateCopy,
        numbers: Sequence[int],
        seconds: float,
    ) -> ReadScans:
        """Run OCR on the pages ``numbers`` (1-based), for at most ``seconds``.

        Each page is a task with its own limits. All pages together have the time limit of a file, separate from the
        time for parsing. Earlier results come from the cache; results of other machines are requested once.
        """
        if not numbers:
            return ReadScans()
        if isinstance(ocr := self._options.ocr(), NoOcr):
            return ReadScans()
        sha256 = copy.sha256
        with self._lock:
            of_file = self._files.setdefault(run.job.id, _File(self._pool.allowance()))
            of_file.allowance.stop = run.stop
        keys = {number: cache_key(sha256, ocr.tag, number) for number in numbers}
        cache, of_file.asked_machines = self._cache.near if of_file.asked_machines else self._cache, True
        read = {number: page for number, key in keys.items() if (page := cache.get(key)) is not None}
        waiting = [number for number in numbers if number not in read and number not in of_file.failed]
        self._show(run, of_file, len(read), len(numbers))
        for number, page in self._new(copy, ocr, waiting, of_file, seconds):
            self._cache.put({keys[number]: page})
            read[number] = page
            self._show(run, of_file, len(read), len(numbers))
        left = len(numbers) - len(read) - len(of_file.failed)
        return ReadScans(
            pages=tuple(read[number] for number in numbers if number in read),
            notes=_scan_notes(of_file, left),
            tried=len(numbers) - left,
            left=left,
            stopped=bool(of_file.stopped),
        )

    def forget(self, job: int) -> None:
        """Delete the OCR state of a file after its last stage."""
        with self._lock:
            self._files.pop(job, None)

    def _show(self, run: StageRun, of_file: _File, read: int, pages: int) -> None:
        """Report the progress of OCR on a file since the last report.

        Only the stages parse and ocr report it, as later stages read the same pages from the cache.
        """
        if run.job.stage not in ("parse", "ocr"):
            return
        done = read + len(of_file.failed)
        shown, of_file.shown = of_file.shown, (done, pages)
        run.tally.add(scans=done - shown[0], unread=pages - shown[1], at=run.at("ocr", done, pages))

    def _new(
        self, copy: PrivateCopy, ocr: Ocr, numbers: Sequence[int], of_file: _File, seconds: float
    ) -> Iterator[tuple[int, bytes]]:
        """Yield (page, packed result) as OCR finishes pages.

        Only a few pages are submitted in advance, so that other files get workers too.
        """
        until, running, stop = monotonic() + seconds, of_file.running, of_file.allowance.stop
        waiting = deque(number for number in numbers if number not in running)
        try:
            while not of_file.stopped:
                while waiting and len(running) <= self._at_once and monotonic() < until:
                    task = ScanTask(copy.path, self._options.password, waiting[0], self._options.limits, ocr)
                    running[waiting.popleft()] = begun = self._pool.submit(task, of_file.allowance)
                    copy.lend(begun)
                if not running:
                    break
                number = next(iter(running))
                try:
                    page = cast(bytes, running[number].result(max(0.0, until - monotonic())))
                except TimeoutError:  # the next run continues
                    break
                except (Cancelled, CancelledError):
                    del running[number]
                    if stop.asked.is_set():
                        raise Cancelled("Indexing was stopped.") from None
                    waiting.append(number)  # it was stopped at the end of the previous run
                    continue
                except DocumentError as error:
                    if of_file.allowance.left() <= 0:
                        of_file.stopped = str(error)
                    else:
                        of_file.failed[number] = str(error)
                    del running[number]
                    continue
                del running[number]
                yield number, page
        finally:
            for number in [number for number, future in running.items() if future.cancel()]:
                del running[number]


def _scan_notes(of_file: _File, left: int) -> tuple[Note, ...]:
    failed = [
        Note("warning.ocr-failed", page=number, reason=reason.removesuffix("."))
        for number, reason in sorted(of_file.failed.items())
    ]
    if len(failed) > _MAX_FAILED_PAGES:
        failed[_MAX_FAILED_PAGES:] = [Note("warning.ocr-failed-more", pages=len(failed) - _MAX_FAILED_PAGES)]
    if left:
        failed.append(Note("warning.ocr-pending", pages=left))
    if of_file.stopped:
        failed.append(Note.of(of_file.stopped.removesuffix(".")))
    return tuple(failed)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A parsed document, and the outcome of OCR so far (``scans``).

    ``scanned`` is True if it has pages that need OCR.
    """

    content: IndexedContent
    scanned: bool
    scans: ReadScans


class Maker:
    def __init__(self, pool: WorkerPool, parser: Parser, scans: ScanReader, chunks: ChunkSize) -> None:
        self._pool, self._parser, self._scans, self._chunks = pool, parser, scans, chunks

    def make(
        self,
        run: StageRun,
        copy: PrivateCopy,
        ocr_seconds: float,
        on_page: Callable[[int], None],
        regions: RegionsByPage | None = None,
    ) -> FileContent:
        """Parse a file, run OCR for about ``ocr_seconds``, and build the document.

        Raise DocumentError, LimitError or Cancelled.
        """
        allowance = self._pool.allowance(run.stop)
        with self._parser.work() as work:
            parsed = self._parser.spools(copy, work, allowance, on_page)
            scans = self._scans.read(run, copy, parsed.unread, ocr_seconds)
            built = work / "index"
            format = format_of(run.source).name
            build = BuildTask(
                run.file.name, copy.sha256, format, parsed.spools, built, self._chunks, scans.pages,
                regions,
            )  # fmt: skip
            self._pool.submit(build, allowance, stretches=parsed.stretches).result()
            with built.open("rb") as stream:
                content: IndexedContent = pickle.load(stream)
        return FileContent(replace(content, warnings=(*content.warnings, *scans.notes)), bool(parsed.unread), scans)
