"""Notes on files: what is the same for several is said once."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_core.text.plural import counted

_NAMED = 3  # files


def grouped(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Lines from (file, its notes, joined by semicolons): one a file with what is said of it alone, before that one for
    each note that several have.
    """
    files: dict[str, list[str]] = {}
    for file, note in notes:
        for part in note.split("; "):
            files.setdefault(part, []).append(file)
    shared = [f"{part} ({_names(names)})" for part, names in files.items() if len(names) > 1]
    alone: dict[str, list[str]] = {}
    for part, (file, *others) in files.items():
        if not others:
            alone.setdefault(file, []).append(part)
    return shared + [f"{file}: {'; '.join(parts)}" for file, parts in alone.items()]


def _names(files: list[str]) -> str:
    named = ", ".join(files[:_NAMED])
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"{counted(len(files), 'file')}: {named}{more}"
