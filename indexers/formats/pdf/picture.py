"""Pages drawn to be looked at: one of them, or several small ones on a contact sheet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pymupdf

from hybrid_core.errors import DocumentError, LimitError
from indexers.formats.drawing import Picture, fitting
from indexers.formats.limits import ParseLimits, out_of_memory
from indexers.formats.pdf.read import open_pdf

_MOST_PIXELS = 40_000_000
_QUALITIES = (80, 65, 50)  # of JPEG, tried until a picture is small enough; then it is drawn coarser
_COARSER = 0.8
_NUMBER = 18.0  # pixels of the strip above a small page that says its number
_GAP = 4.0  # pixels around a small page
_GREY = (0.85, 0.85, 0.85)


def draw_picture(path: Path, password: str | None, pages: Sequence[int], how: Picture, limits: ParseLimits) -> bytes:
    """A picture of one page (1-based), or of several side by side with their numbers.

    Raises DocumentError where it cannot be drawn, LimitError where that takes too much memory.
    """
    document = open_pdf(path, password, limits)
    named = f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]} to {pages[-1]}"
    try:
        if len(pages) == 1:
            return _encoded(document[pages[0] - 1], how)
        with pymupdf.open() as made:
            return _encoded(_sheet(made, [document[number - 1] for number in pages], how.side), how)
    except Exception as error:
        if out_of_memory(error):
            raise LimitError(
                f"{path}: {named} cannot be drawn in the memory that a worker may use.", "Lower the setting image_dpi."
            ) from error
        raise DocumentError(f"{path}: {named} cannot be drawn ({error}).") from error
    finally:
        document.close()


def _encoded(page: pymupdf.Page, how: Picture) -> bytes:
    width, height = float(page.rect.width), float(page.rect.height)
    dpi = min(how.dpi, 72 * (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    if how.side:
        dpi = min(dpi, fitting(width, height, how.side))
    while True:
        pixmap = page.get_pixmap(matrix=pymupdf.Matrix(dpi / 72, dpi / 72), alpha=False)
        if how.format == "png":
            return bytes(pixmap.tobytes("png"))
        for quality in _QUALITIES:
            image = bytes(pixmap.tobytes("jpeg", jpg_quality=quality))
            if not how.most_bytes or len(image) <= how.most_bytes or min(pixmap.width, pixmap.height) < 2:
                return image
        dpi *= _COARSER


def _sheet(made: pymupdf.Document, pages: Sequence[pymupdf.Page], side: int) -> pymupdf.Page:
    """A page of ``made`` whose points are pixels, with as many columns as let the pages be largest."""
    wide, high = (max(float(getattr(page.rect, name)) for page in pages) for name in ("width", "height"))

    def scale(columns: int) -> float:
        rows = math.ceil(len(pages) / columns)
        return min((side / columns - 2 * _GAP) / wide, (side / rows - 2 * _GAP - _NUMBER) / high)

    columns = max(range(1, len(pages) + 1), key=scale)
    across, down = wide * scale(columns) + 2 * _GAP, high * scale(columns) + 2 * _GAP + _NUMBER
    rows = math.ceil(len(pages) / columns)
    sheet = made.new_page(width=across * columns, height=down * rows)
    for at, page in enumerate(pages):
        x, y = (at % columns) * across + _GAP, (at // columns) * down + _GAP
        sheet.insert_text((x, y + _NUMBER - 4), str(page.number + 1), fontsize=_NUMBER - 2, fontname="hebo")
        small = min(wide / page.rect.width, high / page.rect.height) * scale(columns)
        place = pymupdf.Rect(0, 0, page.rect.width * small, page.rect.height * small) + (x, y + _NUMBER) * 2
        sheet.insert_image(place, pixmap=page.get_pixmap(matrix=pymupdf.Matrix(small, small), alpha=False))
        sheet.draw_rect(place, color=_GREY)
    return sheet
