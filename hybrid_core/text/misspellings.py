"""Candidate corrections of a misspelt word: swapped, doubled, missing or wrong letters, and OCR confusions."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from string import ascii_lowercase

from hybrid_core.text.tokens import fold

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    letter: "".join(row[max(0, at - 1) : at + 2]).replace(letter, "") for row in _ROWS for at, letter in enumerate(row)
}
_SCAN_CONFUSIONS = (
    ("rn", "m"), ("m", "rn"), ("cl", "d"), ("d", "cl"), ("e", "c"), ("c", "e"), ("h", "b"), ("b", "h"), ("i", "l"),
    ("l", "i"), ("vv", "w"), ("w", "vv"), ("u", "n"), ("n", "u"),
)  # fmt: skip  # what a scan shows, and what was written
_LONG = 6  # minimum letters of a word that may differ in more than a letter
_ALIKE, _NEAR = 0.82, 0.75  # minimum ratio of difflib between a misspelling and its correction; and for a short word
_LENGTHS = 2  # maximum difference in length
_MAX_CANDIDATES = 3


def usual(word: str) -> Iterator[str]:
    """Yield likely corrections of a misspelling.

    Each correction assumes an extra letter, two swapped letters, a missing double letter, a neighbouring key, or a
    letter that OCR confused. The first letter stays, since people rarely mistype it.
    """
    for at in range(1, len(word)):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        for key in _BESIDE.get(word[at], ""):
            yield word[:at] + key + word[at + 1 :]
    for shown, written in _SCAN_CONFUSIONS:
        at = word.find(shown)
        while at >= 0:
            yield word[:at] + written + word[at + len(shown) :]
            at = word.find(shown, at + 1)


def missing(word: str) -> Iterator[str]:
    """Yield possible corrections of a word with a missing letter: any letter inserted after the first one."""
    for at in range(1, len(word) + 1):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at:]


def wrong(word: str) -> Iterator[str]:
    """Yield possible corrections of a word with a wrong letter: any letter except the first one replaced."""
    for at in range(1, len(word)):
        for letter in ascii_lowercase:
            yield word[:at] + letter + word[at + 1 :]


def alike(word: str, page_counts: Mapping[str, int]) -> list[str]:
    """Return the known words whose spelling is most similar to a word, the most similar first.

    ``page_counts`` has the number of pages of each known word. Return [] for a known word, and for a word of fewer than
    four letters. Equally similar words are ordered by their number of pages.
    """
    plain = fold(word)
    if len(plain) < 4 or plain in page_counts or not plain.isalpha():
        return []
    minimum = _ALIKE if len(plain) >= _LONG else _NEAR
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(plain)
    candidates: list[tuple[float, int, str]] = []
    for other, pages in page_counts.items():
        if other[:1] != plain[:1] or abs(len(other) - len(plain)) > _LENGTHS or not other.isalpha():
            continue
        matcher.set_seq1(other)
        if (
            matcher.real_quick_ratio() >= minimum
            and matcher.quick_ratio() >= minimum
            and (r := matcher.ratio()) >= minimum
        ):
            candidates.append((round(r, 2), pages, other))
    return [other for _, _, other in sorted(candidates, reverse=True)[:_MAX_CANDIDATES]]
