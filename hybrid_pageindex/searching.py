"""Searching through the engine: one open vector index and one view per library, kept between questions."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from hybrid_core import text
from hybrid_core.bm25 import Bm25
from hybrid_core.errors import IndexDamagedError, NotFoundError, UsageError
from hybrid_core.results import SearchResult
from hybrid_core.store.catalog import Catalog
from hybrid_core.store.change_log import CatalogSource
from hybrid_core.store.qdrant_edge import EdgeIndex, open_edge
from hybrid_core.store.snapshot import Snapshot
from hybrid_core.types import Document, Effort
from retrievers.content import ContentCache
from retrievers.expert import Expert, load_expert
from retrievers.options import LibraryView, SearchOptions
from retrievers.pipeline import search
from retrievers.route import Router
from retrievers.section_scores import section_scores

MOST_RESULTS = 1000
BM25 = Bm25()
MANIFEST: dict[str, str | int] = {
    "points": 1, "tokeniser": text.TOKENISER, "bm25": f"k1={BM25.k1} b={BM25.b} average={BM25.average}",
}  # fmt: skip
"""What a vector index depends on; one that says otherwise is rebuilt from the catalog."""


class Searcher:
    """Answers questions over the libraries of one home. Safe for several threads."""

    def __init__(self, catalog: Catalog, home: Path) -> None:
        self._catalog, self._home = catalog, home
        self.contents = ContentCache()
        self._lock = threading.Lock()
        self._indexes: dict[str, EdgeIndex] = {}
        self._views: dict[tuple[str, str], LibraryView] = {}
        self._experts: dict[str, tuple[float, Expert]] = {}

    def search(
        self,
        question: str,
        *,
        library: str,
        documents: tuple[str, ...] = (),
        where: tuple[str, ...] = (),
        top_k: int = 5,
        effort: Effort = "auto",
        expert: str = "none",
    ) -> SearchResult:
        if not 1 <= top_k <= MOST_RESULTS:
            raise UsageError(f"top_k is {top_k}.", f"Choose 1 to {MOST_RESULTS}.")
        began = time.perf_counter()
        knowledge = self._expert(expert)
        index = self._ready_index(library)
        options = SearchOptions(library, documents, where, top_k, effort)
        with self._catalog.snapshot() as snapshot:
            view = self._view(snapshot, library, expert, knowledge)
            opened = time.perf_counter()
            try:
                result = search(question, options, view, snapshot, index, self.contents, knowledge)
            except IndexDamagedError:
                index.catch_up(CatalogSource(self._catalog, library, BM25))  # rebuilds what is damaged
                result = search(question, options, view, snapshot, index, self.contents, knowledge)
        waited = round((opened - began) * 1000, 3)
        timings = {
            "open": waited,
            **result.timings_ms,
            "total": round(result.timings_ms["total"] + waited, 3),
        }
        notes = result.notes
        if index.rebuilt:
            notes = (*notes, f"the vector index was rebuilt from the catalog ({index.rebuilt})")
        return replace(result, timings_ms=timings, notes=notes)

    def section_scores(self, question: str, library: str, document: Document) -> list[tuple[float, tuple[int, ...]]]:
        """(NodeScore, best pages) of every section of a document, in preorder."""
        index = self._ready_index(library)
        with self._catalog.snapshot() as snapshot:
            view = self._view(snapshot, library, "none", Expert())
            return section_scores(question, document, view, snapshot, index, self.contents)

    def points(self, library: str) -> int:
        """How many pages a library's vector index holds."""
        return self._ready_index(library).count()

    def forget(self, library: str) -> None:
        """Close a library's vector index and delete it."""
        with self._lock:
            if index := self._indexes.pop(library, None):
                index.close()
        shutil.rmtree(index_folder(self._home, library).parent, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            for index in self._indexes.values():
                index.close()
            self._indexes.clear()

    def _ready_index(self, library: str) -> EdgeIndex:
        """The library's vector index, up to the newest change."""
        source = CatalogSource(self._catalog, library, BM25)
        with self._lock:
            index = self._indexes.get(library)
            if index is None:
                self._check_library(library)
                with self._catalog.snapshot() as snapshot:
                    manifest = MANIFEST | {"catalog": snapshot.catalog_id()}
                index = self._indexes[library] = open_edge(index_folder(self._home, library), source, manifest)
                return index
        index.catch_up(source)
        return index

    def _check_library(self, library: str) -> None:
        with self._catalog.snapshot() as snapshot:
            known = snapshot.libraries()
        if library not in known:
            there = f"There are: {', '.join(known)}." if known else "Nothing is indexed yet: use the index command."
            raise NotFoundError(f"No library '{library}' in {self._home}.", there)

    def _view(self, snapshot: Snapshot, library: str, expert: str, knowledge: Expert) -> LibraryView:
        position = snapshot.position(library)
        key = (library, expert)
        view = self._views.get(key)
        if view is None or view.position != position:
            documents = {d.doc_id: d for d in snapshot.documents(library) if d.published}
            router = Router({doc_id: d.card for doc_id, d in documents.items()}, knowledge.aliases)
            view = self._views[key] = LibraryView(position, documents, router)
        return view

    def _expert(self, name: str) -> Expert:
        if name == "none":
            return Expert()
        path = Path(name).expanduser()
        changed = path.stat().st_mtime if path.exists() else 0.0
        held = self._experts.get(name)
        if held is None or held[0] != changed:
            held = self._experts[name] = (changed, load_expert(path))
            self._views = {key: view for key, view in self._views.items() if key[1] != name}
        return held[1]


def index_folder(home: Path, library: str) -> Path:
    """Where a library's vector index lies; the name is escaped so that any script makes a safe folder."""
    return home / "libraries" / quote(library, safe=" ") / "vectors"
