"""The follower of a change log, which updates an index of any backend.

To apply a change, it writes the currently published version of the document. So applying the log in any order, by
several processes, ends in the published state. A search waits only for changes that were published before it began.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from hybrid_core.errors import (
    Advice,
    DiskFullError,
    IndexDamagedError,
    IndexMissingError,
    OtherHistoryError,
    ReadOnlyError,
    StoreError,
)
from hybrid_core.store.database import parts
from hybrid_core.store.home import FULL, UNWRITABLE
from hybrid_core.store.index.points import OTHER_HISTORY, Found, Head, Point, PointSource, Query, VectorName, holds

NEW = "new"
"""The reason for building an index for the first time."""
REQUESTED = "a rebuild was requested"
"""The reason for rebuilding an index on request. The index may be intact."""
_ROUNDS = 5  # maximum number of passes over a log that keeps growing
_RECENT = 1000  # changes: a killed writer was at most this far behind
_PATIENCE = (0.0, 0.1, 0.4)  # seconds between comparisons, since another process may be in the middle of a change
_log = logging.getLogger(__name__)


class PointStore(Protocol):
    """Storage of the points of one index. ``nearest`` and ``count`` may be called while another thread writes.

    ``shared``: other processes write it too. ``replicated``: there are several copies, and a count covers one of them.
    ``documents_at_once`` is the number of documents to pass to one call of ``replace``. ``amiss`` is the reason why the
    store must be refilled before use, "" if it is intact. ``doubted`` are changes announced in the store that a search
    has seen, and that this catalog may lack. ``trusted`` is a change that the catalog certainly has.
    """

    dimension: int
    learned: bool
    shared: bool
    documents_at_once: int
    amiss: str
    closed: bool
    trusted: Head
    doubted: set[Head]

    @property
    def replicated(self) -> bool: ...

    def position(self) -> int:
        """Return the number of the last applied change. Raise ``IndexMissingError`` if the store was never filled."""
        ...

    def stand(self) -> tuple[Head, Head]:
        """Return the last change that was applied, and the newest change that a writer has announced.

        Raise the same errors as ``position``.
        """
        ...

    def announce(self, head: Head, own: Callable[[Head], bool]) -> None:
        """Record, before a write, the newest change that the write may include, unless a later one is recorded.

        ``own`` returns whether the catalog has a change. Raise ``OtherHistoryError`` if it lacks the recorded change:
        a copy of the catalog then writes the store, and the caller must not.
        """
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Begin a write. Raise ``BusyError`` if another process prevents it."""
        ...

    def replace(self, doc_ids: Collection[str], points: Iterable[Point], at: int) -> None:
        """Replace all points of these documents. ``points`` were read from the source at position ``at`` or later."""
        ...

    def refill(self, points: Iterable[Point], at: int, *, anew: bool = False) -> None:
        """Replace all points of the store by points made at change number ``at`` of the catalog.

        With ``anew``, old points that were made at later changes are deleted, too.
        """
        ...

    def advance(self, position: int, mark: int = 0, *, more: bool = False) -> None:
        """Record on the disk that all changes up to a position are applied. ``mark`` is the mark of the last one.

        If ``more`` writes follow at once, the record may be left out.
        """
        ...

    def nearest(self, query: Query) -> list[Found]:
        """Return the ``limit`` best points for a query as (id, score), best first. The query must be ``checked``.

        Raise ``IndexDamagedError`` if the store is damaged.
        """
        ...

    def payloads(self, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the payloads of points by their ids. Deleted points are left out."""
        ...

    def count(self, *kinds: VectorName) -> int:
        """Return the exact number of vectors of these kinds, by default of all kinds."""
        ...

    def ids(self) -> Iterator[str]:
        """Yield the ids of all points in ascending order. Points that are written meanwhile may be included or not."""
        ...

    def clear(self, latest: Mapping[str, int]) -> None:
        """Delete outdated points on each copy. ``latest`` maps documents to the numbers of their latest changes."""
        ...

    def settle(self) -> None:
        """Optimise the store after many changes; searches wait meanwhile."""
        ...

    def distrust(self, reason: str) -> None:
        """Mark the store as damaged or outdated for this reason, so that this process or the next one refills it."""
        ...

    def close(self) -> None: ...


class Follower:
    """A component that applies the change log of a source to one store. One thread at a time does the work."""

    def __init__(self, store: PointStore) -> None:
        self.stand = Head()  # the last applied change
        self.rebuilt = ""  # the reason why the store was refilled, "" if it was not or was new
        self._store = store
        self._moved = threading.Condition()
        self._busy = False
        # whether the count was compared with the source since the last write (shared stores: ever)
        self._verified = False
        self._stale: int | None = None  # position from which changes may have outdated the writes of this handle
        self._announced: Head | None = None  # the source's newest change at the last write of this handle

    def resume(self, source: PointSource) -> bool:
        """Continue from the recorded position without applying changes. Return False if the store must be refilled.

        Raise ``OtherHistoryError`` if a copy of the catalog writes the store.
        """
        try:
            if not self._store.amiss:
                self._reach(self._recorded(source)[0])
        except OtherHistoryError:
            raise
        except IndexDamagedError:
            return False
        return not self._store.amiss

    def trust(self, source: PointSource) -> None:
        """Check that the source contains the changes, announced in the store, that searches have seen.

        Raise ``OtherHistoryError`` if one is missing, since a copy of the catalog then writes the store.
        """
        for head in tuple(self._store.doubted):
            if not holds(source, head):
                raise OtherHistoryError(OTHER_HISTORY)
            self._store.trusted = head
            self._store.doubted.discard(head)

    def follow(
        self,
        source: PointSource,
        until: int | None = None,
        enough: Callable[[], bool] = lambda: False,
        *,
        fill: bool = True,
    ) -> None:
        """Apply the change log up to ``until``, by default to its end, and record the position.

        Return early if ``enough``, which is called after each batch of documents, returns True. Without ``fill``, raise
        ``IndexMissingError`` if the store does not exist, and do not create it. Raise ``StoreError`` if the store
        cannot be written, ``IndexDamagedError`` if it differs from the source even after a refill, and
        ``OtherHistoryError`` if a copy of the catalog writes it.
        """
        if self._store.closed:
            raise StoreError("The search index of this library is closed.")
        if not self._begin_writing(source, source.position() if until is None else until):
            return
        try:
            with translated():
                self._catch_up(source, enough, fill)
        finally:
            self._end_writing()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Wait for the write in progress, and block all writes within the context."""
        with self._moved:
            while self._busy:
                self._moved.wait()
            yield

    def _begin_writing(self, source: PointSource, until: int) -> bool:
        """Wait while another thread applies the changes up to a position. Return False if all are applied then.

        Return True if this thread must apply them; no other thread then writes until ``_end_writing``.
        """
        with self._moved:
            while True:
                settled = self._busy or (self._verified and self._stale is None)
                reached = settled and self.stand.seq >= until and not self._store.amiss
                if reached and holds(source, self.stand):  # False if the catalog was restored from a backup
                    return False
                if not self._busy:
                    self._busy = True
                    return True
                self._moved.wait()

    def _end_writing(self) -> None:
        with self._moved:
            self._busy = False
            self._moved.notify_all()

    def _reach(self, head: Head) -> None:
        with self._moved:
            self.stand = head
            self._moved.notify_all()

    def _catch_up(self, source: PointSource, enough: Callable[[], bool], fill: bool) -> None:
        try:
            if self._store.amiss:
                raise IndexDamagedError(self._store.amiss)
            if not self._apply_log(source, enough):
                return
        except OtherHistoryError as error:
            self._store.distrust(error.message)
            raise
        except IndexDamagedError as error:
            if not fill and isinstance(error, IndexMissingError):
                self._store.distrust(error.message)
                raise
            self._refill(source, error.message)
        verified = self._verified
        if not verified and (difference := self._difference(source)):
            self._refill(source, difference)
            if difference := self._difference(source):
                advice = Advice(
                    "The catalog is damaged. Recover the catalog, or restore a dump (see Backup and restore in the "
                    "docs).",
                    "The catalog is damaged. Run 'hybrid-pageindex recover' (for PostgreSQL, restore a dump).",
                )
                raise IndexDamagedError(f"The rebuilt search index does not match the catalog: {difference}.", advice)
        if self._verified and not verified and self._store.replicated:
            self._store.clear(self._recent(source))

    def _apply_log(self, source: PointSource, enough: Callable[[], bool] = lambda: False) -> bool:
        """Apply the log until it stops growing, or for a few passes. Return False if ``enough`` ended it early."""
        for _round in range(_ROUNDS):
            stand, newest = self._recorded(source)
            self._reach(stand)
            start = stand.seq if self._stale is None else min(stand.seq, self._stale)
            if start == newest:
                self._stale = None
                return True
            if not self._apply(source, start, newest, enough):
                return False
        return True

    def _recorded(self, source: PointSource) -> tuple[Head, int]:
        """Return the last change applied to the store, and the number of the source's newest change.

        Raise ``IndexDamagedError`` if the source's log lacks the applied change, or ``OtherHistoryError`` if the store
        is shared with other processes.
        """
        stand, head = self._store.stand()  # read before the source, or the store could seem to be ahead
        newest = source.position()
        if self._store.shared and not (holds(source, stand) and holds(source, head)):
            raise OtherHistoryError(OTHER_HISTORY)
        if newest < stand.seq:
            raise IndexDamagedError("the search index contains changes that the catalog does not contain")
        if not holds(source, stand):
            raise IndexDamagedError(OTHER_HISTORY)
        return stand, newest

    def _announce(self, source: PointSource) -> None:
        """Announce the source's newest change in a shared store. Call it after reading points, before writing them."""
        if not self._store.shared:
            return
        newest = source.position()
        head = Head(newest, source.mark(newest) or 0)
        if head != self._announced:
            self._store.announce(head, lambda other: holds(source, other))
            self._announced = head

    def _apply(self, source: PointSource, start: int, newest: int, enough: Callable[[], bool]) -> bool:
        latest: dict[str, int] = {}
        marks: dict[int, int] = {}
        for change in source.changes(start):
            latest.pop(change.doc_id, None)  # so that the rest stays in order of seq
            latest[change.doc_id] = change.seq
            marks[change.seq] = change.mark
            newest = max(newest, change.seq)
        self._verified = self._verified and self._store.shared
        self._note_writing(newest)
        with self._store.writing():
            for some in parts(latest, self._store.documents_at_once):
                published = list(source.published(some))  # read after the changes, so it is at least as new as they are
                self._announce(source)
                self._store.replace(some, _points(source, published), newest)
                at = latest[some[-1]]
                self._store.advance(at, marks[at], more=True)  # so that an interruption loses only a part
                self._reach(max(self.stand, Head(at, marks[at])))
                if at < newest and enough():
                    self._store.advance(at, marks[at])
                    return False
            self._store.advance(newest, marks.get(newest, 0))
        self._reach(Head(newest, marks.get(newest, 0)))
        self._stale = newest
        return True

    def _recent(self, source: PointSource) -> dict[str, int]:
        """Return the recently changed documents, each with the number of its last applied change."""
        changes = source.changes(max(0, self.stand.seq - _RECENT))
        return {change.doc_id: change.seq for change in changes if change.seq <= self.stand.seq}

    def _refill(self, source: PointSource, reason: str) -> None:
        _log.info("building the search index (%s)", reason)
        newest = source.position()  # read before the versions are listed: later changes are replayed
        self._verified, self._store.amiss = False, reason  # until the refill is complete
        self._note_writing(newest)
        with self._store.writing():
            published = list(source.published())
            self._announce(source)
            self._store.refill(_points(source, published), newest, anew=reason == REQUESTED)
            self._store.advance(newest, source.mark(newest) or 0)
        self._stale, self._store.amiss = newest, ""
        self.rebuilt = "" if reason in (NEW, REQUESTED) else reason
        self._apply_log(source)

    def refill(self, source: PointSource) -> None:
        """Rebuild the store, whatever it contains. Raise the same errors as ``follow``."""
        with self._moved:
            while self._busy:
                self._moved.wait()
            self._busy = True
        try:
            with translated():
                self._store.distrust(REQUESTED)
                self._catch_up(source, lambda: False, True)
        finally:
            self._end_writing()

    def _note_writing(self, at: int) -> None:
        """Record that changes from position ``at`` on may outdate a write. Call it before the write."""
        self._stale = at if self._stale is None else min(self._stale, at)

    def _difference(self, source: PointSource) -> str:
        """Return a text that describes the difference between the numbers of vectors in the store and in the source.

        Return "" if there is none, or if another process has changed the store or the source meanwhile.
        """
        difference = ""
        for pause in _PATIENCE if self._store.shared else _PATIENCE[:1]:
            if pause:
                time.sleep(pause)
            position = source.position()
            expected, count = source.expected_vectors(), self._store.count()
            if not self._store.position() == position == source.position():
                return ""
            if count == expected:
                self._verified = True
                return ""
            difference = f"the index contains {count} vectors, but the catalog expects {expected}"
        return difference


def _points(source: PointSource, versions: Iterable[tuple[str, str]]) -> Iterator[Point]:
    """Yield the points of document versions in a fixed order, since an engine's rounding of scores depends on it."""
    return (point for version in sorted(versions) for point in source.points(*version))


@contextmanager
def translated() -> Iterator[None]:
    """Translate errors of the operating system about files into ``StoreError`` or a subclass."""
    try:
        yield
    except OSError as error:
        message = f"The search index cannot be read or written: {error}."
        if error.errno in UNWRITABLE:
            kind = DiskFullError if error.errno in FULL else ReadOnlyError
            raise kind(message, "Check the permissions and the free space of the index folder.") from error
        raise StoreError(message, "Check the permissions and the free space of the index folder.") from error
