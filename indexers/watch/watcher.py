"""All watched sources of a home, each in a thread of its own: a share that hangs holds up no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.sources import watched_sources
from hybrid_core.system.reach import Reach
from hybrid_core.types.sources import Source
from indexers.watch.folder import Findings, FolderWatch, WatchTimes
from indexers.watch.gone import missing
from indexers.watch.hints import hints
from indexers.watch.mounts import remote

_SOURCES_EVERY = 1.0  # seconds: any process may add a source, or remove one
_PATIENCE = 5.0  # seconds for threads to end

Act = Callable[[Source, Findings], None]
"""What is done with findings, in the thread of their source; the next look waits for it."""


def watch(
    catalog: Catalog,
    home: Path,
    act: Act,
    stop: threading.Event,
    *,
    library: str | None = None,
    machine: str = "",
    times: WatchTimes = WatchTimes(),
    reach: Reach | None = None,
) -> None:
    """Watch the sources of a library, or of all, until ``stop``: those that are added meanwhile too."""
    running: dict[tuple[str, ...], tuple[threading.Event, threading.Thread]] = {}
    try:
        while True:
            watched = watched_sources(catalog, library, machine)
            for key in running.keys() - watched.keys():
                running.pop(key)[0].set()
            for key in watched.keys() - running.keys():
                ended = threading.Event()
                folder = FolderWatch(watched[key], catalog, home, times, reach)
                thread = threading.Thread(
                    target=_follow, args=(folder, home, act, ended, times.poll), name="watch", daemon=True
                )
                running[key] = ended, thread
                thread.start()
            if stop.wait(_SOURCES_EVERY):
                return
    finally:
        for ended, _ in running.values():
            ended.set()
        until = time.monotonic() + _PATIENCE
        for _, thread in running.values():
            thread.join(max(0.0, until - time.monotonic()))


def _follow(folder: FolderWatch, home: Path, act: Act, stop: threading.Event, pause: float) -> None:
    source = folder.source
    wanted = source.watch == "auto"
    while not stop.is_set():
        root = source.root
        try:
            folder.events = wanted and root.is_dir() and not remote(root)
            inode = _inode(root)
            for hinted in hints(root, home, events=folder.events, stop=stop):
                if findings := folder.look(time.monotonic(), hinted=hinted):
                    act(source, findings)
                if folder.away or _inode(root) != inode:  # another folder in its place gives no events
                    break
            stop.wait(pause if folder.away else 0)
        except OSError as error:
            if missing(root):
                continue
            wanted = False
            said = f"{root}: the system tells of no changes ({error}); it is looked at every {pause:.0f} s"
            act(source, Findings(notes=(said,)))
        except PageIndexError as error:
            act(source, Findings(notes=(str(error),)))
            stop.wait(pause)


def _inode(root: Path) -> int:
    try:
        return root.stat().st_ino
    except OSError:
        return 0
