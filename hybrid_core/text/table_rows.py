"""The rows of tables among a page's lines, and the heads of their columns, as the text alone tells them.

Cells of a row stand two spaces apart, or between bars in Markdown. It needs no language: a row ends in figures, the
heads above it do not, or only in years.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_FIGURE = re.compile(r"[($€£¥+\-–−]*\s?\d[\d,.]*\s?[)%]*")
_FILLER = re.compile(r"[—–\-$€£¥%()]+|NM|N/A|n/a|\([a-z0-9]\)|\*+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_YEARS = re.compile(r"(?:19|20)\d\d(?: (?:19|20)\d\d)*")
_RULE = re.compile(r"\|[\s:|-]+\|")
GAP = "  "
_MOST_CAPTIONS = 3  # lines
_CELL = 30  # characters of a head that stands on a line of its own
_PROSE, _PROSE_LINES = 70, 3  # so many lines of so many characters in a row end a table
_BAR = "|"
_STARTS = ("|", "1", "2")  # of rows in Markdown, and of years


class TableRow(NamedTuple):
    """Lines, by their numbers: ``heads`` of the columns, ``captions`` above these, and ``label`` where the row's
    name, or its beginning, stands on the line before it; -1: on its own.
    """

    heads: tuple[int, ...]
    captions: tuple[int, ...]
    label: int


def table_rows(lines: Sequence[str], wanted: Collection[int]) -> dict[int, TableRow]:
    """What belongs to each of the wanted lines (by their numbers) that is a row of a table."""
    kinds = [_kind(line) if GAP in line or line[:1] in _STARTS else "other" for line in lines]
    rows: dict[int, TableRow] = {}
    heads: tuple[int, ...] = ()
    captions: tuple[int, ...] = ()
    before = 0  # the last line of a table
    for at, kind in enumerate(kinds):
        if kind == "other":
            continue
        if heads and at - before > _PROSE_LINES and _prose(lines[before + 1 : at]):
            heads = captions = ()
        if kind == "rule":
            heads = (at - 1,) if at else ()
            captions = _captions(lines, kinds, at - 1)
            rows.pop(at - 1, None)
        elif kind == "head":
            goes_on = heads and all(kinds[i] == "other" and len(lines[i]) <= _CELL for i in range(heads[-1] + 1, at))
            start = heads[-1] + 1 if goes_on else at - _unfinished(lines, kinds, at)
            if not goes_on:
                heads, captions = (), _captions(lines, kinds, start)
            heads = (*heads, *range(start, at + 1))
        elif kind == "row":
            if lines[at][:1] == _BAR and lines[at - 1][:1] != _BAR:
                heads = captions = ()  # it goes on from the page before
            if at in wanted:
                rows[at] = TableRow(heads, captions, at - 1 if _continues(lines, kinds, at) else -1)
        before = at
    return rows


def _prose(lines: Sequence[str]) -> bool:
    """Whether long lines stand together, as none do inside a table."""
    run = 0
    for line in lines:
        run = run + 1 if len(line) > _PROSE else 0
        if run == _PROSE_LINES:
            return True
    return False


def _kind(line: str) -> str:
    """``row`` ends in figures, ``head`` has cells that are none, or years alone; ``rule`` stands below the heads."""
    if line[:1] == _BAR:
        return "rule" if _RULE.fullmatch(line) else "row"
    if GAP not in line:
        return "head" if _YEARS.fullmatch(line) else "other"
    last = line[line.rindex(GAP) + len(GAP) :]
    if _FIGURE.fullmatch(last) and not _YEAR.fullmatch(last):
        return "row"
    cells = [cell for cell in line.split(GAP) if cell]
    figures = [cell for cell in cells if _FIGURE.fullmatch(cell)]
    if any(not _YEAR.fullmatch(cell) for cell in figures):
        return "row"
    filled = not figures and all(map(_FILLER.fullmatch, cells[1:]))
    return "row" if filled and len(cells) > 1 else "head" if cells else "other"


def _captions(lines: Sequence[str], kinds: Sequence[str], head: int) -> tuple[int, ...]:
    found = []
    for at in range(head - 1, max(-1, head - 1 - _MOST_CAPTIONS), -1):
        if kinds[at] != "other":
            break
        found.append(at)
    return tuple(reversed(found))


def _unfinished(lines: Sequence[str], kinds: Sequence[str], head: int) -> int:
    """How many lines above a year belong to it («December 31,»)."""
    above = head > 0 and kinds[head - 1] == "other" and len(lines[head - 1]) <= _CELL
    return int(above and lines[head - 1].rstrip().endswith(","))


def _continues(lines: Sequence[str], kinds: Sequence[str], at: int) -> bool:
    """Whether a row's name began on the line before it."""
    first = lines[at].split(GAP)[0]
    named = any(map(str.isalpha, first))
    above = at > 0 and kinds[at - 1] == "other" and not lines[at - 1].rstrip().endswith(":")
    return above and (not named or first[0].islower())
