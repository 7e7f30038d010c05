"""One Qdrant Edge shard and the guards it needs; nothing else of ours calls Edge's data methods.

Edge is a beta, so: every vector is checked before it is written (a bad one can make the shard unreadable),
only whole points are written and only by id, in small batches (a call holds the GIL), free space is checked
first (a full disk kills the process), and Rust panics, which are no ``Exception``, become
``IndexDamagedError``. Never fork a process that holds a shard: the child hangs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge

from hybrid_core.errors import BusyError, IndexDamagedError, StoreError
from hybrid_core.store.index.vectors import (
    DENSE,
    LEARNED,
    SPARSE,
    Point,
    best_pages,
    dense_list,
    point_id,
    sparse_lists,
    vector_names,
)
from hybrid_core.types.documents import Hit

_T = TypeVar("_T")
LAYOUT = "qdrant-edge-py 0.9.0, layout 1"  # another release or another config: built anew
BATCH = 250
_SCROLL = 1000
_HEADROOM_BYTES = 96 << 20  # two write-ahead-log files and the pages Edge allocates ahead
_LOAD_BYTES = 32 << 20  # some file systems (tmpfs) fill the holes of a file that is only mapped
_POINT_BYTES = 2048  # payload, ids and keyword indexes, generously
_TERM_BYTES = 32  # index and value, in the write-ahead log, the storage and the inverted index


def shard_config(dimension: int, learned: bool = False) -> edge.EdgeConfig:
    """How a shard is made; ``dimension`` 0 is without dense vectors, ``learned`` with learned sparse ones.

    Exact search (m=0) is fast enough, loses nothing and needs no graph.
    """
    dense = edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Dot)  # rows have unit length
    sparse = {SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    return edge.EdgeConfig(
        vectors={DENSE: dense} if dimension else None,
        sparse_vectors=sparse | ({LEARNED: edge.EdgeSparseVectorParams()} if learned else {}),
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
    )


class Shard:
    """A shard that is open in this process. Not thread-safe: the owner serialises the calls."""

    def __init__(self, folder: Path, shard: edge.EdgeShard, dimension: int, learned: bool = False) -> None:
        self.folder = folder
        self.dimension, self.learned = dimension, learned
        self._shard = shard
        self._process = os.getpid()
        self._count: int | None = None  # since the last write

    @classmethod
    def create(cls, folder: Path, dimension: int, learned: bool = False) -> Shard:
        """A new empty shard in a folder that does not exist."""
        require_space(folder, _HEADROOM_BYTES)
        with _translated(folder):
            shard = edge.EdgeShard.create(str(folder), shard_config(dimension, learned))
            shard.update(edge.UpdateOperation.create_field_index("doc_id", edge.PayloadSchemaType.Keyword))
            shard.flush()
        return cls(folder, shard, dimension, learned)

    @classmethod
    def load(cls, folder: Path, dimension: int, learned: bool = False) -> Shard:
        """Open a shard. Raises ``IndexDamagedError``, ``BusyError`` where another process has it open, and
        ``StoreError`` where the disk is full.
        """
        require_space(folder, _LOAD_BYTES)
        with _translated(folder):
            return cls(folder, edge.EdgeShard.load(str(folder)), dimension, learned)

    def upsert(self, points: Iterable[Point]) -> Iterator[str]:
        """Write whole points as their ids are drawn. Raises ``StoreError`` where the disk is too full."""
        for some in _batches(points):
            ids = [point_id(p) for p in some]
            vectors = [self._vectors(p) for p in some]
            numbers = sum(len(p.indices) + _learned_size(p) for p in some) + len(some) * self.dimension
            require_space(self.folder, _HEADROOM_BYTES + len(some) * _POINT_BYTES + numbers * _TERM_BYTES)
            batch = [
                edge.Point(key, held, {"doc_id": p.doc_id, "content_id": p.content_id, "page": p.page})
                for key, p, held in zip(ids, some, vectors, strict=True)
            ]
            self._update(edge.UpdateOperation.upsert_points(batch))
            yield from ids

    def _vectors(self, point: Point) -> dict[str, Any]:
        held: dict[str, Any] = {}
        if not point.chunk:
            # An empty vector, not a missing one: only points that have the vector count as N in the idf.
            held[SPARSE] = edge.SparseVector(*sparse_lists(point.indices, point.values))
        if point.dense is not None:
            held[DENSE] = dense_list(point.dense, self.dimension)
        if point.learned is not None:
            held[LEARNED] = edge.SparseVector(*sparse_lists(*point.learned))
        return held

    def delete_others(self, doc_id: str, keep: Collection[str]) -> int:
        """Delete every point of a document but those with an id in ``keep``; how many they were."""
        stale = [key for key in self._ids(doc_id) if key not in keep]
        for some in _batches(stale):
            # By id and not by filter: replayed after a crash it cannot match anything else.
            self._update(edge.UpdateOperation.delete_points([*some]))
        return len(stale)

    def _update(self, operation: edge.UpdateOperation) -> None:
        self._count = None
        with self._calling() as shard:
            shard.update(operation)

    def _ids(self, doc_id: str) -> list[str]:
        ids: list[str] = []
        offset: edge.PointId | None = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=_SCROLL,
                filter=_in_documents([doc_id]),
                with_payload=False,
                with_vector=False,
            )
            with self._calling() as shard:
                records, offset = shard.scroll(request)
            ids += [str(record.id) for record in records]
            if offset is None:
                return ids

    def search(
        self, indices: Sequence[int], values: Sequence[float], limit: int, doc_ids: Collection[str] | None
    ) -> list[Hit]:
        """The best pages."""
        query = edge.Query.Nearest(edge.SparseVector(list(indices), list(values)), using=SPARSE)
        # Without a corpus the idf counts deleted points until the next load.
        params = edge.SearchParams(idf=edge.IdfParams(corpus=edge.Filter()))
        return best_pages(lambda asked: self._query(query, asked, doc_ids, params), limit, limit + 1)

    def search_dense(self, vector: Sequence[float], limit: int, doc_ids: Collection[str] | None) -> list[Hit]:
        """The best pages, each by the best of its points."""
        query = edge.Query.Nearest(list(vector), using=DENSE)
        found = best_pages(lambda asked: self._query(query, asked, doc_ids), limit, 4 * limit)
        return [replace(hit, sparse=0.0, dense=hit.score) for hit in found]

    def search_learned(
        self, indices: Sequence[int], values: Sequence[float], limit: int, doc_ids: Collection[str] | None
    ) -> list[Hit]:
        """The best pages by learned weights, each by the best of its points."""
        query = edge.Query.Nearest(edge.SparseVector(list(indices), list(values)), using=LEARNED)
        found = best_pages(lambda asked: self._query(query, asked, doc_ids), limit, 4 * limit)
        return [replace(hit, sparse=0.0, learned=hit.score) for hit in found]

    def _query(
        self, query: edge.Query, limit: int, doc_ids: Collection[str] | None, params: edge.SearchParams | None = None
    ) -> list[Hit]:
        request = edge.QueryRequest(
            limit=limit,
            query=query,
            filter=None if doc_ids is None else _in_documents(doc_ids),
            params=params,
            with_payload=True,
        )
        with self._calling() as shard:
            found = shard.query(request)
        return [_hit(scored) for scored in found]

    def count(self) -> int:
        """Exact number of vectors, not of points, since a damaged shard may lose one without the other."""
        if self._count is None:
            kinds = vector_names(self.dimension, self.learned)
            with self._calling() as shard:
                self._count = sum(
                    shard.count(edge.CountRequest(exact=True, filter=edge.Filter(must=[edge.HasVectorCondition(kind)])))
                    for kind in kinds
                )
        return self._count

    def flush(self) -> None:
        """Make everything written durable."""
        with self._calling() as shard:
            shard.flush()

    def close(self) -> None:
        """Let go of the files; safe to call twice."""
        with self._calling() as shard:
            shard.close()

    @contextmanager
    def _calling(self) -> Iterator[edge.EdgeShard]:
        if os.getpid() != self._process:
            raise StoreError("The search index was opened before this process was forked.", "Open it here anew.")
        with _translated(self.folder):
            yield self._shard


def require_space(folder: Path, need: int) -> None:
    """Raise ``StoreError`` where the disk of ``folder`` has fewer than ``need`` bytes free."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    if free < need:
        raise StoreError(
            f"The search index needs {need >> 20} MB and the disk of {folder} has {free >> 20} MB free.",
            f"Free at least {(need - free >> 20) + 1} MB.",
        )


def _learned_size(point: Point) -> int:
    return 0 if point.learned is None else len(point.learned[0])


def _batches(items: Iterable[_T]) -> Iterator[list[_T]]:
    rest = iter(items)
    while some := list(islice(rest, BATCH)):
        yield some


def _hit(scored: edge.ScoredPoint) -> Hit:
    payload, score = scored.payload or {}, scored.score
    try:
        return Hit(payload["doc_id"], payload["content_id"], payload["page"], score=score, sparse=score)
    except KeyError as error:
        raise IndexDamagedError(f"A point of the search index has no {error}.") from error


def _in_documents(doc_ids: Collection[str]) -> edge.Filter:
    return edge.Filter(must=[edge.FieldCondition("doc_id", match=edge.MatchAny(list(doc_ids)))])


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        panic = type(error).__module__ == "pyo3_runtime"  # PanicException cannot be imported
        if not panic and type(error) is not Exception:  # Edge's own errors are bare Exceptions
            raise
        if "WouldBlock" in str(error):
            raise BusyError(f"Another process has the search index {folder} open.", "Try again.") from error
        raise IndexDamagedError(f"The search index {folder} failed: {str(error)[:300]}") from error
