"""When to look at a folder: the system's events are only hints to do so, and where there are none, time is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import watchfiles

_TICK = 0.25  # seconds


def hints(folder: Path, home: Path, *, events: bool, stop: threading.Event) -> Iterator[bool]:
    """True when something below ``folder`` has changed, and False every quarter of a second besides. Ends with
    ``stop``. What is hidden, or below ``home``, is no hint.

    Raises OSError at once where the system gives no events for the folder.
    """
    if not events:
        while not stop.wait(_TICK):
            yield False
        return
    tick = round(_TICK * 1000)
    for changes in watchfiles.watch(
        folder, watch_filter=_filter(folder, home), debounce=tick, step=50, rust_timeout=tick, yield_on_timeout=True,
        stop_event=stop, force_polling=False, raise_interrupt=False, ignore_permission_denied=True,
    ):  # fmt: skip
        yield bool(changes)


def _filter(folder: Path, home: Path) -> Callable[[watchfiles.Change, str], bool]:
    def wanted(_: watchfiles.Change, changed: str) -> bool:
        path = Path(changed)
        if path == home or home in path.parents:
            return False
        return path == folder or not any(part.startswith(".") for part in path.relative_to(folder).parts)

    return wanted
