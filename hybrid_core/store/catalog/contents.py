"""Contents read by their ids, for as long as somebody thinks about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import LookedInto, Snapshot
from hybrid_core.store.rereading import reread
from hybrid_core.text.term_order import TermOrder
from hybrid_core.types.documents import PageText

_T = TypeVar("_T")


class Contents:
    """Reads what was published under a content's id, each time in a short read of its own.

    A content is never changed, so reads at different times fit together, and no connection has to be held while a
    model thinks in between. ``gone`` are the ids of those that were asked for and are not there any more.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.gone: set[str] = set()

    def looked_into(self, content_ids: Sequence[str]) -> dict[str, LookedInto]:
        """Of whole documents, their words and trees; those that are gone are left out."""
        found = self._read(lambda snapshot: snapshot.looked_into(content_ids))
        self.gone.update(one for one in content_ids if one not in found)
        return found

    def page_texts(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], PageText]:
        """What is read of single pages, by (content_id, 1-based number)."""
        held = self._read(lambda snapshot: snapshot.page_texts(wanted))
        self.gone |= {key[0] for key in wanted if key not in held}
        return held

    def page_orders(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], TermOrder]:
        """The terms of single pages in order, by (content_id, 1-based number)."""
        held = self._read(lambda snapshot: snapshot.page_orders(wanted))
        self.gone |= {key[0] for key in wanted if key not in held}
        return held

    def _read(self, work: Callable[[Snapshot], _T]) -> _T:
        def read() -> _T:
            with self._catalog.snapshot() as snapshot:
                return work(snapshot)

        return reread(read)
