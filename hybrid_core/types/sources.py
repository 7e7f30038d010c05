"""Sources: the files, folders and globs from which libraries are indexed."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

SourceKind = Literal["file", "folder", "glob"]
WatchMode = Literal["", "auto", "poll"]
"""How a source is watched: not at all, by events of the file system, or by regular scans."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, folder or glob from which a library was indexed; ``path`` is absolute.

    ``options`` are the options of the call of ``Engine.index``, as far as they are stored. ``mounts`` are the file
    systems of its documents at the last scan, by mount point. ``machine`` is the machine on which the path exists, ""
    if only one machine uses the catalog.
    """

    library: str
    path: str
    kind: SourceKind
    options: Mapping[str, str | bool] = field(default_factory=dict)
    watch: WatchMode = ""
    mounts: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""

    def belongs_to(self, machine: str) -> bool:
        """Return whether the path exists on a machine. ``machine`` is "" if only one machine uses the catalog."""
        return not machine or self.machine in ("", machine)

    @property
    def root(self) -> Path:
        """Return the folder that contains all files of the source; for a file, its parent folder."""
        if self.kind != "glob":
            return Path(self.path) if self.kind == "folder" else Path(self.path).parent
        parts = Path(self.path).parts
        plain = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
        return Path(*parts[:plain])

    def holds(self, path: str) -> bool:
        """Return whether a path is the source itself, is inside its folder, or matches its glob."""
        if self.kind == "glob":
            return _pattern(self.path).fullmatch(path) is not None
        return path == self.path or (self.kind == "folder" and path.startswith(self.path.rstrip("/") + "/"))

    def meets(self, path: str) -> bool:
        """Return whether the source and a path overlap: one of them is or contains the other."""
        return self.holds(path) or Path(self.path).is_relative_to(path)


_MAGIC = re.compile(r"[*?\[]")


@lru_cache(maxsize=64)
def _pattern(glob: str) -> re.Pattern[str]:
    """Return a regular expression for all paths that a glob matches, and all paths in folders that it matches.

    The glob has the meaning that it has for ``glob.glob(recursive=True)``.
    """
    *folders, last = glob.strip("/").split("/")
    above = "".join("(?:[^/]+/)*" if part == "**" else f"{_part(part)}/" for part in folders)
    return re.compile(f"/{above}" + (".*" if last == "**" else f"{_part(last)}(?:/.*)?"), re.DOTALL)


def _part(pattern: str) -> str:
    return fnmatch.translate(pattern).removesuffix(r"\Z").replace(".*", "[^/]*")
