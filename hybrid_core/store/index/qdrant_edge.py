"""The embedded vector index: a Qdrant Edge shard that follows the catalog and is rebuilt on any doubt.

Each handle has a shard of its own: the first owns the library's shard, any other (in this process too) a
private copy. ``catch_up`` applies the change log; its position is recorded only after a flush, so that a
kill at any moment leaves a replay, which changes nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.index.edge_shard import Shard
from hybrid_core.store.index.recorded_shard import RecordedShard
from hybrid_core.store.index.vectors import Change, FloatVector, IntVector, PointSource, dense_list, sparse_lists
from hybrid_core.types.documents import Hit

_ROUNDS = 5  # how often one catch-up follows a log that keeps moving
_CHECKPOINT_POINTS = 20_000
_log = logging.getLogger(__name__)


def open_edge(
    folder: Path,
    source: PointSource,
    manifest: Mapping[str, str | int],
    dimension: int = 0,
    learned: bool = False,
) -> EdgeIndex:
    """Open the index in ``folder`` and bring it up to date, making, copying or rebuilding it as needed.

    ``manifest`` says how the vectors were made (tokeniser, average length, …); an index made otherwise is
    rebuilt. ``dimension`` is that of the dense vectors, 0 without; ``learned`` says whether there are learned
    sparse ones. Raises ``StoreError`` where the disk is too full and ``BusyError`` where another process copies
    the shard for longer than a minute.
    """
    with _translated():
        index = EdgeIndex(RecordedShard(folder, manifest, dimension, learned))
    try:
        index.open(source)
    except BaseException:
        index.close()
        raise
    return index


class EdgeIndex:
    """A ``VectorIndex`` over one shard. Use ``open_edge``."""

    def __init__(self, kept: RecordedShard) -> None:
        self._kept = kept
        self._lock = threading.RLock()  # around every use of the shard
        self._following = threading.Lock()  # one catch-up at a time
        self._verified = False  # whether the count was compared with the source since the last write
        self._doubt = ""  # why the shard must be rebuilt before it is used again
        self._rebuilt = ""

    @property
    def position(self) -> int:
        return self._kept.position

    @property
    def private(self) -> bool:
        """Whether another handle owns the library's shard and this one has a copy."""
        return self._kept.private

    @property
    def rebuilt(self) -> str:
        """Why this handle rebuilt the shard from the source, "" where it did not or it was the first time."""
        return self._rebuilt

    def open(self, source: PointSource) -> None:
        """Load, copy or build the shard, then catch up. Called once, by ``open_edge``."""
        with _translated(), self._lock:
            self._doubt = self._kept.open(source.position)
        self.catch_up(source)
        try:
            with _translated(), self._following, self._lock:
                self._kept.settle()
        except IndexDamagedError as error:
            self._doubt = error.message
            self.catch_up(source)

    def catch_up(self, source: PointSource) -> None:
        with _translated(), self._following:
            self._kept.require_open()
            try:
                self._trust()
                self._follow(source)
            except IndexDamagedError as error:
                self._rebuild(source, error.message)
                self._follow(source)
            if not self._verified and (difference := self._difference(source)):
                self._rebuild(source, difference)
                self._follow(source)
                if difference := self._difference(source):
                    advice = "Its catalog is damaged: index the library into a new home."
                    raise IndexDamagedError(f"The rebuilt search index does not fit: {difference}.", advice)

    def search(
        self, indices: IntVector, values: FloatVector, limit: int, doc_ids: Collection[str] | None = None
    ) -> list[Hit]:
        terms, weights = sparse_lists(indices, values)
        return self._search(bool(terms), limit, doc_ids, lambda shard: shard.search(terms, weights, limit, doc_ids))

    def search_dense(self, vector: FloatVector, limit: int, doc_ids: Collection[str] | None = None) -> list[Hit]:
        if not self._kept.dimension:
            return []
        wanted = dense_list(vector, self._kept.dimension)
        return self._search(True, limit, doc_ids, lambda shard: shard.search_dense(wanted, limit, doc_ids))

    def search_learned(
        self, indices: IntVector, values: FloatVector, limit: int, doc_ids: Collection[str] | None = None
    ) -> list[Hit]:
        terms, weights = sparse_lists(indices, values)
        asks = bool(terms) and self._kept.learned
        return self._search(asks, limit, doc_ids, lambda shard: shard.search_learned(terms, weights, limit, doc_ids))

    def _search(
        self, asks: bool, limit: int, doc_ids: Collection[str] | None, find: Callable[[Shard], list[Hit]]
    ) -> list[Hit]:
        with self._lock:
            shard = self._kept.shard
            self._trust()
            if not asks or limit < 1 or (doc_ids is not None and not doc_ids):
                return []
            try:
                return find(shard)
            except IndexDamagedError as error:
                self._doubt = error.message
                self._kept.distrust()
                raise

    def count(self) -> int:
        with self._lock:
            return self._kept.shard.count()

    def close(self) -> None:
        with self._following, self._lock:
            self._kept.close()

    def _trust(self) -> None:
        if self._doubt:
            raise IndexDamagedError(self._doubt)

    def _follow(self, source: PointSource) -> None:
        """Apply the log until it stands still, or a few times."""
        for _round in range(_ROUNDS):
            newest = source.position()
            if newest == self.position:
                return
            if newest < self.position:
                raise IndexDamagedError("it is ahead of the catalog")
            self._apply(source, newest)

    def _apply(self, source: PointSource, newest: int) -> None:
        latest: dict[str, Change] = {}
        for change in source.changes(self.position):
            latest.pop(change.doc_id, None)  # so that the rest stays in order of seq
            latest[change.doc_id] = change
            newest = max(newest, change.seq)
        self._verified = False
        with self._kept.writing():
            self._kept.begin()
            unsaved = 0
            for change in latest.values():
                unsaved += self._apply_change(source, change)
                if unsaved >= _CHECKPOINT_POINTS:
                    with self._lock:
                        self._kept.save(change.seq, more=True)
                    unsaved = 0
            with self._lock:
                self._kept.save(newest)

    def _apply_change(self, source: PointSource, change: Change) -> int:
        points = [] if change.content_id is None else list(source.points(change.doc_id, change.content_id))
        with self._lock:
            written = set(self._kept.shard.upsert(points))
            touched = len(written) + self._kept.shard.delete_others(change.doc_id, keep=written)
            self._kept.touched(touched)
        return touched

    def _rebuild(self, source: PointSource, reason: str) -> None:
        first = reason == "new"
        _log.info("building the search index (%s)", reason)
        with self._kept.writing(), self._lock:
            self._doubt = reason  # until it is built to the end
            position = source.position()  # before the versions are listed: what changes meanwhile is replayed
            shard = self._kept.start_over()
            points = (point for version in source.published() for point in source.points(*version))
            self._kept.touched(sum(1 for _ in shard.upsert(points)))
            self._kept.save(position)
            self._verified, self._doubt, self._rebuilt = False, "", "" if first else reason

    def _difference(self, source: PointSource) -> str:
        """How the index differs from the source, "" where it does not or the source moved on meanwhile."""
        position = source.position()
        expected = source.expected_vectors()
        if not position == self.position == source.position():
            return ""
        count = self.count()
        self._verified = count == expected
        return "" if self._verified else f"it holds {count} vectors and the catalog {expected}"


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        advice = "Look at the permissions and the free space of its folder."
        raise StoreError(f"The search index cannot be read or written: {error}.", advice) from error
