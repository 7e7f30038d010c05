"""Detection of hidden text on a PDF page.

Hidden text is invisible, transparent, tiny, off the page, in the background colour, or covered. Invisible text over a
picture is the text layer of a scan and does not count as hidden. If colours and drawing order do not decide, the page
is drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pymupdf

_DRAWN = 16 | 32  # bits of a span's ``char_flags``: its glyphs are filled, or stroked
_CLIPS = 64  # the same: its glyphs are a clipping path, which the next drawing fills
_TRANSPARENT = 12  # of 255: opacity below which text is invisible
_TINY = 1.0  # points
_LIGHT = 0xD8  # of 255: darkest channel of a colour that is hardly visible on paper
_ALIKE = 24  # of 255: difference between colours that is not visible
_LETTERS = 3  # minimum letters of a word; fewer are parts of formulas and check boxes
_LEAST_SIDE = 3.0  # minimum side in points of a shape that is not a rule
_SLACK = 1.0  # points by which a covering shape may be smaller than its text
_DPI = 100
_MOST_PIXELS = 8_000_000
_VISIBLE_SHARE = 0.01  # minimum share of pixels in the text's colour for visible text

Box = tuple[float, float, float, float]


class Visibility:
    """A test for hidden text on a page. The page is drawn only if colours and drawing order do not decide."""

    def __init__(self, page: pymupdf.Page, blocks: Sequence[Mapping[str, Any]], pictured: bool) -> None:
        self._page, self._pictured = page, pictured
        self._shapes = [
            (block["number"], block["bbox"], block["color"], block["isrect"])
            for block in blocks
            if block["type"] == 3 and not block["stroked"] and block["alpha"] > 250 and _may_cover(block["bbox"])
        ]
        self._orders = [order for order, *_ in self._shapes]
        self._boxes = [_widened(box) for _, box, _, _ in self._shapes]
        self._fills = {fill for _, _, fill, _ in self._shapes}
        self._suspects: dict[int, bool] = {}  # by text colour: whether it is light, or the colour of a shape

    def hides(self, number: int, span: Mapping[str, Any]) -> bool:
        """Return whether a span is hidden. ``number`` is the position of its block in the drawing order."""
        invisible = not span["char_flags"] & _DRAWN or span["alpha"] < _TRANSPARENT
        if not invisible and span["size"] >= _TINY and not self._doubtful(number, span):
            return False
        if not has_word(text_of(span)):
            return False
        if span["char_flags"] & _CLIPS:
            return self._blank(span["bbox"])  # a picture or a gradient may fill its letters
        if invisible:
            return not self._on_picture(span["bbox"])
        return span["size"] < _TINY or not self._seen(span["bbox"], span["color"])

    def _doubtful(self, number: int, span: Mapping[str, Any]) -> bool:
        """Return whether a span may be hidden, judged by its colour and by what is drawn after it."""
        colour = span["color"]
        if (suspect := self._suspects.get(colour)) is None:
            suspect = min(_channels(colour)) >= _LIGHT or any(_alike(colour, fill) for fill in self._fills)
            self._suspects[colour] = suspect
        covered = bool(self._orders) and self._orders[-1] > number
        if not (suspect or covered or self._pictured):
            return False
        x0, y0, x1, y1 = box = span["bbox"]
        after = bisect_right(self._orders, number)
        if covered:
            for left, top, right, bottom in self._boxes[after:]:
                if top <= y0 and bottom >= y1 and left <= x0 and right >= x1:
                    return True
        if suspect:
            grounds = [
                fill for _, shape, fill, is_rectangle in self._shapes[:after] if is_rectangle and _holds(shape, box)
            ]
            if _alike(colour, grounds[-1]) if grounds else min(_channels(colour)) >= _LIGHT:
                return True
        return (
            self._pictured
            and any(_holds(picture, box) for picture in self._pictures)
            and any(_holds(picture, box) for picture in self._covers)
        )

    def _on_picture(self, box: Box) -> bool:
        """Return whether a picture or letters drawn as curves are at the place of an invisible text.

        They then show its words.
        """
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        return (self._pictured and any(_contains(picture, x, y) for picture in self._pictures)) or any(
            not is_rectangle and _contains(shape, x, y) for _, shape, _, is_rectangle in self._shapes
        )

    @cached_property
    def _pictures(self) -> list[Box]:
        return [tuple(image["bbox"]) for image in self._page.get_image_info()]

    @cached_property
    def _covers(self) -> list[Box]:
        """Return the pictures that are drawn over text.

        A picture that covers most of the page is ignored: it is a scan over its own text layer.
        """
        whole = abs(self._page.rect)
        covers, texts = [], []
        for kind, box in self._page.get_bboxlog():
            if kind == "fill-text":
                texts.append(box)
            elif kind == "fill-image" and abs(pymupdf.Rect(box)) < 0.5 * whole:
                covers += [tuple(box)] if any(pymupdf.Rect(box).intersects(text) for text in texts) else []
        return covers

    def _seen(self, box: Box, colour: int) -> bool:
        """Return whether the drawn page shows both the text's colour and another colour within the text's box."""
        part = self._part(box)
        if not part.size:
            return True
        distance = np.abs(part - np.array(_channels(colour))).max(axis=2)
        near = max(2 * _ALIKE, int(np.median(distance)) // 2)  # thin strokes are only half as dark as their colour
        uniform = int(np.ptp(part.reshape(-1, 3), axis=0).max()) <= _ALIKE
        return float((distance <= near).mean()) > _VISIBLE_SHARE and not uniform

    def _blank(self, box: Box) -> bool:
        """Return whether the drawn page has only one colour within a box."""
        part = self._part(box)
        return not part.size or int(np.ptp(part.reshape(-1, 3), axis=0).max()) <= _ALIKE

    def _part(self, box: Box) -> npt.NDArray[np.int_]:
        left, top, right, bottom = (round(side * self._scale) for side in box)
        return self._drawn[max(0, top) : max(0, bottom) + 1, max(0, left) : max(0, right) + 1].astype(int)

    @property
    def _scale(self) -> float:
        return min(_DPI / 72, float((_MOST_PIXELS / max(1.0, abs(self._page.rect))) ** 0.5))

    @cached_property
    def _drawn(self) -> npt.NDArray[np.uint8]:
        """Return the page as an image, without its rotation."""
        turned = self._page.derotation_matrix if self._page.rotation else pymupdf.Identity
        matrix = turned * pymupdf.Matrix(self._scale, self._scale)
        drawn = self._page.get_pixmap(matrix=matrix, colorspace=pymupdf.csRGB, alpha=False)
        return np.frombuffer(drawn.samples, np.uint8).reshape(drawn.height, drawn.width, 3)


def text_of(span: Mapping[str, Any]) -> str:
    """Return the text of a span, whose glyphs may be listed individually."""
    return str(span["text"]) if "text" in span else "".join([glyph["c"] for glyph in span["chars"]])


def has_word(text: str) -> bool:
    """Return whether a text has a run of letters, or a character that is a word by itself."""
    run = 0
    for char in text:
        run = run + 1 if char.isalnum() else 0
        if run == _LETTERS or "\u2e80" <= char <= "\ud7af":
            return True
    return False


def _channels(colour: int) -> tuple[int, int, int]:
    return colour >> 16 & 255, colour >> 8 & 255, colour & 255


def _alike(colour: int, other: int) -> bool:
    return max(abs(a - b) for a, b in zip(_channels(colour), _channels(other), strict=True)) <= _ALIKE


def _holds(outer: Box, inner: Box) -> bool:
    return (
        outer[0] <= inner[0] + _SLACK and outer[1] <= inner[1] + _SLACK
        and outer[2] >= inner[2] - _SLACK and outer[3] >= inner[3] - _SLACK
    )  # fmt: skip


def _widened(box: Box) -> Box:
    return box[0] - _SLACK, box[1] - _SLACK, box[2] + _SLACK, box[3] + _SLACK


def _may_cover(box: Box) -> bool:
    return box[2] - box[0] >= _LEAST_SIDE and box[3] - box[1] >= _LEAST_SIDE


def _contains(box: Box, x: float, y: float) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
