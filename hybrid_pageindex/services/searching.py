"""Searching through the engine: what a question needs is opened once and kept between questions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from hybrid_core.errors import IndexDamagedError, NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.index.vectors import OTHER_SETTINGS
from hybrid_core.types.documents import Document, Effort, Fusion, Route, Strategy
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.config.experts import expert_stamp, find_expert
from hybrid_pageindex.services.chatting import Chat
from hybrid_pageindex.services.embedding import Embedders, VectorsOf
from hybrid_pageindex.services.indexes import Indexes
from hybrid_pageindex.services.reading import refuse_failed
from hybrid_pageindex.services.unread import unread_documents, unread_note
from retrievers.documents.route import Router
from retrievers.explain.clock import Clock
from retrievers.pages.content import ContentCache
from retrievers.pages.scoring import Scored, score, searched
from retrievers.pages.section_scores import SectionScores, of_document, of_documents
from retrievers.pipeline import search
from retrievers.query.expert import Expert
from retrievers.query.options import LibraryView, SearchOptions, Weights
from retrievers.reason.reasoner import Reasoner

MOST_RESULTS = 1000

_T = TypeVar("_T")


class Searcher:
    """Answers questions over the libraries of one home. Safe for several threads."""

    def __init__(
        self,
        catalog: Catalog,
        indexes: Indexes,
        embedders: Embedders,
        aliases: str,
        fusion: Fusion,
        chat: Chat,
        reading: Callable[[], str],
    ) -> None:
        """``aliases`` is the path of a file of nicknames, empty for none; ``fusion`` counts unless a search says.
        ``reading`` says what would read pages without text.
        """
        self._catalog, self._indexes, self._embedders, self._aliases = catalog, indexes, embedders, aliases
        self._fusion, self._chat, self._reading = fusion, chat, reading
        self._contents = ContentCache()
        self._views: dict[tuple[str, str], LibraryView] = {}
        self._experts: dict[str, tuple[tuple[tuple[float, ...], ...], Expert]] = {}

    def search(
        self,
        question: str,
        *,
        library: str,
        documents: tuple[str, ...] = (),
        where: tuple[str, ...] = (),
        top_k: int = 5,
        effort: Effort = "auto",
        expert: str = "auto",
        mmr: float = 1.0,
        trace: bool = False,
        fusion: Fusion | None = None,
        strategy: Strategy = "outline",
        route: Route = "auto",
        on_step: Callable[[ReasoningStep], None] | None = None,
    ) -> SearchResult:
        if not 0 <= mmr <= 1:
            raise UsageError(f"mmr is {mmr}.", "Choose 0 (all variety) to 1 (by score alone).")
        if not 1 <= top_k <= MOST_RESULTS:
            raise UsageError(f"top_k is {top_k}.", f"Choose 1 to {MOST_RESULTS}.")
        options = SearchOptions(library, documents, where, top_k, effort, mmr, trace, route)
        reasoner = None if effort == "fast" else self._chat.reasoner(strategy, on_step)
        work = partial(self._search, question, options, expert, fusion or self._fusion, reasoner)
        return self._opening_again(work, library, documents)

    def section_scores(
        self, question: str, document: Document | None, *, library: str, expert: str, route: Route, most: int = 1
    ) -> list[SectionScores]:
        """The sections of a document as a search of the library scores them, or those of the ``most`` documents that
        fit the question best. No model is asked.
        """
        options = SearchOptions(library, effort="fast", route=route)
        return self._opening_again(partial(self._section_scores, question, document, options, expert, most), library)

    def _opening_again(self, work: Callable[[], _T], library: str, documents: tuple[str, ...] = ()) -> _T:
        try:
            return work()
        except IndexDamagedError:  # opening it again rebuilds what is damaged
            return work()
        except NotFoundError:
            refuse_failed(self._catalog, library, documents)
            raise

    def _search(
        self, question: str, options: SearchOptions, expert: str, fusion: Fusion, reasoner: Reasoner | None
    ) -> SearchResult:
        began = time.perf_counter()
        knowledge = self._knowledge(expert)
        index = self._indexes.ready(options.library)
        view, vectors_of = self._published(options.library, expert, knowledge)
        scope = searched(view, options)
        documents = {d: view.documents[d] for d in scope} if scope is not None else view.documents
        opened = time.perf_counter()
        meaning = self._embedders.meaning(question, vectors_of, documents)
        meaning = replace(meaning, compare=self._embedders.comparison(question, vectors_of, options.library))
        embedded = time.perf_counter()
        contents, weights = Contents(self._catalog), Weights(fusion=fusion)
        found = search(question, options, view, contents, index, self._contents, knowledge, meaning, weights, reasoner)
        timings = {"open": (opened - began) * 1000, "embed": (embedded - opened) * 1000, **found.timings_ms}
        timings["total"] = (time.perf_counter() - began) * 1000
        amiss = index.rebuilt if index.rebuilt != OTHER_SETTINGS else ""  # after embed, or a new version: expected
        rebuilt = (f"the vector index was rebuilt from the catalog ({amiss})",) if amiss else ()
        rounded = {name: round(value, 3) for name, value in timings.items()}
        unread = unread_documents(found, documents, view.unread)
        unfound = unread_note(unread, len(documents), self._reading)
        notes = (*found.notes, *((unfound,) if unfound else ()), *rebuilt)
        return replace(found, timings_ms=rounded, notes=notes, unread=unread)

    def _section_scores(
        self, question: str, document: Document | None, options: SearchOptions, expert: str, most: int
    ) -> list[SectionScores]:
        knowledge = self._knowledge(expert)
        index = self._indexes.ready(options.library)
        view, vectors_of = self._published(options.library, expert, knowledge)

        def scored(wished: SearchOptions) -> Scored:
            scope = searched(view, wished)
            documents = {d: view.documents[d] for d in scope} if scope is not None else view.documents
            meaning = self._embedders.meaning(question, vectors_of, documents)
            contents, weights = Contents(self._catalog), Weights(fusion=self._fusion)
            return score(
                question, wished, view, contents, index, self._contents, knowledge, meaning, weights, None, Clock()
            )

        if document is not None:
            return [of_document(question, document, options, scored)]
        return of_documents(question, scored(options))[:most]

    def _published(self, library: str, expert: str, knowledge: Expert) -> tuple[LibraryView, VectorsOf | None]:
        """What a search goes by from beginning to end, read in one snapshot that is closed before anybody thinks."""
        with self._catalog.snapshot() as snapshot:
            return self._view(snapshot, library, expert, knowledge), VectorsOf.library(snapshot, library)

    def _view(self, snapshot: Snapshot, library: str, expert: str, knowledge: Expert) -> LibraryView:
        position = snapshot.position(library)
        key = (library, expert)
        view = self._views.get(key)
        if view is None or view.position != position:
            if view is not None:
                self._contents.forget(change.content_id for change in snapshot.changes(library, view.position))
            documents = {d.doc_id: d for d in snapshot.documents(library) if d.published}
            router = Router({doc_id: d.card for doc_id, d in documents.items()}, knowledge.aliases)
            view = self._views[key] = LibraryView(position, documents, router)
        return view

    def _knowledge(self, name: str) -> Expert:
        """The expert file or pack of that name, together with the user's nicknames of organisations."""
        key = (name, self._aliases)
        changed = tuple(expert_stamp(part) for part in key)
        held = self._experts.get(name)
        if held is None or held[0] != changed:
            held = self._experts[name] = (changed, find_expert(name, self._aliases))
            self._views = {key: view for key, view in self._views.items() if key[1] != name}
        return held[1]
