"""The engine: each door (command line, Python, MCP, HTTP) calls these methods."""

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
    """The engine of one home with its libraries.

    Methods are async; computation runs in threads and worker processes. Use it as ``async with Engine() as engine``.
    Forgetting to close loses nothing. Every method raises errors of one family, ``PageIndexError``.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Settings | None = None,
        chat: ChatModel | None = None,
        stages: Stages = STAGES,
    ) -> None:
        """``home`` as given, else ``PAGEINDEX_STORAGE_PATH``, else ``~/.pageindex``; created on first use.

        ``chat`` is a language model to use instead of the one that the settings name; whoever gives it closes it.
        ``stages`` are those of every search, in a row.
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
        """Why this home is only read, "" where it can be written: then what would change it raises ReadOnlyError."""
        return self._catalog().read_only

    def confine(self, roots: Sequence[Path]) -> None:
        """Follow no link out of these folders, which are free of links themselves: what a server does."""
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
        """Index files, folders and globs. Failures are in the report, not raised.

        Bytes are indexed as the file that ``name`` says they are, and kept in the home as long as their document is
        there; so is a file of the web, which is fetched where the setting ``fetch_web`` allows it. What lies in
        archives and mails becomes documents of their own ("offer.eml!/report.pdf").

        Every file is published as the rules read it; models that are configured then improve it. ``outline``
        ("fast", "refined") is whether a layout model refines the section trees of PDFs after that. ``vision`` ("auto",
        "always", "never") is which pages one of them sees, ``enrich`` ("auto", "never") whether they are asked at all;
        with "estimate" none is, and ``usage``, the ``steps`` of the files and a note say what they would take.
        Unchanged files are told by their size, times and inode; ``check_hashes`` reads them all the same.
        ``on_progress`` is called from worker threads. Cancelling the task stops the work that nobody else waits for;
        documents already published stay. ``detach`` only asks for it, and leaves it to workers.
        ``upload`` keeps the files as if their bytes were given, so that workers of other machines can read them.
        ``sources`` are what an ``update`` looks at later, where that is more than ``paths``.
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
        """Estimate the calls and the price of improving these documents of a library, or all, by models.

        No model is asked. Documents whose file changed are indexed; no other document changes. Raises NotFoundError for
        an unknown name.
        """
        from hybrid_pageindex.engine.index.reindexing import estimate

        name, listed = _library_name(library, self.settings.library), several(documents)
        return await stoppable(lambda stop: estimate(self._parts(), self.settings, name, listed, stop))

    async def upload(self, uploads: Sequence[Upload], *, library: str | None = None) -> Uploaded:
        """Keep files in the home and ask for them to be indexed; workers do it.

        Raises UsageError for a name that cannot be a file's or a library's.
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
        """Bring the sources of a library, or of all, up to date: what ``index`` was told before, with the options of
        then, but for those that are named now. Files that were removed by hand stay away.

        Raises NotFoundError where nothing was indexed yet. The rest is as ``index`` does it.
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
        """The files, folders and globs that a library, or all of them, were indexed from."""
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
        """Let ``watch`` keep a library up to date with a folder. ``poll``: by looking again and again, as is done where
        a network drive gives no events. Raises UsageError where it is no folder.
        """
        from hybrid_pageindex.engine.index.sources import watch_folder

        name = _library_name(library, self.settings.library)
        wishes = {"outline": outline, "vision": vision, "enrich": enrich}
        machine = self.settings.own_machine
        return await asyncio.to_thread(lambda: watch_folder(self._catalog(), name, folder, wishes, machine, poll=poll))

    async def unwatch_folder(self, folder: str | Path, *, library: str | None = None, forget: bool = False) -> Source:
        """Watch a folder no longer, and with ``forget`` let no update look at it either. Its documents stay.

        Raises NotFoundError where it is no source of the library.
        """
        from hybrid_pageindex.engine.index.sources import unwatch_folder

        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: unwatch_folder(self._catalog(), name, folder, forget=forget))

    async def watches(self) -> bool:
        """Return whether any folder is watched; False in a home that cannot be written."""
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
        """Keep a library, or all, up to date with the folders that are watched, until the task is cancelled. It also
        works: what is found, and whatever else waits in the queue, as ``work`` does. Without ``work`` it asks for what
        is found, and leaves it to whoever works.

        Folders that any process adds meanwhile are watched too. ``on_event`` is called from worker threads.
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
        """Do what waits in the queue, for whoever asked, until the task is cancelled: what is under way then goes back.

        ``concurrency`` is how many processes read files (default: the setting ``workers``). With ``enough`` it ends by
        itself once nothing is left to do and ``enough()`` is true. ``kind``: "index" or "embed" alone.
        """
        progress, finished = on_progress or _ignore_progress, enough or (lambda: False)
        await stoppable(
            lambda stop: work(self._parts(), self.settings, concurrency, progress, stop, finished, kind=kind)
        )

    async def work_on(self, job: int) -> None:
        """Do one job, as far as this process can now and nobody else does it; what is left of it waits again. For who
        hands out the numbers of jobs: none does harm, be it handed out twice or be the job over.
        """
        work_on_job = partial(work, self._parts(), self.settings, None, _ignore_progress)
        await stoppable(lambda stop: work_on_job(stop, lambda: True, job))

    async def offers(self, limit: int) -> list[Offer]:
        """The jobs that ``work_on`` could do somewhere now, up to ``most`` of each kind, the most urgent first, of all
        libraries alike. For who hands out their numbers.
        """
        from hybrid_core.store.jobs.claims import JobLimits
        from hybrid_core.store.jobs.workers import JobOffers

        limits = self.settings.part(JobLimits)
        return await asyncio.to_thread(lambda: JobOffers(self._catalog(), limits=limits).all(limit))

    async def waits(self) -> bool:
        """Return whether jobs wait in the queue; False in a home that cannot be written, where nobody runs them."""
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
        """Give a library's documents vectors, or go on doing so.

        ``model`` is "bge-m3", "sentence-transformers:NAME_OR_PATH", "openai:MODEL", …; without one the model
        that is being made, else the one that serves, else the setting ``embedding_model``. ``none`` takes
        the vectors away and gives None. While a new model's vectors are made the old ones serve.
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
        """Write a model that PyTorch runs as one that "onnx:FOLDER" names, in int8: several times as quick on a
        processor, and to be used without PyTorch.

        ``model`` is "bge-m3…" or "sentence-transformers:…", without one the setting ``embedding_model``.
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
        """The pages that answer a question, best first.

        ``fields`` are those of ``SearchRequest``, which explains them; a request may be given instead of a question.
        What neither says is as the settings have it. ``on_step`` is called from a worker thread with each step of a
        model.

        Raises UsageError for an empty question and an empty list of documents, NotFoundError for an unknown
        library or document.
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
        """``search`` in the calling thread."""
        return self._searcher().search(self.request(question, **fields), on_step)

    def request(self, question: str | SearchRequest, **fields: Unpack[SearchFields]) -> SearchRequest:
        """Return the search request of these arguments, completed by the settings."""
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
        """An answer from the pages that ``search`` finds, each claim with its sources, checked against them.

        A question how many documents mention some words, or which, is answered by an exhaustive search without a model.

        Where the evidence is less than the setting ``answer_evidence`` no model is asked, unless one has looked for
        the pages or ``force`` is set.
        ``vision`` has pictures of all pages sent along, or of none; None is what the setting ``answer_vision`` says, by
        itself three at most that show what their text does not hold. ``on_text`` is called from a worker
        thread with each piece of the answer, ``on_step`` with what a model does before it. ``fields`` are those of
        ``search``. Without a model, and where it fails, the
        answer has no text but the sources, and its ``status`` says so. Raises what ``search`` raises.
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
        """The second half of ``ask``: an answer from the pages of a search, or from those left in it."""
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
        """Questions that go on from each other, with their answers, kept in the catalog."""
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
        """A document's section tree, or what hangs below its section ``node``; with ``query`` every node scored.

        Scores are those of a search of the library for ``query``, with ``expert`` as there; where that search does not
        look into the document, ``notes`` say so and its sections are scored by a search of it alone. No model is asked.
        ``depth`` counts levels; with ``text`` every node has the text of its section. Raises UsageError for an empty
        ``query``, NotFoundError for an unknown node.
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
        """The scored trees of the documents that fit a question best, best first, scored as by ``outline``."""
        request = self.request(question, library=library, expert=expert, effort="fast")

        def read() -> list[Outline]:
            scored = self._searcher().section_scores(request, None, most)
            return [
                contents.outline(self._catalog(), request.library, scores.document.doc_id, scores, depth)
                for scores in scored
            ]

        return await read_in_thread(read)

    async def candidate_features(self, question: str, **fields: Unpack[SearchFields]) -> CandidateFeatures:
        """Return the candidate pages of a search with the features that its ranking model adds up.

        ``fields`` are those of ``search``. No model is asked. Raises what ``search`` raises.
        """
        fields["effort"] = "fast"
        request = self.request(question, **fields)
        return await read_in_thread(lambda: self._searcher().features(request))

    async def briefing(
        self, document: str | None = None, *, library: str | None = None, model: bool = False
    ) -> Briefing:
        """Describe a document, or without one the library: its parts, figures, and questions that its pages answer.

        With ``model`` the language model writes the description and the questions. Raises UsageError where none is
        configured, ChatError where it fails.
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
        """Pages by number, numbers or page list ("3,7-9"): text, summary, section path."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.read_pages(self._catalog(), name, document, numbers))

    async def find_place(self, document: str, place: str, quote: str = "", *, library: str | None = None) -> PlaceFound:
        """The page and line of a place that ``pages`` named and quoted, also after a small edit of the file."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.find_place(self._catalog(), name, document, place, quote))

    async def original(self, document: str, *, library: str | None = None) -> Path:
        """The file that a document was made of; do not change one that lies in the home.

        Raises DocumentError where it is gone.
        """
        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: original(self._catalog(), name, document))

    @asynccontextmanager
    async def lent_original(self, document: str, *, library: str | None = None) -> AsyncIterator[Path]:
        """Lend the file of ``original`` to be passed on to somebody else, as it was indexed.

        Raises DocumentError where it is gone, or is not the one that was indexed.
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
        """A URL of the bucket that gives the file to anybody for five minutes; None where it is not in a bucket, or the
        setting ``objects_links`` is "proxied".
        """
        if self.settings.objects_links != "signed":
            return None
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: signed_link(self._catalog(), name, document))

    async def distant_original(self, document: str, *, library: str | None = None) -> Distant | None:
        """The file to be read in parts, where it lies in a bucket and this home has not fetched it."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: distant_original(self._catalog(), name, document))

    async def layout(
        self, document: str, page: int, *, library: str | None = None, password: str | None = None
    ) -> PageLayout:
        """Return the positions of the words, figures and tables of a page, as on the picture of ``page_image``."""
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
        """Return the positions of quoted words on a page, a box for each line.

        "…" in the quote stands for words left out.

        Raises NotFoundError where the page does not hold them.
        """
        name = _library_name(library, self.settings.library)
        return await read_in_the_background(partial(self._layouts().quote, name, document, page, quote, password))

    async def with_tables(self, read: reading.PageRead, *, library: str | None = None) -> reading.PageRead:
        """A page that ``pages`` gave with its tables in Markdown."""
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
        """A page drawn from the original file, as PNG or JPEG; of a format without pages its text and pictures are.

        ``side`` is the most pixels of its longer side, ``most_bytes`` of a JPEG, which is drawn coarser where it has
        more; 0: as ``dpi`` makes it. ``view`` "office" is the page on which it begins as LibreOffice prints the file.
        Raises DocumentError where that is not installed.
        """
        from indexers.formats.format import Picture

        picture = Picture(dpi or self.settings.image_dpi, format, side, most_bytes)
        if view == "page":
            return await self._picture(document, [page], picture, library, password)
        name, work = _library_name(library, self.settings.library), self._pictures().work
        return await read_in_the_background(partial(draw_printed, work, name, document, page, picture))

    async def prepare_pictures(self) -> None:
        """Start what draws pages, so that somebody who is about to look at one need not wait for it."""
        await in_the_background(self._pictures().work.prepare)

    async def contact_sheet(
        self, document: str, pages: Sequence[int], *, library: str | None = None, password: str | None = None
    ) -> bytes:
        """Pages drawn small on one JPEG of 1,568 pixels at most, each with its number."""
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
        """Every document of a library, by path; those that failed too. ``where`` as in ``search``."""
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
        """``documents`` a part at a time, in an order: see ``list_documents``."""
        name = _library_name(library, self.settings.library)
        listed = partial(
            list_documents, self._catalog(), name, several(where), find=find, state=state, sort=sort, most=most,
            cursor=cursor,
        )  # fmt: skip
        return await read_in_thread(listed)

    async def document_rows(self, *, library: str | None = None) -> list[DocumentRow]:
        """Every document of a library as one line of a list, by path: ten thousand in a fraction of a second."""
        name = _library_name(library, self.settings.library)

        def read() -> list[DocumentRow]:
            with self._catalog().snapshot() as snapshot:
                return snapshot.document_rows(snapshot.library(name).id)

        return await read_in_thread(read)

    async def info(self, document: str, *, library: str | None = None) -> Document:
        """Return one document."""
        name = _library_name(library, self.settings.library)
        return await read_in_thread(lambda: reading.document(self._catalog(), name, document))

    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]:
        """Each content that was published of a document, the newest first."""
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
        """Correct by hand what a document is: its title, organisation, year, quarter, date, type or tags.

        What is ``set`` stays when the file is indexed again, moves or changes, and decides in place of what was read
        off the file; ``unset`` takes corrections back. Raises UsageError for another field or a value it cannot have,
        ChangedError where the document is not what it was when it was ``seen``.
        """
        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: edit(self._catalog(), name, document, set or {}, several(unset), seen))

    async def remove(
        self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False
    ) -> list[Document]:
        """Remove documents by id or name; all are found before any is removed. Original files stay.

        They can be restored from the ``bin`` for 30 days, unless they are removed ``for_good``.
        """
        return list((await self.remove_documents(documents, library=library, for_good=for_good)).documents)

    async def remove_documents(
        self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False
    ) -> Removal:
        """Remove documents as ``remove`` does. Also return their entry of the bin."""
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
        """Bring back what was removed, by the id of its entry of the bin.

        Raises NotFoundError for an unknown entry, UsageError where the library of removed documents is in the bin too,
        or one of their files was indexed again.
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
        """Delete an entry of the bin for good, or all. Return how many. Raises NotFoundError for an unknown entry."""
        return await asyncio.to_thread(lambda: empty_bin(self._catalog(), self._indexes(), self.home, entry))

    async def expire_bin(self) -> int:
        """Delete for good what has been in the bin for 30 days. Return how many entries; none in a read-only home."""
        if self._catalog().read_only:
            return 0
        return await asyncio.to_thread(lambda: empty_bin(self._catalog(), self._indexes(), self.home, expired=True))

    async def libraries(self, part: str = "") -> list[LibrarySize]:
        """Every library with its documents, pages and disk use, the one that was used last first; with ``part`` those
        whose name or alias holds it, whatever its case and width.
        """
        return await read_in_thread(lambda: library_sizes(self._catalog(), self.home, part))

    async def named_libraries(self) -> list[Library]:
        """Every library by name, without counting anything."""

        def read() -> list[Library]:
            with self._catalog().snapshot() as snapshot:
                return snapshot.named_libraries()

        return await read_in_thread(read)

    async def overview(self) -> HomeSize:
        """Every library as ``libraries`` has it, and what the home takes on the disk."""
        return await read_in_thread(lambda: home_size(self._catalog(), self.home))

    async def create_library(self, name: str, *, alias: str = "") -> Library:
        """An empty library. Raises UsageError where the name or the alias cannot be one, or another library has it."""
        return await asyncio.to_thread(lambda: create_library(self._catalog(), name, alias=alias))

    async def name_library(self, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
        """Give a library another name or alias ("" takes it away): nothing is indexed again, and its id stays.

        Raises NotFoundError for an unknown library, UsageError as ``create_library`` does.
        """

        def named() -> Library:
            with self._catalog().snapshot() as snapshot:
                before = snapshot.library(library)
            renamed = name_library(self._catalog(), before.id, name=name, alias=alias)
            self._parts().indexes.rename(before.id)
            return renamed

        return await asyncio.to_thread(named)

    async def clear(self, *, library: str | None = None, session: str = "", for_good: bool = False) -> list[str]:
        """Delete one library, or all of them. Returns their names. Original files stay.

        One library can be restored from the ``bin`` for 30 days, unless it is deleted ``for_good``. Where all go, the
        bin, tokens, users and sessions go too, but for the browser's session with the secret ``session``.
        """
        name = None if library is None else _library_name(library, "")
        self._parts().pages.forget()
        if name is not None and not for_good:
            return [(await asyncio.to_thread(lambda: bin_library(self._catalog(), name))).name]
        return await asyncio.to_thread(
            lambda: clear(self._catalog(), self._cache(), self._indexes(), self.home, name, session)
        )

    async def jobs(self, *, library: str | None = None, status: Sequence[JobStatus] = (), most: int = 100) -> JobList:
        """Return running and waiting jobs, and the last that ended; of one library or all."""
        from hybrid_pageindex.engine.jobs import Jobs

        return await read_in_thread(lambda: Jobs(self._catalog()).listed(library, status, most))

    async def job(self, id: int) -> JobHistory:
        """Return one job with its events. Raises NotFoundError."""
        from hybrid_pageindex.engine.jobs import Jobs

        return await read_in_thread(lambda: Jobs(self._catalog()).history(id))

    async def pause(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Leave jobs, a library's or all of them as they are until ``resume``, also over a restart. What runs stops at
        its next pages.

        This and the next four raise UsageError where it is not clear which jobs are meant, NotFoundError for an
        unknown one.
        """
        return await self._decided("pause", ids, library, everything)

    async def resume(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Let go on what was paused; ``everything`` ends every pause."""
        return await self._decided("resume", ids, library, everything)

    async def cancel(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """End jobs that wait, and within seconds those that run. What was published stays."""
        return await self._decided("cancel", ids, library, everything)

    async def retry(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Let failed jobs wait again; of named ones also those that were cancelled."""
        return await self._decided("retry", ids, library, everything)

    async def forget(self, *ids: int, library: str | None = None, everything: bool = False) -> JobDecision:
        """Delete what is kept of jobs that have ended; documents stay as they are."""
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
        """Return the events after an event's number, of one job or of libraries (ids).

        ``state``, the jobs as they are, is set where ``after`` is None, and where events after it are no longer kept.
        """
        from hybrid_pageindex.engine.jobs import job_news

        return await read_in_thread(lambda: job_news(self._catalog(), after, job, libraries))

    async def home_state(self) -> HomeState:
        """Return what differs after a library, a document or a job came, changed or went."""
        from hybrid_core.store.catalog.maintenance import read_state

        def read() -> HomeState:
            with self._catalog().reading() as connection:
                return read_state(connection)

        return await read_in_thread(read)

    async def missing(self) -> dict[str, str]:
        """Return the parts that cannot be used now (catalog, search server, disk), and why, in words for anybody."""
        from hybrid_pageindex.engine.health import missing  # with the indexes

        return await read_in_thread(lambda: missing(self.home, self._catalog, self._indexes))

    @property
    def tokens(self) -> Tokens:
        """Return the tokens, users and sessions of callers over HTTP."""
        from hybrid_pageindex.engine.admin import Tokens

        return Tokens(self._catalog())

    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, most: int = 100
    ) -> Matches:
        """Find words on the pages of a document as they are written, from page ``first`` on."""
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
        """Return every page that holds a word, a phrase, the beginning of a word (``indemnif*``) or a ``regex``.

        The totals are complete, also where fewer are listed. ``listed`` "documents" counts by document instead of
        showing places. ``node`` is a section of the one document that is named, ``context`` the lines shown around a
        match. With ``seconds`` a long search stops, ``complete`` is false, and the same call goes on from there.

        Raises UsageError for a bad pattern or cursor, NotFoundError for what is unknown.
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
        """Compare two documents, or a section of each: sections added, removed, moved and changed, with the words and
        figures that differ and their pages. No model is asked.

        ``most`` bounds the sections that are listed, ``each`` the changes of a section; the counts are of all. Raises
        NotFoundError for an unknown document or section, UsageError for a bad cursor.
        """
        own = _library_name(library, self.settings.library)
        sides = (own, left, left_node), (right_library or own, right, right_node)
        return await read_in_thread(lambda: compare(self._catalog(), *sides, most=most, each=each, cursor=cursor))

    async def preview(self, question: str, *, expert: str | None = None) -> PackPreview:
        """Return the words that expert knowledge adds to a question. Raises UsageError for an unknown pack."""
        request = self.request(question, expert=expert)
        return await asyncio.to_thread(lambda: preview(request.question, request.expert, self.settings.aliases))

    async def test_model(self, kind: Kind) -> str:
        """Call the language or the vision model once, cheaply. Return a report, "" where none is configured.

        Raises ChatError where it does not work.
        """
        return await in_the_background(lambda: Models(self.settings, None, lambda: self._parts().spending).check(kind))

    async def model_usage(self, first: str = "", last: str = "") -> UsageReport:
        """Return the use of models by day, model, library and caller, and what is left of the limits.

        ``first`` and ``last`` are days (YYYY-MM-DD); by default this month. Raises UsageError for another text.
        """
        return await asyncio.to_thread(lambda: self._parts().spending.report(first, last))

    def setting_views(self, *, owner: bool = False) -> list[SettingView]:
        """Settings as they are, but secrets; and which may be changed while the engine is used."""
        from hybrid_pageindex.config.changes import shown

        return shown(self.settings, owner=owner)

    async def change_settings(self, changes: Mapping[str, Any], *, owner: bool = False) -> list[SettingView]:
        """From now on, here and in the home's file; which models are asked, and where, only for an ``owner``.

        Raises UsageError for what may not be changed or is wrong.
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
        """Ask for a library's vectors, which workers make: the job's number. ``model`` as in ``embed``.

        Raises UsageError where none is named and none was before.
        """
        name = _library_name(library, self.settings.library)
        return await asyncio.to_thread(lambda: request_embedding(self._parts(), name, model, self.settings))

    async def export_library(self, file: str | Path, *, library: str | None = None) -> Exported:
        """Write a library's documents, alias, notes and feedback to one file."""
        from hybrid_pageindex.engine.libraries.transfer import export_library

        name = _library_name(library, self.settings.library)
        return await stoppable(lambda _: export_library(self._catalog(), self._parts().pages, name, Path(file)))

    async def import_library(self, file: str | Path, *, name: str | None = None) -> Imported:
        """Make a new library of such a file, by default of its own name: workers index what is in it.

        Raises DocumentError for a file that is none, UsageError where there is a library of that name.
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
        """Return the notes of people by library id; its methods wait for the catalog."""
        from hybrid_core.store.notes import NoteStore

        return NoteStore(self._catalog())

    @property
    def feedback(self) -> FeedbackStore:
        """Return people's feedback on pages of results; its methods wait for the catalog."""
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
        """Make documents anew from their files, or a whole library, or everything, whatever is stored of them.

        What is published serves until its successor is. Scans are read again; what models said is asked for again only
        where it is not kept. The rest is as in ``index``. Raises UsageError where it is not clear what is meant,
        NotFoundError for what is unknown.
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
        """Make the vector index of a library, or of all, anew from the catalog, whatever it holds: {library: vectors}.

        Searches go on. Raises NotFoundError for an unknown library, BusyError where another process has an embedded
        index open.
        """

        def work() -> dict[str, int]:
            with self._catalog().snapshot() as snapshot:
                named = snapshot.named_libraries() if everything else [snapshot.library(library)]
            return {each.name: self._indexes().rebuild(each.id) for each in named}

        return await asyncio.to_thread(work)

    async def migrate(self, to: Backend, *, library: str | None = None) -> list[Migration]:
        """Build the vector indexes of one library, or of all, embedded or on the Qdrant server, compare them with
        the catalog, then delete the others. Which of the two serves is the setting ``qdrant_url``.
        """
        return await asyncio.to_thread(lambda: migrate(self._catalog(), self._indexes(), to, library))

    async def complete_replicas(self) -> dict[str, int]:
        """Copy what a node of a Qdrant cluster has lost, until as many nodes hold each part of this catalog's
        collections as these were made for; {collection: copies made}, when all of them answer. Searches go on.

        Raises UsageError where no server is set, UnreachableError where there are too few nodes.
        """
        return await asyncio.to_thread(lambda: self._indexes().complete())

    async def copy_catalog(self, to: str) -> CatalogCopy:
        """Copy the catalog to a PostgreSQL database at the URL ``to``, or for "sqlite" into the home. The one it was in
        stays as it is, and serves until the setting ``postgres_url`` says otherwise; a copy that was stopped goes on.

        Raises UsageError where the other is not empty, StoreError where the catalog is written meanwhile.
        """
        return await asyncio.to_thread(lambda: copied(self._catalog(), to))

    async def upload_originals(self) -> int:
        """Bring originals that this home keeps to the bucket of the setting ``objects_url``; how many of them are in
        use. Raises UsageError where there is no bucket.
        """
        return await asyncio.to_thread(lambda: upload_originals(self._catalog(), self.settings))

    async def upgrade_catalog(self) -> int:
        """Bring the catalog to the schema of this version, as its first use does; the schema's number.

        Raises SchemaError where a newer version wrote it.
        """
        await asyncio.to_thread(self._catalog)
        return SCHEMA_VERSION

    async def doctor(
        self, *, deep: bool = False, mend: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Health:
        """Check everything that the engine needs, with advice where something does not work.

        Compare each library's index with the catalog, document by document. ``deep`` also reads every file anew and
        compares its pages with those stored. ``mend``, which is deep too, takes out what is not the file's and indexes
        the file again. ``on_progress`` gets the number of compared documents or contents and their total, from a worker
        thread.
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
        """Make good a catalog that is damaged or missing: every row that can be read is brought into a new one, and
        files that it lost are indexed again. The damaged file is kept beside it; a catalog that is whole stays.

        Raises BusyError while another process uses the home, UsageError where the catalog is in PostgreSQL.
        """
        from hybrid_pageindex.engine.index.reindexing import recover

        self.close()  # nobody may have the catalog open
        return await stoppable(lambda stop: recover(self.settings, self._parts, on_progress or _ignore_progress, stop))

    def hand_back(self) -> None:
        """From now on calls that are cancelled leave their jobs in the queue, for whoever works next."""
        self._parts().leaving.set()

    def close(self) -> None:
        """Give the vector indexes back to other processes. Safe to call twice."""
        try:
            self.interrupt_turns()
        finally:
            with self._lock:
                opened, self._opened = self._opened, None
                if opened:
                    opened.close()

    def interrupt_turns(self) -> None:
        """Stop making answers of conversations: whoever works next can make them again. It may take seconds."""
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
