"""Find the files to index by paths, folders and globs."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybrid_core.errors import UsageError
from hybrid_core.store.home import own_entries
from hybrid_core.system import exists
from hybrid_core.types.notes import Note
from hybrid_core.types.sources import SourceKind
from indexers.formats.registry import formats, formats_read
from indexers.formats.registry import problems as format_problems

_ENDING = re.compile(r"\.\w{1,10}")
_KINDS = 6  # kinds that are named


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result of a search for files. ``files`` are absolute and unique, in the given order.

    ``problems`` are (path, reason). ``roots`` are the named files and folders that exist, below which ``--prune`` may
    remove documents. ``skipped`` counts unsupported files by suffix ("" for none). ``notes`` mention these for folders
    that also contain documents.
    """

    files: tuple[Path, ...]
    problems: tuple[tuple[str, str], ...]
    roots: tuple[Path, ...]
    skipped: Mapping[str, int]
    notes: tuple[Note, ...]


def discover(paths: Sequence[str | Path], *, empty_folders: bool = False) -> Discovery:
    """Find the files that paths name, including files in subfolders but not hidden files.

    Files in the engine's data folder (home) are left out. A folder without documents is a problem unless
    ``empty_folders``.
    """
    files: dict[Path, None] = {}
    problems: list[tuple[str, str]] = []
    roots: list[Path] = []
    skipped: dict[str, str] = {}
    alone: set[str] = set()  # of these, those in folders that failed for holding nothing else
    for named in paths:
        if not str(named):
            raise UsageError("A path is empty.", "Name a file, a folder or a glob; '.' is the current folder.")
        for name in _expand(str(named)):
            path = Path(os.path.abspath(name))  # noqa: PTH100 - resolve() would follow the user's links
            if not exists(path):
                problems.append((str(named), "no such file or folder."))
                roots.append(path)
            elif path.is_dir():
                inside, others = _documents_below(path)
                roots.append(path)
                if not inside and not empty_folders:
                    problems.append((str(path), _nothing(Counter(others.values()))))
                    alone.update(others)
                files |= dict.fromkeys(inside)
                skipped |= others
            elif path.is_file():
                roots.append(path)
                files[path] = None
            else:
                problems.append((str(path), "not a regular file."))
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
            problems.append((shown, "the name of the file is not valid UTF-8. Rename the file."))
    unread_endings = Counter(ending for path, ending in skipped.items() if path not in alone)
    note = (Note.joined((left_out(unread_endings), advice())),) if unread_endings else ()
    notes = (*note, *format_problems())
    by_ending = dict(Counter(skipped.values()).most_common())
    return Discovery(tuple(readable), tuple(problems), tuple(roots), by_ending, notes)


def advice() -> Note:
    """Return a note that lists the supported formats, for files that no parser reads."""
    return Note("index.formats", formats=formats_read())


def left_out(endings: Counter[str]) -> Note:
    """Return a note that counts the files that no parser can read, by their suffixes."""
    kinds = [
        Note("index.ending", files=number, ending=ending) if ending else Note("index.no-ending", files=number)
        for ending, number in endings.most_common(_KINDS)
    ]
    if more := len(endings) - len(kinds):
        kinds.append(Note("index.other-kinds", kinds=more))
    return Note("index.left-out", files=endings.total(), kinds=kinds)


def _nothing(endings: Counter[str]) -> str:
    """Return the reason why a folder has no file that can be indexed."""
    if not endings:
        looked = sorted(f"*{suffix}" for format in formats() for suffix in format.suffixes)
        return f"no documents in this folder (looked for {', '.join(looked)})."
    return f"no documents in this folder: {left_out(endings)}; {advice()}."


def _expand(pattern: str) -> list[str]:
    pattern = os.path.expanduser(pattern)  # noqa: PTH111 - a glob pattern is no path
    if os.path.lexists(pattern) or not glob.has_magic(pattern):
        return [pattern]
    return sorted(glob.glob(pattern, recursive=True)) or [pattern]  # noqa: PTH207 - the pattern may be absolute


def source_of(named: str | Path) -> tuple[str, SourceKind | None]:
    """Return a path in absolute form, and whether it is a folder, a file or a glob; None if nothing exists there."""
    path = os.path.abspath(os.path.expanduser(str(named)))  # noqa: PTH100, PTH111 - as in discover
    try:
        path.encode()
    except UnicodeEncodeError:
        return path, None
    if os.path.lexists(path):
        return path, "folder" if os.path.isdir(path) else "file"  # noqa: PTH112 - it may be a glob
    return path, "glob" if glob.has_magic(path) and _expand(path) != [path] else None


def _documents_below(folder: Path) -> tuple[list[Path], dict[str, str]]:
    """Return the files below a folder in supported formats, and the suffixes of all other files by path."""
    files: list[Path] = []
    others: dict[str, str] = {}
    read = {suffix for format in formats() for suffix in format.suffixes}
    for parent, folders, names in os.walk(folder):
        own = own_entries(names)  # a home may lie among the documents
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in own)
        for name in sorted(names):
            if name.startswith(".") or name in own:
                continue
            ending = os.path.splitext(name)[1].lower()  # noqa: PTH122 - of many names
            if ending in read:
                files.append(Path(parent, name))
            else:
                others[os.path.join(parent, name)] = ending if _ENDING.fullmatch(ending) else ""  # noqa: PTH118
    return files, others
