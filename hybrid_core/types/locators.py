"""Positions on pages and in files.

Boxes are (x0, y0, x1, y1) in points from the top left of the page as it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_BOOK = re.compile(r"(?P<href>.+?)(?:#(?P<id>\S+))? (?P<offset>\d+)/(?P<length>\d+) (?P<cfi>epubcfi\(.+\))")
_SPECIAL = re.compile(r"[\^\[\](),;=]")


@dataclass(frozen=True, slots=True)
class BookLocator:
    """A place in an EPUB, with the fields of Readium's locator model (readium.org/architecture/models/locators).

    ``href`` is a file of the book. ``id`` is the last element id before the place in this file, "" if there is none.
    ``offset`` counts the characters of the body text before the place, and ``progression`` is their share, 0 to 1.
    ``cfi`` is the place as an EPUB Canonical Fragment Identifier.
    """

    href: str
    id: str
    offset: int
    progression: float
    cfi: str


def book_place(href: str, id: str, offset: int, length: int, cfi: str) -> str:
    return f"{href}{f'#{id}' if id else ''} {offset}/{length} {cfi}"


def book_locator(place: str) -> BookLocator | None:
    """Parse the position of a line in an EPUB. Return None for a position in another format."""
    match = _BOOK.fullmatch(place)
    if match is None:
        return None
    offset, length = int(match["offset"]), int(match["length"])
    return BookLocator(match["href"], match["id"] or "", offset, round(offset / max(1, length), 4), match["cfi"])


def cfi_assertion(id: str) -> str:
    """Return the assertion of an element's id in an EPUB CFI, such as "[intro]". It follows the element's step.

    Return "" for an id that is empty or contains white space.
    """
    return f"[{_SPECIAL.sub(lambda sign: f'^{sign[0]}', id)}]" if id and not re.search(r"\s", id) else ""


def shown_place(place: str) -> str:
    """Return a position for display. A position in an EPUB is shown without its CFI; others stay unchanged."""
    return place[: match.start("cfi") - 1] if (match := _BOOK.fullmatch(place)) else place


def names_of(place: str) -> tuple[str, ...]:
    """Return all texts by which users may refer to a position; for an EPUB, also the short form and the CFI."""
    locator = book_locator(place)
    return (place,) if locator is None else (place, shown_place(place), locator.cfi)


def place_span(first: str, last: str) -> str:
    """Return the name of a range of positions, such as "paragraphs 3-9" for "paragraph 3" and "paragraph 9".

    Positions that do not end in a number are joined with a dash.
    """
    if first == last:
        return first
    name, _, number = last.rpartition(" ")
    if not name or not number.isdigit():
        return f"{first}–{last}"
    return f"{name}s {first.removeprefix(f'{name} ')}-{number}" if first.startswith(f"{name} ") else first


def distance(place: str, other: str) -> tuple[int, ...] | None:
    """Return the differences between the numbers of two positions, such as (4,) for "slide 3" and "slide 7".

    Return None if the positions differ in anything but numbers. Element ids of an EPUB are ignored.
    """
    (own, numbers), (two, others) = _numbers(place), _numbers(other)
    return tuple(abs(a - b) for a, b in zip(numbers, others, strict=True)) if own == two else None


def _numbers(place: str) -> tuple[list[str], list[int]]:
    if (match := _BOOK.fullmatch(place)) is not None:
        place = f"{match['href']} {match['offset']}/{match['length']}"
    parts = re.split(r"(\d{1,18})", place)
    return parts[::2], [int(number) for number in parts[1::2]]


Box = tuple[float, float, float, float]
PlacedLine = tuple[str, Box]
"""A line of a page's text with its box. The box is all 0 if the format has no page layout."""


@dataclass(frozen=True, slots=True)
class WordBox:
    """A word of a page and its box. In scripts without spaces each character is a word.

    If ``text`` is "", the box belongs to the previous word, which continues on another line.
    """

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class TableBox:
    """A table on a page. All ``rows`` have the same number of cells; the first ``heads`` rows are column headings."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    heads: int = 0
    lines: tuple[int, int] = (
        0,
        0,
    )  # lines of the page's text that belong to the table: first (from 0) and end (excluded)


@dataclass(frozen=True, slots=True)
class Illustration:
    """A JPEG picture before line ``line`` (from 0) of a page, in a format without page layout.

    Width and height are in pixels.
    """

    line: int
    image: bytes
    width: int
    height: int


RegionKind = Literal[
    "heading",
    "title",
    "text",
    "list-item",
    "table",
    "picture",
    "caption",
    "formula",
    "footnote",
    "header",
    "footer",
    "figure",
]


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a page that a layout model detected. The kinds ``header`` and ``footer`` are those of the page.

    The layout model reports pictures as ``picture``. A ``figure`` is a picture or a group of shapes that the file
    itself defines.
    """

    kind: RegionKind
    box: Box


@dataclass(frozen=True, slots=True)
class PageLayout:
    """The words, figures, tables and other areas of one page.

    ``words`` are in reading order, ``figures`` and ``tables`` from top to bottom. In a format without page layout the
    positions are those on the page as this software draws it. ``regions`` are the areas that a layout model detected,
    from top to bottom: headings, figures, tables, captions; None if no layout model has read the page. ``charts`` are
    the data of bar and line charts as tables, read from the drawing; their ``lines`` are empty.
    """

    width: float
    height: float
    words: tuple[WordBox, ...] = ()
    figures: tuple[Box, ...] = ()
    tables: tuple[TableBox, ...] = ()
    regions: tuple[Region, ...] | None = None
    charts: tuple[TableBox, ...] = ()


RegionsByPage = Mapping[int, Sequence[Region]]
"""The regions of the pages that were read, by page number from 1."""
