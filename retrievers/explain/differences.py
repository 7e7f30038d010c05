"""What tells two nearly equal pages apart: a draft and its final form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

_MOST, _LONGEST = 2, 60  # differences that are told, characters of each side
_WORDS = 3_000  # of a page that are compared


def differences(one: str, other: str) -> str:
    """In a line what ``other`` says in place of what ``one`` does, the first differences; "" where the words are the
    same."""
    mine, theirs = one.split()[:_WORDS], other.split()[:_WORDS]
    if mine == theirs:
        return ""
    told = list(_told(mine, theirs))
    more = f" and {len(told) - _MOST} more" if len(told) > _MOST else ""
    return ", ".join(told[:_MOST]) + more


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
