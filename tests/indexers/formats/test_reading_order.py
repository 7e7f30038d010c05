"""Columns, tables, vertical and turned text come in the order a reader takes."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.documents import Line, ParsedPage
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.read import read_pages
from indexers.formats.pdf.reading_order import Piece, arrange
from tests import pdfs
from tests.work import calls


def parsed(path: Path) -> ParsedPage:
    with open_pdf(path) as document:
        page = next(iter(read_pages(document, [1])))
    assert isinstance(page, ParsedPage)
    return page


def piece(text: str, x: float, y: float) -> Piece:
    return Piece(Line(text, x, y, x + 5 * len(text), y + 11, 10), True)


def columns(path: Path, count: int, *, by_row: bool, title: str = "") -> list[list[str]]:
    """A page of running text in columns, stored row by row or column by column; gives the lines of each."""
    width = {2: 42, 3: 27}[count]
    texts = [textwrap.wrap(pdfs.prose(f"subject {n}", n, 12).lower(), width)[:14] for n in range(count)]
    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    if title:
        page.insert_text((60, 90), title, fontsize=20, fontname="hebo")
    cells = [(n, row) for row in range(14) for n in range(count)]
    for n, row in cells if by_row else sorted(cells):
        page.insert_text((60 + n * 490 / count, 130 + 13 * row), texts[n][row], fontsize=9, fontname="tiro")
    document.save(path)
    return texts


@pytest.mark.parametrize("by_row", [True, False])
@pytest.mark.parametrize("count", [2, 3])
def test_columns_are_read_one_after_the_other_however_they_are_stored(tmp_path: Path, count: int, by_row: bool) -> None:
    title = "A long heading over all the columns of this page"
    texts = columns(tmp_path / "a.pdf", count, by_row=by_row, title=title)
    assert [line.text for line in parsed(tmp_path / "a.pdf").lines] == [
        title,
        *(line for text in texts for line in text),
    ]


def test_a_table_stays_in_rows_even_with_long_cells(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    rows = [(f"Subsidiary company number {n}", f"Limited liability company, {n} owners") for n in range(16)]
    for n, cells in enumerate(rows):
        for x, cell in zip((60, 310), cells, strict=True):
            page.insert_text((x, 100 + 13 * n), cell, fontsize=9, fontname="tiro")
    document.save(tmp_path / "a.pdf")
    assert [line.text for line in parsed(tmp_path / "a.pdf").lines] == ["  ".join(cells) for cells in rows]


def test_terms_beside_their_definitions_stay_together(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    for n in range(5):
        y = 100 + 60 * n
        page.insert_text((60, y), f"Defined term of the contract {n}", fontsize=9, fontname="tiro")
        page.insert_text((310, y), textwrap.wrap(pdfs.prose("a term", n, 3), 44), fontsize=9, fontname="tiro")
    document.save(tmp_path / "a.pdf")
    terms = [n for n, line in enumerate(parsed(tmp_path / "a.pdf").lines) if line.text.startswith("Defined term")]
    assert len(terms) == 5 and min(b - a for a, b in pairwise(terms)) >= 2


def test_characters_set_one_below_the_other_are_lines_read_from_the_right(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page(width=595, height=842)
    verse = ("春眠不觉晓", "处处闻啼鸟", "夜来风雨声", "花落知多少")
    for n, line in enumerate(verse[::-1]):  # stored from left to right, read from right to left
        for row, char in enumerate(line):
            page.insert_text((200 + 40 * n, 100 + 22 * row), char, fontsize=20, fontname="china-s")
    document.save(tmp_path / "a.pdf")
    assert [line.text for line in parsed(tmp_path / "a.pdf").lines] == list(verse)


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_columns_of_a_turned_page_are_read_as_it_is_shown(tmp_path: Path, turn: int) -> None:
    texts = columns(tmp_path / "flat.pdf", 2, by_row=True)
    document = pymupdf.open()
    page = document.new_page(width=842 if turn != 180 else 595, height=595 if turn != 180 else 842)
    page.show_pdf_page(page.rect, pymupdf.open(tmp_path / "flat.pdf"), 0, rotate=turn)
    page.set_rotation(turn)
    document.save(tmp_path / "a.pdf")
    found = parsed(tmp_path / "a.pdf")
    assert [line.text for line in found.lines] == [line for text in texts for line in text]
    assert (found.width, found.height) == (595, 842)
    assert found.lines[0].y0 < found.lines[1].y0


def test_a_line_running_up_the_margin_is_not_joined_to_the_text(tmp_path: Path) -> None:
    document = pymupdf.open()
    sheet = pdfs.Sheet(document)
    sheet.text(pdfs.prose("margins", 1, 6))
    sheet.page.insert_text((40, 700), "Archive copy 17 of 20", fontsize=9, rotate=90)
    document.save(tmp_path / "a.pdf")
    assert "Archive copy 17 of 20" in [line.text for line in parsed(tmp_path / "a.pdf").lines]


def cells(x: float, *texts: str) -> list[Piece]:
    return [piece(text, x, 100 + 14 * n) for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ([cells(72, "Name", "Kim", "Lee"), cells(200, "Age", "31", "32"), cells(300, "City", "Kiel", "Bonn")],
         ["Name  Age  City", "Kim  31  Kiel", "Lee  32  Bonn"]),
        ([cells(72, "Item", "Pumps", "Valves", "Sum"), cells(200, "2023", "12", "7", "19")],
         ["Item  2023", "Pumps  12", "Valves  7", "Sum  19"]),
        ([cells(72, "Yes", "No", "Not sure"), cells(200, "62%", "25%", "13%"), cells(260, "(1)", "(2)", "(3)")],
         ["Yes  62%  (1)", "No  25%  (2)", "Not sure  13%  (3)"]),
        ([cells(72, "Kim Lee", "Harbour 1", "Kiel"), cells(300, "Ann Bo", "Main St 5", "Bonn")],
         ["Kim Lee", "Harbour 1", "Kiel", "Ann Bo", "Main St 5", "Bonn"]),
        ([cells(72, "Item", "Net"), cells(200, "July 2,", "2023"), cells(300, "July 3,", "2022")],
         ["Item", "Net", "July 2,", "2023", "July 3,", "2022"]),
    ],
)  # fmt: skip
def test_figures_stored_column_by_column_are_read_in_rows(columns: list[list[Piece]], rows: list[str]) -> None:
    assert [line.text for line in arrange([cell for column in columns for cell in column])] == rows


def test_text_of_one_column_stays_before_the_next_column() -> None:
    left = [piece(f"left line {n} of the running text", 72, 300 + 14 * n) for n in range(9)]
    right = [piece(f"right line {n} of the running text", 320, 100 + 14 * n) for n in range(9)]
    marks = [piece("(a)", 200, 330), piece("(b)", 200, 150)]
    for stored in ([*left, *right], [*left, *right, *marks]):
        assert [line.text for line in arrange(stored)] == [line.line.text for line in stored]


def test_an_ordinary_page_is_little_work() -> None:
    lines = textwrap.wrap(pdfs.prose("cost", 1, 60), 88)[:60]
    pieces = [
        Piece(Line(text, 72, 60 + 12 * n, 500, 70 + 12 * n, 10, False, False, "f"), True)
        for n, text in enumerate(lines)
    ]
    assert len(arrange(pieces)) == len(lines)
    assert calls(lambda: arrange(pieces)) < 20 * len(lines)


def test_a_page_of_very_many_columns_is_bounded_work() -> None:
    pieces = [*cells(0, *["label"] * 50), *(cell for n in range(2_000) for cell in cells(40 + 10 * n, "1", "2", "3"))]
    assert len("".join(line.text for line in arrange(pieces)).replace(" ", "")) == 50 * 5 + 6_000
    assert calls(lambda: arrange(pieces)) < 8_000_000  # 50 million without the bound
