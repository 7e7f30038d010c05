"""Watched folders keep their libraries up to date: what is found is asked for behind what somebody waits for, what is
gone for good leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.system.reach import Reach
from hybrid_core.types.jobs import Job
from hybrid_core.types.sources import Source
from hybrid_pageindex.services.sources import IndexFiles, chosen
from indexers.stages.report import FileResult
from indexers.watch.folder import Findings, WatchTimes
from indexers.watch.watcher import watch

Happening = Literal["found", "indexed", "unchanged", "failed", "removed", "note"]
_LOOK = 0.3  # seconds between two looks at what became of files


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """``path`` is a file's, or the watched folder's of a note; ``detail`` is why, "" where there is nothing to say."""

    event: Happening
    library: str
    path: str
    detail: str = ""


def watch_sources(
    catalog: Catalog,
    home: Path,
    library: str | None,
    machine: str,
    enqueue: IndexFiles,
    tell: Callable[[WatchEvent], None],
    stop: threading.Event,
    times: WatchTimes = WatchTimes(),
    reach: Reach | None = None,
) -> None:
    """Until ``stop``. ``enqueue`` asks for files to be indexed, and does not wait for it."""
    only = None if library is None else chosen(catalog, library)[0].id
    found = _Found(catalog, tell)

    def act(source: Source, findings: Findings) -> None:
        known = next((one for one in chosen(catalog, None) if one.id == source.library), None)
        if known is None:  # it was removed meanwhile
            return
        for note in findings.notes:
            tell(WatchEvent("note", known.name, source.path, note))
        for file in findings.files:
            tell(WatchEvent("found", known.name, str(file)))
        if findings.files:
            found.expect(known.name, source.library, findings.files)
            enqueue(known, findings.files, source.options)
        _remove(catalog, source.library, findings.gone)
        for path in findings.gone.values():
            tell(WatchEvent("removed", known.name, path, "its file is gone"))

    hearing = threading.Thread(target=found.hear, args=(stop,), name="watch-results", daemon=True)
    hearing.start()
    watch(catalog, home, act, stop, library=only, machine=machine, times=times, reach=reach)
    hearing.join()


def _remove(catalog: Catalog, library: str, gone: Mapping[str, str]) -> None:
    if gone:
        JobControl(catalog).revoke(library=library, subjects=list(gone.values()), cause="Its file is gone.")
        catalog.remove(list(gone))


class _Found:
    """What becomes of the files that were found, whoever indexes them."""

    def __init__(self, catalog: Catalog, tell: Callable[[WatchEvent], None]) -> None:
        self._reader, self._tell = JobReader(catalog), tell
        self._after = 0
        self._expected: dict[tuple[str, str], str] = {}  # the library's name by its id and the file's path
        self._lock = threading.Lock()

    def expect(self, name: str, library: str, files: tuple[Path, ...]) -> None:
        with self._lock:
            if not self._expected:
                self._after = self._reader.last_event()  # what happens from now on
            self._expected |= {(library, str(file)): name for file in files}

    def hear(self, stop: threading.Event) -> None:
        while not stop.wait(_LOOK):
            if not self._expected:
                continue
            try:
                self._look()
            except PageIndexError as error:  # the catalog is busy; what happened is not lost
                self._tell(WatchEvent("note", "", "", str(error)))

    def _look(self) -> None:
        events = self._reader.events(self._after)
        for job in self._reader.jobs({event.job for event in events if event.kind in ("stage", "done", "failed")}):
            with self._lock:
                name = self._expected.pop((job.library, job.subject), None)
            if name is not None:
                self._tell(_outcome(job, name))
        self._after = events[-1].number if events else self._after


def _outcome(job: Job, library: str) -> WatchEvent:
    result = FileResult.from_json(job.result) if job.result else FileResult(job.subject, "failed", job.cause)
    return WatchEvent(result.status, library, job.subject, result.error or result.note)
