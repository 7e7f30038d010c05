"""Pages and documents for the tests of outlines and trees: set line by line, or read from a PDF made on the spot."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import pymupdf

from hybrid_core.types.documents import Bookmark, Line, ParsedDocument, ParsedPage, Section
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_info, read_pages

_WORDS = (
    "keeper store crate week figures master yard orders season carrier ships spring accounts crews gate ropes "
    "weather paper stone winter letters bread market river bridge candle ledger wages lantern sail canvas "
    "barrel copper engine garden"
).split()


def filler(seed: int, words: int = 14) -> str:
    """A line of prose, another for each seed."""
    chosen = random.Random(seed).sample(_WORDS, words)
    return f"the {chosen[0]} and " + " ".join(chosen[1:])


FILLER = tuple(filler(-i) for i in range(1, 6))


def line(text: str, y: float, *, x: float = 72, size: float = 10, bold: bool = False, italic: bool = False) -> Line:
    font = "Serif" + "-Bold" * bold + "-Italic" * italic
    return Line(text, x, y, x + 0.5 * size * len(text), y + 1.2 * size, size, bold, italic, font)


class Sheet:
    """One page set from the top down."""

    def __init__(self, number: int, label: str = "") -> None:
        self.number, self.label = number, label
        self.lines: list[Line] = []
        self.y = 72.0

    def head(self, text: str, size: float = 16, *, bold: bool = True, x: float = 72) -> Sheet:
        self.y += size
        self.lines.append(line(text, self.y, x=x, size=size, bold=bold))
        self.y += 2 * size
        return self

    def prose(self, lines: int = 5) -> Sheet:
        for _ in range(lines):
            self.lines.append(line(filler(1000 * self.number + len(self.lines)), self.y))
            self.y += 13
        self.y += 6
        return self

    def row(self, text: str, *, x: float = 72, step: float = 14, bold: bool = False, italic: bool = False) -> Sheet:
        self.lines.append(line(text, self.y, x=x, bold=bold, italic=italic))
        self.y += step
        return self

    def entry(self, title: str, label: str, *, x: float = 72) -> Sheet:
        """A row of a table of contents, its label at the right margin."""
        self.lines.append(Line(f"{title}  {label}", x, self.y, 500, self.y + 12, 10, False, False, "Serif"))
        self.y += 14
        return self

    def running(self, head: str = "", foot: str = "") -> Sheet:
        if head:
            self.lines.insert(0, line(head, 40, size=8))
        if foot:
            self.lines.append(line(foot, 800, x=300, size=8))
        return self

    def page(self) -> ParsedPage:
        return ParsedPage(self.number, self.label, 595, 842, tuple(self.lines), 0)


def document(sheets: Iterable[Sheet], bookmarks: Sequence[Bookmark] = ()) -> ParsedDocument:
    return ParsedDocument("pdf", tuple(sheet.page() for sheet in sheets), tuple(bookmarks), {})


def read(path: Path) -> ParsedDocument:
    with open_pdf(path) as pdf:
        info = read_info(pdf)
        pages = tuple(page for page in read_pages(pdf, range(1, info.pages + 1)) if isinstance(page, ParsedPage))
    return ParsedDocument("pdf", pages, info.bookmarks, info.metadata)


def save(pdf: pymupdf.Document, path: Path) -> ParsedDocument:
    pdf.save(path)
    pdf.close()
    return read(path)


def outline_of(sections: Iterable[Section]) -> list[tuple[int, str, int]]:
    """(level, title, first page) of every section that stands for a heading."""
    return [(s.level, s.title, s.start_page) for s in sections if not s.synthetic]


def text_of(section: Section, pages: Sequence[ParsedPage]) -> str:
    parts = []
    for number in range(section.start_page, section.end_page + 1):
        text = pages[number - 1].text
        start = section.anchor if number == section.start_page else 0
        end = section.end_anchor if number == section.end_page else None
        parts.append(text[start:end])
    return "\n".join(parts)


def check(sections: Sequence[Section], pages: Sequence[ParsedPage]) -> None:
    """The invariants of a tree over pages."""
    assert sections, "a document with pages has a tree"
    known: dict[str, Section] = {}
    children: dict[str | None, list[Section]] = {}
    for number, s in enumerate(sections, 1):
        assert s.node_id == f"{number:04d}"
        assert s.title.strip()
        assert 1 <= s.start_page <= s.end_page <= len(pages)
        assert 0 <= s.anchor <= len(pages[s.start_page - 1].text)
        assert s.end_anchor is None or (s.start_page, s.anchor) <= (s.end_page, s.end_anchor)
        known[s.node_id] = s
        children.setdefault(s.parent_id, []).append(s)
        if s.parent_id is None:
            assert s.level == 1
            continue
        parent = known[s.parent_id]  # preorder: the parent came before
        assert s.level == parent.level + 1
        assert (parent.start_page, parent.anchor) <= (s.start_page, s.anchor)
        assert _end(s) <= _end(parent)
    for parent_id, siblings in children.items():
        assert len({(s.title, s.start_page, s.anchor) for s in siblings}) == len(siblings)
        for left, right in pairwise(siblings):
            after = (left.end_page + 1, 0) if left.end_anchor is None else (left.end_page, left.end_anchor)
            assert after == (right.start_page, right.anchor), "siblings part the text without gap or overlap"
        if parent_id is not None:
            assert _end(siblings[-1]) == _end(known[parent_id])
    roots = children[None]
    assert (roots[0].start_page, roots[0].anchor) == (1, 0)
    assert _end(roots[-1]) == (len(pages) + 1, 0)


def _end(s: Section) -> tuple[int, int]:
    return (s.end_page + 1, 0) if s.end_anchor is None else (s.end_page, s.end_anchor)
