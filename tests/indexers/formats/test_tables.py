"""Tables of pages whose lines have places: columns by where cells stand, heads above them."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from hybrid_core.types.locators import PageLayout, PlacedLine
from indexers.formats.limits import ParseLimits
from indexers.formats.pdf.document import open_pdf
from indexers.formats.pdf.page_layout import pdf_layout
from indexers.formats.pdf.read import read_pages

COLUMNS = (330, 400, 470, 540)


def written(path: Path, rows: list[tuple[str, ...]], prose: str = "") -> PageLayout:
    """A PDF with these rows, its figures set flush right; "" leaves a cell out."""
    with pymupdf.open() as made:
        page = made.new_page()
        for at, (name, *cells) in enumerate(rows):
            y = 80 + 14 * at
            page.insert_text((50, y), name, fontsize=9)
            for right, cell in zip(COLUMNS, cells, strict=False):
                width = pymupdf.get_text_length(cell, fontsize=9)
                page.insert_text((right - width, y), cell, fontsize=9)
        page.insert_textbox((50, 500, 550, 700), prose, fontsize=9)
        made.save(path)
    return laid_out(path)


def laid_out(path: Path) -> PageLayout:
    document = open_pdf(path)
    page = next(iter(read_pages(document, [1])))
    document.close()
    assert not isinstance(page, Exception)
    lines: list[PlacedLine] = [
        (line.text, (round(line.x0), round(line.y0), round(line.x1), round(line.y1))) for line in page.lines
    ]
    return pdf_layout(path, None, 1, lines, ParseLimits())


def test_a_missing_cell_leaves_its_column_empty(tmp_path: Path) -> None:
    layout = written(
        tmp_path / "a.pdf",
        [
            ("(in millions)", "2021", "2020", "Change"), ("Net revenue", "$ 12,517", "$ 13,287", "(6) %"),
            ("Noninterest expense", "7,202", "7,269", "(1)"), ("Return on equity", "54 %", "", "9 %"),
            ("Proceeds from sale of businesses, net of", "", "", ""), ("cash sold", "846", "1,065", "4"),
        ],
        "The table above says what it says.",
    )  # fmt: skip
    [table] = layout.tables
    assert table.heads == 1 and table.rows == (
        ("(in millions)", "2021", "2020", "Change"), ("Net revenue", "$ 12,517", "$ 13,287", "(6) %"),
        ("Noninterest expense", "7,202", "7,269", "(1)"), ("Return on equity", "54 %", "", "9 %"),
        ("Proceeds from sale of businesses, net of cash sold", "846", "1,065", "4"),
    )  # fmt: skip
    x0, y0, x1, y1 = table.box
    assert (x0 < 60, y0 < 80, x1 > 530, 140 < y1 < 170) == (True, True, False, True)


def test_lines_between_the_heads_and_the_first_row_are_rows(tmp_path: Path) -> None:
    layout = written(
        tmp_path / "a.pdf",
        [
            ("", "2021", "2020"), ("(in millions)",), ("ASSETS",), ("Current assets:",), ("Cash", "785", "805"),
            ("Inventories", "678", "685"), ("Commitments and contingencies (see the notes)",), ("Equity:",),
            ("Shares of a par value that is as small as the law of the country allows, of which 1,500 are authorised",),
            ("and 792 are outstanding, and which may be bought back at the price of the market at any time:",),
            ("Common stock", "8", "9"), ("Accumulated deficit", "(7,306)", "(6,646)"),
        ],
    )  # fmt: skip
    above, below = layout.tables
    assert above.rows == (
        ("", "2021", "2020"), ("(in millions)", "", ""), ("ASSETS", "", ""), ("Current assets:", "", ""),
        ("Cash", "785", "805"), ("Inventories", "678", "685"),
    )  # fmt: skip
    assert below.heads == 1 and below.rows == (
        ("", "2021", "2020"), ("Common stock", "8", "9"), ("Accumulated deficit", "(7,306)", "(6,646)"),
    )  # fmt: skip
    assert above.lines[1] <= below.lines[0] and above.box[3] < below.box[1]


def test_words_stand_where_they_are_drawn(tmp_path: Path) -> None:
    layout = written(tmp_path / "a.pdf", [("Owls hunt at night", "1,204", "")], "Reeds grow in the water.")
    places = {word.text: word.box for word in layout.words}
    with pymupdf.open(tmp_path / "a.pdf") as document:
        for text in ("Owls", "1,204", "water."):
            box = places[text]
            [found] = document[0].search_for(text)
            assert abs(found.x0 - box[0]) < 2 and abs(found.x1 - box[2]) < 2
            assert box[1] <= (found.y0 + found.y1) / 2 <= box[3]


def test_figures_are_pictures_and_what_is_drawn_together(tmp_path: Path) -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((50, 60), "A chart of the catch")
        for at in range(4):
            page.draw_rect((100 + 30 * at, 200 - 20 * at, 120 + 30 * at, 260), color=(0, 0, 1), fill=(0, 0, 1))
        made.save(tmp_path / "chart.pdf")
    assert laid_out(tmp_path / "chart.pdf").figures == ((100.0, 140.0, 210.0, 260.0),)
