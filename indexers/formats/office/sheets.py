"""Workbooks (XLSX, XLSM, XLSB, XLS, ODS) and tables of text (CSV, TSV) -> parts of some rows under their header."""

from __future__ import annotations

import csv
import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hybrid_core.errors import DocumentError, LimitError, PasswordError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Heading, Part, Table
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import properties

_LEAST_ROWS, _MOST_ROWS = 50, 100
_MANY = 4_000  # characters at which a page ends after so many rows
_FULL = 12_000  # … and after any
_LONGEST_CELL = 32_767
_CELL = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
_DELIMITERS = ",;\t|"
_SAMPLE = 64 * 1024

Row = tuple[int, tuple[str, ...]]  # number from 1, and cells


def read_workbook(path: Path, limits: ParseLimits) -> Flow:
    """Raises PasswordError where it is encrypted, LimitError where a sheet reaches too far, DocumentError else."""
    metadata: dict[str, str] = {}
    warnings: list[str] = []
    if zipfile.is_zipfile(path):
        package = Package(path, limits)
        metadata = properties(package)
        _check_cells(package, path, limits)
        package.close()
    import python_calamine as calamine

    try:
        with _panics():
            book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError as error:
        raise PasswordError(f"{path}: encrypted.", "Save it without a password.") from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise DocumentError(f"{path}: damaged, it cannot be read as a workbook ({error}).") from error
    return Flow(_sheets(book, calamine.CalamineError, warnings, limits), metadata, warnings)


@contextmanager
def _panics() -> Iterator[None]:
    """Compiled readers raise a BaseException where they meet what they thought impossible: a damaged file."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"its reader gave up: {error}") from error


def _check_cells(package: Package, path: Path, limits: ParseLimits) -> None:
    """A sheet is laid out in memory from its first to its last cell: a cell at its very end would take it all."""
    for name in package.names:
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            columns, rows, first = 0, 0, 0
            for letters, digits in _CELL.findall(package.read(name)):
                columns, rows = max(columns, _column(letters)), max(rows, int(digits))
                first = min(first or rows, int(digits))
            limits.check(
                "max_cells", cells := columns * (rows - first + 1), f"{path}: a sheet reaches over {cells:,} cells"
            )


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


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
        told = ((top + at, tuple(map(written, row))) for at, row in enumerate(rows, 1))
        yield from sheet_parts(name, [row for row in told if any(row[1])], left)


def sheet_parts(name: str, rows: Sequence[Row], left: int = 0) -> Iterator[Part]:
    """A sheet's rows in parts, each under the header row; empty columns at the sides are left out."""
    if not rows:
        return
    filled = [at for _, row in rows for at, cell in enumerate(row) if cell]
    first, last = min(filled), max(filled)
    header = rows[0][1][first : last + 1]
    headed = sum(map(bool, header)) > 1 and len(rows) > 2
    columns = _letters(left + first), _letters(left + last)
    at = 0
    while at < len(rows):
        end, size = at, 0
        while end < len(rows) and end - at < _MOST_ROWS and size < _FULL and (end - at < _LEAST_ROWS or size < _MANY):
            size += sum(map(len, rows[end][1]))
            end += 1
        shown = [row[first : last + 1] for _, row in rows[at:end]]
        label = f"{name}!{columns[0]}{rows[at][0]}:{columns[1]}{rows[end - 1][0]}"
        blocks: list[Block] = [] if at else [Heading(1, name, place=label)]
        blocks.append(Table(tuple([header, *shown] if at and headed else shown), headed, label))
        yield Part(blocks, label, whole=True)
        at = end


def read_table(path: Path, limits: ParseLimits) -> Flow:
    """A CSV or TSV file, whatever stands between its cells."""
    text, warnings = read_text(path)
    delimiter = _delimiter(text[:_SAMPLE])
    csv.field_size_limit(2**31 - 1)
    cells = 0
    rows: list[Row] = []
    try:
        for at, row in enumerate(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), 1):
            cells += len(row)
            limits.check("max_cells", cells, f"{path}: it has {cells:,} cells or more")
            if any(cell.strip() for cell in row):
                rows.append((at, tuple(row)))
    except csv.Error as error:
        raise DocumentError(f"{path}: its rows cannot be told apart ({error}).") from error
    width = max((len(row) for _, row in rows), default=0)
    filled = [(at, row + ("",) * (width - len(row))) for at, row in rows]
    return Flow(sheet_parts(path.stem, filled), {}, warnings)


def _delimiter(text: str) -> str:
    """The sign that cuts most of the first lines into the same number of cells."""
    lines = text.splitlines()[:50]
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
    if isinstance(value, float):
        return f"{value:.15g}" if value == value and abs(value) < 1e15 else str(value)
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
