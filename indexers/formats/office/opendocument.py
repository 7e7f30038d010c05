"""Reading of ODT, ODP and ODG into blocks.

Headings are recognised by their outline level; the format of their numbers comes from styles.xml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from hybrid_core.errors import BrokenFileError, DocumentError, PasswordError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import (
    Block,
    Flow,
    Heading,
    Item,
    Paragraph,
    Part,
    Picture,
    Remark,
    Table,
    comment,
)
from indexers.formats.flow.linear import Look, Piece, equation, linear, unlinked, with_readings
from indexers.formats.flow.safety import Package, line_of, words_of
from indexers.formats.limits import ParseLimits
from indexers.formats.office.flat_odf import open_odf
from indexers.formats.office.sheet_texts import form_controls, text_looks
from indexers.formats.office.word_numbers import written
from indexers.formats.pictures import packed_pictures, picture_in

_NS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
OFFICE, TEXT, TABLE, DRAW, STYLE, META, SHOWN = (
    _NS % name for name in ("office", "text", "table", "drawing", "style", "meta", "presentation")
)
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_DC = "{http://purl.org/dc/elements/1.1/}"
_ROW = f"{TABLE}table-row"
_KINDS = {  # by the first number, or the first two, of a format such as "一, 二, 三, ..."
    "1": "decimal", "i": "lowerRoman", "I": "upperRoman", "a": "lowerLetter", "A": "upperLetter",
    "1st": "ordinal", "First": "ordinalText", "One": "cardinalText", "１": "decimalFullWidth",
    "①": "decimalEnclosedCircle", "⑴": "decimalEnclosedParen", "一": "chineseCounting",
    "壹, 贰": "chineseLegalSimplified", "壹, 貳": "ideographLegalTraditional", "壱": "japaneseLegal",
    "甲": "ideographTraditional", "子": "ideographZodiac", "ア": "aiueo", "ｱ": "aiueo", "イ": "iroha", "ｲ": "iroha",
    "일": "koreanCounting", "하나": "koreanLegal", "가": "ganada", "ㄱ": "chosung", "α": "greekLower",
    "Α": "greekUpper", "а": "russianLower", "А": "russianUpper", "א": "hebrew1", "أ": "arabicAlpha",
    "ก": "thaiLetters", "๑": "thaiNumbers", "१": "hindiNumbers", "١": "arabicNumbers",
}  # fmt: skip
_HINTS = re.compile(r"(?:<[^<>]{1,30}>\s*)+")  # for fields of the master, such as "<number>"
_DECLARED = f"{SHOWN}name"
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_UNITS = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72}
_SAME_HEIGHT, _LOWEST = 0.25, 1e6  # centimetres
_DEEPEST, _MOST_REPEATED = 25, 200
_MOST_CELLS = 100_000  # maximum cells of repeated rows in a table
_DROPPED = frozenset((f"{TEXT}tracked-changes", f"{OFFICE}forms", f"{TEXT}sequence-decls", f"{OFFICE}annotation-end",
                      f"{TEXT}index-title-template", f"{TEXT}number", f"{TABLE}shapes"))  # fmt: skip
_COMMENTS = frozenset((f"{OFFICE}annotation", "{http://openoffice.org/2009/office}annotation"))
_METADATA = {f"{_DC}title": "title", f"{META}initial-creator": "author", f"{_DC}subject": "subject",
             f"{META}keyword": "keywords", f"{META}creation-date": "creationDate", f"{_DC}date": "modDate"}  # fmt: skip


def read_opendocument(path: Path, limits: ParseLimits) -> Flow:
    """Read a text (ODT), a presentation (ODP) or a drawing (ODG). Raise PasswordError if it is encrypted."""
    package, data = open_odf(path, limits)
    if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise PasswordError(
            "the file is encrypted.", "Save a copy of the file without a password, and index the copy.", file=path
        )
    root = package.xml("content.xml")
    styles = [package.xml("styles.xml")] if "styles.xml" in package else []
    metadata: dict[str, str] = {}
    if "meta.xml" in package:
        for element in package.xml("meta.xml").iter(*_METADATA):
            if text := " ".join((element.text or "").split()):
                metadata.setdefault(_METADATA[element.tag], text)
    body = root.find(f"{OFFICE}body")
    content = next((element for element in (body if body is not None else ()) if element.tag.startswith(OFFICE)), None)
    if content is None:
        raise BrokenFileError("the file is damaged: its text is missing.", file=path)
    reader = _Reader(package, [root, *styles])
    images = packed_pictures(path, limits, data)
    if content.tag in (f"{OFFICE}presentation", f"{OFFICE}drawing"):
        return Flow(reader.slides(content), metadata, package.warnings, close=package.close, images=images)
    return Flow(
        reader.parts(content),
        metadata,
        package.warnings,
        printed=reader.printed,
        clauses=content.tag == f"{OFFICE}text",
        close=package.close,
        images=images,
    )


def _page_ends(roots: list[etree._Element]) -> dict[str, tuple[bool, bool]]:
    """Return ``{style name: (break before, break after)}``: whether a page ends before or after such paragraphs."""
    styles = {style.get(f"{STYLE}name", ""): style for root in roots for style in root.iter(f"{STYLE}style")}
    breaks: dict[str, tuple[bool, bool]] = {}
    for name in styles:
        before = after = False
        above, seen = styles.get(name), set[str]()
        while above is not None and (called := above.get(f"{STYLE}name", "")) not in seen:
            seen.add(called)
            before = before or bool(above.get(f"{STYLE}master-page-name"))
            for own in above.iter(f"{STYLE}paragraph-properties"):
                before = before or own.get(f"{_FO}break-before") == "page"
                after = after or own.get(f"{_FO}break-after") == "page"
            above = styles.get(above.get(f"{STYLE}parent-style-name", ""))
        if before or after:
            breaks[name] = before, after
    return breaks


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str = ""  # kind of numbering, "" for none
    before: str = ""
    after: str = ""
    shown: int = 1  # number of levels that are shown
    start: int = 1
    language: str = "en"


class _Reader:
    def __init__(self, package: Package, roots: list[etree._Element]) -> None:
        self._package = package
        self.printed: dict[str, str] = {}
        self._count, self._page = 0, 1
        self._laid_out = next(roots[0].iter(f"{TEXT}soft-page-break"), None) is not None
        self._outline: dict[int, _Level] = {}
        self._lists: dict[str, dict[int, _Level]] = {}
        usual = (node for root in roots for node in root.iterfind(f".//{STYLE}default-style/{STYLE}text-properties"))
        language = next((name for node in usual if (name := node.get(f"{_FO}language"))), "en")
        for root in roots:
            for outline in root.iter(f"{TEXT}outline-style"):
                self._outline = self._outline or _levels(outline, language)
            for style in root.iter(f"{TEXT}list-style"):
                self._lists.setdefault(style.get(f"{STYLE}name", ""), _levels(style, language))
        self._counts = [0] * 11
        self._chain: dict[int, int] = {}  # last numbers of the current list, by level
        self._latest: dict[str, dict[int, int]] = {}  # the same for the last list of each style
        self._named: dict[str, dict[int, int]] = {}  # the same for lists by their id
        self._masters = {
            page.get(f"{STYLE}name", ""): page for root in roots for page in root.iter(f"{STYLE}master-page")
        }
        self._heads = [head for root in roots for page in root.iter(f"{STYLE}master-page") for head in page
                       if str(head.tag).startswith((f"{STYLE}header", f"{STYLE}footer"))]  # fmt: skip
        self._page_looks = {
            style.get(f"{STYLE}name", ""): dict(look.attrib)
            for root in roots for style in root.iter(f"{STYLE}style")
            for look in style.iterfind(f"{STYLE}drawing-page-properties")
        }  # fmt: skip
        self._ends = _page_ends(roots)
        self._looks = text_looks(roots)
        self._controls = form_controls(roots[0])
        self._hidden_words = 0
        deleted = (words_of(node) for node in roots[0].iter(f"{TEXT}deletion"))
        if count := sum(len(words.split()) for words in deleted):
            package.warnings.append(Note("read.deleted-words", words=count))

    def parts(self, content: etree._Element) -> Iterator[Part]:
        """Yield the text, divided at explicit page breaks."""
        blocks: list[Block] = []
        for child in self._top(content):
            before, after = self._ends.get(child.get(f"{TEXT}style-name", ""), (False, False))
            if before and blocks:
                yield Part(blocks)
                blocks = []
            blocks += self._blocks([child], 0)
            if after and blocks:
                yield Part(blocks)
                blocks = []
        yield Part(blocks)
        if heads := list(self._running()):
            yield Part(heads, "headers and footers")
        self._note_hidden()

    def _top(self, content: etree._Element, deep: int = 0) -> Iterator[etree._Element]:
        """Yield the elements of a text in order, with sections replaced by their contents."""
        for child in content:
            if child.tag == f"{TEXT}section" and deep < _DEEPEST:
                if not self._hides(child):
                    yield from self._top(child, deep + 1)
            else:
                yield child

    def _note_hidden(self) -> None:
        if self._hidden_words:
            self._package.warnings.append(Note("read.hidden-words", words=self._hidden_words))

    def _hides(self, element: etree._Element) -> bool:
        """Return whether a section or a paragraph is hidden, and count its words if it is."""
        hidden = element.get(f"{TEXT}display") == "none" or element.get(f"{TEXT}is-hidden") == "true"
        if element.tag in (f"{TEXT}p", f"{TEXT}h"):
            fields = element.iter(f"{TEXT}hidden-paragraph")
            hidden = any(node.get(f"{TEXT}is-hidden") == "true" for node in fields)
        self._hidden_words += len(words_of(element).split()) if hidden else 0
        return hidden

    def _running(self) -> Iterator[Block]:
        """Yield each running head (header or footer) once.

        Running heads are read because they may contain the only date or number of a letter.
        """
        texts = set[str]()
        for head in self._heads:
            kind = "header" if str(head.tag).startswith(f"{STYLE}header") else "footer"
            for block in self._blocks(head, 0) if head.get(f"{STYLE}display") != "false" else ():
                if (text := _block_text(block).strip()) and text not in texts:
                    texts.add(text)
                    yield Paragraph(text, f"{kind} {len(texts)}")

    def slides(self, content: etree._Element) -> Iterator[Part]:
        pages = list(content.iter(f"{DRAW}page"))
        texts = set[str]()  # of masters
        hidden = 0
        for number, page in enumerate(pages, 1):
            blocks: list[Block] = []
            look = self._page_looks.get(page.get(f"{DRAW}style-name", ""), {})
            hidden += look.get(f"{SHOWN}visibility") == "hidden"
            shapes = 0
            for frame in _sort_frames(page):
                if frame.tag == f"{SHOWN}notes":
                    words = "\n".join(
                        _block_text(block) for box in frame.iter(f"{DRAW}text-box") for block in self._blocks(box, 0)
                    )
                    blocks.append(Remark(words, "notes", f"slide {number} notes"))
                elif frame.tag in _COMMENTS:
                    blocks.append(self._comment(frame, 0, f"slide {number} comments"))
                elif frame.get(f"{SHOWN}class") == "title":
                    title = " ".join(_block_text(block) for block in self._blocks(frame, 0))
                    blocks.insert(0, Heading(1, title, place=f"slide {number}"))
                elif frame.tag not in _DROPPED:
                    shapes += 1
                    place = f"slide {number} shape {shapes}"
                    self._latest = {}  # lists of other shapes are not continued
                    blocks += (replace(block, place=place) for block in self._blocks([frame], 0))
            if look.get(f"{SHOWN}background-objects-visible") != "false":
                blocks += self._master_blocks(page, content, number, texts)
            yield Part(blocks, f"slide {number}", whole=True)
        if hidden:
            self._package.warnings.append(Note("read.hidden-slides", hidden=hidden, slides=len(pages)))
        self._note_hidden()

    def _master_blocks(
        self, page: etree._Element, content: etree._Element, number: int, texts: set[str]
    ) -> Iterator[Block]:
        """Yield the texts that a slide shows from its master and its footer, unless an earlier slide has shown them."""
        master = page.get(f"{DRAW}master-page-name", "")
        shapes = [
            shape
            for shape in self._masters.pop(master, ())  # a later slide shows nothing new from it
            if shape.tag.startswith(DRAW) and not shape.get(f"{SHOWN}class")
        ]
        lines = [" ".join(_block_text(block).split()) for block in self._blocks(shapes, 0)]
        footer = page.get(f"{SHOWN}use-footer-name")
        lines += [line_of(node) for node in content.iterfind(f"{SHOWN}footer-decl") if node.get(_DECLARED) == footer]
        for line in dict.fromkeys(filter(None, lines)):
            if line not in texts and _HINTS.fullmatch(line) is None:
                texts.add(line)
                yield Remark(line, "layout", f"slide {number} layout")

    def _blocks(
        self, parent: Iterable[etree._Element], deep: int, lists: tuple[str, tuple[int, ...]] = ("", ())
    ) -> Iterator[Block]:
        for child in parent:
            tag = child.tag
            if tag in _DROPPED or deep > 10 * _DEEPEST:
                continue
            if tag in (f"{TEXT}p", f"{TEXT}h"):
                yield from self._paragraph(child, deep)
            elif tag == f"{TEXT}list":
                yield from self._list(child, deep, lists)
            elif tag == f"{TABLE}table":
                yield from self._table(child, deep)
            elif tag == f"{TEXT}soft-page-break":
                self._page += 1
            elif tag == f"{TEXT}section" and self._hides(child):
                continue
            elif tag == f"{DRAW}frame" or tag.startswith(DRAW):
                yield from self._drawn(child, deep)
            else:
                yield from self._blocks(child, deep + 1, lists)

    def _paragraph(self, element: etree._Element, deep: int) -> Iterator[Block]:
        self._count += 1
        if self._hides(element):
            return
        place = f"paragraph {self._count}"
        if self._laid_out:
            self.printed[place] = f"p. {self._page}"
        pieces: list[Piece] = []
        apart: list[etree._Element] = []
        readings = self._read(element, pieces, apart)
        text = with_readings(linear(unlinked(pieces) if element.tag == f"{TEXT}h" else pieces).strip(), readings)
        if element.tag == f"{TEXT}h" and text:
            level = min(10, max(1, _int(element.get(f"{TEXT}outline-level"), 1)))
            typed = " ".join((element.findtext(f"{TEXT}number") or "").split())
            number = "" if element.get(f"{TEXT}is-list-header") == "true" else self._number(level, element) or typed
            yield Heading(level, text, number, place)
        elif text:
            yield Paragraph(text, place)
        for element_apart in apart if deep < _DEEPEST else ():
            if element_apart.tag == f"{TEXT}note":
                body, mark = (
                    element_apart.find(f"{TEXT}note-body"),
                    element_apart.findtext(f"{TEXT}note-citation") or "",
                )
                if body is not None:
                    yield Remark(" ".join(_block_text(block) for block in self._blocks(body, deep + 5)), mark, place)
            elif element_apart.tag == f"{OFFICE}annotation":
                yield self._comment(element_apart, deep + 5, place)
            else:
                yield from self._drawn(element_apart, deep + 1)

    def _comment(self, annotation: etree._Element, deep: int, place: str) -> Remark:
        words = " ".join(_block_text(block) for block in self._blocks(annotation, deep))
        return comment(words, annotation.findtext(f"{_DC}creator"), place)

    def _read(self, element: etree._Element, pieces: list[Piece], apart: list[etree._Element]) -> list[str]:
        """Read the words, equations and fields of a paragraph in order. Collect notes and frames in ``apart``.

        Return its words with the readings that stand above them (ruby).
        """
        readings: list[str] = []
        usual = self._looks.get(("paragraph", element.get(f"{TEXT}style-name") or ""), Look())
        waiting: list[tuple[etree._Element, bool, Look, str]] = [(element, False, usual, "")]
        while waiting:
            child, done, look, link = waiting.pop()
            how = (look.shift or 0, bool(look.struck), link)
            if done:
                self._say(_spaced(child.tail), look, link, pieces)
                continue
            if child is not element:
                waiting.append((child, True, look, link))
            tag = child.tag
            if tag == f"{TEXT}s":
                pieces.append(Piece(" " * min(100, _int(child.get(f"{TEXT}c"), 1)), *how))
            elif tag == f"{TEXT}tab":
                pieces.append(Piece("\t"))
            elif tag == f"{TEXT}line-break":
                pieces.append(Piece("\n"))
            elif tag == f"{TEXT}soft-page-break":
                self._page += 1
            elif tag == f"{DRAW}control":
                pieces.append(Piece(f" {self._controls.get(child.get(f'{DRAW}control') or '', '')} "))
            elif tag == f"{TEXT}note" or tag == f"{OFFICE}annotation" or tag.startswith(DRAW):
                if (line := self._equation(child)) is not None:
                    pieces.append(Piece(line))
                    continue
                apart.append(child)
                if tag == f"{TEXT}note":
                    pieces.append(Piece(f"[{child.findtext(f'{TEXT}note-citation') or ''}]"))
            elif child.get(f"{TEXT}display") == "none":
                continue  # a field that sets a variable without showing it
            elif child.get(f"{TEXT}is-hidden") == "true":
                self._hidden_words += len(words_of(child).split())
            elif tag not in _DROPPED and tag != f"{TEXT}ruby-text":
                if tag == f"{TEXT}ruby":
                    parts = (child.find(f"{TEXT}{part}") for part in ("ruby-base", "ruby-text"))
                    readings.append(" ".join("" if part is None else words_of(part) for part in parts))
                inner = self._looks.get(("text", child.get(f"{TEXT}style-name") or ""), Look()).over(look)
                inner = look if child is element else inner
                link = child.get(_LINK, "") if tag == f"{TEXT}a" else link
                self._say(_spaced(child.text), inner, link, pieces)
                waiting += [(node, False, inner, link) for node in reversed(child)]
        return readings

    def _say(self, text: str, look: Look, link: str, pieces: list[Piece]) -> None:
        if look.hidden:
            self._hidden_words += len(text.split())
        else:
            pieces.append(Piece(text, look.shift or 0, bool(look.struck), link))

    def _equation(self, frame: etree._Element) -> str | None:
        """Return the equation in a frame, None if there is none."""
        inside = frame.find(f"{DRAW}object")
        root = None if inside is None else self._object(inside)
        return equation(root) if root is not None and root.tag.endswith("}math") else None

    def _object(self, shown: etree._Element) -> etree._Element | None:
        """Return the root element of an embedded object: an equation, a chart, a text or a sheet.

        Return None if it cannot be read.
        """
        if len(shown):
            return shown[0]
        name = f"{shown.get(_LINK, '').removeprefix('./').rstrip('/')}/content.xml"
        if name not in self._package:
            return None
        try:
            return self._package.xml(name)
        except DocumentError:
            self._package.warnings.append(Note("read.part-unread", name=name))
            return None

    def _drawn(self, shape: etree._Element, deep: int) -> Iterator[Block]:
        words = [child.text for child in shape if child.tag in (f"{_SVG}title", f"{_SVG}desc") and child.text]
        place = f"paragraph {max(1, self._count)}"
        yield from (Picture(text, place) for text in words)
        if image := picture_in(self._package, shape.get(_LINK, "").removeprefix("./")):
            yield Picture("", place, image)
        if field := self._controls.get(shape.get(f"{DRAW}control") or ""):
            yield Paragraph(field, place)
        if shape.tag == f"{DRAW}object" and deep < _DEEPEST and (root := self._object(shape)) is not None:
            if root.tag.endswith("}math"):
                yield Paragraph(equation(root), place)
            else:
                body = root.find(f"{OFFICE}body")
                yield from self._blocks(() if body is None else body, deep + 5)
        elif deep < _DEEPEST:
            yield from self._blocks(shape, deep + 1)

    def _number(self, level: int, heading: etree._Element) -> str:
        how = self._outline.get(level, _Level())
        again = heading.get(f"{TEXT}restart-numbering") == "true" or self._counts[level] == 0
        start = _int(heading.get(f"{TEXT}start-value"), how.start)
        self._counts[level] = start if again else self._counts[level] + 1
        self._counts[level + 1 :] = [0] * (len(self._counts) - level - 1)
        return _format_number(self._outline, self._counts, level)

    def _list(self, element: etree._Element, deep: int, lists: tuple[str, tuple[int, ...]]) -> Iterator[Block]:
        name, above = element.get(f"{TEXT}style-name") or lists[0], lists[1]
        level, levels = len(above), self._lists.get(name, {})
        how = levels.get(level + 1, _Level())
        continued = element.get(f"{TEXT}continue-numbering") == "true" or _goes_on(element)
        if level == 0:
            before = self._named.get(element.get(f"{TEXT}continue-list", "-"))
            before = self._latest.get(name) if before is None and continued else before
            self._chain = {} if before is None else before
            self._latest[name] = self._named[element.get(_XML_ID, "")] = self._chain
        elif not continued:
            self._chain.pop(level, None)
        number = self._chain.get(level, how.start - 1) + 1
        for entry in element:
            first = entry.tag == f"{TEXT}list-item"
            number = _int(entry.get(f"{TEXT}start-value"), number)
            counts = first and next((node.tag for node in entry if node.tag != f"{TEXT}number"), "") != f"{TEXT}list"
            shown = number if counts else max(how.start, number - 1)
            if counts:
                self._chain[level] = number
            mark = _format_number(levels, [0, *above, shown], level + 1) if how.kind else "-"
            inner = (name, (*above, shown))
            for block in self._blocks(entry, deep + 1, inner) if deep < 10 * _DEEPEST else ():
                if isinstance(block, Paragraph):
                    yield Item(block.text, mark if first else " " * len(mark), level, block.place)
                    first = False
                else:
                    yield block
            number += counts

    def _table(self, table: etree._Element, deep: int) -> Iterator[Block]:
        place = f"paragraph {self._count + 1}"
        rows: list[tuple[str, ...]] = []
        inner: list[Block] = []
        spare = _MOST_CELLS
        below: dict[int, tuple[int, str]] = {}  # column: remaining rows of a merged cell above, and its words
        heads = sum(1 for group in table.findall(f"{TABLE}table-header-rows") for _ in _table_children(group, _ROW))
        for row in _table_children(table, _ROW):
            cells: list[str] = []
            for cell in _table_children(row, f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                blocks = list(self._blocks(cell, deep + 1)) if deep < _DEEPEST else []
                inner += [block for block in blocks if isinstance(block, Table | Heading)]
                text = " ".join(_block_text(block) for block in blocks if not isinstance(block, Table))
                if cell.tag == f"{TABLE}covered-table-cell":
                    rest, words = below.get(len(cells), (0, ""))
                    text = text or (words if rest > 0 else "")
                    below[len(cells)] = (rest - 1, words)
                else:
                    below[len(cells)] = (_int(cell.get(f"{TABLE}number-rows-spanned"), 1) - 1, text)
                times = _int(cell.get(f"{TABLE}number-columns-repeated"), 1)
                cells += [text] * min(times, _MOST_REPEATED if text else 1)
            again = min(_int(row.get(f"{TABLE}number-rows-repeated"), 1), _MOST_REPEATED) - 1 if any(cells) else 0
            again = max(0, min(again, spare // max(1, len(cells))))
            spare -= again * len(cells)
            rows += [tuple(cells)] * (1 + again)
        yield Table(tuple(rows), place=place, heads=max(1, heads))
        yield from inner


def _goes_on(element: etree._Element) -> bool:
    """Return whether a nested list continues the numbering of the list around it.

    The item that contains it is then empty.
    """
    item = element.getparent()
    around = item.getparent() if item is not None else None
    continued = around is not None and (
        around.get(f"{TEXT}continue-list") or around.get(f"{TEXT}continue-numbering") == "true"
    )
    return bool(continued) and item is not None and item[0] is element and item.getprevious() is None


def _sort_frames(page: etree._Element) -> list[etree._Element]:
    """Sort the shapes of a slide from top to bottom, then left to right. Shapes without a position come first."""
    shapes = [(_place(shape), at, shape) for at, shape in enumerate(page)]
    shapes.sort(key=lambda entry: (round(entry[0][1] / _SAME_HEIGHT), entry[0][0], entry[1]))
    return [shape for _, _, shape in shapes]


def _place(shape: etree._Element) -> tuple[float, float]:
    """Return the distances of a shape from the left and the top of the slide, in centimetres.

    A group has the position of its topmost shape.
    """
    if shape.tag == f"{SHOWN}notes":
        return 0.0, _LOWEST
    inner = [shape, *shape.iter(f"{DRAW}frame", f"{DRAW}custom-shape", f"{DRAW}rect", f"{DRAW}line")][:_MOST_REPEATED]
    places = [(_length(node.get(f"{_SVG}x")), _length(node.get(f"{_SVG}y"))) for node in inner
              if node.get(f"{_SVG}y")]  # fmt: skip
    return min(places, key=lambda place: place[1], default=(0.0, 0.0))


def _length(text: str | None) -> float:
    match = re.fullmatch(r"(-?[\d.]{1,12})(cm|mm|in|pt)?", text or "")
    try:
        return float(match[1]) * _UNITS[match[2] or "cm"] if match is not None else 0.0
    except ValueError:
        return 0.0


def _block_text(block: Block) -> str:
    if isinstance(block, Table):
        return " ".join(cell for row in block.rows for cell in row)
    return f"{block.mark} {block.text}" if isinstance(block, Item) else block.text


def _table_children(parent: etree._Element, *tags: str) -> Iterator[etree._Element]:
    """Yield the elements of a table with these tags, including those in row groups but not those of nested tables."""
    for child in parent:
        if child.tag in tags:
            yield child
        elif child.tag.startswith(TABLE) and child.tag.endswith(("rows", "row-group", "columns", "column-group")):
            yield from _table_children(child, *tags)


def _levels(style: etree._Element, language: str) -> dict[int, _Level]:
    levels = {}
    for child in style:
        level = _int(child.get(f"{TEXT}level"), 0)
        kind = _number_kind(child.get(f"{STYLE}num-format") or "")
        levels[level] = _Level(
            kind, child.get(f"{STYLE}num-prefix") or "", child.get(f"{STYLE}num-suffix") or "",
            _int(child.get(f"{TEXT}display-levels"), 1), _int(child.get(f"{TEXT}start-value"), 1),
            language,
        )  # fmt: skip
    return levels


def _number_kind(format: str) -> str:
    """Return the kind of numbers of a format, "" if it shows none. An unknown series shows digits."""
    first, second = [*(part.strip() for part in format.split(",")), ""][:2]
    return _KINDS.get(f"{first}, {second}") or _KINDS.get(first) or (
        first if first.isascii() and first.isdecimal() else "decimal" if first else ""
    )  # fmt: skip


def _format_number(levels: dict[int, _Level], counts: list[int], level: int) -> str:
    how = levels.get(level, _Level())
    if not how.kind:
        return ""
    shown = range(max(1, level - how.shown + 1), level + 1)
    numbers = [written(max(1, counts[at]), levels[at].kind, how.language) for at in shown if levels.get(at, how).kind]
    return f"{how.before}{'.'.join(numbers)}{how.after}".strip()


def _spaced(text: str | None) -> str:
    return " ".join(text.split("\n")) if text else ""


def _int(text: str | None, default: int) -> int:
    try:
        return int(text or default)
    except ValueError:
        return default
