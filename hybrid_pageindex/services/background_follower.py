"""A thread that brings indexes up to their logs while others search, and gives way to searches."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_POLL_SECONDS = 1.0
_GIVES_WAY = 0.3  # seconds at most that following waits for searches under way before its next document
_END_SECONDS = 5.0  # that a process which ends without closing waits at most


class Following(Protocol):
    def follow_all(self) -> None:
        """Bring every index that was searched up to its log, until it is time to end."""
        ...


class BackgroundFollower:
    """Begins with ``start``. Ends with ``end``, with the process, or when what it brings up to date is forgotten."""

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
        """Let the thread work from now on. Safe to call twice."""
        with self._starting:
            indexes = self._indexes()
            if self._thread is None and not self.ending and indexes is not None:
                work = (self._indexes, self._ending)
                self._thread = threading.Thread(target=_keep_following, args=work, name="index", daemon=True)
                weakref.finalize(indexes, _end, self._thread, self._ending)
                self._thread.start()

    def end(self) -> None:
        """Return when the thread has ended, after one more turn."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Held around a search: following gives way to it after the document at hand."""
        with self._searches:
            self._searching += 1
        try:
            yield
        finally:
            with self._searches:
                self._searching -= 1
                self._searches.notify_all()

    def give_way(self) -> None:
        """Wait a moment for searches under way."""
        with self._searches:
            self._searches.wait_for(lambda: not self._searching or self.ending, _GIVES_WAY)

    def hurries(self, last: bool) -> bool:
        """Whether somebody waits for the thread to pause, or to end where this is not its last turn."""
        return self._searching > 0 or (self.ending and not last)


def _end(follower: threading.Thread, closing: threading.Event) -> None:
    """Let the document at hand be written: half of one has the next process put the whole index in order."""
    closing.set()
    if follower is not threading.current_thread():
        follower.join(_END_SECONDS)


def _keep_following(indexes: weakref.ref[Following], closing: threading.Event) -> None:
    """Look for changes every second, and once more at the end; the indexes may be forgotten meanwhile."""
    ended = False
    while not ended:
        ended = closing.wait(_POLL_SECONDS)
        found = indexes()
        if found is None:
            return
        found.follow_all()
        del found
