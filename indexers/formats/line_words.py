"""The words of a page's lines with their boxes, by the places of its glyphs; of a scan by their share of the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybrid_core.types.layouts import Box, PlacedLine, WordBox

EACH = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # written without spaces
WORD = re.compile(f"[{EACH}]|[^\\s{EACH}]{{1,60}}")  # a longer one would not fit a page
_SLACK = 1.5  # points that a box was rounded by


def around(boxes: Sequence[Box]) -> Box:
    return (
        min(box[0] for box in boxes), min(box[1] for box in boxes), max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )  # fmt: skip


def line_words(line: PlacedLine, glyphs: Sequence[Box]) -> list[WordBox]:
    """``glyphs`` are those of the line but for its spaces, in reading order; none where they are not known: then
    characters share it.
    """
    text, box = line
    words = list(WORD.finditer(text))
    if not glyphs:
        return [WordBox(word[0], _along(box, word.start() / len(text), word.end() / len(text))) for word in words]
    letters = sum(len(word[0]) for word in words)
    level = box[2] - box[0] >= box[3] - box[1]
    found, at = [], 0
    for word in words:
        first, at = at, at + len(word[0])
        start = min(first * len(glyphs) // letters, len(glyphs) - 1)
        x0, y0, x1, y1 = around(glyphs[start : max(start + 1, at * len(glyphs) // letters)])
        found.append(WordBox(word[0], (x0, box[1], x1, box[3]) if level else (x0, y0, x1, y1)))
    return found


def _along(box: Box, start: float, end: float) -> Box:
    """A share of a box along its longer side."""
    x0, y0, x1, y1 = box
    if x1 - x0 >= y1 - y0:
        return round(x0 + (x1 - x0) * start, 1), y0, round(x0 + (x1 - x0) * end, 1), y1
    return x0, round(y0 + (y1 - y0) * start, 1), x1, round(y0 + (y1 - y0) * end, 1)


def holder(lines: Sequence[PlacedLine], box: Box) -> int | None:
    """The number of the line that a stretch of text is part of: the smallest that holds its middle."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    best = min(_holding(lines, x, y), default=None)
    return None if best is None else best[1]


def _holding(lines: Sequence[PlacedLine], x: float, y: float) -> Iterator[tuple[float, int]]:
    for number, (_, (x0, y0, x1, y1)) in enumerate(lines):
        if x0 - _SLACK <= x <= x1 + _SLACK and y0 - _SLACK <= y <= y1 + _SLACK:
            yield (x1 - x0) * (y1 - y0), number
