"""Reading of DOCX into blocks, by walking the document as Word stores it.

Headings are recognised by the outline level of a paragraph or its style, in any language. Tracked insertions are
included, tracked deletions are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lxml import etree

from hybrid_core.errors import DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import (
    Block,
    Code,
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
from indexers.formats.flow.linear import EQUATION, Piece, equation, linear, unlinked, with_readings
from indexers.formats.flow.safety import Package, words_of
from indexers.formats.limits import ParseLimits
from indexers.formats.office.charts import chart_blocks, is_chart
from indexers.formats.office.ooxml import (
    DRAWN,
    R,
    W,
    alternative_text,
    choose_alternative,
    diagram_words,
    link_targets,
    main_part,
    part,
    properties,
    relations,
)
from indexers.formats.office.word_files import BoundControls, chunk_blocks, flat_package
from indexers.formats.office.word_signs import field_words, form_field, run_words, symbol
from indexers.formats.office.word_styles import (
    NoteMarks,
    Numbering,
    WordStyles,
    attribute,
    is_on,
    whole_number,
)
from indexers.formats.pictures import packed_pictures, picture_in

_DROPPED = frozenset(f"{W}{name}" for name in ("del", "moveFrom", "pPr", "rPr", "instrText", "delText", "rt"))
_ALTERNATE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_VML = "{urn:schemas-microsoft-com:vml}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_IMAGES = {"{http://schemas.openxmlformats.org/drawingml/2006/main}blip": f"{R}embed",
           "{urn:schemas-microsoft-com:vml}imagedata": f"{R}id"}  # fmt: skip
_BREAK = re.compile(r"\s*[\r\n]\s*")  # in pretty-printed files
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"]{1,600})"')
_TYPED = 0.8  # minimum share of a document's paragraphs in a code style
_DEEPEST_CHUNK = 3  # maximum nesting of embedded documents (altChunk)
_DEEPEST = 25  # maximum nesting of tables
_IN_NOTE = 3  # maximum nesting of notes on notes
_INSIDE_CELL = 600  # maximum characters of a nested table that is written inside its cell


def read_docx(path: Path, limits: ParseLimits) -> Flow:
    """Read a Word file (DOCX, DOCM, DOTX, or one XML text). Raise DocumentError if it is damaged beyond reading."""
    data = flat_package(path, limits)
    package = Package(path, limits, data)
    reader = _Reader(package, path, limits)
    return Flow(
        reader.parts(), properties(package), reader.warnings, reader.printed,
        clauses=True, close=package.close, images=packed_pictures(path, limits, data),
    )  # fmt: skip


_How = tuple[int, bool, str]  # of words: shift, struck out, link
_HOW: _How = (0, False, "")


@dataclass(slots=True)
class _Field:
    """An open field. ``instruction`` is the number of pieces before its instruction, -1 after it."""

    instruction: int
    text: str = ""
    link: str = ""
    result: int = -1  # number of pieces before its result


@dataclass(slots=True)
class _Words:
    """The words of a paragraph, and the boxes, notes and pictures that are read after the paragraph."""

    pieces: list[Piece] = field(default_factory=list)
    boxes: list[etree._Element] = field(default_factory=list)
    notes: list[tuple[str, str, str]] = field(default_factory=list)  # kind, id, mark
    pictures: list[str] = field(default_factory=list)  # alternative texts and drawn texts
    charts: list[Block] = field(default_factory=list)
    fields: list[_Field] = field(default_factory=list)  # the open ones
    images: list[str] = field(default_factory=list)
    readings: list[str] = field(default_factory=list)  # words with the readings that stand above them (ruby)
    turned: int = 0  # number of page ends inside the paragraph

    def add(self, text: str, how: _How = _HOW) -> None:
        shift, struck, link = how
        self.pieces.append(Piece(text, shift, struck, link or next((f.link for f in self.fields if f.link), "")))

    def turn_field(self, state: str) -> None:
        """Process the begin, separator or end of a field.

        Remove the field's instruction, which the page does not show.
        """
        if state == "begin":
            self.fields.append(_Field(len(self.pieces)))
        elif self.fields:
            field = self.fields[-1]
            if field.instruction >= 0:
                del self.pieces[field.instruction :]
                field.result = len(self.pieces)
            field.instruction = -1
            field.link = _field_link(field.text)
            if state == "end":
                self.fields.pop()
                if not any(piece.text for piece in self.pieces[field.result :]):
                    self.add(field_words(field.text))


class _Reader:
    def __init__(self, package: Package, path: Path, limits: ParseLimits, deep: int = 0) -> None:
        name = main_part(package, path, "word/document.xml")
        self._root = root = part(package, name)
        self.warnings = package.warnings
        self._package, self._path, self._limits, self._deep = package, path, limits, deep
        self._related, self._links = relations(package, name), link_targets(package, name)
        inner = [] if root.find(f"{W}styles") is None else [root]  # Word 2003 stores the styles there
        self._styles = WordStyles([*self._parts("styles").values(), *inner])
        self._numbering = Numbering.of([*self._parts("numbering").values()], self._styles.language)
        self._notes = {
            kind: {
                note.get(f"{W}id", ""): (name, note) for name, root in self._parts(f"{kind}s").items() for note in root
            }
            for kind in ("footnote", "endnote", "comment")
        }
        self._inner_notes = set[etree._Element]()
        self._drawings = set[str]()  # drawings of diagrams that were read
        self._marks = NoteMarks([root, *self._parts("settings").values()])
        self._bound = BoundControls(package)
        self._bound.fill(root)
        _join_deleted_ends(root)
        self._referenced = {node.get(f"{W}id") for node in root.iter(f"{W}commentReference")}
        self._initial = ""  # the drop cap with which the next paragraph begins
        self.printed: dict[str, str] = {}
        self._count, self._page = 0, 1
        typed = [self._styles.is_code(paragraph) for paragraph in root.iter(f"{W}p") if words_of(paragraph).strip()]
        self._typed = sum(typed) > _TYPED * len(typed)  # a typewriter document, whose fonts and styles have no meaning
        self._hidden_words = 0
        if deleted := sum(len((text.text or "").split()) for text in root.iter(f"{W}delText")):
            self.warnings.append(Note("read.deleted-words", words=deleted))
        # page breaks from Word's own layout are stored
        self._laid_out = next(root.iter(f"{W}lastRenderedPageBreak"), None) is not None

    def _parts(self, kind: str) -> dict[str, etree._Element]:
        """Return the root elements of the document's parts of a kind by name.

        Damaged parts are skipped with a warning.
        """
        roots = {}
        for target in dict.fromkeys(target for relation, target in self._related.values() if relation == kind):
            if target in self._package:
                try:
                    roots[target] = part(self._package, target)
                except DocumentError as error:
                    self.warnings.append(error.without_file)
        return roots

    def parts(self) -> Iterator[Part]:
        """Yield the body, divided at explicit page and section breaks, then the running heads."""
        blocks: list[Block] = []
        body = self._root.find(f"{W}body")
        for child in self._root if body is None else body:
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
        if self._hidden_words:
            self.warnings.append(Note("read.hidden-words", words=self._hidden_words))

    def _running(self, kind: str) -> Iterator[Block]:
        """Yield each running head (header or footer) of a kind once.

        Running heads are read because they may contain the only date or number of a letter.
        """
        texts = set()
        for name, root in self._parts(kind).items():
            self._bound.fill(root)
            for block in self._inside(name, root, 0):
                if (text := _block_text(block)) not in texts:
                    texts.add(text)
                    yield Paragraph(text, f"{kind} {len(texts)}")

    def _new_drawings(self) -> Iterator[etree._Element]:
        """Yield the drawings of diagrams, each for the first diagram without data only."""
        for id, (kind, name) in self._related.items():
            if kind == "diagramDrawing" and name not in self._drawings:
                self._drawings.add(name)
                if (root := self._part(id)) is not None:
                    yield root

    def _inside(self, name: str, parent: etree._Element, deep: int) -> list[Block]:
        """Return the blocks of an element of another part, whose links and pictures are those of that part."""
        outer = self._related, self._links
        self._related, self._links = relations(self._package, name), link_targets(self._package, name)
        blocks = list(self._blocks(parent, deep))
        self._related, self._links = outer
        return blocks

    def _blocks(self, parent: Iterable[etree._Element], deep: int) -> Iterator[Block]:
        for child in parent:
            if child.tag == f"{W}p":
                yield from self._paragraph(child, deep)
            elif child.tag == f"{W}tbl":
                yield from self._table(child, deep)
            elif child.tag == _ALTERNATE:
                yield from self._blocks(choose_alternative(child), deep)
            elif child.tag == f"{W}altChunk":
                yield from self._chunk(child.get(f"{R}id", ""))
            elif child.tag not in _DROPPED and deep < 10 * _DEEPEST:
                yield from self._blocks(child, deep + 1)

    def _paragraph(self, paragraph: etree._Element, deep: int) -> Iterator[Block]:
        self._count += 1
        place = f"paragraph {self._count}"
        words = _Words()
        self._read(paragraph, words)
        level, (name, at) = self._styles.level_and_list(paragraph, self._numbering)
        pieces = words.pieces if level is None else unlinked(words.pieces)
        text = with_readings(linear(pieces).strip(), words.readings)
        if text and _is_initial(paragraph):
            self._initial += text
            text = ""
        elif self._initial:
            text, self._initial = self._initial + text, ""
        if self._laid_out:
            self.printed[place] = f"p. {self._page - words.turned}"
        mark = self._numbering.next(name, at) if name and (text or words.boxes or not _is_gone(paragraph)) else ""
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
        yield from words.charts
        for box in words.boxes:
            yield from self._blocks(box, deep + 1) if deep < _DEEPEST else ()
        for kind, number, shown in words.notes:
            name, note = self._notes[kind].get(number, ("", None))
            inner = deep > _DEEPEST  # in a note; such a note is read once, or notes on each other would multiply
            if note is not None and deep < _DEEPEST + _IN_NOTE and not (inner and note in self._inner_notes):
                self._inner_notes |= {note} if inner else set()
                read = self._inside(name, note, max(deep, _DEEPEST) + 1)
                note_text = " ".join(_block_text(block) for block in read if not isinstance(block, Remark))
                if kind == "comment":
                    yield comment(note_text, note.get(f"{W}author"), place)
                else:
                    yield Remark(note_text, shown, place)
                yield from (replace(block, place=place) for block in read if isinstance(block, Remark))

    def _read(self, element: etree._Element, words: _Words) -> None:
        """Read the words of a paragraph in order, without recursion, since a hostile file may nest too deeply."""
        styled = self._styles.paragraph_look(element)
        waiting: list[tuple[etree._Element, _How]] = [(node, _HOW) for node in reversed(element)]
        while waiting:
            child, how = waiting.pop()
            tag = child.tag
            if tag == f"{W}instrText" and words.fields and words.fields[-1].instruction >= 0:
                words.fields[-1].text += child.text or ""
            if tag in _DROPPED:
                continue
            if tag == _ALTERNATE:
                waiting.extend((node, how) for node in reversed(choose_alternative(child)))
            elif tag == f"{W}t":
                parent = child.getparent()
                properties_of = None if parent is None else parent.find(f"{W}rPr")
                words.add(run_words(_BREAK.sub(" ", child.text or ""), properties_of), how)
            elif tag == EQUATION:
                words.add(equation(child))
            elif tag in (f"{W}tab", f"{W}ptab"):
                words.add("\t")
            elif tag in (f"{W}br", f"{W}cr"):
                words.add("\n")
            elif tag == f"{W}lastRenderedPageBreak":
                self._page += 1
                words.turned += any(piece.text for piece in words.pieces)
            elif tag == f"{W}noBreakHyphen":
                words.add("-")
            elif tag == f"{W}sym":
                words.add(symbol(child))
            elif tag == f"{W}fldChar":
                if (data := child.find(f"{W}ffData")) is not None:
                    words.add(form_field(data))
                words.turn_field(child.get(f"{W}fldCharType", ""))
            elif tag == f"{W}ruby":
                words.readings.append(_reading(child))
                waiting.extend((node, how) for node in reversed(child))
            elif tag == f"{W}txbxContent":
                words.boxes.append(child)
            elif tag in (f"{W}footnoteReference", f"{W}endnoteReference", f"{W}commentReference"):
                kind = etree.QName(child).localname.removesuffix("Reference")
                mark, is_typed = ("comment", True) if kind == "comment" else self._marks.of(child, kind)
                words.notes.append((kind, child.get(f"{W}id", ""), mark))
                if not is_typed:
                    words.add(f"[{mark}]")
            elif tag == f"{W}commentRangeEnd" and child.get(f"{W}id") not in self._referenced:
                words.notes.append(("comment", child.get(f"{W}id", ""), "comment"))
            elif tag == _DRAWING:
                if alt := child.get("descr") or child.get("title"):
                    words.pictures.append(alt)
            elif tag in _IMAGES:
                _, target = self._related.get(child.get(_IMAGES[tag], ""), ("", ""))
                if image := picture_in(self._package, target):
                    words.images.append(image)
            elif tag.endswith("}cNvPr") and _is_grouped(child):
                words.pictures.append(alternative_text(child))
            elif tag == f"{DRAWN}t":
                words.pictures.append(child.text or "")
            elif tag.endswith("}textpath"):
                words.pictures.append(child.get("string") or "")
            elif is_chart(tag) and (root := self._part(child.get(f"{R}id", ""))) is not None:
                words.charts += chart_blocks(root, f"paragraph {self._count}")
            elif tag.endswith("}relIds"):
                nodes = diagram_words(self._part(child.get(f"{R}dm", "")), self._new_drawings())
                words.pictures.append(" · ".join(line for _, line in nodes))
            else:
                if tag.startswith(_VML) and (alt := child.get("alt")):
                    words.pictures.append(alt)
                if tag == f"{W}r":
                    look = self._styles.run_look(child, styled)
                    if look.hidden:
                        self._hidden_words += len(words_of(child).split())
                        continue
                    how = (look.shift or 0, bool(look.struck), how[2])
                elif tag == f"{W}hyperlink":
                    how = (*how[:2], self._links.get(child.get(f"{R}id", ""), ""))
                elif tag == f"{W}fldSimple":
                    how = (*how[:2], _field_link(child.get(f"{W}instr", "")))
                waiting.extend((node, how) for node in reversed(child))

    def _part(self, id: str) -> etree._Element | None:
        """Return the root element of the part with a relation id. Return None if it is missing or damaged."""
        _, target = self._related.get(id, ("", ""))
        try:
            return part(self._package, target) if target in self._package else None
        except DocumentError as error:
            self.warnings.append(error.without_file)
            return None

    def _chunk(self, id: str) -> Iterator[Block]:
        """Yield the blocks of an embedded document (altChunk), found by its relation id."""
        _, target = self._related.get(id, ("", ""))
        if target not in self._package or self._deep >= _DEEPEST_CHUNK:
            return

        def read(package: Package) -> Iterator[Block]:
            inner = _Reader(package, self._path, self._limits, self._deep + 1)
            return (block for part in inner.parts() for block in part.blocks)

        yield from chunk_blocks(self._package.read(target), target.lower(), self._path, self._limits, read)

    def _table(self, table: etree._Element, deep: int) -> Iterator[Block]:
        """Yield a table, then the tables, headings and pictures inside its cells."""
        place = f"paragraph {self._count + 1}"
        named = [attribute(table.find(f"{W}tblPr"), kind) or "" for kind in ("tblCaption", "tblDescription")]
        yield from (Picture(text, place) for text in dict.fromkeys(filter(None, named)))
        rows: list[tuple[str, ...]] = []
        blocks: list[Block] = []
        merges: dict[int, str] = {}  # column: the words of a merged cell that continues below
        heads = 0
        for row in _descendants(table, f"{W}tr", f"{W}tbl"):
            cells: list[str] = []
            heads += heads == len(rows) and is_on(row.find(f"{W}trPr/{W}tblHeader"))
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
            yield from blocks  # a table with one column is a box around paragraphs
            return
        yield Table(tuple(rows), place=place, heads=max(1, heads))
        yield from (
            block for block in blocks
            if _is_apart(block) or isinstance(block, Heading) or (isinstance(block, Picture) and block.image)
        )  # fmt: skip


def _join_deleted_ends(root: etree._Element) -> None:
    """Move the words of each paragraph whose end a tracked change deletes to the begin of the next paragraph."""
    moved: dict[etree._Element, list[etree._Element]] = {}  # nodes by the paragraph that they go to
    for paragraph in list(root.iter(f"{W}p")):
        nodes = moved.pop(paragraph, [])
        end, after = paragraph.find(f"{W}pPr/{W}rPr"), paragraph.getnext()
        deleted = end is not None and (end.find(f"{W}del") is not None or end.find(f"{W}moveFrom") is not None)
        if deleted and after is not None and after.tag == f"{W}p":
            nodes += (node for node in paragraph if node.tag != f"{W}pPr")
            moved[after] = nodes
        elif nodes:
            begin = int(paragraph.find(f"{W}pPr") is not None)
            paragraph[begin:begin] = nodes


def _ends(paragraph: etree._Element) -> tuple[bool, bool]:
    """Return whether a page break comes before a paragraph of the body, and whether one comes after it."""
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


def _field_link(instruction: str) -> str:
    """Return the address to which a field links, "" if it is another field or leads into the file."""
    link = _HYPERLINK.match(instruction)
    return link[1] if link is not None else ""


def _is_grouped(properties: etree._Element) -> bool:
    """Return whether properties are those of a shape in a group. A single shape repeats those of its frame there."""
    return any(str(node.tag).endswith(("}wgp", "}grpSp", "}wpc")) for node in properties.iterancestors())


def _reading(ruby: etree._Element) -> str:
    """Return words with the reading that stands above them."""
    return " ".join(
        "".join(text.text or "" for text in ruby.iterfind(f"{W}{part}//{W}t")) for part in ("rubyBase", "rt")
    )


def _is_initial(paragraph: etree._Element) -> bool:
    """Return whether a paragraph is a drop cap: the large first letter of the next paragraph."""
    frame, after = paragraph.find(f"{W}pPr/{W}framePr"), paragraph.getnext()
    return frame is not None and frame.get(f"{W}dropCap", "none") != "none" and after is not None and (
        after.tag == f"{W}p"
    )  # fmt: skip


def _is_gone(paragraph: etree._Element) -> bool:
    """Return whether the mark of a paragraph is deleted or hidden.

    If such a paragraph has no words, its list number is not counted.
    """
    mark = paragraph.find(f"{W}pPr/{W}rPr")
    return mark is not None and any(mark.find(f"{W}{name}") is not None for name in ("del", "moveFrom", "vanish"))


def _is_apart(block: Block) -> bool:
    """Return whether a block is a nested table that is too long to be written inside its cell."""
    return isinstance(block, Table) and len(_block_text(block)) > _INSIDE_CELL


def _block_text(block: Block) -> str:
    if isinstance(block, Table):
        return "; ".join(" · ".join(filter(None, row)) for row in block.rows)
    if isinstance(block, Heading):
        return f"{block.number} {block.text}".strip()
    return f"{block.mark} {block.text}" if isinstance(block, Item) else block.text


def _descendants(parent: etree._Element, tag: str, stop: str) -> Iterator[etree._Element]:
    """Yield the elements with a tag below ``parent``, without those of nested tables.

    Elements inside content controls and tracked insertions are included.
    """
    waiting = list(reversed(parent))
    while waiting:
        child = waiting.pop()
        if child.tag == tag:
            yield child
        elif child.tag not in _DROPPED and child.tag not in (stop, f"{W}tc", f"{W}p"):
            waiting.extend(reversed(child))


def _join_code(blocks: Iterable[Block]) -> Iterator[Block]:
    """Join consecutive paragraphs of code into one block."""
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
