"""Titles that stand at the top of pages below a name, alone in their line, or in small capitals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hybrid_core.types.documents import Line
from indexers.outline.candidates import PossibleHeading, candidates
from indexers.outline.tree import TreeLimits, build_tree
from indexers.outline.view import view
from tests.indexers.outline.outline_pages import Sheet, document, line, outline_of


def _titles(*sheets: Sheet) -> list[str]:
    return [c.title for c in candidates(view(document(sheets).pages))]


def _statement(number: int, title: str, size: float) -> Sheet:
    """A page of figures in small type below a name, a title and a remark."""
    sheet = Sheet(number)
    for at, text in enumerate(("Harbour Works, Inc. and Subsidiaries", title, "(in millions, unaudited)")):
        sheet.lines.append(line(text, 90 + 12 * at, size=size, bold=True))
    for at in range(24):
        text = f"{'Ropes Gates Sails Wages'.split()[at % 4]} of the yard  {1000 + 37 * at}  {900 + 31 * at}"
        sheet.lines.append(line(text, 150 + 12 * at, size=size))
    return sheet


_STATEMENTS = ("Consolidated Statement of Income", "Consolidated Balance Sheet", "Consolidated Statement of Cash Flows")


@pytest.mark.parametrize("size", [7.0, 8.2, 10.0])
def test_a_statement_is_titled_by_the_line_below_the_name(size: float) -> None:
    sheets = [Sheet(at).head("Results", 14).prose(30) for at in (1, 2, 3)]
    sheets += [_statement(at, title, size) for at, title in enumerate(_STATEMENTS, 4)]
    possible = candidates(view(document(sheets).pages))
    named = [c.title for c in possible if c.named]
    assert named == list(_STATEMENTS)
    tree = outline_of(build_tree(document(sheets), TreeLimits(50)))
    assert [(level, title) for level, title, page in tree if page > 3] == [(1, title) for title in _STATEMENTS]


def test_a_line_that_tops_one_page_alone_is_no_name() -> None:
    sheets = [Sheet(1).prose(30), _statement(2, "Consolidated Balance Sheet", 10.0)]
    assert not any(c.named for c in candidates(view(document(sheets).pages)))


@pytest.mark.parametrize("title", ["4.  Cash Compensation.", "(c) Retirement Date.", "2.1 Notices and Waivers."])
def test_a_clause_whose_title_ends_with_a_full_stop_may_be_one(title: str) -> None:
    sheet = Sheet(1).prose(8).row(title).prose(8)
    assert title.rstrip(".") in _titles(sheet)
    assert "3. the buyer pays at once." not in _titles(Sheet(1).prose(8).row("3. the buyer pays at once.").prose(8))


@pytest.mark.parametrize(
    "title",
    ["5.2.1 Populism – what kind of populism?", "2.4 Review: the first years", "5.3.1 Kurz I (2017–2019)"],
)
def test_a_title_set_apart_is_whole(title: str) -> None:
    sheet = Sheet(1).prose(8)
    sheet.y += 12
    sheet.lines.append(line(title, sheet.y, bold=True, italic=True))
    sheet.y += 26
    assert title in _titles(sheet.prose(8))


def test_a_title_that_runs_into_its_text_ends_where_the_text_begins() -> None:
    sheet = Sheet(1).prose(8).row("4.2 Late Payment – the buyer pays what the keeper asks for", bold=True, step=13)
    assert "4.2 Late Payment" in _titles(sheet.prose(8))


def _small(text: str) -> Callable[[Sheet], Line]:
    return lambda sheet: replace(line(text, sheet.y, size=7), bold=False)


@pytest.mark.parametrize("text", ["A. REGIONAL COURTS", "CUSTOMARY COURTS", "1.4.3.1.1 CRITICISM OF POWERS"])
def test_small_capitals_that_stand_alone_may_be_titles_below_others(text: str) -> None:
    sheet = Sheet(1).prose(8)
    sheet.y += 14
    sheet.lines.append(_small(text)(sheet))
    sheet.y += 22
    [heading] = [c for c in candidates(view(document([sheet.prose(8)]).pages)) if c.title == text]
    assert isinstance(heading, PossibleHeading) and heading.rise < 0


def test_small_capitals_between_lines_of_text_are_none() -> None:
    sheet = Sheet(1).prose(8)
    sheet.y -= 6
    sheet.lines.append(_small("REGIONAL COURTS")(sheet))
    sheet.y += 12
    assert "REGIONAL COURTS" not in _titles(sheet.prose(8))
