"""Documents whose files are gone, and not merely out of reach."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from hybrid_core.types.addresses import containers
from indexers.watch.mounts import file_system, mount_above


@dataclass(frozen=True, slots=True)
class GoneFiles:
    """Paths by doc_id: ``sure`` are deleted; ``doubtful`` are missing where the disk itself may be."""

    sure: Mapping[str, str] = field(default_factory=dict)
    doubtful: Mapping[str, str] = field(default_factory=dict)


def gone_files(documents: Mapping[str, str], seen: Collection[str], root: Path, mounts: Mapping[str, str]) -> GoneFiles:
    """Which of the documents below ``root`` (doc_id -> path) are gone. ``seen`` are paths where files are.

    None where the folder is not there. Where ``mounts`` do not show that its file system is the one of before, a file
    of the library that is still there must.
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
        if path not in seen and all(missing(Path(one)) for one in (path, *containers(path))):
            kind = sure if trusted(mount_above(path, mounts) or str(root)) else doubtful
            kind[doc_id] = path
    return GoneFiles(sure, doubtful)


def missing(path: Path) -> bool:
    """Whether the system says that nothing is there; not where it cannot say, as of a server that does not answer."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False
