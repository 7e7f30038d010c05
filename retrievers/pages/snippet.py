"""The lines of a page that answer best."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Set
from math import fsum
from typing import NamedTuple

from hybrid_core.llm.token_estimate import cut, estimate
from hybrid_core.text import tokens as words

_WINDOW_CHARS = 280
_NAMED = 0.3  # what the question's names and years weigh, beside its best other term
_AROUND = 0.5  # of an excerpt, for the lines around the best stretch; the rest for others that match
_BEFORE = 3  # an excerpt grows so many lines down for one up
_GAP = "…\n"
_BODY_CHARS = 30  # text after a heading at the end of a stretch from which its words count in full
_NOTHING: frozenset[str] = frozenset()
_DIGIT = re.compile(r"\d")
_LINE_END = re.compile("\n")
_PIECE = re.compile(rf".{{1,{_WINDOW_CHARS - 1}}}(?:\s+|$)|.{{1,{_WINDOW_CHARS}}}")


class _Line(NamedTuple):
    offset: int  # in the page's text
    text: str
    held: Set[str]  # terms of the question
    heading: bool


def weights(terms: Collection[str], held: Mapping[str, float]) -> dict[str, float]:
    """What the terms of a question weigh on a page that holds some of them by so much."""
    return {**dict.fromkeys(terms, _NAMED * max(held.values(), default=1.0)), **held}


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


def excerpt(text: str, query: Mapping[str, float], tokens: int, *, numeric: bool = False) -> str:
    """A page in at most ``tokens``: where it is longer the stretch that matches best with what stands around it, and
    the other stretches that match, in the page's order; "…" stands where lines are left out. The rest as above.
    """
    if estimate(text) <= tokens:
        return text
    kept = _Excerpt(_lines(text, query, ()), tokens)
    gains = [(_gain(_window(kept.lines, at), query, numeric), -at) for at, line in enumerate(kept.lines) if line.held]
    order = [-at for _, at in sorted(gains, reverse=True)] or [0]
    if not kept.stretch(order[0]):
        return cut(text[kept.lines[order[0]].offset :], tokens)
    kept.grow(order[0], round(_AROUND * kept.room))
    for first in order[1:]:
        kept.stretch(first)
    kept.grow(order[0], 0)
    return kept.text(text)


class _Excerpt:
    """The lines of a page that are kept, and the tokens that are left for more."""

    def __init__(self, lines: list[_Line], tokens: int) -> None:
        self.lines, self.room = lines, tokens - 2 * estimate(_GAP)
        self._at: set[int] = set()

    def stretch(self, first: int) -> bool:
        """Keep the window that begins with a line, as far as there is room; whether that line is kept."""
        for at in range(first, first + len(_window(self.lines, first))):
            self._add(at)
        return first in self._at

    def grow(self, around: int, least: int) -> None:
        """Keep lines above and below one, until ``least`` tokens or no line that fits is left."""
        up, down = around - 1, around + 1
        while self.room > least and (up >= 0 or down < len(self.lines)):
            up = up - 1 if up >= 0 and self._add(up) else -1
            for _ in range(_BEFORE):
                fits = self.room > least and down < len(self.lines) and self._add(down)
                down = down + 1 if fits else len(self.lines)

    def text(self, whole: str) -> str:
        parts, last = [], -1
        for at in sorted(self._at):
            line = self.lines[at]
            if at != last + 1:
                parts.append(_GAP)
            end = self.lines[at + 1].offset if at + 1 < len(self.lines) else len(whole)
            parts.append(whole[line.offset : end])
            if at + 1 not in self._at and not parts[-1].endswith("\n"):
                parts.append("\n")
            last = at
        return "".join(parts) + (_GAP if last + 1 < len(self.lines) else "")

    def _add(self, at: int) -> bool:
        if at in self._at:
            return True
        beside = at - 1 in self._at or at + 1 in self._at
        size = estimate(self.lines[at].text + "\n") + (0 if beside else estimate(_GAP))
        if size > self.room:
            return False
        self._at.add(at)
        self.room -= size
        return True


def _lines(text: str, query: Mapping[str, float], headings: Collection[int]) -> list[_Line]:
    """The lines of a text; those longer than a window in pieces."""
    folded = words.fold(text)
    likely = _lines_with(_beginnings(query), folded.replace(",", "").replace("'", ""))
    lines = []
    offset = 0
    for number, (whole, plain) in enumerate(zip(text.split("\n"), folded.split("\n"), strict=True)):
        if len(whole) <= _WINDOW_CHARS:
            held = query.keys() & words.folded_terms(plain) if number in likely else _NOTHING
            lines.append(_Line(offset, whole, held, offset in headings))
        else:
            for match in _PIECE.finditer(whole):
                at, piece = offset + match.start(), match.group()
                held = query.keys() & words.tokenise(piece) if number in likely else _NOTHING
                lines.append(_Line(at, piece, held, at in headings))
        offset += len(whole) + 1
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
    weights = [fsum(query[term] for term in set[str]().union(*(line.held for line in part))) for part in parts]
    best = max(range(len(parts)), key=lambda at: (weights[at], at))
    return parts[best][0].offset


def _beginnings(terms: Collection[str]) -> set[str]:
    """Of each term what a line must hold to hold it, commas and apostrophes aside: stemming changes only endings, and
    years stand after FY in short."""
    parts = {term[:-1] if len(term) > 2 and term.isascii() and not term[0].isdigit() else term for term in terms}
    return parts | ({"fy"} if any(term[0].isdigit() and words.is_year(term) for term in terms) else set())
