"""A library's open index, and what a search asks of it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import Head
from hybrid_core.store.index.query import PageIndex
from hybrid_core.text.term_counts import TermCounts

_AGAIN = 30.0  # seconds until an index that no disk has room for is tried again


@dataclass(frozen=True, slots=True, eq=False)
class SearchableIndex:
    """What a search asks. ``unindexed`` are the documents that the index does not hold as they are published, with so
    many ``pages``: they are found by their words only. ``failure`` is why the index does not follow.
    """

    index: PageIndex
    unindexed: frozenset[str] = frozenset()
    pages: int = 0
    failure: str = ""


@dataclass(slots=True)
class IndexHandle:
    """One library's open index, None while it is closed; ``lock`` is around opening and closing it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: VectorIndex | None = None
    made_for: tuple[Mapping[str, str | int], str] | None = None  # with which manifest and epoch it was opened
    searched: bool = False  # in this process, since it was opened
    behind: bool = False  # as the last search found it
    failure: str = ""  # why it could not follow in the background
    tries_at: float = 0.0  # when to open it again after that was in vain (monotonic)
    ends_at: float = math.inf  # when following ends, however far it has come (monotonic)
    counts: dict[str, TermCounts] = field(default_factory=dict)  # of contents that the index does not hold yet
    completed: tuple[tuple[VectorIndex, Head, Head, str], SearchableIndex] | None = None

    def tried(self) -> None:
        """Note that the index was opened in vain just now."""
        self.tries_at = time.monotonic() + _AGAIN

    def may_try(self) -> bool:
        """Return whether it is time to open again what was opened in vain."""
        return time.monotonic() >= self.tries_at

    def enough(self) -> bool:
        return time.monotonic() >= self.ends_at

    def close(self) -> None:
        if self.index is not None:
            self.ends_at = min(self.ends_at, time.monotonic())
            self.index.close()
            self.index, self.completed, self.behind, self.searched = None, None, False, False
            self.ends_at = math.inf
