"""Where something is published, its library's index is brought up to the change log: so searches find it so."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hybrid_core.errors import NotFoundError, PageIndexError
from hybrid_pageindex.services.parts import Parts

_LOOK = 2.0  # seconds between two looks at the logs
_SHARE = 0.1  # of a worker's time at most: an index is opened for each turn, since others search with it between them
_LAST = 2.0  # seconds that the last turn takes at most; searches do the rest
_log = logging.getLogger(__name__)


def follow(parts: Parts, library: str, stopped: Callable[[], bool]) -> tuple[str, ...]:
    """Bring one index up to what is published; why that cannot be done, which undoes nothing of it."""
    try:
        parts.indexes.follow(library, stopped)
    except NotFoundError:
        return ()  # nothing was published in it, or it was removed
    except PageIndexError as error:
        return (f"the search index could not be brought up to date, so searches try it again: {error}",)
    return ()


@contextmanager
def following(parts: Parts) -> Iterator[None]:
    """Let the indexes of a home follow while something is published, and for a moment more at the end."""
    over = threading.Event()
    thread = threading.Thread(target=_follow_logs, args=(parts, over), name="follow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _follow_logs(parts: Parts, over: threading.Event) -> None:
    reached = _positions(parts)
    pause, ended = _LOOK, False

    def enough() -> bool:
        return over.is_set() and time.monotonic() > began + _LAST

    while not ended:
        ended = over.wait(pause)
        began = time.monotonic()
        try:
            for library, position in _positions(parts).items():
                if position != reached.get(library, 0):
                    for note in follow(parts, library, enough):
                        _log.warning("%s", note)
                    reached[library] = position
        except PageIndexError as error:
            _log.warning("the logs of changes could not be read: %s", error)
        pause = max(_LOOK, (time.monotonic() - began) / _SHARE)


def _positions(parts: Parts) -> dict[str, int]:
    with parts.catalog.snapshot() as snapshot:
        return {library: snapshot.position(library) for library in snapshot.libraries()}
