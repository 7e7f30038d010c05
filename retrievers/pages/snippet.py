"""The lines of a page that answer best."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from hybrid_core.llm.token_estimate import cut, estimate
from hybrid_core.text.links import visible
from retrievers.pages.page_lines import WINDOW_CHARS, PageLine, page_lines
from retrievers.pages.windows import Window, gain, match, windows

_NAMED = 0.3  # what the question's names and years weigh, beside its best other term
_AROUND = 0.5  # of an excerpt, for the lines around the best stretch; the rest for others that match
_BEFORE = 3  # an excerpt grows so many lines down for one up
_GAP = "…\n"
_LEAD = 120  # characters of a sentence before the line that matches
_ENDS = re.compile(r"[.!?:;]['\")\]»”]{0,2}\s+|[。！？；：]|\n\s*\n")


def weights(terms: Collection[str], held: Mapping[str, float]) -> dict[str, float]:
    """What the terms of a question weigh on a page that holds some of them by so much."""
    return {**dict.fromkeys(terms, _NAMED * max(held.values(), default=1.0)), **held}


def best_window(
    text: str, query: Mapping[str, float], *, numeric: bool = False, headings: Collection[int] = ()
) -> tuple[int, str]:
    """The stretch of about 280 characters with the most query-term weight, and where in the text the match is. It
    begins with its sentence.

    A stretch that begins with a row of a table has the heads of its columns before it, and prefers rows that match to
    those between; "…" stands where lines are left out. What stands above the table counts for each of its rows.

    ``headings`` are the characters at which the page's headings begin. The match is where the part of the
    stretch between two headings that holds most begins to match. A heading counts half where the stretch ends
    with it: what answers comes after. ``numeric`` prefers stretches whose matching lines hold figures.
    """
    lines = page_lines(text, query, headings)
    found = windows(lines, query)
    if not found:  # nothing matches: the beginning
        return 0, " ".join(visible(text[: 2 * WINDOW_CHARS]).split())[:WINDOW_CHARS]
    best = max(found.values(), key=lambda one: gain(lines, one, query, numeric))
    return match(lines, best, query), _lead(text, lines, best) + best.text(lines)


def _lead(text: str, lines: Sequence[PageLine], one: Window) -> str:
    """The beginning of the sentence within which a stretch begins, where that is near; none before rows of tables."""
    first = one.numbers[0]
    line = lines[first]
    begins = first > 0 and text[line.offset - 1] == "\n" and line.text[:1].islower() and not lines[first - 1].heading
    if one.above or not begins:
        return ""
    before = visible(text[max(0, line.offset - _LEAD) : line.offset])
    ends = [end.end() for end in _ENDS.finditer(before)]
    if not ends and len(before) == _LEAD:
        return ""
    lead = " ".join(before[ends[-1] if ends else 0 :].split())
    return f"{lead} " if lead else ""


def excerpt(text: str, query: Mapping[str, float], tokens: int, *, numeric: bool = False) -> str:
    """A page in at most ``tokens``: where it is longer the stretch that matches best with what stands around it, and
    the other stretches that match, in the page's order; "…" stands where lines are left out. The rest as above.
    """
    if estimate(text) <= tokens:
        return text
    lines = page_lines(text, query, ())
    kept, found = _Excerpt(lines, tokens), windows(lines, query)
    gains = [(gain(lines, one, query, numeric), -at) for at, one in found.items()]
    order = [-at for _, at in sorted(gains, reverse=True)]
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

    def __init__(self, lines: Sequence[PageLine], tokens: int) -> None:
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
