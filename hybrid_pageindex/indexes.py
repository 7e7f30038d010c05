"""The open vector indexes of one home: one per library, made for the embedder that serves it."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from urllib.parse import quote

from hybrid_core import text
from hybrid_core.bm25 import Bm25
from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog import Catalog
from hybrid_core.store.change_log import CatalogSource
from hybrid_core.store.qdrant_edge import EdgeIndex, open_edge

BM25 = Bm25()
_MANIFEST: dict[str, str | int] = {
    "points": 1, "tokeniser": text.TOKENISER, "bm25": f"k1={BM25.k1} b={BM25.b} average={BM25.average}",
}  # fmt: skip
"""What a vector index depends on; one that says otherwise is rebuilt from the catalog."""


class Indexes:
    """Opens vector indexes and keeps them up to date. Safe for several threads."""

    def __init__(self, catalog: Catalog, home: Path) -> None:
        self._catalog, self._home = catalog, home
        self._lock = threading.Lock()
        self._open: dict[str, tuple[str, EdgeIndex, CatalogSource]] = {}  # by library: embedder, index, source

    def ready(self, library: str) -> EdgeIndex:
        """A library's vector index with everything published so far.

        Raises NotFoundError for an unknown library, StoreError where the index cannot be written.
        """
        with self._catalog.snapshot() as snapshot:
            known = snapshot.libraries()
            serving, _ = snapshot.embedder(library)
            catalog_id = snapshot.catalog_id()
        if library not in known:
            there = f"There are: {', '.join(known)}." if known else "Nothing is indexed yet: use the index command."
            raise NotFoundError(f"No library '{library}' in {self._home}.", there)
        fingerprint, dimension = (serving.fingerprint, serving.dimension) if serving else ("", 0)
        with self._lock:
            held = self._open.get(library)
            if held is not None and held[0] != fingerprint:
                held[1].close()
                held = None
            if held is None:
                source = CatalogSource(self._catalog, library, BM25, serving)
                manifest = _MANIFEST | {"catalog": catalog_id, "embedder": fingerprint}
                index = open_edge(index_folder(self._home, library), source, manifest, dimension)
                self._open[library] = (fingerprint, index, source)
                return index
        held[1].catch_up(held[2])
        return held[1]

    def forget(self, library: str) -> None:
        """Close a library's vector index and delete it."""
        with self._lock:
            if held := self._open.pop(library, None):
                held[1].close()
        shutil.rmtree(index_folder(self._home, library).parent, ignore_errors=True)

    def close(self) -> None:
        """Give every index back to other processes."""
        with self._lock:
            for _, index, _ in self._open.values():
                index.close()
            self._open.clear()


def index_folder(home: Path, library: str) -> Path:
    """Where a library's vector index lies; the name is escaped so that any script makes a safe folder."""
    return home / "libraries" / quote(library, safe=" ") / "vectors"
