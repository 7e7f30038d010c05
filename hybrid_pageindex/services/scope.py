"""What a search is over: one library, or several as if they were one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.frequencies import Frequencies
from hybrid_core.store.index.joined import JoinedIndex
from hybrid_core.store.index.query import PageIndex
from hybrid_core.store.index.weighted import WeightedIndex
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.services.embedding import VectorsOf
from hybrid_pageindex.services.indexes import BM25
from retrievers.documents.documents import Documents
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Router
from retrievers.query.expert import Expert

_OTHER_EMBEDDERS = "the libraries are not embedded by one model, so words alone decide"


@dataclass(frozen=True, slots=True, eq=False)
class OpenLibrary:
    """A library as it is published, with its index and whose vectors serve it."""

    index: PageIndex
    view: LibraryView
    vectors: VectorsOf | None

    def same(self, other: OpenLibrary) -> bool:
        return self.index is other.index and self.view is other.view


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """What a search reads from. ``holders`` are the libraries' names by doc_id, empty where one is searched."""

    index: WeightedIndex
    view: LibraryView
    vectors: VectorsOf | None
    holders: Mapping[str, str]
    notes: tuple[str, ...] = ()


def libraries_of(catalog: Catalog, request: SearchRequest) -> list[Library]:
    """Those that are searched, each once. Raises NotFoundError for an unknown one."""
    with catalog.snapshot() as snapshot:
        if request.all_libraries:
            return snapshot.named_libraries() or [snapshot.library("default")]
        return list({one.id: one for one in map(snapshot.library, request.libraries)}.values())


class Scopes:
    """Joins libraries, and keeps what it joined until one of them changes. Safe for several threads."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._frequencies: dict[tuple[str, ...], tuple[Sequence[LibraryView], Frequencies]] = {}
        self._joined: dict[tuple[str, ...], tuple[Sequence[OpenLibrary], Scope]] = {}

    def over(
        self, libraries: Sequence[Library], opened: Sequence[OpenLibrary], request: SearchRequest, knowledge: Expert
    ) -> Scope:
        """``opened`` are the libraries as a search with this request and knowledge sees each by itself."""
        if len(opened) == 1:
            (one,) = opened
            return Scope(self._weighted(one.index, libraries, opened), one.view, one.vectors, {})
        names = tuple(library.name for library in libraries)
        before = self._joined.get((request.expert, *names))
        if before is None or not all(now.same(was) for now, was in zip(opened, before[0], strict=True)):
            index = self._weighted(JoinedIndex([one.index for one in opened]), libraries, opened)
            joined = _join(index, names, opened, request.scoring, knowledge, before[1].view if before else None)
            before = self._joined[request.expert, *names] = (opened, joined)
        return before[1]

    def _weighted(self, index: PageIndex, libraries: Sequence[Library], opened: Sequence[OpenLibrary]) -> WeightedIndex:
        """With the frequencies that were read when the libraries were as they are now."""
        ids = tuple(library.id for library in libraries)
        views = [one.view for one in opened]  # a position alone may be that of a catalog before it was put back
        known = self._frequencies.get(ids)
        if known is None or known[0] != views:
            known = self._frequencies[ids] = (views, Frequencies(self._catalog, ids))
        return WeightedIndex(index, known[1], BM25)


def _join(
    index: WeightedIndex,
    names: Sequence[str],
    opened: Sequence[OpenLibrary],
    scoring: ScoringConfig,
    knowledge: Expert,
    before: LibraryView | None,
) -> Scope:
    found = [document for one in opened for document in one.view.documents.values()]
    documents = _joined(found, before)
    router = Router(documents.cards, knowledge.aliases, scoring, before.router if before else None, documents.order)
    view = LibraryView(sum(one.view.position for one in opened), documents, router, before)
    holders = {doc_id: name for name, one in zip(names, opened, strict=True) for doc_id in one.view.documents}
    having = [one for one in opened if one.view.documents]
    if len({one.vectors and one.vectors.embedder for one in having}) > 1:
        return Scope(index, view, None, holders, (_OTHER_EMBEDDERS,))
    vectors = [one.vectors for one in having if one.vectors is not None]
    if not vectors:
        return Scope(index, view, None, holders)
    missing = frozenset().union(*(one.missing for one in vectors))
    unindexed = frozenset().union(*(one.unindexed for one in vectors))
    return Scope(index, view, VectorsOf(vectors[0].embedder, missing, unindexed), holders)


def _joined(found: Sequence[Document], before: LibraryView | None) -> Documents:
    """These documents, as they differ from those before."""
    if before is None or not isinstance(before.documents, Documents):
        return Documents.of(found)
    there = {one.doc_id for one in found}
    new = [one for one in found if before.documents.get(one.doc_id) is not one]
    return before.documents.published(new, [doc_id for doc_id in before.documents.order if doc_id not in there])
