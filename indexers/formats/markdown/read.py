"""Markdown -> parsed pages of lines, with headings from its syntax and from numbered clauses.

A page's lines are the file's lines: line ``i`` of a page is the file's line "first of the page + i". Where a page goes
on with a table it begins with the table's heads, and HTML headings and tables are written as Markdown: then places say
which line is which. They
are cleaned (hybrid_core.text.tokens.clean; in code only control characters and tabs), the bytes of pictures in links
and blank lines at a page's end are left out; nothing else is changed, so marks, links and the metadata block stay
readable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import LineRole, line_locator
from indexers.formats.decode import read_text
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.blocks import Blocks, read_blocks
from indexers.formats.markdown.embedded_html import unfold_html
from indexers.formats.markdown.front_matter import read_front_matter
from indexers.formats.markdown.pictures import definitions, image_links, without_data
from indexers.formats.marked_file import MarkedFile, PageLines, PagePictures, page_borders, with_clauses
from indexers.formats.nearby import NearbyPictures
from indexers.formats.text_pages import cut_pages, repeat_heads

_VERBATIM = frozenset({"code", "command", "config", "plain"})
_PICTURED = frozenset({"image", "text", "table"})
_LONGEST_HEADS = 800  # characters of a table's heads that are said again on its next page
_WORD = re.compile(r"[^ ]+")


class MarkdownFile(MarkedFile):
    """An open Markdown file. Raises DocumentError where it is no text, LimitError where it has too many pages."""

    def __init__(self, path: Path, limits: ParseLimits = ParseLimits()) -> None:
        nearby = NearbyPictures(path)
        text, warnings = read_text(path)
        source = [line if clean(line).strip() else "" for line in text.removesuffix("\n").split("\n")]
        front = read_front_matter(source)
        body, origins = unfold_html([*[""] * front.lines, *source[front.lines :]])
        source = [*source[: front.lines], *body[front.lines :]]
        blocks = read_blocks(body)
        blocks.roles[: front.lines] = ["metadata"] * front.lines
        lines = [_cleaned(without_data(line), role) for line, role in zip(source, blocks.roles, strict=True)]
        spans = cut_pages(lines, page_borders(blocks.borders, lines, blocks.roles, blocks.paragraphs))
        limits.check("max_pages", len(spans), f"{path}: it has {len(spans):,} pages")
        headings = with_clauses(blocks.headings, lines, _starts(blocks, lines))
        tables = [table for table in blocks.tables if sum(map(len, lines[table[0] : table[0] + 2])) < _LONGEST_HEADS]
        columns: list[list[Any]] = [lines, source, blocks.roles, origins]
        starts = [origins[first] for first, _ in spans]
        ends = [*starts[1:], origins[-1] + 1 if origins else 0]
        spans, moved = repeat_heads(columns, tables, spans)
        pages = [
            PageLines(first, end, line_locator(start + 1, max(start + 1, stop)))
            for (first, end), start, stop in zip(spans, starts, ends, strict=True)
        ]
        super().__init__(
            lines, blocks.roles, pages, [(moved(line), level, title, kind) for line, level, title, kind in headings],
            front.metadata, [*warnings, *front.warnings], limits, _places(pages, origins),
            pictures=_pictures(source, blocks.roles, pages, nearby), images=nearby.read,
        )  # fmt: skip


def _places(pages: Sequence[PageLines], origins: Sequence[int]) -> list[str]:
    """The place of each line on pages whose lines are not the file's lines one by one, "" on others."""
    places: list[str] = []
    for page in pages:
        numbers = origins[page.first : page.end]
        follow = all(after == before + 1 for before, after in pairwise(numbers))
        places += [""] * len(numbers) if follow else [f"line {number + 1}" for number in numbers]
    return places


def _pictures(
    source: Sequence[str], roles: Sequence[LineRole], pages: Sequence[PageLines], nearby: NearbyPictures
) -> PagePictures:
    """Those that links mean, each after the line that shows it first."""
    defined = definitions(source)
    found: dict[int, list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for number, page in enumerate(pages, 1):
        for at in range(page.first, page.end):
            if roles[at] in _PICTURED:
                links = [held for link in image_links(source[at], defined) if (held := nearby.name(link))]
                new = [link for link in dict.fromkeys(links) if link not in seen]
                seen.update(new)
                if new:
                    found.setdefault(number, []).extend((at + 1 - page.first, link) for link in new)
    return found


def _cleaned(line: str, role: LineRole) -> str:
    if line.isascii() and line.isprintable() and "  " not in line:
        return line.rstrip()
    line = line.expandtabs(4)
    if role in _VERBATIM:
        return _WORD.sub(lambda word: clean(word.group()), line).rstrip()
    words = line.lstrip(" ")
    return (line[: len(line) - len(words)] + clean(words)).rstrip()


def _starts(blocks: Blocks, lines: Sequence[str]) -> list[int]:
    """Lines of paragraphs that may begin a clause: the first, and those after the end of a sentence."""
    return [
        at
        for at in blocks.paragraphs
        if at == 0 or not lines[at - 1] or blocks.roles[at - 1] != "text" or lines[at - 1][-1] in ".;:。；：！？"
    ]
