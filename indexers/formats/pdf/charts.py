"""Read the data of bar and line charts from the drawings of a PDF page, without a model.

A chart needs a value axis with at least three evenly spaced numbers. All its bars and points must belong to one
position each. Ambiguous charts (two value axes, logarithmic ticks, scattered points, curves) are not read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pymupdf

from hybrid_core.types.locators import Box, TableBox

_MOST_SHAPES = 3_000
_MOST_LABELS = 2_000
_LEAST_TICKS = 3
_LEAST_MARKS = 3
_EVEN = 0.02  # share of an axis's range by which a tick may be off
_TOUCH = 1.5  # points
_LEAST_HEIGHT = 5.0  # points of the highest bar
_MOST_POINTS = 60  # maximum points of a line; lines with more are functions or measurements
_NUMBER = re.compile(r"([^\d\s().,−-]{0,3})([−-]?)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(\s?%|\s?[A-Za-z]{1,3})?")
_POWER = re.compile(r"[×x]\s*10\s*[+−-]?\d*|1e[+−-]?\d+", re.I)

Colour = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Label:
    text: str
    box: Box

    @property
    def centre(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    def turned(self) -> _Label:
        return _Label(self.text, _turned(self.box))


@dataclass(frozen=True, slots=True)
class _Bar:
    box: Box
    colour: Colour

    def turned(self) -> _Bar:
        return _Bar(_turned(self.box), self.colour)


@dataclass(frozen=True, slots=True)
class _Line:
    points: tuple[tuple[float, float], ...]
    colour: Colour


@dataclass(frozen=True, slots=True)
class _Axis:
    """A value axis of a chart: ``value = slope · place + start``, where place is a coordinate on the page."""

    labels: tuple[_Label, ...]
    slope: float
    start: float
    first: float
    last: float
    before: str = ""
    after: str = ""

    def value(self, place: float) -> float:
        return self.slope * place + self.start

    def written(self, value: float) -> str:
        """Return a value as text with a suitable number of decimals.

        A difference of a quarter of a point in the drawing changes the last digit.
        """
        digits = max(0, -math.floor(math.log10(abs(self.slope) / 4)))
        number = f"{value:,.{min(digits, 6)}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        sign, number = ("-", number[1:]) if number.startswith("-") and number != "-0" else ("", number.lstrip("-"))
        return f"{sign}{self.before}{number}{self.after}"


def read_charts(page: pymupdf.Page) -> list[TableBox]:
    """Return the charts of a page as tables: positions in the first column, then a column for each series."""
    drawings = page.get_cdrawings()
    if not 4 <= len(drawings) <= _MOST_SHAPES:
        return []
    labels = _labels(page)
    if len(labels) > _MOST_LABELS or any(_POWER.fullmatch(label.text) for label in labels):
        return []
    bars, lines, strokes = _marks(drawings)
    upright = _read(labels, bars, lines, strokes, below=True)
    if upright or len(bars) < _LEAST_MARKS:
        return upright
    lying = _read(
        [label.turned() for label in labels], [bar.turned() for bar in bars], [],
        [(_turned(box), colour) for box, colour in strokes], below=False, swatches=bars, legend=labels,
    )  # fmt: skip
    return [TableBox(_turned_back(table.box), table.rows, table.heads, table.lines) for table in lying]


def _labels(page: pymupdf.Page) -> list[_Label]:
    """Return the labels on a page: words of one line that are separated by a single space are one label."""
    labels: list[_Label] = []
    for x0, y0, x1, y1, text, *_ in sorted(page.get_text("words"), key=lambda word: (word[5], word[6], word[7])):
        last = labels[-1] if labels else None
        near = last and abs(last.box[1] - y0) < 1 and -1 <= x0 - last.box[2] < 0.4 * (y1 - y0)
        if last and near:
            labels[-1] = _Label(f"{last.text} {text}", (last.box[0], min(last.box[1], y0), x1, max(last.box[3], y1)))
        else:
            labels.append(_Label(text, (x0, y0, x1, y1)))
    return labels


def _marks(drawings: Sequence[dict[str, Any]]) -> tuple[list[_Bar], list[_Line], list[tuple[Box, Colour]]]:
    """Return the shapes in drawings that may belong to charts, in three lists.

    They are filled rectangles (bars), lines through several points, and straight strokes.
    """
    bars: list[_Bar] = []
    lines: list[_Line] = []
    strokes: list[tuple[Box, Colour]] = []
    for path in drawings:
        box: Box = tuple(path["rect"])
        x0, y0, x1, y1 = box
        items: Sequence[tuple[Any, ...]] = path["items"]
        fill, colour = path.get("fill"), tuple(path.get("color") or ())
        wide = x1 - x0 > 1 and y1 - y0 > 0.3
        if fill is not None and min(fill) < 0.98 and wide and _rectangular(items, box):
            bars.append(_Bar(box, tuple(fill)))
        elif fill is None and (points := _polyline(items)) is not None:
            if 2 < len(points) <= _MOST_POINTS and any(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(points)):
                lines.append(_Line(points, colour))
            else:
                strokes.append((box, colour))
        elif all(item[0] == "l" for item in items) and len(items) == 1:
            strokes.append((box, colour))
    return bars, lines, strokes


def _rectangular(items: Sequence[tuple[Any, ...]], box: Box) -> bool:
    if [item[0] for item in items] == ["re"]:
        return True
    corners = [point for item in items if item[0] == "l" for point in item[1:3]]
    if not 3 <= len(items) <= 5 or len(corners) != 2 * len(items):
        return False
    x0, y0, x1, y1 = box
    return all(min(abs(x - x0), abs(x - x1)) < 0.3 and min(abs(y - y0), abs(y - y1)) < 0.3 for x, y in corners)


def _polyline(items: Sequence[tuple[Any, ...]]) -> tuple[tuple[float, float], ...] | None:
    """Return the points of a path made of straight pieces, None for other paths.

    The path must run from left to right, or from right to left.
    """
    if not items or any(item[0] != "l" for item in items):
        return None
    points: list[tuple[float, float]] = [items[0][1]]
    for _, start, end in items:
        if math.dist(start, points[-1]) > 0.05:
            return None
        points.append(end)
    if all(a[0] >= b[0] for a, b in pairwise(points)):
        points.reverse()
    return tuple(points) if all(a[0] <= b[0] + 0.05 for a, b in pairwise(points)) else None


def _read(
    labels: Sequence[_Label], bars: Sequence[_Bar], lines: Sequence[_Line],
    strokes: Sequence[tuple[Box, Colour]], *, below: bool, swatches: Sequence[_Bar] = (), legend: Sequence[_Label] = (),
) -> list[TableBox]:  # fmt: skip
    """Read the charts whose values increase up the page.

    ``below`` is True if the names of the bars are below them, False if they are above. ``swatches`` and ``legend`` are
    the small marks and labels of legends.
    """
    axes = _axes(labels, [box for box, _ in strokes])
    tables = []
    for axis in axes:
        left = max(label.box[2] for label in axis.labels)
        others = [other for other in axes if _beside(axis, other) and min(mark.box[0] for mark in other.labels) > left]
        right = min((label.box[0] for other in others for label in other.labels), default=math.inf)
        level = [bar for bar in bars if left - 1 <= bar.box[0] and bar.box[2] <= right + 1 and _overlaps(axis, bar.box)]
        inner = [bar for bar in level if _within(axis, bar.box)]
        if len(inner) < len(level):
            continue  # a bar goes over the axis
        drawn = [line for line in lines
                 if left - 1 <= line.points[0][0] and line.points[-1][0] <= right + 1
                 and all(_within(axis, (x, y, x, y)) for x, y in line.points)]  # fmt: skip
        if not (inner or drawn) or any(not _has_marks(other, axes, bars, lines) for other in others):
            continue  # a second value axis: which marks are whose cannot be told
        chart = _Chart(axis, labels, inner, drawn, below)
        named = _Legend(legend or labels, swatches or bars, strokes if below else ())
        table = chart.table(named)
        if table is not None:
            tables.append(table)
    return tables


def _has_marks(axis: _Axis, axes: Sequence[_Axis], bars: Sequence[_Bar], lines: Sequence[_Line]) -> bool:
    left = max(label.box[2] for label in axis.labels)
    right = min((x for other in axes if (x := min(label.box[0] for label in other.labels)) > left), default=math.inf)
    boxes = [bar.box for bar in bars] + [(*line.points[0], *line.points[-1]) for line in lines]
    return any(left - 1 <= box[0] < right and _within(axis, box) for box in boxes)


def _beside(axis: _Axis, other: _Axis) -> bool:
    return min(axis.last, other.last) - max(axis.first, other.first) > 0.5 * (axis.last - axis.first)


def _overlaps(axis: _Axis, box: Box) -> bool:
    """Return whether a box is at the height of a value axis, and is not the background of the chart."""
    level = box[1] <= axis.last + _TOUCH and box[3] >= axis.first - _TOUCH
    return level and not (box[1] < axis.first - 1 and box[3] >= axis.last + 20)


def _within(axis: _Axis, box: Box) -> bool:
    room = (axis.last - axis.first) / (len(axis.labels) - 1) + 2
    return axis.first - room <= min(box[1], box[3]) and max(box[1], box[3]) <= axis.last + room


def _axes(labels: Sequence[_Label], strokes: Sequence[Box]) -> list[_Axis]:
    """Return the value axes: columns of evenly spaced numbers."""
    numbers = [(label, figure) for label in labels if (figure := _NUMBER.fullmatch(label.text))]
    axes: list[_Axis] = []
    used: set[int] = set()
    for edge in (2, 0):
        columns: dict[int, list[tuple[_Label, re.Match[str]]]] = {}
        for label, figure in numbers:
            columns.setdefault(round(label.box[edge] / 2), []).append((label, figure))
        for key, column in sorted(columns.items()):
            members = column + columns.get(key + 1, [])
            free = [(label, figure) for label, figure in members if id(label) not in used]
            axis = _axis(free, strokes)
            if axis is not None:
                used |= {id(label) for label in axis.labels}
                axes.append(axis)
    return axes


def _axis(column: Sequence[tuple[_Label, re.Match[str]]], strokes: Sequence[Box]) -> _Axis | None:
    ticks = sorted(column, key=lambda pair: pair[0].centre[1])
    units = {(figure[1], (figure[4] or "")) for _, figure in ticks if float(figure[3].replace(",", ""))}
    if len(ticks) < _LEAST_TICKS or len(units) != 1:
        return None
    places = _tick_places([label for label, _ in ticks], strokes)
    values = [float(figure[3].replace(",", "")) * (-1 if figure[2] else 1) for _, figure in ticks]
    steps = [b - a for a, b in pairwise(values)]
    if not all(abs(step - steps[0]) <= 1e-6 * max(map(abs, values)) for step in steps) or not steps[0]:
        return None
    if abs(steps[0]) == 1 and min(values) >= 99:
        return None  # years, numbers of pages or notes, or powers of ten, whose exponents stand raised
    slope = (values[-1] - values[0]) / (places[-1] - places[0])
    start = values[0] - slope * places[0]
    if any(abs(slope * place + start - value) > _EVEN * abs(values[-1] - values[0])
           for place, value in zip(places, values, strict=True)):  # fmt: skip
        return None
    before, after = units.pop()
    return _Axis(tuple(label for label, _ in ticks), slope, start, places[0], places[-1], before, after)


def _tick_places(labels: Sequence[_Label], strokes: Sequence[Box]) -> list[float]:
    """Return the positions of an axis's ticks: of the short lines beside its labels.

    If these do not fit, return the middles of the labels.
    """
    middles = [label.centre[1] for label in labels]
    level = sorted({(box[1] + box[3]) / 2 for box in strokes if abs(box[3] - box[1]) < 0.5 and box[2] - box[0] > 1})
    places = [min(((abs(y - middle), y) for y in level), default=(0.0, math.inf))[1] for middle in middles]
    near = max(label.box[3] - label.box[1] for label in labels) / 3
    fits = all(abs(place - middle) <= near for place, middle in zip(places, middles, strict=True))
    return places if fits and len(set(places)) == len(places) else middles


@dataclass(frozen=True, slots=True)
class _Legend:
    labels: Sequence[_Label]
    bars: Sequence[_Bar]
    strokes: Sequence[tuple[Box, Colour]]

    def name(self, colour: Colour, marks: Sequence[_Bar]) -> str:
        """Return the name of a colour: the text to the right of a small mark in that colour.

        Return "" if there is no such text or several.
        """
        boxes = [bar.box for bar in self.bars if bar.colour == colour and bar not in marks]
        boxes += [box for box, drawn in self.strokes if drawn == colour]
        names = {
            label.text
            for box in boxes
            for label in self.labels
            if abs(label.centre[1] - (box[1] + box[3]) / 2) < 0.5 * (label.box[3] - label.box[1])
            and 0 <= label.box[0] - box[2] < 2 * (label.box[3] - label.box[1])
            and not _NUMBER.fullmatch(label.text)
        }
        return names.pop() if len(names) == 1 else ""


@dataclass(frozen=True, slots=True)
class _Chart:
    axis: _Axis
    labels: Sequence[_Label]
    bars: Sequence[_Bar]
    lines: Sequence[_Line]
    below: bool

    def table(self, legend: _Legend) -> TableBox | None:
        """Return the chart as a table, None if a bar or point belongs to no position on the axis of positions."""
        corners = [point for line in self.lines for point in line.points]
        bars = [] if self.lines and all(_marks_point(bar, corners) for bar in self.bars) else self._standing()
        series: list[tuple[str, dict[float, float]]] = []
        for colour in dict.fromkeys(bar.colour for bar, _ in bars):
            own = {(bar.box[0] + bar.box[2]) / 2: value for bar, value in bars if bar.colour == colour}
            series.append((legend.name(colour, [bar for bar, _ in bars]), own))
        colours = Counter(line.colour for line in self.lines)
        for line in self.lines:
            name = legend.name(line.colour, ()) if colours[line.colour] == 1 else ""
            series.append((name, {x: self.axis.value(y) for x, y in line.points}))
        if not series or sum(len(own) for _, own in series) < _LEAST_MARKS or (bars and self.lines):
            return None  # bars and lines in one chart may have different axes
        places = [place for _, own in series for place in own]
        names = self._positions(places, bool(bars))
        if names is None:
            return None
        rows: dict[tuple[float, str], dict[int, str]] = {}
        for at, (_, own) in enumerate(series):
            for place, value in own.items():
                cells = rows.setdefault(names[place], {})
                if at in cells:
                    return None
                cells[at] = self.axis.written(value)
        heads = ["", *(name or ("value" if len(series) == 1 else f"series {at}")
                       for at, (name, _) in enumerate(series, 1))]  # fmt: skip
        values = [value for _, own in series for value in own.values()]
        if len({name for _, name in rows}) < len(rows) or not _differ(bars, values):
            return None  # rules below the figures of a table
        body = [(name, *(cells.get(at, "") for at in range(len(series)))) for (_, name), cells in sorted(rows.items())]
        area = (min(places), self.axis.first, max(places), self.axis.last)
        return TableBox(area, (tuple(heads), *body), 1, (0, 0))

    def _standing(self) -> list[tuple[_Bar, float]]:
        """Return (bar, value) for the bars that begin at the common base line or are stacked on one another."""
        ends = Counter(round(end) for bar in self.bars for end in (bar.box[1], bar.box[3]))
        if not ends:
            return []
        widths = Counter(round(bar.box[2] - bar.box[0]) for bar in self.bars)
        width = widths.most_common(1)[0][0]
        base = max(ends, key=lambda end: (ends[end], -abs(self.axis.value(end))))
        like = [bar for bar in self.bars if abs(bar.box[2] - bar.box[0] - width) <= 1.5]
        done: list[tuple[_Bar, float]] = []
        tops = {(round(bar.box[0]), round(base)): float(base) for bar in like}
        rest = sorted(like, key=lambda bar: min(abs(bar.box[1] - base), abs(bar.box[3] - base)))
        for bar in rest:
            near, far = sorted((bar.box[1], bar.box[3]), key=lambda end: abs(end - base))
            key = next((key for key in tops if abs(key[0] - bar.box[0]) <= 1 and abs(tops[key] - near) <= _TOUCH), None)
            if key is None:
                continue
            alone = abs(near - base) <= _TOUCH
            value = self.axis.value(far) - (0.0 if alone else self.axis.value(near))
            done.append((bar, value))
            tops[round(bar.box[0]), round(far)] = far
        return done

    def _positions(self, places: Sequence[float], centred: bool) -> dict[float, tuple[float, str]] | None:
        """Return ``{place: (order, name)}`` for the positions of bars or points, None if they have no names.

        The names come from the labels along the axis, or from its numbers.
        """
        rows = list(self._label_rows(min(places), max(places)))
        for row in rows:
            centres = sorted((label.centre[0], label.text) for label in row)
            gap = min((b[0] - a[0] for a, b in pairwise(centres)), default=math.inf)
            reach = (0.5 if centred else 0.2) * gap
            nearest = {place: min(centres, key=lambda item: abs(item[0] - place)) for place in places}
            if len(centres) > 1 and all(abs(item[0] - place) <= reach for place, item in nearest.items()):
                return nearest
            numbers = _axis(
                [(label.turned(), figure) for label in row if (figure := _NUMBER.fullmatch(label.text))], ()
            )
            if numbers is not None and len(numbers.labels) == len(row) and not centred:
                values = {place: numbers.value(place) for place in places}
                whole = all(abs(value - round(value)) < 0.05 for value in values.values())
                return {place: (place, str(round(value)) if whole else f"{value:.4g}")
                        for place, value in values.items()}  # fmt: skip
        return None

    def _label_rows(self, left: float, right: float) -> Iterator[list[_Label]]:
        """Yield the rows of labels that may name the bars or points, the nearest row first."""
        ends = [end for bar in self.bars for end in (bar.box[1], bar.box[3])]
        ends += [self.axis.first, self.axis.last, *(y for line in self.lines for _, y in line.points)]
        side = max(ends) if self.below else min(ends)
        ticks = set(map(id, self.axis.labels))
        outside = [
            label
            for label in self.labels
            if id(label) not in ticks and left - 40 <= label.centre[0] <= right + 40
            and ((0 <= label.centre[1] - side < 45) if self.below else (0 <= side - label.centre[1] < 160))
        ]  # fmt: skip
        edge = 1 if self.below else 3  # names of lying bars end at the axis
        rows: dict[int, list[_Label]] = {}
        for label in sorted(outside, key=lambda label: abs(label.box[edge] - side)):
            near = next((key for key in rows if abs(key - label.box[edge]) <= 3), round(label.box[edge]))
            rows.setdefault(near, []).append(label)
        yield from (row for row in rows.values() if len(row) > 1)


def _differ(bars: Sequence[tuple[_Bar, float]], values: Sequence[float]) -> bool:
    """Return whether the bars or points have different heights. If not, they may be lines of a table."""
    return max(values) > min(values) and (not bars or max(bar.box[3] - bar.box[1] for bar, _ in bars) > _LEAST_HEIGHT)


def _marks_point(bar: _Bar, points: Sequence[tuple[float, float]]) -> bool:
    """Return whether a small rectangle marks a point of a line, or shows a colour in a legend."""
    x0, y0, x1, y1 = bar.box
    small = x1 - x0 < 12 and y1 - y0 < 12
    return small and (any(x0 <= x <= x1 and y0 <= y <= y1 for x, y in points) or x1 - x0 == y1 - y0)


def _turned(box: Box) -> Box:
    """Return a box after turning the page by a right angle, so that rightwards becomes downwards."""
    return -box[3], box[0], -box[1], box[2]


def _turned_back(box: Box) -> Box:
    return box[1], -box[2], box[3], -box[0]
