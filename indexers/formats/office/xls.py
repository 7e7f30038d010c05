"""XLS (Excel 5 to 2003) -> sheets as they show: number formats, raised and struck words, merged blocks, comments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indexers.formats.flow.blocks import Note
from indexers.formats.flow.scripts import Piece, linear
from indexers.formats.limits import ParseLimits
from indexers.formats.office.grid import Grid, Span
from indexers.formats.office.number_formats import show

_MOST_MERGED, _MOST_NOTES = 20_000, 2_000
_SHIFTS = {1: 1, 2: -1}  # escapement of a font: above the line, below it
_TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR = 1, 2, 3, 4, 5


def open_xls(path: Path) -> Any:
    """Open a workbook with its formats. Raises what ``xlrd`` raises for damaged files, of many types."""
    import xlrd

    with Path(os.devnull).open("w", encoding="utf-8") as quiet:
        return xlrd.open_workbook(str(path), logfile=quiet, formatting_info=True, on_demand=True, ragged_rows=True)


def read_xls(book: Any, path: Path, warnings: list[str], limits: ParseLimits) -> Iterator[tuple[str, Grid]]:
    """The sheets of an open workbook, by their names; one that cannot be read is noted."""
    hidden = sum(visible != 0 for visible in book._sheet_visibility)
    if hidden:
        warnings.append(f"{hidden} of its {book.nsheets} sheets are hidden; they were read as the others")
    for at, name in enumerate(book.sheet_names()):
        grid = Grid(limits, f"{path}: a sheet")
        try:
            sheet = book.sheet_by_index(at)
            grid.merged += [Span(a + 1, c, b, d - 1) for a, b, c, d in sheet.merged_cells[:_MOST_MERGED]]
            hidden_rows = _fill(grid, book, sheet)
            grid.apart += [
                (row + 1, Note(note.text.strip(), "comment"))
                for (row, _), note in sorted(sheet.cell_note_map.items())[:_MOST_NOTES]
                if note.text.strip()
            ]
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            warnings.append(f"sheet «{name}» is damaged, and was read only in part ({type(error).__name__})")
        else:
            if hidden_rows:
                warnings.append(f"sheet «{name}»: {hidden_rows} rows are hidden; they were read as the others")
        book.unload_sheet(at)
        yield name, grid


def _fill(grid: Grid, book: Any, sheet: Any) -> int:
    """Read a sheet's rows into a grid. Return how many of them are hidden."""
    hidden = 0
    for row in range(sheet.nrows):
        cells: dict[int, str] = {}
        values, kinds, styles = sheet.row_values(row), sheet.row_types(row), sheet._cell_xf_indexes[row]
        for place, (value, kind, style) in enumerate(zip(values, kinds, styles, strict=True)):
            if text := _text(book, sheet, (row, place), value, kind, style).strip():
                cells[place] = text
        grid.add(row + 1, cells)
        look = sheet.rowinfo_map.get(row)
        hidden += bool(cells and look is not None and look.hidden)
    return hidden


def _text(book: Any, sheet: Any, cell: tuple[int, int], value: Any, kind: int, style: int) -> str:
    if kind not in (_TEXT, _NUMBER, _DATE, _BOOLEAN, _ERROR):
        return ""
    look = book.xf_list[style] if 0 <= style < len(book.xf_list) else None
    font = book.font_list[look.font_index] if look is not None and look.font_index < len(book.font_list) else None
    if kind == _TEXT:
        return _words(book, font, value, sheet.rich_text_runlist_map.get(cell, ()))
    if kind == _ERROR:
        import xlrd

        text = xlrd.error_text_from_code.get(value, "#ERROR")
    elif kind == _BOOLEAN:
        text = "TRUE" if value else "FALSE"
    else:
        code = book.format_map.get(look.format_key) if look is not None else None
        text = show(float(value), code.format_str if code is not None else "", book.datemode == 1)
    return linear([Piece(text, struck=bool(font is not None and font.struck_out))])


def _words(book: Any, font: Any, text: str, runs: Any) -> str:
    """The words of a cell in their forms; ``runs`` are places from which on another font is used."""
    borders = [(0, font), *((at, book.font_list[number]) for at, number in runs if number < len(book.font_list))]
    ends = [*(at for at, _ in borders[1:]), len(text)]
    alone = len(borders) == 1
    return linear(
        Piece(
            text[at:end],
            0 if look is None or alone else _SHIFTS.get(look.escapement, 0),
            bool(look is not None and look.struck_out),
        )
        for (at, look), end in zip(borders, ends, strict=True)
    )
