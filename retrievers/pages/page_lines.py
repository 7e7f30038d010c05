"""The lines of a page, each with the terms of a question that it holds."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

from hybrid_core.text import tokens as words
from hybrid_core.text.links import Offsets, hidden, visible

WINDOW_CHARS = 280
_NOTHING: frozenset[str] = frozenset()
_BORDERS = re.compile(r"[^\W\d_]+|\d+")
_LINE_END = re.compile("\n")
_PIECE = re.compile(rf".{{1,{WINDOW_CHARS - 1}}}(?:\s+|$)|.{{1,{WINDOW_CHARS}}}")


class PageLine(NamedTuple):
    offset: int  # in the page's text
    text: str
    held: Set[str]  # terms of the question
    heading: bool


def page_lines(text: str, query: Mapping[str, float], headings: Collection[int]) -> list[PageLine]:
    """The lines of a text, of links what a reader sees; those longer than a window in pieces."""
    spans = hidden(text)
    source, text = Offsets(spans).source, visible(text, spans)
    folded = words.fold(text)
    likely = _lines_with(_beginnings(query), folded.replace(",", "").replace("'", ""))
    lines = []
    begins = 0
    for number, (whole, plain) in enumerate(zip(text.split("\n"), folded.split("\n"), strict=True)):
        if len(whole) <= WINDOW_CHARS:
            held = query.keys() & words.folded_terms(plain) if number in likely else _NOTHING
            offset = source(begins)
            lines.append(PageLine(offset, whole, held, offset in headings))
        else:
            for match in _PIECE.finditer(whole):
                at, piece = source(begins + match.start()), match.group()
                held = query.keys() & words.tokenise(piece) if number in likely else _NOTHING
                lines.append(PageLine(at, piece, held, at in headings))
        begins += len(whole) + 1
    return lines


def _lines_with(parts: Collection[str], text: str) -> set[int]:
    """The numbers of the lines that hold one of these parts. A page has many lines, and few with one."""
    found: set[int] = set()
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    for part in parts:
        at = text.find(part)
        while at >= 0:
            line = bisect_right(starts, at) - 1
            found.add(line)
            at = text.find(part, starts[line + 1])
    return found


def _beginnings(terms: Collection[str]) -> set[str]:
    """Of each term what a line must hold to hold it, commas and apostrophes aside: stemming changes only endings, of
    short words those in a vowel or y, and years stand after FY in short."""
    parts = {_beginning(_longest_piece(term)) for term in terms}
    return parts | ({"fy"} if any(term[0].isdigit() and words.is_year(term) for term in terms) else set())


def _longest_piece(term: str) -> str:
    """Return what is surely written in one: the longest piece of an identifier, whose hyphens may be left out."""
    if term.isalpha() or words.is_number(term):
        return term
    return max(_BORDERS.findall(term), key=len, default=term)


def _beginning(term: str) -> str:
    whole = not term.isascii() or term[0].isdigit() or len(term) < 3 or (len(term) == 3 and term[-1] not in "aeiouy")
    return term if whole else term[:-1]
