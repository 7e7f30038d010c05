"""A page that is read with its tables holds every word that it holds without them."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pymupdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.types.locators import TableBox
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.documents.page_views import lines_with_tables

FILINGS = Path(os.environ.get("PAGEINDEX_EVAL_DATA", "-")) / "financebench" / "pdfs"
BALANCE_SHEETS = [
    ("NETFLIX_2015_10K", 43),
    ("NETFLIX_2017_10K", 45),
    ("BESTBUY_2019_10K", 52),
    ("AMD_2015_10K", 58),
    ("CORNING_2022_10K", 60),
]
LINES = st.lists(st.lists(st.sampled_from(["Cash", "Debt", "1,204", "(7)", "net", "|"]), max_size=4), max_size=8)
BOX = (0.0, 0.0, 0.0, 0.0)


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


@st.composite
def tables(draw: st.DrawFn, lines: list[list[str]]) -> TableBox:
    """A table of some of the lines, at times without some of their words."""
    first = draw(st.integers(0, len(lines)))
    last = draw(st.integers(first, len(lines)))
    held = [word for line in lines[first:last] for word in line]
    cells = [word for word in held if draw(st.integers(0, 9))] if draw(st.booleans()) else held
    return TableBox(BOX, tuple((cell, "") for cell in cells or [""]), draw(st.integers(0, 1)), (first, last))


@given(st.data(), LINES)
def test_no_word_of_a_page_is_lost_to_its_tables(data: st.DataObject, lines: list[list[str]]) -> None:
    texts = ["  ".join(line) for line in lines]
    found = data.draw(st.lists(tables(lines), max_size=3))
    written = "\n".join(lines_with_tables(texts, found))
    assert words("\n".join(texts)) <= words(written)


def test_a_table_that_holds_its_lines_takes_their_place_and_one_that_does_not_leaves_them() -> None:
    lines = ["Assets", "Cash  7", "Debt  (8)", "Total  9"]
    whole = TableBox(BOX, (("Cash", "7"), ("Debt", "(8)")), 0, (1, 3))
    assert lines_with_tables(lines, [whole]) == [
        "Assets",
        "| | |",
        "|---|---|",
        "| Cash | 7 |",
        "| Debt | (8) |",
        lines[3],
    ]
    for rows in ((("Cash", "7"),), (("Cash", "7"), ("Debt", "8"))):
        assert lines_with_tables(lines, [TableBox(BOX, rows, 0, (1, 3))]) == lines
    beyond = TableBox(BOX, (("Debt", "(8)"), ("Total", "9")), 0, (2, 4))
    assert lines_with_tables(lines, [beyond, whole])[-1] == "Total  9"  # they overlap: the first has its lines


def test_balance_sheets_of_filings_are_read_with_every_word(engine: Engine, tmp_path: Path) -> None:
    if not FILINGS.is_dir():
        pytest.skip("PAGEINDEX_EVAL_DATA names no folder with financebench/pdfs")
    (tmp_path / "shelf").mkdir()
    for name, number in BALANCE_SHEETS:
        path = FILINGS / f"{name}.pdf"
        if path.is_file():
            with pymupdf.open(stream=path.read_bytes()) as filing:
                filing.select([number - 1])
                filing.save(tmp_path / "shelf" / path.name)
    run(engine.index(tmp_path / "shelf"))
    read = [run(engine.pages(one.doc_id, 1))[0] for one in run(engine.documents.list())]
    assert read
    for page in read:
        shown = run(engine.documents.with_tables(page)).text
        lost = words(page.text) - words(shown)
        assert not lost, f"{page.doc_name} loses {lost}"
        assert shown.count("\n| ") > 25, f"the rows of {page.doc_name} are in tables"


def _pages_of_table(path: Path, pages: list[list[tuple[str, ...]]], foot: str = "") -> Path:
    """A PDF whose pages show rows of a table from top to bottom, and a running foot."""
    with pymupdf.open() as document:
        for rows in pages:
            page = document.new_page(height=200)
            for down, row in enumerate(rows):
                for across, cell in enumerate(row):
                    page.insert_text((60 + 110 * across, 40 + 14 * down), cell, fontsize=10)
            page.insert_text((60, 190), foot, fontsize=8)
        document.save(path)
    return path


def _rows(first: int, count: int = 8) -> list[tuple[str, ...]]:
    return [(f"Park {at}", f"{1000 + at}", f"{at}.5") for at in range(first, first + count)]


_HEADS = ("Name", "Capacity", "Share")


@pytest.mark.parametrize(
    ("pages", "repeated"),
    [
        ([[_HEADS, *_rows(0)], _rows(8), _rows(16)], True),
        ([[_HEADS, *_rows(0)], _rows(8), [(*row, "x") for row in _rows(16)]], False),  # another table
        ([[_HEADS, *_rows(0)], [*_rows(8), ("The table ends here, and a text of several lines follows it.",),
                                *[(f"A line of text about parks, number {at}, which no table holds.",)
                                  for at in range(5)]], _rows(16)], False),
        ([_rows(0), _rows(8), _rows(16)], False),
    ],
)  # fmt: skip
def test_a_table_over_pages_repeats_its_heads(
    tmp_path: Path, engine: Engine, pages: list[list[tuple[str, ...]]], repeated: bool
) -> None:
    run(engine.index(_pages_of_table(tmp_path / "parks.pdf", pages, "Report of 2024")))
    read = run(engine.pages("parks.pdf", 3))[0]
    shown = run(engine.documents.with_tables(read)).text
    assert ("| Name | Capacity | Share |" in shown) is repeated
    assert "| Park 16 | 1016 | 16.5 |" in shown or not repeated
