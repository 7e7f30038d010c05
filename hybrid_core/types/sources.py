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
"""Not watched; by the system's events where its file system gives them; by looking again and again."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file, folder or glob that a library was indexed from; ``path`` is absolute.

    ``options`` are those of ``Engine.index`` that it was indexed with, as far as they may be stored. ``mounts`` are
    the file systems that its documents lay on when it was last looked at, by mount point. ``machine`` is the one whose
    path it is; "" where the catalog is of one machine alone.
    """

    library: str
    path: str
    kind: SourceKind
    options: Mapping[str, str | bool] = field(default_factory=dict)
    watch: WatchMode = ""
    mounts: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""

    def belongs_to(self, machine: str) -> bool:
        """Return whether a machine finds its files at this path; ``machine`` is "" where there is one alone."""
        return not machine or self.machine in ("", machine)

    @property
    def root(self) -> Path:
        """The folder below which it looks, a file's own."""
        if self.kind != "glob":
            return Path(self.path) if self.kind == "folder" else Path(self.path).parent
        parts = Path(self.path).parts
        plain = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
        return Path(*parts[:plain])

    def holds(self, path: str) -> bool:
        """Return whether a path is this one, below this folder, or one that this glob may find."""
        if self.kind == "glob":
            return _pattern(self.path).fullmatch(path) is not None
        return path == self.path or (self.kind == "folder" and path.startswith(self.path.rstrip("/") + "/"))

    def meets(self, path: str) -> bool:
        """Return whether it holds a path, or lies below it."""
        return self.holds(path) or Path(self.path).is_relative_to(path)


_MAGIC = re.compile(r"[*?\[]")


@lru_cache(maxsize=64)
def _pattern(glob: str) -> re.Pattern[str]:
    """Like ``glob.glob(recursive=True)``, and what lies below a folder that is found."""
    *folders, last = glob.strip("/").split("/")
    above = "".join("(?:[^/]+/)*" if part == "**" else f"{_part(part)}/" for part in folders)
    return re.compile(f"/{above}" + (".*" if last == "**" else f"{_part(last)}(?:/.*)?"), re.DOTALL)


def _part(pattern: str) -> str:
    return fnmatch.translate(pattern).removesuffix(r"\Z").replace(".*", "[^/]*")
