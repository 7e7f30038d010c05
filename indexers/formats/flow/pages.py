"""Division of blocks into numbered pages of lines with roles, headings, labels and positions.

The text of a page is Markdown: numbered headings, lists, tables, code fences. A part always ends a page; within a part,
pages are divided like those of a Markdown file. So page boundaries depend only on the file's bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import LineRole
from hybrid_core.types.locators import place_span
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
    code_role,
)
from indexers.formats.limits import ParseLimits
from indexers.formats.text_pages import (
    HEADING,
    INSIDE,
    PARAGRAPH,
    MarkedFile,
    MarkedText,
    PageLines,
    TitledLine,
    cut_pages,
    page_borders,
    repeat_heads,
    with_clauses,
)

_LONGEST_LINE = 1_600  # characters; a longer paragraph is split into several lines, so that a page can end inside it
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|(?<=[。！？；])|\s")
_LONGEST_TITLE, _LONGEST_FIELD = 300, 2_000
_LONGEST_HEADS = 800  # maximum characters of column headings that are repeated on the next page
_MOST_HEADS = 4  # maximum rows of column headings
_WORDS = re.compile(r"[^ ]+")
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of surrogate pairs, which no file or database accepts


@dataclass(slots=True)
class _Text:
    """The lines of the whole document with their roles, positions and headings."""

    lines: list[str] = field(default_factory=list)
    roles: list[LineRole] = field(default_factory=list)
    borders: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)  # first lines of plain paragraphs
    headings: list[TitledLine] = field(default_factory=list)
    numbers: list[tuple[int, str]] = field(default_factory=list)  # lines of headings with their numbers
    # the line before which the words of a picture are inserted, and its name
    pictures: list[tuple[int, str]] = field(default_factory=list)
    # for each table: the first line, the line after the last, and the number of heading rows
    tables: list[tuple[int, int, int]] = field(default_factory=list)
    start: int = 0  # first line of the part that is being written

    def add(self, text: str, role: LineRole, place: str, border: int = INSIDE) -> None:
        self.lines.append(text)
        self.roles.append(role)
        self.borders.append(border)
        self.places.append(place)

    def end_part(self) -> None:
        """Remove the blank lines at the end of the current part."""
        while len(self.lines) > self.start and not self.lines[-1]:
            for column in (self.lines, self.roles, self.borders, self.places):
                column.pop()

    def repeat_heads(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Repeat the column headings of a table on each page that begins inside it.

        ``spans`` are the pages as (first line, line after the last). Return them with the new line numbers.
        """
        columns: list[list[Any]] = [self.lines, self.roles, self.borders, self.places]
        spans, moved = repeat_heads(columns, self.tables, spans)
        self.paragraphs = list(map(moved, self.paragraphs))
        self.headings = [replace(title, line=moved(title.line)) for title in self.headings]
        self.numbers = [(moved(line), number) for line, number in self.numbers]
        self.pictures = [(moved(line), name) for line, name in self.pictures]
        return spans

    def gap(self) -> None:
        if len(self.lines) > self.start and self.lines[-1]:
            self.add("", "text", "")


class FlowFile(MarkedFile):
    """An open file whose reader yields blocks of flowing text, which are divided into pages.

    A picture that several pages show is read with the first of them.
    """

    def __init__(self, path: Path, flow: Flow, limits: ParseLimits) -> None:
        text, pages = _Text(), _Pages(flow)
        try:
            for part in flow.parts:
                start = text.start = len(text.lines)
                for block in part.blocks:
                    _write_block(block, text)
                text.end_part()
                pages.cut(text, part, start)
                limits.check("max_pages", len(pages.made), f"the file has {len(pages.made):,} pages", file=path)
        finally:
            flow.close()
        metadata = {
            key: shortened for key, value in flow.metadata.items() if (shortened := _clean_text(value)[:_LONGEST_FIELD])
        }
        headings = with_clauses(text.headings, text.lines, text.paragraphs if flow.clauses else ())
        marked = MarkedText(text.lines, text.roles, pages.made or [PageLines(0, 0, "")], headings, text.places)
        super().__init__(marked, metadata, flow.warnings, limits, pages.pictures, flow.images)


class _Pages:
    def __init__(self, flow: Flow) -> None:
        self.made: list[PageLines] = []
        # by page number: the pictures, each with the line (from 0) before which it is
        self.pictures: dict[int, list[tuple[int, str]]] = {}
        self._seen: set[str] = set()
        self._flow = flow
        self._passed = ""  # the last printed page number

    def cut(self, text: _Text, part: Part, start: int) -> None:
        """Divide a part of the text, whose lines begin at ``start``, into pages."""
        end = len(text.lines)
        if part.whole:
            spans = [(start, end)]
        else:
            paragraphs = text.paragraphs if self._flow.clauses else ()
            borders = page_borders(text.borders, text.lines, text.roles, paragraphs, start)
            spans = [(start + a, start + b) for a, b in cut_pages(text.lines[start:], borders)]
            spans = text.repeat_heads(spans)
            end = len(text.lines)
        text.tables.clear()
        shown = text.pictures if self._flow.images is not None else []
        lines = {name: line for line, name in reversed(shown) if name not in self._seen}
        pictures = sorted((line, name) for name, line in lines.items())
        if pictures and not spans:
            spans = [(start, end)]
        for line, name in pictures:
            at = next((at for at, (_, stop) in enumerate(spans) if line <= stop), len(spans) - 1)
            self.pictures.setdefault(len(self.made) + at + 1, []).append((line - spans[at][0], name))
        self._seen.update(name for _, name in pictures)
        text.pictures.clear()
        for at, (first, stop) in enumerate(spans, 1):
            label = f"{part.label} · {at}/{len(spans)}" if part.label and len(spans) > 1 else part.label
            label = self._printed(text.places[first:stop]) or label or _page_name(text, first, stop)
            self.made.append(PageLines(first, stop, label))

    def _printed(self, places: Sequence[str]) -> str:
        """Return the printed page number that applies at the beginning of a page, "" if none is known so far."""
        printed = self._flow.printed
        label = (printed.get(places[0]) if places else "") or self._passed
        self._passed = next((printed[place] for place in reversed(places) if place in printed), self._passed)
        return label


def _page_name(text: _Text, first: int, end: int) -> str:
    """Return the name of a page: a section number or a range of paragraphs, "" if there is neither.

    It is the number of the heading above or at its beginning, or of the first one on it. Without numbers it is the
    range of paragraphs.
    """
    at = bisect_right(text.numbers, (first, "\uffff"))
    under = text.numbers[max(0, at - 1) : at] or text.numbers[at : at + 1]
    if under and under[0][0] < end:
        return f"§ {under[0][1]}"
    places = [place for place in text.places[first:end] if place]
    return place_span(places[0], places[-1]) if places else ""


def written_lines(blocks: Iterable[Block]) -> list[str]:
    """Return the lines of text that these blocks have on a page."""
    text = _Text()
    for block in blocks:
        _write_block(block, text)
    text.end_part()
    return text.lines


def _write_block(block: Block, text: _Text) -> None:
    place = block.place
    if isinstance(block, Heading):
        title = _clean_text(f"{block.number} {block.text}")
        if not _clean_text(block.text):
            return None
        if len(title) > _LONGEST_TITLE:
            return _write_block(Paragraph(title, place), text)
        text.gap()
        at, level = len(text.lines), max(1, block.level)
        text.headings.append(TitledLine(at, level, title))
        if block.number:
            text.numbers.append((at, block.number.rstrip(".")))
        text.add(f"{'#' * min(level, 6)} {title}", "heading", place, HEADING)
        return text.gap()
    if isinstance(block, Code):
        if block.text.strip():
            text.gap()
            role = block.role or code_role(block.language, block.text)
            text.add(f"```{block.language}", role, place, PARAGRAPH)
            for line in block.text.strip("\n").split("\n"):
                text.add(_verbatim(line), role, place)
            text.add("```", role, place)
            text.gap()
        return None
    if isinstance(block, Table):
        return _write_table(block, text)
    line_text, before, role = _line_of(block)
    if isinstance(block, Picture) and block.image:
        _write_block(Picture(block.text, place), text)
        text.pictures.append((len(text.lines), block.image))
        return None
    pieces = [
        piece for line in line_text.split("\n") if (whole := _clean_text(line)) for piece in _split_paragraph(whole)
    ]
    if not pieces:
        return None
    if not isinstance(block, Item) or not text.lines or text.roles[-1] != "text":
        text.gap()
    if isinstance(block, Paragraph):
        text.paragraphs.append(len(text.lines))
    for at, piece in enumerate(pieces):
        text.add((before if not at else " " * len(before) if isinstance(block, Item) else "") + piece, role, place,
                 PARAGRAPH if not at or len(piece) > _LONGEST_LINE // 4 else INSIDE)  # fmt: skip
    if not isinstance(block, Item):
        text.gap()
    return None


def _line_of(block: Paragraph | Item | Picture | Remark) -> tuple[str, str, LineRole]:
    """Return (words, prefix, role) of the line to write for a block."""
    if isinstance(block, Item):
        return block.text, f"{'  ' * min(block.depth, 8)}{block.mark} ", "text"
    if isinstance(block, Picture):
        return block.text.replace("\n", " ") and f"![{' '.join(block.text.split())}]", "", "image"
    if isinstance(block, Remark):
        return block.text, f"[{block.mark}] " if block.mark else "", "text"
    return block.text, "", "text"


def _write_table(table: Table, text: _Text) -> None:
    """Write a table with one line per row.

    A table with one column is a box around text, and is written as paragraphs.
    """
    rows = [[_clean_text(cell.replace("\n", " ")).replace("|", "\\|") for cell in row] for row in table.rows]
    rows = [row for row in rows if any(row)]
    if not rows:
        return
    width = max(map(len, rows))
    if width == 1:
        for (cell,) in rows:
            _write_block(Paragraph(cell.replace("\\|", "|"), table.place), text)
        return
    text.gap()
    for at, row in enumerate(rows):
        line = f"| {' | '.join(row + [''] * (width - len(row)))} |"
        text.add(line, "table", table.place, PARAGRAPH if not at or len(line) > _LONGEST_LINE // 4 else INSIDE)
        if not at and table.header and len(rows) > 1:
            text.add(f"|{'---|' * width}", "table", table.place)
    first, heads = len(text.lines) - len(rows) - 1, max(1, min(table.heads, _MOST_HEADS, len(rows) - 1)) + 1
    words = sum(map(len, text.lines[first : first + heads]))
    if table.header and len(rows) > heads and sum(map(bool, rows[0])) > 1 and words < _LONGEST_HEADS:
        text.tables.append((first, len(text.lines), heads))
    text.gap()


def _clean_text(text: str) -> str:
    return clean(_SURROGATES.sub("\ufffd", " ".join(text.split()))).strip()


def _verbatim(line: str) -> str:
    line = _SURROGATES.sub("\ufffd", line.expandtabs(4))
    return _WORDS.sub(lambda word: clean(word.group()), line).rstrip()


def _split_paragraph(text: str) -> Iterator[str]:
    """Split a long paragraph into sentences, or into words if these are too long."""
    while len(text) > _LONGEST_LINE:
        ends = list(_SENTENCE_END.finditer(text, _LONGEST_LINE // 2, _LONGEST_LINE))
        best = next((m for m in reversed(ends) if m.start() and text[m.start() - 1] in ".!?;。！？；"), None)
        cut = best or (ends[-1] if ends else None)
        end = cut.end() if cut else _LONGEST_LINE
        yield text[:end].strip()
        text = text[end:]
    if text.strip():
        yield text.strip()
