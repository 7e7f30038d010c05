"""Which pages need eyes: those that show what their text does not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from hybrid_core.types.documents import Page
from indexers.formats.page_look import Box, PageLook

Vision = Literal["auto", "always", "never"]
_CELLS = 40  # of the grid by which areas are measured, each way
_PICTURE = 0.12  # share of the page from which its pictures count as a figure
_WHOLE = 0.85  # share from which a picture is the page itself: a scan, or a photograph
_LITTLE = 400  # characters below which such a page says less than it shows
_SHAPES, _DRAWN = 8, 0.05  # curves, slanting lines and bars, and the share they cover, that make a chart
_FURNITURE = 0.25  # share of the pages, and at least 3, on which the same picture or shape is the layout's


def choose(pages: Sequence[Page], looks: Iterable[PageLook], vision: Vision) -> list[int]:
    """The numbers of the pages that a model should see, in order.

    ``auto``: pages without readable text; pages that are one picture and have little text; pages with pictures or
    drawn shapes of some size. What recurs on many pages (a logo, a background) does not count.
    """
    if vision == "never":
        return []
    if vision == "always":
        return [page.number for page in pages]
    by_number = {found.number: found for found in looks}
    furniture = _furniture(by_number.values(), len(pages))
    return [
        page.number
        for page in pages
        if page.needs_ocr or (page.number in by_number and _shows(page, by_number[page.number], furniture))
    ]


def scans(pages: Sequence[Page], looks: Iterable[PageLook]) -> frozenset[int]:
    """The pages whose text was read from their pictures, by OCR here or in a layer behind the scan."""
    whole = {one.number for one in looks if covered([box for _, box in one.pictures], one.width, one.height) >= _WHOLE}
    return frozenset(page.number for page in pages if page.text.strip() and (page.number in whole or page.ocr))


def _shows(page: Page, seen: PageLook, furniture: frozenset[object]) -> bool:
    pictures = [box for what, box in seen.pictures if what not in furniture]
    pictured = covered(pictures, seen.width, seen.height)
    if pictured >= _WHOLE:  # much text beside it is its own, by OCR or from a layer behind the scan
        return len(page.text.strip()) < _LITTLE
    shapes = [box for box in seen.shapes if box not in furniture]
    drawn = covered(shapes, seen.width, seen.height) if len(shapes) >= _SHAPES else 0.0
    return pictured >= _PICTURE or drawn >= _DRAWN


def _furniture(looks: Iterable[PageLook], pages: int) -> frozenset[object]:
    """Pictures and shapes that many pages share."""
    on: Counter[object] = Counter()
    for found in looks:
        on.update({what for what, _ in found.pictures} | set(found.shapes))
    return frozenset(what for what, count in on.items() if count >= max(3, _FURNITURE * pages))


def covered(boxes: Sequence[Box], width: float, height: float) -> float:
    """The share of a page that boxes cover together, 0 to 1, by the cells of a grid whose middle lies in one.

    A box too small to hold a middle covers the cell that it lies in.
    """
    seen: set[tuple[int, int]] = set()
    for x0, y0, x1, y1 in boxes:
        columns = _middles(x0, x1, width)
        seen.update((column, row) for row in _middles(y0, y1, height) for column in columns)
    return len(seen) / _CELLS**2


def _middles(start: float, end: float, side: float) -> list[int]:
    cell = max(side, 1.0) / _CELLS
    inside = [i for i in range(_CELLS) if start <= (i + 0.5) * cell <= end]
    return inside or [min(_CELLS - 1, max(0, int((start + end) / 2 / cell)))]
