"""Refinement of published section trees with a layout model, which reads each page once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from hybrid_core.errors import DamageError, DocumentError, ModelError, NotFoundError, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.shared_cache import SharedCache, lines_read, pack_regions, regions_key, unpack_regions
from hybrid_core.types.documents import Document, IndexedContent
from hybrid_core.types.files import ContentVersion, StoredVersion
from hybrid_core.types.locators import PlacedLine, Region, RegionsByPage
from hybrid_core.types.notes import NONE, Note
from indexers.assembly.versions import card_of
from indexers.files.private_copy import PrivateCopy, fingerprint
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, named
from indexers.jobs.options import IndexOptions
from indexers.jobs.publisher import Publisher
from indexers.jobs.report import FileResult, FileStage, Tally
from indexers.jobs.stage_run import StageRun
from indexers.outline.quality import is_low
from indexers.workers.pool import WorkerLimits, WorkerPool
from indexers.workers.protocol import RegionTask

_RULES = "regions-3"
"""The version of the rules for using the layout model. With a higher version, trees are refined again."""
_REFINED = ("refine.page-failed", "refine.pages-failed")  # warnings that a refinement leaves
_EMPTY_PAGE = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n"
)
_MAX_FAILED_PAGES = 5  # pages that could not be read which are named
_TRIES = 3  # first pages of a document; where none of them can be read, no other is tried


def layout_model() -> str:
    """Return a text that identifies the layout model, its version and its rules. Refined documents store it."""
    return f"{_RULES}+pymupdf-{version('pymupdf')}"


def missing() -> Note:
    """Return the reason why this process cannot refine trees, ``NONE`` if it can. No model is loaded."""
    if find_spec("onnxruntime") is None:
        return Note("refine.no-package")
    package = find_spec("pymupdf")
    folders = (package and package.submodule_search_locations) or ()
    if not any((Path(folder) / "layout").is_dir() for folder in folders):
        return Note("refine.no-model")
    return NONE


def load_layout_model(max_memory: int) -> Note:
    """Let a worker process read an empty page with the layout model, as a test.

    Return the reason why it cannot, ``NONE`` if it can.
    """
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.pdf"
        page.write_bytes(_EMPTY_PAGE)
        pool = WorkerPool(1, WorkerLimits(max_ocr_memory=max_memory))
        try:
            pool.submit(RegionTask(page, None, 1, (), ParseLimits()), pool.allowance()).result()
        except PageIndexError as error:
            return Note("refine.not-loaded", reason=error.without_file.removesuffix("."))
        finally:
            pool.close()
    return NONE


def refinable(file: Path) -> bool:
    """Return whether the layout model can read the pages of a file in this format."""
    return format_of(file).regions is not None


def mark(document: Document, options: IndexOptions) -> str:
    """Return the text that marks a document as refined with these options.

    It names the layout model, with a suffix such as "/300" if it reads only that many pages. It may read fewer if the
    document's time limit is reached.
    """
    whole = options.outline != "auto" or document.pages <= options.outline_pages
    return layout_model() if whole else f"{layout_model()}/{options.outline_pages}"


def unrefined(document: Document, version: ContentVersion, options: IndexOptions) -> bool:
    """Return whether a published document should be refined with the layout model.

    If models have improved it, it is refined only if models can improve it again afterwards. With the option
    ``outline`` "auto" it is refined only if the quality estimate of its tree is low.
    """
    entry = named(version.format)
    if options.outline == "fast" or entry is None or entry.regions is None:
        return False
    if not (options.enrich_needs or version.unimproved == version):
        return False
    if options.outline == "auto":
        model, _, pages = version.outline.partition("/")
        enough = model == layout_model() and (not pages or int(pages) >= options.outline_pages)
        return not enough and is_low(document.models, document.pages)
    return version.outline != layout_model()


class Refiner:
    """Refines section trees with the layout model. ``at_once`` pages of a file are in the pool at the same time."""

    def __init__(
        self,
        catalog: Catalog,
        cache: SharedCache,
        pool: WorkerPool,
        publisher: Publisher,
        options: IndexOptions,
        at_once: int,
        tally: Tally,
    ) -> None:
        self._catalog, self._cache, self._pool = catalog, cache, pool
        self._publisher, self._options = publisher, options
        self._at_once, self._tally = at_once, tally
        self._absent = ""  # why the model could not be loaded

    def refined(self, run: StageRun, before: FileResult) -> FileResult:
        """Refine the section tree of a document and return the new result, or ``before`` if there is nothing to do.

        A failure adds a note to the result. With the option ``outline`` "auto" it adds none, since no user has
        requested refinement.
        """
        try:
            result = self._refined(run, before)
        except (DamageError, DocumentError, ModelError, NotFoundError) as error:
            if isinstance(error, ModelError):
                self._absent = str(error)
            reason = error.without_file.removesuffix(".")
            note = Note("file.not-refined", reason=reason)
            result = before if self._options.outline == "auto" else _noted(before, note)
        if result is not before:
            result = result if run.written else run.timed(result)
            self._tally.add(finished=result, again=True, at=FileStage(str(run.file), "refine"))
        return result

    def _refined(self, run: StageRun, before: FileResult) -> FileResult:
        published_document = self._published(before.doc_id)
        if published_document is None:
            return before
        document, published = published_document
        if not unrefined(document, published.version, self._options):
            return before
        if self._absent:
            raise ModelError(self._absent)
        stamp, sha256 = fingerprint(run.file, run.source)
        if sha256 != document.sha256:
            raise DocumentError("the file has changed since it was read.", "Index the file again.", file=run.file)
        target = replace(published.version.unimproved, outline=mark(document, self._options))
        with self._publisher.content_lock(f"refine/{sha256}"):
            if (stored := self._stored_version(target)) is not None:
                with self._catalog.snapshot() as snapshot:
                    pages, sections = snapshot.extent(stored.content_id)
                card = self._publisher.stored.card(run.file, stored.content_id)
                result = replace(before, status="indexed", pages=pages, sections=sections)
                return self._publisher.switch(run, stamp, stored.version, None, card, result)
            version, content = self.refine_content(run, document, target.outline)
            now = self._published(document.doc_id)
            if now is None or now[1] != published:
                return _noted(before, Note("file.changed-while-refined"))
            warnings = [warning for warning in content.warnings if warning.code in _REFINED]
            note = before.note.plus(*warnings)
            result = replace(before, status="indexed", sections=len(content.sections), note=note)
            return self._publisher.switch(run, stamp, version, content, card_of(run.file, content), result)

    def refine_content(self, run: StageRun, document: Document, marked: str) -> tuple[ContentVersion, IndexedContent]:
        """Build a published document again with a refined section tree. Return its version record and content.

        The record states ``marked`` as the origin of the tree. Improvements by language models are lost.
        """
        with self._publisher.parser.copy(run.file, document.sha256, run.source) as copy:
            limit = int(marked.partition("/")[2] or document.pages)
            regions, warnings, is_complete = self._regions(run, copy, document, limit)
            remade = self._publisher.make_of(run, copy, self._options.seconds_per_file, lambda _: None, regions)
        content = replace(remade.content, warnings=(*remade.content.warnings, *warnings))
        if not is_complete and "/" not in marked:
            marked = f"{marked}/{self._options.outline_pages}"
        return replace(remade.version, outline=marked), content

    def _published(self, doc_id: str | None) -> tuple[Document, StoredVersion] | None:
        with self._catalog.snapshot() as snapshot:
            document = snapshot.document(doc_id or "")
            stored = None if document is None else snapshot.version(document.content_id)
        return None if document is None or stored is None else (document, stored)

    def _stored_version(self, target: ContentVersion) -> StoredVersion | None:
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.versions(target.sha256)
        return next((version for version in stored if version.version == target), None)

    def _regions(
        self, run: StageRun, copy: PrivateCopy, document: Document, limit: int
    ) -> tuple[RegionsByPage, list[Note], bool]:
        """Return the regions of the first pages, notes on failed pages, and whether all pages were read in time."""
        lines = self._lines_read(document)
        model = layout_model()
        numbers = range(1, min(limit, document.pages) + 1)
        keys = {number: regions_key(copy.sha256, model, number, lines.get(number, ())) for number in numbers}
        regions: dict[int, Sequence[Region]] = {}
        for number, key in keys.items():
            if (cached := self._cache.get(key)) is not None:
                regions[number] = unpack_regions(cached)
        failed: list[Note] = []
        waiting = [number for number in keys if number not in regions]
        self._show(run, len(numbers) - len(waiting), len(numbers))
        for number, answer in self._read(run, copy, waiting, lines):
            if isinstance(answer, DocumentError):
                failed.append(Note("refine.page-failed", page=number, reason=answer.without_file.removesuffix(".")))
                if len(failed) == _TRIES and not regions:
                    raise answer
            else:
                self._cache.put({keys[number]: pack_regions(answer)})
                regions[number] = answer
            self._show(run, len(regions) + len(failed), len(numbers))
        is_complete = len(regions) + len(failed) == len(numbers)
        if not regions and not is_complete:
            raise DocumentError("the layout model did not finish any page within the time limit for a document.")
        if self._options.outline == "auto":
            return regions, [], is_complete
        if len(failed) > _MAX_FAILED_PAGES:
            failed[_MAX_FAILED_PAGES:] = [Note("refine.pages-failed", pages=len(failed) - _MAX_FAILED_PAGES)]
        return regions, failed, is_complete

    def _show(self, run: StageRun, done: int, pages: int) -> None:
        self._tally.add(at=run.at("refine", done, pages))

    def _read(
        self, run: StageRun, copy: PrivateCopy, numbers: Sequence[int], lines: Mapping[int, tuple[PlacedLine, ...]]
    ) -> Iterator[tuple[int, tuple[Region, ...] | DocumentError]]:
        """Yield (page, regions or error) in order. Only a few pages are submitted in advance. Raise Cancelled.

        Each page has its own time limit. With the option ``outline`` "auto" all pages share the time of a document, and
        the remaining pages are skipped when it is used up.
        """
        shared = self._options.outline == "auto"
        allowance = self._pool.allowance(run.stop, self._options.outline_seconds if shared else None)
        running: deque[tuple[int, Future[object]]] = deque()

        def first() -> tuple[int, tuple[Region, ...] | DocumentError]:
            number, future = running.popleft()
            try:
                return number, cast("tuple[Region, ...]", future.result())
            except DocumentError as error:
                return number, error

        try:
            for number in numbers:
                if not shared:
                    allowance = self._pool.allowance(run.stop)
                elif allowance.left() <= 0:
                    break
                task = RegionTask(
                    copy.path, self._options.password, number, lines.get(number, ()), self._options.parse
                )  # fmt: skip
                running.append((number, self._pool.submit(task, allowance)))
                copy.lend(running[-1][1])
                if len(running) > self._at_once:
                    yield first()
            while running:
                yield first()
        finally:
            for _, future in running:
                future.cancel()

    def _lines_read(self, document: Document) -> dict[int, tuple[PlacedLine, ...]]:
        with self._catalog.snapshot() as snapshot:
            pages = snapshot.pages(document.content_id)
        return {page.number: lines_read(page) for page in pages}


def _noted(result: FileResult, note: Note) -> FileResult:
    return replace(result, note=result.note.plus(note))
