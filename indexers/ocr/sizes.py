"""Type sizes of lines that were read from pictures, levelled over the document so that layout can go by them.

A scan's sizes are estimates from the letters that happen to stand on a line: body text varies by a tenth. So
sizes are rounded to steps of a quarter from body text, and letters that say nothing get the body's font.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hybrid_core.types.documents import Line, ParsedPage

_STEP = 1.25
_FIRST = 0.6  # of a step: a size that far from body text is another one
_MOST_STEPS = 4  # what seems larger is often a picture
_LEAST_LETTERS = 4  # a line with fewer is no heading, and its size a guess


def level_sizes(pages: Sequence[ParsedPage]) -> tuple[ParsedPage, ...]:
    """Pages with the sizes of read lines in steps from body text: the document's own, or that of its scans."""
    read = [line for page in pages if page.ocr for line in page.lines]
    if not read:
        return tuple(pages)
    usual = _usual(read)
    printed: Counter[tuple[float, str]] = Counter()
    for page in pages:
        if not page.ocr:
            for line in page.lines:
                printed[line.size, line.font] += len(line.text)
    size, font = printed.most_common(1)[0][0] if printed else (usual, "")
    return tuple(
        replace(page, lines=tuple(_levelled(line, usual, size, font) for line in page.lines)) if page.ocr else page
        for page in pages
    )


def _usual(lines: Sequence[Line]) -> float:
    """The size in points that most of the text is read in: the middle of the commonest step from the median."""
    median, left = 0.0, sum(len(line.text) for line in lines) / 2
    for line in sorted(lines, key=lambda line: line.size):
        left -= len(line.text)
        if left <= 0:
            median = max(line.size, 1.0)
            break
    letters: Counter[int] = Counter()
    for line in lines:
        letters[_steps(line, median)] += len(line.text)
    return median * _STEP ** letters.most_common(1)[0][0]


def _steps(line: Line, usual: float) -> int:
    steps = math.log(max(line.size, 1.0) / usual, _STEP)
    return int(math.copysign(math.floor(abs(steps) + 1 - _FIRST), steps))


def _levelled(line: Line, usual: float, size: float, font: str) -> Line:
    few = sum(map(str.isalpha, line.text)) < _LEAST_LETTERS
    steps = min(_steps(line, usual), 0 if few else _MOST_STEPS)
    return replace(line, size=round(size * _STEP**steps, 1), font=font)
