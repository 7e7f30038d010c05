"""Markdown as a format."""

from __future__ import annotations

from pathlib import Path

from indexers.formats.format import Format, OpenFile
from indexers.formats.limits import ParseLimits


def _open(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
    from indexers.formats.markdown.read import MarkdownFile

    return MarkdownFile(path, limits)


MARKDOWN = Format(
    name="markdown",
    title="Markdown",
    suffixes=(".md", ".markdown"),
    version="markdown-3",
    open=_open,
    whole=True,
    limits=frozenset({"max_pages", "max_page_lines", "max_page_characters", "max_bookmarks"}),
    place="lines",
    illustrated=True,
    nearby=True,
)
