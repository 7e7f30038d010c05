"""The follower of a change log, which updates an index; it is the same for every backend.

To apply a change, it writes what is published of the document now. So replaying the log in any order, by several
processes, ends in the published state. A search waits only for changes that were published before it began.
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
"""Why an index is built for the first time."""
REQUESTED = "a rebuild was requested"
"""Why an index is made anew that may be sound."""
_ROUNDS = 5  # how often one following goes after a log that keeps moving
_RECENT = 1000  # changes: a writer that was killed was not further behind
_PATIENCE = (0.0, 0.1, 0.4)  # seconds: another process may be halfway through a change
_log = logging.getLogger(__name__)


class PointStore(Protocol):
    """The points of one index. ``nearest`` and ``count`` may be called while another thread writes.

    ``shared``: other processes write it as well. ``replicated``: there are several copies, and a count covers one of
    them. ``documents_at_once`` are replaced by one call. ``amiss`` is why it must be filled anew before it is used, ""
    where it is sound. ``doubted`` are the announced changes that searches met, except for the ``trusted`` one.
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
        """Return the change up to which all is applied. Raise ``IndexMissingError`` where it was never filled."""
        ...

    def stand(self) -> tuple[Head, Head]:
        """Return the change up to which everything is applied, and the newest one that a writer has announced.

        Raise as ``position`` does.
        """
        ...

    def announce(self, head: Head, own: Callable[[Head], bool]) -> None:
        """Record, before a write, the newest change that it may show, unless a later one is recorded.

        Raise ``OtherHistoryError`` where the recorded one is not the caller's ``own``: then nothing may be written.
        """
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Guard every write. Raise ``BusyError`` where another process keeps us from it."""
        ...

    def replace(self, doc_ids: Collection[str], points: Iterable[Point], at: int) -> None:
        """Let these be the documents' only points; they are what the source had at ``at`` or later."""
        ...

    def refill(self, points: Iterable[Point], at: int, *, anew: bool = False) -> None:
        """Let these be the only points at all; ``anew``: whatever their ``at``, none of the old ones stays."""
        ...

    def advance(self, position: int, mark: int = 0, *, more: bool = False) -> None:
        """Record durably that everything up to a position is applied; with ``more`` to come, only now and then.

        ``mark`` is that of the change at this position.
        """
        ...

    def nearest(self, query: Query) -> list[Found]:
        """Return the ``limit`` best points of a checked query, best first. Raise ``IndexDamagedError``."""
        ...

    def payloads(self, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return the payloads of points by their ids; those that are gone are left out."""
        ...

    def count(self, *kinds: VectorName) -> int:
        """Return the exact number of vectors of these kinds, or of all."""
        ...

    def ids(self) -> Iterator[str]:
        """Yield the ids of all points in ascending order; what is written meanwhile may be among them or not."""
        ...

    def clear(self, latest: Mapping[str, int]) -> None:
        """Delete again, on each copy, what is older than these documents' latest changes."""
        ...

    def settle(self) -> None:
        """Put in order what many changes left; searches wait meanwhile."""
        ...

    def distrust(self, reason: str) -> None:
        """Let it be filled anew, by us or by whoever opens it next."""
        ...

    def close(self) -> None: ...


class Follower:
    """Applies the change log of a source to one store, one thread at a time."""

    def __init__(self, store: PointStore) -> None:
        self.stand = Head()  # everything up to it is applied
        self.rebuilt = ""  # why the store was filled anew, "" where it was not or it was the first time
        self._store = store
        self._moved = threading.Condition()
        self._busy = False
        self._verified = False  # whether the count was compared with the source since the last write (shared: ever)
        self._stale: int | None = None  # position from which changes may have made old what this handle wrote
        self._announced: Head | None = None  # the source's newest change when this handle last wrote

    def resume(self, source: PointSource) -> bool:
        """Go on from what the store has recorded, without applying anything; False where that cannot be trusted.

        Raise ``OtherHistoryError`` where other processes write another history into it.
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
        """Look in the source for the changes that searches met. Raise ``OtherHistoryError`` where one is not there."""
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
        """Apply the log up to ``until``, by default all that the source has now, and record what was applied.

        Return earlier where ``enough`` says so, which is called after each document. Without ``fill``, a store that no
        longer exists is left so, and ``IndexMissingError`` raised. Raise ``StoreError`` where the store cannot be
        written (disk full), ``IndexDamagedError`` where it disagrees with the source even after it was filled anew, and
        ``OtherHistoryError`` as ``resume`` does.
        """
        if self._store.closed:
            raise StoreError("The search index is closed.")
        if not self._turn_is_needed(source, source.position() if until is None else until):
            return
        try:
            with translated():
                self._catch_up(source, enough, fill)
        finally:
            self._end_turn()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Wait for the write in progress, and let nothing be written meanwhile."""
        with self._moved:
            while self._busy:
                self._moved.wait()
            yield

    def _turn_is_needed(self, source: PointSource, until: int) -> bool:
        """Wait until everything up to a position is applied; True where it is the caller's turn to see to it."""
        with self._moved:
            while True:
                settled = self._busy or (self._verified and self._stale is None)
                reached = settled and self.stand.seq >= until and not self._store.amiss
                if reached and holds(source, self.stand):  # else the catalog was put back
                    return False
                if not self._busy:
                    self._busy = True
                    return True
                self._moved.wait()

    def _end_turn(self) -> None:
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
                    "Its catalog is damaged: recover it, or restore a dump (see Backup and restore in the docs).",
                    "The catalog is damaged: run 'hybrid-pageindex recover' (for PostgreSQL, restore a dump).",
                )
                raise IndexDamagedError(f"The rebuilt search index does not match the catalog: {difference}.", advice)
        if self._verified and not verified and self._store.replicated:
            self._store.clear(self._recent(source))

    def _apply_log(self, source: PointSource, enough: Callable[[], bool] = lambda: False) -> bool:
        """Apply the log until it stands still, or a few times; False where it was ``enough`` before."""
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
        """Return the change up to which everything is applied, and the source's position.

        Raise ``IndexDamagedError`` where the source's log has no such change.
        """
        stand, head = self._store.stand()  # before the source is asked, or it could look as if it were ahead
        newest = source.position()
        if self._store.shared and not (holds(source, stand) and holds(source, head)):
            raise OtherHistoryError(OTHER_HISTORY)
        if newest < stand.seq:
            raise IndexDamagedError("it holds changes that the catalog does not")
        if not holds(source, stand):
            raise IndexDamagedError(OTHER_HISTORY)
        return stand, newest

    def _announce(self, source: PointSource) -> None:
        """Announce what is about to be written, which was read from the source before."""
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
                published = list(source.published(some))  # after the changes were read: what is so now, or later
                self._announce(source)
                self._store.replace(some, _points(source, published), newest)
                at = latest[some[-1]]
                self._store.advance(at, marks[at], more=True)  # so that a kill costs a part only
                self._reach(max(self.stand, Head(at, marks[at])))
                if at < newest and enough():
                    self._store.advance(at, marks[at])
                    return False
            self._store.advance(newest, marks.get(newest, 0))
        self._reach(Head(newest, marks.get(newest, 0)))
        self._stale = newest
        return True

    def _recent(self, source: PointSource) -> dict[str, int]:
        """Return the recently changed documents, each with the change up to which the store holds it."""
        changes = source.changes(max(0, self.stand.seq - _RECENT))
        return {change.doc_id: change.seq for change in changes if change.seq <= self.stand.seq}

    def _refill(self, source: PointSource, reason: str) -> None:
        _log.info("building the search index (%s)", reason)
        newest = source.position()  # before the versions are listed: what changes meanwhile is replayed
        self._verified, self._store.amiss = False, reason  # until it is filled to the end
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
        """Make the store anew, whatever it holds. Raises what ``follow`` raises."""
        with self._moved:
            while self._busy:
                self._moved.wait()
            self._busy = True
        try:
            with translated():
                self._store.distrust(REQUESTED)
                self._catch_up(source, lambda: False, True)
        finally:
            self._end_turn()

    def _note_writing(self, at: int) -> None:
        """Note before writing that from ``at`` on a change may make it old, also where the writing fails."""
        self._stale = at if self._stale is None else min(self._stale, at)

    def _difference(self, source: PointSource) -> str:
        """Return how the store differs from the source, "" where it does not or somebody moved on meanwhile."""
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
            difference = f"it holds {count} vectors and the catalog {expected}"
        return difference


def _points(source: PointSource, versions: Iterable[tuple[str, str]]) -> Iterator[Point]:
    """Yield the points in one order, whatever the source's: an engine's sums depend on it in their last digits."""
    return (point for version in sorted(versions) for point in source.points(*version))


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the system says of files into a ``StoreError``."""
    try:
        yield
    except OSError as error:
        message = f"The search index cannot be read or written: {error}."
        if error.errno in UNWRITABLE:
            kind = DiskFullError if error.errno in FULL else ReadOnlyError
            raise kind(message, "Check the permissions and the free space of its folder.") from error
        raise StoreError(message, "Check the permissions and the free space of its folder.") from error
