"""Sheets in XML texts, whose cells contain their displayed text.

The formats are OpenDocument (ODS) and SpreadsheetML (Excel 2003).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from lxml import etree

from hybrid_core.errors import BrokenFileError, DocumentError, PasswordError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Paragraph, Remark, comment
from indexers.formats.flow.linear import Look, Piece, equation, inherited_looks, linear
from indexers.formats.flow.safety import Package, line_of, read_xml
from indexers.formats.limits import ParseLimits
from indexers.formats.office.grid import Grid, Span, column_name, hidden_notes
from indexers.formats.office.number_formats import general, show, show_text
from indexers.formats.office.xlsx import running_text

_NS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_OFFICE, _TEXT, _TABLE, _DRAW, _STYLE = (_NS % name for name in ("office", "text", "table", "drawing", "style"))
_CHART, _FORM = _NS % "chart", _NS % "form"
_LINK = "{http://www.w3.org/1999/xlink}href"
_SVG = _NS % "svg-compatible"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
_SS = "{urn:schemas-microsoft-com:office:spreadsheet}"
_EXCEL = "{urn:schemas-microsoft-com:office:excel}"
_GROUPS = ("table-row-group", "table-rows", "table-header-rows")
_NO_SHEETS = (f"{_TABLE}table", f"{_TABLE}dde-link")  # tables inside them are no sheets
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
    looks_of = text_looks([root, *([package.xml("styles.xml")] if "styles.xml" in package else [])])
    styles = list(root.iter(f"{_STYLE}style"))
    looks = ((style.get(f"{_STYLE}name"), style.find(f"{_STYLE}table-properties")) for style in styles)
    unshown = {name for name, look in looks if look is not None and look.get(f"{_TABLE}display") == "false"}
    tables = [table for table in root.iter(f"{_TABLE}table") if _is_sheet(table)]
    if hidden := sum(table.get(f"{_TABLE}style-name") in unshown for table in tables):
        warnings.append(Note("read.hidden-sheets", hidden=hidden, sheets=len(tables)))
    return _ods_sheets(package, root, path, limits, looks_of, warnings)


Looks = dict[tuple[str, str], Look]
"""The looks of styles, by family ("text", "paragraph", "table-cell") and name."""


def text_looks(roots: Sequence[etree._Element]) -> Looks:
    """Return the looks of the styles of a document, with those of their parent styles."""
    styles = {(style.get(f"{_STYLE}family", "text"), style.get(f"{_STYLE}name", "")): style
              for root in reversed(roots) for style in root.iter(f"{_STYLE}style")}  # fmt: skip
    own = {key: _own_look(style.find(f"{_STYLE}text-properties")) for key, style in styles.items()}
    parents = {key: (key[0], style.get(f"{_STYLE}parent-style-name") or "") for key, style in styles.items()}
    return {key: look for key, look in inherited_looks(own, parents).items() if look != Look()}


def _own_look(properties: etree._Element | None) -> Look:
    """Return the look that text properties set themselves."""
    if properties is None:
        return Look()
    position, display = properties.get(f"{_STYLE}text-position"), properties.get(f"{_TEXT}display")
    shift = None
    if position is not None:
        place = position.split(" ")[0]
        shift = 0 if place in ("", "0%") else -1 if place == "sub" or place.startswith("-") else 1
    line = properties.get(f"{_STYLE}text-line-through-style") or properties.get(f"{_STYLE}text-line-through-type")
    return Look(
        shift, None if line is None else line != "none", None if display is None else display in ("none", "condition")
    )


def form_controls(root: etree._Element) -> dict[str, str]:
    """Return the fields of the forms of a document as they are shown, by id."""
    shown: dict[str, str] = {}
    for control in (control for forms in root.iter(f"{_OFFICE}forms") for control in forms.iter()):
        if name := control.get(f"{_FORM}id") or control.get("{http://www.w3.org/XML/1998/namespace}id"):
            shown[name] = _control_text(control)
    return shown


def _control_text(control: etree._Element) -> str:
    kind, label = etree.QName(control).localname, control.get(f"{_FORM}label") or ""
    if kind in ("checkbox", "radio"):
        states = [control.get(f"{_FORM}{name}") for name in ("current-state", "current-selected", "state", "selected")]
        state = next((state for state in states if state is not None), "false")
        return f"{'☒' if state in ('checked', 'true') else '☐'} {label}".strip()
    if kind == "listbox":
        for name in ("current-selected", "selected"):
            if chosen := [item.get(f"{_FORM}label") or "" for item in control if item.get(f"{_FORM}{name}") == "true"]:
                return ", ".join(chosen)
        return ""
    if kind in ("hidden", "password"):
        return ""
    return " ".join((control.get(f"{_FORM}current-value") or control.get(f"{_FORM}value") or label).split())


def _is_sheet(table: etree._Element) -> bool:
    return not any(str(node.tag) in _NO_SHEETS for node in table.iterancestors())


def _ods_sheets(
    package: Package,
    root: etree._Element,
    path: Path,
    limits: ParseLimits,
    looks: Looks,
    warnings: list[str],
) -> Iterator[tuple[str, Grid]]:
    heads = _running_heads(package, root)
    for table in root.iter(f"{_TABLE}table"):
        if not _is_sheet(table):
            continue
        controls = form_controls(table)
        grid = Grid(limits, "a sheet", file=path)
        number = hidden = uncomputed = 0
        name = table.get(f"{_TABLE}name") or "Sheet"
        for row in _row_elements(table, 0):
            times = _int(row.get(f"{_TABLE}number-rows-repeated"), 1)
            cells, spans, notes, formulas = _read_row(row, number + 1, looks)
            uncomputed += formulas
            for again in range(min(times, _MOST_REPEATED) if cells else 0):
                grid.add(number + 1 + again, cells)
            hidden += bool(cells) and row.get(f"{_TABLE}visibility", "visible") != "visible"
            grid.merged += spans
            grid.apart += notes
            number += times
        grid.apart += heads.get(table.get(f"{_TABLE}style-name") or "", ())
        columns = [at for at in _hidden_columns(table) if grid.first <= at <= grid.last]
        warnings += hidden_notes(name, hidden, len(columns))
        if uncomputed:
            warnings.append(Note("read.uncomputed", sheet=name, formulas=uncomputed))
        for shape in table.findall(f"{_TABLE}shapes"):
            grid.apart += [(0, Paragraph(text)) for text in _descriptions(shape)]
            names = [control.get(f"{_DRAW}control") or "" for control in shape.iter(f"{_DRAW}control")][:_MOST_REPEATED]
            grid.apart += [(0, Paragraph(text)) for name in names if (text := controls.get(name))]
            for paragraph in list(shape.iter(f"{_TEXT}p"))[:_MOST_REPEATED]:
                if text := _paragraph(paragraph, looks).strip():
                    grid.apart.append((0, Paragraph(text)))
        for element in list(table.iter(f"{_DRAW}object"))[:_MOST_REPEATED]:
            grid.apart += [(0, Paragraph(text)) for text in _object_texts(package, element.get(_LINK) or "")]
        yield name, grid


def _running_heads(package: Package, root: etree._Element) -> dict[str, list[tuple[int, Block]]]:
    """Return the running heads of sheets, by the style of the sheet. Those with only fields and one word are left out.

    LibreOffice writes such a head ("Page 1") into every file.
    """
    roots = [root, *([package.xml("styles.xml")] if "styles.xml" in package else [])]
    shown: dict[str, list[tuple[int, Block]]] = {}
    for page in (page for source in roots for page in source.iter(f"{_STYLE}master-page")):
        blocks: dict[str, Block] = {}
        for head in page:
            kind = str(head.tag).removeprefix(_STYLE)
            if not kind.startswith(("header", "footer")) or head.get(f"{_STYLE}display") == "false":
                continue
            for paragraph in head.iter(f"{_TEXT}p"):
                fields = [node for node in paragraph.iter() if str(node.tag).removeprefix(_TEXT) in _FIELDS]
                for field in fields:
                    field.text = None
                text = line_of(paragraph)
                if text and not (fields and len(re.findall(r"\w+", text)) < 2):
                    blocks[text] = Remark(text, kind[:6])
        shown[page.get(f"{_STYLE}name", "")] = [(0, block) for block in blocks.values()]
    return {
        style.get(f"{_STYLE}name", ""): shown.get(style.get(f"{_STYLE}master-page-name") or "Default", [])
        for style in root.iter(f"{_STYLE}style") if style.get(f"{_STYLE}family") == "table"
    } | {"": shown.get("Default", [])}  # fmt: skip


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
    row: etree._Element, number: int, looks: Looks
) -> tuple[dict[int, str], list[Span], list[tuple[int, Block]], int]:
    """Return the cells of a row, its merged cells, its notes and drawn texts, and its formulas without values."""
    cells: dict[int, str] = {}
    spans: list[Span] = []
    apart: list[tuple[int, Block]] = []
    at = uncomputed = 0
    for cell in row:
        if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        times = _int(cell.get(f"{_TABLE}number-columns-repeated"), 1)
        lines: list[str] = []
        for node in cell:
            if node.tag == f"{_OFFICE}annotation":
                text = " ".join(filter(None, (_paragraph(p, looks) for p in node.iter(f"{_TEXT}p"))))
                apart.append((number, comment(text, node.findtext(_CREATOR))))
            elif str(node.tag).startswith(_DRAW):
                apart += [(number, Paragraph(text)) for text in _descriptions(node)]
                apart += [(number, Paragraph(text)) for p in node.iter(f"{_TEXT}p") if (text := _paragraph(p, looks))]
            else:
                lines += [_paragraph(p, looks) for p in node.iter(f"{_TEXT}p", f"{_TEXT}h")]
        text = "\n".join(filter(None, lines)).strip() or _stored_value(cell)
        if not text and (text := _formula(cell)):
            uncomputed += 1
        if text:
            if looks.get(("table-cell", cell.get(f"{_TABLE}style-name") or ""), Look()).struck and "~~" not in text:
                text = f"~~{text}~~"
            cells |= {at + again: text for again in range(min(times, _MOST_REPEATED))}
        wide = _int(cell.get(f"{_TABLE}number-columns-spanned"), 1)
        tall = _int(cell.get(f"{_TABLE}number-rows-spanned"), 1)
        if wide * tall > 1:
            spans.append(Span(number, at, number + tall - 1, at + wide - 1))
        at += times
    return cells, spans, apart, uncomputed


_SPENT = re.compile(r"PT(?:(\d{1,6})H)?(?:(\d{1,4})M)?(?:(\d{1,4}(?:[.,]\d+)?)S)?")
_SPACE = re.compile(r"[a-z]{1,10}:=")
_CELLS = re.compile(r"\[\.?([^\[\]]{1,200})\]")
_LONGEST_FORMULA = 500
_FIELDS = frozenset(("sheet-name", "page-number", "page-count", "date", "time", "title", "file-name"))


def _stored_value(cell: etree._Element) -> str:
    """Return the stored value of a cell without a displayed text."""
    for name in ("date-value", "time-value", "string-value", "boolean-value"):
        if stored := cell.get(f"{_OFFICE}{name}"):
            if name == "time-value" and (spent := _SPENT.fullmatch(stored)):
                hours, minutes, seconds = (int(float(part or 0)) for part in spent.groups())
                return f"{hours}:{minutes:02}:{seconds:02}" if seconds else f"{hours}:{minutes:02}"
            if name == "boolean-value":
                return stored.upper()
            return stored.removesuffix("T00:00:00").replace("T", " ") if name == "date-value" else stored
    stored = cell.get(f"{_OFFICE}value") or ""
    kind = cell.get(f"{_OFFICE}value-type")
    try:
        if stored and kind == "percentage":
            return f"{general(float(Decimal(stored) * 100))}%"
        number = general(float(stored), stored) if stored else ""
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


def _paragraph(paragraph: etree._Element, looks: Looks) -> str:
    pieces = [Piece(_spaced(paragraph.text))]
    waiting: list[tuple[Any, Look, bool]] = [(node, Look(), False) for node in reversed(paragraph)]
    while waiting:
        node, look, done = waiting.pop()
        if done:
            pieces.append(Piece(_spaced(node.tail), look.shift or 0, bool(look.struck)))
            continue
        waiting.append((node, look, True))
        if node.tag == f"{_TEXT}s":
            pieces.append(Piece(" " * min(100, _int(node.get(f"{_TEXT}c"), 1))))
        elif node.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            pieces.append(Piece(" "))
        elif node.tag not in (f"{_TEXT}ruby-text", f"{_OFFICE}annotation"):
            inner = looks.get(("text", node.get(f"{_TEXT}style-name") or ""), Look()).over(look)
            pieces.append(Piece(_spaced(node.text), inner.shift or 0, bool(inner.struck)))
            waiting += [(child, inner, False) for child in reversed(node)]
    return " ".join(linear(pieces).split())


_NAMED_FORMATS = {"Percent": "0.00%", "Fixed": "0.00", "Standard": "#,##0.00", "Scientific": "0.00E+00",
                  "Currency": '"$"#,##0.00', "Euro Currency": '"€" #,##0.00', "Yes/No": '"Yes";"Yes";"No"',
                  "True/False": '"True";"True";"False"', "On/Off": '"On";"On";"Off"', "General Date": "yyyy-mm-dd h:mm",
                  "Short Date": "yyyy-mm-dd", "Medium Date": "yyyy-mm-dd", "Long Date": "yyyy-mm-dd",
                  "Short Time": "h:mm", "Medium Time": "h:mm AM/PM", "Long Time": "h:mm:ss"}  # fmt: skip
_DAY_ONE, _LEAP_BUG = datetime(1899, 12, 31), 59  # Excel counts a 29th of February 1900
_RELATIVE = re.compile(r"(?<![\w.\"'])R(\[-?\d{1,7}\]|\d{1,7})?C(\[-?\d{1,5}\]|\d{1,5})?(?![\w.(])")
_HTML = "{http://www.w3.org/TR/REC-html40}"


def read_spreadsheetml(path: Path, limits: ParseLimits, warnings: list[str]) -> Iterator[tuple[str, Grid]]:
    """Read the sheets of a workbook saved as XML by Excel 2003."""
    limits.check_file(path)
    root, _ = read_xml(path.read_bytes(), "the file is damaged: it", file=path)
    sheets = list(root.iter(f"{_SS}Worksheet"))
    if not sheets:
        raise BrokenFileError("the file is damaged: it has no sheets.", file=path)
    if hidden := sum(_is_hidden_sheet(sheet) for sheet in sheets):
        warnings.append(Note("read.hidden-sheets", hidden=hidden, sheets=len(sheets)))
    return _xml_sheets(root, sheets, path, limits, warnings)


def _is_hidden_sheet(sheet: etree._Element) -> bool:
    states = sheet.iterfind("{*}WorksheetOptions/{*}Visible")
    return any((state.text or "").strip().startswith("SheetHidden") for state in states)


def _cell_styles(root: etree._Element) -> dict[str, tuple[str, Look]]:
    """Return the number format and the look of each style of cells, with those of their parent styles."""
    styles = {style.get(f"{_SS}ID", ""): style for style in root.iter(f"{_SS}Style")}
    looks: dict[str, tuple[str, Look]] = {}
    for name in styles:
        code, look, above, seen = "", Look(), name, set[str]()
        while above in styles and above not in seen:
            seen.add(above)
            format, font = (styles[above].find(f"{_SS}{kind}") for kind in ("NumberFormat", "Font"))
            code = code or ("" if format is None else format.get(f"{_SS}Format") or "")
            struck = None if font is None else font.get(f"{_SS}StrikeThrough")
            look = look.over(Look(struck=None if struck is None else struck == "1"))
            above = styles[above].get(f"{_SS}Parent") or ""
        looks[name] = _NAMED_FORMATS.get(code, code), look
    return looks


def _xml_sheets(
    root: etree._Element, sheets: list[etree._Element], path: Path, limits: ParseLimits, warnings: list[str]
) -> Iterator[tuple[str, Grid]]:
    styles = _cell_styles(root)
    for sheet in sheets:
        grid = Grid(limits, "a sheet", file=path)
        name = sheet.get(f"{_SS}Name") or "Sheet"
        number = hidden = uncomputed = 0
        for row in sheet.iter(f"{_SS}Row"):
            number = _int(row.get(f"{_SS}Index"), number + 1)
            cells: dict[int, str] = {}
            at = -1
            for cell in row.findall(f"{_SS}Cell"):
                at = _int(cell.get(f"{_SS}Index"), at + 2) - 1
                data, note = cell.find(f"{_SS}Data"), cell.find(f"{_SS}Comment")
                code, look = styles.get(cell.get(f"{_SS}StyleID") or row.get(f"{_SS}StyleID") or "", ("", Look()))
                text = "" if data is None else _format_data(data, code)
                if not text and (text := _a1(cell.get(f"{_SS}Formula") or "", number, at)):
                    uncomputed += 1
                if text:
                    cells[at] = f"~~{text}~~" if look.struck else text
                if note is not None and (text := line_of(note)):
                    grid.apart.append((number, comment(text, note.get(f"{_SS}Author"))))
                wide, tall = _int(cell.get(f"{_SS}MergeAcross"), 0), _int(cell.get(f"{_SS}MergeDown"), 0)
                if wide or tall:
                    grid.merged.append(Span(number, at, number + tall, at + wide))
                at += wide
            hidden += bool(cells) and row.get(f"{_SS}Hidden") == "1"
            grid.add(number, cells)
        for kind in ("Header", "Footer"):
            for head in sheet.iterfind(f"{{*}}WorksheetOptions/{{*}}PageSetup/{{*}}{kind}"):
                if text := running_text(head.get(f"{_EXCEL}Data") or ""):
                    grid.apart.append((0, Remark(text, kind.lower())))
        columns = sum(1 for column in sheet.iter(f"{_SS}Column") if column.get(f"{_SS}Hidden") == "1")
        warnings += hidden_notes(name, hidden, columns)
        if uncomputed:
            warnings.append(Note("read.uncomputed", sheet=name, formulas=uncomputed))
        yield name, grid


def _a1(formula: str, row: int, at: int) -> str:
    """Return a formula with the names of its cells (B2) in place of their distances (RC[1])."""

    def named(place: re.Match[str]) -> str:
        numbers = [
            own if text is None else own + int(text[1:-1]) if text[0] == "[" else int(text)
            for text, own in zip(place.groups(), (row, at + 1), strict=True)
        ]
        return f"{column_name(max(0, numbers[1] - 1))}{max(1, numbers[0])}"

    return _RELATIVE.sub(named, formula[:_LONGEST_FORMULA])


def _format_data(data: etree._Element, code: str) -> str:
    """Return the value of a cell as its number format shows it."""
    text, kind = line_of(data), data.get(f"{_SS}Type")
    try:
        if kind == "Boolean":
            return {"1": "TRUE", "0": "FALSE"}.get(text, text)
        if kind == "DateTime" and code:
            days = (datetime.fromisoformat(text) - _DAY_ONE).total_seconds() / 86_400
            return show(days + (days > _LEAP_BUG), code)
        if kind == "DateTime":
            return text.removesuffix(".000").removesuffix("T00:00:00").replace("T", " ")
        if kind == "Number":
            return show(float(text), code, written=text)
    except ValueError:
        return text
    return show_text(_rich_text(data) if len(data) else text, code) if kind == "String" else text


def _rich_text(data: etree._Element) -> str:
    """Return formatted text, whose elements are those of HTML."""
    pieces = [Piece(data.text or "")]
    waiting: list[tuple[etree._Element, int, bool, bool]] = [(node, 0, False, False) for node in reversed(data)]
    while waiting:
        node, shift, struck, done = waiting.pop()
        if done:
            pieces.append(Piece(node.tail or "", shift, struck))
            continue
        waiting.append((node, shift, struck, True))
        name = str(node.tag).removeprefix(_HTML)
        shift, struck = {"Sup": 1, "Sub": -1}.get(name, shift), struck or name == "S"
        pieces.append(Piece(node.text or "", shift, struck))
        waiting += [(child, shift, struck, False) for child in reversed(node)]
    return " ".join(linear(pieces).split())


def _spaced(text: str | None) -> str:
    return " ".join(text.split("\n")) if text else ""


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() and len(text) < 10 else default
