"""Words that a word may be a slip of: letters swapped, doubled, missing or wrong, and letters that scans confuse."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    letter: "".join(row[max(0, at - 1) : at + 2]).replace(letter, "") for row in _ROWS for at, letter in enumerate(row)
}
_SCANNED = (
    ("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("e", "c"), ("c", "e"), ("h", "b"), ("b", "h"), ("i", "l"),
    ("l", "i"), ("vv", "w"), ("w", "vv"), ("u", "n"), ("n", "u"),
)  # fmt: skip  # what a scan shows, and what was written


def usual(word: str) -> Iterator[str]:
    """What most slips come from: a letter too many, two swapped, one that is missing its double, a key beside the right
    one, a scan's confusion. The first letter stays, as it does when people type."""
    for at in range(1, len(word)):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        for key in _BESIDE.get(word[at], ""):
            yield word[:at] + key + word[at + 1 :]
    for shown, written in _SCANNED:
        at = word.find(shown)
        while at >= 0:
            yield word[:at] + written + word[at + len(shown) :]
            at = word.find(shown, at + 1)


def missing(word: str) -> Iterator[str]:
    """Any letter put in behind the first."""
    for at in range(1, len(word) + 1):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at:]


def wrong(word: str) -> Iterator[str]:
    """Any letter in place of one behind the first."""
    for at in range(1, len(word)):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at + 1 :]
