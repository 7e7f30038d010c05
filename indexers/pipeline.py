"""The one path from files to the store."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from hybrid_core.cards import read_card
from hybrid_core.errors import Cancelled, DocumentError, NotFoundError
from hybrid_core.store.catalog import Catalog
from hybrid_core.store.scratch import scratch_folder
from hybrid_core.types import Card, Document
from indexers.discover import discover
from indexers.making import FileProgress, Maker
from indexers.parse.formats import format_of
from indexers.parse.limits import ParseLimits
from indexers.parse.tesseract import OFF, NoOcr, Tesseract
from indexers.prune import prune
from indexers.report import FileResult, IndexProgress, IndexReport, Tally
from indexers.scans import ScanOptions, ScanReader
from indexers.versions import content_id, with_ocr, with_some_ocr, without_ocr
from indexers.workers.pool import WorkerLimits, WorkerPool

_NAMESPACE = uuid.UUID("5b1b5c0e-6f0e-4d3c-9f58-0d3b6f6c7a11")
_CARD_PAGES = 3


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """``workers`` 0 means one per core. ``range_pages`` is how many pages one task parses.

    ``parse`` limits what is read of a file; the others limit its work: indexers.workers.pool.WorkerLimits.
    ``ocr`` is called when a page needs it. ``ocr_seconds``: after so much time the pages of a file that were
    read are published, and the others follow when every other file has had its turn, each turn longer.
    ``max_cache_size``: bytes of the catalog's cache, where pages that were read by OCR are kept.
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
    ocr_seconds: float = 5.0
    max_cache_size: int = 10**9


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
    removed = prune(catalog, library, found.roots) if options.prune else ()
    return IndexReport(tuple(results), removed)


class _Run:
    """One indexing run: a few documents at a time, their page ranges spread over the workers."""

    def __init__(
        self, catalog: Catalog, library: str, options: IndexOptions, folder: Path, tally: Tally, workers: int
    ) -> None:
        self._catalog, self._library, self._options = catalog, library, options
        self._tally = tally
        work = WorkerLimits(options.seconds_per_task, options.seconds_per_file, options.max_worker_memory)
        self._pool = WorkerPool(workers, work)
        self._in_flight = workers + 1
        scans = ScanOptions(options.password, options.parse, options.ocr, options.max_cache_size)
        reader = ScanReader(catalog, self._pool, scans, self._in_flight, tally)
        self._maker = Maker(self._pool, reader, folder, options.parse, self._in_flight)
        self._threads = ThreadPoolExecutor(self._in_flight, thread_name_prefix="index-document")
        self._content_locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        with catalog.snapshot() as snapshot:
            known = snapshot.documents(library)
        self._by_path = {document.path: document for document in known}
        self._by_content: dict[str, list[Document]] = {}
        for document in known:
            self._by_content.setdefault(without_ocr(document.content_id), []).append(document)
        self._ids = {document.doc_id for document in known}

    def close(self) -> None:
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def all(self, files: Sequence[Path], cancelled: threading.Event) -> list[FileResult]:
        pending: dict[Future[FileResult], int] = {}
        results: dict[int, FileResult] = {}
        turns: Counter[int] = Counter()
        waiting = deque(range(len(files)))
        while waiting or pending:
            while waiting and len(pending) < self._in_flight:
                at = waiting.popleft()
                work = self._one if at not in results else partial(self._go_on, results[at], turns[at])
                pending[self._threads.submit(work, files[at])] = at
            done, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                at = pending.pop(future)
                results[at] = future.result()
                turns[at] += 1
                if results[at].unread:
                    waiting.append(at)
            if cancelled.is_set():
                raise Cancelled(
                    f"Indexing was stopped; {len(results)} of {len(files)} files are done and stay.",
                    "Run the same command again to complete the rest.",
                )
        return [results[at] for at in sorted(results)]

    def _one(self, file: Path) -> FileResult:
        began = time.monotonic()
        progress = FileProgress(self._tally, _size(file))
        known = self._by_path.get(str(file))
        result = self._reported(file, known.doc_id if known else "", lambda: self._index(file, known, progress))
        result = replace(result, seconds=round(time.monotonic() - began, 3))
        self._tally.add(size=progress.size - progress.shown, finished=result)
        return result

    def _go_on(self, before: FileResult, turn: int, file: Path) -> FileResult:
        """Another turn of reading a file's scans, twice as long as the one before."""
        began = time.monotonic()
        doc_id = before.doc_id or ""

        def again() -> FileResult:
            with self._catalog.snapshot() as snapshot:
                if doc_id not in snapshot.published(self._library):
                    return replace(before, unread=0, note="it was removed while its pages were read by OCR")
            stat, sha256 = _fingerprint(file)
            return self._publish(file, stat, sha256, doc_id, self._options.ocr_seconds * 2**turn, None)

        result = self._reported(file, doc_id, again)
        taken = round(before.ocr_seconds + time.monotonic() - began, 3)
        result = replace(result, seconds=before.seconds, ocr_seconds=taken)
        self._tally.add(finished=result, again=True)
        return result

    def _reported(self, file: Path, doc_id: str, work: Callable[[], FileResult]) -> FileResult:
        """What comes of work on a file; a failure is recorded. ``doc_id``: its document's, "" where there is none."""
        try:
            return work()
        except Cancelled:
            raise
        except (DocumentError, NotFoundError) as error:
            message = str(error).removeprefix(f"{file}: ")
            self._catalog.record_failure(
                library=self._library,
                doc_id=doc_id or self._new_id(file),
                path=str(file),
                size=_size(file),
                mtime=0.0,
                error=message,
            )
            with self._catalog.snapshot() as snapshot:
                published = doc_id in snapshot.published(self._library)
            return FileResult(str(file), "failed", message, doc_id if published else None)

    def _index(self, file: Path, known: Document | None, progress: FileProgress) -> FileResult:
        stat, sha256 = _fingerprint(file)
        content = content_id(sha256, format_of(file))
        if known and self._serves(known.content_id, content):
            if (known.size, known.mtime, known.error) != (stat.st_size, stat.st_mtime, ""):
                self._catalog.touch(known.doc_id, path=str(file), size=stat.st_size, mtime=stat.st_mtime)
            return FileResult(str(file), "unchanged", None, known.doc_id, known.pages, known.sections)
        moved = None if known else self._moved_here(content)
        if moved is not None:
            card = self._card_of_stored(file, moved.content_id)
            self._catalog.touch(moved.doc_id, path=str(file), size=stat.st_size, mtime=stat.st_mtime, card=card)
            if self._serves(moved.content_id, content):
                note = f"moved from {moved.path}"
                return FileResult(str(file), "unchanged", None, moved.doc_id, moved.pages, moved.sections, note=note)
        before = known or moved
        doc_id = before.doc_id if before else self._new_id(file)
        return self._publish(file, stat, sha256, doc_id, self._options.ocr_seconds, progress)

    def _publish(
        self,
        file: Path,
        stat: os.stat_result,
        sha256: str,
        doc_id: str,
        ocr_seconds: float,
        progress: FileProgress | None,
    ) -> FileResult:
        """Publish what the catalog holds of the same bytes, or what is made of them now."""
        options, content = self._options, content_id(sha256, format_of(file))
        publish = partial(
            self._catalog.publish,
            library=self._library, doc_id=doc_id, path=str(file), size=stat.st_size, mtime=stat.st_mtime,
        )  # fmt: skip
        with self._content_lock(content):  # the same bytes twice in one run are parsed once
            if (shared := self._shared(file, content)) is not None:
                publish(content_id=shared, content=None, card=self._card_of_stored(file, shared))
                with self._catalog.snapshot() as snapshot:
                    document = next(d for d in snapshot.documents(self._library) if d.doc_id == doc_id)
                note = "same bytes as a file indexed before"
                return FileResult(str(file), "indexed", None, doc_id, document.pages, document.sections, note=note)
            made = self._maker.make(file, stat, sha256, options.password, options.range_pages, ocr_seconds, progress)
            if made.scanned and isinstance(ocr := options.ocr(), Tesseract):
                tried, left = made.scans.tried, made.scans.left
                content = with_some_ocr(content, ocr, tried) if left else with_ocr(content, ocr)
            if _fingerprint(file)[1] != sha256:
                raise DocumentError(f"{file}: it changed while it was read.", "Index it again.")
            first_pages = [page.text for page in made.content.pages[:_CARD_PAGES]]
            card = read_card(file.name, made.content.metadata, made.content.title, first_pages)
            publish(content_id=content, content=made.content, card=card)
        pages, sections, note = len(made.content.pages), len(made.content.sections), "; ".join(made.content.warnings)
        unread = 0 if made.scans.stopped else made.scans.left
        return FileResult(str(file), "indexed", None, doc_id, pages, sections, note=note, unread=unread)

    def _shared(self, file: Path, content: str) -> str | None:
        """A stored version of the same bytes that serves. Raises DocumentError where this run may not open the file."""
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.versions(content)
        shared = next((version for version in stored if self._serves(version, content)), None)
        if shared is not None:
            pages = stored[shared]  # it may have been read under other limits
            self._options.parse.check("max_pages", pages, f"{file}: it has {pages:,} pages")
            with self._catalog.snapshot() as snapshot:
                _, metadata = snapshot.title_and_metadata(shared)
            if "encryption" in json.loads(metadata):  # who does not know the password does not get the text
                self._maker.opens(file, self._options.password)
        return shared

    def _serves(self, version: str, content: str) -> bool:
        """Whether a stored version is as good as what this run would make of the content.

        Without OCR every version is; with it one whose pages were all readable, or were read in these languages.
        """
        if without_ocr(version) != content:
            return False
        with self._catalog.snapshot() as snapshot:
            if version == content and not snapshot.needs_ocr(version):
                return True
        ocr = self._options.ocr()
        return isinstance(ocr, NoOcr) or version == with_ocr(content, ocr)

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
