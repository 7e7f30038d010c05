"""The engine: the command line, Python, MCP and HTTP interfaces call these methods."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from hybrid_core.errors import NotConfiguredError, UsageError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import create_library, name_library
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.home import unwritable
from hybrid_core.system import Reach
from hybrid_core.types.documents import Document, DocumentRow
from hybrid_core.types.jobs import WANTED, WATCHED
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request, several
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.scoring import CandidateFeatures
from hybrid_pageindex.config.experts import preview
from hybrid_pageindex.config.settings import Settings, load_settings, usual_fields
from hybrid_pageindex.engine.concurrency import (
    awaited,
    in_the_background,
    read_in_the_background,
    read_in_thread,
    stoppable,
)
from hybrid_pageindex.engine.documents import contents, reading
from hybrid_pageindex.engine.documents.comparison import compare
from hybrid_pageindex.engine.documents.contents import Outline, find_words, glossary
from hybrid_pageindex.engine.documents.documents import edit, list_documents, versions
from hybrid_pageindex.engine.documents.originals import distant_original, lent_original, original, signed_link
from hybrid_pageindex.engine.documents.page_views import MOST_BYTES, SHEET, SIDE, Layouts, Pictures, draw_printed
from hybrid_pageindex.engine.index.indexing import (
    IndexCall,
    embed_documents,
    export_embedder,
    index_paths,
    request_embedding,
)
from hybrid_pageindex.engine.index.worker import work
from hybrid_pageindex.engine.libraries.libraries import (
    Removal,
    bin_library,
    clear,
    empty_bin,
    home_size,
    library_sizes,
    remove,
)
from hybrid_pageindex.engine.libraries.migration import CatalogCopy, Migration, copied, migrate, upload_originals
from hybrid_pageindex.engine.models.models import Models
from hybrid_pageindex.engine.parts import Parts
from hybrid_pageindex.engine.search.grep import GrepRequest
from hybrid_pageindex.engine.search.handles import Backend
from hybrid_pageindex.engine.search.indexes import Indexes
from hybrid_pageindex.engine.search.searcher import Searcher, libraries_of
from retrievers.pipeline.search import STAGES
from retrievers.pipeline.state import Stages

if TYPE_CHECKING:
    from hybrid_core.embed.embedder import Kind as TextKind
    from hybrid_core.embed.embedder import Vectors
    from hybrid_core.embed.onnx_model import ExportReport
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.store.access import AuditLog, ReplyStore
    from hybrid_core.store.catalog.bin import BinEntry
    from hybrid_core.store.catalog.maintenance import HomeState
    from hybrid_core.store.jobs.workers import Offer
    from hybrid_core.store.notes import FeedbackStore, NoteStore
    from hybrid_core.store.objects import Distant
    from hybrid_core.types.answers import Answer
    from hybrid_core.types.jobs import JobStatus, WorkKind
    from hybrid_core.types.locators import Box, PageLayout, WordBox
    from hybrid_core.types.sources import Source
    from hybrid_pageindex.config.changes import SettingView
    from hybrid_pageindex.config.experts import PackPreview
    from hybrid_pageindex.conversations.conversations import Conversations
    from hybrid_pageindex.engine.admin import Tokens, UsageReport
    from hybrid_pageindex.engine.documents.briefing import Briefing
    from hybrid_pageindex.engine.documents.comparison import Comparison
    from hybrid_pageindex.engine.documents.contents import DefinedTerm, Matches
    from hybrid_pageindex.engine.documents.documents import DocumentPage, DocumentState, DocumentVersion
    from hybrid_pageindex.engine.documents.page_views import Layouts, Pictures
    from hybrid_pageindex.engine.documents.reading import PlaceFound
    from hybrid_pageindex.engine.health import Health
    from hybrid_pageindex.engine.index.reindexing import Estimate, RecoveryReport
    from hybrid_pageindex.engine.index.sources import LibraryUpdate, Options, WatchEvent
    from hybrid_pageindex.engine.index.uploads import Upload, Uploaded
    from hybrid_pageindex.engine.jobs import JobAction, JobDecision, JobHistory, JobList, JobNews
    from hybrid_pageindex.engine.libraries.libraries import HomeSize, LibrarySize
    from hybrid_pageindex.engine.libraries.transfer import Exported, Imported
    from hybrid_pageindex.engine.models.models import Kind
    from hybrid_pageindex.engine.search.grep import GrepResult, Listed
    from indexers.formats.format import ImageFormat, PageView, Picture
    from indexers.jobs.embedding import EmbedProgress, EmbedReport
    from indexers.jobs.report import IndexProgress, IndexReport


@awaited
class Engine:
    """Index documents, search them and answer questions, in the libraries of one home folder.

    Methods are async; computation runs in threads and worker processes. Use it as ``async with Engine() as engine``.
    Published work is not lost if the engine is not closed. All errors derive from ``PageIndexError``.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Settings | None = None,
        chat: ChatModel | None = None,
        stages: Stages = STAGES,
    ) -> None:
        """Create an engine.

        ``home`` defaults to ``PAGEINDEX_STORAGE_PATH``, else ``~/.pageindex``; the folder is created on first use.
        ``chat`` is a language model to use instead of the one in the settings; the caller must close it. ``stages`` are
        the stages of every search, in order.
        """
        loaded = settings or load_settings(home)
        if settings is not None and home is not None:
            loaded = replace(loaded, storage_path=Path(home).expanduser().absolute())
        self.settings = replace(loaded, storage_path=Path(loaded.storage_path).expanduser().absolute())
        self._chat, self._stages = chat, stages
        self._lock = threading.Lock()
        self._opened: Parts | None = None
        self._reach: Reach | None = None
        self._conversations: Conversations | None = None

    def __repr__(self) -> str:
        return f"Engine({str(self.home)!r})"

    @property
    def home(self) -> Path:
        return self.settings.storage_path

    @property
    def read_only(self) -> str:
        """Return why this home is open for reading only, "" if it can be written. Calls that would change it raise
        ReadOnlyError.
        """
        return self._catalog().read_only

    def confine(self, roots: Sequence[Path]) -> None:
        """Refuse symbolic links that lead out of these folders, as servers need it. The folders must not contain links
        in their own paths.
        """
        with self._lock:
            self._reach = Reach(tuple(roots))
            if self._opened is not None:
                self._opened.reach = self._reach

    async def index(
        self,
        paths: Sequence[str | Path] | str | Path | bytes,
        *,
        name: str | None = None,
        library: str | None = None,
        workers: int | None = None,
        password: str | None = None,
        prune: bool = False,
        check_hashes: bool = False,
        outline: str | None = None,
        vision: str | None = None,
        enrich: str | None = None,
        detach: bool = False,
        upload: bool = False,
        sources: Sequence[str | Path] | None = None,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> IndexReport:
        """Index files, folders and globs. Return a report; files that fail are listed there and raise no error.

        Bytes need a file ``name`` and are stored in the home as long as their document exists. The same holds for web
        pages, which are fetched if the setting ``fetch_web`` allows it. Files in archives and mails become documents of
        their own ("offer.eml!/report.pdf").

        Every file is first published as the rules read it, then improved by the configured models. ``outline`` ("fast",
        "refined") chooses whether a layout model refines the section trees of PDFs. ``vision`` ("auto", "always",
        "never") chooses the pages that a vision model sees. ``enrich`` ("auto", "never", "estimate") chooses whether
        models are called; "estimate" calls none and reports the expected ``usage``. Files with unchanged size, times
        and inode are skipped; ``check_hashes`` reads them anyway. ``on_progress`` is called from worker threads.

        Cancelling the task stops work that no other caller waits for; published documents stay. ``detach`` only queues
        the files for workers. ``upload`` stores copies of the files, so that workers on other machines can read them.
        ``sources`` are the paths that a later ``update`` indexes, if they differ from ``paths``.
        """
        from hybrid_pageindex.engine.index.sources import remember_paths
        from hybrid_pageindex.engine.index.uploads import local_paths, to_index, uploads_of

        listed, progress = to_index(paths, name), on_progress or _ignore_progress
        into = _library_name(library, self.settings.library)
        wishes = {"outline": outline, "vision": vision, "enrich": enrich, "prune": prune}
        index = partial(
            self._index,
            password=password,
            check_hashes=check_hashes,
            on_progress=progress,
            workers=workers,
            detach=detach,
        )

        def work(stop: threading.Event) -> IndexReport:
            try:
                items = uploads_of(local_paths(listed)) if upload else listed
                return index(into, items, stop, prune=prune, outline=outline, vision=vision, enrich=enrich)
            finally:  # also where it is stopped: an update goes on
                if enrich != "estimate":
                    remembered = [] if upload else local_paths(listed) if sources is None else sources
                    remember_paths(self._catalog(), self.home, into, remembered, wishes, self.settings.own_machine)

        return await stoppable(work)

    async def estimate(self, documents: Sequence[str] | str = (), *, library: str | None = None) -> Estimate:
        """Estimate the model calls and their cost for improving documents of a library, or all of them.

        No model is called. Documents whose file has changed are indexed first. Raise NotFoundError for an unknown name.
        """
        from hybrid_pageindex.engine.index.reindexing import estimate

        name, listed = _library_name(library, self.settings.library), several(documents)
        return await stoppable(lambda stop: estimate(self._parts(), self.settings, name, listed, stop))

    async def upload(self, uploads: Sequence[Upload], *, library: str | None = None) -> Uploaded:
        """Store uploaded files in the home and queue them for indexing by workers.

        Raise UsageError for an invalid file or library name.
        """
        from hybrid_pageindex.engine.index.uploads import uploaded

        into = _library_name(library, self.settings.library)

        def work(stop: threading.Event) -> Uploaded:
            report = self._index(
                into, uploads, stop, password=None, prune=False, check_hashes=False, on_progress=_ignore_progress,
                workers=None, outline=None, vision=None, enrich=None, detach=True,
            )  # fmt: skip
            return uploaded(self._catalog(), into, uploads, report)

        return await stoppable(work)

    async def update(
        self,
        *,
        library: str | None = None,
        workers: int | None = None,
        password: str | None = None,
        prune: bool | None = None,
        check_hashes: bool = False,
        outline: str | None = None,
        vision: str | None = None,
        enrich: str | None = None,
        detach: bool = False,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> list[LibraryUpdate]:
        """Index the changes in the sources of a library, or of all libraries.

        Sources are the paths of earlier ``index`` calls, with the options of those calls unless an argument replaces
        them. Files that a user removed from the library are skipped. Raise NotFoundError if there is no source. Other
        arguments are as in ``index``.
        """
        from hybrid_pageindex.engine.index.sources import update, wishes_of

        name = None if library is None else _library_name(library, "")
        wishes = {"prune": prune, "outline": outline, "vision": vision, "enrich": enrich}
        index = partial(
            self._index, password=password, check_hashes=check_hashes, on_progress=on_progress or _ignore_progress,
            workers=workers, prune=False, detach=detach,
        )  # fmt: skip

        def work(stop: threading.Event) -> list[LibraryUpdate]:
            def indexed(target: Library, files: Sequence[Path], options: Options) -> IndexReport:
                return index(target.name, files, stop, **wishes_of(options))

            machine = self.settings.own_machine
            return update(self._catalog(), self.home, name, wishes, machine, indexed, self._reach)

        return await stoppable(work)

    def _index(
        self,
        library: str,
        paths: Sequence[str | Path | Upload],
        stop: threading.Event,
        *,
        password: str | None,
        prune: bool,
        check_hashes: bool,
        on_progress: Callable[[IndexProgress], None],
        workers: int | None,
        outline: Any,
        vision: Any,
        enrich: Any,
        detach: bool = False,
        priority: int = WANTED,
    ) -> IndexReport:
        wishes: dict[str, Any] = {"workers": workers, "outline": outline, "vision": vision, "enrich": enrich}
        settings = replace(self.settings, **{key: wish for key, wish in wishes.items() if wish is not None})
        wished = bool(outline or vision or enrich)
        call = IndexCall(password, prune, check_hashes, wished=wished, detach=detach, priority=priority)
        return index_paths(self._parts(), library, paths, settings, call, on_progress, stop)

    async def sources(self, *, library: str | None = None) -> list[Source]:
        """Return the files, folders and globs from which a library, or all libraries, were indexed."""
        from hybrid_pageindex.engine.index.sources import sources

        name = None if library is None else _library_name(library, "")
        return await read_in_thread(lambda: sources(self._catalog(), name))

    async def watch_folder(
        self,
        folder: str | Path,
        *,
        library: str | None = None,
        poll: bool = False,
        outline: str | None = None,
        vision: str | None = None,
        enrich: str | None = None,
    ) -> Source:
        """Make ``watch`` index changes in a folder.

        ``poll`` scans the folder regularly instead of waiting for file events, as is done for network drives. Raise
        UsageError if the path is not a folder.
        """
        from hybrid_pageindex.engine.index.sources import watch_folder

        name = _library_name(library, self.settings.library)
        wishes = {"outline": outline, "vision": vision, "enrich": enrich}
        machine = self.settings.own_machine
        return await asyncio.to_thread(lambda: watch_folder(self._catalog(), name, folder, wishes, machine, poll=poll))

    async def unwatch_folder(self, folder: str | Path, *, library: str | None = None, forget: bool = False) -> Source:
        """Stop watching a folder; its documents stay. With ``forget``, later updates ignore it too.

        Raise NotFoundError if it is not a source of the library.
        """
        from hybrid_pageindex.engine.index.sources import unwatch_folder

        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: unwatch_folder(self._catalog(), name, folder, forget=forget))

    async def watches(self) -> bool:
        """Return whether any folder is watched; False in a read-only home."""
        from hybrid_core.store.catalog.libraries import watched_sources

        if unwritable(self.home):
            return False
        return bool(await read_in_thread(lambda: watched_sources(self._catalog(), machine=self.settings.own_machine)))

    async def watch(
        self,
        *,
        library: str | None = None,
        concurrency: int | None = None,
        work: bool = True,
        on_event: Callable[[WatchEvent], None] | None = None,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> None:
        """Index changes in watched folders of a library, or of all, until the task is cancelled.

        With ``work`` it also processes all queued jobs, like ``work``; without, it only queues the changed files.
        Folders that other processes add meanwhile are watched too. ``on_event`` is called from worker threads.
        """
        from hybrid_pageindex.engine.index.sources import watch_sources, wishes_of

        name = None if library is None else _library_name(library, "")
        enqueue = partial(
            self._index, password=None, check_hashes=False, on_progress=_ignore_progress, workers=None, prune=False,
            detach=True, priority=WATCHED,
        )  # fmt: skip

        def look(stop: threading.Event) -> None:
            def index_found(target: Library, files: Sequence[Path], options: Options) -> IndexReport:
                return enqueue(target.name, files, stop, **wishes_of(options))

            watch_sources(
                self._catalog(),
                self.home,
                name,
                self.settings.own_machine,
                index_found,
                on_event or _ignore_progress,
                stop,
                reach=self._reach,
            )

        if not work:
            await stoppable(look)
            return
        working = self.work(concurrency=concurrency, on_progress=on_progress)
        both = [asyncio.ensure_future(work_item) for work_item in (stoppable(look), working)]
        try:
            await asyncio.gather(*both)
        finally:  # the one does not outlive the other
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def work(
        self,
        *,
        concurrency: int | None = None,
        on_progress: Callable[[IndexProgress], None] | None = None,
        enough: Callable[[], bool] | None = None,
        kind: WorkKind | None = None,
    ) -> None:
        """Process queued jobs of all callers until the task is cancelled; unfinished jobs return to the queue.

        ``concurrency`` is the number of processes that read files (default: the setting ``workers``). With ``enough``,
        return once the queue is empty and ``enough()`` is true. ``kind`` ("index" or "embed") restricts the jobs.
        """
        progress, finished = on_progress or _ignore_progress, enough or (lambda: False)
        await stoppable(
            lambda stop: work(self._parts(), self.settings, concurrency, progress, stop, finished, kind=kind)
        )

    async def work_on(self, job: int) -> None:
        """Run one job by its number, as far as this process can; the remaining stages wait in the queue again.

        Do nothing if the job has ended or another worker holds it, so a dispatcher may send a number twice.
        """
        work_on_job = partial(work, self._parts(), self.settings, None, _ignore_progress)
        await stoppable(lambda stop: work_on_job(stop, lambda: True, job))

    async def offers(self, limit: int) -> list[Offer]:
        """Return the jobs that workers could run now, at most ``limit`` of each kind, most urgent first, for
        dispatchers.
        """
        from hybrid_core.store.jobs.claims import JobLimits
        from hybrid_core.store.jobs.workers import JobOffers

        limits = self.settings.part(JobLimits)
        return await asyncio.to_thread(lambda: JobOffers(self._catalog(), limits=limits).all(limit))

    async def waits(self) -> bool:
        """Return whether jobs wait in the queue; False in a read-only home, which has no workers."""
        from hybrid_core.store.jobs.reader import JobReader  # a search needs none of it

        if unwritable(self.home):
            return False
        return await read_in_thread(lambda: JobReader(self._catalog()).counts().waiting > 0)

    async def embed(
        self,
        model: str | None = None,
        *,
        library: str | None = None,
        on_progress: Callable[[EmbedProgress], None] | None = None,
    ) -> EmbedReport | None:
        """Compute vectors for the documents of a library, or continue doing so.

        ``model`` is "bge-m3", "sentence-transformers:NAME_OR_PATH", "openai:MODEL", …. It defaults to the model whose
        vectors are being made, else the one in use, else the setting ``embedding_model``. "none" removes the vectors
        and returns None. The old vectors stay in use until all new ones are made.
        """
        name = _library_name(library, self.settings.library)
        progress = on_progress or _ignore_progress
        return await stoppable(lambda stop: embed_documents(self._parts(), name, model, self.settings, progress, stop))

    async def embed_texts(self, texts: Sequence[str], kind: TextKind = "document") -> Vectors:
        """Return one unit vector a row for texts, by the embedder of the setting ``embedding_model``.

        Raises NotConfiguredError where none is set, ModelError where the model fails.
        """
        model = self.settings.embedding_model
        if not model or model == "none":
            raise NotConfiguredError("No embedder is configured.", "Set embedding_model.")
        return await asyncio.to_thread(lambda: self._parts().embedders.load(model).embed(texts, kind))

    async def export_embedder(self, folder: str | Path, model: str | None = None) -> ExportReport:
        """Export a PyTorch model in int8 for use as "onnx:FOLDER": several times faster on a CPU, and without PyTorch.

        ``model`` is "bge-m3…" or "sentence-transformers:…", by default the setting ``embedding_model``.
        """
        return await asyncio.to_thread(
            export_embedder, self._parts(), Path(folder), model or self.settings.embedding_model
        )

    async def search(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> SearchResult:
        """Return the pages that answer a question, best first.

        ``fields`` are the fields of ``SearchRequest``; a request may replace the question. Missing fields come from the
        settings. ``on_step`` is called from a worker thread with each step of a language model.

        Raise UsageError for an empty question or an empty list of documents, NotFoundError for an unknown library or
        document.
        """
        request = self.request(question, **fields)
        work = partial(self._searcher().search, request, on_step)
        return await (asyncio.to_thread(work) if request.effort == "fast" else in_the_background(work))

    def search_now(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> SearchResult:
        """Run ``search`` in the calling thread and block until it ends."""
        return self._searcher().search(self.request(question, **fields), on_step)

    def request(self, question: str | SearchRequest, **fields: Unpack[SearchFields]) -> SearchRequest:
        """Return the search request for these arguments, with missing fields taken from the settings."""
        return search_request(question, fields).completed(usual_fields(self.settings))

    async def ask(
        self,
        question: str | SearchRequest,
        *,
        force: bool = False,
        vision: bool | None = None,
        on_text: Callable[[str], None] | None = None,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> Answer:
        """Answer a question from the pages that ``search`` finds, and check each cited statement against its sources.

        A question that asks how many or which documents mention some words is answered by an exhaustive search without
        a model.

        No model is called if the evidence is below the setting ``answer_evidence``, unless a model already chose the
        pages or ``force`` is set. ``vision`` sends images of all pages (True) or of none (False); None follows the
        setting ``answer_vision``, which by default sends up to three pages with figures that their text lacks.
        ``on_text`` receives the answer in pieces and ``on_step`` the steps before it, both from a worker thread.
        ``fields`` are those of ``search``. Without a model, or if it fails, the answer has sources but no text, and
        ``status`` says so. Raise the errors of ``search``.
        """
        request = self.request(question, **fields)
        return await in_the_background(lambda: self._answer_request(request, force, vision, on_text, on_step))

    def _answer_request(
        self,
        request: SearchRequest,
        force: bool,
        vision: bool | None,
        on_text: Callable[[str], None] | None,
        on_step: Callable[[ReasoningStep], None] | None,
    ) -> Answer:
        from hybrid_pageindex.engine.answers.asking import Answerer  # with pydantic, which search does not wait for

        counted, note = Answerer(self._parts(), self.settings).count(request, on_text=on_text, on_step=on_step)
        if counted is not None:
            return counted
        result = self._searcher().search(request, on_step)
        answer = self._answer(result, request, force, vision, on_text, on_step)
        return replace(answer, notes=(*answer.notes, note)) if note else answer

    async def answer(
        self,
        result: SearchResult,
        *,
        force: bool = False,
        vision: bool | None = None,
        on_text: Callable[[str], None] | None = None,
        on_step: Callable[[ReasoningStep], None] | None = None,
    ) -> Answer:
        """Write an answer from the pages of a finished search; this is the second half of ``ask``."""
        return await in_the_background(lambda: self._answer(result, None, force, vision, on_text, on_step))

    def _answer(
        self,
        result: SearchResult,
        request: SearchRequest | None,
        force: bool,
        vision: bool | None,
        on_text: Callable[[str], None] | None,
        on_step: Callable[[ReasoningStep], None] | None,
    ) -> Answer:
        from hybrid_pageindex.engine.answers.asking import Answerer  # with pydantic, which search does not wait for

        parts = self._parts()
        return Answerer(parts, self.settings).answer(
            result, parts.chat.model(), request=request, force=force, vision=vision, on_text=on_text, on_step=on_step
        )

    @property
    def conversations(self) -> Conversations:
        """Return the conversations of this home: questions that may refer to earlier ones, stored
        with their answers.
        """
        from hybrid_pageindex.conversations.conversations import Conversations  # a search needs none of it

        parts = self._parts()
        with self._lock:
            if self._conversations is None:
                self._conversations = Conversations(parts, self.settings)
            return self._conversations

    async def outline(
        self,
        document: str,
        *,
        library: str | None = None,
        query: str | None = None,
        depth: int | None = None,
        node: str | None = None,
        text: bool = False,
        expert: str | Path | None = None,
    ) -> contents.Outline:
        """Return the section tree of a document, or the subtree below ``node``; with ``query`` each section is scored.

        Scores come from a search of the library for ``query`` with ``expert``. If that search does not choose the
        document, it is searched alone, and ``notes`` say so. No model is called. ``depth`` limits the levels; ``text``
        adds the text of each section. Raise UsageError for an empty ``query``, NotFoundError for an unknown node.
        """
        name = _library_name(library, self.settings.library)
        request = None if query is None else self.request(query, library=name, expert=expert, effort="fast")

        def read() -> Outline:
            scores = None
            if request is not None:
                row = reading.published(self._catalog(), name, document)
                [scores] = self._searcher().section_scores(request, row)
            return contents.outline(self._catalog(), name, document, scores, depth, node, text)

        return await read_in_thread(read)

    async def outlines(
        self,
        question: str,
        *,
        library: str | None = None,
        depth: int | None = None,
        most: int = 3,
        expert: str | Path | None = None,
    ) -> list[Outline]:
        """Return the scored section trees of the documents that match a question best, best first. Scores are as in
        ``outline``.
        """
        request = self.request(question, library=library, expert=expert, effort="fast")

        def read() -> list[Outline]:
            scored = self._searcher().section_scores(request, None, most)
            return [
                contents.outline(self._catalog(), request.library, scores.document.doc_id, scores, depth)
                for scores in scored
            ]

        return await read_in_thread(read)

    async def candidate_features(self, question: str, **fields: Unpack[SearchFields]) -> CandidateFeatures:
        """Return the candidate pages of a search with their ranking features.

        ``fields`` are those of ``search``. No model is called. Raise the errors of ``search``.
        """
        fields["effort"] = "fast"
        request = self.request(question, **fields)
        return await read_in_thread(lambda: self._searcher().features(request))

    async def briefing(
        self, document: str | None = None, *, library: str | None = None, model: bool = False
    ) -> Briefing:
        """Describe a document, or the library if none is named: its parts, figures, and questions that its pages
        answer.

        With ``model`` the language model writes the description. Raise UsageError if none is configured, ChatError if
        it fails.
        """
        from hybrid_pageindex.engine.documents.briefing import brief_document, brief_library

        name = _library_name(library, self.settings.library)

        def search(question: str, documents: Sequence[str] | None) -> SearchResult:
            return self._searcher().search(
                self.request(question, library=name, documents=documents, effort="fast", top_k=3)
            )

        def write() -> Briefing:
            writer = self._parts().chat.model() if model else None
            if model and writer is None:
                raise NotConfiguredError("No language model is configured.", "Set llm_model, or leave the model out.")
            if document is None:
                return brief_library(self._catalog(), name, search, writer)
            return brief_document(self._catalog(), name, document, search, writer)

        return await (asyncio.to_thread(write) if model else read_in_thread(write))

    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None
    ) -> list[reading.PageRead]:
        """Return pages of a document by number, numbers or page list ("3,7-9"), with text, summary and section path."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.read_pages(self._catalog(), name, document, numbers))

    async def find_place(self, document: str, place: str, quote: str = "", *, library: str | None = None) -> PlaceFound:
        """Return the page and line of a position that ``pages`` returned with a quote, even after small edits of the
        file.
        """
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.find_place(self._catalog(), name, document, place, quote))

    async def original(self, document: str, *, library: str | None = None) -> Path:
        """Return the path of the file that a document was made from. Do not change a file inside the home.

        Raise DocumentError if the file is missing.
        """
        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: original(self._catalog(), name, document))

    @asynccontextmanager
    async def lent_original(self, document: str, *, library: str | None = None) -> AsyncIterator[Path]:
        """Yield a copy of the original file as it was indexed, for sending it to another party.

        Raise DocumentError if the file is missing or has changed.
        """
        name, parts = _library_name(library, self.settings.library), self._parts
        stack = ExitStack()
        try:
            yield await stoppable(
                lambda _: stack.enter_context(lent_original(self._catalog(), parts().pages, name, document))
            )
        finally:
            await asyncio.to_thread(stack.close)

    async def original_link(self, document: str, *, library: str | None = None) -> str | None:
        """Return a URL of the bucket that serves the file to anybody for five minutes.

        Return None if the file is not in a bucket, or the setting ``objects_links`` is "proxied".
        """
        if self.settings.objects_links != "signed":
            return None
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: signed_link(self._catalog(), name, document))

    async def distant_original(self, document: str, *, library: str | None = None) -> Distant | None:
        """Return a handle to read the file in parts from the bucket; None if it is not in a bucket or this home has a
        copy.
        """
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: distant_original(self._catalog(), name, document))

    async def layout(
        self, document: str, page: int, *, library: str | None = None, password: str | None = None
    ) -> PageLayout:
        """Return the positions of the words, figures and tables of a page, in the coordinates of ``page_image``."""
        name = _library_name(library, self.settings.library)
        return await read_in_the_background(partial(self._layouts().of, name, document, page, password))

    async def words(
        self, document: str, page: int, *, library: str | None = None, password: str | None = None
    ) -> tuple[WordBox, ...]:
        """The words of a page in reading order with their boxes."""
        return (await self.layout(document, page, library=library, password=password)).words

    async def boxes(
        self, document: str, page: int, quote: str, *, library: str | None = None, password: str | None = None
    ) -> tuple[Box, ...]:
        """Return the positions of quoted words on a page, one box per line.

        "…" in the quote stands for omitted words. Raise NotFoundError if the page does not contain them.
        """
        name = _library_name(library, self.settings.library)
        return await read_in_the_background(partial(self._layouts().quote, name, document, page, quote, password))

    async def with_tables(self, read: reading.PageRead, *, library: str | None = None) -> reading.PageRead:
        """Return a page of ``pages`` with its tables in Markdown."""
        name = _library_name(library, self.settings.library)
        return await read_in_the_background(partial(self._layouts().with_tables, name, read))

    async def page_image(
        self,
        document: str,
        page: int,
        *,
        library: str | None = None,
        dpi: int | None = None,
        password: str | None = None,
        format: ImageFormat = "png",
        side: int = 0,
        most_bytes: int = 0,
        view: PageView = "page",
    ) -> bytes:
        """Return an image of a page, drawn from the original file, as PNG or JPEG.

        Pages of formats without pages are drawn from their text and pictures. ``side`` limits the longer side in
        pixels, ``most_bytes`` the size of a JPEG, which is drawn coarser to fit; 0 means no limit. ``view`` "office"
        returns the page as LibreOffice prints it. Raise DocumentError if LibreOffice is needed and missing.
        """
        from indexers.formats.format import Picture

        picture = Picture(dpi or self.settings.image_dpi, format, side, most_bytes)
        if view == "page":
            return await self._picture(document, [page], picture, library, password)
        name, work = _library_name(library, self.settings.library), self._pictures().work
        return await read_in_the_background(partial(draw_printed, work, name, document, page, picture))

    async def prepare_pictures(self) -> None:
        """Start the drawing process, so that the first page image is fast."""
        await in_the_background(self._pictures().work.prepare)

    async def contact_sheet(
        self, document: str, pages: Sequence[int], *, library: str | None = None, password: str | None = None
    ) -> bytes:
        """Return a JPEG of at most 1,568 pixels with small images of several pages, each with its number."""
        from indexers.formats.format import Picture

        if not 1 <= len(pages) <= SHEET:
            raise UsageError(f"{len(pages)} pages were named for a contact sheet.", f"Name 1 to {SHEET}.")
        picture = Picture(self.settings.image_dpi, "jpeg", SIDE, MOST_BYTES)
        return await self._picture(document, pages, picture, library, password)

    async def _picture(
        self, document: str, pages: Sequence[int], picture: Picture, library: str | None, password: str | None
    ) -> bytes:
        name = _library_name(library, self.settings.library)
        draw = partial(self._pictures().draw, name, document, pages, picture, password)
        return await read_in_the_background(draw)  # it may wait long for those before it

    async def documents(self, *, library: str | None = None, where: Sequence[str] = ()) -> list[Document]:
        """Return all documents of a library by path, including failed ones. ``where`` is as in ``search``."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.documents(self._catalog(), name, several(where)))

    async def list_documents(
        self,
        *,
        library: str | None = None,
        where: Sequence[str] = (),
        find: str = "",
        state: DocumentState = "all",
        sort: str = "path",
        most: int = 100,
        cursor: str = "",
    ) -> DocumentPage:
        """Return the documents of a library in batches, filtered and sorted. The arguments are those of
        ``list_documents``.
        """
        name = _library_name(library, self.settings.library)
        listed = partial(
            list_documents, self._catalog(), name, several(where), find=find, state=state, sort=sort, most=most,
            cursor=cursor,
        )  # fmt: skip
        return await read_in_thread(listed)

    async def document_rows(self, *, library: str | None = None) -> list[DocumentRow]:
        """Return one short row per document of a library, by path. This is fast even for ten thousand documents."""
        name = _library_name(library, self.settings.library)

        def read() -> list[DocumentRow]:
            with self._catalog().snapshot() as snapshot:
                return snapshot.document_rows(snapshot.library(name).id)

        return await read_in_thread(read)

    async def info(self, document: str, *, library: str | None = None) -> Document:
        """Return one document with its metadata."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.document(self._catalog(), name, document))

    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]:
        """Return the published versions of a document, newest first."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: versions(self._catalog(), name, document))

    async def glossary(self, document: str, *, library: str | None = None) -> list[DefinedTerm]:
        """Return the terms that a document defines itself (such as 'Affiliate means …'), in alphabetical order."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: glossary(self._catalog(), name, document))

    async def edit(
        self,
        document: str,
        *,
        set: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        library: str | None = None,
        seen: Document | None = None,
    ) -> Document:
        """Correct the metadata of a document: title, organisation, year, quarter, date, type or tags.

        Values in ``set`` replace those read from the file, and stay when the file is indexed again, moved or changed.
        ``unset`` undoes corrections. Raise UsageError for an unknown field or an invalid value, ChangedError if the
        document has changed since it was read as ``seen``.
        """
        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: edit(self._catalog(), name, document, set or {}, several(unset), seen))

    async def remove(
        self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False
    ) -> list[Document]:
        """Remove documents by id or name. Original files stay.

        If a name is unknown, nothing is removed. Documents can be restored from the ``bin`` for 30 days, unless
        ``for_good`` is set.
        """
        return list((await self.remove_documents(documents, library=library, for_good=for_good)).documents)

    async def remove_documents(
        self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False
    ) -> Removal:
        """Remove documents as ``remove`` does, and return them with the id of their entry in the bin."""
        name = _library_name(library, self.settings.library)
        self._parts().pages.forget()
        return await asyncio.to_thread(
            lambda: remove(self._catalog(), self._cache(), name, several(documents), for_good=for_good)
        )

    async def bin(self) -> list[BinEntry]:
        """Return the removed documents and libraries that can be restored, the newest first."""
        from hybrid_core.store.catalog.bin import bin_entries

        await self.expire_bin()
        return await read_in_thread(lambda: bin_entries(self._catalog()))

    async def restore(self, entry: str) -> BinEntry:
        """Restore removed documents or a library by the id of their entry in the bin.

        Raise NotFoundError for an unknown entry, UsageError if the library of the documents is itself in the bin, or a
        file was indexed again.
        """
        from hybrid_core.store.catalog.bin import bin_entry, restore

        def bring_back() -> BinEntry:
            restored = bin_entry(self._catalog(), entry)
            restore(self._catalog(), entry)
            with self._catalog().snapshot() as snapshot:  # a library may have got a number
                names = {library.id: library.name for library in snapshot.named_libraries()}
            return replace(restored, library=names[restored.library_id])

        self._parts().pages.forget()
        return await asyncio.to_thread(bring_back)

    async def empty_bin(self, entry: str | None = None) -> int:
        """Delete one entry of the bin, or all entries, for good. Return the number. Raise NotFoundError for an unknown
        entry.
        """
        return await asyncio.to_thread(lambda: empty_bin(self._catalog(), self._indexes(), self.home, entry))

    async def expire_bin(self) -> int:
        """Delete entries of the bin after 30 days. Return the number of deleted entries, 0 in a read-only home."""
        if self._catalog().read_only:
            return 0
        return await asyncio.to_thread(lambda: empty_bin(self._catalog(), self._indexes(), self.home, expired=True))

    async def libraries(self, part: str = "") -> list[LibrarySize]:
        """Return every library with its documents, pages and disk use, most recently used first.

        With ``part``, return only libraries whose name or alias contains it, ignoring case and character width.
        """
        return await read_in_thread(lambda: library_sizes(self._catalog(), self.home, part))

    async def named_libraries(self) -> list[Library]:
        """Return every library by name, without counting its contents."""

        def read() -> list[Library]:
            with self._catalog().snapshot() as snapshot:
                return snapshot.named_libraries()

        return await read_in_thread(read)

    async def overview(self) -> HomeSize:
        """Return every library as ``libraries`` does, and the disk use of the home."""
        return await read_in_thread(lambda: home_size(self._catalog(), self.home))

    async def create_library(self, name: str, *, alias: str = "") -> Library:
        """Create an empty library. Raise UsageError for an invalid or already used name or alias."""
        return await asyncio.to_thread(lambda: create_library(self._catalog(), name, alias=alias))

    async def name_library(self, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
        """Rename a library or change its alias ("" removes it). The id stays, and no document is indexed again.

        Raise NotFoundError for an unknown library, UsageError for an invalid or already used name.
        """

        def named() -> Library:
            with self._catalog().snapshot() as snapshot:
                before = snapshot.library(library)
            renamed = name_library(self._catalog(), before.id, name=name, alias=alias)
            self._parts().indexes.rename(before.id)
            return renamed

        return await asyncio.to_thread(named)

    async def clear(self, *, library: str | None = None, session: str = "", for_good: bool = False) -> list[str]:
        """Delete one library, or all. Return their names. Original files stay.

        One library can be restored from the ``bin`` for 30 days, unless ``for_good`` is set. Deleting all libraries
        also deletes the bin, tokens, users and sessions, except for the browser session with the secret ``session``.
        """
        name = None if library is None else _library_name(library, "")
        self._parts().pages.forget()
        if name is not None and not for_good:
            return [(await asyncio.to_thread(lambda: bin_library(self._catalog(), name))).name]
        return await asyncio.to_thread(
            lambda: clear(self._catalog(), self._cache(), self._indexes(), self.home, name, session)
        )

    async def jobs(self, *, library: str | None = None, status: Sequence[JobStatus] = (), most: int = 100) -> JobList:
        """Return the running and waiting jobs and the most recent ended ones, of one library or all."""
        from hybrid_pageindex.engine.jobs import Jobs

        return await read_in_thread(lambda: Jobs(self._catalog()).listed(library, status, most))

    async def job(self, id: int) -> JobHistory:
        """Return a job with its events. Raise NotFoundError for an unknown job."""
        from hybrid_pageindex.engine.jobs import Jobs

        return await read_in_thread(lambda: Jobs(self._catalog()).history(id))

    async def pause(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Pause jobs, the jobs of a library, or all, until ``resume``, even across restarts.

        Running jobs stop after their current pages. This and the next four methods raise UsageError if the arguments do
        not say which jobs they mean, NotFoundError for an unknown job.
        """
        return await self._decided("pause", ids, library, everything)

    async def resume(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Resume paused jobs. ``everything`` ends every pause."""
        return await self._decided("resume", ids, library, everything)

    async def cancel(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Cancel waiting jobs at once, and running ones within seconds. Published documents stay."""
        return await self._decided("cancel", ids, library, everything)

    async def retry(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Queue failed jobs again; cancelled jobs too if they are named."""
        return await self._decided("retry", ids, library, everything)

    async def forget(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Delete the records of ended jobs. Documents stay."""
        return await self._decided("forget", ids, library, everything)

    async def _decided(
        self, action: JobAction, ids: tuple[int, ...], library: str | None, everything: bool
    ) -> JobDecision:
        from hybrid_pageindex.engine.jobs import JobChoice, Jobs  # a search needs none of it

        return await asyncio.to_thread(
            lambda: Jobs(self._catalog()).decide(action, JobChoice(ids, library, everything))
        )

    async def job_events(
        self, after: int | None = None, *, job: int | None = None, libraries: Sequence[str] | None = None
    ) -> JobNews:
        """Return the events after event number ``after``, of one job or of the libraries with these ids.

        ``state`` contains the current jobs if ``after`` is None, or if the events after it were already deleted.
        """
        from hybrid_pageindex.engine.jobs import job_news

        return await read_in_thread(lambda: job_news(self._catalog(), after, job, libraries))

    async def home_state(self) -> HomeState:
        """Return counters that change when a library, document or job is added, changed or removed."""
        from hybrid_core.store.catalog.maintenance import read_state

        def read() -> HomeState:
            with self._catalog().reading() as connection:
                return read_state(connection)

        return await read_in_thread(read)

    async def missing(self) -> dict[str, str]:
        """Return the components that do not work (catalog, search server, disk), each with a reason for users."""
        from hybrid_pageindex.engine.health import missing  # with the indexes

        return await read_in_thread(lambda: missing(self.home, self._catalog, self._indexes))

    @property
    def tokens(self) -> Tokens:
        """Return the tokens, users and sessions for callers over HTTP."""
        from hybrid_pageindex.engine.admin import Tokens

        return Tokens(self._catalog())

    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, most: int = 100
    ) -> Matches:
        """Find words in the pages of a document, exactly as written, from page ``first`` on."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: find_words(self._catalog(), name, document, words, first, most))

    async def grep(
        self,
        pattern: str,
        *,
        regex: bool = False,
        library: str | Sequence[str] | None = None,
        all_libraries: bool = False,
        documents: Sequence[str] | str | None = None,
        where: Sequence[str] | str = (),
        node: str = "",
        listed: Listed = "pages",
        most: int = 20,
        context: int = 0,
        cursor: str = "",
        seconds: float | None = None,
    ) -> GrepResult:
        """Return all pages that contain a word, a phrase, a word prefix (``indemnif*``) or a regular expression.

        The totals are complete even if fewer matches are listed. ``listed`` "documents" lists documents with counts
        instead of matches. ``node`` is a section of the one named document, ``context`` the number of lines around a
        match. After ``seconds`` the search stops with ``complete`` False; the same call then continues it.

        Raise UsageError for an invalid pattern or cursor, NotFoundError for an unknown library, document or section.
        """
        scope = self.request("words", library=library, all_libraries=all_libraries)
        named = None if documents is None else several(documents)
        request = GrepRequest(pattern, regex, named, several(where), node, listed, most, context, cursor, seconds)
        return await stoppable(
            lambda stop: self._parts().grep.search(libraries_of(self._catalog(), scope), request, stop)
        )

    async def compare(
        self,
        left: str,
        right: str,
        *,
        library: str | None = None,
        right_library: str | None = None,
        left_node: str = "",
        right_node: str = "",
        most: int = 50,
        each: int = 20,
        cursor: str = "",
    ) -> Comparison:
        """Compare two documents, or a section of each, without a model.

        Return the sections that were added, removed, moved or changed, with the differing words, figures and pages.
        ``most`` limits the listed sections and ``each`` the changes per section; counts include all. Raise
        NotFoundError for an unknown document or section, UsageError for an invalid cursor.
        """
        own = _library_name(library, self.settings.library)
        sides = (own, left, left_node), (right_library or own, right, right_node)
        return await read_in_thread(lambda: compare(self._catalog(), *sides, most=most, each=each, cursor=cursor))

    async def preview(self, question: str, *, expert: str | None = None) -> PackPreview:
        """Return the terms that expert knowledge would add to a question. Raise UsageError for an unknown pack."""
        request = self.request(question, expert=expert)
        return await asyncio.to_thread(lambda: preview(request.question, request.expert, self.settings.aliases))

    async def test_model(self, kind: Kind) -> str:
        """Make one cheap call to the language or vision model. Return a report, "" if none is configured.

        Raise ChatError if the model does not work.
        """
        return await in_the_background(lambda: Models(self.settings, None, lambda: self._parts().spending).check(kind))

    async def model_usage(self, first: str = "", last: str = "") -> UsageReport:
        """Return the usage of models by day, model, library and caller, and this month's totals and limits.

        ``first`` and ``last`` are days (YYYY-MM-DD); the default is this month. Raise UsageError for an invalid date.
        """
        return await asyncio.to_thread(lambda: self._parts().spending.report(first, last))

    def setting_views(self, *, owner: bool = False) -> list[SettingView]:
        """Return all settings, without secrets, and whether each may be changed at run time."""
        from hybrid_pageindex.config.changes import shown

        return shown(self.settings, owner=owner)

    async def change_settings(self, changes: Mapping[str, Any], *, owner: bool = False) -> list[SettingView]:
        """Change settings of the running engine and write them to the home's file.

        Only an ``owner`` may change the models and their addresses. Raise UsageError for an invalid value, or a setting
        that may not be changed.
        """
        from hybrid_pageindex.config.changes import changed

        self.settings = await asyncio.to_thread(lambda: changed(self.settings, changes, owner=owner))
        parts = self._parts()
        parts.spending.settings = self.settings
        parts.chat.use(self.settings)
        parts.embedders.use(self.settings)
        self.conversations.use(self.settings)
        return self.setting_views(owner=owner)

    async def request_embedding(self, model: str | None = None, *, library: str | None = None) -> int:
        """Queue the computation of a library's vectors for workers. Return the job's number. ``model`` is as in
        ``embed``.

        Raise UsageError if no model is named or recorded.
        """
        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: request_embedding(self._parts(), name, model, self.settings))

    async def export_library(self, file: str | Path, *, library: str | None = None) -> Exported:
        """Write the documents, alias, notes and feedback of a library to one file."""
        from hybrid_pageindex.engine.libraries.transfer import export_library

        name = _library_name(library, self.settings.library)
        return await stoppable(lambda _: export_library(self._catalog(), self._parts().pages, name, Path(file)))

    async def import_library(self, file: str | Path, *, name: str | None = None) -> Imported:
        """Create a library from an exported file, by default under its original name. Workers index its documents.

        Raise DocumentError if the file is not an exported library, UsageError if the name is already used.
        """
        from hybrid_pageindex.engine.libraries.transfer import import_library

        def ask(library: str, uploads: Sequence[Upload], stop: threading.Event) -> None:
            self._index(
                library, uploads, stop, password=None, prune=False, check_hashes=False, on_progress=_ignore_progress,
                workers=None, outline=None, vision=None, enrich=None, detach=True,
            )  # fmt: skip

        return await stoppable(
            lambda stop: import_library(
                self._parts(), self.settings, Path(file), name, lambda library, uploads: ask(library, uploads, stop)
            )
        )

    @property
    def notes(self) -> NoteStore:
        """Return the notes that people wrote, by library id. Its methods block on the catalog."""
        from hybrid_core.store.notes import NoteStore

        return NoteStore(self._catalog())

    @property
    def feedback(self) -> FeedbackStore:
        """Return the feedback of people on result pages. Its methods block on the catalog."""
        from hybrid_core.store.notes import FeedbackStore

        return FeedbackStore(self._catalog())

    @property
    def replies(self) -> ReplyStore:
        """Return the stored replies to requests with an idempotency key."""
        from hybrid_core.store.access import ReplyStore

        return ReplyStore(self._catalog())

    @property
    def audit(self) -> AuditLog:
        """Return the log of changes by callers over HTTP."""
        from hybrid_core.store.access import AuditLog

        return AuditLog(self._catalog())

    async def rebuild(
        self,
        documents: Sequence[str] | str = (),
        *,
        library: str | None = None,
        everything: bool = False,
        password: str | None = None,
        workers: int | None = None,
        detach: bool = False,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> IndexReport:
        """Index documents, a library or everything again from the files, ignoring stored contents.

        Old contents stay published until the new ones are. Scans are read again; models are called again only if their
        replies are not cached. Other arguments are as in ``index``. Raise UsageError if the arguments do not say what
        to rebuild, NotFoundError for an unknown name.
        """
        from hybrid_pageindex.engine.index.reindexing import rebuild

        settings = self.settings if workers is None else replace(self.settings, workers=workers)
        named = None if library is None else _library_name(library, "")
        listed, progress, call = (
            several(documents),
            on_progress or _ignore_progress,
            IndexCall(password=password, detach=detach),
        )
        return await stoppable(
            lambda stop: rebuild(self._parts(), settings, listed, named, everything, call, progress, stop)
        )

    async def rebuild_index(self, library: str = "default", *, everything: bool = False) -> dict[str, int]:
        """Rebuild the vector index of a library, or of all, from the catalog. Return the number of vectors per library.

        Searches continue meanwhile. Raise NotFoundError for an unknown library, BusyError if another process has an
        embedded index open.
        """

        def work() -> dict[str, int]:
            with self._catalog().snapshot() as snapshot:
                named = snapshot.named_libraries() if everything else [snapshot.library(library)]
            return {each.name: self._indexes().rebuild(each.id) for each in named}

        return await asyncio.to_thread(work)

    async def migrate(self, to: Backend, *, library: str | None = None) -> list[Migration]:
        """Rebuild the vector indexes of one library, or of all, in the home or on the Qdrant server.

        Compare each with the catalog, then delete the index at the other place. The setting ``qdrant_url`` decides
        which one searches use.
        """
        return await asyncio.to_thread(lambda: migrate(self._catalog(), self._indexes(), to, library))

    async def complete_replicas(self) -> dict[str, int]:
        """Copy shards that a node of the Qdrant cluster has lost, until each has its configured number of replicas.

        Return the number of copies per collection. Searches continue meanwhile. Raise UsageError if no server is
        configured, UnreachableError if the cluster has too few nodes.
        """
        return await asyncio.to_thread(lambda: self._indexes().complete())

    async def copy_catalog(self, to: str) -> CatalogCopy:
        """Copy the catalog to a PostgreSQL database at the URL ``to``, or for "sqlite" into the home.

        The source stays unchanged and in use until the setting ``postgres_url`` is changed. An interrupted copy is
        continued. Raise UsageError if the target is not empty, StoreError if the catalog is written meanwhile.
        """
        return await asyncio.to_thread(lambda: copied(self._catalog(), to))

    async def upload_originals(self) -> int:
        """Copy the original files in this home to the bucket of ``objects_url``. Return the number of files in use.

        Raise UsageError if no bucket is configured.
        """
        return await asyncio.to_thread(lambda: upload_originals(self._catalog(), self.settings))

    async def upgrade_catalog(self) -> int:
        """Upgrade the catalog to the schema of this version, as its first use does. Return the schema number.

        Raise SchemaError if a newer version wrote it.
        """
        await asyncio.to_thread(self._catalog)
        return SCHEMA_VERSION

    async def doctor(
        self, *, deep: bool = False, mend: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Health:
        """Check every component of the engine, and give advice for each that fails.

        Compare the index of each library with the catalog, document by document. ``deep`` also reads every file again
        and compares its pages with the stored ones. ``mend`` includes ``deep``, and indexes files again that differ.
        ``on_progress`` receives the number of compared documents and their total, from a worker thread.
        """
        from hybrid_pageindex.engine.health import health

        progress = on_progress or _ignore_progress
        report = await asyncio.to_thread(
            lambda: health(self.settings, self._catalog, self._cache, self._indexes, progress)
        )
        if not deep and not mend:
            return report
        from hybrid_pageindex.engine.health_checks import check_contents  # with the pipeline

        checks = await stoppable(lambda stop: check_contents(self._parts(), self.settings, mend, progress, stop))
        return replace(report, checks=(*report.checks, *checks))

    async def recover(self, *, on_progress: Callable[[IndexProgress], None] | None = None) -> RecoveryReport:
        """Repair a damaged or missing catalog: save every readable row in a new one, and index the lost files again.

        The damaged file is kept beside the new one; an undamaged catalog is not changed. Raise BusyError while another
        process uses the home, UsageError if the catalog is in PostgreSQL.
        """
        from hybrid_pageindex.engine.index.reindexing import recover

        self.close()  # nobody may have the catalog open
        return await stoppable(lambda stop: recover(self.settings, self._parts, on_progress or _ignore_progress, stop))

    def hand_back(self) -> None:
        """From now on, leave the jobs of cancelled calls in the queue for other workers."""
        self._parts().leaving.set()

    def close(self) -> None:
        """Close the engine and release its vector indexes for other processes. Safe to call twice."""
        try:
            self.interrupt_turns()
        finally:
            with self._lock:
                opened, self._opened = self._opened, None
                if opened:
                    opened.close()

    def interrupt_turns(self) -> None:
        """Interrupt the answers that conversations are writing; another process can write them again.
        May take seconds.
        """
        with self._lock:
            conversations, self._conversations = self._conversations, None
        if conversations:
            conversations.close()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _catalog(self) -> Catalog:
        return self._parts().catalog

    def _cache(self) -> Cache:
        return self._parts().cache

    def _searcher(self) -> Searcher:
        return self._parts().searcher

    def _indexes(self) -> Indexes:
        return self._parts().indexes

    def _pictures(self) -> Pictures:
        return Pictures(self._parts().pages)

    def _layouts(self) -> Layouts:
        return Layouts(self._parts().pages)

    def _parts(self) -> Parts:
        with self._lock:
            if self._opened is None:
                self._opened = Parts(self.settings, self._chat, self._stages)
                self._opened.reach = self._reach
            return self._opened


def _ignore_progress(*_: object) -> None:
    """Progress that nobody asked for."""


def _library_name(name: str | None, default: str) -> str:
    """Return the name, or the default where it is None.

    Raises UsageError for an empty name: a variable that is not set may have made it.
    """
    if name is None:
        return default
    if not name:
        raise UsageError("The library's name is empty.", "Leave it out, or name a library.")
    return name
