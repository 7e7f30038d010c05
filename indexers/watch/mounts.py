"""File systems and where they are mounted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_REMOTE = frozenset(
    "9p afs afpfs beegfs ceph cifs coda davfs drvfs fuse.curlftpfs fuse.davfs2 fuse.gvfsd-fuse fuse.rclone fuse.s3fs "
    "fuse.sshfs fuse.vmhgfs-fuse glusterfs gpfs lustre ncpfs nfs nfs4 pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs "
    "webdav".split()
)


def mounts_of(folders: Iterable[Path]) -> dict[str, str]:
    """The mount points above folders, each with what tells its file system from others."""
    points: dict[Path, Path] = {}
    for folder in folders:
        with suppress(OSError):
            _point(folder, points)
    return {str(point): name for point in set(points.values()) if (name := file_system(str(point)))}


def mount_above(path: str, mounts: Mapping[str, str]) -> str:
    """Which of these mount points a path lies below; "" where none is."""
    return max((point for point in mounts if path.startswith(point.rstrip("/") + "/")), key=len, default="")


def file_system(point: str) -> str:
    """What tells the file system at a mount point from others; "" where it cannot be asked."""
    try:
        return f"{os.statvfs(point).f_fsid:x}"
    except OSError:
        return ""


def remote(folder: Path) -> bool:
    """Whether a folder lies on a file system that tells nothing of what others write to it. Known on Linux."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    found = [(_unescaped(parts[1]), parts[2]) for line in lines if len(parts := line.split(" ")) > 2]
    above = [(len(point), at, kind) for at, (point, kind) in enumerate(found) if folder.is_relative_to(point)]
    return bool(above) and max(above)[2] in _REMOTE  # of several on one point the last one counts


def _point(folder: Path, points: dict[Path, Path]) -> Path:
    if folder not in points:
        here = folder == folder.parent or os.path.ismount(folder)
        points[folder] = folder if here else _point(folder.parent, points)
    return points[folder]


@lru_cache(maxsize=256)
def _unescaped(point: str) -> str:
    """The kernel writes blanks and the like as ``\\040``."""
    raw = point.encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1").decode("utf-8", "replace") if b"\\" in raw else point
