"""The open vector indexes of one home: one per library, made for the embedder that serves it."""

from __future__ import annotations

import importlib.metadata
import shutil
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.index.catalog_source import CatalogSource
from hybrid_core.store.index.edge.folders import claim
from hybrid_core.store.index.edge.store import open_edge
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.text import tokens
from hybrid_core.text.bm25 import Bm25

if TYPE_CHECKING:
    from hybrid_core.store.index.server.connection import Server

Backend = Literal["embedded", "server"]
BM25 = Bm25()
_MANIFEST: dict[str, str | int] = {
    "points": 1, "tokeniser": tokens.TOKENISER, "bm25": f"k1={BM25.k1} b={BM25.b} average={BM25.average}",
}  # fmt: skip
"""What a vector index depends on; one that says otherwise is rebuilt from the catalog."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the Qdrant server is, "" where there is none; ``prefix`` begins the names of our collections."""

    url: str = ""
    api_key: str = field(default="", repr=False)
    prefix: str = "pageindex-"


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a library's index is made now, when its change log stands at ``position``."""

    position: int
    source: CatalogSource
    manifest: Mapping[str, str | int]
    embedder: str
    dimension: int
    learned: bool


@dataclass(slots=True)
class _Handle:
    """One library's open index, None while it is closed; ``lock`` is around opening and closing it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: VectorIndex | None = None
    embedder: str = ""  # whose vectors it holds

    def close(self) -> None:
        if self.index is not None:
            self.index.close()
            self.index = None


class Indexes:
    """Opens vector indexes and keeps them up to date, on the server where one is set. Safe for several threads.

    The server's modules are imported on first use: they need an extra.
    """

    def __init__(self, catalog: Catalog, home: Path, address: ServerAddress = ServerAddress()) -> None:
        self._catalog, self._home, self._address = catalog, home, address
        self._handles: dict[str, _Handle] = {}  # by library
        self._connecting = threading.Lock()
        self._server: Server | None = None

    @property
    def backend(self) -> Backend:
        """Which kind of index serves."""
        return "server" if self._address.url else "embedded"

    def ready(self, library: str) -> VectorIndex:
        """A library's vector index with everything that is published when this is called.

        Raises NotFoundError for an unknown library, StoreError where the index cannot be written or the
        server does not answer.
        """
        plan, handle = self._plan(library), self._handle(library)
        with handle.lock:
            if handle.embedder != plan.embedder:
                handle.close()
            if handle.index is None:
                handle.index, handle.embedder = self._opened(plan, library, self.backend), plan.embedder
            index = handle.index
        index.catch_up(plan.source, plan.position)
        return index

    def build(self, library: str, backend: Backend) -> tuple[VectorIndex, CatalogSource]:
        """A new handle to a library's index of either kind, complete, and what it is derived from; to be closed."""
        plan = self._plan(library)
        with self._handle(library).lock:
            return self._opened(plan, library, backend), plan.source

    def drop(self, library: str, backend: Backend) -> bool:
        """Delete a library's index of one kind; False where there is none, or another process holds the embedded."""
        handle = self._handle(library)
        with handle.lock:
            if self.backend == backend:
                handle.close()
            if backend == "server":
                return bool(self._drop_collections(library))
            return _drop_folder(index_folder(self._home, library))

    def embedded(self, library: str) -> bool:
        """Whether a library has an embedded index, used or not."""
        return index_folder(self._home, library).exists()

    def forget(self, library: str) -> None:
        """Close a library's vector index and delete it."""
        handle = self._handle(library)
        with handle.lock:
            handle.close()
            if self._address.url:
                self._drop_collections(library)
        shutil.rmtree(index_folder(self._home, library).parent, ignore_errors=True)

    def check(self) -> str:
        """What holds the indexes, with its version. Raises StoreError where a server cannot be used."""
        if not self._address.url:
            return f"Qdrant Edge {importlib.metadata.version('qdrant-edge-py')}"
        server = self._connected()
        client = importlib.metadata.version("qdrant-client")
        return f"Qdrant server {server.version()} at {server.url} (qdrant-client {client})"

    def close(self) -> None:
        """Give every index back to other processes."""
        for handle in list(self._handles.values()):
            with handle.lock:
                handle.close()
        with self._connecting:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _handle(self, library: str) -> _Handle:
        return self._handles.setdefault(library, _Handle())  # one step: no lock is needed

    def _plan(self, library: str) -> _Plan:
        with self._catalog.snapshot() as snapshot:
            snapshot.require_library(library)
            serving, _ = snapshot.embedder(library)
            catalog_id, position = snapshot.catalog_id(), snapshot.position(library)
        fingerprint, dimension, learned = ("", 0, False)
        if serving is not None:
            fingerprint, dimension, learned = serving.fingerprint, serving.dimension, serving.sparse
        source = CatalogSource(self._catalog, library, BM25, serving)
        manifest = _MANIFEST | {"catalog": catalog_id, "embedder": fingerprint}
        return _Plan(position, source, manifest, fingerprint, dimension, learned)

    def _opened(self, plan: _Plan, library: str, backend: Backend) -> VectorIndex:
        if backend == "embedded":
            folder = index_folder(self._home, library)
            return open_edge(folder, plan.source, plan.manifest, plan.dimension, plan.learned)
        from hybrid_core.store.index.server.opening import open_server

        collection = self._collection(library)
        return open_server(self._connected(), collection, plan.source, plan.manifest, plan.dimension, plan.learned)

    def _drop_collections(self, library: str) -> list[str]:
        from hybrid_core.store.index.server.opening import drop_collections

        return drop_collections(self._connected(), self._collection(library))

    def _collection(self, library: str) -> str:
        from hybrid_core.store.index.server.opening import library_collection

        with self._catalog.snapshot() as snapshot:
            return library_collection(self._address.prefix, snapshot.catalog_id(), library)

    def _connected(self) -> Server:
        with self._connecting:
            if self._server is None:
                from hybrid_core.store.index.server.connection import connect

                self._server = connect(self._address.url, self._address.api_key)
            return self._server


def index_folder(home: Path, library: str) -> Path:
    """Where a library's vector index lies; the name is escaped so that any script makes a safe folder."""
    return home / "libraries" / quote(library, safe=" ") / "vectors"


def _drop_folder(folder: Path) -> bool:
    if not folder.exists():
        return False
    place = claim(folder)
    try:
        if place.private:  # another process searches with it
            return False
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        place.release()
    with suppress(OSError):
        folder.parent.rmdir()
    return True
