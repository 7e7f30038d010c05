"""PDF as a format. What needs PyMuPDF is imported where it is used: it takes half a second."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from hybrid_core.types.layouts import PageLayout, PlacedLine, Region
from indexers.formats.drawing import Drawing, Picture
from indexers.formats.format import Format, OpenFile
from indexers.formats.limits import ParseLimits
from indexers.formats.members import Member
from indexers.formats.page_look import PageLook


def _open(path: Path, password: str | None, limits: ParseLimits) -> OpenFile:
    from indexers.formats.pdf.read import PdfFile

    return PdfFile(path, password, limits)


def _look(path: Path, password: str | None, start: int, stop: int, limits: ParseLimits) -> list[PageLook]:
    from indexers.formats.pdf.looks import look

    return look(path, password, start, stop, limits)


def _draw(path: Path, password: str | None, number: int, how: Drawing, limits: ParseLimits) -> tuple[bytes, ...]:
    from indexers.formats.pdf.draw import draw

    return draw(path, password, number, how, limits)


def _show(path: Path, password: str | None, pages: Sequence[int], how: Picture, limits: ParseLimits) -> bytes:
    from indexers.formats.pdf.picture import draw_picture

    return draw_picture(path, password, pages, how, limits)


def _layout(
    path: Path, password: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits
) -> PageLayout:
    from indexers.formats.pdf.page_layout import pdf_layout

    return pdf_layout(path, password, number, lines, limits)


def _members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    from indexers.formats.pdf.attachments import pdf_members

    return pdf_members(path, limits)


def _embeds(path: Path) -> bool:
    """Return whether a PDF may embed files: the dictionary of such a file is never packed."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(b"/EmbeddedFile") >= 0
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


def _regions(
    path: Path, password: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits
) -> tuple[Region, ...]:
    from indexers.formats.pdf.regions import page_regions

    return page_regions(path, password, number, lines, limits)


PDF = Format(
    name="pdf",
    title="PDF",
    suffixes=(".pdf",),
    version="pdf-3",
    open=_open,
    sniff=lambda head: b"%PDF-" in head,
    limits=frozenset(field.name for field in fields(ParseLimits)),
    look=_look,
    draw=_draw,
    show=_show,
    layout=_layout,
    regions=_regions,
    members=_members,
    embeds=_embeds,
)
