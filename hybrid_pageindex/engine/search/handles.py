"""Open search indexes, and the thread that keeps them up to date."""

from __future__ import annotations

import math
import shutil
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from hybrid_core.errors import (
    UsageError,
)
from hybrid_core.store.home import library_folder
from hybrid_core.store.index.catalog_source import CatalogSource
from hybrid_core.store.index.edge.folders import claim
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import Head, PageIndex
from hybrid_core.text.terms import TermCounts

_AGAIN = 30.0  # seconds until an index that could not be written is opened again


@dataclass(frozen=True, slots=True, eq=False)
class SearchableIndex:
    """A search index for one search, with the documents that it lacks.

    ``unindexed`` are the documents, with ``pages`` pages in all, whose newest content is not in the index; searches
    find them by words only. ``failure`` is the reason why the index cannot be updated.
    """

    index: PageIndex
    unindexed: frozenset[str] = frozenset()
    pages: int = 0
    failure: str = ""


@dataclass(slots=True)
class IndexHandle:
    """The state of one library's index. ``index`` is None while it is closed; ``lock`` guards opening and closing."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: VectorIndex | None = None
    made_for: tuple[Mapping[str, str | int], str] | None = None  # manifest and epoch with which it was opened
    searched: bool = False  # whether this process has searched it since it was opened
    following: int = 0  # threads that update it after a publication
    behind: bool = False  # whether it was behind the log at the last search
    failure: str = ""  # why the last update failed
    tries_at: float = 0.0  # when a failed opening is repeated (monotonic)
    ends_at: float = math.inf  # when updating must stop, finished or not (monotonic)
    counts: dict[str, TermCounts] = field(default_factory=dict)  # term counts of contents that are not yet in the index
    completed: tuple[tuple[VectorIndex, Head, Head, str], SearchableIndex] | None = None

    def tried(self) -> None:
        """Record that opening the index failed now, so that it is not tried again at once."""
        self.tries_at = time.monotonic() + _AGAIN

    def may_try(self) -> bool:
        """Return whether enough time has passed to try opening the index again."""
        return time.monotonic() >= self.tries_at

    def enough(self) -> bool:
        return time.monotonic() >= self.ends_at

    def close(self) -> None:
        if self.index is not None:
            self.ends_at = min(self.ends_at, time.monotonic())
            self.index.close()
            self.index, self.completed, self.behind, self.searched = None, None, False, False
            self.ends_at = math.inf


_POLL_SECONDS = 1.0
_GIVES_WAY = 0.3  # maximum seconds that updating waits for running searches before each document
_END_SECONDS = 5.0  # maximum seconds that a process which ends without closing waits


class Following(Protocol):
    def follow_all(self) -> None:
        """Apply the catalog's change log to every searched index, until the thread must end."""
        ...


class BackgroundFollower:
    """A background thread that keeps indexes up to date.

    It runs from ``start`` until ``end``, or until its owner is deleted.
    """

    def __init__(self, indexes: Following) -> None:
        self._indexes = weakref.ref(indexes)
        self._starting = threading.Lock()
        self._ending = threading.Event()
        self._searches, self._searching = threading.Condition(), 0
        self._thread: threading.Thread | None = None

    @property
    def ending(self) -> bool:
        return self._ending.is_set()

    def start(self) -> None:
        """Start the thread. Safe to call twice."""
        with self._starting:
            indexes = self._indexes()
            if self._thread is None and not self.ending and indexes is not None:
                work = (self._indexes, self._ending)
                self._thread = threading.Thread(target=_keep_following, args=work, name="index", daemon=True)
                weakref.finalize(indexes, _end, self._thread, self._ending)
                self._thread.start()

    def end(self) -> None:
        """Let the thread update the indexes once more, and wait until it has ended."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Mark a running search, so that the thread pauses updates after the current document."""
        with self._searches:
            self._searching += 1
        try:
            yield
        finally:
            with self._searches:
                self._searching -= 1
                self._searches.notify_all()

    def give_way(self) -> None:
        """Wait for running searches to end, but only for a short time."""
        with self._searches:
            self._searches.wait_for(lambda: not self._searching or self.ending, _GIVES_WAY)

    def hurries(self, last: bool) -> bool:
        """Return whether the thread should stop updating now: a search is running, or the thread must end.

        In the ``last`` update, the end of the thread is no reason.
        """
        return self._searching > 0 or (self.ending and not last)


def _end(follower: threading.Thread, closing: threading.Event) -> None:
    """End the thread, and wait until it has written its current document.

    A document written in part would make the next process rebuild the index.
    """
    closing.set()
    if follower is not threading.current_thread():
        follower.join(_END_SECONDS)


def _keep_following(indexes: weakref.ref[Following], closing: threading.Event) -> None:
    """Update the indexes every second, and once more at the end. Stop when the indexes are deleted."""
    ended = False
    while not ended:
        ended = closing.wait(_POLL_SECONDS)
        alive = indexes()
        if alive is None:
            return
        alive.follow_all()
        del alive


Backend = Literal["embedded", "server"]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The addresses of the Qdrant nodes, separated by commas, and settings for their collections.

    ``url`` is "" without a server. Names of collections begin with ``prefix``. Libraries with fewer pages than
    ``own_from`` share one collection.
    """

    url: str = ""
    api_key: str = field(default="", repr=False)
    prefix: str = "pageindex-"
    own_from: int = 0
    layout: Mapping[str, Any] = field(default_factory=dict)  # fields of ``Layout``, which needs an extra


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The parameters with which a library's index is opened. ``newest`` is the library's last change.

    ``epoch`` tells this catalog's collections on a server from those of its copies; it is "" for an embedded index.
    """

    newest: Head
    epoch: str
    source: CatalogSource
    manifest: Mapping[str, str | int]
    dimension: int
    learned: bool


def no_server() -> UsageError:
    return UsageError(
        "No Qdrant server is configured.", "Set PAGEINDEX_QDRANT_URL, for example to http://localhost:6333."
    )


def index_folder(home: Path, library: str) -> Path:
    """Return the folder of a library's vector index."""
    return library_folder(home, library) / "vectors"


def drop_folder(folder: Path) -> bool:
    if not folder.exists():
        return False
    place = claim(folder)
    try:
        if place.private:  # another process uses it
            return False
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        place.release()
    with suppress(OSError):
        folder.parent.rmdir()
    return True
