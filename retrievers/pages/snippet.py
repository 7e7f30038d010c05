"""What of a page is shown: the passage that answers best, or an excerpt of so many tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from hybrid_core.llm.token_estimate import cut, estimate
from hybrid_core.text.links import visible
from retrievers.pages.statements import WINDOW_CHARS, Statement, statements
from retrievers.pages.windows import PassageTerms, Window, Windows

_AROUND = 0.5  # of an excerpt, for the lines around the best stretch; the rest for others that match
_BEFORE = 3  # an excerpt grows so many statements down for one up
_GAP = "…\n"


class Passage(NamedTuple):
    """``mark`` is the part of the text that answers best; it begins at the character ``offset`` of the page."""

    offset: int
    text: str
    mark: str


def best_passage(text: str, terms: PassageTerms, *, numeric: bool = False, headings: Collection[int] = ()) -> Passage:
    """Return the stretch of about 280 characters with the most query-term weight.

    A stretch that begins with a row of a table has the heads of its columns before it, and prefers rows that match to
    those between; "…" stands where something is left out. What stands above the table counts for each of its rows.

    ``headings`` are the characters at which the page's headings begin. A heading counts half where the stretch ends
    with it: what answers comes after. ``numeric`` prefers statements with figures.
    """
    page = statements(text, {*terms.own, *terms.expert}, headings)
    windows = Windows(page, terms, numeric)
    if not windows.found:  # nothing matches: the beginning
        return Passage(0, " ".join(visible(text[: 2 * WINDOW_CHARS]).split())[:WINDOW_CHARS], "")
    best = max(windows.found.values(), key=windows.gain)
    answer = windows.answer(best)
    return Passage(page[answer.numbers[0]].offset, best.text(page), answer.text(page))


def excerpt(text: str, terms: PassageTerms, tokens: int, *, numeric: bool = False) -> str:
    """A page in at most ``tokens``: where it is longer the stretch that matches best with what stands around it, and
    the other stretches that match, in the page's order; "…" stands where lines are left out. The rest as above.
    """
    if estimate(text) <= tokens:
        return text
    page = statements(text, {*terms.own, *terms.expert}, ())
    windows = Windows(page, terms, numeric)
    kept, found = _Excerpt(page, tokens), windows.found
    gains = [(windows.gain(one), -at) for at, one in found.items()]
    order = [-at for _, at in sorted(gains, reverse=True)]
    if not page:
        return cut(text, tokens)
    if not order:
        order, found = [0], {0: Window((0,))}
    if not kept.stretch(order[0], found[order[0]]):
        return cut(text[kept.lines[order[0]].offset :], tokens)
    kept.grow(order[0], round(_AROUND * kept.room))
    for first in order[1:]:
        kept.stretch(first, found[first])
    kept.grow(order[0], 0)
    return kept.text(text)


class _Excerpt:
    """The lines of a page that are kept, and the tokens that are left for more."""

    def __init__(self, lines: Sequence[Statement], tokens: int) -> None:
        self.lines, self.room = lines, tokens - 2 * estimate(_GAP)
        self._at: set[int] = set()

    def stretch(self, first: int, around: Window) -> bool:
        """Keep the window that begins with a line, as far as there is room; whether that line is kept."""
        for at in (first, *around.numbers):
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
