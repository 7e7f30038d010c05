"""Contents read by their ids, for as long as somebody thinks about them."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.stored_sections import StoredSections
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import PageText


class Contents:
    """Reads what was published under a content's id, each time in a short read of its own.

    A content is never changed, so reads at different times fit together, and no connection has to be held while a
    model thinks in between. ``gone`` are the ids of those that were asked for and are not there any more.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.gone: set[str] = set()

    def terms_and_sections(self, content_id: str) -> tuple[TermCounts, TermCounts, StoredSections] | None:
        """Term counts of the pages' text and of headings, and the tree in preorder; None where the content is gone."""
        with self._catalog.snapshot() as snapshot:
            counts = snapshot.terms(content_id)
            if counts is not None:
                return *counts, snapshot.stored_sections(content_id)
        self.gone.add(content_id)
        return None

    def page_texts(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
        """What is read of single pages, by (content_id, 1-based number)."""
        with self._catalog.snapshot() as snapshot:
            held = snapshot.page_texts(wanted)
        self.gone |= {key[0] for key in wanted if key not in held}
        return held
