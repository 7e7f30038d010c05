"""Files inside a file: what an archive packs, what is attached to a mail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from indexers.formats.limits import ParseLimits

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 120  # characters of a part of a name


@dataclass(frozen=True, slots=True)
class Member:
    """``name`` is what the container calls it, folders before it. ``read`` gives its bytes in pieces and raises
    DocumentError where they cannot be had.
    """

    name: str
    read: Callable[[], Iterable[bytes]]


Members = Callable[[Path, ParseLimits], Iterator[Member]]
"""Lists what a file holds. Raises DocumentError where it cannot be opened, LimitError where it holds too much."""


def clean_name(name: str) -> str:
    """A member's name as a part of its address: no way up, no odd separators, nothing that cannot be shown."""
    parts = (_CONTROLS.sub("_", part).strip() for part in name.replace("\\", "/").split("/"))
    return "/".join(_short(part.replace("!", "_") if part.endswith("!") else part) for part in parts if part.strip("."))


def own_name(name: str) -> str:
    """Clean a name as ``clean_name`` does, and mark one that cleaning changed by a hash of what it was.

    So two names that differ stay two: «a/../b.md» is not «b.md», nor is one cut name another.
    """
    cleaned = clean_name(name)
    if not cleaned or cleaned == name:
        return cleaned
    path = PurePosixPath(cleaned)
    mark = "~" + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12] + path.suffix
    return str(path.with_name(path.stem[: max(0, _LONGEST - len(mark))] + mark))


def is_hidden(name: str) -> bool:
    """Whether a folder's search would leave such a file out too; what macOS adds to archives is as hidden."""
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _short(part: str) -> str:
    if len(part) <= _LONGEST:
        return part
    stem, dot, ending = part.rpartition(".")
    return f"{(stem if dot else part)[: _LONGEST - 12]}…{dot}{ending[-10:]}" if dot else part[:_LONGEST]
