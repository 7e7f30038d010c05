"""The paths (sources) from which a library was indexed: store them, index their changes, and watch folders."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hybrid_core.errors import Advice, ConflictError, NotFoundError, PageIndexError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import (
    all_sources,
    check_machine,
    create_library,
    forget_sources,
    others_sources,
    remember,
    set_watch,
)
from hybrid_core.store.jobs.control import JobControl
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.system import Reach
from hybrid_core.types.jobs import Job
from hybrid_core.types.libraries import Library, library_called
from hybrid_core.types.notes import Note
from hybrid_core.types.sources import Source
from indexers.files.discover import source_of
from indexers.files.scan import mounts_of, scan
from indexers.files.watcher import Findings, WatchTimes, watch
from indexers.jobs.report import FileResult, IndexReport

if TYPE_CHECKING:
    from indexers.jobs.report import IndexReport


Options = Mapping[str, str | bool]
IndexFiles = Callable[[Library, Sequence[Path], Options], "IndexReport"]
"""A function that indexes files into a library with the options of its source."""


def wishes_of(options: Options) -> dict[str, Any]:
    """Return the stored index options of a source: outline, vision, enrich.

    The value None leaves an option to the settings.
    """
    return {name: options.get(name) for name in ("outline", "vision", "enrich")}


@dataclass(frozen=True, slots=True)
class LibraryUpdate:
    """The changes of a library's files that an update found, as paths. ``moved`` contains (old path, new path).

    ``gone`` lists documents whose files are missing; those in ``report.removed`` were also removed. ``changed`` files
    have new bytes. Documents that were rebuilt from the same bytes are only in the report.
    """

    library: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]
    report: IndexReport


def remember_paths(
    catalog: Catalog, home: Path, library: str, paths: Sequence[str | Path], wishes: Mapping[str, Any], machine: str
) -> None:
    """Store the paths of an ``index`` call as sources of a library, if the library exists.

    Skip files inside the home.
    """
    with catalog.snapshot() as snapshot:
        target = library_called(library, snapshot.named_libraries())
    if target is None:
        return
    options = {key: wish for key, wish in wishes.items() if wish}
    named = [(path, kind) for path, kind in map(source_of, paths) if kind and not Path(path).is_relative_to(home)]
    others = others_sources(catalog, target.id, machine)
    named = [(path, kind) for path, kind in named if not any(source.meets(path) for source in others)]
    new_sources = [Source(target.id, path, kind, options, machine=machine) for path, kind in named]
    remember(catalog, target.id, [replace(source, mounts=mounts_of([source.root])) for source in new_sources])


def sources(catalog: Catalog, library: str | None) -> list[Source]:
    """Return the sources of a library, or of all, with library names instead of ids."""
    these = chosen(catalog, library)
    return [replace(source, library=entry.name) for entry in these for source in all_sources(catalog, entry.id)]


def watch_folder(
    catalog: Catalog, library: str, folder: str | Path, wishes: Mapping[str, Any], machine: str, *, poll: bool
) -> Source:
    """Add a watched folder to a library, which is created if needed. Return the source.

    Raise UsageError if the path is not a folder or belongs to another machine.
    """
    path, kind = source_of(folder)
    if kind != "folder":
        raise UsageError(f"{folder} is not a folder.", "Name an existing folder; its files and subfolders are watched.")
    with catalog.snapshot() as snapshot:
        target = library_called(library, snapshot.named_libraries())
    into = target or create_library(catalog, library)
    check_machine(catalog, into.id, [path], machine)
    options = {key: wish for key, wish in wishes.items() if wish}
    before = [source for source in all_sources(catalog, into.id) if source.path == path]
    if options or not before:
        remember(catalog, into.id, [Source(into.id, path, "folder", options, "", mounts_of([Path(path)]), machine)])
    set_watch(catalog, replace(_source(catalog, into, path), watch="poll" if poll else "auto"))
    return replace(_source(catalog, into, path), library=into.name)


def unwatch_folder(catalog: Catalog, library: str, folder: str | Path, *, forget: bool) -> Source:
    """Stop watching a folder, and return its source; with ``forget``, also delete the source.

    Raise NotFoundError if the folder is not a source.
    """
    with catalog.snapshot() as snapshot:
        target = snapshot.library(library)
    source = _source(catalog, target, str(folder))
    if forget:
        forget_sources(catalog, target.id, [source.path])
    else:
        set_watch(catalog, replace(source, watch=""))
    return replace(source, library=target.name, watch="")


def update(
    catalog: Catalog,
    home: Path,
    library: str | None,
    wishes: Mapping[str, Any],
    machine: str,
    index: IndexFiles,
    reach: Reach | None = None,
) -> list[LibraryUpdate]:
    """Index the changes in all sources (stored paths) of a library, or of all libraries, on this machine.

    Return one report per library. ``wishes`` replace the stored options of the sources. Raise ConflictError if there is
    no source.
    """
    overrides = {key: wish for key, wish in wishes.items() if wish is not None}
    done = [
        _updated(
            catalog,
            home,
            entry,
            [replace(source, options={**source.options, **overrides}) for source in mine],
            index,
            reach,
        )
        for entry in chosen(catalog, library)
        if (mine := [source for source in all_sources(catalog, entry.id) if source.belongs_to(machine)])
    ]
    if not done:
        where = f"Library '{library}'" if library else "This home"
        raise ConflictError(
            f"{where} is not updated from any file or folder yet.",
            Advice("Index a file or folder first.", "Index a file or folder first: index PATH."),
        )
    return done


def _updated(
    catalog: Catalog, home: Path, library: Library, mine: Sequence[Source], index: IndexFiles, reach: Reach | None
) -> LibraryUpdate:
    before = _documents(catalog, library.id)
    report = IndexReport(())
    gone: dict[str, str] = {}
    for options in _different([source.options for source in mine]):
        scanned = scan(catalog, [source for source in mine if source.options == options], home, reach)
        done = index(library, scanned.files, options) if scanned.files else IndexReport(())
        with catalog.snapshot() as snapshot:  # a moved file is not missing
            still = snapshot.paths(library.id)
        gone |= {doc_id: path for doc_id, path in scanned.gone.items() if still.get(doc_id) == path}
        removed = {doc_id: path for doc_id, path in gone.items() if options.get("prune")}
        catalog.remove(list(removed))
        problems = tuple(FileResult(path, "failed", error) for path, error in scanned.problems)
        report = IndexReport(
            (*report.files, *problems, *done.files), (*report.removed, *removed.values()),
            tuple(dict.fromkeys((*report.notes, *scanned.notes, *done.notes))), {**report.skipped, **scanned.skipped},
        )  # fmt: skip
    after = _documents(catalog, library.id)
    present = {path for path, _ in after.values()}
    forget_sources(
        catalog, library.id, [source.path for source in mine if source.kind == "file" and source.path not in present]
    )
    remaining = {doc_id: now for doc_id, now in after.items() if doc_id in before}
    touched = {file.path for file in report.files if file.status == "indexed"}
    return LibraryUpdate(
        library.name,
        tuple(path for doc_id, (path, _) in after.items() if doc_id not in before and path in touched),
        tuple(path for doc_id, (path, sha256) in remaining.items() if sha256 != before[doc_id][1] and path in touched),
        tuple((before[doc_id][0], path) for doc_id, (path, _) in remaining.items() if path != before[doc_id][0]),
        tuple(gone.values()),
        report,
    )


def _documents(catalog: Catalog, library: str) -> dict[str, tuple[str, str]]:
    """Return the path and the hash of the bytes of each document, by document id."""
    with catalog.snapshot() as snapshot:
        return {document.doc_id: (document.path, document.sha256) for document in snapshot.documents(library)}


def _different(options: Sequence[Options]) -> list[Options]:
    different: list[Options] = []
    for candidate in options:
        if candidate not in different:
            different.append(candidate)
    return different


def chosen(catalog: Catalog, library: str | None) -> list[Library]:
    """Return the library with this name in a list, or all libraries for None."""
    with catalog.snapshot() as snapshot:
        return snapshot.named_libraries() if library is None else [snapshot.library(library)]


def _source(catalog: Catalog, library: Library, path: str) -> Source:
    paths = {path, source_of(path)[0]}
    mine = all_sources(catalog, library.id)
    for source in mine:
        if source.path in paths:
            return source
    listed = ", ".join(source.path for source in mine[:5])
    raise NotFoundError(
        f"The library '{library.name}' is not updated from {path}.",
        f"The library is updated from: {listed or 'no file or folder'}.",
    )


Happening = Literal["found", "indexed", "unchanged", "failed", "removed", "note"]
_LOOK = 0.3  # seconds between two checks of the outcome of files


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """An event in a watched folder.

    ``path`` is the changed file, or the folder for a note. ``detail`` is a reason or "".
    """

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
    """Watch the folders of this machine until ``stop`` is set, and pass changed files to ``enqueue``.

    ``enqueue`` only queues the files. ``tell`` receives each event, including the outcome of queued files.
    """
    only = None if library is None else chosen(catalog, library)[0].id
    finds = _OutcomeReporter(catalog, tell)

    def act(source: Source, findings: Findings) -> None:
        target = next((entry for entry in chosen(catalog, None) if entry.id == source.library), None)
        if target is None:  # the library was removed meanwhile
            return
        for note in findings.notes:
            tell(WatchEvent("note", target.name, source.path, note))
        for file in findings.files:
            tell(WatchEvent("found", target.name, str(file)))
        if findings.files:
            finds.expect(target.name, source.library, findings.files)
            enqueue(target, findings.files, source.options)
        _remove(catalog, source.library, findings.gone)
        for path in findings.gone.values():
            tell(WatchEvent("removed", target.name, path, "its file is missing"))

    hearing = threading.Thread(target=finds.hear, args=(stop,), name="watch-results", daemon=True)
    hearing.start()
    watch(catalog, home, act, stop, library=only, machine=machine, times=times, reach=reach)
    hearing.join()


def _remove(catalog: Catalog, library: str, gone: Mapping[str, str]) -> None:
    if gone:
        JobControl(catalog).revoke(library=library, subjects=list(gone.values()), cause=Note("job.file-missing"))
        catalog.remove(list(gone))


class _OutcomeReporter:
    """A reporter of what became of the files that a watch queued, whichever process indexed them."""

    def __init__(self, catalog: Catalog, tell: Callable[[WatchEvent], None]) -> None:
        self._reader, self._tell = JobReader(catalog), tell
        self._after = 0
        self._expected: dict[tuple[str, str], str] = {}  # library name by (library id, file path)
        self._lock = threading.Lock()

    def expect(self, name: str, library: str, files: tuple[Path, ...]) -> None:
        with self._lock:
            if not self._expected:
                self._after = self._reader.last_event()  # only later events matter
            self._expected |= {(library, str(file)): name for file in files}

    def hear(self, stop: threading.Event) -> None:
        while not stop.wait(_LOOK):
            if not self._expected:
                continue
            try:
                self._look()
            except PageIndexError as error:  # the catalog is busy; its events can be read later
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
