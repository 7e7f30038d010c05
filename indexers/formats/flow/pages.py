"""Blocks -> numbered pages of marked lines, with their headings, labels and places.

A page's text is Markdown: headings with their number, lists, tables as rows of cells, code in fences. Parts end
pages; inside a part pages are cut as those of a Markdown file are. So where a page ends depends on the file's bytes
and on nothing that is installed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import HeadingSource, Line, LineRole, MarkedHeading, ParsedPage
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Item, Note, Paragraph, Part, Picture, Table
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.clauses import clause_levels, find_clauses, looks_like_clause
from indexers.formats.text_pages import CLAUSE, HEADING, INSIDE, PARAGRAPH, cut_pages

_LONGEST_LINE = 1_600  # characters; a longer paragraph is several lines, or a page could not end inside it
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|(?<=[。！？；])|\s")
_LONGEST_TITLE, _LONGEST_FIELD = 300, 2_000
_WORDS = re.compile(r"[^ ]+")
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of characters, which no file or database takes


@dataclass(slots=True)
class _Text:
    """Lines of the whole document, and what each is."""

    lines: list[str] = field(default_factory=list)
    roles: list[LineRole] = field(default_factory=list)
    borders: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)  # first lines of plain paragraphs
    headings: list[tuple[int, int, str]] = field(default_factory=list)  # line, level, title
    numbers: list[tuple[int, str]] = field(default_factory=list)  # lines of headings with their numbers
    start: int = 0  # of the part that is being written

    def add(self, text: str, role: LineRole, place: str, border: int = INSIDE) -> None:
        self.lines.append(text)
        self.roles.append(role)
        self.borders.append(border)
        self.places.append(place)

    def end_part(self) -> None:
        """A part ends with what it says."""
        while len(self.lines) > self.start and not self.lines[-1]:
            for held in (self.lines, self.roles, self.borders, self.places):
                held.pop()

    def gap(self) -> None:
        if len(self.lines) > self.start and self.lines[-1]:
            self.add("", "text", "")


class FlowFile:
    """An open file whose reader yields blocks."""

    def __init__(self, path: Path, flow: Flow, limits: ParseLimits) -> None:
        self._path, self._limits = path, limits
        text = self._text = _Text()
        self._last = ""  # printed page number passed last
        self._pages: list[tuple[int, int, str]] = []  # first line, line after the last, label
        try:
            for part in flow.parts:
                start = text.start = len(text.lines)
                for block in part.blocks:
                    _write(block, text)
                text.end_part()
                if start < len(text.lines):
                    self._cut(start, part, flow)
                elif part.whole:
                    self._pages.append((start, start, part.label))
        finally:
            flow.close()
        self._metadata = {key: said for key, value in flow.metadata.items() if (said := _plain(value)[:_LONGEST_FIELD])}
        self._warnings = flow.warnings
        self._headings = _with_clauses(text) if flow.clauses else [(*h, "markup") for h in text.headings]
        self._pages = self._pages or [(0, 0, "")]
        self.pages = len(self._pages)

    def _cut(self, start: int, part: Part, flow: Flow) -> None:
        text = self._text
        if part.whole:
            spans = [(start, len(text.lines))]
        else:
            lines, borders = text.lines[start:], _borders(text, start, flow.clauses)
            spans = [(start + a, start + b) for a, b in cut_pages(lines, borders)]
        for at, (first, end) in enumerate(spans, 1):
            label = f"{part.label} · {at}/{len(spans)}" if part.label and len(spans) > 1 else part.label
            self._pages.append(
                (first, end, self._printed(first, end, flow.printed) or label or self._named(first, end))
            )
        self._limits.check("max_pages", len(self._pages), f"{self._path}: it has {len(self._pages):,} pages")

    def _printed(self, first: int, end: int, printed: dict[str, str]) -> str:
        """The number printed where the page begins, "" where the file tells none up to there."""
        places = self._text.places[first:end]
        label = printed.get(places[0]) or self._last
        self._last = next((printed[place] for place in reversed(places) if place in printed), self._last)
        return label

    def _named(self, first: int, end: int) -> str:
        """By the number of the heading that the page begins under, else by its paragraphs."""
        numbers = self._text.numbers
        inside = next((number for line, number in numbers if first <= line < end), "")
        before = bisect_right(numbers, (first, "\uffff")) - 1
        if number := (numbers[before][1] if before >= 0 else "") or inside:
            return f"§ {number}"
        places = [place for place in self._text.places[first:end] if place]
        return "" if not places else places[0] if places[0] == places[-1] else _span(places[0], places[-1])

    def info(self) -> FileInfo:
        headings, warnings = self._headings, list(self._warnings)
        try:
            self._limits.check(
                "max_bookmarks", len(headings), f"its headings were ignored: there are {len(headings):,}"
            )
        except LimitError as error:
            headings = []
            warnings.append(str(error))
        starts = [start for start, _, _ in self._pages]
        marked = []
        for line, level, title, source in headings:
            page = bisect_right(starts, line)
            marked.append(MarkedHeading(level, title, page, line - starts[page - 1], source))
        return FileInfo(self.pages, (), self._metadata, tuple(warnings), tuple(marked))

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Pages by their 1-based numbers; one over a limit comes as the error that says so."""
        for number in numbers:
            try:
                yield self._page(number)
            except LimitError as error:
                yield error
            on_page(number)

    def close(self) -> None:
        """Nothing is held open."""

    def _page(self, number: int) -> ParsedPage:
        start, end, label = self._pages[number - 1]
        while end > start and not self._text.lines[end - 1]:
            end -= 1
        self._limits.check("max_page_lines", end - start, f"page {number} has {end - start:,} lines of text")
        characters = sum(map(len, self._text.lines[start:end]))
        self._limits.check("max_page_characters", characters, f"page {number} has {characters:,} characters")
        lines = tuple(
            Line(text, role=role)
            for text, role in zip(self._text.lines[start:end], self._text.roles[start:end], strict=True)
        )
        return ParsedPage(number, label, lines=lines, places=tuple(_begun(self._text.places[start:end])))


def _begun(places: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines at which a place begins."""
    before = ""
    for line, place in enumerate(places):
        if place and place != before:
            yield line, place
            before = place


def _span(first: str, last: str) -> str:
    """«paragraph 3» and «paragraph 9» -> «paragraphs 3-9»; two times with a dash between them."""
    name, _, number = last.rpartition(" ")
    if not name:
        return f"{first}–{last}"
    return f"{name}s {first.removeprefix(f'{name} ')}-{number}" if first.startswith(f"{name} ") else first


def _write(block: Block, text: _Text) -> None:
    place = block.place
    if isinstance(block, Heading):
        title = _plain(f"{block.number} {block.text}")
        if not _plain(block.text):
            return None
        if len(title) > _LONGEST_TITLE:
            return _write(Paragraph(title, place), text)
        text.gap()
        at, level = len(text.lines), max(1, block.level)
        text.headings.append((at, level, title))
        if block.number:
            text.numbers.append((at, block.number.rstrip(".")))
        text.add(f"{'#' * min(level, 6)} {title}", "heading", place, HEADING)
        return text.gap()
    if isinstance(block, Code):
        if block.text.strip():
            text.gap()
            text.add(f"```{block.language}", block.role, place, PARAGRAPH)
            for line in block.text.strip("\n").split("\n"):
                text.add(_verbatim(line), block.role, place)
            text.add("```", block.role, place)
            text.gap()
        return None
    if isinstance(block, Table):
        return _table(block, text)
    said, before, role = _said(block)
    pieces = [piece for line in said.split("\n") if (whole := _plain(line)) for piece in _pieces(whole)]
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


def _said(block: Paragraph | Item | Picture | Note) -> tuple[str, str, LineRole]:
    """A block's words, what is written before them, and their role."""
    if isinstance(block, Item):
        return block.text, f"{'  ' * min(block.depth, 8)}{block.mark} ", "text"
    if isinstance(block, Picture):
        return block.text.replace("\n", " ") and f"![{' '.join(block.text.split())}]", "", "image"
    if isinstance(block, Note):
        return block.text, f"[{block.mark}] " if block.mark else "", "text"
    return block.text, "", "text"


def _table(table: Table, text: _Text) -> None:
    """A row a line; a table of one cell is a box around paragraphs."""
    rows = [[_plain(cell.replace("\n", " ")).replace("|", "\\|") for cell in row] for row in table.rows]
    rows = [row for row in rows if any(row)]
    if not rows:
        return
    width = max(map(len, rows))
    if width == 1:
        for (cell,) in rows:
            _write(Paragraph(cell.replace("\\|", "|"), table.place), text)
        return
    text.gap()
    for at, row in enumerate(rows):
        line = f"| {' | '.join(row + [''] * (width - len(row)))} |"
        text.add(line, "table", table.place, PARAGRAPH if not at or len(line) > _LONGEST_LINE // 4 else INSIDE)
        if not at and table.header and len(rows) > 1:
            text.add(f"|{'---|' * width}", "table", table.place)
    text.gap()


def _plain(text: str) -> str:
    return clean(_SURROGATES.sub("\ufffd", " ".join(text.split()))).strip()


def _verbatim(line: str) -> str:
    line = _SURROGATES.sub("\ufffd", line.expandtabs(4))
    return _WORDS.sub(lambda word: clean(word.group()), line).rstrip()


def _pieces(text: str) -> Iterator[str]:
    """A long paragraph by its sentences, or by its words where these are as long."""
    while len(text) > _LONGEST_LINE:
        ends = list(_SENTENCE_END.finditer(text, _LONGEST_LINE // 2, _LONGEST_LINE))
        best = next((m for m in reversed(ends) if m.start() and text[m.start() - 1] in ".!?;。！？；"), None)
        cut = best or (ends[-1] if ends else None)
        end = cut.end() if cut else _LONGEST_LINE
        yield text[:end].strip()
        text = text[end:]
    if text.strip():
        yield text.strip()


def _borders(text: _Text, start: int, clauses: bool) -> list[int]:
    """How good a place to end a page is before each line from ``start``: no heading is left at a page's end."""
    borders = text.borders[start:]
    if clauses:
        for at in text.paragraphs:
            if at >= start and looks_like_clause(text.lines[at]):
                borders[at - start] = CLAUSE
    titled = False
    for at in range(start, len(text.lines)):
        if text.lines[at]:
            if titled:
                borders[at - start] = INSIDE
            titled = text.roles[at] == "heading"
    return borders


def _with_clauses(text: _Text) -> list[tuple[int, int, str, HeadingSource]]:
    """(line, level, title, source) of headings and of the clauses below them, in order."""
    at_lines = [line for line, _, _ in text.headings]
    clauses = find_clauses([(at, text.lines[at]) for at in text.paragraphs], at_lines, text.lines)
    found: list[tuple[int, int, str, HeadingSource]] = [(*heading, "markup") for heading in text.headings]
    for under, group in groupby(clauses, key=lambda clause: bisect_right(at_lines, clause.line)):
        run = list(group)
        above = text.headings[under - 1][1] if under else 0
        found += [
            (clause.line, above + level, clause.title, "clause")
            for clause, level in zip(run, clause_levels(run), strict=True)
        ]
    return sorted(found)
