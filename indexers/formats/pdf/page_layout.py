"""Where things stand on a page of a PDF: the words of its lines, its figures, its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pymupdf

from hybrid_core.types.layouts import Box, PageLayout, PlacedLine
from indexers.formats.limits import ParseLimits
from indexers.formats.line_words import around, holder, line_words
from indexers.formats.pdf.ink import Ink
from indexers.formats.pdf.looks import look_at
from indexers.formats.pdf.read import TEXT_FLAGS
from indexers.formats.pdf.right_to_left import is_right_to_left
from indexers.formats.pdf.viewing import drawing, viewing
from indexers.formats.tables import tables

_NEAR = 12.0  # points between parts of one figure
_LEAST, _MOST = 0.01, 0.8  # shares of the page that a figure has; more is the page itself, as a scan's picture is


def pdf_layout(
    path: Path, password: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits
) -> PageLayout:
    """``lines`` are those of the page (1-based) as it is kept. Raises as drawing it does."""
    with viewing(path, password, limits) as document, drawing(f"{path}: page {number}", "max_page_characters"):
        page = document[number - 1]
        glyphs, ink = _glyphs(page, lines), Ink(page)
        words = [
            line_words(line, found) if (found := glyphs.get(at)) else ink.words(line) for at, line in enumerate(lines)
        ]
        return PageLayout(
            float(page.rect.width), float(page.rect.height), tuple(word for line in words for word in line),
            tuple(figures(page, number)), tuple(tables(lines, words)),
        )  # fmt: skip


def _glyphs(page: pymupdf.Page, lines: Sequence[PlacedLine]) -> dict[int, list[Box]]:
    """The glyphs of each line in reading order."""
    shown = page.rotation_matrix if page.rotation else None
    pieces: dict[int, list[tuple[Box, list[Box]]]] = {}
    for block in page.get_textpage(flags=TEXT_FLAGS).extractRAWDICT()["blocks"]:
        for raw in block.get("lines", ()):
            boxes = [
                _shown(glyph["bbox"], shown) for span in raw["spans"] for glyph in span["chars"] if glyph["c"].strip()
            ]
            if boxes and (at := holder(lines, around(boxes))) is not None:
                pieces.setdefault(at, []).append((around(boxes), boxes))
    return {at: list(_in_order(found, lines[at])) for at, found in pieces.items()}


def _in_order(pieces: list[tuple[Box, list[Box]]], line: PlacedLine) -> Iterator[Box]:
    text, (x0, y0, x1, y1) = line
    if is_right_to_left(text):
        yield from sorted((box for _, boxes in pieces for box in boxes), key=lambda box: -box[0])
        return
    upright = y1 - y0 > x1 - x0 and len(text) > 1
    for _, boxes in sorted(pieces, key=lambda piece: piece[0][1] if upright else piece[0][0]):
        yield from boxes


def _shown(box: Any, matrix: pymupdf.Matrix | None) -> Box:
    x0, y0, x1, y1 = box if matrix is None else pymupdf.Rect(box) * matrix
    return round(float(x0), 1), round(float(y0), 1), round(float(x1), 1), round(float(y1), 1)


def figures(page: pymupdf.Page, number: int) -> Iterator[Box]:
    """Pictures, and shapes that stand together."""
    look = look_at(page, number)
    whole = look.width * look.height
    parts = [tuple(map(float, box)) for box in (*(box for _, box in look.pictures), *look.shapes)]
    groups: list[Box] = []
    for x0, y0, x1, y1 in parts:
        grown = (x0, y0, x1, y1)
        apart = []
        for other in groups:
            if _gap(grown, other) <= _NEAR:
                grown = around([grown, other])
            else:
                apart.append(other)
        groups = [*apart, grown]
    for box in sorted(groups, key=lambda box: (box[1], box[0])):
        if _LEAST * whole <= (box[2] - box[0]) * (box[3] - box[1]) <= _MOST * whole:
            yield box


def _gap(one: Box, other: Box) -> float:
    across = max(one[0], other[0]) - min(one[2], other[2])
    down = max(one[1], other[1]) - min(one[3], other[3])
    return max(across, down)
