"""The engine. The command line, Python, MCP and HTTP interfaces call its methods and those of its sub-engines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from hybrid_core.logs import hide_question
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.exhaustive import (
    CompareFields,
    CompareRequest,
    GrepFields,
    GrepRequest,
    compare_request,
    grep_request,
)
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import SearchFields, SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.scoring import CandidateFeatures
from hybrid_pageindex.config.experts import preview
from hybrid_pageindex.config.settings import Settings, load_settings
from hybrid_pageindex.engine.concurrency import (
    awaited,
    ignore_progress,
    in_the_background,
    read_in_thread,
    stoppable,
)
from hybrid_pageindex.engine.context import Context, sub_engine
from hybrid_pageindex.engine.documents import contents, reading
from hybrid_pageindex.engine.documents.comparison import compare
from hybrid_pageindex.engine.documents.contents import Outline
from hybrid_pageindex.engine.index.indexing import IndexCall, index_library
from hybrid_pageindex.engine.parts import Parts
from hybrid_pageindex.engine.search.indexes import Indexes
from hybrid_pageindex.engine.search.searcher import libraries_of
from retrievers.pipeline.search import STAGES
from retrievers.pipeline.state import Stages

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.store.notes import FeedbackStore, NoteStore
    from hybrid_core.types.answers import Answer
    from hybrid_pageindex.config.experts import PackPreview
    from hybrid_pageindex.conversations.conversations import Conversations
    from hybrid_pageindex.engine.accounts import Tokens
    from hybrid_pageindex.engine.admin import AdminEngine
    from hybrid_pageindex.engine.answers.asking import Answerer
    from hybrid_pageindex.engine.documents.comparison import Comparison
    from hybrid_pageindex.engine.documents.engine import DocumentsEngine
    from hybrid_pageindex.engine.documents.pictures import PicturesEngine
    from hybrid_pageindex.engine.index.engine import SourcesEngine
    from hybrid_pageindex.engine.index.sources import LibraryUpdate, Options
    from hybrid_pageindex.engine.index.uploads import Fetched, Upload, Uploaded
    from hybrid_pageindex.engine.jobs import JobsEngine
    from hybrid_pageindex.engine.libraries.engine import BinEngine, LibrariesEngine
    from hybrid_pageindex.engine.models.engine import ModelsEngine
    from hybrid_pageindex.engine.search.grep import GrepResult
    from indexers.jobs.report import IndexProgress, IndexReport


@awaited
class Engine:
    """The engine of one home (data folder) and the libraries in it.

    Methods are async; computation runs in threads and worker processes. Use it as ``async with Engine() as engine``. No
    data are lost if it is not closed. All errors derive from ``PageIndexError``.

    Methods on one subject are in sub-engines: ``engine.documents.list()``, ``engine.jobs.cancel(3)``.
    """

    documents: DocumentsEngine = sub_engine("hybrid_pageindex.engine.documents.engine:DocumentsEngine")
    """List, read, correct, remove and rebuild documents, and provide their original files."""
    pictures: PicturesEngine = sub_engine("hybrid_pageindex.engine.documents.pictures:PicturesEngine")
    """Draw pages, and locate words, figures and tables on them."""
    libraries: LibrariesEngine = sub_engine("hybrid_pageindex.engine.libraries.engine:LibrariesEngine")
    """Create, name, list, clear, export and import libraries."""
    bin: BinEngine = sub_engine("hybrid_pageindex.engine.libraries.engine:BinEngine")
    """Restore removed documents and libraries, or delete them for good."""
    sources: SourcesEngine = sub_engine("hybrid_pageindex.engine.index.engine:SourcesEngine")
    """List the files and folders of libraries, and watch folders."""
    jobs: JobsEngine = sub_engine("hybrid_pageindex.engine.jobs:JobsEngine")
    """List, follow, pause, cancel, retry and run jobs."""
    models: ModelsEngine = sub_engine("hybrid_pageindex.engine.models.engine:ModelsEngine")
    """Embed libraries, test models, and report or estimate their use."""
    admin: AdminEngine = sub_engine("hybrid_pageindex.engine.admin:AdminEngine")
    """Check, repair and move the home, and change its settings."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Settings | None = None,
        chat: ChatModel | None = None,
        stages: Stages = STAGES,
    ) -> None:
        """Create an engine.

        ``home`` is the data folder; it defaults to ``PAGEINDEX_STORAGE_PATH``, else ``~/.pageindex``, and is created on
        first use. ``chat`` is a language model to use instead of the one in the settings; the caller must close it.
        ``stages`` are the stages of every search, in order.
        """
        loaded = settings or load_settings(home)
        if settings is not None and home is not None:
            loaded = replace(loaded, storage_path=Path(home).expanduser().absolute())
        loaded = replace(loaded, storage_path=Path(loaded.storage_path).expanduser().absolute())
        self._context = Context(loaded, chat, stages)

    def __repr__(self) -> str:
        return f"Engine({str(self.home)!r})"

    @property
    def home(self) -> Path:
        return self._context.home

    @property
    def settings(self) -> Settings:
        return self._context.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._context.settings = settings

    @property
    def read_only(self) -> str:
        """Return the reason why this home is read-only, "" if it can be written.

        Calls that would change it raise ReadOnlyError.
        """
        return self._context.catalog.read_only

    @property
    def conversations(self) -> Conversations:
        """Return the conversations of this home, in which questions may refer to earlier questions."""
        return self._context.conversations

    @property
    def notes(self) -> NoteStore:
        """Return the store of users' notes. Its methods take a library id and block on the catalog."""
        from hybrid_core.store.notes import NoteStore

        return NoteStore(self._context.catalog)

    @property
    def feedback(self) -> FeedbackStore:
        """Return the store of users' feedback on result pages. Its methods block on the catalog."""
        from hybrid_core.store.notes import FeedbackStore

        return FeedbackStore(self._context.catalog)

    @property
    def tokens(self) -> Tokens:
        """Return the store of tokens, users and sessions for callers over HTTP."""
        from hybrid_pageindex.engine.accounts import Tokens

        return Tokens(self._context.catalog)

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
        """Index files, folders and globs, and return a report. The report lists files that fail; they raise no error.

        Bytes need a file ``name`` and are stored in the home as long as their document exists. Web pages are stored
        too; they are fetched if the setting ``fetch_web`` allows it. Files in archives and mails become documents of
        their own ("offer.eml!/report.pdf").

        Every file is first published as parsed by rules, and then improved by the configured models. ``outline``
        ("auto", "fast", "refined") chooses the PDFs whose section trees a layout model improves, after all files are
        published. ``vision`` ("auto", "always", "never") chooses the pages that a vision model sees. ``enrich``
        ("auto", "never", "estimate") chooses whether models are called; "estimate" calls none and reports the expected
        ``usage``. Files with unchanged size, times and inode are skipped; ``check_hashes`` reads them anyway.
        ``on_progress`` is called from worker threads.

        Cancelling the task stops work that no other caller waits for; published documents stay. ``detach`` only queues
        the files for workers. ``upload`` stores copies of the files, so that workers on other machines can read them.
        ``sources`` are the paths that a later ``update`` indexes, if they differ from ``paths``.
        """
        from hybrid_pageindex.engine.index.sources import remember_paths
        from hybrid_pageindex.engine.index.uploads import local_paths, to_index, uploads_of

        context, listed, progress = self._context, to_index(paths, name), on_progress or ignore_progress
        into = context.library(library)
        models = {"outline": outline, "vision": vision, "enrich": enrich}
        call = IndexCall(password, prune, check_hashes, detach=detach)

        def work(stop: threading.Event) -> IndexReport:
            try:
                items = uploads_of(local_paths(listed)) if upload else listed
                return index_library(context, into, items, call, {**models, "workers": workers}, progress, stop)
            finally:  # also if stopped, so that an update continues
                if enrich != "estimate":
                    remembered = [] if upload else local_paths(listed) if sources is None else sources
                    machine = context.settings.own_machine
                    remember_paths(context.catalog, context.home, into, remembered, {**models, "prune": prune}, machine)

        return await stoppable(work)

    async def upload(self, uploads: Sequence[Upload], *, library: str | None = None) -> Uploaded:
        """Store uploaded files in the home, and queue jobs by which workers index them.

        Return the files with their job numbers. Raise UsageError for an invalid file or library name.
        """
        into = self._context.library(library)
        return await stoppable(lambda stop: self._queue(into, uploads, stop))

    async def fetch(self, address: str, *, library: str | None = None) -> Uploaded:
        """Fetch a web address as ``index`` does, store it in the home, and queue it for indexing by workers.

        Raise UsageError if the setting ``fetch_web`` does not allow it. Raise DocumentError if the address leads to no
        public host or to no supported file, LimitError if the file is too large or too slow.
        """
        from hybrid_pageindex.engine.index.uploads import fetch_allowed

        into = self._context.library(library)
        page = await in_the_background(lambda: fetch_allowed(address, self._context.settings))
        return await stoppable(lambda stop: self._queue(into, [page], stop))

    def _queue(self, library: str, uploads: Sequence[Upload | Fetched], stop: threading.Event) -> Uploaded:
        from hybrid_pageindex.engine.index.uploads import uploaded

        report = index_library(self._context, library, uploads, IndexCall(detach=True), {}, ignore_progress, stop)
        return uploaded(self._context.catalog, library, uploads, report)

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
        """Index the changes in the sources of a library, or of all libraries. Return one report per library.

        Sources are the paths of earlier ``index`` calls, with the options of those calls unless an argument replaces
        them. Files that a user removed from the library are skipped. Raise ConflictError if there is no source. The
        other arguments are those of ``index``.
        """
        from hybrid_pageindex.engine.index.sources import update, wishes_of

        context, progress = self._context, on_progress or ignore_progress
        name = context.named(library)
        call = IndexCall(password, check_hashes=check_hashes, detach=detach)
        wishes = {"prune": prune, "outline": outline, "vision": vision, "enrich": enrich}

        def work(stop: threading.Event) -> list[LibraryUpdate]:
            def indexed(target: Library, files: Sequence[Path], options: Options) -> IndexReport:
                models = {**wishes_of(options), "workers": workers}
                return index_library(context, target.name, files, call, models, progress, stop)

            machine = context.settings.own_machine
            return update(context.catalog, context.home, name, wishes, machine, indexed, context.reach)

        return await stoppable(work)

    async def search(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> SearchResult:
        """Return the pages that answer a question, best first.

        ``question`` may also be a complete ``SearchRequest``, and ``fields`` are fields of it. Missing fields come from
        the settings. ``on_step`` is called from a worker thread with each step of a language model.

        Raise UsageError for an empty question or an empty list of documents, NotFoundError for an unknown library or
        document.
        """
        request = self._context.request(question, **fields)
        hide_question(request.question)
        work = partial(self._context.parts.searcher.search, request, on_step)
        return await (asyncio.to_thread(work) if request.effort == "fast" else in_the_background(work))

    def search_now(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> SearchResult:
        """Run ``search`` in the calling thread until it is finished, and return its result."""
        request = self.request(question, **fields)
        hide_question(request.question)
        return self._context.parts.searcher.search(request, on_step)

    def request(self, question: str | SearchRequest, **fields: Unpack[SearchFields]) -> SearchRequest:
        """Return the search request for a question and search options. Take missing fields from the settings."""
        return self._context.request(question, **fields)

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
        pages or ``force`` is set. ``vision`` sends images of all pages (True) or of none (False). With None the setting
        ``answer_vision`` decides; by default it sends up to three pages with figures that their text lacks. ``on_text``
        receives the answer in pieces and ``on_step`` the steps before it, both from a worker thread. ``fields`` are
        those of ``search``. Without a model, or if it fails, the answer has sources but no text, and ``status`` says
        so. Raise the errors of ``search``.
        """
        request = self._context.request(question, **fields)
        hide_question(request.question)
        return await in_the_background(lambda: self._answer_request(request, force, vision, on_text, on_step))

    def _answer_request(
        self,
        request: SearchRequest,
        force: bool,
        vision: bool | None,
        on_text: Callable[[str], None] | None,
        on_step: Callable[[ReasoningStep], None] | None,
    ) -> Answer:
        counted, note = self._answerer().count(request, on_text=on_text, on_step=on_step)
        if counted is not None:
            return counted
        result = self._context.parts.searcher.search(request, on_step)
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
        """Return an answer that is written from the pages of a finished search, as ``ask`` does after its search."""
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
        model = self._context.parts.chat.model()
        return self._answerer().answer(
            result, model, request=request, force=force, vision=vision, on_text=on_text, on_step=on_step
        )

    def _answerer(self) -> Answerer:
        from hybrid_pageindex.engine.answers.asking import Answerer  # imports pydantic, which a search does not need

        return Answerer(self._context.parts, self._context.settings)

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
        """Return the section tree of a document, or the subtree below ``node``. With ``query`` each section is scored.

        Scores come from a search of the library for ``query`` with ``expert``. If that search does not choose the
        document, the document is searched alone, and ``notes`` say so. No model is called. ``depth`` limits the levels;
        ``text`` adds the text of each section. Raise UsageError for an empty ``query``, NotFoundError for an unknown
        node.
        """
        name = self._context.library(library)
        request = None if query is None else self._context.request(query, library=name, expert=expert, effort="fast")

        def read() -> Outline:
            scores = None
            if request is not None:
                row = reading.published(self._context.catalog, name, document)
                [scores] = self._context.parts.searcher.section_scores(request, row)
            return contents.outline(self._context.catalog, name, document, scores, depth, node, text)

        return await read_in_thread(read)

    async def outlines(
        self,
        question: str,
        *,
        library: str | None = None,
        depth: int | None = None,
        limit: int = 3,
        expert: str | Path | None = None,
    ) -> list[Outline]:
        """Return the scored section trees of the ``limit`` documents that match a question best, best first.

        Scores are those of ``outline``.
        """
        request = self._context.request(question, library=library, expert=expert, effort="fast")

        def read() -> list[Outline]:
            scored = self._context.parts.searcher.section_scores(request, None, limit)
            return [
                contents.outline(self._context.catalog, request.library, scores.document.doc_id, scores, depth)
                for scores in scored
            ]

        return await read_in_thread(read)

    async def candidate_features(self, question: str, **fields: Unpack[SearchFields]) -> CandidateFeatures:
        """Return the candidate pages of a search with their ranking features.

        ``fields`` are those of ``search``. No model is called. Raise the errors of ``search``.
        """
        fields["effort"] = "fast"
        request = self._context.request(question, **fields)
        return await read_in_thread(lambda: self._context.parts.searcher.features(request))

    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None
    ) -> list[reading.PageRead]:
        """Return pages of a document with text, summary and section path.

        ``numbers`` is a page number, several, or a page list such as "3,7-9".
        """
        name = self._context.library(library)
        return await read_in_thread(lambda: reading.read_pages(self._context.catalog, name, document, numbers))

    async def grep(self, pattern: str | GrepRequest, **fields: Unpack[GrepFields]) -> GrepResult:
        """Return all pages that contain a word, a phrase, a word prefix (``indemnif*``) or a regular expression.

        The totals are complete even if fewer matches are listed. ``listed`` "documents" lists documents with counts
        instead of matches. ``node`` is a section of the one named document, ``context`` the number of lines around a
        match. After ``seconds`` the search stops with ``complete`` False; the same call then continues it.

        Raise UsageError for an invalid pattern or cursor, NotFoundError for an unknown library, document or section.
        """
        request = grep_request(pattern, fields)
        hide_question(request.pattern)
        scope = self._context.request("words", libraries=request.libraries, all_libraries=request.all_libraries)
        return await stoppable(
            lambda stop: self._context.parts.grep.search(libraries_of(self._context.catalog, scope), request, stop)
        )

    async def compare(
        self, left: str | CompareRequest, right: str | None = None, **fields: Unpack[CompareFields]
    ) -> Comparison:
        """Compare two documents, or a section of each, without a model.

        Return the sections that were added, removed, moved or changed, with the differing words, figures and pages.
        ``limit`` limits the listed sections and ``each`` the changes per section; counts include all. Raise
        NotFoundError for an unknown document or section, UsageError for an invalid cursor.
        """
        request = compare_request(left, right, fields).with_libraries(self._context.library)
        return await read_in_thread(lambda: compare(self._context.catalog, request))

    async def preview(self, question: str, *, expert: str | None = None) -> PackPreview:
        """Return the terms that expert knowledge would add to a question. Raise UsageError for an unknown pack."""
        request = self._context.request(question, expert=expert)
        return await asyncio.to_thread(
            lambda: preview(request.question, request.expert, self._context.settings.aliases)
        )

    def close(self) -> None:
        """Close the engine and release its vector indexes for other processes. Safe to call twice."""
        self._context.close()

    def interrupt_turns(self) -> None:
        """Stop writing answers in conversations, so that another process can write them again.

        This may take seconds.
        """
        self._context.interrupt_turns()

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _parts(self) -> Parts:
        return self._context.parts

    def _catalog(self) -> Catalog:
        return self._context.catalog

    def _cache(self) -> Cache:
        return self._context.parts.cache

    def _indexes(self) -> Indexes:
        return self._context.parts.indexes
