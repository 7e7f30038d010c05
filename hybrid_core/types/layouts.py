"""Where things stand on a page. Boxes are (x0, y0, x1, y1) in points from the top left of the page as it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Box = tuple[float, float, float, float]
PlacedLine = tuple[str, Box]
"""A line of a page's text; its box is all 0 where the page has no look of its own."""


@dataclass(frozen=True, slots=True)
class WordBox:
    """A word, or a single character where words are written without spaces; "" goes on with the word before it on
    another line.
    """

    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class TableBox:
    """``rows`` are its cells, as many in each row; the first ``heads`` rows name the columns."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    heads: int = 0
    lines: tuple[int, int] = (0, 0)  # those of the page's text that it is, from 0, the last excluded


@dataclass(frozen=True, slots=True)
class Illustration:
    """A picture (JPEG) of so many pixels that a page without a look of its own shows before its ``line`` (from 0)."""

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
    """A part of a page as a layout model names it; ``header`` and ``footer`` are those of the page. A ``figure`` is one
    that only the file tells, a picture or shapes: the model calls "picture" what it knows by the words in it.
    """

    kind: RegionKind
    box: Box


@dataclass(frozen=True, slots=True)
class PageLayout:
    """``words`` are in reading order, ``figures`` and ``tables`` from top to bottom. A page without a look of its own
    has the places of its drawing. ``regions`` are what a layout model saw, from top to bottom: headings, figures,
    tables, captions; None where none has read the page.
    """

    width: float
    height: float
    words: tuple[WordBox, ...] = ()
    figures: tuple[Box, ...] = ()
    tables: tuple[TableBox, ...] = ()
    regions: tuple[Region, ...] | None = None


RegionsByPage = Mapping[int, Sequence[Region]]
"""Of pages that were read, by number from 1."""
