"""Published documents improved by models: each gets a turn of its own, and another version of the same bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from hybrid_core.errors import Cancelled, DocumentError, NotFoundError
from hybrid_core.llm.reply_cache import ReplyCache, part_key
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document, IndexedContent
from hybrid_core.types.usage import Usage
from hybrid_core.types.versions import ContentVersion, Kind
from indexers.build.stored import StoredContents, card_of
from indexers.enrich.options import EnrichModels, EnrichOptions
from indexers.enrich.stage import Enricher, Sight
from indexers.enrich.steps import Stage
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import named
from indexers.jobs.files import PrivateCopy, fingerprint
from indexers.jobs.publishing import Publisher
from indexers.jobs.report import FileResult, FileStage, Tally
from indexers.jobs.sight import WorkerSight
from indexers.ocr.tesseract import NoOcr
from indexers.workers.pool import WorkerPool

_LOOK = 0.2  # seconds between two looks whether the run was stopped


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts of an indexing run that a turn needs."""

    catalog: Catalog
    cache: Cache
    library: str
    pool: WorkerPool
    publisher: Publisher
    stored: StoredContents
    tally: Tally
    limits: ParseLimits
    password: str | None
    seconds_per_file: float


class Improver:
    """Turns in threads of its own, ``options.documents`` at once. ``models`` may still be tried out."""

    def __init__(self, run: RunParts, models: Future[EnrichModels], options: EnrichOptions) -> None:
        self._run, self._models, self._options = run, models, options
        self._stopped = threading.Event()
        self._threads = ThreadPoolExecutor(options.documents, thread_name_prefix="index-models")
        self._page_threads = ThreadPoolExecutor(options.pages, thread_name_prefix="index-pages")
        self._replies = ReplyCache(run.cache)
        self._made: Enricher | None = None
        self._lock = threading.Lock()
        self._threads.submit(self._enricher)  # what the trial of the models says is told at once

    def submit(self, before: FileResult, file: Path) -> Future[FileResult]:
        """Another turn of a file that is published; its future raises Cancelled or StoreError."""
        return self._threads.submit(self._turn, before, file)

    def stop(self) -> None:
        """Have every turn end soon; calls of models that are under way are left alone."""
        self._stopped.set()

    def close(self) -> None:
        self.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._page_threads.shutdown(wait=True, cancel_futures=True)
        self._replies.flush()

    def _enricher(self) -> Enricher:
        with self._lock:
            while self._made is None:
                if self._stopped.is_set():
                    raise Cancelled("Indexing was stopped.")
                try:
                    models = self._models.result(timeout=_LOOK)
                except NotYetError:
                    continue
                for note in models.notes:
                    self._run.tally.add(note=note)
                self._made = Enricher(models, self._options, self._replies, self._page_threads, self._stopped)
            return self._made

    def _turn(self, before: FileResult, file: Path) -> FileResult:
        began = time.monotonic()
        enricher = self._enricher()
        try:
            result = self._improved(enricher, before, file)
        except Cancelled:
            raise
        except (DocumentError, NotFoundError) as error:
            reason = str(error).removeprefix(f"{file}: ").removesuffix(".")
            result = _noted(before, f"not improved by models: {reason}")
        for note in enricher.given_up():
            self._run.tally.add(note=note)
        if result is not before:
            result = replace(result, model_seconds=round(time.monotonic() - began, 3))
            self._run.tally.add(finished=result, again=True, at=FileStage(str(file), "describe"))
        return result

    def _improved(self, enricher: Enricher, before: FileResult, file: Path) -> FileResult:
        """``before`` itself where there is nothing to do, or nobody to ask."""
        run = self._run
        if (found := self._document(before.doc_id)) is None:
            return before
        document, published = found
        tags = enricher.tags_for(_seen(document.format))
        if published.improved_by(tags) or self._nothing_new(document.content_id, tags):
            return before
        if not enricher.asks:
            return before
        stamp, sha256 = fingerprint(file)
        if sha256 != document.sha256:
            raise DocumentError(f"{file}: it changed since it was read.", "Index it again.")
        with run.publisher.content_lock(f"models/{sha256}"):  # the same bytes twice in one run are paid for once
            best = run.stored.best(published, tags)
            if best is not None and best.version.improved_by(tags):
                card = run.stored.card(file, best.content_id)
                run.publisher.switch(file, stamp, document.doc_id, best.version, None, card)
                return replace(_noted(before, "the same bytes were improved by models before"), status="indexed")
            version, base = self._base(file, sha256, document.content_id, published)
            advice = run.stored.ocr() if any(page.needs_ocr for page in base.pages) else None
            moot = advice.reason if isinstance(advice, NoOcr) else ""
            with ExitStack() as stack:
                sight = None
                if "vlm" in tags and _seen(base.format):
                    copy = stack.enter_context(run.publisher.parser.copy(file, sha256))
                    sight = self._sight(copy, base)
                made = enricher.enrich(base, sight, tags, _FileStages(run.tally, file), moot)
            usage = sum((step.usage for step in made.steps), Usage())
            result = replace(before, steps=made.steps, usage=usage)
            if made.content is None and made.done:
                self._replies.put_part(self._unchanged(document.content_id, tags), "1")
                return result if usage != Usage() else before
            if made.content is None:
                return _noted(result, *made.notes)
            if self._stopped.is_set():
                raise Cancelled("Indexing was stopped.")
            if (now := self._document(document.doc_id)) is None or now[1] != published:
                return _noted(result, "it was changed or removed while models worked on it")
            if made.partly and published.improved:
                return _noted(result, *made.notes, "what models said of it before stays")
            new = version.with_models(tags, made.partly)
            if new == published:
                return _noted(result, *made.notes)
            run.publisher.switch(file, stamp, document.doc_id, new, made.content, card_of(file, made.content))
        result = replace(result, status="indexed", sections=len(made.content.sections))
        apart = "" if before.note == "; ".join(base.warnings) else before.note  # moved from where, say
        return replace(result, note="; ".join(filter(None, (apart, *made.content.warnings))))

    def _base(
        self, file: Path, sha256: str, content_id: str, published: ContentVersion
    ) -> tuple[ContentVersion, IndexedContent]:
        """What the rules made of a file, from the catalog where that is what is published, else made again."""
        if published.by_rules == published:
            with self._run.catalog.snapshot() as snapshot:
                held = snapshot.content(content_id)
            if held is not None:
                return published, held
        made = self._run.publisher.make(file, sha256, self._run.seconds_per_file, None)
        return made.version, made.content

    def _sight(self, copy: PrivateCopy, base: IndexedContent) -> Sight:
        run = self._run
        return WorkerSight(run.pool, copy, run.password, len(base.pages), run.limits, self._options.drawing)

    def _document(self, doc_id: str | None) -> tuple[Document, ContentVersion] | None:
        """A document and what is published of it; None where nothing is."""
        with self._run.catalog.snapshot() as snapshot:
            found = snapshot.document(doc_id or "")
            stored = None if found is None else snapshot.version(found.content_id)
        return None if found is None or stored is None else (found, stored.version)

    def _nothing_new(self, content_id: str, tags: Mapping[Kind, str]) -> bool:
        """Whether these models found nothing to add to a content before."""
        return self._replies.get(self._unchanged(content_id, tags)) is not None

    @staticmethod
    def _unchanged(content_id: str, tags: Mapping[Kind, str]) -> str:
        return part_key("unchanged", content_id, *(f"{kind}={tag}" for kind, tag in sorted(tags.items())))


def _seen(format: str) -> bool:
    """Whether a model can be shown the pages of a format."""
    found = named(format)
    return found is not None and found.seen


class _FileStages:
    """Tells how far one file is."""

    def __init__(self, tally: Tally, file: Path) -> None:
        self._tally, self._file = tally, str(file)

    def __call__(self, stage: Stage, done: int, pages: int) -> None:
        self._tally.add(at=FileStage(self._file, stage, pages, done))


def _noted(result: FileResult, *notes: str) -> FileResult:
    return replace(result, note="; ".join(filter(None, (result.note, *notes))))
