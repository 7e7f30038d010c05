"""What searches go by: each library as it is published, brought up to the change log between two searches."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.types.documents import Document
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.services.embedding import VectorsOf
from retrievers.documents.content import ContentCache
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Router
from retrievers.query.expert import Expert


@dataclass(frozen=True, slots=True)
class _State:
    view: LibraryView
    vectors: VectorsOf | None  # None where the library has no embedder
    catalog: str  # the catalog's id: after it was cleared its log begins anew

    def fits(self, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig) -> bool:
        """Whether it is the library of a snapshot, as a search with this knowledge sees it."""
        serving, _ = snapshot.embedder(library)
        return (
            self.view.position == snapshot.position(library)
            and self.catalog == snapshot.catalog_id()
            and self.view.router.made_with(knowledge.aliases, scoring)
            and serving == (self.vectors and self.vectors.embedder)
        )


@dataclass(slots=True)
class _Held:
    """``lock`` is around making the next state: whoever needs it waits, everybody else goes by theirs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: _State | None = None


class LibraryViews:
    """Keeps one state for each library and expert. Safe for several threads; libraries do not wait for each other."""

    def __init__(self, catalog: Catalog, contents: ContentCache) -> None:
        """``contents`` forgets what was replaced or removed."""
        self._catalog, self._contents = catalog, contents
        self._held: dict[tuple[str, str], _Held] = {}

    def published(
        self, library: str, expert: str, knowledge: Expert, scoring: ScoringConfig
    ) -> tuple[LibraryView, VectorsOf | None]:
        """What a search goes by from beginning to end, read in one snapshot that is closed before anybody thinks.

        ``expert`` is the name of the ``knowledge``.
        """
        held = self._held.setdefault((library, expert), _Held())
        with self._catalog.snapshot() as snapshot:
            state = held.state
            if state is None or not state.fits(snapshot, library, knowledge, scoring):
                state = None
        if state is None:
            with held.lock, self._catalog.snapshot() as snapshot:
                if held.state is None or not held.state.fits(snapshot, library, knowledge, scoring):
                    held.state = self._next(held.state, snapshot, library, knowledge, scoring)
                state = held.state
        return state.view, state.vectors

    def _next(
        self, before: _State | None, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig
    ) -> _State:
        position, catalog = snapshot.position(library), snapshot.catalog_id()
        if before is not None and (before.view.position > position or before.catalog != catalog):
            before = None  # the catalog was put back, or cleared
        kept: list[Document] = []
        changed: set[str] | None = None
        if before is not None:
            changes = snapshot.changes(library, before.view.position)
            self._contents.forget(change.content_id for change in changes)
            changed = {change.doc_id for change in changes}
            kept = [document for document in before.view.documents.values() if document.doc_id not in changed]
        new = [document for document in snapshot.documents(library, changed) if document.published]
        documents = {d.doc_id: d for d in sorted([*kept, *new], key=lambda document: document.path)}
        cards = {doc_id: document.card for doc_id, document in documents.items()}
        view = before.view if before else None
        router = Router(cards, knowledge.aliases, scoring, view.router if view else None)
        vectors = VectorsOf.next(before.vectors if before else None, snapshot, library, documents, new)
        return _State(LibraryView(position, documents, router, view), vectors, catalog)
