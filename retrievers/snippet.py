"""The lines of a page that answer best."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import fsum

from hybrid_core import text as words

_WINDOW_CHARS = 280
_BODY_CHARS = 30  # text after a heading at the end of a stretch from which its words count in full
_DIGIT = re.compile(r"\d")
_PIECE = re.compile(rf".{{1,{_WINDOW_CHARS - 1}}}(?:\s+|$)|.{{1,{_WINDOW_CHARS}}}")


@dataclass(frozen=True, slots=True)
class _Line:
    offset: int  # in the page's text
    text: str
    held: frozenset[str]  # terms of the question
    heading: bool


def best_window(
    text: str, query: Mapping[str, float], *, numeric: bool = False, headings: Collection[int] = ()
) -> tuple[int, str]:
    """The stretch of about 280 characters with the most query-term weight, and where in the text the match is.

    ``headings`` are the characters at which the page's headings begin. The match is where the part of the
    stretch between two headings that holds most begins to match. A heading counts half where the stretch ends
    with it: what answers comes after. ``numeric`` prefers stretches whose matching lines hold figures.
    """
    lines = _lines(text, query, headings)
    best: list[_Line] = []
    best_gain = -1.0
    for first, line in enumerate(lines):
        if line.held:
            window = _window(lines, first)
            if (gain := _gain(window, query, numeric)) > best_gain:
                best, best_gain = window, gain
    if not best:  # nothing matches: the beginning
        return 0, " ".join(text[:_WINDOW_CHARS].split())
    return _match(best, query), " ".join(" ".join(line.text for line in best).split())


def _lines(text: str, query: Mapping[str, float], headings: Collection[int]) -> list[_Line]:
    """The lines of a text; those longer than a window in pieces."""
    beginnings = _beginnings(query)
    lines = []
    offset = 0
    for whole in text.split("\n"):
        for start, piece in _pieces(whole):
            folded = words.fold(piece).replace(",", "").replace("'", "")
            found = words.tokenise(piece) if any(part in folded for part in beginnings) else ()
            at = offset + start
            lines.append(_Line(at, piece, frozenset(found) & query.keys(), at in headings))
        offset += len(whole) + 1
    return lines


def _pieces(line: str) -> Iterator[tuple[int, str]]:
    if len(line) <= _WINDOW_CHARS:
        yield 0, line
    else:
        yield from ((match.start(), match.group()) for match in _PIECE.finditer(line))


def _window(lines: list[_Line], first: int) -> list[_Line]:
    """The lines from the first on that there is room for."""
    room = _WINDOW_CHARS - len(lines[first].text)
    last = first
    while last + 1 < len(lines) and room > len(lines[last + 1].text):
        last += 1
        room -= len(lines[last].text) + 1
    return lines[first : last + 1]


def _gain(window: list[_Line], query: Mapping[str, float], numeric: bool) -> float:
    sure: set[str] = set()
    announced: set[str] = set()
    following, last = 0, 0
    for at in range(len(window) - 1, -1, -1):
        line = window[at]
        if line.held:
            last = max(last, at)
            (announced if line.heading and following < _BODY_CHARS else sure).update(line.held)
        following = _BODY_CHARS if line.heading else following + len(line.text)
    gain = fsum(query[term] for term in sure) + 0.5 * fsum(query[term] for term in announced - sure)
    if numeric and any(line.held and _DIGIT.search(line.text) for line in window):
        gain *= 1.2
    return gain - 0.001 * last


def _match(window: list[_Line], query: Mapping[str, float]) -> int:
    """Where the part of a window between two headings that holds most begins to match; the later of equals."""
    parts: list[list[_Line]] = [[]]
    for line in window:
        if line.heading:
            parts.append([])
        if line.held:
            parts[-1].append(line)
    weights = [fsum(query[term] for term in frozenset().union(*(line.held for line in part))) for part in parts]
    best = max(range(len(parts)), key=lambda at: (weights[at], at))
    return parts[best][0].offset


def _beginnings(terms: Collection[str]) -> set[str]:
    """Of each term what a line must hold to hold it, commas and apostrophes aside: stemming changes only endings, and
    years stand after FY in short."""
    parts = {term[:-1] if len(term) > 2 and term.isascii() and not term[0].isdigit() else term for term in terms}
    return parts | ({"fy"} if any(term[0].isdigit() and words.is_year(term) for term in terms) else set())
