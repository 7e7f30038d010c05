"""The pages that «page 14» may mean: the fourteenth of the file, and the one that bears the number 14.

A number is printed where the file says so (page labels), or where a line at the top or the bottom of a page ends or
begins with it and a page beside it goes on with the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybrid_core.text.numerals import beside, page_number

_EDGE = 3  # lines at the top and at the bottom of a page that may bear its number
_LONGEST = 80  # characters of such a line
_SPLIT = re.compile(r"[\s|·•]+")


def labelled(number: str, labels: Sequence[str]) -> list[int]:
    """The pages (1-based) whose label in the file is this number."""
    return [page for page, label in enumerate(labels, 1) if label and page_number(_joined(label)) == number]


def printed(number: str, texts: Sequence[str]) -> list[int]:
    """The pages (1-based) that bear this number in print, those whose neighbours go on counting."""
    edges: dict[int, set[str]] = {}

    def bears(page: int, wanted: str) -> bool:
        if not 1 <= page <= len(texts):
            return False
        if page not in edges:
            edges[page] = set(_numbers(texts[page - 1]))
        return wanted in edges[page]

    before, after = beside(number)
    found = [page for page in range(1, len(texts) + 1) if bears(page, number)]
    counted = {page: bears(page - 1, before) + bears(page + 1, after) for page in found}
    most = max(counted.values(), default=0)
    if not most and number.isdecimal():  # any figure may stand at the edge of a page
        return []
    return [page for page in found if counted[page] == most]


def _numbers(text: str) -> Iterator[str]:
    """What may be a page's number: the first and the last word of the lines at its edges."""
    lines = [line for line in text.split("\n") if line.strip()]
    for line in [*lines[:_EDGE], *lines[-_EDGE:]]:
        if len(line) <= _LONGEST:
            words = _SPLIT.split(line.strip())
            yield from {page_number(word.strip("-–—[]()")) for word in (words[0], words[-1])}
            if len(words) <= 3:
                yield page_number(_joined(line))


def _joined(written: str) -> str:
    """``A - 4`` and ``- 4 -`` as they are asked for: A-4, 4."""
    return re.sub(r"\s*([-–—])\s*", "-", written.strip()).strip("-[]() ")
