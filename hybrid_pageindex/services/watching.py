"""Watched folders keep their libraries up to date: what is found is indexed, what is gone for good leaves."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hybrid_core.errors import Cancelled, PageIndexError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.sources import Source
from hybrid_pageindex.services.sources import IndexFiles, chosen
from indexers.watch.folder import Findings, WatchTimes
from indexers.watch.watcher import watch

Happening = Literal["found", "indexed", "unchanged", "failed", "removed", "note"]
_LOOK = 0.2  # seconds


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
    index: IndexFiles,
    tell: Callable[[WatchEvent], None],
    stop: threading.Event,
    times: WatchTimes = WatchTimes(),
) -> None:
    """Until ``stop``. What is found while something is indexed is indexed after it."""
    only = None if library is None else chosen(catalog, library)[0].id
    found: queue.SimpleQueue[tuple[Source, Findings]] = queue.SimpleQueue()

    def look() -> None:
        watch(catalog, home, lambda source, what: found.put((source, what)), stop, library=only, times=times)

    looking = threading.Thread(target=look, name="watch", daemon=True)
    looking.start()
    while not stop.is_set():
        try:
            source, findings = found.get(timeout=_LOOK)
        except queue.Empty:
            continue
        try:
            _act(catalog, source, findings, index, tell)
        except Cancelled:
            break
        except PageIndexError as error:
            tell(WatchEvent("note", source.library, source.path, str(error)))
    looking.join()


def _act(
    catalog: Catalog, source: Source, findings: Findings, index: IndexFiles, tell: Callable[[WatchEvent], None]
) -> None:
    library = next((one for one in chosen(catalog, None) if one.id == source.library), None)
    if library is None:  # it was removed meanwhile
        return
    for note in findings.notes:
        tell(WatchEvent("note", library.name, source.path, note))
    for file in findings.files:
        tell(WatchEvent("found", library.name, str(file)))
    if findings.files:
        report = index(library, findings.files, source.options)
        for one in report.files:
            tell(WatchEvent(one.status, library.name, one.path, one.error or one.note))
    catalog.remove(list(findings.gone))
    for path in findings.gone.values():
        tell(WatchEvent("removed", library.name, path, "its file is gone"))
