"""What searches go by: each library as it is published, brought up to the change log between two searches."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import LibraryState, Snapshot
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.services.embedding import VectorsOf
from hybrid_pageindex.services.view_files import ViewFiles
from retrievers.documents.content_cache import ContentCache
from retrievers.documents.documents import Documents
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Router
from retrievers.query.expert import Expert

_KEPT_FROM = 300  # documents: fewer are read again as quickly
_MOST_ABOVE, _SHARE_ABOVE = 200, 0.02  # documents in memory, beside those in the file, or a share of the library


@dataclass(frozen=True, slots=True)
class _State:
    view: LibraryView
    vectors: VectorsOf | None  # None where the library has no embedder
    catalog: str  # the catalog's id: after it was cleared its log begins anew
    mark: int  # of the change at its position: a log that was put back and went on has others
    stored: int = -1  # the position of the file that it begins with

    def fits(self, now: LibraryState, knowledge: Expert, scoring: ScoringConfig) -> bool:
        """Whether it is the library of a snapshot, as a search with this knowledge sees it."""
        return (
            self.view.position == now.position
            and self.mark == now.mark
            and self.catalog == now.catalog
            and self.view.router.made_with(knowledge.aliases, scoring)
            and now.serving == (self.vectors and self.vectors.embedder)
        )

    @property
    def documents(self) -> Documents:
        assert isinstance(self.view.documents, Documents)
        return self.view.documents

    @property
    def large(self) -> bool:
        """Whether more than little of it is in memory and in no file."""
        count = len(self.documents)
        return count >= _KEPT_FROM and self.documents.above > max(_MOST_ABOVE, _SHARE_ABOVE * count)


@dataclass(slots=True)
class _Held:
    """``lock`` is around making the next state: whoever needs it waits, everybody else goes by theirs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: _State | None = None
    writing: threading.Thread | None = None


class LibraryViews:
    """Keeps one state for each library and expert. Safe for several threads; libraries do not wait for each other.

    Of a large library nearly all of it lies in a file, which is written anew when much has changed.
    """

    def __init__(self, catalog: Catalog, contents: ContentCache, files: ViewFiles) -> None:
        """``contents`` forgets what was replaced or removed."""
        self._catalog, self._contents, self._files = catalog, contents, files
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
            if state is not None and not state.fits(snapshot.state(library), knowledge, scoring):
                state = None
        if state is None:
            with held.lock, self._catalog.snapshot() as snapshot:
                if held.state is None or not held.state.fits(snapshot.state(library), knowledge, scoring):
                    held.state = self._next(held, snapshot, library, knowledge, scoring)
                state = held.state
        return state.view, state.vectors

    def forget(self) -> None:
        """Let go of all states: what they were read from is damaged."""
        self._held.clear()

    def close(self) -> None:
        """Wait for files that are being written."""
        for held in list(self._held.values()):
            if held.writing is not None:
                held.writing.join()

    def _next(self, held: _Held, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig) -> _State:
        before = held.state
        ahead = before is not None and before.view.position > snapshot.position(library)
        if before is not None and (ahead or before.catalog != snapshot.catalog_id()):
            before = None  # the catalog was put back, or cleared
        if before is not None and snapshot.mark(library, before.view.position) != before.mark:
            before = None  # it was put back, and went on to the same number
        if before is not None and not before.view.router.made_with(knowledge.aliases, scoring):
            before = None  # there may be a file of these
        if before is None or before.large:
            after = before.stored if before else -1
            before = self._stored(snapshot, library, knowledge, scoring, after) or before
        made = self._brought_up(before, snapshot, library, knowledge, scoring)
        if made.large:
            if before is None:  # once: all was read
                self._write(made, library, knowledge, scoring)
                return self._stored(snapshot, library, knowledge, scoring, -1) or made
            if held.writing is None or not held.writing.is_alive():
                held.writing = threading.Thread(target=self._write, args=(made, library, knowledge, scoring))
                held.writing.start()
        return made

    def _brought_up(
        self, before: _State | None, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig
    ) -> _State:
        """The state of a snapshot, made of one before and of what changed since."""
        changed: set[str] | None = None
        if before is not None:
            changes = snapshot.changes(library, before.view.position)
            self._contents.forget(change.content_id for change in changes)
            changed = {change.doc_id for change in changes}
        new = [document for document in snapshot.documents(library, changed) if document.published]
        documents = before.documents.published(new, changed or ()) if before else Documents.of(new)
        view = before.view if before else None
        router = Router(documents.cards, knowledge.aliases, scoring, view.router if view else None, documents.order)
        made = LibraryView(snapshot.position(library), documents, router, view)
        vectors = VectorsOf.next(before.vectors if before else None, snapshot, library, made.contents, new)
        mark = snapshot.mark(library, made.position) or 0
        return _State(made, vectors, snapshot.catalog_id(), mark, before.stored if before else -1)

    def _stored(
        self, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig, after: int
    ) -> _State | None:
        found = self._files.newest(snapshot, library, knowledge, scoring, after)
        if found is None:
            return None
        view, beside = found
        vectors = VectorsOf.from_json(beside["vectors"])
        return _State(view, vectors, snapshot.catalog_id(), beside["mark"], view.position)

    def _write(self, state: _State, library: str, knowledge: Expert, scoring: ScoringConfig) -> None:
        beside = {"vectors": state.vectors.to_json() if state.vectors else None, "mark": state.mark}
        self._files.write(library, state.catalog, state.view, beside, knowledge, scoring)
