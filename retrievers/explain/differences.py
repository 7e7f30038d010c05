"""What tells two nearly equal pages apart: a draft and its final form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain

_MOST, _LONGEST = 2, 60  # differences that are told, characters of each side
_WORDS = 3_000  # of a page that are compared


def differences(one: str, other: str) -> str:
    """In a line what ``other`` says in place of what ``one`` does, the first differences; "" where the words are the
    same."""
    mine, theirs = _lines(one), _lines(other)
    told = [
        said
        for kind, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
        if kind != "equal"  # words are compared where lines differ alone: their comparison grows with the square
        for said in _told([*chain(*mine[a:b])], [*chain(*theirs[c:d])])
    ]
    if not told:
        return ""
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    return ", ".join(told[:_MOST]) + more


def _lines(text: str) -> list[tuple[str, ...]]:
    """The words of each line, of the first ``_WORDS``."""
    lines, left = [], _WORDS
    for line in text.splitlines():
        if words := tuple(line.split()[:left]):
            lines.append(words)
            left -= len(words)
    return lines


def _told(mine: Sequence[str], theirs: Sequence[str]) -> Iterator[str]:
    for kind, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        before, after = _short(mine[a:b]), _short(theirs[c:d])
        if kind == "replace":
            yield f"«{after}» for «{before}»"
        elif kind == "insert":
            yield f"«{after}» added"
        elif kind == "delete":
            yield f"«{before}» missing"


def _short(words: Sequence[str]) -> str:
    said = " ".join(words)
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1].rstrip() + "…"
