"""Storage of points in an Edge shard, with a record of its content.

The first index that is opened owns the library's shard. While it is open, every other one, even in this process, has a
private copy. Changes are recorded only after a flush. So after a process was killed, some changes may be applied twice,
which is harmless.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.errors import BusyError, DiskFullError, IndexDamagedError, ReadOnlyError, StoreError
from hybrid_core.store.home import close_below
from hybrid_core.store.index.edge.child import optimize_in_child, try_in_child
from hybrid_core.store.index.edge.folders import (
    SPARE_BYTES,
    ShardPlace,
    ShardState,
    allocated_bytes,
    borrow,
    checksum,
    claim,
    copy_shard,
    fingerprint,
    forget_state,
    read_state,
    write_state,
)
from hybrid_core.store.index.edge.shard import HEADROOM_BYTES, LAYOUT, Shard, require_space
from hybrid_core.store.index.follower import NEW, translated
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import (
    OTHER_SETTINGS,
    Found,
    Head,
    Point,
    PointSource,
    Query,
    VectorName,
    vectors_manifest,
)

CHANGED = "its files have changed or are damaged"
_OPTIMIZE_POINTS = 2_000  # more unoptimised points add 30 ms to a load; optimising takes about a second
_OPTIMIZE_SHARE = 0.1
_HURRY_FACTOR = 5  # factor for these limits if a user waits for the first search
_CHECKPOINT_POINTS = 20_000
_COPY_SECONDS = 10.0
_COPY_TRIES = 4
_WRITE_SECONDS = 60.0
_log = logging.getLogger(__name__)


def open_edge(
    folder: Path,
    source: PointSource,
    manifest: Mapping[str, str | int],
    dimension: int = 0,
    learned: bool = False,
    *,
    follow: bool = True,
    lasting: bool = False,
) -> VectorIndex:
    """Open the index in ``folder`` and bring it up to date. Create, copy or rebuild it as needed.

    Without ``follow`` the index stays at its recorded position, unless it has to be rebuilt. ``manifest`` describes how
    the vectors were computed (tokeniser, average length, …); an index with another manifest is rebuilt. ``dimension``
    is the dimension of the dense vectors, 0 without them; ``learned`` says whether there are learned sparse vectors.

    If the folder cannot be written, the index is a copy outside the home, which is deleted when the index is closed.
    With ``follow`` or ``lasting`` there is no such copy, since writes must persist. Raise ``DiskFullError`` if no disk
    has enough space, ``ReadOnlyError`` if no copy is allowed, and ``BusyError`` if another process copies the shard for
    longer than a minute.
    """
    try:
        with translated():
            store = EdgeStore(claim(folder), manifest, dimension, learned)
        return _opened(store, source, follow)
    except (DiskFullError, ReadOnlyError) as error:
        if follow or lasting:
            raise
        _log.info("%s Searches use a temporary copy outside the home.", error.message)
        with translated():
            store = EdgeStore(borrow(folder), manifest, dimension, learned)
        return _opened(store, source, follow)


def _opened(store: EdgeStore, source: PointSource, follow: bool) -> VectorIndex:
    index = VectorIndex(store)
    try:
        with translated():
            store.open(source.position, hurried=not follow)
        if follow or not index.resume(source):
            index.catch_up(source)
        with translated():
            store.settle(hurried=not follow)
        if follow or not index.resume(source):
            index.catch_up(source)
    except BaseException:
        index.close()
        raise
    return index


class EdgeStore:
    """A ``PointStore`` in one Edge shard. state.json records the content of the library's shard, not of copies."""

    shared = False
    replicated = False
    documents_at_once = 1  # so that a search never sees half a document

    def __init__(
        self, place: ShardPlace, manifest: Mapping[str, str | int], dimension: int = 0, learned: bool = False
    ) -> None:
        self.dimension, self.learned = dimension, learned
        self.amiss = NEW
        self.closed = False
        self.trusted, self.doubted = Head(), set[Head]()  # no other process writes this store
        self._lock = threading.Lock()  # protects every use of the shard, which is not thread-safe
        self._manifest = {**manifest, **vectors_manifest(dimension, learned), "layout": LAYOUT}
        self._position = self._mark = 0
        self._churn = 0  # points written or deleted since the last optimisation
        self._unsaved = 0
        self._recorded: ShardState | None = None
        self._shard: Shard | None = None
        self._process = os.getpid()
        self._place = place

    @property
    def private(self) -> bool:
        """Return whether the shard is a private copy, because another open index owns the library's shard."""
        return self._place.private

    def open(self, newest: Callable[[], int], *, hurried: bool = False) -> None:
        """Load the library's shard, or copy and load it.

        If it cannot be trusted or does not exist, set ``amiss`` to the reason. ``newest`` returns the position of the
        source. It is called after the record was read, since another process may change both. ``hurried`` loads without
        optimising, unless very much has changed.
        """
        if self.private:
            self.amiss = self._open_copy(newest)
        else:
            with self.writing():
                self.amiss = self._open_own(newest, hurried)

    def position(self) -> int:
        return self._position

    def stand(self) -> tuple[Head, Head]:
        recorded = Head(self._position, self._mark)
        return recorded, recorded

    def announce(self, head: Head, own: Callable[[Head], bool]) -> None:
        """Do nothing: folder locks ensure a single writer."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self.private:
            yield
        else:
            with self._place.whole(_WRITE_SECONDS):  # no other process copies the shard meanwhile
                yield

    def replace(self, doc_ids: Collection[str], points: Iterable[Point], at: int) -> None:
        with self._lock:
            shard = self._begin()
        prepared = list(shard.prepared(points))
        written = {key for batch in prepared for key in batch.ids}
        with self._lock:
            for batch in prepared:
                shard.upsert(batch)
            deleted = sum(shard.delete_others(doc_id, keep=written) for doc_id in doc_ids)
        self._touched(len(written) + deleted)

    def refill(self, points: Iterable[Point], at: int, *, anew: bool = False) -> None:
        with self._lock:
            require_space(self._place.shard, HEADROOM_BYTES - allocated_bytes(self._place.shard))
            self._let_go()
            if not self.private:
                forget_state(self._place.state)
                self._recorded = None
            shutil.rmtree(self._place.shard, ignore_errors=True)
            if not self.private:
                self._place.acquit()
            self._position = self._mark = self._churn = 0
            shard = self._shard = Shard.create(self._place.shard, self.dimension, self.learned)
            for batch in shard.prepared(points):
                shard.upsert(batch)
                self._touched(len(batch.ids))

    def advance(self, position: int, mark: int = 0, *, more: bool = False) -> None:
        if not more or self._unsaved >= _CHECKPOINT_POINTS:
            with self._lock:
                self._save(position, mark, more=more)

    def nearest(self, query: Query) -> list[Found]:
        with self._lock:
            return self._open_shard().nearest(query)

    def payloads(self, ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        with self._lock:
            return self._open_shard().payloads(ids)

    def count(self, *kinds: VectorName) -> int:
        with self._lock:
            return self._open_shard().count(*kinds)

    def ids(self) -> Iterator[str]:
        following: str | None = None
        while True:
            with self._lock:
                ids, following = self._open_shard().listed(following)
            yield from ids
            if following is None:
                return

    def distrust(self, reason: str) -> None:
        self.amiss = reason
        if not self.private:
            self._recorded = None
            with suppress(OSError):  # report the error that led here, not this one
                forget_state(self._place.state)

    def clear(self, latest: Mapping[str, int]) -> None:
        """Do nothing: a single process writes a single copy."""

    def settle(self, *, hurried: bool = False) -> None:
        """Optimise the shard after many changes, since unoptimised points load slowly, and record its state.

        A private copy is not optimised, since it is never loaded again.
        """
        if self.private:
            return
        with self._lock:
            state, recorded = self._state(writing=False), self._recorded
            if self._churn > _optimize_above(state.count, hurried):
                with self.writing():
                    self._record(state)
                    self._let_go()
                    optimized = self._optimize()
                    try:
                        self._load(state, doubtful=not optimized)
                        self._record(self._state(writing=False))
                        self._seal()
                    except IndexDamagedError as error:
                        self.amiss = error.message
            elif recorded is None or not recorded.checked or replace(state, files=recorded.files) != recorded:
                with self.writing():
                    self._save(self._position, self._mark)
                    self._seal()

    def close(self) -> None:
        """Close the shard and release its folder; safe to call twice."""
        if os.getpid() != self._process:
            return  # a forked child must not close its parent's shard or delete the folder
        with self._lock:
            self.closed = True
            opened = self._shard is not None
            self._let_go()
            if opened:
                with suppress(OSError, StoreError), self.writing():
                    self._seal()
            self._place.release()

    def _unseal(self, state: ShardState) -> None:
        """Replace the checksum in the shard's record by a fingerprint, since loading the shard may change its files.

        If the process ends before ``_seal`` stores a checksum again, the record is still valid.
        """
        if state.checked:
            with suppress(OSError, StoreError):  # a full disk prevents such changes too
                self._record(replace(state, files=fingerprint(self._place.shard)))

    def _seal(self) -> None:
        """Replace the fingerprint in the shard's record by a checksum of its files. Call it within ``writing``."""
        state = self._recorded
        if self.private or state is None or state.writing or state.checked:
            return
        with suppress(OSError, StoreError):  # without a checksum the next handle compares the fingerprint
            self._record(replace(state, files=checksum(self._place.shard)))

    def _open_shard(self) -> Shard:
        if self.closed:
            raise StoreError("The search index of this library is closed.")
        if self._shard is None:
            raise IndexDamagedError("The search index of this library is not built yet.", "Try again in a moment.")
        return self._shard

    def _begin(self) -> Shard:
        """Record, before a write, that the shard may contain newer points than its recorded position says.

        Return the open shard.
        """
        if self._recorded is None or not self._recorded.writing:
            self._record(self._state(writing=True))
        return self._open_shard()

    def _touched(self, points: int) -> None:
        self._churn += points
        self._unsaved += points

    def _save(self, position: int, mark: int, *, more: bool = False) -> None:
        """Flush all writes, then record that all changes up to ``position`` are applied.

        ``mark`` is the mark of that change. With ``more``, further writes follow at once.
        """
        self._open_shard().flush()
        close_below(self._place.shard)  # Edge creates files with the rights of the umask
        self._position, self._mark, self._unsaved = position, mark, 0
        self._record(self._state(writing=more))

    def _open_own(self, newest: Callable[[], int], hurried: bool) -> str:
        self._recorded = state = read_state(self._place.state)
        if state is None and not self._place.shard.exists():
            return NEW
        reason = self._distrusted(state, newest())
        if state is None or reason:
            return reason
        self._churn = state.churn
        try:
            doubtful = self._doubtful(state, self._place.shard)
        except IndexDamagedError as error:
            return error.message
        self._unseal(state)
        if (state.writing or state.churn > _optimize_above(state.count, hurried)) and self._optimize():
            doubtful = False  # optimising repairs the leftovers of a killed writer
        try:
            self._load(state, doubtful)
        except IndexDamagedError as error:
            return error.message
        self._seal()
        return ""

    def _open_copy(self, newest: Callable[[], int]) -> str:
        if self._place.borrowed and not self._place.own_shard.exists():
            return NEW
        reason = ""
        for attempt in range(_COPY_TRIES):
            time.sleep(0.05 * attempt)
            try:
                self._copy(newest)
            except IndexDamagedError as error:
                reason = error.message
            except BusyError as error:
                return error.message  # the owner writes for a long time: building a new shard is no slower
            else:
                return ""
        return reason

    def _copy(self, newest: Callable[[], int]) -> None:
        with self._place.whole(_COPY_SECONDS):
            state = read_state(self._place.state)
            reason = self._distrusted(state, newest())
            if state is None or reason or state.writing:
                raise IndexDamagedError(reason or "the process that wrote the search index was killed")
            shutil.rmtree(self._place.shard, ignore_errors=True)
            try:
                require_space(self._place.shard, allocated_bytes(self._place.own_shard) + SPARE_BYTES)
                copy_shard(self._place.own_shard, self._place.shard)
            except FileNotFoundError as error:  # a thread of Edge creates the next file of the log and renames it
                raise IndexDamagedError("the search index changed while it was copied") from error
            if read_state(self._place.state) != state:
                raise IndexDamagedError("the search index changed while it was copied")
            suspect = self._place.suspect
            doubtful = self._doubtful(state, self._place.own_shard)
        self._load(state, doubtful)
        if suspect:
            self._place.acquit()

    def _distrusted(self, state: ShardState | None, newest: int) -> str:
        if state is None:
            return "the record of the index's state is missing or unreadable"
        if dict(state.manifest) != self._manifest:
            return OTHER_SETTINGS
        if state.position > newest:
            return "the search index contains changes that the catalog does not contain"
        return ""

    def _doubtful(self, state: ShardState, shard: Path) -> bool:
        """Return whether loading a shard may crash the process. Raise IndexDamagedError if its files were changed."""
        if state.checked and checksum(shard) != state.files:
            raise IndexDamagedError(CHANGED)
        return self._place.suspect or not (state.checked or fingerprint(shard) == state.files)

    def _load(self, state: ShardState, doubtful: bool) -> None:
        if doubtful:
            self._try()
        with self._place.loading():
            self._shard = Shard.load(self._place.shard, self.dimension, self.learned)
            count = self._shard.count()
        close_below(self._place.shard)
        self._position, self._mark = state.position, state.mark
        if not state.writing and count != state.count:
            self._let_go()
            raise IndexDamagedError(f"the search index contains {count} vectors instead of {state.count}")

    def _try(self) -> None:
        try:
            try_in_child(self._place.shard, self.dimension, self.learned, self._place.handles)
        except IndexDamagedError as error:
            self._place.accuse()  # the mark stays until the shard is rebuilt
            _log.warning("the search index %s is damaged: %s", self._place.shard, error.message)
            raise

    def _optimize(self) -> bool:
        """Optimise the closed shard in a child process. Return whether it succeeded."""
        try:
            # Optimising writes the shard a second time.
            require_space(self._place.shard, 2 * allocated_bytes(self._place.shard) + SPARE_BYTES)
        except StoreError as error:
            _log.warning("the search index was not optimised: %s", error)
            return False
        optimized = optimize_in_child(self._place.shard, self._place.handles)
        if optimized:
            self._churn = 0
        close_below(self._place.shard)
        return optimized

    def _state(self, writing: bool) -> ShardState:
        """Return the current state of the shard for its record, with a fingerprint of its files if not ``writing``."""
        if writing:
            return ShardState(self._manifest, self._position, 0, self._churn, writing, mark=self._mark)
        count, files = self._open_shard().count(), fingerprint(self._place.shard)
        return ShardState(self._manifest, self._position, count, self._churn, files=files, mark=self._mark)

    def _record(self, state: ShardState) -> None:
        if not self.private:
            write_state(self._place.state, state)
        self._recorded = state

    def _let_go(self) -> None:
        if self._shard is not None:
            with suppress(IndexDamagedError):
                self._shard.close()
            self._shard = None
            close_below(self._place.shard)


def _optimize_above(count: int, hurried: bool = False) -> int:
    return max(_OPTIMIZE_POINTS, int(count * _OPTIMIZE_SHARE)) * (_HURRY_FACTOR if hurried else 1)
