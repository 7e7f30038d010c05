"""Points of an index with their vectors, their source, and queries for one kind of vector.

Every backend answers a query with points, from which pages are made.
"""

from __future__ import annotations

import math
import re
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.types.documents import Change, Hit

IntVector = NDArray[np.uint32] | Sequence[int]
FloatVector = NDArray[np.float32] | Sequence[float]
VectorName = Literal["bm25", "dense", "learned-sparse"]
SPARSE: VectorName = "bm25"
DENSE: VectorName = "dense"
LEARNED: VectorName = "learned-sparse"
"""The names of the vectors, the same in every backend."""
OTHER_SETTINGS = "it was built with other settings"
"""Why an index is rebuilt whose embedder or layout is no longer the library's: nothing is amiss."""
OTHER_HISTORY = "it was built from another copy of the catalog"
"""Why an index is rebuilt whose catalog was restored from a backup and went on from there."""
_NAMESPACE = uuid.UUID("6d9ad1f2-53c5-5a0e-9a51-2f7f0d5a6d1c")
BATCH = 250
"""Points a call writes."""
_NAMEABLE = re.compile("[0-9a-f]{12}")
_MOST_PAGES, _MOST_CHUNKS = 0xFFFFFF, 0xFFFFF
PageKey = tuple[str, str, int]
"""A page of a version: doc_id, ``version_tag`` and 1-based number."""
Found = tuple[str, float]
"""A point's id and its score."""
Payloads = Callable[[list[str]], Mapping[str, Mapping[str, Any]]]
"""What points are told with, by their ids; those that are gone are left out."""
MOST_SENT = 300
"""Documents that a query names to an engine: it reads them all for each query, and over a network they take longer."""
_SPARE = 1.2  # times what the last answer took
_MORE = 4  # of pages asked for, one more: in large libraries some share the last score, and asking again costs twice
_MORE_DROPPED = 4  # times as many are asked for where dropped documents took the places
_SCORE = itemgetter(1)
_ROUNDING = 1e-6  # of a sum of some dozens of float32


class Head(NamedTuple):
    """A change by its number and random mark. Two histories of a catalog may share numbers, but not marks."""

    seq: int = 0
    mark: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A page of the vector index, or a chunk on it.

    A page point (``chunk`` 0) has the page's sparse BM25 document weights: ``indices`` is uint32 (n,), unique, in any
    order; ``values`` is float32 (n,), finite. Both are empty for a page without text, which still counts as a page (for
    ``count``). Its ``dense``, float32 (dim,) of unit length, is the embedding of its summary, None while there is none.
    ``learned``, the same text's learned term weights as uint32 (n,), unique, and float32 (n,), both possibly empty,
    comes with ``dense`` or is None. A chunk point has these only.
    """

    doc_id: str
    content_id: str
    page: int
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    chunk: int = 0
    dense: NDArray[np.float32] | None = None
    learned: tuple[NDArray[np.uint32], NDArray[np.float32]] | None = None

    def vectors(self, dimension: int) -> dict[VectorName, list[float] | tuple[list[int], list[float]]]:
        """Return the vectors by their names, checked: a bad one in a write-ahead log can make an index unreadable."""
        vectors: dict[VectorName, list[float] | tuple[list[int], list[float]]] = {}
        if not self.chunk:
            # An empty vector, not a missing one: only points that have the vector are counted as pages.
            vectors[SPARSE] = sparse_lists(self.indices, self.values)
        if self.dense is not None:
            vectors[DENSE] = dense_list(self.dense, dimension)
        if self.learned is not None:
            vectors[LEARNED] = sparse_lists(*self.learned)
        return vectors


class PointSource(Protocol):
    """The source of a search index (the catalog). Other processes may write it between two calls."""

    def position(self) -> int:
        """Return the newest ``seq`` of the change log, 0 when it is empty."""
        ...

    def mark(self, seq: int) -> int | None:
        """Return the mark of the change with this ``seq``, 0 for 0, None where there is no such change."""
        ...

    def changes(self, after: int) -> Iterable[Change]:
        """Return every change with a ``seq`` above ``after``, in order of ``seq``."""
        ...

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        """Return (doc_id, content_id) of every published document version, of these documents or of all."""
        ...

    def points(self, doc_id: str, content_id: str) -> Iterable[Point]:
        """Return the points of one version, nothing when it no longer exists."""
        ...

    def expected_vectors(self) -> int:
        """Return the number of vectors of all kinds that the points of all published versions have."""
        ...


def holds(source: PointSource, head: Head) -> bool:
    """Return whether a change is in the source's log."""
    return source.mark(head.seq) == head.mark


def vector_names(dimension: int, learned: bool) -> list[VectorName]:
    """Return the names of the vectors that an index holds."""
    return [SPARSE, *([DENSE] if dimension else []), *([LEARNED] if learned else [])]


def vectors_manifest(dimension: int, learned: bool) -> dict[str, int]:
    """Return the part of an index's manifest about its vectors, without those it never had."""
    return {"dimension": dimension} | ({"learned": 1} if learned else {})


def version_tag(content_id: str) -> str:
    """Return seven hexadecimal digits that tell a document's versions apart."""
    return f"{zlib.crc32(content_id.encode()):08x}"[1:]


def point_id(point: Point) -> str:
    """Return the id of a point. The same point of the same version has the same id, so rewriting it changes nothing.

    The id names the page, so a search need not read the payload, which takes an engine as long as the search. It is a
    UUID of version 8 (RFC 9562) of the document, the version's tag, the page and the chunk. A document's id that is not
    twelve hexadecimal digits, as catalogs give them, is named by the payload alone.
    """
    if _NAMEABLE.fullmatch(point.doc_id) and point.page <= _MOST_PAGES and point.chunk <= _MOST_CHUNKS:
        return naming_id(point.doc_id, version_tag(point.content_id), point.page, point.chunk)
    chunk = f"\0{point.chunk}" if point.chunk else ""
    return str(uuid.uuid5(_NAMESPACE, f"{point.doc_id}\0{point.content_id}\0{point.page}{chunk}"))


def naming_id(doc_id: str, tag: str, page: int, chunk: int = 0) -> str:
    """Return ``point_id`` of a document that a catalog has, by its version's tag."""
    return f"{doc_id[:8]}-{doc_id[8:]}-8{tag[:3]}-8{tag[3:6]}-{tag[6]}{page:06x}{chunk:05x}"


def named_page(id: str) -> PageKey | None:
    """Return the page that a point's id names, None where only its payload does."""
    if len(id) != 36 or id[14] != "8":
        return None
    return id[:8] + id[9:13], id[15:18] + id[20:23] + id[24], int(id[25:31], 16)


def sparse_lists(indices: Any, values: Any) -> tuple[list[int], list[float]]:
    """Return a checked sparse vector as plain lists, the only form every backend takes.

    Raise ``StoreError`` for unequal lengths, an index outside uint32 or given twice, or a value that is not finite in
    float32. One such vector in a write-ahead log can make an index unreadable.
    """
    with np.errstate(over="ignore"):
        terms, weights = np.asarray(indices), np.asarray(values, dtype=np.float32)
    if terms.ndim != 1 or terms.shape != weights.shape:
        raise StoreError(f"A sparse vector has {terms.shape} indices and {weights.shape} values.")
    if not len(terms):
        return [], []
    if terms.dtype.kind not in "iu" or int(terms.min()) < 0 or int(terms.max()) > 0xFFFFFFFF:
        raise StoreError("A sparse vector has an index that is not a 32-bit unsigned number.")
    if len(set(terms.tolist())) != len(terms):  # np.unique would import numpy.ma
        raise StoreError("A sparse vector holds the same index twice.")
    if not np.isfinite(weights).all():
        raise StoreError("A sparse vector holds a value that is not finite.")
    return terms.tolist(), weights.tolist()


def dense_list(vector: Any, dimension: int) -> list[float]:
    """Return a checked dense vector as a plain list.

    Raise ``StoreError`` for another dimension or a value that is not finite.
    """
    numbers = np.asarray(vector, dtype=np.float32)
    if numbers.shape != (dimension,):
        raise StoreError(f"A dense vector has the shape {numbers.shape} and not ({dimension},).")
    if not np.isfinite(numbers).all():
        raise StoreError("A dense vector holds a value that is not finite.")
    values: list[float] = numbers.tolist()
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """The ``limit`` best pages by one kind of vector; a page's score is the best of its points', higher is better.

    ``vector`` is numbers (dimension,) for "dense", else unique indices (n,) with their weights (n,). The
    score is the inner product; by "bm25" and "learned-sparse" only pages that share a term are found. ``doc_ids``
    keeps the pages of these documents only; an empty collection keeps none. Pages of the documents in ``without``
    are left out.
    """

    using: VectorName
    vector: FloatVector | tuple[IntVector, FloatVector]
    limit: int
    doc_ids: Collection[str] | None = None
    without: Collection[str] = ()

    def checked(self, dimension: int) -> Query:
        """Return the query with its vector as plain lists. Raise ``StoreError`` for one that cannot be compared."""
        if self.using == "dense":
            return replace(self, vector=dense_list(self.vector, dimension))
        indices, values = self.vector
        return replace(self, vector=sparse_lists(indices, values))

    @property
    def asks(self) -> bool:
        """True where a checked query can find anything."""
        named = self.using == "dense" or bool(self.vector[0])
        return named and self.limit > 0 and (self.doc_ids is None or bool(self.doc_ids))


class PageIndex(Protocol):
    """An index that answers queries: of one library, or of several as one."""

    @property
    def rebuilt(self) -> str:
        """Why it was made anew, "" where it was not."""
        ...

    def search(self, query: Query) -> list[Hit]: ...


def best_pages(
    query: Query,
    nearest: Callable[[Query], list[Found]],
    payloads: Payloads,
    points_per_page: dict[VectorName, float],
) -> list[Hit]:
    """Return the best pages, each by the best of its points, ordered by (−score, doc_id, page).

    An engine's order of equal points is accidental. ``nearest`` finds as many points as a query's limit, best first; it
    is called with a higher limit while a page that belongs to the result may be missing. More than ``MOST_SENT``
    excluded documents are not sent to it but dropped from what it finds. ``points_per_page`` holds how many points the
    pages of the last answer had: as many are asked for at once, since each fetched point costs time.
    """
    limit, using = query.limit, query.using
    dropped = frozenset(query.without) if len(query.without) > MOST_SENT else frozenset[str]()
    sent = replace(query, without=()) if dropped else query
    several = math.ceil(limit * _SPARE * (points_per_page.get(using, 1.0) - 1))
    count = limit + 1 + (limit // _MORE if using == SPARSE else several)
    while True:
        points = nearest(replace(sent, limit=count))
        named = _pages_of_points(points, payloads)
        remaining = [page for page in named if page[0][0] not in dropped] if dropped else named
        best: dict[PageKey, float] = {}
        for page, score in remaining:
            best.setdefault(page, score)
        pages = ranked(using, best.items())
        points_per_page[using] = len(remaining) / len(pages) if pages else 1.0
        # Which of several equal points came before the cut is accidental too: look at all of them.
        if len(points) < count or (len(pages) >= limit and points[-1][1] < least_equal(pages[limit - 1].score)):
            return pages[:limit]
        count *= _MORE_DROPPED if dropped else 2


def _pages_of_points(points: Sequence[Found], payloads: Payloads) -> list[tuple[PageKey, float]]:
    """Return the pages of points, in their order; points that are gone meanwhile are left out."""
    pages = [named_page(id) for id, _ in points]
    if None in pages:
        fetched = payloads([id for (id, _), page in zip(points, pages, strict=True) if page is None])
        pages = [page or _payload_page(fetched.get(id)) for (id, _), page in zip(points, pages, strict=True)]
    return [(page, score) for page, (_, score) in zip(pages, points, strict=True) if page is not None]


def _payload_page(payload: Mapping[str, Any] | None) -> PageKey | None:
    if payload is None:
        return None
    try:
        return payload["doc_id"], version_tag(payload["content_id"]), payload["page"]
    except KeyError as error:
        raise IndexDamagedError(f"A point of the search index has no {error}.") from error


def ranked(using: VectorName, pages: Iterable[tuple[PageKey, float]]) -> list[Hit]:
    """Return hits ordered by (−score, doc_id, page).

    Scores that are equal but for rounding become equal: an engine's order of summation depends on what else a segment
    holds.
    """
    rows, score, lowest = [], math.inf, math.inf
    for (doc_id, version, page), exact in sorted(pages, key=_SCORE, reverse=True):
        if exact < lowest:
            score, lowest = exact, least_equal(exact)
        rows.append((-score, doc_id, page, version))
    rows.sort()
    if using == SPARSE:
        return [Hit(doc_id, version, page, -score, -score) for score, doc_id, page, version in rows]
    kind = "dense" if using == DENSE else "learned"
    return [Hit(doc_id, version, page, -score, **{kind: -score}) for score, doc_id, page, version in rows]


def least_equal(score: float) -> float:
    """Return the least score that equals a score but for rounding."""
    return score - _ROUNDING * abs(score)
