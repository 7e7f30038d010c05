"""Compare the files of a library's sources with its documents, and detect unreachable file systems."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.libraries import exclusions
from hybrid_core.system import OUTSIDE, Reach
from hybrid_core.types.libraries import containers, is_address
from hybrid_core.types.notes import Note
from hybrid_core.types.sources import Source
from indexers.files.discover import discover

_MOUNTS = Path("/proc/self/mounts")
_REMOTE = frozenset(
    "9p afs afpfs beegfs ceph cifs coda davfs drvfs fuse.curlftpfs fuse.davfs2 fuse.gvfsd-fuse fuse.rclone fuse.s3fs "
    "fuse.sshfs fuse.vmhgfs-fuse glusterfs gpfs lustre ncpfs nfs nfs4 pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs "
    "webdav".split()
)


def mounts_of(folders: Iterable[Path]) -> dict[str, str]:
    """Return the mount points above folders, each with a text that identifies its file system."""
    points: dict[Path, Path] = {}
    for folder in folders:
        with suppress(OSError):
            _point(folder, points)
    return {str(point): name for point in set(points.values()) if (name := file_system(str(point)))}


def mount_above(path: str, mounts: Mapping[str, str]) -> str:
    """Return the mount point of a path; "" if there is none."""
    return max((point for point in mounts if path.startswith(point.rstrip("/") + "/")), key=len, default="")


def file_system(point: str) -> str:
    """Return a text that identifies the file system at a mount point; "" if unavailable."""
    try:
        if not hasattr(os, "statvfs"):  # Windows tells drives by a number
            return f"{Path(point).stat().st_dev:x}"
        return f"{os.statvfs(point).f_fsid:x}"
    except OSError:
        return ""


def remote(folder: Path) -> bool:
    """Return whether a folder is on a network file system, which does not report changes made by other machines.

    This can be detected only on Linux.
    """
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    mounts = [(_unescaped(parts[1]), parts[2]) for line in lines if len(parts := line.split(" ")) > 2]
    above = [(len(point), at, kind) for at, (point, kind) in enumerate(mounts) if folder.is_relative_to(point)]
    return bool(above) and max(above)[2] in _REMOTE  # of several at one mount point, the last one counts


def _point(folder: Path, points: dict[Path, Path]) -> Path:
    if folder not in points:
        at_mount = folder == folder.parent or os.path.ismount(folder)
        points[folder] = folder if at_mount else _point(folder.parent, points)
    return points[folder]


@lru_cache(maxsize=256)
def _unescaped(point: str) -> str:
    """Return a mount path with its escapes decoded. The kernel writes spaces and similar characters as ``\\040``."""
    raw = point.encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1").decode("utf-8", "replace") if b"\\" in raw else point


@dataclass(frozen=True, slots=True)
class GoneFiles:
    """Documents whose files are missing, as ``{doc_id: path}``.

    Files in ``sure`` were deleted; those in ``doubtful`` may be on an unreachable disk.
    """

    sure: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, str] = field(default_factory=dict)


def gone_files(documents: Mapping[str, str], seen: Collection[str], root: Path, mounts: Mapping[str, str]) -> GoneFiles:
    """Return which of these documents (``{doc_id: path}``) below ``root`` have missing files.

    ``seen`` are the paths of existing files. All documents are doubtful if ``root`` itself is missing. A file counts as
    deleted only if its file system is reachable. This is the case if it has a file in ``seen``, or the identity that
    ``mounts`` states.
    """
    if missing(root):
        return GoneFiles({}, dict(documents))

    @cache
    def trusted(point: str) -> bool:
        if point in mounts and os.path.ismount(point) and file_system(point) == mounts[point]:
            return True
        return any(path.startswith(point.rstrip("/") + "/") for path in seen)

    sure: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    for doc_id, path in documents.items():
        if path not in seen and all(missing(Path(candidate)) for candidate in (path, *containers(path))):
            kind = sure if trusted(mount_above(path, mounts) or str(root)) else doubtful
            kind[doc_id] = path
    return GoneFiles(sure, doubtful)


def missing(path: Path) -> bool:
    """Return True if the system confirms that a path does not exist, False if it exists or a server does not answer."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


@dataclass(frozen=True, slots=True)
class SourceScan:
    """The result of scanning sources: their existing ``files``, and the library's ``documents`` that come from them.

    Documents are ``{doc_id: path}``. ``gone`` are the documents whose files were deleted, ``doubtful`` those whose
    files are unreachable. ``problems`` are (path, reason); ``skipped`` counts unsupported files by suffix.
    """

    files: tuple[Path, ...]
    documents: Mapping[str, str]
    gone: Mapping[str, str]
    doubtful: Mapping[str, str]
    problems: tuple[tuple[str, str], ...]
    notes: tuple[Note, ...]
    skipped: Mapping[str, int]


def scan(catalog: Catalog, sources: Sequence[Source], home: Path, reach: Reach | None = None) -> SourceScan:
    """Scan the sources of one library, and compare their files with its documents.

    Documents that users removed, and files below ``home``, are left out. A file outside ``reach``, the folders that the
    server may read, is a problem; its document does not change.
    """
    library = sources[0].library
    refused: list[str] = []
    if reach is not None:  # the folder may have become a link: its names are not read
        allowed = [source for source in sources if reach.allows(Path(source.path), Path(os.path.realpath(source.path)))]
        refused, sources = [source.path for source in sources if source not in allowed], allowed
    discovered = discover([source.path for source in sources], empty_folders=True)
    with catalog.snapshot() as snapshot:
        paths = snapshot.paths(library)  # members of a container are removed with it
    own = {doc_id: path for doc_id, path in paths.items() if not is_address(path)}
    seen = {str(file) for file in discovered.files}
    documents: dict[str, str] = {}
    gone: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    for source in sources:
        mine = {doc_id: path for doc_id, path in own.items() if source.holds(path)}
        missed = gone_files(mine, seen, source.root, source.mounts)
        documents |= mine
        gone |= missed.sure
        doubtful |= missed.doubtful
    also = (path for doc_id, path in documents.items() if doc_id not in gone and doc_id not in doubtful)
    out = exclusions(catalog, library)
    files = [Path(path) for path in dict.fromkeys((*map(str, discovered.files), *also)) if path not in out]
    if reach is not None:
        within = _Within(reach, sources)
        outside = {file for file in files if not within.allows(file)}
        refused += sorted(map(str, outside))
        files = [file for file in files if file not in outside]
    named = {source.path for source in sources if source.kind == "file"}
    return SourceScan(
        tuple(file for file in files if home not in file.parents), documents, gone, doubtful,
        (
            *((path, why) for path, why in discovered.problems if path not in named),
            *((path, OUTSIDE) for path in refused),
        ),
        (*discovered.notes, *out_of_reach(doubtful.values())), discovered.skipped,
    )  # fmt: skip


class _Within:
    """A test of whether files are inside the permitted folders of their sources. Each folder is resolved only once."""

    def __init__(self, reach: Reach, sources: Sequence[Source]) -> None:
        self._reach = reach
        self._sources = [(source, Path(os.path.realpath(source.root))) for source in sources]
        self._folders: dict[Path, Path] = {}

    def allows(self, file: Path) -> bool:
        folder = file.parent
        if folder not in self._folders:
            self._folders[folder] = Path(os.path.realpath(folder))
        place = Path(os.path.realpath(file)) if file.is_symlink() else self._folders[folder] / file.name
        return any(
            self._reach.allows(file, place, None if source.kind == "file" else root)
            for source, root in self._sources
            if source.holds(str(file))
        )


def out_of_reach(paths: Collection[str]) -> Iterator[Note]:
    """Yield a note about documents whose files may still exist on an unreachable file system."""
    if paths:
        folders = sorted({str(Path(path).parent) for path in paths})
        if len(folders) > 1:
            yield Note("index.out-of-reach-in", documents=len(paths), folder=folders[0], others=len(folders) - 1)
        else:
            yield Note("index.out-of-reach", documents=len(paths), folder=folders[0])
