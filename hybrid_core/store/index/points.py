"""Points of an index with their vectors, the source of points, and queries for one kind of vector.

Every backend answers a query with points, from which the best pages are derived.
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
"""The name of the vector with learned term weights. Names of vectors are the same in every backend."""
OTHER_SETTINGS = "it was built with other settings"
"""The reason for rebuilding an intact index whose embedder or layout the library no longer uses."""
OTHER_HISTORY = "the index was built from another copy of the catalog"
"""The reason for rebuilding an index whose catalog was restored from a backup and then changed."""
_NAMESPACE = uuid.UUID("6d9ad1f2-53c5-5a0e-9a51-2f7f0d5a6d1c")
BATCH = 250
"""The number of points that one call writes."""
_NAMEABLE = re.compile("[0-9a-f]{12}")
_MOST_PAGES, _MOST_CHUNKS = 0xFFFFFF, 0xFFFFF
PageKey = tuple[str, str, int]
"""A page of a document version: doc_id, ``version_tag`` and 1-based number."""
Found = tuple[str, float]
"""The id of a point and its score."""
Payloads = Callable[[list[str]], Mapping[str, Mapping[str, Any]]]
"""A function that returns the payloads of points by their ids. Deleted points are left out."""
MOST_SENT = 300
"""The maximum number of documents that a query sends to an engine. More take too long to send and to read."""
_SPARE = 1.2  # factor on the number of points that the last query needed
# a fourth more pages than requested: in large libraries several tie at the last score, and a second query doubles the
# cost
_MORE = 4
_MORE_DROPPED = 4  # factor for the next query, if dropped documents took too many places
_SCORE = itemgetter(1)
_ROUNDING = 1e-6  # relative rounding error of a sum of some dozens of float32


class Head(NamedTuple):
    """A change in the catalog's log, identified by its number and its random mark.

    A catalog and a copy of it may give two changes the same number, but not the same mark.
    """

    seq: int = 0
    mark: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A page in the vector index, or a chunk of a page.

    A page point (``chunk`` 0) has the page's sparse BM25 document weights: ``indices`` is uint32 (n,), unique, in any
    order; ``values`` is float32 (n,), finite. Both are empty for a page without text, which still counts as a page (for
    ``count``). Its ``dense``, float32 (dim,) of unit length, is the embedding of its summary, None while there is none.
    ``learned`` are the learned term weights of the same text: unique hashes, uint32 (n,), and weights, float32 (n,).
    Both may be empty. ``learned`` is None without learned weights, and always without ``dense``. A chunk point has only
    ``dense`` and ``learned``.
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
        """Return the vectors by name. Raise ``StoreError`` if one is invalid.

        An invalid vector in a write-ahead log can make an index unreadable.
        """
        vectors: dict[VectorName, list[float] | tuple[list[int], list[float]]] = {}
        if not self.chunk:
            # An empty vector, not a missing one: pages are counted by the points that have this vector.
            vectors[SPARSE] = sparse_lists(self.indices, self.values)
        if self.dense is not None:
            vectors[DENSE] = dense_list(self.dense, dimension)
        if self.learned is not None:
            vectors[LEARNED] = sparse_lists(*self.learned)
        return vectors


class PointSource(Protocol):
    """The source of points for a search index: the catalog. Other processes may write it between two calls."""

    def position(self) -> int:
        """Return the number (``seq``) of the newest change in the log, 0 if the log is empty."""
        ...

    def mark(self, seq: int) -> int | None:
        """Return the random mark of the change with the number ``seq``, None if there is no such change.

        Return 0 for the number 0.
        """
        ...

    def changes(self, after: int) -> Iterable[Change]:
        """Return every change with a ``seq`` above ``after``, in order of ``seq``."""
        ...

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        """Return (doc_id, content_id) of every published document. ``doc_ids`` selects documents."""
        ...

    def points(self, doc_id: str, content_id: str) -> Iterable[Point]:
        """Return the points of one version of a document, none if the version no longer exists."""
        ...

    def expected_vectors(self) -> int:
        """Return the total number of vectors, of all kinds, that an index of the published documents must contain."""
        ...


def holds(source: PointSource, head: Head) -> bool:
    """Return whether the source's log contains the change ``head``: one with its number and its mark."""
    return source.mark(head.seq) == head.mark


def vector_names(dimension: int, learned: bool) -> list[VectorName]:
    """Return the names of the vectors in an index with dense vectors, if ``dimension``, and ``learned`` weights."""
    return [SPARSE, *([DENSE] if dimension else []), *([LEARNED] if learned else [])]


def vectors_manifest(dimension: int, learned: bool) -> dict[str, int]:
    """Return the entries about vectors in an index's manifest, the record of how its vectors were computed.

    "learned" is left out if there are no learned weights.
    """
    return {"dimension": dimension} | ({"learned": 1} if learned else {})


def version_tag(content_id: str) -> str:
    """Return seven hexadecimal digits that distinguish the versions of a document."""
    return f"{zlib.crc32(content_id.encode()):08x}"[1:]


def point_id(point: Point) -> str:
    """Return the id of a point, from its document, version, page and chunk. So a second write changes nothing.

    The id contains the page, so a search need not read the payload, which would double its time. It is a UUID of
    version 8 (RFC 9562) made of the document's id, the version's tag, the page and the chunk. If the document's id is
    not twelve hexadecimal digits, as all ids in catalogs are, the point's id is a hash. Only the payload then has the
    page.
    """
    if _NAMEABLE.fullmatch(point.doc_id) and point.page <= _MOST_PAGES and point.chunk <= _MOST_CHUNKS:
        return naming_id(point.doc_id, version_tag(point.content_id), point.page, point.chunk)
    chunk = f"\0{point.chunk}" if point.chunk else ""
    return str(uuid.uuid5(_NAMESPACE, f"{point.doc_id}\0{point.content_id}\0{point.page}{chunk}"))


def naming_id(doc_id: str, tag: str, page: int, chunk: int = 0) -> str:
    """Return the id of a point from its parts: a document id of twelve digits, a version tag, a page and a chunk."""
    return f"{doc_id[:8]}-{doc_id[8:]}-8{tag[:3]}-8{tag[3:6]}-{tag[6]}{page:06x}{chunk:05x}"


def named_page(id: str) -> PageKey | None:
    """Return (doc_id, version tag, page) from a point's id, None if the id is a hash and does not contain them."""
    if len(id) != 36 or id[14] != "8":
        return None
    return id[:8] + id[9:13], id[15:18] + id[20:23] + id[24], int(id[25:31], 16)


def sparse_lists(indices: Any, values: Any) -> tuple[list[int], list[float]]:
    """Return a checked sparse vector as plain lists, the only form every backend accepts.

    Raise ``StoreError`` for unequal lengths, an index outside uint32 or given twice, or a value that is not finite in
    float32. One such vector in a write-ahead log can make an index unreadable.
    """
    with np.errstate(over="ignore"):
        terms, weights = np.asarray(indices), np.asarray(values, dtype=np.float32)
    if terms.ndim != 1 or terms.shape != weights.shape:
        raise StoreError(
            "A vector of term weights for the search index is not valid: the array of terms has the shape "
            f"{terms.shape}, and the array of weights {weights.shape}."
        )
    if not len(terms):
        return [], []
    if terms.dtype.kind not in "iu" or int(terms.min()) < 0 or int(terms.max()) > 0xFFFFFFFF:
        raise StoreError(
            "A vector of term weights for the search index is not valid: the number of a term is not a 32-bit "
            "unsigned integer."
        )
    if len(set(terms.tolist())) != len(terms):  # np.unique would import numpy.ma
        raise StoreError(
            "A vector of term weights for the search index is not valid: the vector contains the same term twice."
        )
    if not np.isfinite(weights).all():
        raise StoreError("A vector of term weights for the search index is not valid: a weight is NaN or infinite.")
    return terms.tolist(), weights.tolist()


def dense_list(vector: Any, dimension: int) -> list[float]:
    """Return a checked dense vector as a plain list.

    Raise ``StoreError`` for another dimension or a value that is not finite.
    """
    numbers = np.asarray(vector, dtype=np.float32)
    if numbers.shape != (dimension,):
        raise StoreError(f"A vector for the search index has the shape {numbers.shape} instead of ({dimension},).")
    if not np.isfinite(numbers).all():
        raise StoreError("A vector for the search index is not valid: a value is NaN or infinite.")
    values: list[float] = numbers.tolist()
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A query for the ``limit`` best pages by one kind of vector.

    The score of a page is the score of its best point; higher is better. ``vector`` is numbers (dimension,) for
    "dense", else unique indices (n,) with their weights (n,). The score is the inner product; "bm25" and
    "learned-sparse" match only pages that share a term. ``doc_ids`` limits the result to pages of these documents; an
    empty collection matches none. Pages of the documents in ``without`` are left out.
    """

    using: VectorName
    vector: FloatVector | tuple[IntVector, FloatVector]
    limit: int
    doc_ids: Collection[str] | None = None
    without: Collection[str] = ()

    def checked(self, dimension: int) -> Query:
        """Check the vector and return the query with it as plain lists. Raise ``StoreError`` for an invalid vector."""
        if self.using == "dense":
            return replace(self, vector=dense_list(self.vector, dimension))
        indices, values = self.vector
        return replace(self, vector=sparse_lists(indices, values))

    @property
    def asks(self) -> bool:
        """Return whether a checked query can match any page. A query without terms or documents cannot."""
        named = self.using == "dense" or bool(self.vector[0])
        return named and self.limit > 0 and (self.doc_ids is None or bool(self.doc_ids))


class PageIndex(Protocol):
    """An index that answers queries, of one library or of several together."""

    @property
    def rebuilt(self) -> str:
        """Return why the index was rebuilt, "" if it was not."""
        ...

    def search(self, query: Query) -> list[Hit]: ...


def best_pages(
    query: Query,
    nearest: Callable[[Query], list[Found]],
    payloads: Payloads,
    points_per_page: dict[VectorName, float],
) -> list[Hit]:
    """Return the best pages, each scored by its best point, ordered by (−score, doc_id, page).

    ``nearest`` returns the query's ``limit`` best points, best first. It is called again with a higher limit while a
    page of the result may be missing, since the engine orders points of equal score arbitrarily. More than
    ``MOST_SENT`` excluded documents are not sent with the query; their hits are dropped here. ``points_per_page`` keeps
    the number of points per page of the last query, from which the next query estimates how many points to request.
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
        # The selection among equal points at the cut is arbitrary too, so fetch all of them.
        if len(points) < count or (len(pages) >= limit and points[-1][1] < least_equal(pages[limit - 1].score)):
            return pages[:limit]
        count *= _MORE_DROPPED if dropped else 2


def _pages_of_points(points: Sequence[Found], payloads: Payloads) -> list[tuple[PageKey, float]]:
    """Return (page, score) of each point, in the order of the points. Points deleted meanwhile are left out."""
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
        raise IndexDamagedError(f"The search index is damaged: one of its entries lacks the field {error}.") from error


def ranked(using: VectorName, pages: Iterable[tuple[PageKey, float]]) -> list[Hit]:
    """Return pages with their scores as hits, ordered by (−score, doc_id, page).

    Scores that differ only by rounding become equal, since the rounding of an engine's sums varies.
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
    """Return the lowest score that equals ``score`` within the rounding error."""
    return score - _ROUNDING * abs(score)
