"""What an index is asked: one vector of one kind. Every backend answers it with points, from which pages are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Protocol

from hybrid_core.errors import IndexDamagedError
from hybrid_core.store.index.points import (
    DENSE,
    SPARSE,
    FloatVector,
    IntVector,
    VectorName,
    dense_list,
    sparse_lists,
)
from hybrid_core.types.documents import Hit

Found = tuple[Mapping[str, Any], float]
"""A point's payload and its score."""
MOST_SENT = 300
"""Documents that a query names to an engine: it reads them all for each query, and over a network they take longer."""
_Page = tuple[str, str, int]  # document, content, number
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
    query: Query, nearest: Callable[[Query], list[Found]], points_per_page: dict[VectorName, float]
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
        kept = [point for point in points if point[0].get("doc_id") not in dropped] if dropped else points
        best: dict[_Page, float] = {}
        for payload, score in kept:
            try:
                best.setdefault((payload["doc_id"], payload["content_id"], payload["page"]), score)
            except KeyError as error:
                raise IndexDamagedError(f"A point of the search index has no {error}.") from error
        pages = ranked(using, best.items())
        points_per_page[using] = len(kept) / len(pages) if pages else 1.0
        # Which of several equal points came before the cut is accidental too: look at all of them.
        if len(points) < asked or (len(pages) >= limit and points[-1][1] < least_equal(pages[limit - 1].score)):
            return pages[:limit]
        asked *= _MORE_DROPPED if dropped else 2


def ranked(using: VectorName, pages: Iterable[tuple[_Page, float]]) -> list[Hit]:
    """Ordered by (−score, doc_id, page). Scores that are equal but for rounding become equal: in which order an engine
    adds up depends on what else a segment holds.
    """
    rows, score, least = [], math.inf, math.inf
    for (doc_id, content_id, page), found in sorted(pages, key=_SCORE, reverse=True):
        if found < least:
            score, least = found, least_equal(found)
        rows.append((-score, doc_id, page, content_id))
    rows.sort()
    if using == SPARSE:
        return [Hit(doc_id, content_id, page, -score, -score) for score, doc_id, page, content_id in rows]
    kind = "dense" if using == DENSE else "learned"
    return [Hit(doc_id, content_id, page, -score, **{kind: -score}) for score, doc_id, page, content_id in rows]


def least_equal(score: float) -> float:
    """The least that equals a score but for rounding."""
    return score - _ROUNDING * abs(score)
