"""Reading of XLSB: the records of Excel's binary workbooks (MS-XLSB), with cells in their number formats."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from struct import unpack_from

from hybrid_core.errors import BrokenFileError, DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, comment
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits
from indexers.formats.office.grid import Grid, Span, hidden_notes
from indexers.formats.office.number_formats import BUILT_IN, show, show_text
from indexers.formats.office.ooxml import main_part, relations
from indexers.formats.office.xlsx import drawn_blocks

_ROW, _RK, _ERROR, _BOOLEAN, _REAL, _STRING, _SHARED = 0, 2, 3, 4, 5, 6, 7
_FORMULA_STRING, _FORMULA_REAL, _FORMULA_BOOLEAN, _FORMULA_ERROR, _RICH = 8, 9, 10, 11, 62
_ITEM, _FORMAT, _STYLE, _COLUMN = 19, 44, 47, 60
_PROPERTIES, _SHEET, _MERGED, _STYLES, _STYLES_END = 153, 156, 176, 617, 618
_AUTHOR, _COMMENT, _COMMENT_TEXT = 632, 635, 637
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A",
           43: "#GETTING_DATA"}  # fmt: skip
_MOST_MERGED, _MOST_NOTES, _LONGEST_CELL, _MOST_COLUMNS = 20_000, 2_000, 32_767, 16_384
_LEAST = {  # bytes of a record
    _ROW: 12, **dict.fromkeys((_RK, _SHARED, _STRING, _FORMULA_STRING), 12), _RICH: 13, _REAL: 16, _FORMULA_REAL: 16,
    **dict.fromkeys((_ERROR, _BOOLEAN, _FORMULA_BOOLEAN, _FORMULA_ERROR), 9), 1: 8, _MERGED: 16, _COLUMN: 18,
    _PROPERTIES: 4, _SHEET: 16, _ITEM: 5, _FORMAT: 6, _STYLE: 4, _AUTHOR: 4, _COMMENT: 8, _COMMENT_TEXT: 5,
}  # fmt: skip
_HIDDEN_ROW, _HIDDEN_COLUMN = 0x10, 0x1
_UNREADABLE = (struct.error, IndexError, UnicodeDecodeError)


class XlsbBook:
    """An open workbook. Raise DocumentError if its list of sheets cannot be read."""

    def __init__(self, package: Package, path: Path, limits: ParseLimits, warnings: list[str]) -> None:
        self._package, self._path, self._limits, self._warnings = package, path, limits, warnings
        main = main_part(package, path, "xl/workbook.bin")
        related = relations(package, main)
        targets = dict(related.values())
        self.sheets: list[tuple[str, str]] = []  # name and part
        self._since_1904 = False
        hidden = 0
        for kind, data in self._records(main, Note("part.sheets")):
            if kind == _PROPERTIES:
                self._since_1904 = bool(unpack_from("<I", data)[0] & 1)
            elif kind == _SHEET:
                start = next(
                    (at for at in (8, 12) if _text(data, at)[0] in related), 8
                )  # as betas of Excel 2007 have it
                relation, at = _text(data, start)
                name, _ = _text(data, at)
                _, target = related.get(relation, ("", ""))
                if target in package:
                    self.sheets.append((name or f"Sheet{len(self.sheets) + 1}", target))
                    hidden += unpack_from("<I", data)[0] in (1, 2)
        if not self.sheets:
            raise BrokenFileError("the file is damaged: its list of sheets is missing.", file=path)
        if hidden:
            warnings.append(Note("read.hidden-sheets", hidden=hidden, sheets=len(self.sheets)))
        strings = self._records(targets.get("sharedStrings", ""), Note("part.strings"))
        self._strings = [_text(data, 1)[0] for kind, data in strings if kind == _ITEM]
        self._formats = self._styles(targets.get("styles", ""))

    def read(self, name: str, target: str) -> Grid:
        """Read a sheet into a grid. Unreadable parts are skipped with a warning."""
        grid = Grid(self._limits, "a sheet", file=self._path)
        cells: dict[int, str] = {}
        number = rows = 0
        columns: list[tuple[int, int]] = []
        seen: set[int] = set()
        is_hidden = False
        for kind, data in chain(self._records(target, Note("part.sheet", sheet=name)), [(_ROW, bytes(12))]):
            if kind == _ROW:
                grid.add(number + 1, cells)
                rows += is_hidden and bool(cells)
                seen.update(cells if columns else ())
                number, cells = unpack_from("<I", data)[0], {}
                is_hidden = bool(data[11] & _HIDDEN_ROW)
            elif kind <= _FORMULA_ERROR or kind == _RICH:
                at = unpack_from("<I", data)[0]
                if at < _MOST_COLUMNS and (text := self._cell(kind, data).strip()[:_LONGEST_CELL]):
                    cells[at] = text
            elif kind == _MERGED and len(grid.merged) < _MOST_MERGED:
                top, bottom, left, right = unpack_from("<IIII", data)
                grid.merged.append(Span(top + 1, left, bottom + 1, right))
            elif kind == _COLUMN and unpack_from("<H", data, 16)[0] & _HIDDEN_COLUMN:
                columns.append(unpack_from("<II", data))
        hidden = sum(any(first <= at <= last for first, last in columns) for at in seen)
        self._warnings += hidden_notes(name, rows, hidden)
        grid.apart += self._apart(target, name)
        return grid

    def _records(self, target: str, what: Note) -> Iterator[tuple[int, bytes]]:
        """Yield the kind and bytes of each record of a part. Damage adds a warning."""
        if target not in self._package:
            return
        try:
            data = self._package.read(target)
            at = 0
            while at < len(data):
                kind, at = _seven_bit_number(data, at, 2)
                size, at = _seven_bit_number(data, at, 4)
                if at + size > len(data):
                    raise IndexError("a record continues beyond the end of the file")
                if size >= _LEAST.get(kind, 0):
                    yield kind, data[at : at + size]
                else:
                    self._warnings.append(Note("read.record-unread", part=what))
                at += size
        except (*_UNREADABLE, DocumentError):
            self._warnings.append(Note("read.named-part-partly", part=what))

    def _styles(self, target: str) -> list[str]:
        """Return the number format code of each cell style."""
        codes, numbers, inside = dict(BUILT_IN), list[int](), False
        for kind, data in self._records(target, Note("part.styles")):
            if kind == _FORMAT:
                codes[unpack_from("<H", data)[0]] = _text(data, 2)[0]
            elif kind in (_STYLES, _STYLES_END):
                inside = kind == _STYLES
            elif kind == _STYLE and inside:
                numbers.append(unpack_from("<H", data, 2)[0])
        return [codes.get(number, "") for number in numbers]

    def _cell(self, kind: int, data: bytes) -> str:
        style = unpack_from("<I", data, 4)[0] & 0xFFFFFF
        code = self._formats[style] if style < len(self._formats) else ""
        if kind in (_STRING, _FORMULA_STRING, _RICH):
            return show_text(_text(data, 9 if kind == _RICH else 8)[0], code)
        if kind == _SHARED:
            at = unpack_from("<I", data, 8)[0]
            return show_text(self._strings[at], code) if at < len(self._strings) else ""
        if kind in (_BOOLEAN, _FORMULA_BOOLEAN):
            return "TRUE" if data[8] else "FALSE"
        if kind in (_ERROR, _FORMULA_ERROR):
            return _ERRORS.get(data[8], "#ERROR")
        if kind in (_REAL, _FORMULA_REAL, _RK):
            number = _packed(data) if kind == _RK else unpack_from("<d", data, 8)[0]
            return show(number, code, self._since_1904)
        return ""

    def _apart(self, target: str, name: str) -> Iterator[tuple[int, Block]]:
        """Yield the notes, boxes and shapes of a sheet, each with its row."""
        try:
            for kind, inner in relations(self._package, target).values():
                if kind == "drawing" and inner in self._package:
                    yield from drawn_blocks(self._package, inner)
                elif kind == "comments":
                    row, author, authors = 0, "", list[str]()
                    for record, data in list(self._records(inner, Note("part.comment", sheet=name)))[: 4 * _MOST_NOTES]:
                        if record == _AUTHOR:
                            authors.append(_text(data, 0)[0])
                        elif record == _COMMENT:
                            number, first_row = unpack_from("<II", data)
                            row, author = first_row + 1, authors[number] if number < len(authors) else ""
                        elif record == _COMMENT_TEXT and (text := _text(data, 1)[0].strip()):
                            yield row, comment(text, author)
        except (*_UNREADABLE, DocumentError):
            self._warnings.append(Note("read.sheet-beside", sheet=name))


def _seven_bit_number(data: bytes, at: int, limit: int) -> tuple[int, int]:
    """Return an integer stored as seven bits per byte, and the offset after it."""
    value = 0
    for step in range(limit):
        byte = data[at]
        value |= (byte & 0x7F) << 7 * step
        at += 1
        if byte < 0x80:
            break
    return value, at


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Return a string, cut at the end of its record, and the offset after it. A string without a length is empty."""
    size = unpack_from("<I", data, at)[0] if at + 4 <= len(data) else 0xFFFFFFFF
    if size == 0xFFFFFFFF:
        return "", at + 4
    end = at + 4 + 2 * size
    return data[at + 4 : end].decode("utf-16-le", "replace"), end


def _packed(data: bytes) -> float:
    """Return a number stored in 30 bits of four bytes: an integer or the upper part of a float.

    A flag bit means that the stored number is in hundredths.
    """
    bits = unpack_from("<I", data, 8)[0]
    whole, hundredths = bits & 2, bits & 1
    number = float(unpack_from("<i", data, 8)[0] >> 2) if whole else _real(bits & 0xFFFFFFFC)
    return number / 100 if hundredths else number


def _real(upper: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<II", 0, upper))[0]
    return value
