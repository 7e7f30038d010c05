"""The vector index on a Qdrant server: collections that every process of a library fills and searches together.

Nobody owns a collection. Each process applies the change log from the recorded position by asking the source
what is published now, so that several may apply the same change, in any order (server_collection.py says why
that is safe). A process that finds that the log moved on while it was writing applies the rest as well, even if
others have done so: what it wrote may have been old already, and is deleted that way.

A collection's name ends in a hash of how its points are made. Another tokeniser or embedder is another
collection, so that building it disturbs nobody; one that nobody has used for a day is deleted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.index.server_collection import LAYOUT, ServerCollection
from hybrid_core.store.index.server_connection import Server
from hybrid_core.store.index.vectors import (
    FloatVector,
    IntVector,
    PointSource,
    dense_list,
    sparse_lists,
    vectors_manifest,
)
from hybrid_core.types.documents import Hit

_NEW = "new"
_ROUNDS = 5  # how often one catch-up follows a log that keeps moving
_DOCUMENTS_AT_ONCE = 100
_PATIENCE = (0.0, 0.1, 0.4)  # seconds: another process may be halfway through a change
_TOUCH_SECONDS = 3600.0
_UNUSED_SECONDS = 24 * 3600.0
_log = logging.getLogger(__name__)


def library_collection(prefix: str, catalog_id: str, library: str) -> str:
    """What the collections of a library are called, up to the hash of how their points are made."""
    words = re.sub(r"[^a-z0-9]+", "-", library.lower()).strip("-")[:24] or "library"
    return f"{prefix}{catalog_id[:12]}-{words}-{hashlib.sha256(library.encode()).hexdigest()[:10]}"


def open_server(
    server: Server,
    collection: str,
    source: PointSource,
    manifest: Mapping[str, str | int],
    dimension: int = 0,
    learned: bool = False,
) -> ServerIndex:
    """Open a library's index on a server and bring it up to date, making or repairing it as needed.

    ``collection`` is from ``library_collection``. ``manifest`` says how the vectors were made, ``dimension`` is
    that of the dense vectors, 0 without; ``learned`` says whether there are learned sparse ones. Raises
    ``StoreError`` where the server refuses, ``UnreachableError`` where it does not answer.
    """
    how = {**manifest, **vectors_manifest(dimension, learned), "layout": LAYOUT}
    made = json.dumps(how, sort_keys=True, ensure_ascii=False)
    name = f"{collection}-{hashlib.sha256(made.encode()).hexdigest()[:10]}"
    index = ServerIndex(ServerCollection(server, name, dimension, learned))
    index.catch_up(source)
    drop_collections(server, collection, unless=lambda other: other.name == name or not _unused(other))
    return index


def drop_collections(
    server: Server, collection: str, unless: Callable[[ServerCollection], bool] = lambda _: False
) -> list[str]:
    """Delete a library's collections, whatever they were made with; the names of those deleted."""
    own = re.compile(re.escape(collection) + "-[0-9a-f]{10}")
    dropped = []
    for name in server.collections():
        found = ServerCollection(server, name, 0)
        if own.fullmatch(name) and not unless(found):
            found.drop()
            dropped.append(name)
    return dropped


class ServerIndex:
    """A ``VectorIndex`` over a collection that others use too. Use ``open_server``."""

    def __init__(self, kept: ServerCollection) -> None:
        self._kept = kept
        self._following = threading.Lock()  # one catch-up at a time in this handle
        self._position = 0
        self._written: int | None = None  # position from which changes may have made old what this handle wrote
        self._verified = False  # whether the count was compared with the source since the index was made
        self._doubt = ""  # why the collection must be made anew before it is used again
        self._rebuilt = ""
        self._touched = -math.inf
        self._closed = False

    @property
    def position(self) -> int:
        return self._position

    @property
    def collection(self) -> str:
        """The collection's name on the server."""
        return self._kept.name

    @property
    def rebuilt(self) -> str:
        return self._rebuilt

    def catch_up(self, source: PointSource) -> None:
        with self._following:
            self._require_open()
            try:
                if self._doubt:
                    raise IndexDamagedError(self._doubt)
                self._follow(source)
            except IndexDamagedError as error:
                self._make(source, error.message)
                self._follow(source)
            if not self._verified and (difference := self._difference(source)):
                self._make(source, difference)
                self._follow(source)
                if difference := self._difference(source):
                    advice = "Its catalog is damaged: index the library into a new home."
                    raise IndexDamagedError(f"The rebuilt search index does not fit: {difference}.", advice)
            if time.monotonic() > self._touched + _TOUCH_SECONDS:
                self._kept.touch()
                self._touched = time.monotonic()

    def search(
        self, indices: IntVector, values: FloatVector, limit: int, doc_ids: Collection[str] | None = None
    ) -> list[Hit]:
        terms, weights = sparse_lists(indices, values)
        return self._search(bool(terms), limit, doc_ids, lambda: self._kept.search(terms, weights, limit, doc_ids))

    def search_dense(self, vector: FloatVector, limit: int, doc_ids: Collection[str] | None = None) -> list[Hit]:
        if not self._kept.dimension:
            return []
        wanted = dense_list(vector, self._kept.dimension)
        return self._search(True, limit, doc_ids, lambda: self._kept.search_dense(wanted, limit, doc_ids))

    def search_learned(
        self, indices: IntVector, values: FloatVector, limit: int, doc_ids: Collection[str] | None = None
    ) -> list[Hit]:
        terms, weights = sparse_lists(indices, values)
        asks = bool(terms) and self._kept.learned
        return self._search(asks, limit, doc_ids, lambda: self._kept.search_learned(terms, weights, limit, doc_ids))

    def _search(
        self, asks: bool, limit: int, doc_ids: Collection[str] | None, find: Callable[[], list[Hit]]
    ) -> list[Hit]:
        self._require_open()
        if not asks or limit < 1 or (doc_ids is not None and not doc_ids):
            return []
        try:
            return find()
        except IndexDamagedError as error:
            self._doubt = error.message
            raise

    def count(self) -> int:
        self._require_open()
        return self._kept.count()

    def close(self) -> None:
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError("The search index is closed.")

    def _follow(self, source: PointSource) -> None:
        """Apply the log until it stands still, or a few times."""
        for _round in range(_ROUNDS):
            recorded = self._kept.recorded()  # before the source is asked, or it could look as if it were ahead
            if recorded is None:
                raise IndexDamagedError(_NEW)
            newest = source.position()
            if newest < recorded:
                raise IndexDamagedError("it is ahead of the catalog")
            self._position = recorded
            start = recorded if self._written is None else min(recorded, self._written)
            if start == newest:
                self._written = None
                return
            self._apply(source, start, newest)

    def _apply(self, source: PointSource, start: int, newest: int) -> None:
        latest: dict[str, int] = {}
        for change in source.changes(start):
            latest.pop(change.doc_id, None)  # so that the rest stays in order of seq
            latest[change.doc_id] = change.seq
            newest = max(newest, change.seq)
        published = dict(source.published())  # after the changes were read: what is published now, or later
        self._writing(newest)
        changed = list(latest)
        for first in range(0, len(changed), _DOCUMENTS_AT_ONCE):
            some = changed[first : first + _DOCUMENTS_AT_ONCE]
            present = [(doc_id, published[doc_id]) for doc_id in some if doc_id in published]
            self._kept.write((point for version in present for point in source.points(*version)), newest)
            self._kept.delete_older(newest, some)
            if some[-1] != changed[-1]:
                self._advance(latest[some[-1]])  # so that a kill costs a part only
        self._advance(newest)
        self._written = newest

    def _make(self, source: PointSource, reason: str) -> None:
        """Fill the collection with everything that is published, over what it holds: searches go on meanwhile."""
        _log.info("building the search index %s (%s)", self._kept.name, reason)
        recorded, newest = self._kept.recorded(), source.position()
        if recorded is not None and recorded > newest:
            self._kept.drop()  # of a catalog that was put back to an earlier state
        self._kept.create()
        self._writing(newest)
        self._kept.write((point for version in source.published() for point in source.points(*version)), newest)
        self._kept.delete_older(newest)
        self._advance(newest)
        self._written, self._verified, self._doubt = newest, False, ""
        self._rebuilt = "" if reason == _NEW else reason

    def _writing(self, at: int) -> None:
        """Note before writing that from ``at`` on a change may make it old, also where the writing fails."""
        self._written = at if self._written is None else min(self._written, at)

    def _advance(self, position: int) -> None:
        self._kept.advance(position)
        self._position = max(self._position, position)

    def _difference(self, source: PointSource) -> str:
        """How the index differs from the source, "" where it does not or somebody moved on meanwhile."""
        difference = ""
        for pause in _PATIENCE:
            time.sleep(pause)
            position = source.position()
            expected, count = source.expected_vectors(), self._kept.count()
            if not self._kept.recorded() == position == source.position():
                return ""
            if count == expected:
                self._verified = True
                return ""
            difference = f"it holds {count} vectors and the catalog {expected}"
        return difference


def _unused(collection: ServerCollection) -> bool:
    used = collection.used()
    return used is not None and used < time.time() - _UNUSED_SECONDS
