"""One Qdrant Edge shard and its safety checks. Only this module calls Edge's data methods.

Edge is a beta version. So every vector is checked before it is written, since an invalid one can make the shard
unreadable. Only whole points are written, by id, in small batches, since a call holds the GIL. Free space is checked
first, since a full disk kills the process. Rust panics, which are not an ``Exception``, become ``IndexDamagedError``.
Never fork a process with an open shard: the child hangs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import qdrant_edge as edge

from hybrid_core.errors import BusyError, DiskFullError, IndexDamagedError, StoreError
from hybrid_core.store.database import parts
from hybrid_core.store.home import FULL_SIGNS
from hybrid_core.store.index.points import (
    BATCH,
    DENSE,
    LEARNED,
    SPARSE,
    Found,
    Point,
    Query,
    VectorName,
    point_id,
    vector_names,
)

LAYOUT = "qdrant-edge-py 0.9.0, layout 6"  # an index of another release or configuration is rebuilt
_SCROLL = 1000
_SCROLL_POINTS = 10_000
HEADROOM_BYTES = 96 << 20  # two files of the write-ahead log and the pages that Edge pre-allocates
_LOAD_BYTES = 32 << 20  # some file systems (tmpfs) allocate the holes of mapped files
_POINT_BYTES = 2048  # payload, ids and keyword indexes, estimated high
_TERM_BYTES = 32  # index and value, in the write-ahead log, the storage and the inverted index
_DOC_IDS = edge.KeywordIndexParams(memory=edge.Memory.Cached)


def shard_config(dimension: int, learned: bool = False) -> edge.EdgeConfig:
    """Return the configuration of a shard.

    ``dimension`` 0 means no dense vectors, ``learned`` adds learned sparse vectors. Exact search (m=0) is fast enough,
    lossless and needs no graph. Postings and ids are mapped from the disk. In memory they would take 3 KB per page in
    each process, load more slowly, and not be faster to search.
    """
    dense = edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Dot)  # vectors have unit length
    words = edge.EdgeSparseVectorParams(on_disk=True)
    sparse: dict[str, edge.EdgeSparseVectorParams] = {SPARSE: words}
    return edge.EdgeConfig(
        vectors={DENSE: dense} if dimension else None,
        sparse_vectors=sparse | ({LEARNED: words} if learned else {}),
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        id_tracker_memory=edge.Memory.Cached,
    )


class Batch(NamedTuple):
    """Points for one write, their ids, and an upper bound of the bytes that the write needs on the disk."""

    points: Sequence[edge.Point]
    ids: Sequence[str]
    bytes: int


class Shard:
    """A shard that is open in this process. It is not thread-safe, so its owner serialises the calls."""

    def __init__(self, folder: Path, shard: edge.EdgeShard, dimension: int, learned: bool = False) -> None:
        self.folder = folder
        self.dimension, self.learned = dimension, learned
        self._shard = shard
        self._process = os.getpid()
        self._counts: dict[VectorName, int] = {}  # counts of vectors since the last write

    @classmethod
    def create(cls, folder: Path, dimension: int, learned: bool = False) -> Shard:
        """Create an empty shard in a folder that does not exist."""
        require_space(folder, HEADROOM_BYTES)
        with _translated(folder):
            shard = edge.EdgeShard.create(str(folder), shard_config(dimension, learned))
            shard.update(edge.UpdateOperation.create_field_index("doc_id", _DOC_IDS))
            shard.flush()
        return cls(folder, shard, dimension, learned)

    @classmethod
    def load(cls, folder: Path, dimension: int, learned: bool = False) -> Shard:
        """Open an existing shard.

        Raise ``IndexDamagedError`` if it is damaged, ``BusyError`` if another process has it open, and ``StoreError``
        if the disk is full.
        """
        require_space(folder, _LOAD_BYTES)
        with _translated(folder):
            return cls(folder, edge.EdgeShard.load(str(folder)), dimension, learned)

    def prepared(self, points: Iterable[Point]) -> Iterator[Batch]:
        """Convert points to the form that Edge accepts, and yield them in batches."""
        for some in parts(points, BATCH):
            ids, vectors = [point_id(point) for point in some], [point.vectors(self.dimension) for point in some]
            numbers = sum(
                len(v[0]) if isinstance(v, tuple) else len(v) for by_name in vectors for v in by_name.values()
            )
            yield Batch(
                [
                    edge.Point(
                        key,
                        {name: _vector(vector) for name, vector in by_name.items()},
                        {"doc_id": point.doc_id, "content_id": point.content_id, "page": point.page},
                    )
                    for key, by_name, point in zip(ids, vectors, some, strict=True)
                ],
                ids,
                len(some) * _POINT_BYTES + numbers * _TERM_BYTES,
            )

    def upsert(self, batch: Batch) -> None:
        """Write a batch of points. Raise ``StoreError`` if the disk is too full."""
        require_space(self.folder, HEADROOM_BYTES + batch.bytes)
        self._update(edge.UpdateOperation.upsert_points([*batch.points]))

    def delete_others(self, doc_id: str, keep: Collection[str]) -> int:
        """Delete all points of a document except those whose ids are in ``keep``.

        Return the number of deleted points.
        """
        stale = [key for key in self._ids(doc_id) if key not in keep]
        for some in parts(stale, BATCH):
            # By id, not by filter: when the log is replayed after a crash, an id cannot match other points.
            self._update(edge.UpdateOperation.delete_points([*some]))
        return len(stale)

    def _update(self, operation: edge.UpdateOperation) -> None:
        self._counts = {}
        with self._calling() as shard:
            shard.update(operation)

    def _ids(self, doc_id: str) -> list[str]:
        ids: list[str] = []
        offset: edge.PointId | None = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=_SCROLL,
                filter=edge.Filter(must=[_of_any([doc_id])]),
                with_payload=False,
                with_vector=False,
            )
            with self._calling() as shard:
                records, offset = shard.scroll(request)
            ids += [str(record.id) for record in records]
            if offset is None:
                return ids

    def listed(self, start: str | None) -> tuple[list[str], str | None]:
        """Return a page of the shard's point ids in ascending order, from ``start`` (None: the first).

        Also return the id with which the next page begins, None at the end.
        """
        request = edge.ScrollRequest(offset=start, limit=_SCROLL_POINTS, with_payload=False, with_vector=False)
        with self._calling() as shard:
            records, following = shard.scroll(request)
        return [str(record.id) for record in records], None if following is None else str(following)

    def nearest(self, query: Query) -> list[Found]:
        """Return the best points for a query, as (id, score), best first. The query must be checked before."""
        request = edge.QueryRequest(
            limit=query.limit,
            query=edge.Query.Nearest(_vector(query.vector), using=query.using),
            filter=_query_filter(query),
            with_payload=False,
        )
        with self._calling() as shard:
            points = shard.query(request)
        return [(str(point.id), point.score) for point in points]

    def payloads(self, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        with self._calling() as shard:
            records = shard.retrieve([*ids], with_payload=True, with_vector=False)
        return {str(record.id): record.payload or {} for record in records}

    def count(self, *kinds: VectorName) -> int:
        """Return the exact number of vectors of these kinds, by default of all kinds.

        Vectors are counted instead of points, since a damaged shard may lose vectors but not their points.
        """
        return sum(map(self._count, kinds or vector_names(self.dimension, self.learned)))

    def _count(self, kind: VectorName) -> int:
        if kind not in self._counts:
            request = edge.CountRequest(exact=True, filter=edge.Filter(must=[edge.HasVectorCondition(kind)]))
            with self._calling() as shard:
                self._counts[kind] = shard.count(request)
        return self._counts[kind]

    def flush(self) -> None:
        """Write all changes to the disk."""
        with self._calling() as shard:
            shard.flush()

    def close(self) -> None:
        """Close the files of the shard. Safe to call twice."""
        with self._calling() as shard:
            shard.close()

    @contextmanager
    def _calling(self) -> Iterator[edge.EdgeShard]:
        if os.getpid() != self._process:
            raise StoreError(
                "This process was forked from one that has the search index open, so it cannot use that index.",
                "Open the engine again in the new process.",
            )
        with _translated(self.folder):
            yield self._shard


def require_space(folder: Path, need: int) -> None:
    """Raise ``DiskFullError`` if the disk of ``folder`` has fewer than ``need`` bytes free."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < need:
        raise DiskFullError(
            f"The search index needs {need >> 20} MB, but the disk of {folder} has only {free >> 20} MB free.",
            f"Free at least {(need - free >> 20) + 1} MB.",
        )


def _vector(vector: Any) -> Any:
    return edge.SparseVector(*vector) if isinstance(vector, tuple) else vector


def _of_any(doc_ids: Collection[str]) -> edge.FieldCondition:
    return edge.FieldCondition("doc_id", match=edge.MatchAny(list(doc_ids)))


def _query_filter(query: Query) -> edge.Filter | None:
    if query.doc_ids is None and not query.without:
        return None
    return edge.Filter(
        must=None if query.doc_ids is None else [_of_any(query.doc_ids)],
        must_not=[_of_any(query.without)] if query.without else None,
    )


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        panic = type(error).__module__ == "pyo3_runtime"  # PanicException cannot be imported
        if not panic and type(error) is not Exception:  # Edge's own errors are bare Exceptions
            raise
        if any(sign in str(error) for sign in FULL_SIGNS):
            message = f"The search index {folder} cannot grow, because its disk is full: {str(error)[:300]}"
            raise DiskFullError(message, "Free some space.") from error
        if "WouldBlock" in str(error):
            raise BusyError(f"Another process has the search index {folder} open.", "Try again.") from error
        raise IndexDamagedError(f"The search index in {folder} cannot be used: {str(error)[:300]}") from error
