"""The blocks of a Markdown text: which lines are headings, code, tables; where paragraphs begin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import LineRole
from indexers.formats.code_roles import code_role
from indexers.formats.text_pages import HEADING, INSIDE, PARAGRAPH

_LONGEST_TITLE = 300  # characters; a longer "heading" is a paragraph above a rule
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")  # ## Title {#anchor}
_TAG = re.compile(r"<[^<>]*>")
_IMAGE = re.compile(r"!\[[^\]]*\][(\[]|<img\s", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:<!--.*?-->\s*)+", re.DOTALL)
_BLOCKS = frozenset(
    "paragraph_open list_item_open bullet_list_open ordered_list_open blockquote_open fence code_block table_open "
    "html_block hr".split()
)


@dataclass(frozen=True, slots=True)
class TitledLine:
    """A heading at a line (from 0) of the text."""

    line: int
    level: int
    title: str


@dataclass(slots=True)
class Blocks:
    """What each line is. ``borders`` are ranks as text_pages has them; ``paragraphs`` lines of top-level paragraphs."""

    roles: list[LineRole]
    borders: list[int]
    headings: list[TitledLine] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)
    tables: list[tuple[int, int, int]] = field(default_factory=list)  # first line, that after the last, lines of heads


def read_blocks(lines: Sequence[str]) -> Blocks:
    """The blocks by CommonMark with tables. Only headings that stand by themselves count, none in lists or quotes."""
    blocks = Blocks(["text"] * len(lines), [INSIDE] * len(lines))
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse("\n".join(lines))
    inline = MarkdownIt("commonmark").enable("strikethrough")
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        first, stop = token.map[0], min(token.map[1], len(lines))
        if token.type == "heading_open":
            title = _title(tokens[at + 1].content, inline)
            if token.level == 0 and title and len(title) <= _LONGEST_TITLE:
                blocks.headings.append(TitledLine(first, int(token.tag[1:]), title))
                blocks.borders[first] = HEADING
                blocks.roles[first:stop] = ["heading"] * (stop - first)
        elif token.type in _BLOCKS:
            blocks.borders[first] = max(blocks.borders[first], PARAGRAPH)
            if token.type == "table_open" and token.level == 0:
                blocks.tables.append((first, stop, 2))
            if (role := _role(token)) != "text":
                blocks.roles[first:stop] = [role] * (stop - first)
            elif token.type == "paragraph_open" and token.level == 0:
                blocks.paragraphs += range(first, stop)
    for at, line in enumerate(lines):
        if blocks.roles[at] == "text" and _IMAGE.search(line):
            blocks.roles[at] = "image"
    return blocks


def _role(token: Token) -> LineRole:
    if token.type == "table_open":
        return "table"
    if token.type == "code_block":
        return "code"
    if token.type == "fence":
        return code_role(next(iter(token.info.split()), ""))
    if token.type == "html_block":
        content = token.content.lstrip().lower()
        if _COMMENT.fullmatch(content):
            return "comment"
        if content.startswith("<table"):
            return "table"
        if content.startswith("<pre"):
            return "code"
    return "text"


def _title(source: str, inline: MarkdownIt) -> str:
    """A heading's words: without marks, links as their text, images as what they stand for; "" where far too long."""
    if len(source) > 4 * _LONGEST_TITLE:
        return ""
    source = _ATTRIBUTES.sub("", source)
    if source.isalnum():
        return clean(source)
    tokens = inline.parseInline(source)
    said = "".join(_said(token) for token in tokens[0].children or ())
    return " ".join(clean(said.replace("\n", " ")).split())


def _said(token: Token) -> str:
    if token.type == "html_inline":
        return ""
    return " " if token.type in ("softbreak", "hardbreak") else token.content
