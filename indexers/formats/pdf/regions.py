"""What the parts of a page are, by PyMuPDF's layout model: headings, text, tables, pictures and so on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import pymupdf

from hybrid_core.types.layouts import Box, PlacedLine, Region, RegionKind
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.page_layout import figures
from indexers.formats.pdf.viewing import drawing, viewing

_NAMES = {"section-header": "heading", "page-header": "header", "page-footer": "footer"}
_FEATURES = "rf"
"""What is measured of the text and its surroundings. With the page's picture too ("imf+rf") F1 is .006 better on the
outlines written by hand, in four times the time.
"""
_DPI = 100  # of the picture of a page that has no text of its own
_MOST = 0.5  # of a figure's box that what the model tells may cover
_POLITE = 10  # how far the process that holds the model steps back behind others


def page_regions(
    path: Path, password: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits
) -> tuple[Region, ...]:
    """``lines`` are those that were read from the page's picture (1-based), where there are such: the model is shown
    them as text. Raises as drawing the page does.
    """
    with viewing(path, password, limits) as document, drawing(f"{path}: page {number}", "max_page_characters"):
        page = document[number - 1]
        if not lines:
            return (*(found := _regions(page)), *_figures(page, number, found))
        with pymupdf.open() as made:
            found = _regions(_with_text(made, page, lines))
        return (*found, *_figures(page, number, found))


def _regions(page: pymupdf.Page) -> tuple[Region, ...]:
    kinds = set(get_args(RegionKind)) - {"figure"}
    found = []
    for x0, y0, x1, y1, name in _model().predict(page):
        kind = _NAMES.get(name, name)
        if kind in kinds:
            box = cast(Box, tuple(round(float(edge), 1) for edge in (x0, y0, x1, y1)))
            found.append(Region(cast(RegionKind, kind), box))
    return tuple(found)


def _figures(page: pymupdf.Page, number: int, found: Sequence[Region]) -> Iterator[Region]:
    """Those that the file tells, where the model sees no picture, no table and not mostly text."""
    for box in figures(page, number):
        seen = [
            overlap(region.box, box) > _MOST * min(area(region.box), area(box))
            for region in found
            if region.kind in ("picture", "table")
        ]
        if not any(seen) and sum(overlap(region.box, box) for region in found) <= _MOST * area(box):
            yield Region("figure", box)


def area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))


def _with_text(made: pymupdf.Document, page: pymupdf.Page, lines: Sequence[PlacedLine]) -> pymupdf.Page:
    """The page's picture with the lines as text upon it that is not seen."""
    copy = made.new_page(width=page.rect.width, height=page.rect.height)
    copy.insert_image(copy.rect, pixmap=page.get_pixmap(dpi=_DPI))
    for text, (x0, _, x1, y1) in lines:
        font = "helv" if text.isascii() else "china-s"
        wide = pymupdf.get_text_length(text, fontname=font, fontsize=1)
        if wide and x1 > x0:
            copy.insert_text((x0, y1), text, fontname=font, fontsize=(x1 - x0) / wide, render_mode=3)
    return copy


@cache
def _model() -> Any:
    """Loaded once in a process, which is to be one that does nothing else."""
    os.nice(_POLITE)
    sys.modules.pop("pymupdf.layout", None)  # which other workers keep out
    pymupdf._get_layout = page_regions  # else importing it would load the model a second time
    from pymupdf.layout import DocumentLayoutAnalyzer

    with _one_core():
        model = DocumentLayoutAnalyzer.get_model(feature_set_name=_FEATURES, use_sort=False)
    model._model.table_grid_extractor = None  # finds rows and columns, which takes a fifth of the time
    return model


@contextmanager
def _one_core() -> Iterator[None]:
    """What runs the model takes a thread for each core that it may use when loaded; here pages go side by side."""
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
