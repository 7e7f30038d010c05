"""Markdown -> parsed pages of lines, with headings from its syntax and from numbered clauses.

A page's lines are the file's lines: line ``i`` of a page is the file's line "first of the page + i". They
are cleaned (hybrid_core.text.tokens.clean; in code only control characters and tabs), and blank lines at a page's
end are left out; nothing else is changed, so marks, links and the metadata block stay readable.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import HeadingSource, Line, LineRole, MarkedHeading, ParsedPage, line_locator
from indexers.formats.decode import read_text
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.blocks import Blocks, read_blocks
from indexers.formats.markdown.clauses import clause_levels, find_clauses, looks_like_clause
from indexers.formats.markdown.front_matter import read_front_matter
from indexers.formats.text_pages import CLAUSE, INSIDE, PARAGRAPH, cut_pages

_VERBATIM = frozenset({"code", "command", "config", "plain"})
_WORD = re.compile(r"[^ ]+")


class MarkdownFile:
    """An open Markdown file. Raises DocumentError where it is no text, LimitError where it has too many pages."""

    def __init__(self, path: Path, limits: ParseLimits = ParseLimits()) -> None:
        text, self._warnings = read_text(path)
        source = [line if clean(line).strip() else "" for line in text.removesuffix("\n").split("\n")]
        front = read_front_matter(source)
        blocks = read_blocks([*[""] * front.lines, *source[front.lines :]])
        blocks.roles[: front.lines] = ["metadata"] * front.lines
        self._roles = blocks.roles
        self._lines = [_cleaned(line, role) for line, role in zip(source, blocks.roles, strict=True)]
        self._warnings += front.warnings
        self._metadata = front.metadata
        self._limits = limits
        self._spans = cut_pages(self._lines, _borders(blocks, self._lines))
        self.pages = len(self._spans)
        limits.check("max_pages", self.pages, f"{path}: it has {self.pages:,} pages")
        self._blocks = blocks

    def info(self) -> FileInfo:
        """Its metadata and headings; too many headings are left out and said."""
        headings = _headings(self._blocks, self._lines)
        warnings = list(self._warnings)
        count = len(headings)
        try:
            self._limits.check("max_bookmarks", count, f"its headings were ignored: there are {count:,}")
        except LimitError as error:
            headings = []
            warnings.append(str(error))
        starts = [start for start, _ in self._spans]
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
        start, end = self._spans[number - 1]
        last = end
        while last > start and not self._lines[last - 1]:
            last -= 1
        self._limits.check("max_page_lines", last - start, f"page {number} has {last - start:,} lines of text")
        characters = sum(map(len, self._lines[start:last]))
        self._limits.check("max_page_characters", characters, f"page {number} has {characters:,} characters")
        lines = tuple(
            Line(text, role=role) for text, role in zip(self._lines[start:last], self._roles[start:last], strict=True)
        )
        return ParsedPage(number, line_locator(start + 1, end), lines=lines)


def _cleaned(line: str, role: LineRole) -> str:
    if line.isascii() and line.isprintable() and "  " not in line:
        return line.rstrip()
    line = line.expandtabs(4)
    if role in _VERBATIM:
        return _WORD.sub(lambda word: clean(word.group()), line).rstrip()
    words = line.lstrip(" ")
    return (line[: len(line) - len(words)] + clean(words)).rstrip()


def _borders(blocks: Blocks, lines: Sequence[str]) -> list[int]:
    """How good a place to end a page is before each line: no heading is left at a page's end."""
    borders = list(blocks.borders)
    for at in blocks.paragraphs:
        if borders[at] <= PARAGRAPH and looks_like_clause(lines[at]):
            borders[at] = CLAUSE
    titled = False
    for at, line in enumerate(lines):
        if line:
            if titled:
                borders[at] = INSIDE
            titled = blocks.roles[at] == "heading"
    return borders


def _headings(blocks: Blocks, lines: Sequence[str]) -> list[tuple[int, int, str, HeadingSource]]:
    """(line, level, title, source) of headings by syntax and of the clauses below them, in order."""
    titled = blocks.headings
    at_lines = [heading.line for heading in titled]
    starts = [
        (at, lines[at])
        for at in blocks.paragraphs
        if at == 0 or not lines[at - 1] or blocks.roles[at - 1] != "text" or lines[at - 1][-1] in ".;:。；：！？"
    ]
    clauses = find_clauses(starts, at_lines, lines)
    found: list[tuple[int, int, str, HeadingSource]] = [(h.line, h.level, h.title, "markup") for h in titled]
    for under, group in groupby(clauses, key=lambda clause: bisect_right(at_lines, clause.line)):
        run = list(group)
        above = titled[under - 1].level if under else 0
        found += [
            (clause.line, above + level, clause.title, "clause")
            for clause, level in zip(run, clause_levels(run), strict=True)
        ]
    return sorted(found)
