"""Several libraries' indexes searched as if they were one."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.store.index.query import PageIndex, Query, ranked
from hybrid_core.types.documents import Hit


class JoinedIndex:
    """Answers a query as one index of all their pages would."""

    def __init__(self, indexes: Sequence[PageIndex]) -> None:
        self._indexes = indexes

    @property
    def rebuilt(self) -> str:
        """Why one of them was made anew."""
        return next((index.rebuilt for index in self._indexes if index.rebuilt), "")

    def search(self, query: Query) -> list[Hit]:
        """As ``VectorIndex.search``."""
        hits = [hit for index in self._indexes for hit in index.search(query)]
        return ranked(query.using, (((hit.doc_id, hit.version, hit.page), hit.score) for hit in hits))[: query.limit]
