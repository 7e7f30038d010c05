"""The layout of a PDF page: words, figures, pictures, tables, and regions of a layout model."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt
import pymupdf

from hybrid_core.errors import DocumentError, ModelError
from hybrid_core.system import out_of_memory
from hybrid_core.types.locators import Box, PageLayout, PlacedLine, Region, RegionKind, WordBox
from indexers.formats.format import Bounds, PageLook
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.charts import read_charts
from indexers.formats.pdf.document import drawing, open_pdf, viewing
from indexers.formats.pdf.line_text import is_right_to_left
from indexers.formats.pdf.read import TEXT_FLAGS
from indexers.formats.word_boxes import around, holder, line_words, tables

_DPI = 150
_MOST_PIXELS = 25_000_000
_SPARE = 6  # gaps inside words that may be as wide as those between them
_EDGE = 0.5  # points: white at the ends of a line parts no words
_DARK = 0.5  # share of the way from white to the darkest
_PARTS = re.compile(r"\S+")

_Gap = tuple[float, float]


class Ink:
    """The dark pixels of a page, used to find gaps between words.

    The page is drawn for the first line that needs them.
    """

    def __init__(self, page: pymupdf.Page) -> None:
        self._page = page
        self._scale = min(_DPI / 72, (_MOST_PIXELS / max(1.0, abs(page.rect))) ** 0.5)

    def words(self, line: PlacedLine) -> list[WordBox]:
        """Return the words of a line with boxes, separated at the widest gaps of the line.

        The characters of a word have equal shares of its width.
        """
        text, (x0, y0, x1, y1) = line
        if x1 <= x0 or y1 <= y0:
            return []
        parts = _PARTS.findall(text)
        gaps = [] if y1 - y0 > x1 - x0 else self._gaps(x0, y0, x1, y1)[: len(parts) - 1 + _SPARE]
        if len(gaps) < len(parts) - 1:
            return line_words(line, ())
        return [
            word
            for part, (start, end) in zip(parts, _fit_words([len(part) for part in parts], gaps, x0, x1), strict=True)
            for word in line_words((part, (start, y0, end, y1)), ())
        ]

    def _gaps(self, x0: float, y0: float, x1: float, y1: float) -> list[_Gap]:
        """Return the white gaps inside a box, the widest first."""
        left, top, right, bottom = (round(side * self._scale) for side in (x0, y0, x1, y1))
        columns = self._dark[max(0, top) : bottom, max(0, left) : right].any(axis=0)
        edges = np.flatnonzero(np.diff(np.concatenate(([1], columns.view(np.int8), [1]))))
        sides = [round(x0 + edge / self._scale, 1) for edge in edges.tolist()]
        inner = [(a, b) for a, b in zip(sides[::2], sides[1::2], strict=False) if a > x0 + _EDGE and b < x1 - _EDGE]
        return sorted(inner, key=lambda gap: gap[0] - gap[1])

    @cached_property
    def _dark(self) -> npt.NDArray[np.bool_]:
        matrix = pymupdf.Matrix(self._scale, self._scale)
        drawn = self._page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False)
        grey = np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]
        return grey < 255 - _DARK * (255 - int(grey.min(initial=255)))


def _fit_words(letters: Sequence[int], gaps: Sequence[_Gap], x0: float, x1: float) -> list[_Gap]:
    """Return the horizontal range of each word.

    The gaps between words are chosen so that the widths best fit the lengths of the words.
    """
    needed = len(letters) - 1
    unit = max(0.1, (x1 - x0 - sum(b - a for a, b in gaps[:needed])) / sum(letters))
    ordered = sorted(gaps)
    best: dict[int, tuple[float, list[_Gap]]] = {-1: (0.0, [])}  # by the gap that the last word ended before
    for number, count in enumerate(letters):
        last = number == needed
        after: dict[int, tuple[float, list[_Gap]]] = {}
        for before, (cost, stretches) in best.items():
            start = ordered[before][1] if before >= 0 else x0
            for at in [len(ordered)] if last else range(before + 1, len(ordered) - needed + number + 1):
                end = x1 if last else ordered[at][0]
                price = cost + (end - start - unit * count) ** 2 / count
                if at not in after or price < after[at][0]:
                    after[at] = price, [*stretches, (start, end)]
        best = after
    return best[len(ordered)][1]


_MOST_SHAPES = 2_000  # maximum shapes of a page that are examined; a page with more, such as a map, is a figure anyway
_LEAST_SIDE = 6.0  # points; a filled bar that is thinner is a rule
_SLANT = 2.0  # points in both directions: a line that is neither level nor upright
_COLOUR = 0.1  # between the strongest and the weakest part of a colour that is no grey
_WORDED = 0.25  # share of a shape that its words cover, above which it is a box around them


def look(path: Path, password: str | None, start: int, stop: int, limits: ParseLimits) -> list[PageLook]:
    """Return the pictures and shapes (PageLook) of pages ``start`` to ``stop`` (1-based, ``stop`` excluded).

    Unreadable pages are left out. Raise DocumentError if the file cannot be opened.
    """
    document = open_pdf(path, password, limits)
    try:
        looks = []
        for number in range(start, min(stop, document.page_count + 1)):
            try:
                looks.append(look_at(document[number - 1], number))
            except DocumentError:
                raise
            except Exception:  # noqa: BLE001 - a damaged page was reported when it was parsed
                continue
        return looks
    finally:
        document.close()


def look_at(page: pymupdf.Page, number: int) -> PageLook:
    whole = page.rect
    pictures = []
    for image in page.get_image_info(xrefs=True):
        box = _bounds(pymupdf.Rect(image["bbox"]) & whole)
        if box is not None:
            pictures.append((f"xref {image['xref']}" if image["xref"] else f"at {box}", box))
    lines = [pymupdf.Rect(block[:4]) for block in page.get_text("blocks") if block[6] == 0]
    shapes: list[Bounds] = []
    labelled: list[Bounds] = []
    for path in page.get_cdrawings()[:_MOST_SHAPES]:
        box = _bounds(pymupdf.Rect(path["rect"]) & whole)
        if box is not None and _drawn(path, box, lines):
            shapes.append(box)
        elif box is not None and _coloured(path, box):
            labelled.append(box)
    return PageLook(number, float(whole.width), float(whole.height), tuple(pictures), tuple(shapes), tuple(labelled))


def _drawn(path: dict[str, Any], box: Bounds, lines: Sequence[pymupdf.Rect]) -> bool:
    """Return whether a drawn path is part of a figure.

    Curves, slanted lines and filled bars are; a box around words is not.
    """
    fill = path.get("fill")
    filled = fill is not None and "f" in path["type"] and tuple(fill) != (1.0, 1.0, 1.0)
    bar = filled and box[2] - box[0] >= _LEAST_SIDE and box[3] - box[1] >= _LEAST_SIDE
    if not bar and not any(_slanting(item) for item in path["items"]):
        return False
    area = (box[2] - box[0]) * (box[3] - box[1])
    return sum(_shared_area(box, line) for line in lines) <= _WORDED * max(area, 1)


def _coloured(path: dict[str, Any], box: Bounds) -> bool:
    fill = path.get("fill")
    bar = box[2] - box[0] >= _LEAST_SIDE and box[3] - box[1] >= _LEAST_SIDE
    return bool(bar and fill is not None and "f" in path["type"] and max(fill) - min(fill) >= _COLOUR)


def _slanting(item: Sequence[Any]) -> bool:
    if item[0] == "c":
        return True
    if item[0] != "l":
        return False
    (x0, y0), (x1, y1) = item[1], item[2]
    return bool(abs(x1 - x0) > _SLANT and abs(y1 - y0) > _SLANT)


def _shared_area(box: Bounds, line: pymupdf.Rect) -> float:
    wide = float(min(box[2], line.x1) - max(box[0], line.x0))
    high = float(min(box[3], line.y1) - max(box[1], line.y0))
    return wide * high if wide > 0 and high > 0 else 0.0


def _bounds(rect: pymupdf.Rect) -> Bounds | None:
    bounds = (round(rect.x0), round(rect.y0), round(rect.x1), round(rect.y1))
    return bounds if bounds[2] >= bounds[0] and bounds[3] >= bounds[1] else None


_NEAR = 12.0  # points between parts of one figure
_LEAST, _MOST = 0.01, 0.8  # shares of the page that a figure has; more is the page itself, as a scan's picture is


def pdf_layout(
    path: Path, password: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits
) -> PageLayout:
    """Return the layout of a page (1-based). ``lines`` are the stored lines. Raise the errors of drawing the page."""
    with viewing(path, password, limits) as document, drawing(f"page {number}", "max_page_characters", file=path):
        page = document[number - 1]
        glyphs, ink = _glyphs(page, lines), Ink(page)
        words = [
            line_words(line, boxes) if (boxes := glyphs.get(at)) else ink.words(line) for at, line in enumerate(lines)
        ]
        return PageLayout(
            float(page.rect.width), float(page.rect.height), tuple(word for line in words for word in line),
            tuple(figures(page, number)), tuple(tables(lines, words)), charts=tuple(read_charts(page)),
        )  # fmt: skip


def _glyphs(page: pymupdf.Page, lines: Sequence[PlacedLine]) -> dict[int, list[Box]]:
    """Return the boxes of the glyphs of each line in reading order, by the index of the line."""
    shown = page.rotation_matrix if page.rotation else None
    pieces: dict[int, list[tuple[Box, list[Box]]]] = {}
    for block in page.get_textpage(flags=TEXT_FLAGS).extractRAWDICT()["blocks"]:
        for raw in block.get("lines", ()):
            boxes = [
                _place_box(glyph["bbox"], shown)
                for span in raw["spans"]
                for glyph in span["chars"]
                if glyph["c"].strip()
            ]
            if boxes and (at := holder(lines, around(boxes))) is not None:
                pieces.setdefault(at, []).append((around(boxes), boxes))
    return {at: list(_sort_boxes(line_pieces, lines[at])) for at, line_pieces in pieces.items()}


def _sort_boxes(pieces: list[tuple[Box, list[Box]]], line: PlacedLine) -> Iterator[Box]:
    text, (x0, y0, x1, y1) = line
    if is_right_to_left(text):
        yield from sorted((box for _, boxes in pieces for box in boxes), key=lambda box: -box[0])
        return
    upright = y1 - y0 > x1 - x0 and len(text) > 1
    for _, boxes in sorted(pieces, key=lambda piece: piece[0][1] if upright else piece[0][0]):
        yield from boxes


def _place_box(box: Any, matrix: pymupdf.Matrix | None) -> Box:
    x0, y0, x1, y1 = box if matrix is None else pymupdf.Rect(box) * matrix
    return round(float(x0), 1), round(float(y0), 1), round(float(x1), 1), round(float(y1), 1)


def figures(page: pymupdf.Page, number: int) -> Iterator[Box]:
    """Yield the boxes of the figures on a page: pictures and shapes, grouped if they are near each other."""
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


def _gap(box: Box, other: Box) -> float:
    across = max(box[0], other[0]) - min(box[2], other[2])
    down = max(box[1], other[1]) - min(box[3], other[3])
    return max(across, down)


_NAMES = {"section-header": "heading", "page-header": "header", "page-footer": "footer"}
_FEATURES = "rf"
"""The inputs of the layout model: features of the text and its surroundings. With the page image as well ("imf+rf"), F1
is 0.006 higher on outlines written by hand, in four times the time.
"""
_REGION_DPI = 100  # resolution of the picture of a page without text of its own
_MOST_COVERED = 0.5  # maximum share of a figure's box that the model's regions cover
_REASON = 200  # characters of what its runtime says
_POLITE = 10  # how far the process that holds the model steps back behind others


def page_regions(
    path: Path, password: str | None, number: int, lines: Sequence[PlacedLine], limits: ParseLimits
) -> tuple[Region, ...]:
    """Return the regions of a page (1-based) that the layout model detects.

    ``lines``, if any, were read by OCR; the model receives them as text. Raise the errors of drawing the page, and
    ModelError if the model cannot be loaded.
    """
    _model()
    with viewing(path, password, limits) as document, drawing(f"page {number}", "max_page_characters", file=path):
        page = document[number - 1]
        if not lines:
            return (*(regions := _regions(page)), *_figure_regions(page, number, regions))
        with pymupdf.open() as copy:
            regions = _regions(_with_text(copy, page, lines))
        return (*regions, *_figure_regions(page, number, regions))


def _regions(page: pymupdf.Page) -> tuple[Region, ...]:
    kinds = set(get_args(RegionKind)) - {"figure"}
    regions = []
    for x0, y0, x1, y1, name in _model().predict(page):
        kind = _NAMES.get(name, name)
        if kind in kinds:
            box = cast(Box, tuple(round(float(edge), 1) for edge in (x0, y0, x1, y1)))
            regions.append(Region(cast(RegionKind, kind), box))
    return tuple(regions)


def _figure_regions(page: pymupdf.Page, number: int, regions: Sequence[Region]) -> Iterator[Region]:
    """Yield the figures drawn in the file that the layout model did not detect, as regions.

    Figures that overlap with a detected picture or table, or consist mostly of text, are left out.
    """
    for box in figures(page, number):
        seen = [
            overlap(region.box, box) > _MOST_COVERED * min(area(region.box), area(box))
            for region in regions
            if region.kind in ("picture", "table")
        ]
        if not any(seen) and sum(overlap(region.box, box) for region in regions) <= _MOST_COVERED * area(box):
            yield Region("figure", box)


def area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def overlap(box: Box, other: Box) -> float:
    """Return the area of the intersection of two boxes."""
    return area((max(box[0], other[0]), max(box[1], other[1]), min(box[2], other[2]), min(box[3], other[3])))


def _with_text(target: pymupdf.Document, page: pymupdf.Page, lines: Sequence[PlacedLine]) -> pymupdf.Page:
    """Add a page to ``target`` with an image of a page, and the lines as hidden text over it."""
    copy = target.new_page(width=page.rect.width, height=page.rect.height)
    copy.insert_image(copy.rect, pixmap=page.get_pixmap(dpi=_REGION_DPI))
    for text, (x0, _, x1, y1) in lines:
        font = "helv" if text.isascii() else "china-s"
        wide = pymupdf.get_text_length(text, fontname=font, fontsize=1)
        if wide and x1 > x0:
            copy.insert_text((x0, y1), text, fontname=font, fontsize=(x1 - x0) / wide, render_mode=3)
    return copy


@cache
def _model() -> Any:
    """Load the layout model, once per process. The process should do nothing else.

    Raise ModelError if it cannot be loaded.
    """
    if hasattr(os, "nice"):  # Windows has other priorities
        os.nice(_POLITE)
    sys.modules.pop("pymupdf.layout", None)  # the import is blocked in other workers
    pymupdf._get_layout = page_regions  # else importing it would load the model a second time
    try:
        from pymupdf.layout import DocumentLayoutAnalyzer

        with _one_core():
            model = DocumentLayoutAnalyzer.get_model(feature_set_name=_FEATURES, use_sort=False)
        model._model.table_grid_extractor = None  # finds rows and columns, which takes a fifth of the time
    except Exception as error:  # its runtime raises exceptions of its own
        if out_of_memory(error):
            raise
        reason = " ".join(str(error).split())[:_REASON]
        raise ModelError(f"the layout model cannot be loaded ({reason}).") from error
    return model


@contextmanager
def _one_core() -> Iterator[None]:
    """Limit the start of the layout model's runtime to one core.

    The runtime would start a thread per core, although several workers already run in parallel.
    """
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
