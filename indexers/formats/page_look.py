"""What is drawn on a page besides text."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class PageLook:
    """Boxes in points, clipped to the page; ``width`` and ``height`` are the page's. ``pictures`` go with what tells
    that two pages show the same one. ``labelled`` are coloured bars around words: of a chart, or a table's rows.
    """

    number: int
    width: float
    height: float
    pictures: tuple[tuple[str, Box], ...]
    shapes: tuple[Box, ...]
    labelled: tuple[Box, ...] = ()
