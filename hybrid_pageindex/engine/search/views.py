"""Views of libraries, that is their documents and the router that ranks documents, held ready for searches.

Views are updated from the catalog's change log and stored as files in the home.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.catalog.snapshot import LibraryState, Snapshot
from hybrid_core.store.home import library_folder, unwritable
from hybrid_core.store.mapped import MappedFile
from hybrid_core.text.tokens import TOKENISER
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.engine.models.embedders import VectorsOf
from retrievers.candidates.library import VERSION, Documents, LibraryView, read_view, write_view
from retrievers.candidates.router import Router
from retrievers.query.expert import Expert
from retrievers.trees.contents import ContentCache

_MAX_FILES = 4  # files per library, since searches with other nicknames or scoring numbers have their own
_log = logging.getLogger(__name__)


class ViewFiles:
    """The stored views of one home. A file is replaced, never changed, so several processes may use it."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def newest(
        self, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig, after: int = -1
    ) -> tuple[LibraryView, Mapping[str, Any]] | None:
        """Return the newest stored view of a library and the header of its file, None if there is none after ``after``.

        ``after`` is a position in the change log. Delete files of another catalog, and files with changes that the
        snapshot lacks.
        """
        catalog, position = snapshot.catalog_id(), snapshot.position(library)
        mark = _mark(knowledge, scoring)
        for path in sorted(self._folder(library).glob(f"{mark}-*.view"), key=_position, reverse=True):
            if _position(path) <= after:
                return None
            try:
                file = MappedFile(path)
                at = file.head["position"]
                same = file.head["catalog"] == catalog and file.head["mark"] == snapshot.mark(library, at)
                if same and at <= position:
                    return read_view(file, knowledge.aliases, scoring), file.head
            except FileNotFoundError:
                continue  # another process has replaced it
            except (OSError, ValueError, KeyError) as error:
                _log.warning("the file %s is damaged (%s), so it is built again", path, error)
            _delete(path)
        return None

    def write(
        self, library: str, catalog: str, view: LibraryView, extra: Mapping[str, Any], knowledge: Expert,
        scoring: ScoringConfig,
    ) -> None:  # fmt: skip
        """Store a view in a file. A failure is logged, and searches then work without the file."""
        if unwritable(self._home):
            return
        folder, mark = self._folder(library), _mark(knowledge, scoring)
        try:
            write_view(folder / f"{mark}-{view.position}.view", {**extra, "catalog": catalog}, view)
        except (StoreError, IndexDamagedError) as error:
            _log.warning("the table of document cards of %s could not be saved: %s", library, error.message)
            return
        for path in folder.glob(f"{mark}-*.view"):
            if _position(path) < view.position:
                _delete(path)
        others = sorted(folder.glob("*.view"), key=_modified_at, reverse=True)
        for path in others[_MAX_FILES:]:
            _delete(path)

    def _folder(self, library: str) -> Path:
        return library_folder(self._home, library) / "views"


def _mark(knowledge: Expert, scoring: ScoringConfig) -> str:
    """Return a hash of the versions, nicknames and weights on which a view depends, besides its documents."""
    numbers = [asdict(part) for part in (scoring.linking, scoring.cards, scoring.periods, scoring.titles)]
    aliases = {name: list(nicknames) for name, nicknames in knowledge.aliases.items()}
    text = json.dumps([VERSION, SCHEMA_VERSION, TOKENISER, numbers, aliases])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _position(path: Path) -> int:
    number = path.stem.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _modified_at(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _delete(path: Path) -> None:
    with suppress(OSError):  # some systems do not delete open files; a later call does
        path.unlink(missing_ok=True)


_KEPT_FROM = 300  # documents from which a view is stored; fewer are read from the catalog as quickly
_MOST_ABOVE, _SHARE_ABOVE = 200, 0.02  # documents in memory, beside those in the file, or a share of the library


@dataclass(frozen=True, slots=True)
class _State:
    view: LibraryView
    vectors: VectorsOf | None  # None if the library has no embedder
    catalog: str  # id of the catalog, which changes when the catalog is cleared
    mark: int  # mark of the change at this position; a restored catalog has another mark there
    stored: int = -1  # position of the file that the view is based on

    def fits(self, now: LibraryState, knowledge: Expert, scoring: ScoringConfig) -> bool:
        """Return whether the view still matches the library in a snapshot, this knowledge and this scoring."""
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
        """Return whether too many documents are outside the stored file, so that it should be replaced."""
        count = len(self.documents)
        return count >= _KEPT_FROM and self.documents.above > max(_MOST_ABOVE, _SHARE_ABOVE * count)


@dataclass(slots=True)
class _Slot:
    """A cached view of a library.

    ``lock`` is held while a newer view is built; other searches keep using the old view.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: _State | None = None
    writing: threading.Thread | None = None


class LibraryViews:
    """A cache with one view per library and expert knowledge. Safe for several threads.

    Libraries do not wait for each other. Most of a large library's view is in a file, which is replaced after many
    changes.
    """

    def __init__(self, catalog: Catalog, contents: ContentCache, files: ViewFiles) -> None:
        """Create a cache of views. Replaced and removed contents are deleted from the cache ``contents``."""
        self._catalog, self._contents, self._files = catalog, contents, files
        self._held: dict[tuple[str, str], _Slot] = {}

    def published(
        self, library: str, expert: str, knowledge: Expert, scoring: ScoringConfig
    ) -> tuple[LibraryView, VectorsOf | None]:
        """Return the view and the vectors of a library for one search, read from one snapshot.

        ``expert`` is the name of ``knowledge``.
        """
        slot = self._held.setdefault((library, expert), _Slot())
        with self._catalog.snapshot() as snapshot:
            state = slot.state
            if state is not None and not state.fits(snapshot.state(library), knowledge, scoring):
                state = None
        if state is None:
            with slot.lock, self._catalog.snapshot() as snapshot:
                if slot.state is None or not slot.state.fits(snapshot.state(library), knowledge, scoring):
                    slot.state = self._next(slot, snapshot, library, knowledge, scoring)
                state = slot.state
        return state.view, state.vectors

    def forget(self) -> None:
        """Drop all cached views, because the catalog they were read from is damaged."""
        self._held.clear()

    def close(self) -> None:
        """Wait until files that are being written are complete."""
        for slot in list(self._held.values()):
            if slot.writing is not None:
                slot.writing.join()

    def _next(self, slot: _Slot, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig) -> _State:
        before = slot.state
        ahead = before is not None and before.view.position > snapshot.position(library)
        if before is not None and (ahead or before.catalog != snapshot.catalog_id()):
            before = None  # the catalog was restored or cleared
        if before is not None and snapshot.mark(library, before.view.position) != before.mark:
            before = None  # the catalog was restored and then reached the same position
        if before is not None and not before.view.router.made_with(knowledge.aliases, scoring):
            before = None  # a file with this knowledge may exist
        if before is None or before.large:
            after = before.stored if before else -1
            before = self._stored(snapshot, library, knowledge, scoring, after) or before
        state = self._brought_up(before, snapshot, library, knowledge, scoring)
        if state.large:
            if before is None:  # only once, since everything was read
                self._write(state, library, knowledge, scoring)
                return self._stored(snapshot, library, knowledge, scoring, -1) or state
            if slot.writing is None or not slot.writing.is_alive():
                slot.writing = threading.Thread(target=self._write, args=(state, library, knowledge, scoring))
                slot.writing.start()
        return state

    def _brought_up(
        self, before: _State | None, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig
    ) -> _State:
        """Return the state at a snapshot, made from the previous state and the changes since then."""
        changed: set[str] | None = None
        if before is not None:
            changes = snapshot.changes(library, before.view.position)
            self._contents.forget(change.content_id for change in changes)
            changed = {change.doc_id for change in changes}
        new = [document for document in snapshot.documents(library, changed) if document.published]
        documents = before.documents.published(new, changed or ()) if before else Documents.of(new)
        view = before.view if before else None
        router = Router(documents.cards, knowledge.aliases, scoring, view.router if view else None, documents.order)
        view_now = LibraryView(snapshot.position(library), documents, router, view)
        vectors = VectorsOf.next(before.vectors if before else None, snapshot, library, view_now.contents, new)
        mark = snapshot.mark(library, view_now.position) or 0
        return _State(view_now, vectors, snapshot.catalog_id(), mark, before.stored if before else -1)

    def _stored(
        self, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig, after: int
    ) -> _State | None:
        stored = self._files.newest(snapshot, library, knowledge, scoring, after)
        if stored is None:
            return None
        view, extra = stored
        vectors = VectorsOf.from_json(extra["vectors"])
        return _State(view, vectors, snapshot.catalog_id(), extra["mark"], view.position)

    def _write(self, state: _State, library: str, knowledge: Expert, scoring: ScoringConfig) -> None:
        extra = {"vectors": state.vectors.to_json() if state.vectors else None, "mark": state.mark}
        self._files.write(library, state.catalog, state.view, extra, knowledge, scoring)
