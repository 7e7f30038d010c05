"""Improvement of published documents by models. The result is a new version of the document of the same file."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import cast

from hybrid_core.errors import Cancelled, DamageError, DocumentError, LeaseLostError, NotFoundError, PageIndexError
from hybrid_core.llm.budget import charged
from hybrid_core.llm.offline import SealedReplies
from hybrid_core.llm.replies import ReplyCache, part_key
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document, IndexedContent
from hybrid_core.types.files import ContentVersion, Kind, StoredVersion
from hybrid_core.types.notes import Note
from hybrid_core.types.usage import Usage
from indexers.assembly.versions import card_of
from indexers.enrich.stage import Enricher, Sight
from indexers.enrich.steps import Stage
from indexers.files.private_copy import PrivateCopy, fingerprint
from indexers.formats.format import Drawing, PageLook, PictureOptions
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import named
from indexers.jobs.options import IndexOptions, ModelPlan
from indexers.jobs.publisher import Publisher
from indexers.jobs.refiner import Refiner, layout_model, missing
from indexers.jobs.report import FileResult, FileStage, Tally
from indexers.jobs.stage_run import StageRun
from indexers.ocr.engines import NoOcr
from indexers.workers.pool import Allowance, WorkerPool
from indexers.workers.protocol import DrawTask, LookTask, PictureTask

_RANGE = 50  # pages that one task looks at
_SHEET_DPI, _SHEET_SIDE = 72, 1568  # of a contact sheet: models scale down what is larger


class WorkerSight:
    """The access to images of a file's pages (``Sight``) through worker processes.

    All its tasks together have the time limit of a file, separate from the time for parsing.
    """

    def __init__(
        self,
        pool: WorkerPool,
        copy: PrivateCopy,
        password: str | None,
        pages: int,
        limits: ParseLimits,
        drawing: Drawing,
        allowance: Allowance,
    ) -> None:
        self._pool, self._copy, self._password, self._pages = pool, copy, password, pages
        self._limits, self._drawing, self._allowance = limits, drawing, allowance

    def looks(self) -> Sequence[PageLook]:
        tasks = [
            LookTask(self._copy.path, self._password, start, start + _RANGE, self._limits)
            for start in range(1, self._pages + 1, _RANGE)
        ]
        running = [self._pool.submit(task, self._allowance) for task in tasks]
        return [look for future in running for look in cast("list[PageLook]", future.result())]

    def drawn(self, number: int) -> Future[object]:
        task = DrawTask(self._copy.path, self._password, number, self._limits, self._drawing)
        begun = self._pool.submit(task, self._allowance)
        self._copy.lend(begun)
        return begun

    def sheet(self, numbers: Sequence[int]) -> Future[object]:
        picture = PictureOptions(_SHEET_DPI, "jpeg", side=_SHEET_SIDE)
        task = PictureTask(self._copy.path, self._password, tuple(numbers), self._limits, picture)
        begun = self._pool.submit(task, self._allowance)
        self._copy.lend(begun)
        return begun


_LOOK = 0.2  # seconds between two looks whether the work was stopped


class Improver:
    """Improves published documents with models. Calls that test ``options.models`` may still be running."""

    def __init__(
        self,
        catalog: Catalog,
        cache: Cache,
        pool: WorkerPool,
        publisher: Publisher,
        options: IndexOptions,
        plan: ModelPlan,
        tally: Tally,
        refiner: Refiner,
    ) -> None:
        self._refiner = refiner
        self._catalog, self._pool, self._publisher = catalog, pool, publisher
        self._options, self._plan, self._tally = options, plan, tally
        self._closed = threading.Event()
        self._page_threads = ThreadPoolExecutor(plan.options.pages, thread_name_prefix="index-pages")
        self._replies = SealedReplies(cache) if plan.estimate else ReplyCache(cache)
        self._made: Enricher | None = None
        self._lock = threading.Lock()
        self._trial = threading.Thread(target=self._tell, name="index-models", daemon=True)
        self._trial.start()

    def close(self) -> None:
        self._closed.set()
        self._trial.join()
        self._page_threads.shutdown(wait=True, cancel_futures=True)
        self._replies.flush()

    def _tell(self) -> None:
        """Wait for the models' test calls in a thread, so that their result is reported as soon as it is known."""
        with suppress(PageIndexError):  # raised again for whoever needs the models
            self._enricher(self._closed)

    def _enricher(self, stopped: threading.Event) -> Enricher:
        tried = self._plan.tried()
        while not wait([tried], timeout=_LOOK).done:
            if stopped.is_set():
                raise _stopped()
        models = tried.result()
        with self._lock:
            if self._made is None:
                for note in models.notes:
                    self._tally.add_note(note)
                self._made = Enricher(models, self._plan.options, self._replies, self._page_threads)
            return self._made

    def improved(self, run: StageRun, before: FileResult) -> FileResult:
        """Improve a document with models and return the new result.

        Return ``before`` itself if there is nothing to do or no model can be used.
        """
        enricher = self._enricher(run.stop.asked)
        try:
            result = self._improved(enricher, run, before)
        except (Cancelled, LeaseLostError):
            raise
        except (DamageError, DocumentError, NotFoundError) as error:
            reason = error.without_file.removesuffix(".")
            result = _noted(before, Note("file.not-improved", reason=reason))
        for note in enricher.given_up():
            self._tally.add_note(note)
        if result is not before:
            result = result if run.written else run.timed(result)
            self._tally.add(finished=result, again=True, at=FileStage(str(run.file), "describe"))
        return result

    def _improved(self, enricher: Enricher, run: StageRun, before: FileResult) -> FileResult:
        file = run.file
        if (published_document := self._document(before.doc_id)) is None:
            return before
        document, published = published_document
        tags = enricher.tags_for(_seen(document.format))
        if settled(StoredVersion(document.content_id, published, document.pages), tags, self._replies):
            return before
        if not enricher.asks:
            return before
        stamp, sha256 = fingerprint(file, run.source)
        if sha256 != document.sha256:
            raise DocumentError("the file has changed since it was read.", "Index the file again.", file=file)
        with self._publisher.content_lock(f"models/{sha256}"):  # the same bytes twice are paid for once
            best = self._publisher.stored.best(published, tags)
            if best is not None and best.version.improved_by(tags):
                card = self._publisher.stored.card(file, best.content_id)
                result = replace(_noted(before, Note("file.improved-before")), status="indexed")
                return self._publisher.switch(run, stamp, best.version, None, card, result)
            version, base = self._base(run, document, published)
            advice = self._publisher.stored.ocr() if any(page.needs_ocr for page in base.pages) else None
            moot = advice.reason if isinstance(advice, NoOcr) else ""
            with ExitStack() as stack:
                sight = None
                if "vlm" in tags and _seen(base.format):
                    copy = stack.enter_context(self._publisher.parser.copy(file, sha256, run.source))
                    sight = self._sight(run, copy, base)
                with charged(library=run.library):
                    enriched = enricher.enrich(base, sight, tags, _FileStages(run), run.stop.asked, moot)
            usage = sum((step.usage for step in enriched.steps), Usage())
            result = replace(before, steps=enriched.steps, usage=usage)
            if self._plan.estimate:
                return result
            if enriched.content is None and enriched.done:
                self._replies.put_part(_unchanged(document.content_id, tags), "1")
                return result if usage != Usage() else before
            if enriched.content is None:
                return _noted(result, *enriched.notes)
            if run.stop.asked.is_set():
                raise _stopped()
            if (now := self._document(document.doc_id)) is None or now[1] != published:
                return _noted(result, Note("file.changed-while-improved"))
            if enriched.partly and published.improved:
                return _noted(result, *enriched.notes, Note("file.earlier-models-stay"))
            new = version.with_models(tags, enriched.partly)
            if new == published:
                return _noted(result, *enriched.notes)
            apart = [part for part in before.note.parts if part not in base.warnings]  # moved from where, say
            note = Note.joined((*apart, *enriched.content.warnings))
            result = replace(result, status="indexed", sections=len(enriched.content.sections), note=note)
            return self._publisher.switch(run, stamp, new, enriched.content, card_of(file, enriched.content), result)

    def _base(
        self, run: StageRun, document: Document, published: ContentVersion
    ) -> tuple[ContentVersion, IndexedContent]:
        """Return a file's parsed document without the work of models, and its version.

        It is taken from the catalog if possible. If not, it is built again.
        """
        if published.unimproved == published:
            with self._catalog.snapshot() as snapshot:
                content = snapshot.content(document.content_id)
            if content is not None:
                return published, content
        if published.outline.partition("/")[0] == layout_model() and not missing():
            return self._refiner.refine_content(run, document, published.outline)
        version = self._publisher.make(run, document.sha256, self._options.seconds_per_file, lambda _: None)
        return version.version, version.content

    def _sight(self, run: StageRun, copy: PrivateCopy, base: IndexedContent) -> Sight:
        options, drawing = self._options, self._plan.options.drawing
        return WorkerSight(
            self._pool, copy, options.password, len(base.pages), options.parse, drawing, self._pool.allowance(run.stop)
        )

    def _document(self, doc_id: str | None) -> tuple[Document, ContentVersion] | None:
        """Return a document and the version that is published for it, None if it has none."""
        with self._catalog.snapshot() as snapshot:
            document = snapshot.document(doc_id or "")
            stored = None if document is None else snapshot.version(document.content_id)
        return None if document is None or stored is None else (document, stored.version)


def settled(stored: StoredVersion, tags: Mapping[Kind, str], replies: ReplyCache) -> bool:
    """Return whether the models in ``tags`` have completed their work on a document, or had nothing to add."""
    return stored.version.improved_by(tags) or replies.get(_unchanged(stored.content_id, tags)) is not None


def unimproved(replies: ReplyCache, plan: ModelPlan, stored: StoredVersion) -> bool:
    """Return whether models still have work to do on a document."""
    tags = {
        kind: tag
        for kind, tag in plan.options.tags(plan.names).items()
        if kind != "vlm" or _seen(stored.version.format)
    }
    return not settled(stored, tags, replies)


def _unchanged(content_id: str, tags: Mapping[Kind, str]) -> str:
    return part_key("unchanged", content_id, *(f"{kind}={tag}" for kind, tag in sorted(tags.items())))


def _seen(format: str) -> bool:
    """Return whether a vision model can be shown the pages of a format."""
    entry = named(format)
    return entry is not None and entry.has_page_images


class _FileStages:
    """A callback that reports the progress of one file."""

    def __init__(self, run: StageRun) -> None:
        self._turn = run

    def __call__(self, stage: Stage, done: int, pages: int) -> None:
        self._turn.tally.add(at=self._turn.at(stage, done, pages))


def _stopped() -> Cancelled:
    return Cancelled("Indexing was stopped.")


def _noted(result: FileResult, *notes: Note) -> FileResult:
    return replace(result, note=result.note.plus(*notes))
