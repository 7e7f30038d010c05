"""What every vector index does, and what it is filled from. Backends: ``qdrant_edge``, ``qdrant_server``."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import StoreError
from hybrid_core.types.documents import Hit

IntVector = NDArray[np.uint32] | Sequence[int]
FloatVector = NDArray[np.float32] | Sequence[float]
SPARSE = "bm25"
DENSE = "dense"
LEARNED = "learned-sparse"
"""The names of the vectors, the same in every backend."""
OTHER_SETTINGS = "it was made with other settings"
"""Why an index is rebuilt whose embedder or layout is no longer the library's: nothing is amiss."""
_NAMESPACE = uuid.UUID("6d9ad1f2-53c5-5a0e-9a51-2f7f0d5a6d1c")


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """What the vector index holds of a page, or of a chunk on it.

    A page point (``chunk`` 0) has the page's sparse BM25 document weights: ``indices`` is uint32 (n,), unique,
    in any order; ``values`` is float32 (n,), finite. Both are empty for a page without text, which still
    counts as a page (for idf and for ``count``). Its ``dense``, float32 (dim,) of unit length, is the embedding
    of its summary, None while there is none. ``learned``, the same text's learned term weights as uint32 (n,),
    unique, and float32 (n,), both possibly empty, comes with ``dense`` or is None. A chunk point has these only.
    """

    doc_id: str
    content_id: str
    page: int
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    chunk: int = 0
    dense: NDArray[np.float32] | None = None
    learned: tuple[NDArray[np.uint32], NDArray[np.float32]] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of a library's change log. ``content_id`` is None where the document was removed."""

    seq: int
    doc_id: str
    content_id: str | None


class PointSource(Protocol):
    """The truth a vector index is derived from (the catalog). Others may write it between any two calls."""

    def position(self) -> int:
        """Newest ``seq`` of the change log, 0 when it is empty."""
        ...

    def changes(self, after: int) -> Iterable[Change]:
        """Every change with a ``seq`` above ``after``, in order of ``seq``."""
        ...

    def published(self) -> Iterable[tuple[str, str]]:
        """(doc_id, content_id) of every published document version."""
        ...

    def points(self, doc_id: str, content_id: str) -> Iterable[Point]:
        """The points of one version, nothing when it no longer exists."""
        ...

    def expected_vectors(self) -> int:
        """Number of vectors of all kinds that the points of all published versions have."""
        ...


class VectorIndex(Protocol):
    """A searchable index of page points that follows a ``PointSource``. Several threads may use it."""

    @property
    def position(self) -> int:
        """``seq`` of the newest change that was applied and made durable."""
        ...

    @property
    def rebuilt(self) -> str:
        """Why this handle made the index anew from the source, "" where it did not or it was the first time."""
        ...

    def catch_up(self, source: PointSource) -> None:
        """Apply the log up to ``source.position()``; calling it again, or replaying, changes nothing.

        Raises ``StoreError`` where the index cannot be written (disk full) and ``IndexDamagedError``
        where it disagrees with the source even after a rebuild.
        """
        ...

    def search(
        self, indices: IntVector, values: FloatVector, limit: int, doc_ids: Collection[str] | None = None
    ) -> list[Hit]:
        """The ``limit`` best pages that share a term with the query, higher score better.

        The score is Σ query value · idf(term) · document value over the shared terms, with
        idf = ln(1 + (N − n + 0.5) / (n + 0.5)) over all N pages of the index (also under a filter),
        n of which hold the term. Ordered by (−score, doc_id, page). ``indices`` must be unique.
        ``doc_ids`` keeps the pages of these documents only; an empty collection keeps none.
        """
        ...

    def search_dense(self, vector: FloatVector, limit: int, doc_ids: Collection[str] | None = None) -> list[Hit]:
        """The ``limit`` pages with the best points by dot product, higher score better.

        A page's score is the best of its points'. Ordered and filtered as in ``search``. Nothing where the
        index has no dense vectors; raises ``StoreError`` for a vector of another dimension.
        """
        ...

    def search_learned(
        self, indices: IntVector, values: FloatVector, limit: int, doc_ids: Collection[str] | None = None
    ) -> list[Hit]:
        """The ``limit`` best pages that share a token with the query by learned weights, higher score better.

        A point's score is Σ query value · point value over the shared tokens, without an idf; a page's is the
        best of its points'. Ordered, filtered and checked as in ``search``. Nothing where the index has none.
        """
        ...

    def count(self) -> int:
        """Exact number of vectors: a BM25 one for each page, the dense ones and the learned sparse ones."""
        ...

    def close(self) -> None:
        """Give the index back. Safe to call twice; nothing is lost when it is forgotten."""
        ...


def vector_names(dimension: int, learned: bool) -> list[str]:
    """The names of the vectors that an index holds."""
    return [SPARSE, *([DENSE] if dimension else []), *([LEARNED] if learned else [])]


def vectors_manifest(dimension: int, learned: bool) -> dict[str, int]:
    """What the record of how an index was made says of its vectors; nothing of those it never had."""
    return {"dimension": dimension} | ({"learned": 1} if learned else {})


def point_id(point: Point) -> str:
    """The same point of the same version always has the same id, so writing it again changes nothing."""
    chunk = f"\0{point.chunk}" if point.chunk else ""
    return str(uuid.uuid5(_NAMESPACE, f"{point.doc_id}\0{point.content_id}\0{point.page}{chunk}"))


def best_pages(find: Callable[[int], list[Hit]], limit: int, first: int) -> list[Hit]:
    """The ``limit`` best pages, each by the best of its points, in an order of its own: the engine's order
    of equal points is accidental.

    ``find(n)`` gives the n best points, best first; it is asked for ``first`` points, then for more while a
    page that belongs to the result may be missing.
    """
    asked = first
    while True:
        points = find(asked)
        best: dict[tuple[str, str, int], Hit] = {}
        for point in points:
            best.setdefault((point.doc_id, point.content_id, point.page), point)
        pages = sorted(best.values(), key=lambda hit: (-hit.score, hit.doc_id, hit.page))
        # Which of several equal points came before the cut is accidental too: look at all of them.
        if len(points) < asked or (len(pages) >= limit and points[-1].score < pages[limit - 1].score):
            return pages[:limit]
        asked *= 2


def sparse_lists(indices: Any, values: Any) -> tuple[list[int], list[float]]:
    """A checked sparse vector as plain lists, the only form every backend takes.

    Raises ``StoreError`` for unequal lengths, an index outside uint32 or given twice, or a value that
    is not finite in float32: one such vector in a write-ahead log can make an index unreadable.
    """
    with np.errstate(over="ignore"):
        terms, weights = np.asarray(indices), np.asarray(values, dtype=np.float32)
    if terms.ndim != 1 or terms.shape != weights.shape:
        raise StoreError(f"A sparse vector has {terms.shape} indices and {weights.shape} values.")
    if not len(terms):
        return [], []
    if terms.dtype.kind not in "iu" or int(terms.min()) < 0 or int(terms.max()) > 0xFFFFFFFF:
        raise StoreError("A sparse vector has an index that is not a 32-bit unsigned number.")
    if len(np.unique(terms)) != len(terms):
        raise StoreError("A sparse vector holds the same index twice.")
    if not np.isfinite(weights).all():
        raise StoreError("A sparse vector holds a value that is not finite.")
    return terms.tolist(), weights.tolist()


def dense_list(vector: Any, dimension: int) -> list[float]:
    """A checked dense vector as a plain list. Raises ``StoreError`` for another dimension or a value that is
    not finite.
    """
    numbers = np.asarray(vector, dtype=np.float32)
    if numbers.shape != (dimension,):
        raise StoreError(f"A dense vector has the shape {numbers.shape} and not ({dimension},).")
    if not np.isfinite(numbers).all():
        raise StoreError("A dense vector holds a value that is not finite.")
    found: list[float] = numbers.tolist()
    return found
