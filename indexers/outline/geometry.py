"""How the lines of a page lie to each other: white space around them, and which are parts of tables."""

from __future__ import annotations

import re
from collections import Counter

from indexers.outline.view import Unit

CELL = re.compile(r" {2}")  # the parser's mark between cells of one row
_GAP = "  "
_FIGURES = re.compile(r" {2}.*\d")
_SHORT = 28  # characters of a cell, as against a line of text in a column
_FAR = 1e3


def tabular(units: tuple[Unit, ...]) -> list[bool]:
    """Which units are rows, cells or labels of a table.

    Those with figures in cells, those with something short beside them (but not the two halves of a
    page set in columns), and those wedged between such lines.
    """
    rows = [_GAP in unit.text and bool(_FIGURES.search(unit.text)) for unit in units]
    out = list(rows)
    lefts = Counter(round(unit.x0 / 5) for unit in units if len(unit.text) > 30)
    columns = {left + d for left, count in lefts.items() if count >= 5 for d in (-1, 0, 1)}
    order = sorted(range(len(units)), key=lambda i: units[i].y0 + units[i].y1)
    for at, i in enumerate(order):
        unit = units[i]
        for j in order[at + 1 : at + 5]:
            other = units[j]
            if min(unit.y1, other.y1) - max(unit.y0, other.y0) < 0.5 * min(unit.y1 - unit.y0, other.y1 - other.y0):
                break
            if not (other.x0 > unit.x1 + 2 or unit.x0 > other.x1 + 2):
                continue
            in_columns = round(unit.x0 / 5) in columns and round(other.x0 / 5) in columns
            if in_columns and not (rows[i] or rows[j]):
                continue
            small, other_small = len(unit.text) < _SHORT, len(other.text) < _SHORT
            if (other_small or _GAP in other.text) and (len(unit.text) < 60 or _GAP in unit.text):
                out[i] = out[j] = True
            elif small:
                out[i] = True
            elif other_small:
                out[j] = True
    for before, i, after in zip(order, order[1:], order[2:], strict=False):
        unit = units[i]
        close = units[after].y0 - unit.y1 < 1.5 * unit.size and unit.y0 - units[before].y1 < 1.5 * unit.size
        if close and out[before] and (out[after] or len(units[after].text) < 40):
            out[i] = True
    return out


def spacing(units: tuple[Unit, ...]) -> tuple[list[float], list[float]]:
    """White space above and below each unit, in points, to the nearest unit that shares its column."""
    above, below = [_FAR] * len(units), [_FAR] * len(units)
    order = sorted(range(len(units)), key=lambda i: units[i].y0)
    for at, i in enumerate(order):
        unit = units[i]
        for j in reversed(order[max(0, at - 6) : at]):
            other = units[j]
            if other.x0 < unit.x1 and other.x1 > unit.x0:
                space = unit.y0 - other.y1
                above[i] = min(above[i], space)
                below[j] = min(below[j], space)
                break
    return above, below
