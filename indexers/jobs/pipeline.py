"""The one path from files to the store."""

from __future__ import annotations

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
from typing import TYPE_CHECKING

from hybrid_core.errors import Cancelled, ChangedError, DocumentError, NotFoundError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.scratch import scratch_folder
from hybrid_core.text.plural import counted
from hybrid_core.types.documents import Document
from hybrid_core.types.versions import ContentVersion
from indexers.build.chunks import ChunkSize
from indexers.build.stored import StoredContents
from indexers.formats.limits import ParseLimits
from indexers.jobs.discover import discover
from indexers.jobs.files import fingerprint, size
from indexers.jobs.making import FileProgress, Maker
from indexers.jobs.parsing import Parser
from indexers.jobs.prune import gone, prune
from indexers.jobs.publishing import Publisher
from indexers.jobs.report import FileResult, FileStage, IndexProgress, IndexReport, Tally
from indexers.jobs.scans import ScanOptions, ScanReader
from indexers.jobs.unchanged import UnchangedFiles
from indexers.ocr.tesseract import OFF, NoOcr, Tesseract
from indexers.workers.pool import WorkerLimits, WorkerPool

if TYPE_CHECKING:
    from indexers.enrich.options import EnrichModels, EnrichOptions
    from indexers.jobs.improving import Improver

_PAUSES = (0.2, 1.0)  # seconds after which a file is tried again that changed while it was read
_Bytes = tuple[str, str]  # the hash of a file's bytes, and what they are read as
_NAMESPACE = uuid.UUID("5b1b5c0e-6f0e-4d3c-9f58-0d3b6f6c7a11")


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """``workers`` 0 means one per core. ``range_pages`` is how many pages one task parses.

    ``parse`` limits what is read of a file; the others limit its work: indexers.workers.pool.WorkerLimits.
    ``ocr`` is called when a page needs it. ``ocr_seconds``: after so much time the pages of a file that were
    read are published, and the others follow when every other file has had its turn, each turn longer.
    ``models`` improve what is published, as ``enrich`` says; None: none does. ``notes`` are told with the run's.
    """

    workers: int = 0
    password: str | None = None
    prune: bool = False
    check_hashes: bool = False  # read every file, also those that the system tells are unchanged
    range_pages: int = 100
    seconds_per_task: float = 120.0
    seconds_per_file: float = 3600.0
    max_worker_memory: int = 10**9
    parse: ParseLimits = field(default_factory=ParseLimits)
    chunks: ChunkSize = field(default_factory=ChunkSize)
    ocr: Callable[[], Tesseract | NoOcr] = lambda: OFF
    ocr_seconds: float = 5.0
    models: tuple[Future[EnrichModels], EnrichOptions] | None = None
    notes: tuple[str, ...] = ()


def index(
    catalog: Catalog,
    cache: Cache,
    library: str,
    paths: Sequence[str | Path],
    options: IndexOptions,
    scratch: Path,
    on_progress: Callable[[IndexProgress], None] = lambda _: None,
    cancelled: threading.Event | None = None,
) -> IndexReport:
    """Index what ``paths`` name into a library; every file that can be published is, whatever happens to others.

    ``cache`` keeps pages that were read by OCR, and what models said; ``scratch`` is a folder for working files.
    Raises Cancelled once ``cancelled`` is set (what was published stays), UsageError for a bad library name, StoreError
    where the catalog cannot be written.
    """
    found = discover(paths, empty_folders=options.prune)
    if found.files:
        catalog.ensure_library(library)
    results = [FileResult(path, "failed", error) for path, error in found.problems]
    sizes = {file: size(file) for file in found.files}
    tally = Tally(on_progress, len(results) + len(found.files), sum(sizes.values()))
    tally.add()
    for problem in results:
        tally.add(finished=problem)
    workers = options.workers or os.cpu_count() or 1
    with scratch_folder(scratch) as folder:
        run = _Run(catalog, cache, library, options, folder, tally, workers)
        try:
            done = run.all(found.files, cancelled or threading.Event())
        finally:
            run.close()
    results += done
    removed = prune(catalog, library, found.roots) if options.prune else ()
    indexed = any(result.status == "indexed" for result in results)
    left = () if options.prune or not found.files else gone(catalog, library, found.roots)
    absent = (f"{counted(len(left), 'document')} whose file is gone: --prune removes what is gone",) if left else ()
    notes = (
        *found.notes,
        *absent,
        *tally.notes,
        *(options.notes if indexed else ()),
        *_not_embedded(catalog, library, indexed),
    )
    return IndexReport(tuple(results), removed, notes, found.skipped)


def _not_embedded(catalog: Catalog, library: str, indexed: bool) -> Sequence[str]:
    """What to know where something new has no vectors in a library that has some."""
    with catalog.snapshot() as snapshot:
        serving, _ = snapshot.embedder(library)
        if not indexed or serving is None:
            return ()
        published, done = snapshot.published(library).values(), snapshot.embedded(serving.fingerprint)
    waiting = sum(version not in done for version in published)
    words = f"{waiting} of {len(published)} documents are new or changed since they were embedded: run embed"
    return (words,) if waiting else ()


def _held_still(work: Callable[[], FileResult]) -> FileResult:
    for seconds in _PAUSES:
        try:
            return work()
        except ChangedError:
            time.sleep(seconds)
    return work()


def _unchanged(file: Path, known: Document) -> FileResult:
    return FileResult(str(file), "unchanged", None, known.doc_id, known.pages, known.sections)


class _Run:
    """One indexing run: a few documents at a time, their page ranges spread over the workers."""

    def __init__(
        self,
        catalog: Catalog,
        cache: Cache,
        library: str,
        options: IndexOptions,
        folder: Path,
        tally: Tally,
        workers: int,
    ) -> None:
        self._catalog, self._cache, self._library, self._options = catalog, cache, library, options
        self._tally = tally
        work = WorkerLimits(options.seconds_per_task, options.seconds_per_file, options.max_worker_memory)
        self._pool = WorkerPool(workers, work)
        self._in_flight = workers + 1
        scans = ScanOptions(options.password, options.parse, options.ocr)
        reader = ScanReader(cache, self._pool, scans, self._in_flight, tally)
        parser = Parser(
            self._pool, folder, options.parse, options.password, options.range_pages, self._in_flight
        )  # fmt: skip
        maker = Maker(self._pool, parser, reader, options.chunks)
        self._threads = ThreadPoolExecutor(self._in_flight, thread_name_prefix="index-document")
        self._stored = StoredContents(catalog, options.ocr, options.chunks)
        self._unchanged = UnchangedFiles(catalog, library, self._stored)
        self._publisher = Publisher(catalog, library, parser, maker, self._stored, options.parse)
        self._improver = self._improving(options) if options.models else None
        self._lock = threading.Lock()
        with catalog.snapshot() as snapshot:
            known = snapshot.documents(library)
        self._by_path = {document.path: document for document in known}
        self._by_content: dict[_Bytes, list[Document]] = {}
        for document in known:
            self._by_content.setdefault((document.sha256, document.format), []).append(document)
        self._ids = {document.doc_id for document in known}
        self._new: dict[Path, str] = {}  # a file that is tried again keeps what it was given
        self._moved: dict[tuple[Path, _Bytes], Document] = {}

    def _improving(self, options: IndexOptions) -> Improver | None:
        from indexers.jobs.improving import (  # with pydantic and the prompts, which others do not wait for
            Improver,
            RunParts,
        )

        if options.models is None:
            return None
        parts = RunParts(
            self._catalog, self._cache, self._library, self._pool, self._publisher, self._stored, self._tally,
            options.parse, options.password, options.seconds_per_file,
        )  # fmt: skip
        return Improver(parts, *options.models)

    def close(self) -> None:
        if self._improver is not None:
            self._improver.stop()
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._unchanged.save()
        if self._improver is not None:
            self._improver.close()

    def all(self, files: Sequence[Path], cancelled: threading.Event) -> list[FileResult]:
        pending: dict[Future[FileResult], int] = {}
        improving: dict[Future[FileResult], int] = {}
        improved: set[int] = set()
        results: dict[int, FileResult] = {}
        turns: Counter[int] = Counter()
        waiting: deque[int] = deque()
        for at, file in enumerate(files):
            if (known := self._by_path.get(str(file))) is None or not self._surely_unchanged(file, known):
                waiting.append(at)
                continue
            results[at] = _unchanged(file, known)
            self._tally.add(size=known.size, finished=results[at], over="" if self._improver else str(file))
            if self._improver is not None:
                improved.add(at)
                improving[self._improver.submit(results[at], file)] = at
        while waiting or pending or improving:
            while waiting and len(pending) < self._in_flight:
                at = waiting.popleft()
                work = self._one if at not in results else partial(self._go_on, results[at], turns[at])
                pending[self._threads.submit(work, files[at])] = at
            done, _ = wait({*pending, *improving}, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done & improving.keys():
                at = improving.pop(future)
                results[at] = future.result()
                self._tally.add(over=str(files[at]))
            for future in done & pending.keys():
                at = pending.pop(future)
                results[at] = future.result()
                turns[at] += 1
                if results[at].unread:
                    waiting.append(at)
                elif self._improver is not None and at not in improved and results[at].status != "failed":
                    improved.add(at)
                    improving[self._improver.submit(results[at], files[at])] = at
                else:
                    self._tally.add(over=str(files[at]))
            if cancelled.is_set():
                raise Cancelled(
                    f"Indexing was stopped; {len(results)} of {len(files)} files are done and stay.",
                    "Run the same command again to complete the rest.",
                )
        return [results[at] for at in sorted(results)]

    def _surely_unchanged(self, file: Path, known: Document) -> bool:
        return not self._options.check_hashes and self._unchanged.known(file, known)

    def _one(self, file: Path) -> FileResult:
        began = time.monotonic()
        progress = FileProgress(self._tally, file, size(file))
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
            stamp, sha256 = fingerprint(file)
            return self._publisher.publish(file, stamp, sha256, doc_id, self._options.ocr_seconds * 2**turn, None)

        result = self._reported(file, doc_id, again)
        taken = round(before.ocr_seconds + time.monotonic() - began, 3)
        result = replace(result, seconds=before.seconds, ocr_seconds=taken)
        self._tally.add(finished=result, again=True, at=FileStage(str(file), "ocr"))
        return result

    def _reported(self, file: Path, doc_id: str, work: Callable[[], FileResult]) -> FileResult:
        """What comes of work on a file; a failure is recorded. ``doc_id``: its document's, "" where there is none."""
        try:
            return _held_still(work)
        except Cancelled:
            raise
        except (DocumentError, NotFoundError) as error:
            message = str(error).removeprefix(f"{file}: ")
            self._catalog.record_failure(
                library=self._library,
                doc_id=doc_id or self._new_id(file),
                path=str(file),
                size=size(file),
                error=message,
            )
            with self._catalog.snapshot() as snapshot:
                published = doc_id in snapshot.published(self._library)
            return FileResult(str(file), "failed", message, doc_id if published else None)

    def _index(self, file: Path, known: Document | None, progress: FileProgress) -> FileResult:
        stamp, sha256 = fingerprint(file)
        wanted = self._stored.wanted(file, sha256)
        if known and self._serves(known, wanted):
            self._unchanged.read(known, stamp)
            return _unchanged(file, known)
        moved = None if known else self._moved_here(file, (sha256, wanted.format))
        if moved is not None:
            card = self._stored.card(file, moved.content_id)
            self._catalog.move(moved.doc_id, path=str(file), card=card, stamp=stamp)
            if self._serves(moved, wanted):
                return replace(_unchanged(file, moved), note=f"moved from {moved.path}")
        before = known or moved
        doc_id = before.doc_id if before else self._new_id(file)
        return self._publisher.publish(file, stamp, sha256, doc_id, self._options.ocr_seconds, progress)

    def _serves(self, document: Document, wanted: ContentVersion) -> bool:
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.version(document.content_id)
        return stored is not None and self._stored.serves(stored, wanted)

    def _moved_here(self, file: Path, content: _Bytes) -> Document | None:
        """A document with these bytes whose file is gone; each can move only once."""
        with self._lock:
            for document in () if (file, content) in self._moved else self._by_content.get(content, ()):
                if not Path(document.path).exists():
                    self._by_content[content].remove(document)
                    self._moved[file, content] = document
                    break
            return self._moved.get((file, content))

    def _new_id(self, file: Path) -> str:
        """Stable for a path in a library; another where a moved document has taken that one along."""
        with self._lock:
            number = 0
            while file not in self._new:
                name = f"{self._library}\n{file}" + (f"\n{number}" if number else "")
                doc_id = uuid.uuid5(_NAMESPACE, name).hex[:12]
                if doc_id not in self._ids:
                    self._ids.add(doc_id)
                    self._new[file] = doc_id
                number += 1
            return self._new[file]
