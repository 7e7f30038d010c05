"""One heading with where it stands: what every source of evidence yields and merging works on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybrid_core.types.documents import HeadingSource

_CONTINUED = re.compile(
    r"\W*(?:[(（\[]|\s[-–—]\s*)\s*(?:continued|cont[’'.]?d?\.?|continuación|suite|fortsetzung|forts\.|продолжение"
    r"|续|續|続き|계속)\s*[)）\]]?\s*$",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"(?:\s*[.·…_]){4,}\s*(?:\d{1,4}|[ivxlc]{1,7})?\s*$")
_BROKEN = re.compile(
    r"(?<=[^\W\d_]{2})[-‐\u00ad] (?!(?:and|or|und|oder|bzw|et|ou|y|o|e|en|of|и|или)\b)(?=[^\W\d_A-Z]{2})"
)
_SPACED = 4  # single letters that stand apart, at least, in a title that is letter-spaced
_TWICE = 9  # letters of a title that is drawn twice, at least: a town may be called Walla Walla


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in its place. ``unit`` indexes the page's units, -1 where only the page is known."""

    title: str
    page: int
    unit: int
    level: int
    source: HeadingSource
    y: float | None = None  # a bookmark's own target where its title was not found on the page
    confirmed: bool = False  # a layout model calls it a heading too


def clean_title(text: str) -> str:
    """Return a title as people write it: not letter-spaced or said twice, without leaders, page and broken words."""
    title = _BROKEN.sub("", _LEADERS.sub("", closed_up(text)).replace("\u00ad", ""))
    words = title.split()
    half = len(words) // 2
    if len(words) % 2 == 0 and words[:half] == words[half:] and sum(map(len, words[:half])) >= _TWICE:
        words = words[:half]
    return " ".join(words) or " ".join(text.split())


def continues(title: str) -> str:
    """Return the title that "Title (continued)" carries on; "" where it carries on none."""
    mark = _CONTINUED.search(title)
    return title[: mark.start()].rstrip() if mark and mark.start() else ""


def closed_up(text: str) -> str:
    """Letter-spaced words without their spaces: two or more stand between words."""
    if text[1:2] != " ":  # most lines, at once
        return text
    pieces = text.split()
    letters = sum(len(piece) == 1 and piece.isalpha() and piece.isascii() for piece in pieces)
    if letters < _SPACED or letters < 0.8 * len(pieces):
        return text
    return " ".join("".join(word.split()) for word in re.split(r"\s{2,}", text.strip()))
