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
    the other stretches that match, in the page's order; "…" stands where lines are left out. A table that fits is whole
    or left out; of a larger one the rows that match stay, with the heads of their columns. The rest as above.
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
        self._tables = _tables(lines)

    def stretch(self, first: int, around: Window) -> bool:
        """Keep the window that begins with a line, as far as there is room; whether that line is kept."""
        for at in (first, *around.numbers):
            table = self._tables.get(at)
            if table is None or first not in table:
                self._grown(at)
            elif not self._whole(table):
                row = self.lines[at].row
                for one in (at, *(row.heads if row else ())):
                    self._add(one)
        return first in self._at

    def grow(self, around: int, least: int) -> None:
        """Keep lines above and below one, until ``least`` tokens or no line that fits is left."""
        up, down = around - 1, around + 1
        while self.room > least and (up >= 0 or down < len(self.lines)):
            up = up - 1 if up >= 0 and self._grown(up) else -1
            for _ in range(_BEFORE):
                fits = self.room > least and down < len(self.lines) and self._grown(down)
                down = down + 1 if fits else len(self.lines)

    def _grown(self, at: int) -> bool:
        """Keep a line; of a table that was not begun all of it, or nothing."""
        table = self._tables.get(at)
        if table is None or not self._at.isdisjoint(table):
            return self._add(at)
        return self._whole(table)

    def _whole(self, table: range) -> bool:
        """Keep all of a table if there is room; return whether it is kept."""
        new = [at for at in table if at not in self._at]
        if sum(estimate(self.lines[at].text + "\n") for at in new) + estimate(_GAP) > self.room:
            return False
        for at in new:
            self._add(at)
        return True

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


def _tables(lines: Sequence[Statement]) -> dict[int, range]:
    """Return of each line of a table, heads and lines between rows included, which lines the table has."""
    found: dict[int, range] = {}
    first = last = -1
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if line.row is None:
            continue
        begins = min((*line.row.heads, at))
        if first >= 0 and begins <= last + 2:
            first, last = min(first, begins), at
            spans[-1] = (first, last)
        else:
            first, last = begins, at
            spans.append((first, last))
    for first, last in spans:
        if last > first:
            found |= dict.fromkeys(range(first, last + 1), range(first, last + 1))
    return found
