"""Stretches of a page that can be shown, and how well each answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import NamedTuple

from hybrid_core.text.table_rows import TableRow, table_rows
from retrievers.pages.page_lines import WINDOW_CHARS, PageLine

GAP = "… "  # where lines are left out
_BODY_CHARS = 30  # text after a heading at the end of a stretch from which its words count in full
_ROW, _SHORT = 0.5, 3  # letters of words that tell nothing
_MOST_HEADS = 140  # characters
_NO_ROW = TableRow((), (), -1)
_DIGIT = re.compile(r"\d")


class Window(NamedTuple):
    """``numbers`` are those of its lines: ``above`` of them are heads of a table, the others begin with the match.
    ``captions`` stand above the table and are not shown. ``worth`` is what the name of a row adds.
    """

    numbers: tuple[int, ...]
    above: int = 0
    captions: tuple[int, ...] = ()
    worth: float = 0.0

    def text(self, lines: Sequence[PageLine]) -> str:
        """In one line, with "…" where lines are left out."""
        parts = [("" if after == before + 1 else GAP) + lines[after].text for before, after in pairwise(self.numbers)]
        return " ".join(" ".join([lines[self.numbers[0]].text, *parts]).split())


def windows(lines: Sequence[PageLine], query: Mapping[str, float]) -> dict[int, Window]:
    """One from each line that matches, by its number: the lines from it on that there is room for; of a table the heads
    of its columns, and first those of the rows after it that match best.
    """
    held = [at for at, line in enumerate(lines) if line.held]
    rows = table_rows([line.text for line in lines], set(held))
    worth = {at: _worth(lines[at], query) for at, row in rows.items() if row.heads}
    tables: dict[tuple[int, ...], list[int]] = {}
    for at in sorted(worth, key=lambda at: -worth[at]):
        tables.setdefault(rows[at].heads, []).append(at)
    nearest = {heads: _nearest(heads, lines) for heads in tables}
    found = {}
    for first in held:
        row = rows.get(first, _NO_ROW)
        found[first] = _window(
            lines, first, row, nearest.get(row.heads, ()), tables.get(row.heads, ()), worth.get(first, 0.0)
        )
    return found


def _window(
    lines: Sequence[PageLine], first: int, row: TableRow, heads: tuple[int, ...], others: Sequence[int], worth: float
) -> Window:
    room = WINDOW_CHARS - len(lines[first].text)
    if not heads and row.label < 0:
        end = _end(lines, first + 1, room, ())
        return Window(tuple(range(first, end)))
    above = (*heads, row.label) if row.label >= 0 else heads
    room -= sum(len(lines[at].text) + 1 for at in above) + len(GAP)
    kept = {first}
    for at in others:
        if at > first and room > (size := len(lines[at].text) + len(GAP)):
            kept.add(at)
            room -= size
    kept.update(range(first, _end(lines, first + 1, room, kept)))
    return Window((*above, *sorted(kept)), len(above), row.captions, worth)


def _nearest(heads: Sequence[int], lines: Sequence[PageLine]) -> tuple[int, ...]:
    """Of many lines of heads the last."""
    room, first = _MOST_HEADS, len(heads)
    while first and (room := room - len(lines[heads[first - 1]].text) - 1) >= 0:
        first -= 1
    return tuple(heads[first:])


def _end(lines: Sequence[PageLine], start: int, room: int, kept: Collection[int]) -> int:
    """The line before which there is no more room."""
    for at in range(start, len(lines)):
        if at not in kept:
            size = len(lines[at].text)
            if room <= size:
                return at
            room -= size + 1
    return len(lines)


def _worth(row: PageLine, query: Mapping[str, float]) -> float:
    """What the terms of a row's name weigh once more: one row says it, not several between them; and more where the
    name says little else.
    """
    name = row.text.strip("| ").split("|")[0].split("  ")[0]
    share = min(1.0, len(row.held) / max(1, sum(len(word) > _SHORT for word in name.split())))
    return _ROW * fsum(query[term] for term in row.held) * (1 + share) / 2


def gain(lines: Sequence[PageLine], one: Window, query: Mapping[str, float], numeric: bool) -> float:
    """Higher is better. ``numeric`` prefers windows whose matching lines hold figures."""
    sure: set[str] = set()
    announced: set[str] = set()
    following, last, figures = 0, 0, not numeric
    for at in range(len(one.numbers) - one.above - 1, -1, -1):
        _, text, held, heading = lines[one.numbers[one.above + at]]
        if held:
            last = last or at
            (announced if heading and following < _BODY_CHARS else sure).update(held)
            figures = figures or _DIGIT.search(text) is not None
        following = _BODY_CHARS if heading else following + len(text)
    for at in (*one.captions, *one.numbers[: one.above]):
        sure |= lines[at].held
    gained = fsum([query[term] for term in sure]) + one.worth
    if announced:
        gained += 0.5 * fsum([query[term] for term in announced - sure])
    return (1.2 * gained if numeric and figures else gained) - 0.001 * last


def match(lines: Sequence[PageLine], one: Window, query: Mapping[str, float]) -> int:
    """Where the part of it between two headings that holds most begins to match; the later of equals."""
    parts: list[list[PageLine]] = [[]]
    for line in (lines[at] for at in one.numbers[one.above :]):
        if line.heading:
            parts.append([])
        if line.held:
            parts[-1].append(line)
    weights = [fsum(query[term] for term in set[str]().union(*(line.held for line in part))) for part in parts]
    best = max(range(len(parts)), key=lambda at: (weights[at], at))
    return parts[best][0].offset
