"""HTML headings and tables inside Markdown, as Markdown: «<h2>Ports</h2>» is «## Ports», a table rows of cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from markdown_it import MarkdownIt

from indexers.formats.flow.pages import written_lines
from indexers.formats.web.html import parse_html

_EMBEDDED = re.compile(r"<(?:table|h[1-6])\b", re.I)
_HEADING = re.compile(r"<h([1-6])\b[^<>]{0,500}>(.{0,1000}?)</h\1\s*>", re.I | re.S)
_TABLE = re.compile(r"<(/?)table\b", re.I)
_TAG = re.compile(r"</?[a-z][^<>]{0,2000}>", re.I)
_WORD = re.compile(r"\w+")
_PICTURE = re.compile(r"<img\b", re.I)
_KEPT = ("<!--", "<pre", "<script", "<style", "<textarea")  # blocks in which nothing is markup
_MOST_LINES = 5_000  # of one table
_MOST_ENDLESS = 50  # tables that have no end or are left as they are; those after them are left too


def unfold_html(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the lines with the headings and tables of their HTML blocks as Markdown, and which line each was."""
    if not any(_EMBEDDED.search(line) for line in lines if "<" in line):
        return list(lines), list(range(len(lines)))
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    blocks: dict[int, int] = {}  # first line of a block of HTML: that after its last
    for token in parser.parse("\n".join(lines)):
        if token.type != "html_block" or token.level or token.map is None:
            continue
        if not token.content.lstrip().lower().startswith(_KEPT):
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
                markdown = _table("\n".join(lines[at:end]))
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
    """The line after the end of the table that begins at a line; the next line where it has none."""
    deep = 0
    for at in range(start, min(len(lines), start + _MOST_LINES)):
        for tag in _TABLE.finditer(lines[at]):
            deep += -1 if tag[1] else 1
        if deep <= 0:
            return at + 1
    return start + 1


def _table(source: str) -> list[str] | None:
    """The lines of a table; None where some words would be lost, or pictures."""
    if _PICTURE.search(source) or "</table" not in source.lower():
        return None
    lines = written_lines(parse_html(source, whole=True).blocks)
    missing = Counter(_WORD.findall(_TAG.sub(" ", source))) - Counter(_WORD.findall("\n".join(lines)))
    return [*lines, ""] if lines and not {word for word in missing if not re.search(rf"&#?{word};", source)} else None


def _heading(source: str) -> list[str] | None:
    """The line of a heading, and lines for what stands before and after it; None where there is none."""
    tag = _HEADING.search(source)
    title = " ".join(_TAG.sub("", tag[2]).split()) if tag is not None else ""
    if tag is None or not title or _PICTURE.search(tag[2]):
        return None
    around = [source[: tag.start()].strip(), source[tag.end() :].strip()]
    before, after = ([] if not _TAG.sub("", text).strip() else [text] for text in around)
    return [*before, *([""] if before else []), f"{'#' * int(tag[1])} {title}", "", *after]
