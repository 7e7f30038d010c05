"""What an index is made of: points, the vectors they hold, and the source that they come from."""

from __future__ import annotations

import re
import uuid
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import StoreError
from hybrid_core.types.documents import Change

IntVector = NDArray[np.uint32] | Sequence[int]
FloatVector = NDArray[np.float32] | Sequence[float]
VectorName = Literal["bm25", "dense", "learned-sparse"]
SPARSE: VectorName = "bm25"
DENSE: VectorName = "dense"
LEARNED: VectorName = "learned-sparse"
"""The names of the vectors, the same in every backend."""
OTHER_SETTINGS = "it was made with other settings"
"""Why an index is rebuilt whose embedder or layout is no longer the library's: nothing is amiss."""
OTHER_HISTORY = "it is of another history of the catalog"
"""Why an index is rebuilt whose catalog was restored from a backup and went on from there."""
_NAMESPACE = uuid.UUID("6d9ad1f2-53c5-5a0e-9a51-2f7f0d5a6d1c")
BATCH = 250
"""Points a call writes."""
_NAMEABLE = re.compile("[0-9a-f]{12}")
_MOST_PAGES, _MOST_CHUNKS = 0xFFFFFF, 0xFFFFF
PageKey = tuple[str, str, int]
"""A page of a version: doc_id, ``version_tag`` and 1-based number."""


class Head(NamedTuple):
    """A change by its number and its random mark: two histories of a catalog share the number at most."""

    seq: int = 0
    mark: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """What the vector index holds of a page, or of a chunk on it.

    A page point (``chunk`` 0) has the page's sparse BM25 document weights: ``indices`` is uint32 (n,), unique,
    in any order; ``values`` is float32 (n,), finite. Both are empty for a page without text, which still
    counts as a page (for ``count``). Its ``dense``, float32 (dim,) of unit length, is the embedding
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

    def vectors(self, dimension: int) -> dict[VectorName, list[float] | tuple[list[int], list[float]]]:
        """The vectors by their names, checked: a bad one in a write-ahead log can make an index unreadable."""
        held: dict[VectorName, list[float] | tuple[list[int], list[float]]] = {}
        if not self.chunk:
            # An empty vector, not a missing one: only points that have the vector are counted as pages.
            held[SPARSE] = sparse_lists(self.indices, self.values)
        if self.dense is not None:
            held[DENSE] = dense_list(self.dense, dimension)
        if self.learned is not None:
            held[LEARNED] = sparse_lists(*self.learned)
        return held


class PointSource(Protocol):
    """The truth a vector index is derived from (the catalog). Others may write it between any two calls."""

    def position(self) -> int:
        """Newest ``seq`` of the change log, 0 when it is empty."""
        ...

    def mark(self, seq: int) -> int | None:
        """The mark of the change with this ``seq``, 0 for 0; None where there is no such change."""
        ...

    def changes(self, after: int) -> Iterable[Change]:
        """Every change with a ``seq`` above ``after``, in order of ``seq``."""
        ...

    def published(self, doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        """(doc_id, content_id) of every published document version, of these documents or of all."""
        ...

    def points(self, doc_id: str, content_id: str) -> Iterable[Point]:
        """The points of one version, nothing when it no longer exists."""
        ...

    def expected_vectors(self) -> int:
        """Number of vectors of all kinds that the points of all published versions have."""
        ...


def holds(source: PointSource, head: Head) -> bool:
    """Return whether a change is in the source's log."""
    return source.mark(head.seq) == head.mark


def vector_names(dimension: int, learned: bool) -> list[VectorName]:
    """The names of the vectors that an index holds."""
    return [SPARSE, *([DENSE] if dimension else []), *([LEARNED] if learned else [])]


def vectors_manifest(dimension: int, learned: bool) -> dict[str, int]:
    """What the record of how an index was made says of its vectors; nothing of those it never had."""
    return {"dimension": dimension} | ({"learned": 1} if learned else {})


def version_tag(content_id: str) -> str:
    """Seven hexadecimal digits that tell a document's versions apart."""
    return f"{zlib.crc32(content_id.encode()):08x}"[1:]


def point_id(point: Point) -> str:
    """The same point of the same version always has the same id, so writing it again changes nothing.

    It names the page, so that whoever finds the point need not have its payload read, which takes an engine as long as
    the search: a UUID of version 8 (RFC 9562) of the document, the version's tag, the page and the chunk. A document's
    id that is not twelve hexadecimal digits, as catalogs give them, is named by the payload alone.
    """
    if _NAMEABLE.fullmatch(point.doc_id) and point.page <= _MOST_PAGES and point.chunk <= _MOST_CHUNKS:
        return naming_id(point.doc_id, version_tag(point.content_id), point.page, point.chunk)
    chunk = f"\0{point.chunk}" if point.chunk else ""
    return str(uuid.uuid5(_NAMESPACE, f"{point.doc_id}\0{point.content_id}\0{point.page}{chunk}"))


def naming_id(doc_id: str, tag: str, page: int, chunk: int = 0) -> str:
    """``point_id`` of a document that a catalog has, by its version's tag."""
    return f"{doc_id[:8]}-{doc_id[8:]}-8{tag[:3]}-8{tag[3:6]}-{tag[6]}{page:06x}{chunk:05x}"


def named_page(id: str) -> PageKey | None:
    """The page that a point's id names; None where only its payload does."""
    if len(id) != 36 or id[14] != "8":
        return None
    return id[:8] + id[9:13], id[15:18] + id[20:23] + id[24], int(id[25:31], 16)


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
    if len(set(terms.tolist())) != len(terms):  # np.unique would import numpy.ma
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
