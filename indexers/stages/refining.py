"""Published trees refined: a layout model reads the pages, each once, and the tree is made again by what it says."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from hybrid_core.errors import DamageError, DocumentError, NotFoundError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.regions import lines_read, pack_regions, regions_key, unpack_regions
from hybrid_core.store.shared_cache import SharedCache
from hybrid_core.types.documents import Document, IndexedContent
from hybrid_core.types.layouts import PlacedLine, Region, RegionsByPage
from hybrid_core.types.versions import ContentVersion, StoredVersion
from indexers.build.stored import StoredContents, card_of
from indexers.files.private_copy import PrivateCopy, fingerprint
from indexers.formats.registry import format_of, named
from indexers.stages.options import IndexOptions
from indexers.stages.publishing import Publisher
from indexers.stages.report import FileResult, FileStage, Tally
from indexers.stages.turn import Turn
from indexers.workers.pool import WorkerPool
from indexers.workers.protocol import RegionTask

_RULES = "regions-2"
"""Of how the model is asked and how its answers are weighed: raising it has trees refined again."""
_LACKING = "could not be read by the layout model"
_SAID = 5  # pages that could not be read which are named


def layout_model() -> str:
    """The model and how it is used, as contents are marked with it."""
    return f"{_RULES}+pymupdf-{version('pymupdf')}"


def missing() -> str:
    """Why trees cannot be refined here, in a sentence; "" where they can."""
    if find_spec("onnxruntime") is not None:
        return ""
    return (
        "section trees are made by rules alone: the layout model needs the package onnxruntime "
        "(pip install onnxruntime)"
    )


def refinable(file: Path) -> bool:
    """Whether a layout model can look at a file's pages."""
    return format_of(file).regions is not None


def unrefined(version: ContentVersion, models: bool) -> bool:
    """Whether the layout model has something to say of a content. What models said of one is not lost for that: it is
    left as it is unless there are ``models`` to say it again of the refined tree.
    """
    found = named(version.format)
    can = found is not None and found.regions is not None
    return can and version.outline != layout_model() and (models or version.unimproved == version)


class Refiner:
    """``at_once``: pages that are given to the workers ahead."""

    def __init__(
        self,
        catalog: Catalog,
        cache: SharedCache,
        pool: WorkerPool,
        publisher: Publisher,
        stored: StoredContents,
        options: IndexOptions,
        at_once: int,
        tally: Tally,
    ) -> None:
        self._catalog, self._cache, self._pool = catalog, cache, pool
        self._publisher, self._stored, self._options = publisher, stored, options
        self._at_once, self._tally = at_once, tally

    def refined(self, turn: Turn, before: FileResult) -> FileResult:
        """``before`` itself where there is nothing to do."""
        try:
            result = self._refined(turn, before)
        except (DamageError, DocumentError, NotFoundError) as error:
            reason = str(error).removeprefix(f"{turn.file}: ").removesuffix(".")
            result = _noted(before, f"its section tree is by rules: {reason}")
        if result is not before:
            result = result if turn.written else turn.timed(result)
            self._tally.add(finished=result, again=True, at=FileStage(str(turn.file), "refine"))
        return result

    def _refined(self, turn: Turn, before: FileResult) -> FileResult:
        found = self._published(before.doc_id)
        if found is None or not unrefined(found[1].version, bool(self._options.enrich_needs)):
            return before
        document, published = found
        stamp, sha256 = fingerprint(turn.file, turn.source)
        if sha256 != document.sha256:
            raise DocumentError(f"{turn.file}: it changed since it was read.", "Index it again.")
        wanted = replace(published.version.unimproved, outline=layout_model())
        with self._publisher.content_lock(f"refine/{sha256}"):
            if (held := self._held(wanted)) is not None:
                with self._catalog.snapshot() as snapshot:
                    pages, sections = snapshot.extent(held.content_id)
                card = self._stored.card(turn.file, held.content_id)
                result = replace(before, status="indexed", pages=pages, sections=sections)
                return self._publisher.switch(turn, stamp, held.version, None, card, result)
            version, content = self.made(turn, document)
            now = self._published(document.doc_id)
            if now is None or now[1] != published:
                return _noted(before, "it was changed or removed while its pages were read by the layout model")
            said = [warning for warning in content.warnings if _LACKING in warning]
            note = "; ".join(filter(None, (before.note, *said)))
            result = replace(before, status="indexed", sections=len(content.sections), note=note)
            return self._publisher.switch(turn, stamp, version, content, card_of(turn.file, content), result)

    def made(self, turn: Turn, document: Document) -> tuple[ContentVersion, IndexedContent]:
        """A published document made again with a refined tree, without what models said of it."""
        with self._publisher.parser.copy(turn.file, document.sha256, turn.source) as copy:
            regions, said = self._regions(turn, copy, document)
            made = self._publisher.make_of(turn, copy, self._options.seconds_per_file, lambda _: None, regions)
        content = replace(made.content, warnings=(*made.content.warnings, *said))
        return replace(made.version, outline=layout_model()), content

    def _published(self, doc_id: str | None) -> tuple[Document, StoredVersion] | None:
        with self._catalog.snapshot() as snapshot:
            found = snapshot.document(doc_id or "")
            stored = None if found is None else snapshot.version(found.content_id)
        return None if found is None or stored is None else (found, stored)

    def _held(self, wanted: ContentVersion) -> StoredVersion | None:
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.versions(wanted.sha256)
        return next((one for one in stored if one.version == wanted), None)

    def _regions(self, turn: Turn, copy: PrivateCopy, document: Document) -> tuple[RegionsByPage, list[str]]:
        """What the pages hold, and of which of them that could not be told."""
        lines = self._lines_read(document)
        model = layout_model()
        numbers = range(1, document.pages + 1)
        keys = {number: regions_key(copy.sha256, model, number, lines.get(number, ())) for number in numbers}
        regions: dict[int, Sequence[Region]] = {}
        for number, key in keys.items():
            if (kept := self._cache.get(key)) is not None:
                regions[number] = unpack_regions(kept)
        failed: list[str] = []
        waiting = [number for number in keys if number not in regions]
        self._show(turn, document.pages - len(waiting), document.pages)
        for number, told in self._read(turn, copy, waiting, lines):
            if isinstance(told, DocumentError):
                failed.append(f"page {number} {_LACKING}: {str(told).removesuffix('.')}")
            else:
                self._cache.put({keys[number]: pack_regions(told)})
                regions[number] = told
            self._show(turn, len(regions) + len(failed), document.pages)
        if len(failed) > _SAID:
            failed[_SAID:] = [f"{len(failed) - _SAID} more pages {_LACKING}"]
        return regions, failed

    def _show(self, turn: Turn, done: int, pages: int) -> None:
        self._tally.add(at=turn.at("refine", done, pages))

    def _read(
        self, turn: Turn, copy: PrivateCopy, numbers: Sequence[int], lines: Mapping[int, tuple[PlacedLine, ...]]
    ) -> Iterator[tuple[int, tuple[Region, ...] | DocumentError]]:
        """Pages in order, a few begun at a time, each with its own time. Raises Cancelled."""
        running: deque[tuple[int, Future[object]]] = deque()

        def first() -> tuple[int, tuple[Region, ...] | DocumentError]:
            number, future = running.popleft()
            try:
                return number, cast("tuple[Region, ...]", future.result())
            except DocumentError as error:
                return number, error

        try:
            for number in numbers:
                task = RegionTask(
                    copy.path, self._options.password, number, lines.get(number, ()), self._options.parse
                )  # fmt: skip
                running.append((number, self._pool.submit(task, self._pool.allowance(turn.stop))))
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


def _noted(result: FileResult, note: str) -> FileResult:
    return replace(result, note="; ".join(filter(None, (result.note, note))))
