"""Pictures of PDF pages: one page, a contact sheet of several, or a page with high-resolution tiles for a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pymupdf

from hybrid_core.types.locators import Illustration
from indexers.formats.format import Drawing, PictureOptions, fitting, tiling
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.document import drawing, viewing
from indexers.formats.text_drawing import sketch_page

_MOST_PIXELS = 40_000_000
# JPEG qualities, tried until the picture is small enough; after that the resolution is reduced
_QUALITIES = (80, 65, 50)
_COARSER = 0.8
_NUMBER = 18.0  # pixels of the strip with the number above a small page
_GAP = 4.0  # margin in pixels around a small page
_GREY = (0.85, 0.85, 0.85)


def draw_picture(
    path: Path, password: str | None, pages: Sequence[int], how: PictureOptions, limits: ParseLimits
) -> bytes:
    """Draw one page (1-based), or several side by side with their numbers, as an image file.

    Raise DocumentError if a page cannot be drawn, LimitError if that takes too much memory.
    """
    with viewing(path, password, limits) as document, drawing(_name_pages(pages), "image_dpi", file=path):
        return _picture([(number, document[number - 1]) for number in pages], how)


def draw_texts(
    texts: Sequence[tuple[int, str]],
    how: PictureOptions,
    pictures: Sequence[Sequence[Illustration]] = (),
    path: Path | None = None,
    limits: ParseLimits = ParseLimits(),
) -> bytes:
    """Draw pages of formats without page images as an image, each from its number, text and pictures.

    With ``path`` a format may draw them from the file instead.
    """
    with ExitStack() as opened, drawing(_name_pages([number for number, _ in texts]), "image_dpi"):
        shown = pictures or [()] * len(texts)
        pdfs = [
            sketch_page(path, number, text, limits, with_text)[0]
            for (number, text), with_text in zip(texts, shown, strict=True)
        ]
        documents = [opened.enter_context(pymupdf.open("pdf", pdf)) for pdf in pdfs]
        return _picture([(number, document[0]) for (number, _), document in zip(texts, documents, strict=True)], how)


def draw_page(page: pymupdf.Page, how: PictureOptions) -> bytes:
    """Draw a page of an open document as an image file."""
    with drawing("the page", "image_dpi"):
        return _encoded(page, how)


def _name_pages(pages: Sequence[int]) -> str:
    return f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]} to {pages[-1]}"


def _picture(pages: Sequence[tuple[int, pymupdf.Page]], how: PictureOptions) -> bytes:
    if len(pages) == 1 and not how.clip and not how.title:
        return _encoded(pages[0][1], how)
    if len(pages) == 1:
        with pymupdf.open() as target:
            return _encoded(_titled(target, pages[0][1], how), how)
    with pymupdf.open() as target:
        return _encoded(_sheet(target, pages, how), how)


def _encoded(page: pymupdf.Page, how: PictureOptions) -> bytes:
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


def _titled(target: pymupdf.Document, page: pymupdf.Page, how: PictureOptions) -> pymupdf.Page:
    """Add a page to ``target`` that shows all or a part of ``page``, below a strip with the title."""
    part = page.rect if how.clip is None else pymupdf.Rect(how.clip) & page.rect
    if part.is_empty:
        part = page.rect
    dpi = min(how.dpi, 72 * (_MOST_PIXELS / max(1.0, part.width * part.height)) ** 0.5)
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(dpi / 72, dpi / 72), clip=part, alpha=False)
    strip = _NUMBER if how.title else 0.0
    titled = target.new_page(width=max(part.width, 1.0), height=max(part.height, 1.0) + strip)
    if how.title:
        titled.insert_text((_GAP, strip - _GAP - 1), how.title, fontsize=_NUMBER - 6, fontname="hebo")
    titled.insert_image(pymupdf.Rect(0, strip, titled.rect.width, titled.rect.height), pixmap=pixmap)
    return titled


def _sheet(target: pymupdf.Document, pages: Sequence[tuple[int, pymupdf.Page]], how: PictureOptions) -> pymupdf.Page:
    """Add a contact sheet of pages to ``target``. The number of columns is the one that makes the pages largest.

    Its lengths are in pixels of the final image.
    """
    side, titles = how.side, how.titles or [str(number) for number, _ in pages]
    wide, high = (max(float(getattr(page.rect, name)) for _, page in pages) for name in ("width", "height"))

    def scale(columns: int) -> float:
        rows = math.ceil(len(pages) / columns)
        return min((side / columns - 2 * _GAP) / wide, (side / rows - 2 * _GAP - _NUMBER) / high)

    columns = max(range(1, len(pages) + 1), key=scale)
    across, down = wide * scale(columns) + 2 * _GAP, high * scale(columns) + 2 * _GAP + _NUMBER
    rows = math.ceil(len(pages) / columns)
    sheet = target.new_page(width=across * columns, height=down * rows)
    for at, (_, page) in enumerate(pages):
        x, y = (at % columns) * across + _GAP, (at // columns) * down + _GAP
        sheet.insert_text((x, y + _NUMBER - 4), titles[at], fontsize=_NUMBER - 2, fontname="hebo")
        small = min(wide / page.rect.width, high / page.rect.height) * scale(columns)
        place = pymupdf.Rect(0, 0, page.rect.width * small, page.rect.height * small) + (x, y + _NUMBER) * 2
        sheet.insert_image(place, pixmap=page.get_pixmap(matrix=pymupdf.Matrix(small, small), alpha=False))
        sheet.draw_rect(place, color=_GREY)
    return sheet


_OVERLAP = 0.04  # relative to a tile's side, so that a line cut at the edge is complete on the next tile
_QUALITY = 85  # JPEG quality


def draw(path: Path, password: str | None, number: int, how: Drawing, limits: ParseLimits) -> tuple[bytes, ...]:
    """Draw a page (1-based): the whole page first, then its tiles row by row.

    Raise DocumentError if it cannot be drawn, LimitError if that takes too much memory.
    """
    with viewing(path, password, limits) as document, drawing(f"page {number}", "image_max_side", file=path):
        page = document[number - 1]
        width, height = float(page.rect.width), float(page.rect.height)
        dpi, across, down = tiling(width, height, how)
        whole = _clip(page, page.rect, min(dpi, fitting(width, height, how.side)), how)
        if across * down == 1:
            return (whole,)
        return (whole, *(_clip(page, tile, dpi, how) for tile in _tiles(page.rect, across, down)))


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


def _clip(page: pymupdf.Page, clip: pymupdf.Rect, dpi: float, how: Drawing) -> bytes:
    scale = dpi / 72
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), clip=clip, alpha=False)
    return bytes(pixmap.tobytes("jpeg", jpg_quality=_QUALITY) if how.format == "jpeg" else pixmap.tobytes("png"))
