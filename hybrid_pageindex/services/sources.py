"""A library remembers where its documents come from, and is brought up to date without being told again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import create_library
from hybrid_core.store.catalog.sources import (
    all_sources,
    check_machine,
    forget_sources,
    others_sources,
    remember,
    set_watch,
)
from hybrid_core.system.reach import Reach
from hybrid_core.types.libraries import Library, library_called
from hybrid_core.types.sources import Source

if TYPE_CHECKING:
    from indexers.stages.report import IndexReport

Options = Mapping[str, str | bool]
IndexFiles = Callable[[Library, Sequence[Path], Options], "IndexReport"]
"""Indexes files into a library with options of its source."""


def wishes_of(options: Options) -> dict[str, Any]:
    """How files of a source are indexed, None where the settings say it."""
    return {name: options.get(name) for name in ("outline", "vision", "enrich")}


@dataclass(frozen=True, slots=True)
class LibraryUpdate:
    """What became of a library's files since they were indexed last, by their paths; ``moved`` from where to where.

    ``gone`` are documents whose files are missing: those that are also in ``report.removed`` have left the library.
    ``changed`` files hold other bytes than before; what was only made anew of the same bytes is in the report alone.
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
    """What ``index`` was told becomes a source of the library, where there is one; nothing of the home's own does."""
    from indexers.files.discover import source_of
    from indexers.watch.mounts import mounts_of

    with catalog.snapshot() as snapshot:
        known = library_called(library, snapshot.named_libraries())
    if known is None:
        return
    options = {key: wish for key, wish in wishes.items() if wish}
    named = [(path, kind) for path, kind in map(source_of, paths) if kind and not Path(path).is_relative_to(home)]
    others = others_sources(catalog, known.id, machine)
    named = [(path, kind) for path, kind in named if not any(one.meets(path) for one in others)]
    made = [Source(known.id, path, kind, options, machine=machine) for path, kind in named]
    remember(catalog, known.id, [replace(one, mounts=mounts_of([one.root])) for one in made])


def sources(catalog: Catalog, library: str | None) -> list[Source]:
    """Those of a library or of all, with its name in place of its id."""
    these = chosen(catalog, library)
    return [replace(one, library=known.name) for known in these for one in all_sources(catalog, known.id)]


def watch_folder(
    catalog: Catalog, library: str, folder: str | Path, wishes: Mapping[str, Any], machine: str, *, poll: bool
) -> Source:
    """Raises UsageError where it is no folder, or another machine's."""
    from indexers.files.discover import source_of
    from indexers.watch.mounts import mounts_of

    path, kind = source_of(folder)
    if kind != "folder":
        raise UsageError(f"{folder} is no folder.", "Name a folder that is there; files in it are watched with it.")
    with catalog.snapshot() as snapshot:
        known = library_called(library, snapshot.named_libraries())
    into = known or create_library(catalog, library)
    check_machine(catalog, into.id, [path], machine)
    options = {key: wish for key, wish in wishes.items() if wish}
    before = [one for one in all_sources(catalog, into.id) if one.path == path]
    if options or not before:
        remember(catalog, into.id, [Source(into.id, path, "folder", options, "", mounts_of([Path(path)]), machine)])
    set_watch(catalog, replace(_source(catalog, into, path), watch="poll" if poll else "auto"))
    return replace(_source(catalog, into, path), library=into.name)


def unwatch_folder(catalog: Catalog, library: str, folder: str | Path, *, forget: bool) -> Source:
    """``forget``: it is also forgotten as a source. Raises NotFoundError where it is none."""
    with catalog.snapshot() as snapshot:
        known = snapshot.library(library)
    found = _source(catalog, known, str(folder))
    if forget:
        forget_sources(catalog, known.id, [found.path])
    else:
        set_watch(catalog, replace(found, watch=""))
    return replace(found, library=known.name, watch="")


def update(
    catalog: Catalog,
    home: Path,
    library: str | None,
    wishes: Mapping[str, Any],
    machine: str,
    index: IndexFiles,
    reach: Reach | None = None,
) -> list[LibraryUpdate]:
    """Bring the sources of a machine in a library, or in all, up to date. ``wishes`` stand above what was remembered.

    Raises NotFoundError where there is no source.
    """
    said = {key: wish for key, wish in wishes.items() if wish is not None}
    done = [
        _updated(catalog, home, known, [replace(one, options={**one.options, **said}) for one in mine], index, reach)
        for known in chosen(catalog, library)
        if (mine := [one for one in all_sources(catalog, known.id) if one.belongs_to(machine)])
    ]
    if not done:
        where = f"Library '{library}'" if library else "This home"
        raise NotFoundError(f"{where} remembers no folder or file yet.", "Name what to index once: index PATH.")
    return done


def _updated(
    catalog: Catalog, home: Path, library: Library, mine: Sequence[Source], index: IndexFiles, reach: Reach | None
) -> LibraryUpdate:
    from indexers.stages.report import FileResult, IndexReport
    from indexers.watch.scan import scan

    before = _documents(catalog, library.id)
    report = IndexReport(())
    gone: dict[str, str] = {}
    for options in _different([one.options for one in mine]):
        found = scan(catalog, [one for one in mine if one.options == options], home, reach)
        done = index(library, found.files, options) if found.files else IndexReport(())
        with catalog.snapshot() as snapshot:  # a file that has moved is gone from nowhere
            still = snapshot.paths(library.id)
        gone |= {doc_id: path for doc_id, path in found.gone.items() if still.get(doc_id) == path}
        removed = {doc_id: path for doc_id, path in gone.items() if options.get("prune")}
        catalog.remove(list(removed))
        problems = tuple(FileResult(path, "failed", error) for path, error in found.problems)
        report = IndexReport(
            (*report.files, *problems, *done.files), (*report.removed, *removed.values()),
            tuple(dict.fromkeys((*report.notes, *found.notes, *done.notes))), {**report.skipped, **found.skipped},
        )  # fmt: skip
    after = _documents(catalog, library.id)
    held = {path for path, _ in after.values()}
    forget_sources(catalog, library.id, [one.path for one in mine if one.kind == "file" and one.path not in held])
    kept = {doc_id: now for doc_id, now in after.items() if doc_id in before}
    touched = {file.path for file in report.files if file.status == "indexed"}
    return LibraryUpdate(
        library.name,
        tuple(path for doc_id, (path, _) in after.items() if doc_id not in before and path in touched),
        tuple(path for doc_id, (path, sha256) in kept.items() if sha256 != before[doc_id][1] and path in touched),
        tuple((before[doc_id][0], path) for doc_id, (path, _) in kept.items() if path != before[doc_id][0]),
        tuple(gone.values()),
        report,
    )


def _documents(catalog: Catalog, library: str) -> dict[str, tuple[str, str]]:
    """doc_id -> path and hash of the bytes."""
    with catalog.snapshot() as snapshot:
        return {one.doc_id: (one.path, one.sha256) for one in snapshot.documents(library)}


def _different(options: Sequence[Options]) -> list[Options]:
    different: list[Options] = []
    for one in options:
        if one not in different:
            different.append(one)
    return different


def chosen(catalog: Catalog, library: str | None) -> list[Library]:
    """One library, or all."""
    with catalog.snapshot() as snapshot:
        return snapshot.named_libraries() if library is None else [snapshot.library(library)]


def _source(catalog: Catalog, library: Library, path: str) -> Source:
    from indexers.files.discover import source_of

    wanted = {path, source_of(path)[0]}
    mine = all_sources(catalog, library.id)
    for one in mine:
        if one.path in wanted:
            return one
    known = ", ".join(one.path for one in mine[:5])
    raise NotFoundError(f"{path} is no source of library '{library.name}'.", f"It has: {known or 'none'}.")
