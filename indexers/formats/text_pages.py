"""Lines of a format without pages become numbered pages: about one printed page each, cut where the text pauses.

Pages are cut from the beginning on, and where one ends depends only on what lies before and just after
it. So a change leaves all pages before it as they were.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

_LEAST, _MOST = 2_500, 4_000  # characters
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_WIDE_WORTH = 1.7  # a Chinese character says as much as almost three letters

INSIDE, PARAGRAPH, CLAUSE, HEADING = range(4)  # ranks of the border before a line: how good a place it is to cut
_ENOUGH = {PARAGRAPH: 0.6 * _MOST, CLAUSE: 0.45 * _MOST, HEADING: 0.35 * _MOST}  # what a page must hold to end there
_FULL = {CLAUSE: 0.5 * (_LEAST + _MOST), HEADING: _LEAST}  # what it ends at such a border with, room left or not


def cut_pages(lines: Sequence[str], borders: Sequence[int]) -> list[tuple[int, int]]:
    """(first line, line after the last) of each page, lines counted from 0; together they are all lines.

    ``borders`` holds the rank of the border before each line. Blank lines end a page, never begin one.
    """
    weights = [len(line) + 1 + _WIDE_WORTH * (0 if line.isascii() else len(_WIDE.findall(line))) for line in lines]
    pages: list[tuple[int, int]] = []
    start = 0
    while start < len(lines):
        end = _end(start, lines, borders, weights)
        pages.append((start, end))
        start = end
    return pages


def _end(start: int, lines: Sequence[str], borders: Sequence[int], weights: Sequence[float]) -> int:
    best, best_rank, total = 0, INSIDE, weights[start]
    for at in range(start + 1, len(lines)):
        if lines[at].strip():
            rank = borders[at]
            if rank in _FULL and total >= _FULL[rank]:
                return at
            if rank > INSIDE and rank >= best_rank and total >= _ENOUGH[rank]:
                best, best_rank = at, rank
            if total + weights[at] > _MOST:
                return best or at
        total += weights[at]
    return len(lines)


def repeat_heads(
    columns: Sequence[list[Any]], tables: Sequence[tuple[int, int, int]], spans: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], Callable[[int], int]]:
    """Write a table's heads once more where a page begins inside it.

    ``columns`` hold something of each line, the lines themselves for example. ``tables`` are the first line of each,
    that after its last, and how many lines its heads are. Return the pages with their new lines, and where a line is
    now.
    """
    begins = [start for start, _, _ in tables]
    places: list[tuple[int, int, int]] = []  # a line, and those of the heads which come before it
    for line, _ in spans:
        at = bisect_right(begins, line) - 1
        if at >= 0 and tables[at][0] + tables[at][2] <= line < tables[at][1]:
            places.append((line, tables[at][0], tables[at][0] + tables[at][2]))
    lines = [line for line, _, _ in places]
    added = [0, *accumulate(end - first for _, first, end in places)]
    for column in columns if places else ():
        written, last = column[: lines[0]], lines[0]
        for line, first, end in places:
            written += [*column[last:line], *column[first:end]]
            last = line
        column[:] = written + column[last:]

    def moved(line: int) -> int:
        return line + added[bisect_right(lines, line)]

    return [(first + added[bisect_left(lines, first)], moved(end - 1) + 1) for first, end in spans], moved
