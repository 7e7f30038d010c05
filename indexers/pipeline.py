"""The one path from files to the store."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from hybrid_core.cards import read_card
from hybrid_core.errors import Cancelled, DocumentError, NotFoundError
from hybrid_core.store.catalog import Catalog
from hybrid_core.store.scratch import scratch_folder
from hybrid_core.types import Card, Document, IndexedContent
from indexers.build import pipeline
from indexers.discover import discover
from indexers.parse.formats import format_of
from indexers.parse.limits import ParseLimits
from indexers.parse.tesseract import OFF, NoOcr, Tesseract
from indexers.report import FileResult, IndexProgress, IndexReport, Tally
from indexers.workers.pool import WorkerLimits, WorkerPool
from indexers.workers.protocol import BuildTask, Parsed, ParseTask, ScanTask

_NAMESPACE = uuid.UUID("5b1b5c0e-6f0e-4d3c-9f58-0d3b6f6c7a11")
_CARD_PAGES = 3
_OCR_VERSION = "tesseract-1"  # raising it reads again what was read by OCR
_SAID = 5  # pages of a file whose OCR failed that are named


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """``workers`` 0 means one per core. ``range_pages`` is how many pages one task parses.

    ``parse`` limits what is read of a file; the others limit its work: indexers.workers.pool.WorkerLimits.
    ``ocr`` is called when a page needs it.
    """

    workers: int = 0
    password: str | None = None
    prune: bool = False
    range_pages: int = 100
    seconds_per_task: float = 120.0
    seconds_per_file: float = 3600.0
    max_worker_memory: int = 10**9
    parse: ParseLimits = field(default_factory=ParseLimits)
    ocr: Callable[[], Tesseract | NoOcr] = lambda: OFF


def index(
    catalog: Catalog,
    library: str,
    paths: Sequence[str | Path],
    options: IndexOptions,
    scratch: Path,
    on_progress: Callable[[IndexProgress], None] = lambda _: None,
    cancelled: threading.Event | None = None,
) -> IndexReport:
    """Index what ``paths`` name into a library; every file that can be published is, whatever happens to others.

    ``scratch`` is a folder for working files. Raises Cancelled once ``cancelled`` is set (what was
    published stays), UsageError for a bad library name, StoreError where the catalog cannot be written.
    """
    found = discover(paths, empty_folders=options.prune)
    if found.files:
        catalog.ensure_library(library)
    results = [FileResult(path, "failed", error) for path, error in found.problems]
    sizes = {file: _size(file) for file in found.files}
    tally = Tally(on_progress, len(results) + len(found.files), sum(sizes.values()))
    tally.add()
    for problem in results:
        tally.add(finished=problem)
    workers = options.workers or os.cpu_count() or 1
    with scratch_folder(scratch) as folder:
        run = _Run(catalog, library, options, folder, tally, workers)
        try:
            results += run.all(found.files, cancelled or threading.Event())
        finally:
            run.close()
    removed = _prune(catalog, library, found.roots) if options.prune else ()
    return IndexReport(tuple(results), removed)


def content_id(sha256: str, format: str) -> str:
    """The identity of what this pipeline makes of a file's bytes, read as a format."""
    return hashlib.sha256(f"{sha256}|{pipeline(format)}".encode()).hexdigest()[:24]


def with_ocr(content: str, tesseract: Tesseract) -> str:
    """The identity of the same with pages read by OCR. Of a file without such pages there is none."""
    return f"{content}-{hashlib.sha256(f'{_OCR_VERSION}|{tesseract.languages}'.encode()).hexdigest()[:8]}"


class _Run:
    """One indexing run: a few documents at a time, their page ranges spread over the workers."""

    def __init__(
        self, catalog: Catalog, library: str, options: IndexOptions, folder: Path, tally: Tally, workers: int
    ) -> None:
        self._catalog, self._library, self._options = catalog, library, options
        self._folder, self._tally = folder, tally
        work = WorkerLimits(options.seconds_per_task, options.seconds_per_file, options.max_worker_memory)
        self._pool = WorkerPool(workers, work)
        self._in_flight = workers + 1
        self._threads = ThreadPoolExecutor(self._in_flight, thread_name_prefix="index-document")
        self._content_locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        with catalog.snapshot() as snapshot:
            known = snapshot.documents(library)
        self._by_path = {document.path: document for document in known}
        self._by_content: dict[str, list[Document]] = {}
        for document in known:
            self._by_content.setdefault(document.content_id.partition("-")[0], []).append(document)
        self._ids = {document.doc_id for document in known}

    def close(self) -> None:
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def all(self, files: Sequence[Path], cancelled: threading.Event) -> list[FileResult]:
        pending: dict[Future[FileResult], int] = {}
        results: dict[int, FileResult] = {}
        waiting = list(enumerate(files))[::-1]
        while waiting or pending:
            while waiting and len(pending) < self._in_flight:
                at, file = waiting.pop()
                pending[self._threads.submit(self._one, file)] = at
            done, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                results[pending.pop(future)] = future.result()
            if cancelled.is_set():
                raise Cancelled(
                    f"Indexing was stopped; {len(results)} of {len(files)} files are done and stay.",
                    "Run the same command again to complete the rest.",
                )
        return [results[at] for at in sorted(results)]

    def _one(self, file: Path) -> FileResult:
        began = time.monotonic()
        counted = [0.0]  # bytes of this file already shown as done
        known = self._by_path.get(str(file))
        try:
            result = self._index(file, known, counted)
        except Cancelled:
            raise
        except (DocumentError, NotFoundError) as error:
            message = str(error).removeprefix(f"{file}: ")
            doc_id = known.doc_id if known else self._new_id(file)
            self._catalog.record_failure(
                library=self._library,
                doc_id=doc_id,
                path=str(file),
                size=_size(file),
                mtime=0.0,
                error=message,
            )
            result = FileResult(str(file), "failed", message, known.doc_id if known and known.published else None)
        seconds = round(time.monotonic() - began, 3)
        result = replace(result, seconds=seconds)
        self._tally.add(size=_size(file) - counted[0], finished=result)
        return result

    def _index(self, file: Path, known: Document | None, counted: list[float]) -> FileResult:
        stat, sha256 = _fingerprint(file)
        content = content_id(sha256, format_of(file))
        where = {"path": str(file), "size": stat.st_size, "mtime": stat.st_mtime}
        if known and self._serves(known.content_id, content):
            if (known.size, known.mtime, known.error) != (stat.st_size, stat.st_mtime, ""):
                self._catalog.touch(known.doc_id, path=str(file), size=stat.st_size, mtime=stat.st_mtime)
            return FileResult(str(file), "unchanged", None, known.doc_id, known.pages, known.sections)
        moved = None if known else self._moved_here(content)
        if moved is not None:
            card = self._card_of_stored(file, moved.content_id)
            self._catalog.touch(moved.doc_id, path=str(file), size=stat.st_size, mtime=stat.st_mtime, card=card)
            note = f"moved from {moved.path}"
            return FileResult(str(file), "unchanged", None, moved.doc_id, moved.pages, moved.sections, note=note)
        doc_id = known.doc_id if known else self._new_id(file)
        publish = {"library": self._library, "doc_id": doc_id, **where}
        with self._content_lock(content):  # the same bytes twice in one run are parsed once
            with self._catalog.snapshot() as snapshot:
                stored = snapshot.versions(content)
            shared = next((version for version in stored if self._serves(version, content)), None)
            if shared is not None:
                pages = stored[shared]  # it may have been read under other limits
                self._options.parse.check("max_pages", pages, f"{file}: it has {pages:,} pages")
                card = self._card_of_stored(file, shared)
                self._catalog.publish(**publish, content_id=shared, content=None, card=card)  # type: ignore[arg-type]
                with self._catalog.snapshot() as snapshot:
                    document = next(d for d in snapshot.documents(self._library) if d.doc_id == doc_id)
                note = "same bytes as a file indexed before"
                return FileResult(str(file), "indexed", None, doc_id, document.pages, document.sections, note=note)
            made, scanned = self._make(file, sha256, counted)
            if scanned and isinstance(ocr := self._options.ocr(), Tesseract):
                content = with_ocr(content, ocr)
            if _fingerprint(file)[1] != sha256:
                raise DocumentError(f"{file}: it changed while it was read.", "Index it again.")
            first_pages = [page.text for page in made.pages[:_CARD_PAGES]]
            card = read_card(file.name, made.metadata, made.title, first_pages)
            self._catalog.publish(**publish, content_id=content, content=made, card=card)  # type: ignore[arg-type]
        note = "; ".join(made.warnings)
        return FileResult(str(file), "indexed", None, doc_id, len(made.pages), len(made.sections), note=note)

    def _serves(self, version: str, content: str) -> bool:
        """Whether a stored version is as good as what this run would make of the content.

        Without OCR every version is; with it one whose pages were all readable, or were read in these languages.
        """
        if version.partition("-")[0] != content:
            return False
        with self._catalog.snapshot() as snapshot:
            if version == content and not snapshot.needs_ocr(version):
                return True
        ocr = self._options.ocr()
        return isinstance(ocr, NoOcr) or version == with_ocr(content, ocr)

    def _make(self, file: Path, sha256: str, counted: list[float]) -> tuple[IndexedContent, bool]:
        """Everything made of a file, and whether it has pages that need OCR."""
        work = self._folder / uuid.uuid4().hex
        work.mkdir()
        step = self._options.range_pages
        size, guess = _size(file), [0.0]

        def on_page() -> None:
            share = guess[0] if counted[0] + guess[0] <= size else 0.0
            counted[0] += share
            self._tally.add(pages=1, size=share)

        allowance = self._pool.allowance()

        def parse(start: int) -> Future[object]:
            spool = work / f"{start}.pages"
            task = ParseTask(file, self._options.password, start, start + step, spool, self._options.parse)
            return self._pool.submit(task, allowance, on_page)

        guess[0] = size / max(step, size / 10_000)  # until its page count is known: about 10 kB a page
        first = cast(Parsed, parse(1).result())
        pages = first.pages
        guess[0] = max(0.0, size - counted[0]) / max(1, pages - step)
        starts = range(1, pages + 1, step)
        rest = [cast(Parsed, done.result()) for done in self._in_turn(parse, starts[1:])]
        unread = [number for parsed in (first, *rest) for number in parsed.unread]
        scans, said = self._read_scans(file, unread, work)
        spools = tuple(work / f"{start}.pages" for start in starts)
        built = work / "index"
        build = BuildTask(file.name, sha256, spools, built, scans)
        self._pool.submit(build, allowance, stretches=len(spools)).result()
        with built.open("rb") as stream:
            made: IndexedContent = pickle.load(stream)
        for path in (*spools, *scans, built):
            path.unlink()
        return replace(made, warnings=(*made.warnings, *said)), bool(unread)

    def _read_scans(self, file: Path, numbers: Sequence[int], work: Path) -> tuple[tuple[Path, ...], list[str]]:
        """Read pages from their pictures: the spools of those that could be, and why the others could not.

        Each is a task with its own limits, and together they have the time of a file besides that of parsing.
        """
        if not numbers:
            return (), []
        options, allowance = self._options, self._pool.allowance()
        if isinstance(ocr := options.ocr(), NoOcr):
            return (), [ocr.reason]

        def read(number: int) -> Future[object]:
            spool = work / f"{number}.scan"
            task = ScanTask(file, options.password, number, spool, options.parse, ocr)
            return self._pool.submit(task, allowance)

        scans: list[Path] = []
        failed: list[str] = []
        for number, done in zip(numbers, self._in_turn(read, numbers), strict=True):
            try:
                done.result()
                scans.append(work / f"{number}.scan")
                self._tally.add(scans=1)
            except DocumentError as error:
                failed.append(f"page {number} could not be read by OCR: {str(error).removesuffix('.')}")
        if len(failed) > _SAID:
            failed[_SAID:] = [f"{len(failed) - _SAID} more pages could not be read by OCR"]
        return tuple(scans), failed

    def _in_turn(self, begin: Callable[[int], Future[object]], numbers: Sequence[int]) -> Iterator[Future[object]]:
        """Tasks in order, a few begun at a time: a long file leaves room for others. What is left is called off."""
        running: deque[Future[object]] = deque()
        try:
            for number in numbers:
                running.append(begin(number))
                if len(running) > self._in_flight:
                    yield running.popleft()
            while running:
                yield running.popleft()
        finally:
            for future in running:
                future.cancel()

    def _card_of_stored(self, file: Path, content: str) -> Card:
        with self._catalog.snapshot() as snapshot:
            title, metadata = snapshot.title_and_metadata(content)
            pages = snapshot.pages(content, range(1, _CARD_PAGES + 1))
        return read_card(file.name, json.loads(metadata), title, [page.text for page in pages])

    def _moved_here(self, content: str) -> Document | None:
        """A document with these bytes whose file is gone; each can move only once."""
        with self._lock:
            for document in self._by_content.get(content, []):
                if not Path(document.path).exists():
                    self._by_content[content].remove(document)
                    return document
        return None

    def _new_id(self, file: Path) -> str:
        """Stable for a path in a library; another where a moved document has taken that one along."""
        with self._lock:
            number = 0
            while True:
                name = f"{self._library}\n{file}" + (f"\n{number}" if number else "")
                doc_id = uuid.uuid5(_NAMESPACE, name).hex[:12]
                if doc_id not in self._ids:
                    self._ids.add(doc_id)
                    return doc_id
                number += 1

    def _content_lock(self, content: str) -> threading.Lock:
        with self._lock:
            return self._content_locks.setdefault(content, threading.Lock())


def _fingerprint(file: Path) -> tuple[os.stat_result, str]:
    try:
        with file.open("rb") as stream:
            return os.fstat(stream.fileno()), hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DocumentError(f"{file}: cannot be read ({error.strerror}).") from error


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _prune(catalog: Catalog, library: str, roots: Sequence[Path]) -> tuple[str, ...]:
    with catalog.snapshot() as snapshot:
        documents = snapshot.documents(library)
    gone = [
        document
        for document in documents
        if not Path(document.path).exists()
        and any(
            root == Path(document.path)
            or (root.is_dir() and root in Path(document.path).parents)  # a missing folder may be a disk not mounted
            for root in roots
        )
    ]
    catalog.remove([document.doc_id for document in gone])
    return tuple(document.path for document in gone)
