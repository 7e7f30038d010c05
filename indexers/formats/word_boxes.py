"""Boxes of the words in the lines of a page, and tables found by aligned words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hybrid_core.text.markup import TableRow, table_rows
from hybrid_core.types.locators import Box, PlacedLine, TableBox, WordBox

EACH = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"  # written without spaces
WORD = re.compile(f"[{EACH}]|[^\\s{EACH}]{{1,60}}")  # a longer one would not fit a page
_SLACK = 1.5  # points by which a box may be inexact from rounding


def around(boxes: Sequence[Box]) -> Box:
    return (
        min(box[0] for box in boxes), min(box[1] for box in boxes), max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )  # fmt: skip


def line_words(line: PlacedLine, glyphs: Sequence[Box]) -> list[WordBox]:
    """Return the words of a line with their boxes.

    ``glyphs`` are the boxes of the line's characters without spaces, in reading order. If it is empty, the line's box
    is divided evenly.
    """
    text, box = line
    words = list(WORD.finditer(text))
    if not glyphs:
        return [WordBox(word[0], _along(box, word.start() / len(text), word.end() / len(text))) for word in words]
    letters = sum(len(word[0]) for word in words)
    level = box[2] - box[0] >= box[3] - box[1]
    boxes, at = [], 0
    for word in words:
        first, at = at, at + len(word[0])
        start = min(first * len(glyphs) // letters, len(glyphs) - 1)
        x0, y0, x1, y1 = around(glyphs[start : max(start + 1, at * len(glyphs) // letters)])
        boxes.append(WordBox(word[0], (x0, box[1], x1, box[3]) if level else (x0, y0, x1, y1)))
    return boxes


def _along(box: Box, start: float, end: float) -> Box:
    """Return a part of a box along its longer side."""
    x0, y0, x1, y1 = box
    if x1 - x0 >= y1 - y0:
        return round(x0 + (x1 - x0) * start, 1), y0, round(x0 + (x1 - x0) * end, 1), y1
    return x0, round(y0 + (y1 - y0) * start, 1), x1, round(y0 + (y1 - y0) * end, 1)


def holder(lines: Sequence[PlacedLine], box: Box) -> int | None:
    """Return the index of the smallest line that contains the middle of a box, None if no line does."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    best = min(_holding(lines, x, y), default=None)
    return None if best is None else best[1]


def _holding(lines: Sequence[PlacedLine], x: float, y: float) -> Iterator[tuple[float, int]]:
    for number, (_, (x0, y0, x1, y1)) in enumerate(lines):
        if x0 - _SLACK <= x <= x1 + _SLACK and y0 - _SLACK <= y <= y1 + _SLACK:
            yield (x1 - x0) * (y1 - y0), number


_GAP = "  "  # between the cells of a line
_BEFORE = re.compile(r"[$€£¥]\s?\(?|\(")  # signs that are cells of their own beside their number
_AFTER = re.compile(r"[)%]+")
_SIGN_BEHIND = re.compile(r"(?<=\S) ([$€£¥])(?=  |$)")  # of the number in the next cell
_LONGEST_NAME = 100  # characters of a line without numbers in a table
_MOST_BETWEEN = 4  # maximum of such lines in a row
_LEAST_ROWS = 2


class _Cell(NamedTuple):
    text: str
    x0: float
    x1: float


def tables(lines: Sequence[PlacedLine], words: Sequence[Sequence[WordBox]]) -> Iterator[TableBox]:
    """Yield tables from top to bottom. ``words`` are the words of each line.

    Lines between column headings and the first row are rows. A table that continues below other lines repeats its
    headings.
    """
    texts = [text for text, _ in lines]
    rows = table_rows(texts, range(len(texts)))
    end = 0  # of the table above
    for first, last in _table_ranges(texts, rows):
        heads = rows[first].heads
        if len([at for at in rows if first <= at <= last]) < _LEAST_ROWS:
            continue
        joined = bool(heads) and heads[0] >= end and not _apart(texts[heads[-1] + 1 : first])
        start, begin = (heads[0], heads[-1] + 1) if joined else (first, first)
        cells = {at: list(_cells(texts[at], words[at])) for at in (*heads, *range(begin, last + 1))}
        starts = _columns([cells[at][1:] if _has_name(cells[at]) else cells[at] for at in rows if first <= at <= last])
        if not starts:
            continue
        grid = [_row_cells(cells[at], starts) for at in range(begin, last + 1)]
        head = _head([cells[at] for at in heads], starts)
        box = around([box for _, box in lines[start : last + 1]])
        cell_rows = tuple(map(tuple, [head, *_join_names(grid)] if heads else _join_names(grid)))
        end = last + 1
        yield TableBox(box, cell_rows, int(bool(heads)), (start, end))


def _table_ranges(texts: Sequence[str], rows: Mapping[int, TableRow]) -> Iterator[tuple[int, int]]:
    """Yield the first and last row of each table.

    Rows below the same column headings form one table, even if names of groups are between them.
    """
    first = last = -1
    for at in sorted(rows):
        between = texts[last + 1 : at] if first >= 0 else ()
        if first < 0 or rows[at].heads != rows[last].heads or _apart(between):
            if first >= 0:
                yield first, last
            first = at
        last = at
    if first >= 0:
        yield first, last


def _apart(between: Sequence[str]) -> bool:
    return len(between) > _MOST_BETWEEN or any(len(text) > _LONGEST_NAME for text in between)


def _cells(text: str, words: Sequence[WordBox]) -> Iterator[_Cell]:
    """Yield the cells of a table line with their positions. Currency signs and the like are joined to their numbers."""
    at = 0
    row_cells: list[_Cell] = []
    for part in _SIGN_BEHIND.sub(rf"{_GAP}\1", text).split(_GAP):
        boxes = [word.box for word in words[at : at + len(WORD.findall(part))]]
        at += len(boxes)
        if boxes:
            box = around(boxes)
            cell = _Cell(part, box[0], box[2])
            if row_cells and (_BEFORE.fullmatch(row_cells[-1].text) or _AFTER.fullmatch(part)):
                cell = _Cell(f"{row_cells[-1].text}{part}", row_cells[-1].x0, cell.x1)
                row_cells.pop()
            row_cells.append(cell)
    yield from row_cells


def _has_name(cells: Sequence[_Cell]) -> bool:
    return bool(cells) and any(map(str.isalpha, cells[0].text))


def _columns(rows: Sequence[Sequence[_Cell]]) -> list[tuple[float, float]]:
    """Return the start and end (x) of each column. Cells that are above each other form a column."""
    columns: list[tuple[float, float]] = []
    for cell in sorted((cell for row in rows for cell in row), key=lambda cell: cell.x0):
        if columns and cell.x0 < columns[-1][1] - 0.5:
            columns[-1] = columns[-1][0], max(columns[-1][1], cell.x1)
        else:
            columns.append((cell.x0, cell.x1))
    return columns


def _row_cells(cells: Sequence[_Cell], columns: Sequence[tuple[float, float]]) -> list[str]:
    row = [""] * (len(columns) + 1)
    for at, cell in enumerate(cells):
        place = 0 if not at and (_has_name(cells) or len(cells) == 1) else _column(cell, columns)
        row[place] = f"{row[place]} {cell.text}".strip()
    return row


def _column(cell: _Cell, columns: Sequence[tuple[float, float]]) -> int:
    """Return the column (from 1) that overlaps most with a cell, 0 for the names of rows.

    Without an overlap it is the nearest column to the left.
    """
    shares = [min(cell.x1, x1) - max(cell.x0, x0) for x0, x1 in columns]
    best = max(range(len(columns)), key=shares.__getitem__)
    return best + 1 if shares[best] > 0 else bisect_right([x0 for x0, _ in columns], (cell.x0 + cell.x1) / 2)


def _head(lines: Sequence[Sequence[_Cell]], columns: Sequence[tuple[float, float]]) -> list[str]:
    """Return the headings of each column, from top to bottom as one text.

    A heading above several columns is repeated for each of them.
    """
    head = [""] * (len(columns) + 1)
    for cells in lines:
        above: list[list[_Cell]] = [[] for _ in head]
        spanning = False
        for cell in cells:
            under = [at for at, (x0, x1) in enumerate(columns, 1) if min(cell.x1, x1) - max(cell.x0, x0) > 0]
            spanning = spanning or len(under) > 1
            for at in under or [_column(cell, columns)]:
                above[at].append(cell)
        named = [cell for cell in cells if cell not in above[0]]
        for at, (x0, x1) in enumerate(columns, 1):
            if spanning and len(named) > 1 and not above[at]:
                above[at] = [min(named, key=lambda cell: abs(cell.x0 + cell.x1 - x0 - x1))]
        head = [
            " ".join(filter(None, (text, *(cell.text for cell in name))))
            for text, name in zip(head, above, strict=True)
        ]
    return head


def _join_names(rows: Sequence[list[str]]) -> Iterator[list[str]]:
    """Yield the rows of a table. If the name of a row continues on the next line, both lines are joined."""
    name = ""
    for at, row in enumerate(rows):
        after = rows[at + 1][0] if at + 1 < len(rows) else "X"
        row = [f"{name} {row[0]}".strip(), *row[1:]]
        if not any(row[1:]) and not row[0].endswith(":") and (not after or after[0].islower()):
            name = row[0]
            continue
        name = ""
        yield row
    if name:
        yield [name, *[""] * (len(rows[-1]) - 1)]
