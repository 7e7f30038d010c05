"""Charts of Office files as tables of their data, including those of Office 2016 and later ("chartex")."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from indexers.formats.flow.blocks import Block, Paragraph, Table
from indexers.formats.office.number_formats import show
from indexers.formats.office.ooxml import CHART, DRAWN, paragraph_text

_LATER = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
_MOST_POINTS = 5_000
_CELL_LABELS = "{http://schemas.microsoft.com/office/drawing/2012/chart}datalabelsRange"
_TITLED = frozenset((f"{CHART}title", f"{_LATER}title"))

Points = dict[int, str]


def is_chart(tag: str) -> bool:
    return tag in (f"{CHART}chart", f"{_LATER}chart")


def chart_blocks(root: etree._Element, place: str) -> Iterator[Block]:
    """Yield a chart's titles, and a table of its series."""
    yield from (Paragraph(title, place) for title in chart_titles(root))
    for rows in [_later_rows(root)] if root.tag.startswith(_LATER) else _tables(root):
        if any(map(any, rows)):
            yield Table(tuple(rows), place=place)


def chart_titles(root: etree._Element) -> Iterator[str]:
    """Yield the titles of a chart and of its axes. A title is a text of its own or a copy of the text of a cell."""
    for element in root.iter(*_TITLED):
        lines = [" ".join(paragraph_text(paragraph).split()) for paragraph in element.iter(f"{DRAWN}p")]
        if title := " ".join(filter(None, lines)) or " ".join(_points(element, "tx").values()):
            yield title


def _tables(root: etree._Element) -> Iterator[list[tuple[str, ...]]]:
    """Yield a table for the series with equal categories. Each series of a scatter chart may have its own x values."""
    names, columns, titles = Points(), list[Points](), list[str]()
    for series in root.iter(f"{CHART}ser"):
        own = {**_points(series, "cat"), **_points(series, "xVal")}
        if series.find(f"{CHART}xVal") is not None and columns and own != names:
            yield _rows(names, columns, titles)
            names, columns, titles = {}, [], []
        names |= own
        columns.append(_with_labels({**_points(series, "val"), **_points(series, "yVal")}, series))
        titles.append(" ".join(_points(series, "tx").values()))
        if sizes := _points(series, "bubbleSize"):
            columns.append(sizes)
            titles.append("")
    yield _rows(names, columns, titles)


def _with_labels(values: Points, series: etree._Element) -> Points:
    """Return the values of a series, each followed by its label in brackets if the label has words of its own."""
    ranges = series.iter(_CELL_LABELS)
    labels = {at: words for cells in ranges for at, words in _values(cells, "").items() if words}
    for label in series.iter(f"{CHART}dLbl"):
        number = label.find(f"{CHART}idx")
        runs = label.iterfind(f"{CHART}tx/{CHART}rich/{DRAWN}p/{DRAWN}r/{DRAWN}t")
        if number is not None and (words := " ".join("".join(run.text or "" for run in runs).split())):
            labels[_number(number.get("val"))] = words
    return values | {
        at: f"{values.get(at, '')} ({words})".strip() for at, words in labels.items() if words != values.get(at)
    }


def _rows(names: Points, columns: list[Points], titles: list[str]) -> list[tuple[str, ...]]:
    numbers = sorted({at for column in (names, *columns) for at in column})[:_MOST_POINTS]
    rows = [("", *titles)]
    return rows + [(names.get(at, ""), *(column.get(at, "") for column in columns)) for at in numbers]


def _points(series: etree._Element, tag: str) -> Points:
    """Return the stored values of one element of a chart's series, as ``{index: text}``.

    Categories of several levels are joined, from the outermost to the innermost.
    """
    data = series.find(f"{CHART}{tag}")
    if data is None:
        return {}
    if levels := [_values(level, "") for level in data.iter(f"{CHART}lvl")]:
        return _joined(levels)
    direct = data.findtext(f"{CHART}v")
    usual = next(data.iter(f"{CHART}formatCode"), None)
    points = _values(data, "" if usual is None else usual.text or "")
    return points or ({0: direct} if direct else {})


def _values(data: etree._Element, code: str) -> Points:
    """Return the points inside an element. ``code`` is the number format of points without one of their own."""
    return {
        _number(point.get("idx")): _shown(point.findtext(f"{CHART}v") or "", point.get("formatCode") or code)
        for point in data.iter(f"{CHART}pt")
    }


def _joined(levels: list[Points]) -> Points:
    """Return the categories of the first level after those of outer levels, which also apply to the points below."""
    joined = dict.fromkeys(levels[0], "")
    for level in reversed(levels):
        latest = ""
        for at in sorted({*joined, *level}):
            latest = level.get(at, latest)
            if at in joined:
                joined[at] = f"{joined[at]} {latest}".strip()
    return joined


def _shown(value: str, code: str) -> str:
    """Return a stored value as its number format shows it."""
    try:
        return show(float(value), code, False, value) if code and code != "General" else value
    except ValueError:
        return value


def series_names(root: etree._Element) -> Iterator[str]:
    """Yield the names of a chart's series."""
    for series in root.iter(f"{CHART}ser"):
        if name := " ".join(_points(series, "tx").values()):
            yield name


def _later_rows(root: etree._Element) -> list[tuple[str, ...]]:
    """Return the name and the values of each data set of a chart in the format of Office 2016 ("chartex")."""
    rows: list[tuple[str, ...]] = []
    titles = {
        data.get("val", ""): next((value.text or "" for value in series.iter(f"{_LATER}v")), "")
        for series in root.iter(f"{_LATER}series")
        for data in series.iter(f"{_LATER}dataId")
    }
    for data in root.iter(f"{_LATER}data"):
        names: Points = {}
        columns: list[Points] = []
        for dimension in data:
            for level in list(dimension.iter(f"{_LATER}lvl"))[::-1]:
                points = {_number(point.get("idx")): point.text or "" for point in level.iter(f"{_LATER}pt")}
                if dimension.tag == f"{_LATER}numDim":
                    columns.append(points)
                else:
                    names = {at: f"{names.get(at, '')} {points.get(at, '')}".strip() for at in {*names, *points}}
        rows += _rows(names, columns, [titles.get(data.get("id", ""), "")] * len(columns))
    return rows


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0
