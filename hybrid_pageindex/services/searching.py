"""Searching through the engine: what a question needs is opened once and kept between questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TypeVar

from hybrid_core.errors import IndexDamagedError, NotFoundError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.index.points import OTHER_SETTINGS
from hybrid_core.store.rereading import reread
from hybrid_core.types.documents import Document
from hybrid_core.types.features import CandidateFeatures
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.config.experts import expert_stamp, find_expert
from hybrid_pageindex.config.ranking import find_ranking
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.chatting import Chat
from hybrid_pageindex.services.embedding import Embedders
from hybrid_pageindex.services.index_handles import SearchableIndex
from hybrid_pageindex.services.indexes import Indexes
from hybrid_pageindex.services.reading import refuse_failed
from hybrid_pageindex.services.scope import OpenLibrary, Scope, Scopes, libraries_of
from hybrid_pageindex.services.unread import unread_documents, unread_note
from hybrid_pageindex.services.use import mark_asked, mark_used
from hybrid_pageindex.services.view_files import ViewFiles
from hybrid_pageindex.services.views import LibraryViews
from retrievers.documents import select
from retrievers.documents.content_cache import ContentCache
from retrievers.features.model import candidate_features
from retrievers.pipeline.row import search
from retrievers.pipeline.sections import SectionScores, of_document, of_documents
from retrievers.pipeline.stage import Stages, before, run_stages
from retrievers.pipeline.state import SearchResources, SearchState
from retrievers.query.embedding import QuestionEmbedding
from retrievers.query.expert import Expert
from retrievers.reason.reasoner import Reasoner

_T = TypeVar("_T")


class Searcher:
    """Answers questions over the libraries of one home. Safe for several threads."""

    def __init__(
        self,
        catalog: Catalog,
        settings: Settings,
        indexes: Indexes,
        embedders: Embedders,
        chat: Chat,
        reading: Callable[[], str],
        stages: Stages,
    ) -> None:
        """``reading`` says what would read pages without text."""
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
        """The pages that answer; ``request`` is complete. Raises what ``Engine.search`` does.

        ``earlier`` are pages (doc_id, number) that the last answer of a conversation rests on.
        """
        reasoner = None if request.effort == "fast" else self._chat.reasoner(request.strategy, on_step)
        return self._opening_again(partial(self._search, request, reasoner, self._row(earlier)), request)

    def _row(self, earlier: Sequence[tuple[str, int]]) -> Stages:
        if not earlier:
            return self._stages
        from retrievers.pipeline.earlier import with_earlier

        return with_earlier(earlier, self._stages)

    def close(self) -> None:
        """Wait for what is still being written."""
        self._views.close()

    def section_scores(self, request: SearchRequest, document: Document | None, most: int = 1) -> list[SectionScores]:
        """The sections of a document as a search of the library scores them, or those of the ``most`` documents that
        fit the question best. No model is asked.
        """

        def score(wished: SearchRequest) -> SearchState:
            resources = self._opened(wished, None, libraries_of(self._catalog, wished))[0]
            return run_stages(before("walk", self._stages), SearchState.begin(wished, resources))[0]

        def work() -> list[SectionScores]:
            if document is not None:
                return [of_document(request, document, score)]
            return of_documents(score(request))[:most]

        return self._opening_again(work, request)

    def features(self, request: SearchRequest) -> CandidateFeatures:
        """The candidate pages of a search with their features, and the signals that its evidence is computed from."""

        def work() -> CandidateFeatures:
            resources = self._opened(request, None, libraries_of(self._catalog, request))[0]
            state = run_stages(before("reasoning", self._stages), SearchState.begin(request, resources))[0]
            pages = [(state.pages[one.doc].candidate.document.doc_id, one.page) for one in state.visits[:5]]
            found = candidate_features(state.table, resources.ranking)
            return replace(found, signals=state.signals, first=tuple(pages))

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
        resources, documents, timings, scope = reread(partial(self._opened, request, reasoner, libraries))
        with charged_to(libraries) if reasoner else nullcontext():
            found = search(request, resources, stages)
        timings |= {**found.timings_ms, "total": (time.perf_counter() - began) * 1000}
        rounded = {name: round(value, 3) for name, value in timings.items()}
        index = resources.index
        amiss = index.rebuilt if index.rebuilt != OTHER_SETTINGS else ""  # after embed, or a new version: expected
        rebuilt = (f"the vector index was rebuilt from the catalog ({amiss})",) if amiss else ()
        unread = unread_documents(
            found, None if documents is resources.view.documents else documents, resources.view.unread
        )
        unfound = unread_note(unread, len(documents), self._reading)
        notes = (*found.notes, *scope.notes, *((unfound,) if unfound else ()), *rebuilt)
        if self._catalog.read_only:
            notes += (f"this home cannot be written ({self._catalog.read_only}), so the search is not recorded",)
        results = found.results
        if scope.holders:
            results = tuple(replace(page, library=scope.holders[page.doc_id]) for page in results)
        for library in libraries:
            mark_used(self._home, library.id)
        mark_asked(self._catalog, [documents[page.doc_id] for page in results if page.doc_id in documents])
        return replace(found, results=results, timings_ms=rounded, notes=notes, unread=unread)

    def _opened(
        self, request: SearchRequest, reasoner: Reasoner | None, libraries: Sequence[Library]
    ) -> tuple[SearchResources, Mapping[str, Document], dict[str, float], Scope]:
        """What a search reads from, the documents that its filters leave, and the milliseconds that this took."""
        began = time.perf_counter()
        knowledge, ranking = self._knowledge(request.expert), find_ranking(self._ranking)
        opened_libraries, behind = [], []
        for library in libraries:
            found = self._indexes.searchable(library.id)
            view, vectors = self._views.published(library.id, request.expert, knowledge, request.scoring)
            vectors = vectors.but(found.unindexed) if vectors else None
            opened_libraries.append(OpenLibrary(found.index, view, vectors))
            behind += [_behind(found)] if found.unindexed else []
        over = self._scopes.over(libraries, opened_libraries, request, knowledge)
        over = replace(over, notes=(*over.notes, *behind))
        view, vectors_of = over.view, over.vectors
        scope = select.scope(view.documents, request)
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
            view, over.index, contents, self._contents, knowledge, embedding, ranking, reasoner, embed
        )
        return resources, documents, timings, over

    def _knowledge(self, name: str) -> Expert:
        """The expert file or pack of that name, together with the user's nicknames of organisations."""
        key = (name, self._aliases)
        changed = tuple(expert_stamp(part) for part in key)
        held = self._experts.get(name)
        if held is None or held[0] != changed:
            held = self._experts[name] = (changed, find_expert(name, self._aliases))
        return held[1]


def charged_to(libraries: Sequence[Library]) -> AbstractContextManager[None]:
    """Calls of models within are for these libraries."""
    from hybrid_core.llm.metering import charged

    return charged(library=libraries[0].id if len(libraries) == 1 else "")


def _behind(found: SearchableIndex) -> str:
    how = f"cannot be brought up to date: {found.failure}" if found.failure else "follows in the background"
    return f"the search index is behind by {found.pages} pages: they are found by their words, and it {how}"
