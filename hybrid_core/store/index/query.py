"""What an index is asked: one vector of one kind. Every backend answers it with points, from which pages are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Protocol

from hybrid_core.errors import IndexDamagedError
from hybrid_core.store.index.points import (
    DENSE,
    SPARSE,
    FloatVector,
    IntVector,
    PageKey,
    VectorName,
    dense_list,
    named_page,
    sparse_lists,
    version_tag,
)
from hybrid_core.types.documents import Hit

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
        """The same with its vector as plain lists. Raises ``StoreError`` for one that cannot be compared."""
        if self.using == "dense":
            return replace(self, vector=dense_list(self.vector, dimension))
        indices, values = self.vector
        return replace(self, vector=sparse_lists(indices, values))

    @property
    def asks(self) -> bool:
        """Whether anything can be found; of a checked query."""
        named = self.using == "dense" or bool(self.vector[0])
        return named and self.limit > 0 and (self.doc_ids is None or bool(self.doc_ids))


class PageIndex(Protocol):
    """What answers queries: one library's index, or several as one."""

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
    """The best pages, each by the best of its points, ordered by (−score, doc_id, page): an engine's order of equal
    points is accidental.

    ``nearest`` finds as many points as a query's limit, best first; it is asked for more while a page that belongs
    to the result may be missing. More than ``MOST_SENT`` documents that are left out are not told it but dropped from
    what it finds. How many points the pages of the last answer had stands in ``points_per_page``: as
    many are asked for at once, since each point that is fetched costs time and nothing else.
    """
    limit, using = query.limit, query.using
    dropped = frozenset(query.without) if len(query.without) > MOST_SENT else frozenset[str]()
    told = replace(query, without=()) if dropped else query
    several = math.ceil(limit * _SPARE * (points_per_page.get(using, 1.0) - 1))
    asked = limit + 1 + (limit // _MORE if using == SPARSE else several)
    while True:
        points = nearest(replace(told, limit=asked))
        named = _named(points, payloads)
        kept = [page for page in named if page[0][0] not in dropped] if dropped else named
        best: dict[PageKey, float] = {}
        for page, score in kept:
            best.setdefault(page, score)
        pages = ranked(using, best.items())
        points_per_page[using] = len(kept) / len(pages) if pages else 1.0
        # Which of several equal points came before the cut is accidental too: look at all of them.
        if len(points) < asked or (len(pages) >= limit and points[-1][1] < least_equal(pages[limit - 1].score)):
            return pages[:limit]
        asked *= _MORE_DROPPED if dropped else 2


def _named(points: Sequence[Found], payloads: Payloads) -> list[tuple[PageKey, float]]:
    """The pages of points, in their order; points that are gone meanwhile are left out."""
    pages = [named_page(id) for id, _ in points]
    if None in pages:
        told = payloads([id for (id, _), page in zip(points, pages, strict=True) if page is None])
        pages = [page or _told_page(told.get(id)) for (id, _), page in zip(points, pages, strict=True)]
    return [(page, score) for page, (_, score) in zip(pages, points, strict=True) if page is not None]


def _told_page(payload: Mapping[str, Any] | None) -> PageKey | None:
    if payload is None:
        return None
    try:
        return payload["doc_id"], version_tag(payload["content_id"]), payload["page"]
    except KeyError as error:
        raise IndexDamagedError(f"A point of the search index has no {error}.") from error


def ranked(using: VectorName, pages: Iterable[tuple[PageKey, float]]) -> list[Hit]:
    """Ordered by (−score, doc_id, page). Scores that are equal but for rounding become equal: in which order an engine
    adds up depends on what else a segment holds.
    """
    rows, score, least = [], math.inf, math.inf
    for (doc_id, version, page), found in sorted(pages, key=_SCORE, reverse=True):
        if found < least:
            score, least = found, least_equal(found)
        rows.append((-score, doc_id, page, version))
    rows.sort()
    if using == SPARSE:
        return [Hit(doc_id, version, page, -score, -score) for score, doc_id, page, version in rows]
    kind = "dense" if using == DENSE else "learned"
    return [Hit(doc_id, version, page, -score, **{kind: -score}) for score, doc_id, page, version in rows]


def least_equal(score: float) -> float:
    """The least that equals a score but for rounding."""
    return score - _ROUNDING * abs(score)
