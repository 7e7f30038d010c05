"""Reading order of the pieces of text on a PDF page.

The file's own order is used unless a page clearly needs another one: text columns that are stored row by row, vertical
lines stored left to right, or characters placed below each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from hybrid_core.types.documents import Line
from indexers.formats.pdf.line_text import RIGHT_TO_LEFT, is_right_to_left, raised_mark

_CELL_GAP = "  "  # separator of the pieces of one row; inside a piece white space is always single
_LONG = 18  # minimum characters of a piece that may be a line of running text in a column
_LEAST_RISING = 4  # minimum lines of a page that is stored from bottom to top
_TOUCH = 0.3  # maximum overlap, in font sizes, of a line with a line below it
_LEAST_COLUMN, _LONGEST_COLUMN = 3, 200  # cells of a column of a table that is stored column by column
_MOST_CELLS = 2_000  # maximum cells of such a table
_LARGE = 1.6  # minimum relative size of a drop cap
_WORDS_OF_A_LETTER = frozenset("AIYÀÉ")
_STACK = 3  # minimum stacked single characters that form a vertical line
_BINS = 120
_LEAST_ROWS = 2  # minimum rows of a table as wide as a page of columns, and minimum columns that a row of it occupies
_WORDS = 5  # minimum words of a line of running text
_LOOSE = 0.7  # maximum share of a column's width that a table row fills
_FIGURE = re.compile(r"[($€£¥+\-–−]*\s?\d[\d.,\s]*[)%]*")
_ASIDE = 0.3  # maximum offset in font sizes of a copy that imitates bold type or a shadow
_COPIES = 8  # maximum copies of one text that a piece is compared with, the nearest above


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text in the file's order.

    ``level`` is True if it runs horizontally from left to right on the page as shown.
    """

    line: Line
    level: bool
    vertical: bool = False  # its characters are placed below each other


def said_once(pieces: Sequence[Piece]) -> list[Piece]:
    """Remove pieces of text that are drawn again with a small offset, which imitates bold type or shadows.

    If one copy is visible, the hidden copies are removed.
    """
    copies: dict[str, list[Piece]] = {}
    for piece in pieces:
        copies.setdefault(piece.line.text, []).append(piece)
    if len(copies) == len(pieces):
        return list(pieces)
    dropped: set[int] = set()
    for same in copies.values():
        if len(same) == 1:
            continue
        unique: list[Line] = []
        for piece in sorted(same, key=lambda piece: (piece.line.role == "hidden", piece.line.y0, piece.line.x0)):
            if any(_drawn_upon(other, piece.line) for other in unique[-_COPIES:]):
                dropped.add(id(piece))
            else:
                unique.append(piece.line)
    return [piece for piece in pieces if id(piece) not in dropped]


def _drawn_upon(line: Line, other: Line) -> bool:
    near = _ASIDE * min(line.size, other.size)
    return abs(line.y0 - other.y0) <= near and abs(line.x0 - other.x0) <= near and abs(line.x1 - other.x1) <= near


def arrange(pieces: Sequence[Piece]) -> list[Line]:
    """Return the lines of a page in reading order. Pieces side by side are joined into rows."""
    if any(len(piece.line.text) == 1 for piece in pieces):
        pieces = list(_stacks(pieces))
    if any(piece.vertical for piece in pieces):
        pieces = _from_the_right(pieces)
    if _rises(pieces):
        pieces = _from_the_top(pieces)
    turned = any(not piece.line.text.isascii() and RIGHT_TO_LEFT.search(piece.line.text) for piece in pieces)
    columns = _by_columns(pieces, turned) if _interleaved(pieces) else None
    pieces = columns or _by_rows(pieces)
    return list(_rows_from_right(pieces) if turned else _join_rows(pieces))


def _rises(pieces: Sequence[Piece]) -> bool:
    """Return whether the lines of a page are stored from bottom to top."""
    if len(pieces) < _LEAST_RISING:
        return False
    steps = 0
    for before, after in pairwise(pieces):
        if not after.level or after.line.y0 > before.line.y0 + 1:
            return False
        steps += after.line.y1 <= before.line.y0 + 0.5 * before.line.size
    return steps >= _LEAST_RISING - 1


def _from_the_top(pieces: Sequence[Piece]) -> list[Piece]:
    rows: list[list[Piece]] = []
    for piece in pieces:
        if rows and _same_height(rows[-1][0].line, piece.line):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [piece for row in reversed(rows) for piece in row]


def _by_rows(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Return the pieces with the cells of a table in its rows, if the table is stored column by column.

    Its columns are recognised by their figures. Other texts side by side stay apart.
    """
    ordered: list[Piece] = []  # up to the lines that are read, which may be a column
    rows: list[Piece] = []
    is_table = False
    at = 0
    while at < len(pieces):
        if 0 < len(rows) < _MOST_CELLS and _jumps(pieces[at - 1].line, pieces[at].line):
            column = _column(pieces[at : at + _LONGEST_COLUMN], rows)
            if _is_column(column, is_table):
                for cell in column:
                    rows.insert(_row_end(cell, rows) + 1, cell)
                is_table = True
                at += len(column)
                continue
            ordered += rows
            rows, is_table = [], False
        rows.append(pieces[at])
        at += 1
    return [*ordered, *rows] if ordered or is_table else pieces


def _jumps(before: Line, line: Line) -> bool:
    """Return whether a line is wholly above the one that is stored before it."""
    return line.y1 <= before.y0 + _TOUCH * line.size


def _column(pieces: Sequence[Piece], rows: Sequence[Piece]) -> list[Piece]:
    """Return the first short pieces that are below each other at the right of rows."""
    column: list[Piece] = []
    for piece in pieces:
        if len(piece.line.text) >= _LONG or (column and _jumps(column[-1].line, piece.line)):
            break
        if _row_end(piece, rows) < 0:
            break
        column.append(piece)
    return column


def _is_column(cells: Sequence[Piece], is_table: bool) -> bool:
    """Return whether pieces at the right of other pieces are a column of a table. ``is_table``: others were."""
    texts = [cell.line.text for cell in cells]
    figures = sum(_FIGURE.fullmatch(text) is not None for text in texts)
    return len(texts) >= _LEAST_COLUMN and (is_table or 2 * figures >= len(texts))


def _row_end(cell: Piece, rows: Sequence[Piece]) -> int:
    """Return the index of the last piece that is in the row of a cell and at its left, -1 for none."""
    for at in range(len(rows) - 1, -1, -1):
        line = rows[at].line
        if line.x1 <= cell.line.x0 + 1 and _same_height(line, cell.line):
            return at if cell.level and rows[at].level else -1
    return -1


def _join_rows(pieces: Iterable[Piece]) -> Iterator[Line]:
    """Join pieces side by side (the cells of a table row) into one line."""
    row: Line | None = None
    row_level = False
    for piece in pieces:
        line, level = piece.line, piece.level
        if row is not None and row_level and level and line.x0 >= row.x1 - 1 and _joins(row, line):
            gap = line.x0 - row.x1
            mark = (
                raised_mark(line.text, line.size, gap, row.y1 - line.y1, row.text, row.size)
                if line.size < row.size
                else ""
            )
            row = (
                _join(row, replace(line, text=mark) if mark else line, "")
                if mark or _begins_word(row, line, gap)
                else _join(row, line, _CELL_GAP if gap > 0.6 * line.size else " ")
            )
            continue
        if row is not None:
            yield row
        row, row_level = line, level
    if row is not None:
        yield row


def _begins_word(initial: Line, line: Line, gap: float) -> bool:
    """Return whether a drop cap and the line next to it form one word."""
    return (
        len(initial.text) == 1 and initial.text.isupper() and initial.text not in _WORDS_OF_A_LETTER
        and initial.size >= _LARGE * line.size and line.text[:1].islower() and gap < line.size
    )  # fmt: skip


def _rows_from_right(pieces: Sequence[Piece]) -> Iterator[Line]:
    """Join the pieces of each row on a page with right-to-left text.

    The file may store a row from either side.
    """
    group: list[Line] = []
    group_level = False
    for piece in pieces:
        line = piece.line
        if group and group_level and piece.level and _joins(group[-1], line) and all(
            line.x0 >= other.x1 - 1 or line.x1 <= other.x0 + 1 for other in group
        ):  # fmt: skip
            group.append(line)
            continue
        if group:
            yield _row_of(group)
        group, group_level = [line], piece.level
    if group:
        yield _row_of(group)


def _row_of(group: list[Line]) -> Line:
    if len(group) == 1:
        return group[0]
    from_right = is_right_to_left("".join(line.text for line in group))
    ordered = sorted(group, key=lambda line: line.x0, reverse=from_right)
    row = ordered[0]
    for line in ordered[1:]:
        gap = row.x0 - line.x1 if from_right else line.x0 - row.x1
        row = _join(row, line, _CELL_GAP if gap > 0.6 * line.size else " ")
    return row


def _join(row: Line, line: Line, gap: str) -> Line:
    longer = row if len(row.text) >= len(line.text) else line
    return Line(
        row.text + gap + line.text, min(row.x0, line.x0), min(row.y0, line.y0), max(row.x1, line.x1),
        max(row.y1, line.y1), longer.size, row.bold and line.bold, row.italic and line.italic, longer.font, row.role,
    )  # fmt: skip


def _joins(left: Line, right: Line) -> bool:
    """Return whether two pieces belong to one row. A hidden piece never belongs to a visible row."""
    return left.role == right.role and _same_height(left, right)


def _same_height(left: Line, right: Line) -> bool:
    overlap = min(left.y1, right.y1) - max(left.y0, right.y0)
    return overlap > 0.6 * min(left.y1 - left.y0, right.y1 - right.y0)


def _stacks(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Join single East Asian characters placed below each other into one vertical piece."""
    stack: list[Piece] = []
    for piece in pieces:
        if stack and not _continues(stack[-1].line, piece.line):
            yield from _stacked(stack)
            stack = []
        if len(piece.line.text) == 1 and piece.line.text >= "\u2e80":
            stack.append(piece)
        else:
            yield piece
    yield from _stacked(stack)


def _continues(upper: Line, lower: Line) -> bool:
    aligned = abs(upper.x0 + upper.x1 - lower.x0 - lower.x1) < 0.6 * upper.size
    return (
        len(lower.text) == 1 and lower.text >= "\u2e80" and aligned and -0.5 < (lower.y0 - upper.y1) / upper.size < 0.7
    )


def _stacked(stack: list[Piece]) -> list[Piece]:
    if len(stack) < _STACK:
        return stack
    lines = [piece.line for piece in stack]
    joined = replace(
        lines[0], text="".join(line.text for line in lines), x0=min(line.x0 for line in lines),
        x1=max(line.x1 for line in lines), y1=lines[-1].y1,
    )  # fmt: skip
    return [Piece(joined, False, True)]


def _from_the_right(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Sort vertical lines from right to left, if a page is full of them and stores them in another order."""
    upright = [piece.line for piece in pieces if piece.vertical]
    if len(upright) < 0.6 * len(pieces):
        return pieces
    wrong = sum(right.x0 > left.x1 - 1 and right.y0 < left.y1 for left, right in pairwise(upright))
    if wrong < max(1, 0.3 * (len(upright) - 1)):
        return pieces
    return sorted(pieces, key=lambda piece: (-round(piece.line.x1 / max(1.0, piece.line.size)), piece.line.y0))


def _interleaved(pieces: Sequence[Piece]) -> bool:
    """Return whether long pieces of text often alternate between columns at about the same height."""
    steps = runs = 0
    for before, after in pairwise([p.line for p in pieces if len(p.line.text) >= _LONG and p.level]):
        if after.x0 >= before.x1 or after.x1 <= before.x0:
            steps += abs(after.y0 - before.y0) < 2.5 * after.size
        runs += 1
    return steps >= 6 and steps >= 0.3 * runs


def _by_columns(pieces: Sequence[Piece], from_right: bool) -> list[Piece] | None:
    """Return the pieces column by column, None if the page does not clearly have columns of running text.

    Pieces that cross the gap between columns (titles, wide tables) divide the page into bands.
    """
    left, right = min(p.line.x0 for p in pieces), max(p.line.x1 for p in pieces)
    width = right - left
    body = [p.line for p in pieces if p.level and len(p.line.text) >= _LONG and p.line.x1 - p.line.x0 < 0.62 * width]
    gutters = _gutters(body, left, width)
    if not 1 <= len(gutters) <= 4 or not all(map(_running_text, _split(body, gutters))):
        return None
    table = _wide_tables(pieces, [left, *gutters, right])
    turn = -1 if from_right and is_right_to_left("".join(line.text for line in body)) else 1
    order: list[tuple[int, int, float, float, Piece]] = []
    band = 0
    row = -1
    for piece in sorted(pieces, key=lambda p: p.line.y0 + p.line.y1):
        line = piece.line
        if id(piece) in table:
            band += 0 if table[id(piece)] == row else 2
            row = table[id(piece)]
            order.append((band - 1, 0, line.x0, line.y0, piece))
        elif any(line.x0 < gutter - 1 and line.x1 > gutter + 1 for gutter in gutters):
            band += 2
            order.append((band - 1, 0, line.y0, line.x0, piece))
        else:
            column = sum(line.x0 + line.x1 > 2 * gutter for gutter in gutters)
            order.append((band, turn * column, line.y0, line.x0, piece))
    order.sort(key=lambda item: item[:4])
    return [item[4] for item in order]


def _wide_tables(pieces: Sequence[Piece], edges: Sequence[float]) -> dict[int, int]:
    """Return ``{id of a piece: id of its row}`` for the tables that are as wide as the page.

    ``edges`` are the edges of the page's columns of text.
    """
    rows: list[list[Piece]] = []
    for piece in sorted((p for p in pieces if p.level), key=lambda p: (p.line.y0 + p.line.y1, p.line.x0)):
        if rows and _same_height(rows[-1][0].line, piece.line):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    tables: dict[int, int] = {}
    run: list[list[Piece]] = []
    for row in [*rows, []]:
        if row and _is_table_row([piece.line for piece in row], edges):
            run.append(row)
            continue
        if len(run) >= _LEAST_ROWS:
            tables |= {id(piece): id(table_row) for table_row in run for piece in table_row}
        run = []
    return tables


def _is_table_row(row: Sequence[Line], edges: Sequence[float]) -> bool:
    """Return whether a row of pieces is a table row.

    It must have short pieces in several columns of the page. One column must have a number or several pieces.
    """
    columns = [
        [line for line in row if left < line.x0 + line.x1 <= right] for left, right in pairwise(2 * x for x in edges)
    ]
    filled = [columns[at] for at in range(len(columns)) if columns[at]]
    if len(filled) < _LEAST_ROWS:  # a table within one column stays there
        return False
    loose = all(
        sum(line.x1 - line.x0 for line in column) < _LOOSE * (right - left)
        for column, (left, right) in zip(columns, pairwise(edges), strict=True)
    )
    return loose and (any(len(column) > 1 for column in filled) or any(_FIGURE.fullmatch(line.text) for line in row))


def _gutters(body: Sequence[Line], left: float, width: float) -> list[float]:
    """Return the centres of the empty vertical strips between columns (x in points).

    At most one line in twenty crosses a strip.
    """
    if width <= 0 or not body:
        return []
    change = [0] * (_BINS + 1)
    for line in body:
        first = int((line.x0 - left) / width * _BINS)
        last = int((line.x1 - left) / width * _BINS)
        change[max(0, first)] += 1
        change[min(_BINS, last + 1)] -= 1
    gutters: list[float] = []
    covered, start = 0, -1
    for at in range(_BINS):
        covered += change[at]
        if covered <= 0.05 * len(body):
            start = at if start < 0 else start
        elif start >= 0:
            if start > 0:
                gutters.append(left + (start + at) / 2 / _BINS * width)
            start = -1
    return gutters


def _split(body: Sequence[Line], gutters: Sequence[float]) -> list[list[Line]]:
    columns: list[list[Line]] = [[] for _ in range(len(gutters) + 1)]
    for line in body:
        if not any(line.x0 < gutter - 1 and line.x1 > gutter + 1 for gutter in gutters):
            columns[sum(line.x0 + line.x1 > 2 * gutter for gutter in gutters)].append(line)
    return columns


def _worded(column: Sequence[Line]) -> bool:
    """Return whether the lines of a column have as many words as running text. Table cells have fewer."""
    return median(len(line.text.split()) for line in column) >= _WORDS


def _running_text(column: Sequence[Line]) -> bool:
    """Return whether the lines of a column are running text and not table cells.

    They fill the column, are closely spaced, and often begin in mid-sentence.
    """
    if len(column) < 6:
        return False
    widths = [line.x1 - line.x0 for line in column]
    pitch = median(below.y0 - above.y0 for above, below in pairwise(sorted(column, key=lambda line: line.y0)))
    text = "".join(line.text for line in column)
    letters = sum(map(str.isalpha, text))
    small, large = sum(line.text[0].islower() for line in column), sum(line.text[0].isupper() for line in column)
    cased = small + large > 0.5 * len(column)
    return (
        median(widths) >= (0.7 if cased else 0.85) * max(widths)
        and pitch <= 1.9 * median(line.size for line in column)
        and letters >= 0.6 * len(text.replace(" ", ""))
        and (small > large or not cased or (median(widths) >= 0.75 * max(widths) and _worded(column)))
    )
