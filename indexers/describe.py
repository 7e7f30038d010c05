"""A document's title and its one-line description."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from hybrid_core.types import MarkedHeading, ParsedPage, Section

_MACHINE_TITLE = re.compile(
    r"^(untitled|document\d*|microsoft \w+ - |slide \d+|.*\.(docx?|pdf|indd|qxd|tex|dvi|xlsx?|pptx?)$)", re.I
)
_LISTED = 6


def find_title(name: str, metadata: Mapping[str, str], pages: Sequence[ParsedPage]) -> str:
    """The file's own title where it is one, else the largest line of the first page with text, else the name."""
    said = metadata.get("title", "").strip()
    if len(said) >= 4 and any(c.isalpha() for c in said) and not _MACHINE_TITLE.match(said):
        return said[:300]
    stem = PurePath(name).stem
    page = next((page for page in pages[:3] if page.lines), None)
    if page is None:
        return stem
    candidates = [line for line in page.lines[:60] if len(line.text) >= 4 and sum(c.isalpha() for c in line.text) >= 3]
    if not candidates:
        return stem
    largest = max(line.size for line in candidates)
    top = [line for line in candidates if line.size >= largest - 0.2]
    joined = [top[0].text]
    for before, line in pairwise(top):  # a title that runs over several lines
        if len(joined) == 3 or not 0 <= line.y0 - before.y0 < 2.5 * largest:
            break
        joined.append(line.text)
    return " ".join(" ".join(joined).split())[:300]


def marked_title(name: str, metadata: Mapping[str, str], headings: Sequence[MarkedHeading]) -> str:
    """The title a file with markup gives itself, else its first heading where none stands above it, else the name."""
    said = metadata.get("title", "")
    marked = [heading for heading in headings if heading.source == "markup"]
    if not said and marked and marked[0].level == min(heading.level for heading in marked):
        said = marked[0].title
    return said[:300] or PurePath(name).stem


def describe(title: str, sections: Sequence[Section], pages: int) -> str:
    """One line: the title, how long it is, and what its main sections are called."""
    real = [section for section in sections if not section.synthetic]
    if len(real) > 1 and [section.title for section in real if section.parent_id is None] == [title]:
        del real[0]  # the title again, over everything else
    top = min((section.level for section in real), default=1)
    names = list(dict.fromkeys(section.title for section in real if section.level == top))
    if len(names) < 3:
        names = list(dict.fromkeys(section.title for section in real if section.level <= top + 1))
    shown = "; ".join(name if len(name) <= 60 else name[:59] + "…" for name in names[:_LISTED])
    more = f"; … ({len(names) - _LISTED} more)" if len(names) > _LISTED else ""
    extent = f"{pages} page" + ("s" if pages != 1 else "")
    return f"{title} ({extent})" + (f": {shown}{more}" if shown else "")
