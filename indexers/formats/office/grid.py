"""The cells of a sheet in compact form: rows as strings, merged blocks, column headings."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Paragraph
from indexers.formats.limits import ParseLimits

_BETWEEN = "\x1f"  # separator of cells in a row
_TOP = 20  # first rows among which column headings are searched
_WIDE = 0.6  # minimum share of the widest row's cells in a row of headings
_MOST_HEADS = 4
_TALLEST = 2_000  # maximum height of a merged block whose words are repeated on each row
_FAR, _MOST_STRAYS = 256, 2_000  # empty columns before a stray cell; stray cells of a sheet
_NUMBER = re.compile(r"[(\-+−$€£¥]*\s?\d[\d.,' ]*(?:[eE][+-]?\d+)?\s?[%)€$]*|#[A-Z/0!?]+|=.*", re.S)
_YEAR = re.compile(r"(?:19|20)\d\d")


class Span(NamedTuple):
    """A merged block: rows from 1, columns from 0, both ends inclusive."""

    top: int
    left: int
    bottom: int
    right: int


class Heads(NamedTuple):
    """The column headings of a sheet, in its rows with the indexes ``first`` to ``end`` (exclusive).

    ``names`` has one text per column, which joins the headings of several rows.
    """

    first: int
    end: int
    names: tuple[str, ...]


class Grid:
    """The non-blank rows of a sheet in order. ``apart`` are the sheet's notes, shapes and charts, each with its row."""

    def __init__(self, limits: ParseLimits, what: str, merged: Sequence[Span] = (), file: object = "") -> None:
        self._limits, self._what, self._file = limits, what, file
        self.numbers: list[int] = []
        self._rows: list[str] = []
        self.first, self.last = 1 << 30, -1  # columns
        self.merged = list(merged)
        self.apart: list[tuple[int, Block]] = []
        self._strays = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, number: int, cells: Mapping[int, str]) -> None:
        """Add a row. Raise LimitError if the sheet exceeds the maximum number of cells.

        Cells that are many empty columns away from all others are put beside the rows.
        """
        if cells and max(cells) - max(self.last, 0) > _FAR:
            cells = self._without_strays(number, cells)
        if not cells:
            return
        self.first, self.last = min(self.first, *cells), max(self.last, *cells)
        top, bottom = min(number, *self.numbers[:1], number), max(number, *self.numbers[-1:], number)
        extent = (self.last + 1) * (bottom - top + 1)
        width = self.last - self.first + 1
        if width * (len(self) + 1) > self._limits.max_cells or (self.last > 255 and extent > self._limits.max_cells):
            self._limits.check("max_cells", extent, f"{self._what} reaches over {extent:,} cells", self._file)
        row = [""] * (max(cells) + 1)
        for at, text in cells.items():
            row[at] = text.replace(_BETWEEN, " ")
        at = len(self.numbers)
        if self.numbers and number < self.numbers[-1]:
            at = bisect_left(self.numbers, number)
        self.numbers.insert(at, number)
        self._rows.insert(at, _BETWEEN.join(row))

    def _without_strays(self, number: int, cells: Mapping[int, str]) -> Mapping[int, str]:
        columns = sorted(cells)
        edge = self.last if len(self) else columns[0]
        near: dict[int, str] = {}
        for at in columns:
            if at - edge > _FAR and self._strays < _MOST_STRAYS:
                self._strays += 1
                self.apart.append((number, Paragraph(f"{column_name(at)}{number}: {cells[at]}")))
            else:
                near[at], edge = cells[at], max(edge, at)
        return near

    def row(self, at: int) -> list[str]:
        """Return the cells of a row by its index, from the first to the last used column of the sheet."""
        cells = self._rows[at].split(_BETWEEN)
        cells += [""] * (self.last + 1 - len(cells))
        return cells[self.first :]

    def take(self, at: int) -> list[str]:
        """Return the cells of a row like ``row``, and free their memory, so that a large sheet is not stored twice."""
        cells = self.row(at)
        self._rows[at] = ""
        return cells

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        for at, number in enumerate(self.numbers):
            yield number, self.row(at)

    def repeat_merged(self) -> None:
        """Repeat the words of a merged block on each of its rows, in its first column.

        This lets a search for the words match each row.
        """
        for span in self.merged:
            if not 0 < span.bottom - span.top <= _TALLEST or span.left < self.first:
                continue
            start, end = bisect_left(self.numbers, span.top), bisect_left(self.numbers, span.bottom + 1)
            if start == end or self.numbers[start] != span.top:
                continue
            column = span.left - self.first
            text = self.row(start)[column] if column <= self.last - self.first else ""
            for at in range(start + 1, end) if text else ():
                cells = self.row(at)
                if not cells[column]:
                    cells[column] = text
                    self._rows[at] = _BETWEEN.join([""] * self.first + cells)

    def heads(self) -> Heads | None:
        """Return the rows with column headings, below titles; None if there are none."""
        top = [self.row(at) for at in range(min(_TOP, len(self)))]
        widths = [sum(map(bool, row)) for row in top]
        if len(self) < 3 or max(widths) < 2:
            return None
        wide = max(2, _WIDE * max(widths))
        full = [at for at, width in enumerate(widths) if width >= wide]
        first = next((at for at in full[:-1] if self.numbers[at + 1] == self.numbers[at] + 1), full[0])
        if first + 1 >= len(self) or any(_is_figure(cell) for cell in top[first] if cell):
            first = 0 if widths[0] > 1 else -1
            return None if first < 0 else Heads(0, 1, tuple(top[0]))
        end = first + 1
        while first and self._spans_columns(first - 1) and self.numbers[first - 1] + 1 == self.numbers[first]:
            if not self._above(top[first - 1], top[first]):
                break
            first -= 1
        while end < min(len(top) - 1, first + _MOST_HEADS) and self._goes_on(top, end):
            end += 1
        return Heads(first, end, self._names(top, first, end))

    def _spans_columns(self, at: int) -> bool:
        """Return whether cells of a row are headings of several columns each, and not a title of the whole table."""
        row = self.row(at)
        number = self.numbers[at]
        spans = [span for span in self.merged if span.top == number and span.right > span.left]
        return sum(map(bool, row)) > 1 and (bool(spans) or not all(row)) and not any(_is_figure(c) for c in row if c)

    def _above(self, row: Sequence[str], below: Sequence[str]) -> bool:
        """Return whether ``row`` has group headings for the column headings in the row ``below``.

        Then the lower row has a heading under each cell of the upper row, and further headings beside them.
        """
        filled = [at for at, cell in enumerate(row) if cell]
        gaps = [at for at in range(filled[0], len(row)) if not row[at] and below[at]]
        return bool(gaps) and all(below[at] or at == 0 for at in filled)

    def _goes_on(self, top: Sequence[Sequence[str]], at: int) -> bool:
        """Return whether a row has column headings below the group headings of the row above."""
        above, row, number = top[at - 1], top[at], self.numbers[at]
        if any(_is_figure(cell) for cell in row if cell) or number != self.numbers[at - 1] + 1 or not any(row):
            return False
        wide = any(span.right > span.left and span.top == number - 1 for span in self.merged)
        tall = any(span.top < number <= span.bottom and span.top >= self.numbers[0] for span in self.merged)
        gaps = [place for place, cell in enumerate(above) if not cell and row[place]]
        figures = any(_is_figure(cell) for cell in top[at + 1])
        alone = [place for place, cell in enumerate(row) if not cell and above[place]]
        return bool(gaps) and (wide or tall or (figures and bool(alone)))

    def _names(self, top: Sequence[Sequence[str]], first: int, end: int) -> tuple[str, ...]:
        if end - first == 1:
            return tuple(top[first])
        lines = [self._spread(top, at, at + 1 < end) for at in range(first, end)]
        for at in range(end - 1, first, -1):  # a heading that spans several rows is used once
            for span in self.merged:
                place = span.left - self.first
                if span.top < self.numbers[at] <= span.bottom and 0 <= place < len(lines[at - first]):
                    lines[at - first][place] = ""
        return tuple(" ".join(filter(None, names)) for names in zip(*lines, strict=True))

    def _spread(self, top: Sequence[Sequence[str]], at: int, upper: bool) -> list[str]:
        """Return a row of headings in which each heading is repeated for every column that it covers."""
        row, number = list(top[at]), self.numbers[at]
        spans = [span for span in self.merged if span.top == number and span.right > span.left]
        for span in spans:
            start = span.left - self.first
            for place in range(max(0, start + 1), min(len(row), span.right - self.first + 1)):
                row[place] = row[place] or row[start] if start >= 0 else row[place]
        if upper and not spans:
            for place in range(1, len(row)):
                if not row[place] and top[at + 1][place]:
                    row[place] = row[place - 1]
        return row


def column_name(number: int) -> str:
    """Return the letters of a column number, which counts from 0."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def hidden_notes(sheet: str, rows: int, columns: int) -> list[str]:
    """Return notes on the hidden rows and columns of a sheet."""
    return [
        note
        for count, note in (
            (rows, Note("read.hidden-rows", sheet=sheet, rows=rows)),
            (columns, Note("read.hidden-columns", sheet=sheet, columns=columns)),
        )
        if count
    ]


def _is_figure(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell)) and not _YEAR.fullmatch(cell)
