"""DOCX -> blocks, by walking the document as Word stores it.

Headings are told by the outline level of a paragraph or its style, whatever the style is called in the writer's
language. What was inserted under tracked changes is kept, what was deleted is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lxml import etree

from hybrid_core.errors import DocumentError
from hybrid_core.text.prose import counted
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Item, Note, Paragraph, Part, Picture, Table
from indexers.formats.flow.linear import EQUATION, Piece, equation, linear
from indexers.formats.flow.safety import Package, words_of
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ooxml import CHART, DRAWN, R, W, diagram_lines, main_part, part, properties, relations
from indexers.formats.office.word_styles import Numbering, WordStyles, attribute, whole_number
from indexers.formats.pictures import packed_pictures, picture_in
from indexers.formats.web.html import html_text, parse_html

_DROPPED = frozenset(f"{W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText", "delText", "rt"))
_ALTERNATE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_IMAGES = {"{http://schemas.openxmlformats.org/drawingml/2006/main}blip": f"{R}embed",
           "{urn:schemas-microsoft-com:vml}imagedata": f"{R}id"}  # fmt: skip
_TYPED = 0.8  # share of a document's paragraphs
_DEEPEST = 25  # tables inside tables
_INSIDE_CELL = 600  # characters of a table inside a cell that is written in its place
_SYMBOLS = {  # of the fonts for signs, by their last byte
    "wingdings": {0x6F: "☐", 0xA8: "☐", 0x71: "☐", 0xFE: "☒", 0xFD: "☒", 0x78: "☒", 0xFC: "✓", 0xFB: "✗", 0xE0: "→"},
    "symbol": {0x61: "α", 0x62: "β", 0x67: "γ", 0x64: "δ", 0x6C: "λ", 0x6D: "μ", 0x70: "π", 0x73: "σ", 0x44: "Δ",
               0x57: "Ω", 0x53: "Σ", 0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xA3: "≤", 0xB4: "×", 0xB9: "≠", 0xBB: "≈",
               0xA5: "∞", 0xAE: "→", 0x2D: "−", 0xB7: "•"},
}  # fmt: skip


def read_docx(path: Path, limits: ParseLimits) -> Flow:
    """Read a Word file (DOCX, DOCM, DOTX). Raise DocumentError if it is damaged beyond reading."""
    package = Package(path, limits)
    name = main_part(package, path, "word/document.xml")
    root = part(package, name)
    reader = _Reader(package, path, name, root)
    body = root.find(f"{W}body")
    return Flow(
        reader.parts(root if body is None else body), properties(package), reader.warnings, reader.printed,
        clauses=True, close=package.close, images=packed_pictures(path, limits),
    )  # fmt: skip


@dataclass(slots=True)
class _Words:
    """The words of a paragraph, and the boxes, notes and pictures that come after it."""

    pieces: list[Piece] = field(default_factory=list)
    boxes: list[etree._Element] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)  # kind, id
    pictures: list[str] = field(default_factory=list)  # what is said of them or drawn in them
    images: list[str] = field(default_factory=list)
    turned: int = 0  # pages that end inside it

    def add(self, text: str, how: tuple[int, bool] = (0, False)) -> None:
        self.pieces.append(Piece(text, *how))


class _Reader:
    def __init__(self, package: Package, path: Path, name: str, root: etree._Element) -> None:
        self.warnings = package.warnings
        self._package, self._path = package, path
        self._related = relations(package, name)
        self._styles = WordStyles(self._parts("styles"))
        self._numbering = Numbering.of(self._parts("numbering"))
        self._notes = {
            kind: {note.get(f"{W}id", ""): note for root in self._parts(f"{kind}s") for note in root}
            for kind in ("footnote", "endnote", "comment")
        }
        self.printed: dict[str, str] = {}
        self._count, self._page = 0, 1
        typed = [self._styles.is_code(paragraph) for paragraph in root.iter(f"{W}p") if words_of(paragraph).strip()]
        self._typed = sum(typed) > _TYPED * len(typed)  # as on a typewriter, so that its fonts and styles say nothing
        if left_out := sum(len(words_of(run).split()) for run in root.iter(f"{W}r") if _is_hidden(run)):
            self.warnings.append(f"{counted(left_out, 'word')} of hidden text, which Word does not print, left out")
        self._laid_out = next(root.iter(f"{W}lastRenderedPageBreak"), None) is not None  # by Word, when it saved it

    def _parts(self, kind: str) -> list[etree._Element]:
        """Return the roots of the document's parts of a kind; damaged ones are left out and said."""
        roots = []
        for target in dict.fromkeys(target for relation, target in self._related.values() if relation == kind):
            if target in self._package:
                try:
                    roots.append(part(self._package, target))
                except DocumentError as error:
                    self.warnings.append(str(error).removeprefix(f"{self._path}: "))
        return roots

    def parts(self, body: etree._Element) -> Iterator[Part]:
        """Yield the body, cut at the writer's page and section breaks, then the running heads."""
        blocks: list[Block] = []
        for child in body:
            before, after = _ends(child)
            if before and blocks:
                yield Part(list(_join_code(blocks)))
                blocks = []
            blocks += self._blocks([child], 0)
            if after and blocks:
                yield Part(list(_join_code(blocks)))
                blocks = []
        yield Part(list(_join_code(blocks)))
        heads = [block for kind in ("header", "footer") for block in self._running(kind)]
        if heads:
            yield Part(heads, "headers and footers")

    def _running(self, kind: str) -> Iterator[Block]:
        """Yield running heads, each once: they often hold the only date or number of a letter."""
        texts = set()
        for root in self._parts(kind):
            for block in self._blocks(root, 0):
                if (text := _block_text(block)) not in texts:
                    texts.add(text)
                    yield Paragraph(text, f"{kind} {len(texts)}")

    def _blocks(self, parent: Iterable[etree._Element], deep: int) -> Iterator[Block]:
        for child in parent:
            if child.tag == f"{W}p":
                yield from self._paragraph(child, deep)
            elif child.tag == f"{W}tbl":
                yield from self._table(child, deep)
            elif child.tag == _ALTERNATE:
                yield from self._blocks(child[0], deep) if len(child) else ()
            elif child.tag == f"{W}altChunk":
                yield from self._chunk(child.get(f"{R}id", ""))
            elif child.tag not in _DROPPED and deep < 10 * _DEEPEST:
                yield from self._blocks(child, deep + 1)

    def _paragraph(self, paragraph: etree._Element, deep: int) -> Iterator[Block]:
        self._count += 1
        place = f"paragraph {self._count}"
        words = _Words()
        self._read(paragraph, words)
        text = linear(words.pieces).strip()
        if self._laid_out:
            self.printed[place] = f"p. {self._page - words.turned}"
        level, (name, at) = self._styles.level_and_list(paragraph, self._numbering)
        mark = self._numbering.next(name, at) if name and (text or words.boxes) else ""
        if text and level is None and not mark and not self._typed and self._styles.is_code(paragraph):
            yield Code("".join(piece.text for piece in words.pieces), place=place)
        elif text and level is not None:
            yield Heading(level + 1, text, "" if mark == "-" else mark, place)
        elif text and mark:
            yield Item(text, mark, at, place)
        elif text:
            yield Paragraph(text, place)
        for alt in dict.fromkeys(words.pictures):
            yield Picture(alt, place)
        for image in dict.fromkeys(words.images):
            yield Picture("", place, image)
        for box in words.boxes:
            yield from self._blocks(box, deep + 1) if deep < _DEEPEST else ()
        for kind, number in words.notes:
            if (note := self._notes[kind].get(number)) is not None and deep < _DEEPEST:
                note_text = " ".join(filter(None, (_block_text(block) for block in self._blocks(note, _DEEPEST))))
                yield Note(note_text, number if kind != "comment" else "comment", place)

    def _read(self, element: etree._Element, words: _Words) -> None:
        """Read a paragraph's words in order, iteratively: a hostile file nests deeper than Python calls."""
        waiting: list[tuple[etree._Element, tuple[int, bool]]] = [(node, (0, False)) for node in reversed(element)]
        while waiting:
            child, how = waiting.pop()
            tag = child.tag
            if tag in _DROPPED or tag == _FALLBACK:
                continue
            if tag == f"{W}t":
                words.add(child.text or "", how)
            elif tag == EQUATION:
                words.add(equation(child))
            elif tag == f"{W}tab":
                words.add("\t")
            elif tag in (f"{W}br", f"{W}cr"):
                words.add("\n")
            elif tag == f"{W}lastRenderedPageBreak":
                self._page += 1
                words.turned += any(piece.text for piece in words.pieces)
            elif tag == f"{W}noBreakHyphen":
                words.add("-")
            elif tag == f"{W}sym":
                words.add(_symbol(child))
            elif tag == f"{W}ffData":
                words.add(_form_field(child))
            elif tag == f"{W}txbxContent":
                words.boxes.append(child)
            elif tag in (f"{W}footnoteReference", f"{W}endnoteReference", f"{W}commentReference"):
                kind = etree.QName(child).localname.removesuffix("Reference")
                number = child.get(f"{W}id", "")
                words.notes.append((kind, number))
                if kind != "comment":
                    words.add(f"[{number}]")
            elif tag == _DRAWING:
                if alt := child.get("descr") or child.get("title"):
                    words.pictures.append(alt)
            elif tag in _IMAGES:
                _, target = self._related.get(child.get(_IMAGES[tag], ""), ("", ""))
                if image := picture_in(self._package, target):
                    words.images.append(image)
            elif tag == f"{DRAWN}t":
                words.pictures.append(child.text or "")
            elif tag.endswith("}chart") and child.get(f"{R}id"):
                words.pictures += self._drawn(child.get(f"{R}id", ""))
            elif tag.endswith("}relIds"):
                words.pictures += self._drawn(child.get(f"{R}dm", ""))
            else:
                if _is_hidden(child):
                    continue
                if tag == f"{W}r" and (look := child.find(f"{W}rPr")) is not None:
                    struck = _is_on(look.find(f"{W}strike")) or _is_on(look.find(f"{W}dstrike"))
                    how = (self._styles.shift(look), struck)
                waiting.extend((node, how) for node in reversed(child))

    def _drawn(self, id: str) -> list[str]:
        """Return the words of a chart or a diagram."""
        _, target = self._related.get(id, ("", ""))
        if target not in self._package:
            return []
        root = part(self._package, target)
        if root.tag.endswith("}dataModel"):
            return [" · ".join(line for _, line in diagram_lines(root))]
        texts = [element.text or "" for element in root.iter(f"{DRAWN}t", f"{CHART}v")]
        return [" · ".join(dict.fromkeys(filter(None, (" ".join(text.split()) for text in texts))))]

    def _chunk(self, id: str) -> Iterator[Block]:
        """Yield the blocks of a file that Word would join here, if it is HTML."""
        _, target = self._related.get(id, ("", ""))
        if target.lower().endswith((".html", ".htm", ".xhtml", ".mht")) and target in self._package:
            source = html_text(self._package.read(target), self._path)[0]
            yield from parse_html(source, whole=True, place=f"{target} ").blocks

    def _table(self, table: etree._Element, deep: int) -> Iterator[Block]:
        """Yield a table, then the tables, headings and pictures inside its cells."""
        place = f"paragraph {self._count + 1}"
        rows: list[tuple[str, ...]] = []
        blocks: list[Block] = []
        merges: dict[int, str] = {}  # column: the words of a cell that goes on below
        heads = 0
        for row in _descendants(table, f"{W}tr", f"{W}tbl"):
            cells: list[str] = []
            heads += heads == len(rows) and _is_on(row.find(f"{W}trPr/{W}tblHeader"))
            before = row.find(f"{W}trPr/{W}gridBefore")
            cells += [""] * min(50, whole_number(None if before is None else before.get(f"{W}val")) or 0)
            for cell in _descendants(row, f"{W}tc", f"{W}tr"):
                merged = cell.find(f"{W}tcPr/{W}vMerge")
                words: list[str] = []
                if merged is None or merged.get(f"{W}val") == "restart" or words_of(cell).strip():
                    read = [*self._blocks(cell, deep + 1)] if deep < _DEEPEST else [Paragraph(words_of(cell), place)]
                    words = [_block_text(block) for block in read if not _is_apart(block)]
                    blocks += read
                elif merges.get(len(cells)):
                    words = [merges[len(cells)]]
                merges[len(cells)] = " ".join(words) if merged is not None else ""
                span = cell.find(f"{W}tcPr/{W}gridSpan")
                cells += [" ".join(words)] + [""] * (
                    min(63, whole_number(None if span is None else span.get(f"{W}val")) or 1) - 1
                )
            rows.append(tuple(cells))
        if max(map(len, rows), default=0) == 1:
            yield from blocks  # a box around paragraphs
            return
        yield Table(tuple(rows), place=place, heads=max(1, heads))
        yield from (
            block for block in blocks
            if _is_apart(block) or isinstance(block, Heading) or (isinstance(block, Picture) and block.image)
        )  # fmt: skip


def _ends(paragraph: etree._Element) -> tuple[bool, bool]:
    """Return whether a page ends before a paragraph of the body, and after it."""
    own = paragraph.find(f"{W}pPr") if paragraph.tag == f"{W}p" else None
    breaks = (
        [element for element in paragraph.iter(f"{W}br") if element.get(f"{W}type") == "page"]
        if paragraph.tag == f"{W}p"
        else []
    )
    first = next(
        (element for element in paragraph.iter(f"{W}t", f"{W}br") if element.tag == f"{W}t" or element in breaks), None
    )
    leads = bool(breaks) and first is breaks[0]
    section = None if own is None else own.find(f"{W}sectPr")
    ends = section is not None and (attribute(section, "type") or "nextPage") != "continuous"
    return leads or (own is not None and own.find(f"{W}pageBreakBefore") is not None), ends or bool(breaks[leads:])


def _is_hidden(run: etree._Element) -> bool:
    return run.tag == f"{W}r" and _is_on(run.find(f"{W}rPr/{W}vanish"))


def _is_on(switch: etree._Element | None) -> bool:
    return switch is not None and switch.get(f"{W}val", "1") not in ("0", "false", "off")


def _is_apart(block: Block) -> bool:
    """Return whether a table inside a cell is too long to be written in its place there."""
    return isinstance(block, Table) and len(_block_text(block)) > _INSIDE_CELL


def _symbol(sign: etree._Element) -> str:
    """Return a sign of a font whose characters are no letters."""
    try:
        code = int(sign.get(f"{W}char") or "", 16)
    except ValueError:
        return ""
    font = (sign.get(f"{W}font") or "").lower()
    signs = next((table for name, table in _SYMBOLS.items() if font.startswith(name)), None)
    if signs is not None:
        return signs.get(code & 0xFF, "")
    return chr(code) if 0x20 <= code < 0xE000 and not 0xD800 <= code < 0xE000 else ""


def _form_field(data: etree._Element) -> str:
    """Return a check box or drop-down list as it shows; text typed into a field stands in the text."""
    if (box := data.find(f"{W}checkBox")) is not None:
        state = box.find(f"{W}checked")
        state = state if state is not None else box.find(f"{W}default")
        return "☒" if state is not None and state.get(f"{W}val", "1") not in ("0", "false", "off") else "☐"
    if (listed := data.find(f"{W}ddList")) is not None:
        entries = [entry.get(f"{W}val") or "" for entry in listed.findall(f"{W}listEntry")]
        at = whole_number(attribute(listed, "result") or attribute(listed, "default")) or 0
        return entries[at] if 0 <= at < len(entries) else ""
    return ""


def _block_text(block: Block) -> str:
    if isinstance(block, Table):
        return "; ".join(" · ".join(filter(None, row)) for row in block.rows)
    if isinstance(block, Heading):
        return f"{block.number} {block.text}".strip()
    return f"{block.mark} {block.text}" if isinstance(block, Item) else block.text


def _descendants(parent: etree._Element, tag: str, stop: str) -> Iterator[etree._Element]:
    """Yield elements of a tag, also inside content controls and insertions, none of a table inside."""
    waiting = list(reversed(parent))
    while waiting:
        child = waiting.pop()
        if child.tag == tag:
            yield child
        elif child.tag not in _DROPPED and child.tag not in (stop, f"{W}tc", f"{W}p"):
            waiting.extend(reversed(child))


def _join_code(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join neighbouring paragraphs of code into one block."""
    code: list[Code] = []
    for block in blocks:
        if isinstance(block, Code):
            code.append(block)
            continue
        if code:
            yield replace(code[0], text="\n".join(part.text for part in code))
            code.clear()
        yield block
    if code:
        yield replace(code[0], text="\n".join(part.text for part in code))
