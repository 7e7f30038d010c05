"""Paths, folders and globs become the files to index."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import UsageError
from indexers.parse.formats import FORMATS


@dataclass(frozen=True, slots=True)
class Found:
    """``files`` are absolute, without repeats, in the order given; ``problems`` are (path, what is wrong).

    ``roots`` are the existing files and folders that were named: what ``--prune`` may clean below.
    """

    files: tuple[Path, ...]
    problems: tuple[tuple[str, str], ...]
    roots: tuple[Path, ...]


def discover(paths: Sequence[str | Path], *, empty_folders: bool = False) -> Found:
    """Find the files that paths name. A folder is searched with its subfolders, hidden ones left out; one without
    documents is a problem unless ``empty_folders``.
    """
    files: dict[Path, None] = {}
    problems: list[tuple[str, str]] = []
    roots: list[Path] = []
    for given in paths:
        if not str(given):
            raise UsageError("A path is empty.", "Name a file, a folder or a glob; '.' is the current folder.")
        for name in _expand(str(given)):
            path = Path(os.path.abspath(name))  # noqa: PTH100 - resolve() would follow the user's links
            if path.is_dir():
                inside = _documents_below(path)
                roots.append(path)
                if not inside and not empty_folders:
                    problems.append((str(path), f"no documents in this folder (looked for {_known()})."))
                files |= dict.fromkeys(inside)
            elif path.is_file():
                roots.append(path)
                files[path] = None
            elif path.exists():
                problems.append((str(path), "not a regular file."))
            else:
                problems.append((str(given), "no such file or folder."))
                roots.append(path)
    readable = []
    for file in files:
        if not file.is_file():  # a pipe or device below a folder would be read without end; a dangling link not at all
            problems.append((os.fsencode(file).decode("utf-8", "backslashreplace"), "not a regular file."))
            continue
        try:
            str(file).encode()
            readable.append(file)
        except UnicodeEncodeError:
            shown = os.fsencode(file).decode("utf-8", "backslashreplace")
            problems.append((shown, "its name is not valid UTF-8; rename the file."))
    return Found(tuple(readable), tuple(problems), tuple(roots))


def _expand(given: str) -> list[str]:
    given = os.path.expanduser(given)  # noqa: PTH111 - a glob pattern is no path
    if os.path.lexists(given) or not glob.has_magic(given):
        return [given]
    return sorted(glob.glob(given, recursive=True)) or [given]  # noqa: PTH207 - the pattern may be absolute


def _documents_below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            Path(parent, name)
            for name in sorted(names)
            if not name.startswith(".") and Path(name).suffix.lower() in FORMATS
        ]
    return found


def _known() -> str:
    return ", ".join("*" + suffix for suffix in sorted(FORMATS))
