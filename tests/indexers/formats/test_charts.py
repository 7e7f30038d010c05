"""The data of charts is read from drawings, and nothing is read where it cannot be told."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pymupdf
import pytest

from hybrid_pageindex import Engine, run
from indexers.formats.pdf.charts import read_charts

YEARS = ["2019", "2020", "2021", "2022"]
BLUE, RED = (0.2, 0.4, 0.8), (0.8, 0.2, 0.2)


class Drawing:
    """A page with a value axis from 0 to ``top``, 200 points high, whose values go up the page."""

    def __init__(self, top: float = 100, unit: str = "", ticks: Sequence[float] | None = None) -> None:
        self.page = pymupdf.open().new_page(width=500, height=400)
        self.top = top
        for value in ticks or [top * step / 5 for step in range(6)]:
            text = f"{value:g}{unit}"
            width = pymupdf.get_text_length(text, fontsize=9)
            self.page.insert_text((88 - width, self.y(value) + 3), text, fontsize=9)
            self.page.draw_line((90, self.y(value)), (94, self.y(value)))

    def y(self, value: float) -> float:
        return 300 - 200 * value / self.top

    def names(self, names: Sequence[str]) -> Drawing:
        for at, name in enumerate(names):
            width = pymupdf.get_text_length(name, fontsize=9)
            self.page.insert_text((130 + 80 * at - width / 2, 318), name, fontsize=9)
        return self

    def bars(
        self, values: Sequence[float], colour: tuple[float, ...] = BLUE, shift: float = 0, base: float = 0
    ) -> Drawing:
        for at, value in enumerate(values):
            x = 120 + 80 * at + shift
            self.page.draw_rect((x, self.y(base + value), x + 20, self.y(base)), color=None, fill=colour)
        return self

    def line(self, values: Sequence[float], colour: tuple[float, ...] = BLUE) -> Drawing:
        points = [(130 + 80 * at, self.y(value)) for at, value in enumerate(values)]
        self.page.draw_polyline(points, color=colour)
        return self

    def legend(self, name: str, colour: tuple[float, ...], row: int) -> Drawing:
        self.page.draw_rect((430, 100 + 20 * row, 438, 108 + 20 * row), color=None, fill=colour)
        self.page.insert_text((442, 107 + 20 * row), name, fontsize=9)
        return self


def table(drawing: Drawing) -> dict[str, list[float]]:
    [chart] = read_charts(drawing.page)
    assert [row[0] for row in chart.rows[1:]] == YEARS and chart.heads == 1
    return {
        head: [float(row[at].strip("%$").replace(",", "")) for row in chart.rows[1:]]
        for at, head in enumerate(chart.rows[0])
        if at
    }


@pytest.mark.parametrize(
    ("top", "values"),
    [(100, [20.0, 45.5, 80, 99]), (5_000, [1_250.0, 40, 4_900, 3_000]), (0.5, [0.1, 0.25, 0.4, 0.05])],
)
def test_bars_and_lines_give_their_values(top: float, values: list[float]) -> None:
    for drawing in (Drawing(top).names(YEARS).bars(values), Drawing(top).names(YEARS).line(values)):
        [(name, read)] = table(drawing).items()
        assert name == "value" and read == pytest.approx(values, abs=top / 100)


@pytest.mark.parametrize("longest", [44, 49, 55])
def test_a_bar_far_beyond_the_last_tick_is_not_left_out(longest: float) -> None:
    """A lying bar begins at the first tick, and may be longer than the axis between its ticks."""
    page = pymupdf.open().new_page(width=500, height=400)
    for tick in (0, 10, 20, 30, 40):
        width = pymupdf.get_text_length(str(tick), fontsize=9)
        page.insert_text((100 + 6 * tick - width / 2, 320), str(tick), fontsize=9)
        page.draw_line((100 + 6 * tick, 304), (100 + 6 * tick, 308))
    for y, (name, value) in zip(
        range(80, 280, 50), zip(("oats", "rye", "hops", "peas"), (20, longest, 35, 8), strict=True), strict=True
    ):
        page.insert_text((94 - pymupdf.get_text_length(name, fontsize=9), y + 13), name, fontsize=9)
        page.draw_rect((100, y, 100 + 6 * value, y + 20), color=None, fill=BLUE)
    rows = {row[0]: float(row[1]) for chart in read_charts(page) for row in chart.rows[1:]}
    assert rows == ({"oats": 20, "rye": longest, "hops": 35, "peas": 8} if longest < 50 else {})


def test_series_are_named_by_the_legend() -> None:
    one, two = [20.0, 30, 40, 50], [15.0, 25, 10, 5]
    grouped = Drawing().names(YEARS).bars(one).bars(two, RED, 20)
    stacked = Drawing().names(YEARS).bars(one).bars([two[0]], RED, base=one[0])
    for at in range(1, 4):
        x = 120 + 80 * at
        stacked.page.draw_rect((x, stacked.y(one[at] + two[at]), x + 20, stacked.y(one[at])), color=None, fill=RED)
    for drawing in (grouped, stacked):
        read = table(drawing.legend("Revenue", BLUE, 0).legend("Cost", RED, 1))
        assert read["Revenue"] == pytest.approx(one, abs=1) and read["Cost"] == pytest.approx(two, abs=1)


def test_units_of_the_axis_stay_with_the_values() -> None:
    [chart] = read_charts(Drawing(unit="%").names(YEARS).bars([10, 20, 30, 40]).page)
    assert [row[1] for row in chart.rows[1:]] == ["10%", "20%", "30%", "40%"]


def _scattered() -> Drawing:
    drawing = Drawing().names(YEARS)
    for at in range(12):
        drawing.page.draw_circle((110 + 23 * at, 120 + 37 * at % 150), 2, fill=BLUE)
    return drawing


def _second_axis() -> Drawing:
    drawing = Drawing().names(YEARS).bars([10, 20, 30, 40])
    for value in range(0, 1_001, 200):
        drawing.page.insert_text((460, 303 - value / 5), f"{value}", fontsize=9)
    return drawing


def _ruled_table() -> Drawing:
    """Figures of a table in a column, with rules below that are drawn as filled rectangles."""
    return Drawing(ticks=[0, 20, 40, 60, 80, 100]).names(["$", "$", "$", "$"]).bars([0.6] * 4)


def _counted_up(first: int) -> Drawing:
    """Numbers that count up a column, as years, notes and pages do, beside filled rectangles."""
    drawing = Drawing()
    drawing.page = pymupdf.open().new_page(width=500, height=400)
    for at in range(4):
        drawing.page.insert_text((66, 303 - 50 * at), f"{first + at}", fontsize=9)
        drawing.page.draw_line((90, 300 - 50 * at), (94, 300 - 50 * at))
    return drawing.names(["a", "b", "c", "d"]).bars([20, 40, 60, 70])


@pytest.mark.parametrize(
    "make",
    [
        _scattered,
        _second_axis,
        _ruled_table,
        lambda: _counted_up(2015),
        lambda: _counted_up(117),
        lambda: _counted_up(1_020),
        lambda: Drawing().names(["(1,200)", "500", "291", "77"]).bars([0.6] * 4),
        lambda: Drawing().names(["a", "a", "b", "c"]).bars([10, 20, 30, 40]),  # a name twice
        lambda: Drawing().bars([10, 20, 30, 40]),  # no names
        lambda: Drawing(ticks=[0, 10, 40, 100]).names(YEARS).bars([10, 20, 30, 40]),  # no even axis
        lambda: Drawing().names(YEARS).bars([10, 20, 30, 180]),  # over the axis
        lambda: Drawing().names(YEARS).bars([10, 20]),  # too little to be sure
        lambda: Drawing().names(YEARS).bars([10, 20, 30, 40]).line([1, 2, 3, 4]),  # two kinds of marks
        lambda: Drawing().names(YEARS),
    ],
)
def test_what_cannot_be_told_is_not_read(make: Callable[[], Drawing]) -> None:
    assert read_charts(make().page) == []


def test_what_reads_a_page_reads_its_charts(tmp_path: Path) -> None:
    drawing = Drawing().names(YEARS).bars([10, 20, 30, 40])
    drawing.page.insert_text((60, 40), "Sales grew in every year, as the figure shows.", fontsize=11)
    drawing.page.parent.save(tmp_path / "chart.pdf")
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "chart.pdf"))
    [page] = run(engine.pages("chart.pdf", 1))
    text = run(engine.documents.with_tables(page)).text
    assert run(engine.documents.with_tables(page)).text == text, "also from the cache"
    assert "Chart, read from the drawing:\n|  | value |" in text and "| 2021 | 30 |" in text
    assert list(itertools.chain(page.text.split("\n"))) == text.split("\n")[: page.text.count("\n") + 1]
    engine.close()
