"""Watch sources, each in its own thread, for new, changed and deleted files.

Files are reported when they have stopped changing. Change events from the system only trigger a scan of a folder.
Without events, folders are scanned at intervals.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import watchfiles

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import note_mounts, watched_sources
from hybrid_core.system import OUTSIDE, Reach
from hybrid_core.types.files import FileStamp
from hybrid_core.types.sources import Source
from indexers.files.private_copy import system_stat
from indexers.files.scan import missing, mounts_of, out_of_reach, remote, scan


class FileSign(NamedTuple):
    """The state of a file: size in bytes, modification time in nanoseconds, and inode number."""

    size: int
    mtime: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileSign:
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


class Stillness:
    """A detector of files that have not changed for some seconds. The caller passes the time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[Path, tuple[FileSign, float]] = {}

    @property
    def waiting(self) -> tuple[Path, ...]:
        """Return the files that were seen and may still be changing."""
        return tuple(self._since)

    def look(self, seen: Mapping[Path, FileSign], now: float) -> list[Path]:
        """Return the files that have been unchanged long enough.

        They are then forgotten, as are files that no longer exist.
        """
        before, self._since = self._since, {}
        ready = []
        for path, sign in seen.items():
            old, since = before.get(path, (None, now))
            if old == sign and now - since >= self._seconds:
                ready.append(path)
            else:
                self._since[path] = sign, since if old == sign else now
        return ready


_SHARE = 5  # pause between scans, as a multiple of the time of a scan


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """Times for watching a folder, in seconds. ``still`` is how long a file must be unchanged before it is reported.

    ``grace`` is how long a file must be missing before its document is removed. ``poll`` is the interval of scans
    without change events. ``rescan`` is the interval with events, since events may be lost.
    """

    still: float = 2.0
    grace: float = 60.0
    poll: float = 10.0
    rescan: float = 600.0


@dataclass(frozen=True, slots=True)
class Findings:
    """Changes in a watched folder. ``files`` are new or changed.

    ``gone`` are documents whose files were deleted, as ``{doc_id: path}``. ``notes`` report each problem once.
    """

    files: tuple[Path, ...] = ()
    gone: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.gone or self.notes)


class FolderWatch:
    """A watch of one source, which compares its files with the library's documents when ``look`` is called."""

    def __init__(
        self, source: Source, catalog: Catalog, home: Path, times: WatchTimes, reach: Reach | None = None
    ) -> None:
        """Initialise the watch. Files below ``home`` are ignored, since they are the engine's own."""
        self.source, self._catalog, self._home, self._times = source, catalog, home, times
        self._reach = reach
        self.events = False  # whether change events are available, so that scans are rarely needed
        self.away = False
        self._mounts = dict(source.mounts)
        self._still = Stillness(times.still)
        self._found: dict[Path, FileSign] = {}  # reported files, in their reported state
        self._missing: dict[str, float] = {}  # time since when each document's file is missing
        self._due = self._rested = 0.0
        self._told: frozenset[str] = frozenset()

    def look(self, now: float, *, hinted: bool = False) -> Findings:
        """Return the changes to process now. ``hinted`` means that the system reported a change.

        ``now`` is in seconds of a monotonic clock.
        """
        if hinted:
            self._due = min(self._due, self._rested)
        if now >= self._due:
            return self._scan(now)
        if not self._still.waiting:
            return Findings()
        return Findings(self._taken(self._still.waiting, now))

    def _scan(self, now: float) -> Findings:
        began = time.monotonic()
        self._due = now + (self._times.rescan if self.events else self._times.poll)
        self.away = missing(self.source.root)
        if self.away:
            self._missing.clear()
            self._due = now + self._times.poll
            return Findings(notes=self._new([f"{self.source.root} does not exist; its documents stay indexed"]))
        result = scan(self._catalog, [replace(self.source, mounts=self._mounts)], self._home, self._reach)
        with self._catalog.snapshot() as snapshot:
            stamps = snapshot.stamps(self.source.library)
        by_path = {path: stamps[doc_id] for doc_id, path in result.documents.items() if doc_id in stamps}
        ready = self._taken(result.files, now, by_path)
        self._missing = {doc_id: self._missing.get(doc_id, now) for doc_id in result.gone}
        until = {doc_id: since + self._times.grace for doc_id, since in self._missing.items()}
        expired = {doc_id: result.gone[doc_id] for doc_id, end in until.items() if end <= now}
        self._due = min(self._due, *(end for end in until.values() if end > now), self._due)
        self._remember_mounts(str(file) for file in result.files if str(file) in by_path)
        refused = (f"{path}: {why}" for path, why in result.problems if why == OUTSIDE)
        self._rested = now + _SHARE * (time.monotonic() - began)
        return Findings(ready, expired, self._new((*out_of_reach(result.doubtful.values()), *refused)))

    def _taken(self, files: Iterable[Path], now: float, stamps: dict[str, FileStamp] | None = None) -> tuple[Path, ...]:
        """Return the files that have stopped changing, differ from their documents, and were not reported before."""
        signs = {}
        for file in files:
            stat = system_stat(file)
            stamp = None if stamps is None else stamps.get(str(file))
            if stat is not None and not (stamp is not None and stamp.fits(stat)):
                signs[file] = FileSign.of(stat)
        ready = self._still.look({file: sign for file, sign in signs.items() if self._found.get(file) != sign}, now)
        if stamps is not None:  # after a full scan, files that it did not find are processed or deleted
            self._found = {file: sign for file, sign in self._found.items() if file in signs}
        self._found |= {file: signs[file] for file in ready}
        return tuple(sorted(ready))

    def _remember_mounts(self, present: Iterable[str]) -> None:
        """Store the mount points of files that have documents, each with the identity of its disk.

        A different disk at the same mount point has no such files, so its identity is not stored.
        """
        mounts = self._mounts | mounts_of({Path(path).parent for path in present})
        if mounts != self._mounts:
            note_mounts(self._catalog, self.source, mounts)
            self._mounts = mounts

    def _new(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return the notes that the previous scan did not report."""
        before, self._told = self._told, frozenset(notes)
        return tuple(note for note in notes if note not in before)


_TICK = 0.25  # seconds


def hints(folder: Path, home: Path, *, events: bool, stop: threading.Event) -> Iterator[bool]:
    """Yield True after a change below ``folder``, and False every quarter of a second. End when ``stop`` is set.

    Changes of hidden files and below ``home`` are ignored. Raise OSError immediately if the system offers no change
    events for the folder.
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
    def is_relevant(_: watchfiles.Change, changed: str) -> bool:
        path = Path(changed)
        if path == home or home in path.parents:
            return False
        return path == folder or not any(part.startswith(".") for part in path.relative_to(folder).parts)

    return is_relevant


_SOURCES_EVERY = 1.0  # seconds: any process may add or remove a source
_PATIENCE = 5.0  # seconds to wait for threads to end

Act = Callable[[Source, Findings], None]
"""A callback for findings, called in the thread of their source. The next scan waits for it."""


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
    """Watch the sources of one library, or of all, until ``stop`` is set. Pass their changes to ``act``.

    Sources that are added or removed meanwhile are respected.
    """
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
    use_events = source.watch == "auto"
    while not stop.is_set():
        root = source.root
        try:
            folder.events = use_events and root.is_dir() and not remote(root)
            inode = _inode(root)
            for hinted in hints(root, home, events=folder.events, stop=stop):
                if findings := folder.look(time.monotonic(), hinted=hinted):
                    act(source, findings)
                if folder.away or _inode(root) != inode:  # a new folder at the same path gives no events
                    break
            stop.wait(pause if folder.away else 0)
        except OSError as error:
            if missing(root):
                continue
            use_events = False
            note = f"{root}: the system does not report changes ({error}), so the folder is scanned every {pause:.0f} s"
            act(source, Findings(notes=(note,)))
        except PageIndexError as error:
            act(source, Findings(notes=(str(error),)))
            stop.wait(pause)


def _inode(root: Path) -> int:
    try:
        return root.stat().st_ino
    except OSError:
        return 0
