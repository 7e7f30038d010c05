"""Pictures as a format. Pillow is imported when one is opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid_core.types.layouts import PageLayout, PlacedLine
from indexers.formats.drawing import Drawing, Picture
from indexers.formats.format import Format, OpenFile
from indexers.formats.limits import ParseLimits
from indexers.formats.page_look import PageLook


def _open(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
    from indexers.formats.raster.read import RasterFile

    return RasterFile(path, limits)


def _look(path: Path, _: str | None, start: int, stop: int, limits: ParseLimits) -> list[PageLook]:
    from indexers.formats.raster.read import RasterFile

    return RasterFile(path, limits).looks(start, stop)


def _draw(path: Path, _: str | None, number: int, how: Drawing, limits: ParseLimits) -> tuple[bytes, ...]:
    from indexers.formats.pdf.draw import draw
    from indexers.formats.raster.read import as_pdf

    with as_pdf(path, limits) as file:
        return draw(file, None, number, how, limits)


def _show(path: Path, _: str | None, pages: Sequence[int], how: Picture, limits: ParseLimits) -> bytes:
    from indexers.formats.pdf.picture import draw_picture
    from indexers.formats.raster.read import as_pdf

    with as_pdf(path, limits) as file:
        return draw_picture(file, None, pages, how, limits)


def _layout(path: Path, _: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits) -> PageLayout:
    from indexers.formats.pdf.page_layout import pdf_layout
    from indexers.formats.raster.read import as_pdf

    with as_pdf(path, limits) as file:
        return pdf_layout(file, None, number, lines, limits)


RASTER = Format(
    name="raster",
    title="picture",
    suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"),
    version="raster-1",
    open=_open,
    limits=frozenset({"max_pages", "max_page_lines", "max_page_characters", "max_pixels"}),
    place="frame",
    look=_look,
    draw=_draw,
    show=_show,
    layout=_layout,
)
