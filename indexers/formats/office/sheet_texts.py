"""Sheets in XML texts, whose cells contain their displayed text.

The formats are OpenDocument (ODS) and SpreadsheetML (Excel 2003).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from lxml import etree

from hybrid_core.errors import BrokenFileError, DocumentError, PasswordError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Paragraph, comment
from indexers.formats.flow.linear import Piece, equation, linear
from indexers.formats.flow.safety import Package, line_of, read_xml
from indexers.formats.limits import ParseLimits
from indexers.formats.office.grid import Grid, Span, hidden_notes
from indexers.formats.office.number_formats import general

_NS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_OFFICE, _TEXT, _TABLE, _DRAW, _STYLE = (_NS % name for name in ("office", "text", "table", "drawing", "style"))
_CHART = _NS % "chart"
_LINK = "{http://www.w3.org/1999/xlink}href"
_SVG = _NS % "svg-compatible"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
_SS = "{urn:schemas-microsoft-com:office:spreadsheet}"
_GROUPS = ("table-row-group", "table-rows", "table-header-rows")
_MOST_REPEATED = 1_000
_DEEPEST = 30


def read_ods(package: Package, path: Path, limits: ParseLimits, warnings: list[str]) -> Iterator[tuple[str, Grid]]:
    """Read the sheets of an OpenDocument file. Raise PasswordError if it is encrypted."""
    if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise PasswordError(
            "the file is encrypted.", "Save a copy of the file without a password, and index the copy.", file=path
        )
    root = package.xml("content.xml")
    warnings += package.warnings
    raised = text_shifts(root)
    styles = list(root.iter(f"{_STYLE}style"))
    looks = ((style.get(f"{_STYLE}name"), style.find(f"{_STYLE}table-properties")) for style in styles)
    unshown = {name for name, look in looks if look is not None and look.get(f"{_TABLE}display") == "false"}
    tables = list(root.iter(f"{_TABLE}table"))
    if hidden := sum(table.get(f"{_TABLE}style-name") in unshown for table in tables):
        warnings.append(Note("read.hidden-sheets", hidden=hidden, sheets=len(tables)))
    return _ods_sheets(package, root, path, limits, raised, warnings)


def text_shifts(root: etree._Element) -> dict[str, tuple[int, bool]]:
    """Return ``{style name: (shift, struck out)}`` for character styles.

    ``shift`` is 1 for superscript, -1 for subscript, 0 for neither. Styles without such a format are left out.
    """
    shifts: dict[str, tuple[int, bool]] = {}
    for style in root.iter(f"{_STYLE}style"):
        for how in style.iter(f"{_STYLE}text-properties"):
            place = (how.get(f"{_STYLE}text-position") or "").split(" ")[0]
            low = place == "sub" or place.startswith("-")
            shift = 0 if place in ("", "0%") else -1 if low else 1
            line = how.get(f"{_STYLE}text-line-through-style") or how.get(f"{_STYLE}text-line-through-type") or "none"
            if shift or line != "none":
                shifts[style.get(f"{_STYLE}name", "")] = shift, line != "none"
    return shifts


def _ods_sheets(
    package: Package,
    root: etree._Element,
    path: Path,
    limits: ParseLimits,
    raised: dict[str, tuple[int, bool]],
    warnings: list[str],
) -> Iterator[tuple[str, Grid]]:
    for table in root.iter(f"{_TABLE}table"):
        if any(str(node.tag) == f"{_TABLE}table" for node in table.iterancestors()):
            continue
        grid = Grid(limits, "a sheet", file=path)
        number = hidden = 0
        name = table.get(f"{_TABLE}name") or "Sheet"
        for row in _row_elements(table, 0):
            times = _int(row.get(f"{_TABLE}number-rows-repeated"), 1)
            cells, spans, notes = _read_row(row, number + 1, raised)
            for again in range(min(times, _MOST_REPEATED) if cells else 0):
                grid.add(number + 1 + again, cells)
            hidden += bool(cells) and row.get(f"{_TABLE}visibility", "visible") != "visible"
            grid.merged += spans
            grid.apart += notes
            number += times
        columns = [at for at in _hidden_columns(table) if grid.first <= at <= grid.last]
        warnings += hidden_notes(name, hidden, len(columns))
        for shape in table.findall(f"{_TABLE}shapes"):
            grid.apart += [(0, Paragraph(text)) for text in _descriptions(shape)]
            for paragraph in list(shape.iter(f"{_TEXT}p"))[:_MOST_REPEATED]:
                if text := _paragraph(paragraph, raised).strip():
                    grid.apart.append((0, Paragraph(text)))
        for element in list(table.iter(f"{_DRAW}object"))[:_MOST_REPEATED]:
            grid.apart += [(0, Paragraph(text)) for text in _object_texts(package, element.get(_LINK) or "")]
        yield name, grid


def _object_texts(package: Package, link: str) -> Iterator[str]:
    """Yield the texts of an embedded object: the titles of a chart, or a formula as one line."""
    target = f"{link.removeprefix('./').rstrip('/')}/content.xml"
    if target not in package:
        return
    try:
        inner = package.xml(target)
    except DocumentError:
        return  # its values are in the cells
    if etree.QName(inner).localname == "math":
        yield equation(inner)
    for title in inner.iter(*(f"{_CHART}{kind}" for kind in ("title", "subtitle", "footer"))):
        if text := " ".join(" ".join(map(str, title.itertext())).split()):
            yield text


def _hidden_columns(table: etree._Element) -> Iterator[int]:
    at = 0
    for column in table.iter(f"{_TABLE}table-column"):
        times = _int(column.get(f"{_TABLE}number-columns-repeated"), 1)
        if column.get(f"{_TABLE}visibility", "visible") != "visible":
            yield from range(at, at + min(times, _MOST_REPEATED))
        at += times


def _descriptions(shape: etree._Element) -> Iterator[str]:
    """Yield the alternative texts of a drawn shape."""
    for node in list(shape.iter(f"{_SVG}title", f"{_SVG}desc"))[:_MOST_REPEATED]:
        if text := " ".join((node.text or "").split()):
            yield text


def _row_elements(parent: etree._Element, deep: int) -> Iterator[etree._Element]:
    for child in parent:
        if child.tag == f"{_TABLE}table-row":
            yield child
        elif deep < _DEEPEST and str(child.tag).removeprefix(_TABLE) in _GROUPS:
            yield from _row_elements(child, deep + 1)


def _read_row(
    row: etree._Element, number: int, raised: dict[str, tuple[int, bool]]
) -> tuple[dict[int, str], list[Span], list[tuple[int, Block]]]:
    cells: dict[int, str] = {}
    spans: list[Span] = []
    apart: list[tuple[int, Block]] = []
    at = 0
    for cell in row:
        if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        times = _int(cell.get(f"{_TABLE}number-columns-repeated"), 1)
        lines: list[str] = []
        for node in cell:
            if node.tag == f"{_OFFICE}annotation":
                text = " ".join(filter(None, (_paragraph(p, raised) for p in node.iter(f"{_TEXT}p"))))
                apart.append((number, comment(text, node.findtext(_CREATOR))))
            elif str(node.tag).startswith(_DRAW):
                apart += [(number, Paragraph(text)) for text in _descriptions(node)]
                apart += [(number, Paragraph(text)) for p in node.iter(f"{_TEXT}p") if (text := _paragraph(p, raised))]
            else:
                lines += [_paragraph(p, raised) for p in node.iter(f"{_TEXT}p", f"{_TEXT}h")]
        if text := "\n".join(filter(None, lines)).strip() or _stored_value(cell):
            cells |= {at + again: text for again in range(min(times, _MOST_REPEATED))}
        wide = _int(cell.get(f"{_TABLE}number-columns-spanned"), 1)
        tall = _int(cell.get(f"{_TABLE}number-rows-spanned"), 1)
        if wide * tall > 1:
            spans.append(Span(number, at, number + tall - 1, at + wide - 1))
        at += times
    return cells, spans, apart


_SPENT = re.compile(r"PT(?:(\d{1,6})H)?(?:(\d{1,4})M)?(?:(\d{1,4}(?:[.,]\d+)?)S)?")
_SPACE = re.compile(r"[a-z]{1,10}:=")
_CELLS = re.compile(r"\[\.?([^\[\]]{1,200})\]")
_LONGEST_FORMULA = 500


def _stored_value(cell: etree._Element) -> str:
    """Return the stored value of a cell without a displayed text."""
    for name in ("date-value", "time-value", "string-value", "boolean-value"):
        if stored := cell.get(f"{_OFFICE}{name}"):
            if name == "time-value" and (spent := _SPENT.fullmatch(stored)):
                hours, minutes, seconds = (int(float(part or 0)) for part in spent.groups())
                return f"{hours}:{minutes:02}:{seconds:02}" if seconds else f"{hours}:{minutes:02}"
            return stored.removesuffix("T00:00:00").replace("T", " ") if name == "date-value" else stored
    stored = cell.get(f"{_OFFICE}value") or ""
    kind = cell.get(f"{_OFFICE}value-type")
    try:
        if stored and kind == "percentage":
            return f"{general(float(Decimal(stored) * 100))}%"
        number = general(float(stored), stored) if stored else _formula(cell)
        return f"{number} {cell.get(f'{_OFFICE}currency') or ''}".strip() if kind == "currency" else number
    except ArithmeticError:
        return stored
    except ValueError:
        return stored


def _formula(cell: etree._Element) -> str:
    """Return the formula of a cell without a stored value, as a spreadsheet shows it."""
    formula = cell.get(f"{_TABLE}formula") or ""
    if cell.get(f"{_OFFICE}value-type"):
        return ""
    written = formula.partition(":")[2] if _SPACE.match(formula) else formula
    return _CELLS.sub(lambda inner: inner[1].replace(":.", ":"), written)[:_LONGEST_FORMULA]


def _paragraph(paragraph: etree._Element, raised: dict[str, tuple[int, bool]]) -> str:
    pieces = [Piece(_spaced(paragraph.text))]
    waiting: list[tuple[Any, int, bool, bool]] = [(node, 0, False, False) for node in reversed(paragraph)]
    while waiting:
        node, shift, struck, done = waiting.pop()
        if done:
            pieces.append(Piece(_spaced(node.tail), shift, struck))
            continue
        waiting.append((node, shift, struck, True))
        if node.tag == f"{_TEXT}s":
            pieces.append(Piece(" " * min(100, _int(node.get(f"{_TEXT}c"), 1))))
        elif node.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            pieces.append(Piece(" "))
        elif node.tag not in (f"{_TEXT}ruby-text", f"{_OFFICE}annotation"):
            inner = raised.get(node.get(f"{_TEXT}style-name") or "", (shift, struck))
            pieces.append(Piece(_spaced(node.text), *inner))
            waiting += [(child, *inner, False) for child in reversed(node)]
    return " ".join(linear(pieces).split())


def read_spreadsheetml(path: Path, limits: ParseLimits) -> Iterator[tuple[str, Grid]]:
    """Read the sheets of a workbook saved as XML by Excel 2003."""
    limits.check_file(path)
    root, _ = read_xml(path.read_bytes(), "the file is damaged: it", file=path)
    sheets = list(root.iter(f"{_SS}Worksheet"))
    if not sheets:
        raise BrokenFileError("the file is damaged: it has no sheets.", file=path)
    return _xml_sheets(sheets, path, limits)


def _xml_sheets(sheets: list[etree._Element], path: Path, limits: ParseLimits) -> Iterator[tuple[str, Grid]]:
    for sheet in sheets:
        grid = Grid(limits, "a sheet", file=path)
        number = 0
        for row in sheet.iter(f"{_SS}Row"):
            number = _int(row.get(f"{_SS}Index"), number + 1)
            cells: dict[int, str] = {}
            at = -1
            for cell in row.findall(f"{_SS}Cell"):
                at = _int(cell.get(f"{_SS}Index"), at + 2) - 1
                data, note = cell.find(f"{_SS}Data"), cell.find(f"{_SS}Comment")
                if data is not None and (text := _format_data(data)):
                    cells[at] = text
                if note is not None and (text := line_of(note)):
                    grid.apart.append((number, comment(text, note.get(f"{_SS}Author"))))
                wide, tall = _int(cell.get(f"{_SS}MergeAcross"), 0), _int(cell.get(f"{_SS}MergeDown"), 0)
                if wide or tall:
                    grid.merged.append(Span(number, at, number + tall, at + wide))
                at += wide
            grid.add(number, cells)
        yield sheet.get(f"{_SS}Name") or "Sheet", grid


def _format_data(data: etree._Element) -> str:
    text, kind = line_of(data), data.get(f"{_SS}Type")
    if kind == "DateTime":
        return text.removesuffix(".000").removesuffix("T00:00:00").replace("T", " ")
    try:
        return general(float(text), text) if kind == "Number" else text
    except ValueError:
        return text


def _spaced(text: str | None) -> str:
    return " ".join(text.split("\n")) if text else ""


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() and len(text) < 10 else default
