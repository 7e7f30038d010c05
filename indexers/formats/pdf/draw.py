"""A page drawn for a model that sees: one picture, or a small one of the whole and sharp ones of its parts."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from indexers.formats.drawing import Drawing, fitting, layout
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.viewing import drawing, viewing

_OVERLAP = 0.04  # of a tile's side: a line cut at its edge is whole on the next one
_QUALITY = 85  # of JPEG


def draw(path: Path, password: str | None, number: int, how: Drawing, limits: ParseLimits) -> tuple[bytes, ...]:
    """The pictures of a page (1-based): the whole page first, then its tiles row by row.

    Raises DocumentError where it cannot be drawn, LimitError where that takes too much memory.
    """
    with viewing(path, password, limits) as document, drawing(f"{path}: page {number}", "image_max_side"):
        page = document[number - 1]
        width, height = float(page.rect.width), float(page.rect.height)
        dpi, across, down = layout(width, height, how)
        whole = _picture(page, page.rect, min(dpi, fitting(width, height, how.side)), how)
        if across * down == 1:
            return (whole,)
        return (whole, *(_picture(page, tile, dpi, how) for tile in _tiles(page.rect, across, down)))


def _tiles(rect: pymupdf.Rect, across: int, down: int) -> list[pymupdf.Rect]:
    wide, high = rect.width / across, rect.height / down
    return [
        pymupdf.Rect(
            rect.x0 + column * wide - _OVERLAP * wide * (column > 0),
            rect.y0 + row * high - _OVERLAP * high * (row > 0),
            rect.x0 + (column + 1) * wide,
            rect.y0 + (row + 1) * high,
        )
        for row in range(down)
        for column in range(across)
    ]


def _picture(page: pymupdf.Page, clip: pymupdf.Rect, dpi: float, how: Drawing) -> bytes:
    scale = dpi / 72
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=clip, alpha=False)
    return bytes(pixmap.tobytes("jpeg", jpg_quality=_QUALITY) if how.format == "jpeg" else pixmap.tobytes("png"))
