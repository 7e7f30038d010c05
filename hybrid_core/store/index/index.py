"""A library's vector index: searched by several threads, and brought up to the change log of its source."""

from __future__ import annotations

from collections.abc import Callable

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.index.follower import Follower, PointStore, translated
from hybrid_core.store.index.points import SPARSE, Head, PointSource, VectorName, vector_names
from hybrid_core.store.index.query import Query, best_pages
from hybrid_core.types.documents import Hit


class VectorIndex:
    """Finds pages in one store, embedded or on a server. Opened by ``open_edge`` or ``open_server``."""

    def __init__(self, store: PointStore) -> None:
        self.store = store
        self._follower = Follower(store)
        self._points_per_page: dict[VectorName, float] = {}
        self._source: PointSource | None = None  # the one that it followed last

    @property
    def stand(self) -> Head:
        """The change up to which everything is applied."""
        return self._follower.stand

    @property
    def position(self) -> int:
        """``seq`` of that change."""
        return self._follower.stand.seq

    @property
    def rebuilt(self) -> str:
        """Why this handle made the index anew from the source, "" where it did not or it was the first time."""
        return self._follower.rebuilt

    def catch_up(
        self,
        source: PointSource,
        until: int | None = None,
        enough: Callable[[], bool] = lambda: False,
        *,
        fill: bool = True,
    ) -> None:
        """``Follower.follow``; calling it again, or replaying, changes nothing."""
        self._source = source
        self._follower.follow(source, until, enough, fill=fill)

    def resume(self, source: PointSource) -> bool:
        """``Follower.resume``."""
        self._source = source
        return self._follower.resume(source)

    def refill(self, source: PointSource) -> None:
        """``Follower.refill``."""
        self._source = source
        self._follower.refill(source)

    def search(self, query: Query) -> list[Hit]:
        """The best pages, ordered by (−score, doc_id, page); nothing where the index has no such vectors.

        Raises ``StoreError`` for a vector that cannot be compared and ``IndexDamagedError`` where the index must be
        caught up, or opened, first.
        """
        store = self.store
        if store.closed:
            raise StoreError("The search index is closed.")
        if store.amiss:
            raise IndexDamagedError(store.amiss)
        if query.using not in vector_names(store.dimension, store.learned):
            return []
        checked = query.checked(store.dimension)
        if not checked.asks:
            return []
        try:
            found = best_pages(checked, store.nearest, store.payloads, self._points_per_page)
            if store.doubted and self._source is not None:
                self._follower.trust(self._source)
            return found
        except IndexDamagedError as error:
            store.distrust(error.message)
            raise

    def count(self) -> int:
        """Exact number of vectors: a BM25 one for each page, the dense ones and the learned sparse ones."""
        if self.store.closed:
            raise StoreError("The search index is closed.")
        return self.store.count()

    def pages(self) -> int:
        """Exact number of pages that it holds, up to date or not."""
        return self.store.count(SPARSE)

    def settle(self) -> None:
        """``PointStore.settle``; what it makes unusable is made anew when it is opened or caught up next."""
        with translated():
            self.store.settle()

    def close(self) -> None:
        """Give the index back. Safe to call twice; nothing is lost when it is forgotten."""
        with self._follower.stopped():
            self.store.close()
