"""What is drawn on a page besides text: pictures, and shapes that are no boxes around words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymupdf

from hybrid_core.errors import DocumentError
from indexers.formats.limits import ParseLimits
from indexers.formats.page_look import Box, PageLook
from indexers.formats.pdf.read import open_pdf

_MOST_SHAPES = 2_000  # of a page: a map has more, and is a figure by then
_LEAST_SIDE = 6.0  # points; a filled bar that is thinner is a rule
_SLANT = 2.0  # points in both directions: a line that is neither level nor upright
_COLOUR = 0.1  # between the strongest and the weakest part of a colour that is no grey
_WORDED = 0.25  # share of a shape that its words cover, above which it is a box around them


def look(path: Path, password: str | None, start: int, stop: int, limits: ParseLimits) -> list[PageLook]:
    """What pages ``start`` to ``stop`` (1-based, ``stop`` excluded) show; a page that cannot be read is left out.

    Raises DocumentError where the file cannot be opened.
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
        box = _box(pymupdf.Rect(image["bbox"]) & whole)
        if box is not None:
            pictures.append((f"xref {image['xref']}" if image["xref"] else f"at {box}", box))
    lines = [pymupdf.Rect(block[:4]) for block in page.get_text("blocks") if block[6] == 0]
    shapes: list[Box] = []
    labelled: list[Box] = []
    for path in page.get_cdrawings()[:_MOST_SHAPES]:
        box = _box(pymupdf.Rect(path["rect"]) & whole)
        if box is not None and _drawn(path, box, lines):
            shapes.append(box)
        elif box is not None and _coloured(path, box):
            labelled.append(box)
    return PageLook(number, float(whole.width), float(whole.height), tuple(pictures), tuple(shapes), tuple(labelled))


def _drawn(path: dict[str, Any], box: Box, lines: Sequence[pymupdf.Rect]) -> bool:
    """Whether a path is part of a figure: curved or slanting, or a filled bar; and not a box around words."""
    fill = path.get("fill")
    filled = fill is not None and "f" in path["type"] and tuple(fill) != (1.0, 1.0, 1.0)
    bar = filled and box[2] - box[0] >= _LEAST_SIDE and box[3] - box[1] >= _LEAST_SIDE
    if not bar and not any(_slanting(item) for item in path["items"]):
        return False
    area = (box[2] - box[0]) * (box[3] - box[1])
    return sum(_overlap(box, line) for line in lines) <= _WORDED * max(area, 1)


def _coloured(path: dict[str, Any], box: Box) -> bool:
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


def _overlap(box: Box, line: pymupdf.Rect) -> float:
    wide = float(min(box[2], line.x1) - max(box[0], line.x0))
    high = float(min(box[3], line.y1) - max(box[1], line.y0))
    return wide * high if wide > 0 and high > 0 else 0.0


def _box(rect: pymupdf.Rect) -> Box | None:
    made = (round(rect.x0), round(rect.y0), round(rect.x1), round(rect.y1))
    return made if made[2] >= made[0] and made[3] >= made[1] else None
