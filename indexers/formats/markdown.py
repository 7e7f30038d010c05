"""Markdown files as pages of lines, including front matter, embedded HTML headings and tables, and pictures.

A page's lines are lines of the file: line ``i`` of a page is line "first of the page + i" of the file. A page that
begins inside a table repeats the column headings of the table.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import LineRole, line_locator
from hybrid_core.types.notes import Note
from indexers.formats.decode import read_text
from indexers.formats.flow.pages import written_lines
from indexers.formats.limits import ParseLimits
from indexers.formats.pictures import NearbyPictures, definitions, image_links, without_data
from indexers.formats.text_pages import (
    Blocks,
    MarkedFile,
    MarkedText,
    PageLines,
    PagePictures,
    block_parser,
    cut_pages,
    inline_text,
    page_borders,
    read_blocks,
    repeat_heads,
    with_clauses,
)
from indexers.formats.web.html import parse_html

_EMBEDDED = re.compile(r"<(?:table|h[1-6])\b", re.I)
_HEADING = re.compile(r"<h([1-6])\b[^<>]{0,500}>(.{0,1000}?)</h\1\s*>", re.I | re.S)
_TABLE = re.compile(r"<(/?)table\b", re.I)
_TAG = re.compile(r"</?[a-z][^<>]{0,2000}>", re.I)
_LETTERS = re.compile(r"\w+")
_PICTURE = re.compile(r"<img\b", re.I)
_RAW_BLOCKS = ("<!--", "<pre", "<script", "<style", "<textarea")  # HTML blocks without markup inside
_MOST_TABLE_LINES = 5_000  # maximum lines of one table
_MOST_ENDLESS = 50  # maximum of tables without an end or left unchanged; all tables after them are left unchanged too


def unfold_html(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """Convert headings and tables of HTML blocks to Markdown. Return the new lines, and the original line number of
    each.
    """
    if not any(_EMBEDDED.search(line) for line in lines if "<" in line):
        return list(lines), list(range(len(lines)))
    blocks: dict[int, int] = {}  # first line of an HTML block: the line after its last
    for token in block_parser().parse("\n".join(lines)):
        if token.type != "html_block" or token.level or token.map is None:
            continue
        if not token.content.lstrip().lower().startswith(_RAW_BLOCKS):
            blocks[token.map[0]] = min(token.map[1], len(lines))
    unfolded: list[str] = []
    origins: list[int] = []
    at, block_end, endless = 0, 0, 0
    while at < len(lines):
        block_end = max(block_end, blocks.get(at, 0))
        end, markdown = at + 1, None
        if at < block_end and (tag := _EMBEDDED.search(lines[at])):
            if tag[0].lower() == "<table":
                end = _table_end(lines, at) if endless < _MOST_ENDLESS else at + 1
                markdown = _table_lines("\n".join(lines[at:end]))
                endless += markdown is None
            else:
                end = next((last + 1 for last in range(at, block_end) if re.search(r"</h\d", lines[last], re.I)), end)
                markdown = _heading("\n".join(lines[at:end]))
        if markdown is None:
            markdown, end = [lines[at]], at + 1
        elif unfolded and unfolded[-1]:
            markdown = ["", *markdown]
        unfolded += markdown
        origins += [at] * len(markdown)
        at = end
    return unfolded, origins


def _table_end(lines: Sequence[str], start: int) -> int:
    """Return the index of the line after a table that begins at ``start``. A table without an end has one line."""
    deep = 0
    for at in range(start, min(len(lines), start + _MOST_TABLE_LINES)):
        for tag in _TABLE.finditer(lines[at]):
            deep += -1 if tag[1] else 1
        if deep <= 0:
            return at + 1
    return start + 1


def _table_lines(source: str) -> list[str] | None:
    """Return an HTML table as Markdown lines, None if this would lose words or pictures."""
    if _PICTURE.search(source) or "</table" not in source.lower():
        return None
    lines = written_lines(parse_html(source, whole=True).blocks)
    missing = Counter(_LETTERS.findall(_TAG.sub(" ", source))) - Counter(_LETTERS.findall("\n".join(lines)))
    return [*lines, ""] if lines and not {word for word in missing if not re.search(rf"&#?{word};", source)} else None


def _heading(source: str) -> list[str] | None:
    """Return an HTML heading as a Markdown line, with lines for the text before and after it.

    Return None if there is no heading.
    """
    tag = _HEADING.search(source)
    title = " ".join(_TAG.sub("", tag[2]).split()) if tag is not None else ""
    if tag is None or not title or _PICTURE.search(tag[2]):
        return None
    around = [source[: tag.start()].strip(), source[tag.end() :].strip()]
    before, after = ([] if not _TAG.sub("", text).strip() else [text] for text in around)
    return [*before, *([""] if before else []), f"{'#' * int(tag[1])} {title}", "", *after]


_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
_MOST_LINES, _LONGEST_FIELD = 500, 2_000
_FIELD = re.compile(r"[\w-]+\s*[:=]|#")
_NAMES = {"authors": "author", "name": "title"}


class FrontMatter(NamedTuple):
    """The front matter of a file. ``lines`` is the length of the block including its fences, 0 if there is none."""

    lines: int
    metadata: dict[str, str]
    warnings: tuple[str, ...]


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Read the fields of the front matter by lower-case names. An unreadable block is read as text, with a warning."""
    fence = lines[0].rstrip() if lines else ""
    ends = _ENDS.get(fence, ())
    end = next((i for i, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() in ends), 0)
    inside = lines[1:end]
    if not end or not _FIELD.match(next((line for line in inside if line.strip()), "")):
        return FrontMatter(0, {}, ())
    body = "\n".join(inside)
    try:
        fields = tomllib.loads(body) if fence == "+++" else yaml.safe_load(body)
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        return FrontMatter(0, {}, (Note("read.front-damaged"),))
    if not isinstance(fields, Mapping):
        return FrontMatter(0, {}, ())
    metadata: dict[str, str] = {}
    for key, value in fields.items():
        name = _text_of_value(key).strip().lower()
        if text := clean(_value_text(value)[:_LONGEST_FIELD].replace("\n", " ")).strip():
            metadata.setdefault(_NAMES.get(name, name), text)
    return FrontMatter(end + 1, metadata, ())


def _value_text(value: Any) -> str:
    """Return a front matter value as text: a plain value, or a list of plain values. Return "" for nested values."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_value_text(item) for item in value[:100] if not isinstance(item, list))))
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return _text_of_value(value) if isinstance(value, str | int | float) else ""


def _text_of_value(value: object) -> str:
    """Return a value as text, "" for an integer of thousands of digits, which Python refuses to convert."""
    try:
        return str(value)
    except ValueError:
        return ""


_VERBATIM = frozenset({"code", "command", "config", "plain"})
_AS_WRITTEN = _VERBATIM | {"metadata", "comment"}  # roles of lines whose HTML is no markup
_PICTURE_ROLES = frozenset({"image", "text", "table"})
_LONGEST_HEADS = 800  # maximum characters of column headings that are repeated on the next page
_WORD = re.compile(r"[^ ]+")


class MarkdownFile(MarkedFile):
    """An open Markdown file. Raises DocumentError if it is not text, LimitError if it has too many pages."""

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
        limits.check("max_pages", len(spans), f"the file has {len(spans):,} pages", file=path)
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
        headings = [(moved(line), level, title, kind) for line, level, title, kind in headings]
        marked = MarkedText(lines, blocks.roles, pages, headings, _line_places(pages, origins))
        pictures = _pictures(source, blocks.roles, pages, nearby)
        super().__init__(
            marked, front.metadata, [*warnings, *front.warnings], limits, pictures=pictures, images=nearby.read
        )


def _line_places(pages: Sequence[PageLines], origins: Sequence[int]) -> list[str]:
    """Return a place such as "line 12" for each line of the pages whose lines are not consecutive lines of the file.

    The lines of other pages have the place "".
    """
    places: list[str] = []
    for page in pages:
        numbers = origins[page.first : page.end]
        follow = all(after == before + 1 for before, after in pairwise(numbers))
        places += [""] * len(numbers) if follow else [f"line {number + 1}" for number in numbers]
    return places


def _pictures(
    source: Sequence[str], roles: Sequence[LineRole], pages: Sequence[PageLines], nearby: NearbyPictures
) -> PagePictures:
    """Return the linked pictures by page number, each with the first line that shows it."""
    defined = definitions(source)
    pictures: dict[int, list[tuple[int, str]]] = {}
    seen: set[str] = set()
    for number, page in enumerate(pages, 1):
        for at in range(page.first, page.end):
            if roles[at] in _PICTURE_ROLES:
                links = [name for link in image_links(source[at], defined) if (name := nearby.name(link))]
                new = [link for link in dict.fromkeys(links) if link not in seen]
                seen.update(new)
                if new:
                    pictures.setdefault(number, []).extend((at + 1 - page.first, link) for link in new)
    return pictures


def _cleaned(line: str, role: LineRole) -> str:
    line = line if role in _AS_WRITTEN else inline_text(line)
    if line.isascii() and line.isprintable() and "  " not in line:
        return line.rstrip()
    line = line.expandtabs(4)
    if role in _VERBATIM:
        return _WORD.sub(lambda word: clean(word.group()), line).rstrip()
    words = line.lstrip(" ")
    return (line[: len(line) - len(words)] + clean(words)).rstrip()


def _starts(blocks: Blocks, lines: Sequence[str]) -> list[int]:
    """Return the indexes of lines in paragraphs that may begin a clause.

    These are the first lines of paragraphs, and the lines after the end of a sentence.
    """
    return [
        at
        for at in blocks.paragraphs
        if at == 0 or not lines[at - 1] or blocks.roles[at - 1] != "text" or lines[at - 1][-1] in ".;:。；：！？"
    ]
