"""Markdown -> parsed pages of lines, with headings from its syntax and from numbered clauses.

A page's lines are the file's lines: line ``i`` of a page is the file's line "first of the page + i". They
are cleaned (hybrid_core.text.tokens.clean; in code only control characters and tabs), the bytes of pictures in links
and blank lines at a page's end are left out; nothing else is changed, so marks, links and the metadata block stay
readable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import LineRole, line_locator
from indexers.formats.decode import read_text
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.blocks import Blocks, read_blocks
from indexers.formats.markdown.front_matter import read_front_matter
from indexers.formats.markdown.pictures import definitions, image_links, without_data
from indexers.formats.marked_file import MarkedFile, PageLines, PagePictures, page_borders, with_clauses
from indexers.formats.nearby import NearbyPictures
from indexers.formats.text_pages import cut_pages

_VERBATIM = frozenset({"code", "command", "config", "plain"})
_PICTURED = frozenset({"image", "text", "table"})
_WORD = re.compile(r"[^ ]+")


class MarkdownFile(MarkedFile):
    """An open Markdown file. Raises DocumentError where it is no text, LimitError where it has too many pages."""

    def __init__(self, path: Path, limits: ParseLimits = ParseLimits()) -> None:
        nearby = NearbyPictures(path)
        text, warnings = read_text(path)
        source = [line if clean(line).strip() else "" for line in text.removesuffix("\n").split("\n")]
        front = read_front_matter(source)
        blocks = read_blocks([*[""] * front.lines, *source[front.lines :]])
        blocks.roles[: front.lines] = ["metadata"] * front.lines
        lines = [_cleaned(without_data(line), role) for line, role in zip(source, blocks.roles, strict=True)]
        spans = cut_pages(lines, page_borders(blocks.borders, lines, blocks.roles, blocks.paragraphs))
        limits.check("max_pages", len(spans), f"{path}: it has {len(spans):,} pages")
        pages = [PageLines(first, end, line_locator(first + 1, end)) for first, end in spans]
        headings = with_clauses(blocks.headings, lines, _starts(blocks, lines))
        super().__init__(
            lines, blocks.roles, pages, headings, front.metadata, [*warnings, *front.warnings], limits,
            pictures=_pictures(source, blocks.roles, pages, nearby), images=nearby.read,
        )  # fmt: skip


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
