"""One watched source: what the folder scan finds in it that is new, changed or gone since the last look."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.sources import note_mounts
from hybrid_core.system.reach import OUTSIDE, Reach
from hybrid_core.types.files import FileStamp
from hybrid_core.types.sources import Source
from indexers.files.private_copy import system_stat
from indexers.watch.gone import missing
from indexers.watch.mounts import mounts_of
from indexers.watch.scan import out_of_reach, scan
from indexers.watch.still import FileSign, Stillness

_SHARE = 5  # of the time that a scan takes, it rests this many times before the next


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """Seconds. ``still``: how long a file has not changed before it is taken. ``grace``: how long one has been missing
    before its document goes. ``poll``: between two scans of a folder that gives no events; ``rescan``: of one that
    does, for events may be lost.
    """

    still: float = 2.0
    grace: float = 60.0
    poll: float = 10.0
    rescan: float = 600.0


@dataclass(frozen=True, slots=True)
class Findings:
    """``files`` are new or changed, and whole; ``gone`` are documents whose files were deleted, paths by doc_id.
    ``notes`` say what is not as it should be, once.
    """

    files: tuple[Path, ...] = ()
    gone: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.gone or self.notes)


class FolderWatch:
    """Compares a source with its library's documents, in looks that the caller times."""

    def __init__(
        self, source: Source, catalog: Catalog, home: Path, times: WatchTimes, reach: Reach | None = None
    ) -> None:
        """Nothing below ``home`` is taken: the engine's own files lie there."""
        self.source, self._catalog, self._home, self._times = source, catalog, home, times
        self._reach = reach
        self.events = False  # whether somebody tells of changes, so that scans are rarely needed
        self.away = False
        self._mounts = dict(source.mounts)
        self._still = Stillness(times.still)
        self._found: dict[Path, FileSign] = {}  # by us, in the state that was told
        self._missing: dict[str, float] = {}  # since when a document's file is
        self._due = self._rested = 0.0
        self._told: frozenset[str] = frozenset()

    def look(self, now: float, *, hinted: bool = False) -> Findings:
        """What is to be done now. ``hinted``: something below may have changed. ``now`` is in seconds of any clock that
        only goes forward.
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
            return Findings(notes=self._new([f"{self.source.root} is not there; its documents stay as they are"]))
        found = scan(self._catalog, [replace(self.source, mounts=self._mounts)], self._home, self._reach)
        with self._catalog.snapshot() as snapshot:
            stamps = snapshot.stamps(self.source.library)
        by_path = {path: stamps[doc_id] for doc_id, path in found.documents.items() if doc_id in stamps}
        ready = self._taken(found.files, now, by_path)
        self._missing = {doc_id: self._missing.get(doc_id, now) for doc_id in found.gone}
        until = {doc_id: since + self._times.grace for doc_id, since in self._missing.items()}
        over = {doc_id: found.gone[doc_id] for doc_id, end in until.items() if end <= now}
        self._due = min(self._due, *(end for end in until.values() if end > now), self._due)
        self._remember_mounts(str(file) for file in found.files if str(file) in by_path)
        refused = (f"{path}: {why}" for path, why in found.problems if why == OUTSIDE)
        self._rested = now + _SHARE * (time.monotonic() - began)
        return Findings(ready, over, self._new((*out_of_reach(found.doubtful.values()), *refused)))

    def _taken(self, files: Iterable[Path], now: float, stamps: dict[str, FileStamp] | None = None) -> tuple[Path, ...]:
        """Which of the files hold still and are not what their documents were made of, nor what was found before."""
        signs = {}
        for file in files:
            stat = system_stat(file)
            stamp = None if stamps is None else stamps.get(str(file))
            if stat is not None and not (stamp is not None and stamp.fits(stat)):
                signs[file] = FileSign.of(stat)
        ready = self._still.look({file: sign for file, sign in signs.items() if self._found.get(file) != sign}, now)
        if stamps is not None:  # a whole scan: what it does not show is done, or gone
            self._found = {file: sign for file, sign in self._found.items() if file in signs}
        self._found |= {file: signs[file] for file in ready}
        return tuple(sorted(ready))

    def _remember_mounts(self, present: Iterable[str]) -> None:
        """Only where documents are: another disk in the place of theirs does not become the known one."""
        known = self._mounts | mounts_of({Path(path).parent for path in present})
        if known != self._mounts:
            note_mounts(self._catalog, self.source, known)
            self._mounts = known

    def _new(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Those that were not told at the last scan."""
        before, self._told = self._told, frozenset(notes)
        return tuple(note for note in notes if note not in before)
