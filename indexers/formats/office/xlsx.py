"""Reading of XLSX row by row: cells in their number formats, merged blocks, notes and boxes."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from lxml import etree

from hybrid_core.errors import DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Paragraph, Remark, comment
from indexers.formats.flow.linear import Piece, linear
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.limits import ParseLimits
from indexers.formats.office.charts import chart_titles, is_chart, series_names
from indexers.formats.office.grid import Grid, Span, column_name, hidden_notes
from indexers.formats.office.number_formats import BUILT_IN, show, show_text
from indexers.formats.office.ooxml import (
    R,
    choose_alternatives,
    diagram_words,
    drawn_lines,
    main_part,
    part,
    relations,
    unescaped,
)
from indexers.formats.office.symbol_fonts import decode_signs, signs_of

_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})["']""")
_REFERENCE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
_MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?$|(?<=:\d\d)\.0+$")
_THREADED = re.compile(r"\s*\[[^\]]{3,60}\]\s+[^:]{20,400}(?:https?:\S+\s+)?[^:]{0,200}?\b[^\s:]{3,30}:\s+", re.S)
_CELL = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')|(?P<fixed>\$?)\b(?P<letters>[A-Z]{1,3})(?P<still>\$?)(?P<row>\d{1,7})\b(?![(!.])"""
    r"""|(?P<name>[\w.]+)"""
)
_RUNNING = [f"{pages}{kind}" for kind in ("Header", "Footer") for pages in ("odd", "even", "first")]
_RUNNING_CODE = re.compile(r'&(?:"[^"]*"|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|\d+|[A-Za-z&])')
_FUNCTION_SPACE = re.compile(r"_xl(?:fn|ws|pm|udf|op)\.")  # before names of functions newer than the file format
_CELL_PICTURE = re.compile(r'=(?:_xlfn\.)?DISPIMG\("[^"]*",\d+\)')  # a picture in a cell, as WPS Office stores it
_RUN_FONT = "{*}r/{*}rPr/{*}rFont"
_UNCLOSED = re.compile(rb"<br\s*>", re.I)
_CHUNK = 2**20
_MOST_MERGED, _MOST_BLOCKS = 20_000, 2_000
_LONGEST_CELL = 32_767
_COPIED = "tc="  # begins the author of the copy of a threaded comment for older versions of Excel
_LONGEST_FORMULA = 500
_UNREADABLE = (etree.XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


class XlsxBook:
    """An open workbook. Raise DocumentError if its list of sheets cannot be read."""

    def __init__(self, package: Package, path: Path, limits: ParseLimits, warnings: list[str]) -> None:
        self._package, self._path, self._limits, self._warnings = package, path, limits, warnings
        name = main_part(package, path, "xl/workbook.xml")
        root = part(package, name)
        related = relations(package, name)
        self._related = dict(related.values())
        first = next(root.iter("{*}workbookPr"), None)
        self._since_1904 = first is not None and first.get("date1904") in ("1", "true")
        self.sheets: list[tuple[str, str]] = []  # name and part
        hidden = 0
        listed = list(root.iter("{*}sheet"))
        targets = [related.get(sheet.get(f"{R}id") or "", ("", ""))[1] for sheet in listed]
        for sheet, target in zip(listed, targets, strict=True):
            usual = f"xl/worksheets/sheet{len(self.sheets) + 1}.xml"
            if target not in package and usual not in targets:
                target = usual
            if target in package:
                self.sheets.append((sheet.get("name") or f"Sheet{len(self.sheets) + 1}", target))
                hidden += sheet.get("state") in ("hidden", "veryHidden")
        if hidden:
            warnings.append(Note("read.hidden-sheets", hidden=hidden, sheets=len(self.sheets)))
        self._own_fonts: set[int] = set()  # strings whose runs have fonts, which replace the font of the cell
        self._strings = self._shared()
        self._looks: dict[str, tuple[bool, str]] = {}  # of styles of cells: struck out, font of symbols
        self._formats = self._styles()
        self._persons = self._comment_persons()

    def read(self, name: str, target: str) -> Grid:
        """Read a sheet into a grid. Unreadable parts are skipped with a warning."""
        grid = Grid(self._limits, "a sheet", self._merged(target), file=self._path)
        rows = _Rows(self._strings, self._formats, self._since_1904, self._looks, self._own_fonts)
        try:
            for number, cells in rows.read(self._stream(target)):
                grid.add(number, cells)
        except _UNREADABLE:
            self._warnings.append(Note("read.named-part-partly", part=Note("part.sheet", sheet=name)))
        if rows.uncomputed:
            self._warnings.append(Note("read.uncomputed", sheet=name, formulas=rows.uncomputed))
        self._warnings += hidden_notes(name, rows.hidden, len(rows.hidden_columns))
        grid.apart += rows.heads
        try:
            grid.apart += self._read_apart(target)
        except DocumentError:
            self._warnings.append(Note("read.sheet-beside", sheet=name))
        return grid

    def _stream(self, target: str) -> Any:
        return self._package.stream(target)

    def _merged(self, target: str) -> list[Span]:
        spans: dict[Span, None] = {}
        before = b""
        try:
            with self._stream(target) as stream:
                while (piece := stream.read(_CHUNK)) and len(spans) < _MOST_MERGED:
                    for node in _MERGED.finditer(before + piece):
                        spans[Span(int(node[2]), column(node[1].decode()), int(node[4]), column(node[3].decode()))] = (
                            None
                        )
                    before = piece[-200:]
        except _UNREADABLE:
            pass  # the reader of its rows says so
        return list(spans)

    def _shared(self) -> list[str]:
        target = self._related.get("sharedStrings", "xl/sharedStrings.xml")
        inner: list[str] = []
        if target in self._package:
            try:
                for item in _elements(self._stream(target), "si"):
                    if item.find(_RUN_FONT) is not None:
                        self._own_fonts.add(len(inner))
                    inner.append(_string(item))
            except _UNREADABLE:
                self._warnings.append(Note("read.named-part-partly", part=Note("part.strings")))
        return inner

    def _styles(self) -> list[str]:
        """Return the number format code of each cell style."""
        target = self._related.get("styles", "xl/styles.xml")
        if target not in self._package:
            return []
        try:
            root = part(self._package, target)
        except DocumentError:
            self._warnings.append(Note("read.styles-unread"))
            return []
        codes = dict(BUILT_IN)
        for node in root.iter("{*}numFmt"):
            if (number := node.get("numFmtId") or "").isdigit():
                codes[int(number)] = node.get("formatCode") or ""
        styles = next(root.iter("{*}cellXfs"), None)
        numbers = [node.get("numFmtId") or "0" for node in (styles if styles is not None else ())]
        fonts = [
            (_is_on(font.find("{*}strike")), _symbol_font(font, "name")) for font in next(root.iter("{*}fonts"), ())
        ]
        for at, node in enumerate(styles if styles is not None else ()):
            font = node.get("fontId") or ""
            if font.isdigit() and int(font) < len(fonts) and any(fonts[int(font)]):
                self._looks[str(at)] = fonts[int(font)]
        return [codes.get(int(number), "") if number.isdigit() else "" for number in numbers]

    def _read_apart(self, target: str) -> Iterator[tuple[int, Block]]:
        """Yield the notes, boxes, shapes and charts of a sheet, each with its row."""
        related = relations(self._package, target).values()
        threaded = any(kind == "threadedComment" for kind, _ in related)
        for kind, inner in related:
            if inner not in self._package:
                continue
            if kind == "drawing":
                yield from drawn_blocks(self._package, inner)
            elif kind == "vmlDrawing":
                yield from _controls(self._package.read(inner))
            elif kind in ("comments", "threadedComment"):
                yield from self._comments(inner, threaded and kind == "comments")

    def _comments(self, target: str, copied: bool) -> Iterator[tuple[int, Block]]:
        """Yield the comments of a sheet, each with its row.

        ``copied`` means that another part has the threaded comments, so that their copies here are left out.
        """
        root = part(self._package, target)
        authors = [author.text or "" for author in root.iterfind("{*}authors/{*}author")]
        for node in list(root.iter("{*}comment", "{*}threadedComment"))[:_MOST_BLOCKS]:
            place, text = node.get("ref") or "", _string(node).strip()
            number = node.get("authorId") or ""
            author = self._persons.get(node.get("personId") or "", "")
            if number.isdigit() and int(number) < len(authors) and not authors[int(number)].startswith(_COPIED):
                author = authors[int(number)]
            if text.startswith("[") and not str(node.tag).endswith("threadedComment"):
                text = "" if copied and _THREADED.match(text) else _THREADED.sub("", text, count=1)
            if text:
                reference = _REFERENCE.match(place)
                yield int(reference[2]) if reference else 0, comment(text, author, cell=place)

    def _comment_persons(self) -> dict[str, str]:
        """Return the names of the authors of threaded comments by id."""
        target = self._related.get("person", "")
        if target not in self._package:
            return {}
        try:
            root = part(self._package, target)
        except DocumentError:
            self._warnings.append(Note("read.part-unread", name=target))
            return {}
        return {person.get("id", ""): person.get("displayName", "") for person in root.iter("{*}person")}


def drawn_blocks(package: Package, target: str) -> Iterator[tuple[int, Block]]:
    """Yield the boxes, shapes, diagrams and charts in a drawing part of a sheet, each with its row."""
    related = relations(package, target)
    root = part(package, target)
    choose_alternatives(root)
    for anchor in list(root)[:_MOST_BLOCKS]:
        row_text = anchor.findtext("{*}from/{*}row") or "0"
        row = int(row_text) + 1 if row_text.isdigit() else 0
        for line in drawn_lines(anchor):
            yield row, Paragraph(line)
        for chart in anchor.iter():
            if str(chart.tag).endswith("}relIds"):
                _, data = related.get(chart.get(f"{R}dm") or "", ("", ""))
                drawings = (
                    part(package, name)
                    for kind, name in related.values()
                    if kind == "diagramDrawing" and name in package
                )
                nodes = diagram_words(part(package, data) if data in package else None, drawings)
                yield from ((row, Paragraph(line)) for _, line in nodes)
                continue
            _, inner = related.get(chart.get(f"{R}id") or "", ("", "")) if is_chart(str(chart.tag)) else ("", "")
            if inner in package and (shown := part(package, inner)) is not None:
                lines = dict.fromkeys((*drawn_lines(shown), *chart_titles(shown), *series_names(shown)))
                yield from ((row, Paragraph(text)) for text in (" · ".join(lines),) if text)


def _controls(data: bytes) -> Iterator[tuple[int, Block]]:
    """Yield the captions of check boxes, buttons and other controls of a sheet, each with its row."""
    root, _ = read_xml(_UNCLOSED.sub(b"<br/>", data), "the controls of a sheet")
    for shape in list(root.iter("{*}shape"))[:_MOST_BLOCKS]:
        client = shape.find("{*}ClientData")
        if client is None or client.get("ObjectType") == "Note":
            continue
        anchor = (client.findtext("{*}Anchor") or "").split(",")
        row = int(anchor[2]) + 1 if len(anchor) > 2 and anchor[2].strip().isdigit() else 0
        words = " ".join(" ".join(map(str, box.itertext())) for box in shape.iter("{*}textbox"))
        mark = ""
        if client.get("ObjectType") in ("Checkbox", "Radio"):
            mark = "☒ " if (client.findtext("{*}Checked") or "0").strip() == "1" else "☐ "
        if text := " ".join(words.split()):
            yield row, Paragraph(f"{mark}{text}")


def running_text(code: str) -> str:
    """Return the words of a running head of a sheet without codes of fonts and fields, such as "&P"."""
    return " ".join(_RUNNING_CODE.sub(lambda part: "&" if part[0] == "&&" else " ", code).split())


class _Rows:
    def __init__(
        self,
        strings: Sequence[str],
        formats: Sequence[str],
        since_1904: bool,
        looks: Mapping[str, tuple[bool, str]],
        own_fonts: Set[int],
    ) -> None:
        self._own_fonts = own_fonts
        self._strings, self._formats, self._since_1904, self._looks = strings, formats, since_1904, looks
        self._masters: dict[str, tuple[str, int, int]] = {}  # shared formulas, row and column, by their index
        self._place = 0, 0  # row and column of the cell that is read
        self._ranges: list[tuple[int, int]] = []  # hidden columns
        self.hidden_columns: set[int] = set()  # those of them that hold anything
        self.uncomputed = self.hidden = 0
        self.heads: list[tuple[int, Block]] = []

    def read(self, stream: Any) -> Iterator[tuple[int, dict[int, str]]]:
        last = 0
        heads = set[str]()
        for element in _elements(stream, "row", "col", *_RUNNING):
            if str(element.tag).endswith("}col") or element.tag == "col":
                first, end = element.get("min") or "", element.get("max") or ""
                if element.get("hidden") in ("1", "true") and first.isdigit() and end.isdigit():
                    self._ranges.append((int(first) - 1, int(end) - 1))
                continue
            if not str(element.tag).endswith("}row") and element.tag != "row":
                if (text := running_text(element.text or "")) and text not in heads:
                    heads.add(text)
                    self.heads.append((0, Remark(text, "header" if "Header" in element.tag else "footer")))
                continue
            number = element.get("r") or ""
            last = int(number) if number.isdigit() and len(number) < 9 else last + 1
            cells: dict[int, str] = {}
            at = -1
            for cell in element:
                reference = _REFERENCE.fullmatch(cell.get("r") or "")
                at = column(reference[1].upper()) if reference else at + 1
                self._place = last, at
                if text := self._cell(cell).strip()[:_LONGEST_CELL]:
                    struck, font = self._looks.get(cell.get("s") or "", (False, ""))
                    text = decode_signs(text, (font,)) if font and not self._has_fonts(cell) else text
                    cells[at] = f"~~{text}~~" if struck else text
            if self._ranges:
                self.hidden_columns.update(at for at in cells if any(a <= at <= b for a, b in self._ranges))
            self.hidden += element.get("hidden") in ("1", "true") and bool(cells)
            yield last, cells

    def _has_fonts(self, cell: etree._Element) -> bool:
        value = cell.findtext("{*}v") or ""
        shared = cell.get("t") == "s" and value.isdigit() and int(value) in self._own_fonts
        return shared or cell.find(f"{{*}}is/{_RUN_FONT}") is not None

    def _cell(self, cell: etree._Element) -> str:
        kind, value, formula, inside = cell.get("t") or "n", "", None, None
        for node in cell:
            name = str(node.tag).rpartition("}")[2]
            if name == "v":
                value = node.text or ""
            elif name == "f":
                formula = node
            elif name == "is":
                inside = node
        style = cell.get("s") or ""
        code = self._formats[int(style)] if style.isdigit() and int(style) < len(self._formats) else ""
        if kind == "inlineStr":
            return show_text(_string(inside) if inside is not None else unescaped(value), code)
        if not value:
            return self._formula(formula) if formula is not None and kind != "str" else ""
        if kind == "s":
            at = int(value) if value.strip().isdigit() else -1
            return show_text(self._strings[at], code) if 0 <= at < len(self._strings) else ""
        if kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(value, value)
        if kind == "e":
            return value
        if kind == "str":
            return "" if _CELL_PICTURE.fullmatch(value) else show_text(unescaped(value), code)
        if kind == "d":
            return _MIDNIGHT.sub("", value.removesuffix("Z")).replace("T", " ")
        try:
            number = float(value)
        except ValueError:
            return value
        return show(number, code, self._since_1904, value)

    def _formula(self, formula: etree._Element) -> str:
        """Return the formula of a cell. A shared formula is adjusted to the position of the cell."""
        text, shared = formula.text or "", formula.get("si") or ""
        if text and shared:
            self._masters[shared] = text, *self._place
        elif shared in self._masters:
            text, row, at = self._masters[shared]
            text = _moved(text[:_LONGEST_FORMULA], self._place[0] - row, self._place[1] - at)
        text = _FUNCTION_SPACE.sub("", text)
        if not text or text.startswith("DISPIMG("):
            return ""
        self.uncomputed += 1
        return f"={text[:_LONGEST_FORMULA]}"


def _moved(formula: str, down: int, right: int) -> str:
    """Return a formula with its relative references moved by rows and columns."""

    def move(part: re.Match[str]) -> str:
        if part["quoted"] or part["name"]:
            return part[0]
        at, row = column(part["letters"]), int(part["row"])
        letters = part["letters"] if part["fixed"] else column_name(max(0, at + right))
        return f"{part['fixed']}{letters}{part['still']}{row if part['still'] else max(1, row + down)}"

    return _CELL.sub(move, formula)


def _elements(stream: Any, *names: str) -> Iterator[etree._Element]:
    """Yield the elements of an XML stream with these names. Each is freed when the next one is requested."""
    with stream:
        steps = etree.iterparse(
            stream, events=("end",), tag=[f"{{*}}{name}" for name in names], resolve_entities=False, no_network=True,
            load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True,
        )  # fmt: skip
        for _, element in steps:
            yield element
            element.clear()
            while element.getprevious() is not None:
                parent: Any = element.getparent()
                del parent[0]


def _string(item: etree._Element) -> str:
    """Return the text of an entry of the string table, without phonetic readings. Superscripts and subscripts are
    marked.
    """
    pieces: list[Piece] = []
    for text in item.iter("{*}t", "{*}text"):
        parent: Any = text.getparent()
        if str(parent.tag).endswith("}rPh") or (str(text.tag).endswith("}text") and len(text)):
            continue
        how = parent.find("{*}rPr")
        align = how.find("{*}vertAlign") if how is not None else None
        shift = {"superscript": 1, "subscript": -1}.get(align.get("val") or "", 0) if align is not None else 0
        struck = how is not None and _is_on(how.find("{*}strike"))
        font = _symbol_font(how, "rFont") if how is not None else ""
        words = unescaped(text.text or "")
        pieces.append(Piece(decode_signs(words, (font,)) if font else words, shift, struck))
    return linear(pieces)


def _symbol_font(look: etree._Element, tag: str) -> str:
    """Return the name of a font if it shows symbols in place of letters, else ""."""
    node = look.find(f"{{*}}{tag}")
    name = "" if node is None else node.get("val") or ""
    return name if signs_of(name) is not None else ""


def _is_on(switch: etree._Element | None) -> bool:
    return switch is not None and switch.get("val") not in ("0", "false")


def column(letters: str) -> int:
    """Return the number of a column, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
