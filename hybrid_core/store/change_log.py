"""The catalog as the source that a vector index is derived from."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_core.bm25 import Bm25
from hybrid_core.store.catalog import Catalog
from hybrid_core.store.vectors import Change, PagePoint


class CatalogSource:
    """One library's change log and points (a ``vectors.PointSource``)."""

    def __init__(self, catalog: Catalog, library: str, bm25: Bm25) -> None:
        self._catalog, self._library, self._bm25 = catalog, library, bm25

    def position(self) -> int:
        with self._catalog.snapshot() as snapshot:
            return snapshot.position(self._library)

    def changes(self, after: int) -> Iterable[Change]:
        with self._catalog.snapshot() as snapshot:
            return snapshot.changes(self._library, after)

    def published(self) -> Iterable[tuple[str, str]]:
        with self._catalog.snapshot() as snapshot:
            return list(snapshot.published(self._library).items())

    def points(self, doc_id: str, content_id: str) -> Iterable[PagePoint]:
        with self._catalog.snapshot() as snapshot:
            counts = snapshot.terms(content_id)
        if counts is None:
            return
        body = counts[0]
        for page, (terms, tf) in enumerate(body.page_vectors()):
            weights = self._bm25.weights(tf, float(body.lengths[page]))
            yield PagePoint(doc_id, content_id, page + 1, terms, weights)

    def expected_points(self) -> int:
        with self._catalog.snapshot() as snapshot:
            return snapshot.expected_points(self._library)
