"""Charts of Office files as tables of their data, including those of Office 2016 and later ("chartex")."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from indexers.formats.flow.blocks import Block, Paragraph, Table
from indexers.formats.office.number_formats import show
from indexers.formats.office.ooxml import CHART, DRAWN, paragraph_text

_LATER = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
_MOST_POINTS = 5_000
_TITLED = frozenset((f"{CHART}title", f"{_LATER}title"))

Points = dict[int, str]


def is_chart(tag: str) -> bool:
    return tag in (f"{CHART}chart", f"{_LATER}chart")


def chart_blocks(root: etree._Element, place: str) -> Iterator[Block]:
    """Yield a chart's titles, and a table of its series."""
    for element in root.iter(*_TITLED):
        lines = (" ".join(paragraph_text(paragraph).split()) for paragraph in element.iter(f"{DRAWN}p"))
        if title := " ".join(filter(None, lines)):
            yield Paragraph(title, place)
    if root.tag.startswith(_LATER):
        rows = _later_rows(root)
    else:
        series = list(root.iter(f"{CHART}ser"))
        names = {at: name for row in series for tag in ("cat", "xVal") for at, name in _points(row, tag).items()}
        columns = [{**_points(row, "val"), **_points(row, "yVal")} for row in series]
        rows = _rows(names, columns, [" ".join(_points(row, "tx").values()) for row in series])
    if any(map(any, rows)):
        yield Table(tuple(rows), place=place)


def _rows(names: Points, columns: list[Points], titles: list[str]) -> list[tuple[str, ...]]:
    numbers = sorted({at for column in (names, *columns) for at in column})[:_MOST_POINTS]
    rows = [("", *titles)]
    return rows + [(names.get(at, ""), *(column.get(at, "") for column in columns)) for at in numbers]


def _points(series: etree._Element, tag: str) -> Points:
    """Return the stored values of one element of a chart's series, as ``{index: text}``."""
    data = series.find(f"{CHART}{tag}")
    if data is None:
        return {}
    direct = data.findtext(f"{CHART}v")
    usual = next(data.iter(f"{CHART}formatCode"), None)
    points = {
        _point_number(point): _shown(
            point.findtext(f"{CHART}v") or "", point.get("formatCode") or ("" if usual is None else usual.text or "")
        )
        for point in data.iter(f"{CHART}pt")
    }
    return points or ({0: direct} if direct else {})


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
                points = {_point_number(point): point.text or "" for point in level.iter(f"{_LATER}pt")}
                if dimension.tag == f"{_LATER}numDim":
                    columns.append(points)
                else:
                    names = {at: f"{names.get(at, '')} {points.get(at, '')}".strip() for at in {*names, *points}}
        rows += _rows(names, columns, [titles.get(data.get("id", ""), "")] * len(columns))
    return rows


def _point_number(point: etree._Element) -> int:
    number = point.get("idx") or "0"
    return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
