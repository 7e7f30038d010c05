"""What sources of a library hold now, beside what the library has of them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.sources import exclusions
from hybrid_core.system.reach import OUTSIDE, Reach
from hybrid_core.text.plural import counted
from hybrid_core.types.addresses import is_address
from hybrid_core.types.sources import Source
from indexers.files.discover import discover
from indexers.watch.gone import gone_files


@dataclass(frozen=True, slots=True)
class SourceScan:
    """``files`` are there; ``documents`` are the library's of these sources, ``gone`` those whose files were deleted,
    ``doubtful`` those that are out of reach: paths by doc_id. The rest is as in ``Discovery``.
    """

    files: tuple[Path, ...]
    documents: Mapping[str, str]
    gone: Mapping[str, str]
    doubtful: Mapping[str, str]
    problems: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    skipped: Mapping[str, int]


def scan(catalog: Catalog, sources: Sequence[Source], home: Path, reach: Reach | None = None) -> SourceScan:
    """Sources of one library. What was removed from it by hand, and what lies below ``home``, is left out.

    What is out of ``reach`` is a problem; documents of it stay as they are.
    """
    library = sources[0].library
    refused: list[str] = []
    if reach is not None:  # the folder itself may be a link by now: not even its names are looked at
        allowed = [one for one in sources if reach.allows(Path(one.path), Path(os.path.realpath(one.path)))]
        refused, sources = [one.path for one in sources if one not in allowed], allowed
    found = discover([one.path for one in sources], empty_folders=True)
    with catalog.snapshot() as snapshot:
        paths = snapshot.paths(library)  # what lies in files goes with them
    known = {doc_id: path for doc_id, path in paths.items() if not is_address(path)}
    seen = {str(file) for file in found.files}
    documents: dict[str, str] = {}
    gone: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    for source in sources:
        mine = {doc_id: path for doc_id, path in known.items() if source.holds(path)}
        missed = gone_files(mine, seen, source.root, source.mounts)
        documents |= mine
        gone |= missed.sure
        doubtful |= missed.doubtful
    also = (path for doc_id, path in documents.items() if doc_id not in gone and doc_id not in doubtful)
    out = exclusions(catalog, library)
    files = [Path(path) for path in dict.fromkeys((*map(str, found.files), *also)) if path not in out]
    if reach is not None:
        within = _Within(reach, sources)
        outside = {file for file in files if not within.allows(file)}
        refused += sorted(map(str, outside))
        files = [file for file in files if file not in outside]
    named = {one.path for one in sources if one.kind == "file"}
    return SourceScan(
        tuple(file for file in files if home not in file.parents), documents, gone, doubtful,
        (*((path, why) for path, why in found.problems if path not in named), *((path, OUTSIDE) for path in refused)),
        (*found.notes, *out_of_reach(doubtful.values())), found.skipped,
    )  # fmt: skip


class _Within:
    """Which files of some sources are in reach. Folders are resolved once."""

    def __init__(self, reach: Reach, sources: Sequence[Source]) -> None:
        self._reach = reach
        self._sources = [(one, Path(os.path.realpath(one.root))) for one in sources]
        self._folders: dict[Path, Path] = {}

    def allows(self, file: Path) -> bool:
        folder = file.parent
        if folder not in self._folders:
            self._folders[folder] = Path(os.path.realpath(folder))
        place = Path(os.path.realpath(file)) if file.is_symlink() else self._folders[folder] / file.name
        return any(
            self._reach.allows(file, place, None if one.kind == "file" else root)
            for one, root in self._sources
            if one.holds(str(file))
        )


def out_of_reach(paths: Collection[str]) -> Iterator[str]:
    """What to say of documents whose files may be there or not."""
    if paths:
        folders = sorted({str(Path(path).parent) for path in paths})
        where = folders[0] + (f" and {counted(len(folders) - 1, 'other folder')}" if len(folders) > 1 else "")
        many = counted(len(paths), "document")
        yield f"{many} out of reach ({where}): not mounted, or another file system than before; they stay"
