"""Workbooks (XLSX, XLSM, XLSB, XLS, ODS) and text tables (CSV, TSV) as blocks.

Rows are divided into parts, each with the column headings.
"""

from __future__ import annotations

import csv
import datetime
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError, DocumentError, LimitError, PasswordError
from hybrid_core.types.notes import Note
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table, comment
from indexers.formats.flow.linear import Piece, linear
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits, plain_reason
from indexers.formats.office.flat_odf import open_odf
from indexers.formats.office.grid import Grid, Span, column_name, hidden_notes
from indexers.formats.office.number_formats import general, show, show_text
from indexers.formats.office.ooxml import properties
from indexers.formats.office.sheet_texts import read_ods, read_spreadsheetml
from indexers.formats.office.symbol_fonts import decode_signs
from indexers.formats.office.text_tables import table_rows
from indexers.formats.office.xlsb import XlsbBook
from indexers.formats.office.xlsx import XlsxBook

_MOST_MERGED, _MOST_NOTES = 20_000, 2_000
_SHIFTS = {1: 1, 2: -1}  # escapement of a font: superscript, subscript
_TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR = 1, 2, 3, 4, 5


def open_xls(path: Path) -> Any:
    """Open an XLS workbook with its cell formats. For damaged files, ``xlrd`` raises exceptions of many types."""
    import xlrd

    with Path(os.devnull).open("w", encoding="utf-8") as quiet:
        return xlrd.open_workbook(str(path), logfile=quiet, formatting_info=True, on_demand=True, ragged_rows=True)


def read_xls(book: Any, path: Path, warnings: list[str], limits: ParseLimits) -> Iterator[tuple[str, Grid]]:
    """Yield the sheets of an open workbook by name. Unreadable sheets are added to the warnings."""
    hidden = sum(visible != 0 for visible in book._sheet_visibility)
    if hidden:
        warnings.append(Note("read.hidden-sheets", hidden=hidden, sheets=book.nsheets))
    for at, name in enumerate(book.sheet_names()):
        grid = Grid(limits, "a sheet", file=path)
        try:
            sheet = book.sheet_by_index(at)
            grid.merged += [Span(a + 1, c, b, d - 1) for a, b, c, d in sheet.merged_cells[:_MOST_MERGED]]
            hidden_rows, hidden_columns = _fill(grid, book, sheet)
            grid.apart += [
                (row + 1, comment(note.text.strip(), note.author))
                for (row, _), note in sorted(sheet.cell_note_map.items())[:_MOST_NOTES]
                if note.text.strip()
            ]
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
            warnings.append(Note("read.named-part-partly", part=Note("part.sheet", sheet=name)))
        else:
            warnings += hidden_notes(name, hidden_rows, hidden_columns)
        book.unload_sheet(at)
        yield name, grid


def _fill(grid: Grid, book: Any, sheet: Any) -> tuple[int, int]:
    """Read the rows of a sheet into a grid. Return the numbers of hidden rows and columns with cells."""
    hidden = 0
    columns = {at for at, look in sheet.colinfo_map.items() if look.hidden}
    seen: set[int] = set()
    for row in range(sheet.nrows):
        cells: dict[int, str] = {}
        values, kinds, styles = sheet.row_values(row), sheet.row_types(row), sheet._cell_xf_indexes[row]
        for place, (value, kind, style) in enumerate(zip(values, kinds, styles, strict=True)):
            if text := _cell_text(book, sheet, (row, place), value, kind, style).strip():
                cells[place] = text
        grid.add(row + 1, cells)
        look = sheet.rowinfo_map.get(row)
        hidden += bool(cells and look is not None and look.hidden)
        seen |= columns & cells.keys() if columns else set()
    return hidden, len(seen)


def _cell_text(book: Any, sheet: Any, cell: tuple[int, int], value: Any, kind: int, style: int) -> str:
    if kind not in (_TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR):
        return ""
    look = book.xf_list[style] if 0 <= style < len(book.xf_list) else None
    font = book.font_list[look.font_index] if look is not None and look.font_index < len(book.font_list) else None
    format = book.format_map.get(look.format_key) if look is not None else None
    code = format.format_str if format is not None else ""
    if kind == _TEXT:
        return show_text(_format_runs(book, font, value, sheet.rich_text_runlist_map.get(cell, ())), code)
    if kind == _ERROR:
        import xlrd

        text = xlrd.error_text_from_code.get(value, "#ERROR")
    elif kind == _BOOLEAN:
        text = "TRUE" if value else "FALSE"
    else:
        text = show(float(value), code, book.datemode == 1)
    return linear([Piece(text, struck=bool(font is not None and font.struck_out))])


def _format_runs(book: Any, font: Any, text: str, runs: Any) -> str:
    """Return the text of a cell with its formats. ``runs`` are the offsets at which another font begins."""
    borders = [(0, font), *((at, book.font_list[number]) for at, number in runs if number < len(book.font_list))]
    ends = [*(at for at, _ in borders[1:]), len(text)]
    alone = len(borders) == 1
    return linear(
        Piece(
            text[at:end] if look is None else decode_signs(text[at:end], (look.name,)),
            0 if look is None or alone else _SHIFTS.get(look.escapement, 0),
            bool(look is not None and look.struck_out),
        )
        for (at, look), end in zip(borders, ends, strict=True)
    )


_LEAST_ROWS, _MOST_ROWS = 50, 100
_MANY = 4_000  # characters at which a page ends after the minimum number of rows
_FULL = 12_000  # characters at which a page ends after any row
_LONGEST_CELL = 32_767
_BEFORE_1993 = re.compile(rb"\x09[\0\x02\x04][\x04\x06]\0")
_FLAT = re.compile(rb"<(?:\w+:)?document\s[^>]{0,4000}urn:oasis:names:tc:opendocument")
_OLE = b"\xd0\xcf\x11\xe0"
_HEAD = 4096
_FILE_PASS = 0x2F  # the record with the encryption method of a workbook


def read_workbook(path: Path, limits: ParseLimits) -> Flow:
    """Read a workbook of any format.

    Raise PasswordError if it is encrypted, LimitError if a sheet has too many cells, and DocumentError if it is
    damaged.
    """
    warnings: list[str] = []
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(_OLE) and zipfile.is_zipfile(path):
        package = Package(path, limits)
        if "content.xml" in package:
            return Flow(_grids(read_ods(package, path, limits, warnings)), {}, warnings, close=package.close)
        binary = any(name.endswith("workbook.bin") for name in package.names)
        book = (XlsbBook if binary else XlsxBook)(package, path, limits, warnings)
        grids = ((name, book.read(name, target)) for name, target in book.sheets)
        return Flow(_grids(grids), properties(package), warnings, close=package.close)
    if _FLAT.search(head):
        package, _ = open_odf(path, limits)
        return Flow(_grids(read_ods(package, path, limits, warnings)), {}, warnings, close=package.close)
    if b"urn:schemas-microsoft-com:office:spreadsheet" in head:
        return Flow(_grids(read_spreadsheetml(path, limits, warnings)), {}, warnings)
    if _BEFORE_1993.match(head):
        raise DocumentError(
            "the file was written by Excel 2, 3 or 4 (before 1993), which is not supported.",
            "Open the file in a spreadsheet program, and save it as XLSX.",
            file=path,
        )
    if not head.startswith(_OLE):
        return read_table(path, limits)
    try:
        book97 = open_xls(path)
    except Exception as error:  # noqa: BLE001 - xlrd raises many types; calamine says what a file is, and reads more
        parts = _calamine(path, warnings, limits)
        warnings.append(Note("read.formats-unread", reason=plain_reason(error, str(path))))
        return Flow(parts, {}, warnings)
    return Flow(_grids(read_xls(book97, path, warnings, limits)), {}, warnings, close=book97.release_resources)


def _calamine(path: Path, warnings: list[str], limits: ParseLimits) -> Iterator[Part]:
    import python_calamine as calamine

    try:
        with _panics():
            book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError as error:
        raise PasswordError(
            f"the file is encrypted{_encryption_kind(path)}.",
            "Save a copy of the file without a password, and index the copy.",
            file=path,
        ) from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        why = plain_reason(error, str(path))
        raise BrokenFileError(f"the file is damaged: it cannot be read as a workbook ({why}).", file=path) from error
    return _sheets(book, calamine.CalamineError, warnings, limits)


def _grids(grids: Iterable[tuple[str, Grid]]) -> Iterator[Part]:
    for name, grid in grids:
        yield from sheet_parts(name, grid)


def _encryption_kind(path: Path) -> str:
    """Return the encryption method of an Excel 97 workbook, "" if its beginning does not state one."""
    import olefile

    try:
        with olefile.OleFileIO(str(path)) as ole:
            name = "Workbook" if ole.exists("Workbook") else "Book"
            head = ole.openstream(name).read(_HEAD)
    except (OSError, ValueError):
        return ""
    at = 0
    while at + 6 <= len(head):
        record, size = int.from_bytes(head[at : at + 2], "little"), int.from_bytes(head[at + 2 : at + 4], "little")
        if record == _FILE_PASS:
            return " (RC4)" if head[at + 4] == 1 else " (XOR)"
        at += 4 + size
    return ""


@contextmanager
def _panics() -> Iterator[None]:
    """Raise ValueError in place of a panic of a compiled reader, which damaged files can cause."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from error


def _sheets(book: Any, unreadable: type[Exception], warnings: list[str], limits: ParseLimits) -> Iterator[Part]:
    for name in book.sheet_names:
        try:
            with _panics():
                sheet = book.get_sheet_by_name(name)
            limits.check(
                "max_cells", cells := sheet.total_height * sheet.total_width, f"sheet '{name}' has {cells:,} cells"
            )
            top, left = sheet.start or (0, 0)
            with _panics():
                rows = sheet.to_python(skip_empty_area=True)
        except (OSError, ValueError) as error:
            warnings.append(Note("read.sheet-unread", sheet=name, reason=plain_reason(error, name)))
            continue
        except LimitError as error:
            warnings.append(error.note)
            continue
        except unreadable:
            continue  # a chart or macro sheet
        grid = Grid(limits, f"sheet '{name}'", [Span(a + 1, b, c + 1, d) for (a, b), (c, d) in _merged(sheet)])
        for at, row in enumerate(rows, 1):
            grid.add(top + at, {left + place: text for place, cell in enumerate(row) if (text := written(cell))})
        yield from sheet_parts(name, grid)


def _merged(sheet: Any) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    try:
        return list(sheet.merged_cell_ranges or ())[:20_000]
    except (AttributeError, ValueError):
        return []  # a kind of workbook for which the reader does not list them


def sheet_parts(name: str, grid: Grid) -> Iterator[Part]:
    """Yield the rows of a sheet in parts, each with the column headings. Titles above them are in the first part."""
    apart = sorted(grid.apart, key=lambda one: one[0])
    if not len(grid):
        if apart:
            yield Part([Heading(1, name, place=name), *(replace(block, place=name) for _, block in apart)], name)
        return
    grid.repeat_merged()
    heads = grid.heads()
    columns = column_name(grid.first), column_name(grid.last)
    at = begin = 0
    while at < len(grid):
        shown: list[list[str]] = []
        end, size = at, 0
        while end < len(grid) and end - at < _MOST_ROWS and size < _FULL and (end - at < _LEAST_ROWS or size < _MANY):
            shown.append(grid.take(end))
            size += sum(map(len, shown[-1]))
            end += 1
        label = f"{name}!{columns[0]}{grid.numbers[at]}:{columns[1]}{grid.numbers[end - 1]}"
        blocks: list[Block] = [] if at else [Heading(1, name, place=label)]
        begin = 0
        if heads is not None and not at:
            blocks += _titles(shown[: heads.first], label)
            begin = heads.end
        table = [*([heads.names] if heads else []), *map(tuple, shown[begin:])]
        blocks.append(Table(tuple(table), heads is not None, label))
        until = grid.numbers[end - 1] if end < len(grid) else 1 << 30
        while apart and apart[0][0] <= until:
            blocks.append(replace(apart.pop(0)[1], place=label))
        yield Part(blocks, label, whole=True)
        at = end


def _titles(rows: Sequence[Sequence[str]], place: str) -> Iterator[Block]:
    """Yield the rows above the column headings: rows with one cell as titles, others as a table."""
    table: list[tuple[str, ...]] = []
    for row in [*rows, ("",)]:
        filled = [cell for cell in row if cell]
        if len(filled) > 1:
            table.append(tuple(filled))
            continue
        if table:
            yield Table(tuple(table), False, place)
            table = []
        if filled:
            yield Paragraph(filled[0], place)


def read_table(path: Path, limits: ParseLimits) -> Flow:
    """Read a CSV or TSV file with any delimiter."""
    text, warnings = read_text(path)
    cells = 0
    grid = Grid(limits, "it", file=path)
    try:
        for at, row in enumerate(table_rows(text), 1):
            cells += len(row)
            limits.check("max_cells", cells, f"the file has {cells:,} cells or more", file=path)
            grid.add(at, {place: cell for place, cell in enumerate(row) if cell})
    except csv.Error as error:
        raise DocumentError("the rows of the table cannot be read, because a cell is too long.", file=path) from error
    return Flow(sheet_parts(path.stem, grid), {}, warnings)


def written(value: Any) -> str:
    """Return a cell as text: numbers without a needless decimal point, dates in ISO form."""
    if isinstance(value, str):
        return value[:_LONGEST_CELL].strip()
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return general(float(value), str(value) if isinstance(value, int) else "")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ") if value.time() != datetime.time() else value.date().isoformat()
    return "" if value is None else str(value)
