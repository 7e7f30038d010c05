"""The words of a scan's lines, told from the white between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pymupdf

from hybrid_core.types.layouts import PlacedLine, WordBox
from indexers.formats.line_words import line_words

_DPI = 150
_MOST_PIXELS = 25_000_000
_SPARE = 6  # gaps inside words that may be as wide as those between them
_EDGE = 0.5  # points: white at the ends of a line parts no words
_DARK = 0.5  # share of the way from white to the darkest
_PARTS = re.compile(r"\S+")

_Gap = tuple[float, float]


class Ink:
    """What is dark on a page; it is drawn for the first line that needs it."""

    def __init__(self, page: pymupdf.Page) -> None:
        self._page = page
        self._scale = min(_DPI / 72, (_MOST_PIXELS / max(1.0, abs(page.rect))) ** 0.5)

    def words(self, line: PlacedLine) -> list[WordBox]:
        """Wide gaps of a line part its words, as many as it has; inside them characters share the width."""
        text, (x0, y0, x1, y1) = line
        if x1 <= x0 or y1 <= y0:
            return []
        parts = _PARTS.findall(text)
        gaps = [] if y1 - y0 > x1 - x0 else self._gaps(x0, y0, x1, y1)[: len(parts) - 1 + _SPARE]
        if len(gaps) < len(parts) - 1:
            return line_words(line, ())
        return [
            word
            for part, (start, end) in zip(parts, _stretches([len(part) for part in parts], gaps, x0, x1), strict=True)
            for word in line_words((part, (start, y0, end, y1)), ())
        ]

    def _gaps(self, x0: float, y0: float, x1: float, y1: float) -> list[_Gap]:
        """The white stretches inside a box, the widest first."""
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


def _stretches(letters: Sequence[int], gaps: Sequence[_Gap], x0: float, x1: float) -> list[_Gap]:
    """Where words of so many letters stand between gaps, the widest of which come first: widths fit the letters."""
    needed = len(letters) - 1
    unit = max(0.1, (x1 - x0 - sum(b - a for a, b in gaps[:needed])) / sum(letters))
    ordered = sorted(gaps)
    best: dict[int, tuple[float, list[_Gap]]] = {-1: (0.0, [])}  # by the gap that the last word ended before
    for number, count in enumerate(letters):
        last = number == needed
        after: dict[int, tuple[float, list[_Gap]]] = {}
        for before, (cost, found) in best.items():
            start = ordered[before][1] if before >= 0 else x0
            for at in [len(ordered)] if last else range(before + 1, len(ordered) - needed + number + 1):
                end = x1 if last else ordered[at][0]
                price = cost + (end - start - unit * count) ** 2 / count
                if at not in after or price < after[at][0]:
                    after[at] = price, [*found, (start, end)]
        best = after
    return best[len(ordered)][1]
