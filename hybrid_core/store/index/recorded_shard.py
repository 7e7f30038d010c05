"""A shard together with the record of what it holds: loaded, copied, saved and put in order as one thing."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from hybrid_core.errors import BusyError, IndexDamagedError, StoreError
from hybrid_core.store.home import close_below
from hybrid_core.store.index.edge_optimize import optimize_in_child
from hybrid_core.store.index.edge_shard import LAYOUT, Shard, require_space
from hybrid_core.store.index.shard_folders import allocated_bytes, claim, copy_shard
from hybrid_core.store.index.shard_state import ShardState, forget_state, read_state, write_state
from hybrid_core.store.index.vectors import OTHER_SETTINGS, vectors_manifest

_OPTIMIZE_POINTS = 2_000  # unoptimised, they add 30 ms to a load; optimising takes about a second
_OPTIMIZE_SHARE = 0.1
_COPY_SECONDS = 10.0
_COPY_TRIES = 4
_WRITE_SECONDS = 60.0
_SPARE_BYTES = 64 << 20
_log = logging.getLogger(__name__)


class RecordedShard:
    """The one shard of one handle. Not thread-safe: the owner serialises the calls.

    The library's own shard is recorded in state.json, a private copy only here.
    """

    def __init__(
        self, folder: Path, manifest: Mapping[str, str | int], dimension: int = 0, learned: bool = False
    ) -> None:
        self.position = 0
        self.dimension, self.learned = dimension, learned
        self._manifest = {**manifest, **vectors_manifest(dimension, learned), "layout": LAYOUT}
        self._churn = 0  # points written or deleted since the shard was optimised
        self._recorded: ShardState | None = None
        self._shard: Shard | None = None
        self._closed = False
        self._process = os.getpid()
        self._place = claim(folder)

    @property
    def private(self) -> bool:
        return self._place.private

    @property
    def shard(self) -> Shard:
        """The open shard. Raises ``StoreError`` after ``close``, ``IndexDamagedError`` if not built."""
        self.require_open()
        if self._shard is None:
            raise IndexDamagedError("The search index is not built.", "Try again in a moment.")
        return self._shard

    def require_open(self) -> None:
        """Raise ``StoreError`` after ``close``."""
        if self._closed:
            raise StoreError("The search index is closed.")

    def writing(self) -> AbstractContextManager[None]:
        """Hold this around every write: nobody copies the shard meanwhile. Raises ``BusyError``."""
        return nullcontext() if self.private else self._place.whole(_WRITE_SECONDS)

    def open(self, newest: Callable[[], int]) -> str:
        """Load or copy what is recorded; why that cannot be trusted, "" where it can.

        ``newest`` is the position of the source, asked for after the record was read, since another process may
        move both. Says "new" where there was nothing yet.
        """
        if self.private:
            return self._open_copy(newest)
        with self.writing():
            return self._open_own(newest)

    def begin(self) -> None:
        """Record that from now on the shard may hold more than is recorded."""
        self._record(self._state(writing=True))

    def touched(self, points: int) -> None:
        """Count points that were written or deleted."""
        self._churn += points

    def save(self, position: int, *, more: bool = False) -> None:
        """Make everything written durable, then record it as at ``position`` (``more``: writing goes on)."""
        self.shard.flush()
        close_below(self._place.shard)  # Edge makes files as the umask lets it
        self.position = position
        self._record(self._state(writing=more))

    def start_over(self) -> Shard:
        """Throw the shard away and make an empty one. It is not trusted until ``save`` records it."""
        self._let_go()
        if not self.private:
            forget_state(self._place.state)
            self._recorded = None
        shutil.rmtree(self._place.shard, ignore_errors=True)
        self._churn = 0
        self._shard = Shard.create(self._place.shard, self.dimension, self.learned)
        return self._shard

    def settle(self) -> None:
        """Optimise after many changes, since many unoptimised points load slowly, and record what is new.

        Not for a private copy: nobody will ever load it. Raises ``IndexDamagedError``.
        """
        if self.private:
            return
        state = self._state(writing=False)
        if self._churn > _optimize_above(state.count):
            with self.writing():
                self._let_go()
                self._optimize()
                self._load(state)
                self._record(self._state(writing=False))
        elif state != self._recorded:
            with self.writing():
                self.save(self.position)

    def distrust(self) -> None:
        """Let the shard be rebuilt by whoever opens it next."""
        if not self.private:
            with suppress(OSError):  # the error that led here is the one to tell
                forget_state(self._place.state)

    def close(self) -> None:
        """Give the shard and its folder back; safe to call twice."""
        if os.getpid() != self._process:
            return  # a forked child must not touch its parent's shard, nor remove the folder
        self._closed = True
        self._let_go()
        self._place.release()

    def _open_own(self, newest: Callable[[], int]) -> str:
        self._recorded = state = read_state(self._place.state)
        if state is None and not self._place.shard.exists():
            return "new"
        reason = self._distrust(state, newest())
        if state is None or reason:
            return reason
        self._churn = state.churn
        if state.writing or state.churn > _optimize_above(state.count):
            self._optimize()  # what a killed writer left is put in order before it is used
        try:
            self._load(state)
        except IndexDamagedError as error:
            return error.message
        return ""

    def _open_copy(self, newest: Callable[[], int]) -> str:
        reason = ""
        for attempt in range(_COPY_TRIES):
            time.sleep(0.05 * attempt)
            try:
                self._copy(newest)
            except IndexDamagedError as error:
                reason = error.message
            except BusyError as error:
                return error.message  # its owner writes for long: building one takes no longer
            else:
                return ""
        return reason

    def _copy(self, newest: Callable[[], int]) -> None:
        with self._place.whole(_COPY_SECONDS):
            state = read_state(self._place.state)
            reason = self._distrust(state, newest())
            if state is None or reason or state.writing:
                raise IndexDamagedError(reason or "its writer was killed")
            shutil.rmtree(self._place.shard, ignore_errors=True)
            try:
                require_space(self._place.shard, allocated_bytes(self._place.own_shard) + _SPARE_BYTES)
                copy_shard(self._place.own_shard, self._place.shard)
            except FileNotFoundError as error:  # a thread of Edge's makes the log's next file, and then renames it
                raise IndexDamagedError("it changed while it was copied") from error
            if read_state(self._place.state) != state:
                raise IndexDamagedError("it changed while it was copied")
        self._load(state)

    def _distrust(self, state: ShardState | None, newest: int) -> str:
        if state is None:
            return "its record is missing or unreadable"
        if dict(state.manifest) != self._manifest:
            return OTHER_SETTINGS
        if state.position > newest:
            return "it is ahead of the catalog"
        return ""

    def _load(self, state: ShardState) -> None:
        self._shard = Shard.load(self._place.shard, self.dimension, self.learned)
        close_below(self._place.shard)
        self.position = state.position
        if not state.writing and (count := self._shard.count()) != state.count:
            self._let_go()
            raise IndexDamagedError(f"it holds {count} vectors and not {state.count}")

    def _optimize(self) -> None:
        try:
            # Optimising writes the shard a second time beside the first.
            require_space(self._place.shard, 2 * allocated_bytes(self._place.shard) + _SPARE_BYTES)
        except StoreError as error:
            _log.warning("the search index was not optimised: %s", error)
            return
        if optimize_in_child(self._place.shard, self._place.handles):
            self._churn = 0
        close_below(self._place.shard)

    def _state(self, writing: bool) -> ShardState:
        count = 0 if writing else self.shard.count()
        return ShardState(self._manifest, self.position, count, self._churn, writing)

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


def _optimize_above(count: int) -> int:
    return max(_OPTIMIZE_POINTS, int(count * _OPTIMIZE_SHARE))
