"""Search one library, or several as if they were one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from hybrid_core.errors import IndexDamagedError, NotFoundError, PageIndexError
from hybrid_core.llm.budget import charged
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.catalog.frequencies import Frequencies
from hybrid_core.store.database import reread
from hybrid_core.store.index.index import JoinedIndex, WeightedIndex
from hybrid_core.store.index.points import OTHER_SETTINGS, PageIndex
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult, UnreadDocument
from hybrid_core.types.scoring import CandidateFeatures, ScoringConfig
from hybrid_pageindex.config.experts import expert_stamp, find_expert, find_ranking
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.reading import refuse_failed
from hybrid_pageindex.engine.libraries.libraries import mark_asked, mark_used
from hybrid_pageindex.engine.models.embedders import Embedders, VectorsOf
from hybrid_pageindex.engine.models.models import Chat
from hybrid_pageindex.engine.search.handles import SearchableIndex
from hybrid_pageindex.engine.search.indexes import BM25, Indexes
from hybrid_pageindex.engine.search.views import LibraryViews, ViewFiles
from retrievers.candidates.documents import search_scope
from retrievers.candidates.library import Documents, LibraryView
from retrievers.candidates.router import Router
from retrievers.pipeline.search import SectionScores, of_document, of_documents, search
from retrievers.pipeline.state import SearchResources, SearchState, Stages, run_stages, stages_before
from retrievers.query.expert import Expert
from retrievers.query.question import QuestionEmbedding
from retrievers.ranking.model import candidate_features
from retrievers.reason.reasoner import Reasoner
from retrievers.trees.contents import ContentCache

_OTHER_EMBEDDERS = Note("search.other-embedders")


@dataclass(frozen=True, slots=True, eq=False)
class OpenLibrary:
    """An open library: its search index, its view, and its vectors if it has an embedder.

    The view contains the documents and the router that ranks them.
    """

    index: PageIndex
    view: LibraryView
    vectors: VectorsOf | None

    def same(self, other: OpenLibrary) -> bool:
        return self.index is other.index and self.view is other.view


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The index, documents and vectors that one search reads.

    ``holders`` maps document ids to library names; it is empty for a single library.
    """

    index: WeightedIndex
    view: LibraryView
    vectors: VectorsOf | None
    holders: Mapping[str, str]
    notes: tuple[Note, ...] = ()


def libraries_of(catalog: Catalog, request: SearchRequest) -> list[Library]:
    """Return the libraries of a request, without duplicates. Raise NotFoundError for an unknown library."""
    with catalog.snapshot() as snapshot:
        if request.all_libraries:
            return snapshot.named_libraries() or [snapshot.library("default")]
        return list({library.id: library for library in map(snapshot.library, request.libraries)}.values())


class Scopes:
    """A cache of joined libraries, by which several libraries are searched like one. Safe for several threads.

    A joined library is reused until one of its libraries changes.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._frequencies: dict[tuple[str, ...], tuple[Sequence[LibraryView], Frequencies]] = {}
        self._joined: dict[tuple[str, ...], tuple[Sequence[OpenLibrary], Scope]] = {}

    def join(
        self, libraries: Sequence[Library], opened: Sequence[OpenLibrary], request: SearchRequest, knowledge: Expert
    ) -> Scope:
        """Return the index, documents and vectors of the opened libraries, joined for one request."""
        if len(opened) == 1:
            (library,) = opened
            return Scope(self._weighted(library.index, libraries, opened), library.view, library.vectors, {})
        names = tuple(named.name for named in libraries)
        before = self._joined.get((request.expert, *names))
        if before is None or not all(now.same(was) for now, was in zip(opened, before[0], strict=True)):
            index = self._weighted(JoinedIndex([library.index for library in opened]), libraries, opened)
            joined = _join(index, names, opened, request.scoring, knowledge, before[1].view if before else None)
            before = self._joined[request.expert, *names] = (opened, joined)
        return before[1]

    def _weighted(self, index: PageIndex, libraries: Sequence[Library], opened: Sequence[OpenLibrary]) -> WeightedIndex:
        """Return the index, with word frequencies counted in all these libraries.

        The frequencies are cached until a library changes.
        """
        ids = tuple(library.id for library in libraries)
        views = [
            opened_library.view for opened_library in opened
        ]  # a position alone may be that of a catalog before it was put back
        cached = self._frequencies.get(ids)
        if cached is None or cached[0] != views:
            cached = self._frequencies[ids] = (views, Frequencies(self._catalog, ids))
        return WeightedIndex(index, cached[1], BM25)


def _join(
    index: WeightedIndex,
    names: Sequence[str],
    opened: Sequence[OpenLibrary],
    scoring: ScoringConfig,
    knowledge: Expert,
    before: LibraryView | None,
) -> Scope:
    documents = _joined_documents(
        [document for opened_library in opened for document in opened_library.view.documents.values()], before
    )
    router = Router(documents.cards, knowledge.aliases, scoring, before.router if before else None, documents.order)
    view = LibraryView(sum(opened_library.view.position for opened_library in opened), documents, router, before)
    holders = {
        doc_id: name
        for name, opened_library in zip(names, opened, strict=True)
        for doc_id in opened_library.view.documents
    }
    having = [opened_library for opened_library in opened if opened_library.view.documents]
    if len({opened_library.vectors and opened_library.vectors.embedder for opened_library in having}) > 1:
        return Scope(index, view, None, holders, (_OTHER_EMBEDDERS,))
    vectors = [library.vectors for library in having if library.vectors is not None]
    if not vectors:
        return Scope(index, view, None, holders)
    missing = frozenset().union(*(each.missing for each in vectors))
    unindexed = frozenset().union(*(each.unindexed for each in vectors))
    return Scope(index, view, VectorsOf(vectors[0].embedder, missing, unindexed), holders)


def _joined_documents(documents: Sequence[Document], before: LibraryView | None) -> Documents:
    """Join the documents of several libraries. Unchanged documents are taken from ``before`` and not read again."""
    if before is None or not isinstance(before.documents, Documents):
        return Documents.of(documents)
    doc_ids = {document.doc_id for document in documents}
    new = [document for document in documents if before.documents.get(document.doc_id) is not document]
    return before.documents.published(new, [doc_id for doc_id in before.documents.order if doc_id not in doc_ids])


_MAX_DOCUMENTS_SHOWN = 3


def unread_documents(
    result: SearchResult, searched: Mapping[str, Document] | None, unread: Sequence[UnreadDocument]
) -> tuple[UnreadDocument, ...]:
    """Return the documents with unreadable pages that matter for a question; documents that it names come first.

    ``searched`` are the documents that pass the request's filters, None without filters. With filters, all of them
    matter; without filters, only documents among the results, or all if there are none. If the evidence is strong, only
    documents matter that the question names and that are mostly unreadable.
    """
    unread = [document for document in unread if searched is None or document.doc_id in searched]
    routed = {ranked.doc_id: ranked.routing for ranked in result.documents if ranked.routing > 0}
    named = [document for document in unread if document.doc_id in routed and _mostly(document)]
    named.sort(key=lambda document: -routed[document.doc_id])
    if result.evidence.level == "strong":
        return tuple(named)
    if searched is None and result.results:
        result_ids = {page.doc_id for page in result.results}
        unread = [document for document in unread if document.doc_id in result_ids]
    return tuple(dict.fromkeys((*named, *unread)))


def unread_note(unread: tuple[UnreadDocument, ...], searched: int, advice: Callable[[], Note]) -> Note:
    """Return a note that lists documents with unreadable pages, the empty ``NONE`` if there are none.

    ``advice`` returns how to make these pages readable.
    """
    if not unread:
        return NONE
    which = [
        Note("search.unread-document", document=document.doc_name, unread=document.unread, pages=document.pages)
        for document in unread[:_MAX_DOCUMENTS_SHOWN]
    ]
    if len(unread) > _MAX_DOCUMENTS_SHOWN:
        which.append(Note("search.more"))
    if searched > 1:
        return Note("search.unread-of", documents=len(unread), searched=searched, which=which, advice=advice())
    return Note("search.unread", documents=len(unread), which=which, advice=advice())


def _mostly(document: UnreadDocument) -> bool:
    return 2 * document.unread >= max(1, document.pages)


_T = TypeVar("_T")
_TRIES = 4  # to search while documents are replaced; one more is needed only if another is replaced in milliseconds


class Opened(NamedTuple):
    """The opened libraries of one search.

    ``documents`` are those that pass the request's filters. ``timings`` are the milliseconds for opening the libraries
    and embedding the question.
    """

    resources: SearchResources
    documents: Mapping[str, Document]
    timings: dict[str, float]
    scope: Scope


class Searcher:
    """The search in the libraries of one home. Safe for several threads."""

    def __init__(
        self,
        catalog: Catalog,
        settings: Settings,
        indexes: Indexes,
        embedders: Embedders,
        chat: Chat,
        reading: Callable[[], Note],
        stages: Stages,
    ) -> None:
        """Create a searcher. ``reading`` returns advice on how to read pages without text."""
        self._catalog, self._indexes, self._embedders = catalog, indexes, embedders
        self._aliases, self._ranking = settings.aliases, settings.ranking_weights
        self._home, self._chat, self._reading, self._stages = settings.storage_path, chat, reading, stages
        self._contents = ContentCache()
        self._scopes = Scopes(catalog)
        self._views = LibraryViews(catalog, self._contents, ViewFiles(self._home))
        self._experts: dict[str, tuple[tuple[tuple[float, ...], ...], Expert]] = {}

    def search(
        self,
        request: SearchRequest,
        on_step: Callable[[ReasoningStep], None] | None = None,
        earlier: Sequence[tuple[str, int]] = (),
    ) -> SearchResult:
        """Return the pages that answer a completed request. Raise the errors of ``Engine.search``.

        ``earlier`` holds pages (doc_id, number) that support the previous answer of a conversation.
        """
        reasoner = None if request.effort == "fast" else self._chat.reasoner(request.strategy, on_step)
        return self._opening_again(partial(self._search, request, reasoner, self._stages_after(earlier)), request)

    def _stages_after(self, earlier: Sequence[tuple[str, int]]) -> Stages:
        if not earlier:
            return self._stages
        from retrievers.pipeline.search import with_earlier

        return with_earlier(earlier, self._stages)

    def close(self) -> None:
        """Wait until files that are being written in the background are complete."""
        self._views.close()

    def section_scores(self, request: SearchRequest, document: Document | None, limit: int = 1) -> list[SectionScores]:
        """Return the section scores of one document, or of the ``limit`` best matching documents, without a model.

        The scores are those of a search of the library; higher is better.
        """

        def score(wished: SearchRequest) -> SearchState:
            return self._current(
                lambda: self._opened(wished, None, libraries_of(self._catalog, wished)),
                lambda opened: self._until("walk", wished, opened.resources),
            )

        def work() -> list[SectionScores]:
            if document is not None:
                return [of_document(request, document, score)]
            return of_documents(score(request))[:limit]

        return self._opening_again(work, request)

    def features(self, request: SearchRequest) -> CandidateFeatures:
        """Return the candidate pages of a search with their features, and the values that decide the evidence level."""

        def work() -> CandidateFeatures:
            state = self._current(
                lambda: self._opened(request, None, libraries_of(self._catalog, request)),
                lambda opened: self._until("reasoning", request, opened.resources),
            )
            ranking = state.ranking
            pages = [(ranking.pages[visit.doc].candidate.document.doc_id, visit.page) for visit in ranking.visits[:5]]
            features = candidate_features(ranking.table, state.resources.ranking)
            return replace(features, signals=state.outcome.signals, first=tuple(pages))

        return self._opening_again(work, request)

    def _opening_again(self, work: Callable[[], _T], request: SearchRequest) -> _T:
        try:
            with self._indexes.follower.searching():
                return work()
        except IndexDamagedError:  # opening it again rebuilds what is damaged
            self._views.forget()
            return work()
        except NotFoundError:
            if len(request.libraries) == 1:
                refuse_failed(self._catalog, request.library, request.documents or ())
            raise

    def _search(self, request: SearchRequest, reasoner: Reasoner | None, stages: Stages) -> SearchResult:
        began = time.perf_counter()
        libraries = reread(partial(libraries_of, self._catalog, request))
        request = replace(request, libraries=tuple(library.name for library in libraries), all_libraries=False)
        # Only what a search reads is read again, here and in Contents, so that no model is asked twice.
        opening = partial(reread, partial(self._opened, request, reasoner, libraries))
        if reasoner:
            opened = self._current(opening, partial(self._probed, request))
            with charged_to(libraries):
                result = search(request, opened.resources, stages)
        else:
            opened, result = self._current(opening, lambda opened: (opened, search(request, opened.resources, stages)))
        resources, documents, timings, scope = opened
        timings |= {**result.timings_ms, "total": (time.perf_counter() - began) * 1000}
        rounded = {name: round(value, 3) for name, value in timings.items()}
        index = resources.index
        amiss = index.rebuilt if index.rebuilt != OTHER_SETTINGS else ""  # after embed, or a new version: expected
        rebuilt = (Note("search.index-rebuilt", reason=amiss),) if amiss else ()
        unread = unread_documents(
            result, None if documents is resources.view.documents else documents, resources.view.unread
        )
        unfound = unread_note(unread, len(documents), self._reading)
        notes = (*result.notes, *scope.notes, *((unfound,) if unfound else ()), *rebuilt)
        if self._catalog.read_only:
            notes += (Note("search.home-read-only", reason=self._catalog.read_only),)
        results = result.results
        if scope.holders:
            results = tuple(replace(page, library=scope.holders[page.doc_id]) for page in results)
        for library in libraries:
            mark_used(self._home, library.id)
        mark_asked(self._catalog, [documents[page.doc_id] for page in results if page.doc_id in documents])
        return replace(result, results=results, timings_ms=rounded, notes=notes, unread=unread)

    def _current(self, opening: Callable[[], Opened], work: Callable[[Opened], _T]) -> _T:
        """Open the libraries, run the read-only ``work`` on them, and return its result.

        If a document was replaced meanwhile, the work could find neither of its versions. Then repeat both steps, a few
        times at most.
        """
        for _ in range(_TRIES):
            opened = opening()
            result = work(opened)
            if not opened.resources.contents.gone:
                break
        return result

    def _probed(self, request: SearchRequest, opened: Opened) -> Opened:
        """Run the first search stages, and return ``opened``. Run them before a model is called.

        They notice documents that were replaced since the libraries were opened.
        """
        self._until("routing", request, opened.resources)
        return opened

    def _until(self, stage: str, request: SearchRequest, resources: SearchResources) -> SearchState:
        return run_stages(stages_before(stage, self._stages), SearchState.begin(request, resources))[0]

    def _opened(self, request: SearchRequest, reasoner: Reasoner | None, libraries: Sequence[Library]) -> Opened:
        began = time.perf_counter()
        knowledge, ranking = self._knowledge(request.expert), find_ranking(self._ranking)
        opened_libraries, behind = [], []
        for library in libraries:
            searchable = self._indexes.searchable(library.id)
            view, vectors = self._views.published(library.id, request.expert, knowledge, request.scoring)
            vectors = vectors.but(searchable.unindexed) if vectors else None
            opened_libraries.append(OpenLibrary(searchable.index, view, vectors))
            behind += [_behind_note(searchable)] if searchable.unindexed else []
        joined = self._scopes.join(libraries, opened_libraries, request, knowledge)
        joined = replace(joined, notes=(*joined.notes, *behind))
        view, vectors_of = joined.view, joined.vectors
        scope = search_scope(view.documents, request)
        documents = view.within(scope)
        opened = time.perf_counter()

        def embed(question: str) -> QuestionEmbedding:
            return self._embedders.embedding(question, vectors_of, documents, partial(view.pages_of, scope))

        embedding = embed(request.question)
        compare = self._embedders.comparison(request.question, vectors_of, ", ".join(request.libraries))
        timings = {"open": (opened - began) * 1000, "embed": (time.perf_counter() - opened) * 1000}
        embedding = replace(embedding, compare=compare)
        contents = Contents(self._catalog)
        resources = SearchResources(
            view, joined.index, contents, self._contents, knowledge, embedding, ranking, reasoner, embed
        )
        return Opened(resources, documents, timings, joined)

    def _knowledge(self, name: str) -> Expert:
        """Return the expert knowledge (domain words) ``name``, with the user's nicknames of organisations.

        Files that have changed are read again.
        """
        key = (name, self._aliases)
        changed = tuple(expert_stamp(part) for part in key)
        cached = self._experts.get(name)
        if cached is None or cached[0] != changed:
            cached = self._experts[name] = (changed, find_expert(name, self._aliases))
        return cached[1]


def charged_to(libraries: Sequence[Library]) -> AbstractContextManager[None]:
    """Return a context in which model calls are recorded for a library.

    For several libraries, the calls are recorded for none.
    """
    return charged(library=libraries[0].id if len(libraries) == 1 else "")


def _behind_note(index: SearchableIndex) -> Note:
    if index.failure:
        return Note("search.index-stuck", pages=index.pages, error=index.failure)
    return Note("search.index-behind", pages=index.pages)


def unread_advice(ocr: str, languages: str, vision: bool) -> Note:
    """Return advice on how to make pages without text readable.

    ``vision`` is True if a vision model is configured.
    """
    from indexers.ocr.engines import NoOcr, find_ocr

    try:
        engine = find_ocr(ocr, languages)
    except PageIndexError as error:
        return Note("ocr.cannot-read", error=error.note)
    if isinstance(engine, NoOcr):
        return engine.reason
    return Note("ocr.index-again-vision") if vision else Note("ocr.index-again")
