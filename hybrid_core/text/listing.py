"""Pages that list on which pages things stand: printed contents and indexes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

_Value = TypeVar("_Value", int, str)
_LABEL = re.compile(r"(?<=[\s.·…_])\d{1,4}$")
_INDEXED = re.compile(r"(?:(?:,|,?\s)\s?\d{1,4}(?:[-–]\d{1,4})?)+$")
_SEVERAL = re.compile(r"\d,\s\d{1,4}(?:[-–]\d{1,4})?$", re.MULTILINE)
_LEADERS = " .·…_"
_TAIL = 60  # characters of a line that hold its page numbers
_FEWEST, _SHARE = 5, 0.5  # entries of contents, and their share of the lines
_ORDERED = 0.8  # of the entries stand in the order of pages, or of the alphabet
_BEYOND = 200  # a printed number may exceed the number of pages by so much


def lists_pages(text: str, pages: int) -> bool:
    """Return whether a page of a document of so many pages is printed contents or an index."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    least = max(_FEWEST, _SHARE * len(lines))
    listing = [line for line in lines if line[-1].isdigit()]
    if len(listing) < least:
        return False  # most pages, at once
    numbers = [number for line in listing if (number := _entry(line))]
    if len(numbers) >= least and max(numbers) <= pages + _BEYOND and len(set(numbers)) > 2 and _ordered(numbers):
        return True
    if len(_SEVERAL.findall(text)) < 2:
        return False  # an index names several pages of some things
    heads = [head for line in listing if (head := _index_head(line, pages + _BEYOND))]
    return len(heads) >= max(least, 2 * _FEWEST) and len({head[0] for head in heads}) > 2 and _ordered(heads)


def _entry(line: str) -> int:
    """Return the page that a line of contents names after leaders or a gap; 0 where it is none."""
    label = _LABEL.search(line, max(0, len(line) - 8))
    if label is None:
        return 0
    before = line[: label.start()]
    title = before.rstrip(_LEADERS)
    firm = len(before) - len(title) > 1 and not title[-1:].isdigit() and any(map(str.isalpha, title))
    return int(label[0]) if firm else 0


def _index_head(line: str, most: int) -> str:
    """Return the beginning of a line of an index, for its order; "" where it is none."""
    found = _INDEXED.search(line, max(0, len(line) - _TAIL))
    if found is None or not line[0].isalpha() or any(int(n) > most for n in re.findall(r"\d+", found[0])):
        return ""
    return line[:2].casefold()


def _ordered(values: Sequence[_Value]) -> bool:
    return sum(before <= after for before, after in pairwise(values)) >= _ORDERED * (len(values) - 1)
