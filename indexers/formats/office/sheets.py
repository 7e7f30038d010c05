"""Workbooks (XLSX, XLSM, XLSB, XLS, ODS) and tables of text (CSV, TSV) -> parts of some rows under their header."""

from __future__ import annotations

import csv
import datetime
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError, DocumentError, LimitError, PasswordError
from indexers.formats.decode import read_text
from indexers.formats.defects import plain_reason
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits
from indexers.formats.office.grid import Grid, Span
from indexers.formats.office.number_formats import general
from indexers.formats.office.ooxml import properties
from indexers.formats.office.sheet_texts import read_ods, read_spreadsheetml
from indexers.formats.office.xls import open_xls, read_xls
from indexers.formats.office.xlsx import XlsxBook

_LEAST_ROWS, _MOST_ROWS = 50, 100
_MANY = 4_000  # characters at which a page ends after so many rows
_FULL = 12_000  # … and after any
_LONGEST_CELL = 32_767
_SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.I)
_BEFORE_1993 = re.compile(rb"\x09[\0\x02\x04][\x04\x06]\0")
_OLE = b"\xd0\xcf\x11\xe0"
_HEAD = 4096
_FILE_PASS = 0x2F  # the record that says how a workbook is encrypted
_DELIMITERS = ",;\t|"
_SAMPLE = 64 * 1024


def read_workbook(path: Path, limits: ParseLimits) -> Flow:
    """A workbook of any kind. Raises PasswordError where it is encrypted, LimitError where a sheet reaches too far,
    DocumentError where it is damaged.
    """
    warnings: list[str] = []
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(_OLE) and zipfile.is_zipfile(path):
        package = Package(path, limits)
        if "content.xml" in package:
            return Flow(_grids(read_ods(package, path, limits, warnings)), {}, warnings, close=package.close)
        if not any(name.endswith("workbook.bin") for name in package.names):
            book = XlsxBook(package, path, limits, warnings)
            grids = ((name, book.read(name, target)) for name, target in book.sheets)
            return Flow(_grids(grids), properties(package), warnings, close=package.close)
        metadata = properties(package)
        package.close()
    else:
        metadata = {}
        if b"urn:schemas-microsoft-com:office:spreadsheet" in head:
            return Flow(_grids(read_spreadsheetml(path, limits)), {}, warnings)
        if _BEFORE_1993.match(head):
            raise DocumentError(f"{path}: a file of Excel before 1993 (Excel 2 to 4).", "Save it as XLSX.")
        if not head.startswith(_OLE):
            return read_table(path, limits)
        try:
            book97 = open_xls(path)
        except Exception as error:  # noqa: BLE001 - xlrd raises many types; calamine says what a file is, and reads more
            parts = _calamine(path, warnings, limits)
            warnings.append(f"its number formats could not be read ({plain_reason(error, str(path))})")
            return Flow(parts, metadata, warnings)
        return Flow(
            _grids(read_xls(book97, path, warnings, limits)), metadata, warnings, close=book97.release_resources
        )
    return Flow(_calamine(path, warnings, limits), metadata, warnings)


def _calamine(path: Path, warnings: list[str], limits: ParseLimits) -> Iterator[Part]:
    import python_calamine as calamine

    try:
        with _panics():
            book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError as error:
        raise PasswordError(f"{path}: encrypted{_kind(path)}.", "Save it without a password.") from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        why = plain_reason(error, str(path))
        raise BrokenFileError(f"{path}: damaged, it cannot be read as a workbook ({why}).") from error
    return _sheets(book, calamine.CalamineError, warnings, limits)


def _grids(grids: Iterable[tuple[str, Grid]]) -> Iterator[Part]:
    for name, grid in grids:
        yield from sheet_parts(name, grid)


def _kind(path: Path) -> str:
    """How a workbook of Excel 97 is encrypted, "" where that is not told at its beginning."""
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
    """Compiled readers raise a BaseException where they meet what they thought impossible: a damaged file."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"its reader gave up: {error}") from error


def _sheets(book: Any, unreadable: type[Exception], warnings: list[str], limits: ParseLimits) -> Iterator[Part]:
    for name in book.sheet_names:
        try:
            with _panics():
                sheet = book.get_sheet_by_name(name)
            limits.check(
                "max_cells", cells := sheet.total_height * sheet.total_width, f"sheet «{name}» has {cells:,} cells"
            )
            top, left = sheet.start or (0, 0)
            with _panics():
                rows = sheet.to_python(skip_empty_area=True)
        except (OSError, ValueError) as error:
            warnings.append(f"sheet «{name}» could not be read ({error})")
            continue
        except LimitError as error:
            warnings.append(str(error))
            continue
        except unreadable:
            continue  # a sheet that is a chart, or a macro
        grid = Grid(limits, f"sheet «{name}»", [Span(a + 1, b, c + 1, d) for (a, b), (c, d) in _merged(sheet)])
        for at, row in enumerate(rows, 1):
            grid.add(top + at, {left + place: text for place, cell in enumerate(row) if (text := written(cell))})
        yield from sheet_parts(name, grid)


def _merged(sheet: Any) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    try:
        return list(sheet.merged_cell_ranges or ())[:20_000]
    except (AttributeError, ValueError):
        return []  # a kind of workbook whose reader does not list them


def sheet_parts(name: str, grid: Grid) -> Iterator[Part]:
    """A sheet's rows in parts, each under the names of the columns; titles stand above the first."""
    apart = sorted(grid.apart, key=lambda one: one[0])
    if not len(grid):
        if apart:
            yield Part([Heading(1, name, place=name), *(replace(block, place=name) for _, block in apart)], name)
        return
    grid.repeat_merged()
    heads = grid.heads()
    columns = _letters(grid.first), _letters(grid.last)
    at = begin = 0
    while at < len(grid):
        shown: list[list[str]] = []
        end, size = at, 0
        while end < len(grid) and end - at < _MOST_ROWS and size < _FULL and (end - at < _LEAST_ROWS or size < _MANY):
            shown.append(grid.row(end))
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
    """Rows above the names of the columns: lines of one cell are titles, others a table of their own."""
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
    """A CSV or TSV file, whatever stands between its cells."""
    text, warnings = read_text(path)
    delimiter = _delimiter(text[:_SAMPLE])
    csv.field_size_limit(2**31 - 1)
    cells = 0
    grid = Grid(limits, f"{path}: it")
    try:
        for at, row in enumerate(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), 1):
            cells += len(row)
            limits.check("max_cells", cells, f"{path}: it has {cells:,} cells or more")
            if (
                at == 1
                and (row[0].lstrip("\ufeff").strip().lower() if row else "").startswith("sep=")
                and len("".join(row)) < 6
            ):
                continue  # Excel's own line: which sign stands between the cells
            grid.add(at, {place: text for place, cell in enumerate(row) if (text := cell.strip())})
    except csv.Error as error:
        raise DocumentError(f"{path}: its rows cannot be told apart ({error}).") from error
    return Flow(sheet_parts(path.stem, grid), {}, warnings)


def _delimiter(text: str) -> str:
    """The sign that cuts most of the first lines into the same number of cells."""
    lines = text.splitlines()[:50]
    if lines and (named := _SEPARATOR.fullmatch(lines[0].lstrip("\ufeff"))):
        return named[1]
    best, most = ",", 0.0
    for sign in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row]
        if widths and (common := max(set(widths), key=widths.count)) > 1:
            value = widths.count(common) / len(widths) + common / 1000
            if value > most:
                best, most = sign, value
    return best


def written(value: Any) -> str:
    """A cell as text: numbers without a needless decimal point, dates in ISO's form."""
    if isinstance(value, str):
        return value[:_LONGEST_CELL].strip()
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return general(float(value), str(value) if isinstance(value, int) else "")
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ") if value.time() != datetime.time() else value.date().isoformat()
    return "" if value is None else str(value)


def _letters(column: int) -> str:
    """A column's name, counted from 0."""
    said = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        said = chr(ord("A") + rest) + said
    return said
