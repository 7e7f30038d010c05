"""What lines of one look mostly are decides over each of them."""

from __future__ import annotations

from dataclasses import replace

from hybrid_core.types.documents import Bookmark
from indexers.outline.tree import build_tree
from tests.indexers.outline.outline_pages import Sheet, document, outline_of

STEPS = (
    "1 Put the lantern on the shelf by the gate.",
    "2 Turn the copper wheel until it stops.",
    "3 Touch [WH-1].",
    "4 Close the garden door behind you.",
)


def headings(sheets: list[Sheet], bookmarks: list[Bookmark] | None = None) -> list[tuple[int, str, int]]:
    return outline_of(build_tree(document(sheets, bookmarks or [])))


def test_steps_of_instructions_are_no_headings() -> None:
    sheets = []
    for number, title in enumerate(("Lighting the lamp", "Leaving the yard", "Mending ropes"), 1):
        sheet = Sheet(number).head(title, 14).prose(3)
        for step in STEPS:
            sheet.head(step, 10).prose(2)
        sheets.append(sheet)
    assert [title for _, title, _ in headings(sheets)] == ["Lighting the lamp", "Leaving the yard", "Mending ropes"]


def test_numbered_titles_stay() -> None:
    titles = [f"{n} The {word} of the yard" for n, word in enumerate(("keeper", "ropes", "gate", "ledger"), 1)]
    sheets = [Sheet(n).prose(n).head(title, 10).prose(5) for n, title in enumerate(titles, 1)]
    assert [title for _, title, _ in headings(sheets)] == titles


def test_a_number_that_was_overlooked_does_not_end_a_sequence() -> None:
    sheet = Sheet(1).prose(3)
    for number, name in ((1, "Ropes"), (3, "Gates"), (4, "Ledgers")):
        sheet.row(f"{number}. {name}. The keeper orders what the yard needs in the year.", step=13).prose(4)
    assert [title for _, title, _ in headings([sheet])] == ["1. Ropes", "3. Gates", "4. Ledgers"]


def chart(sheet: Sheet, title: str) -> Sheet:
    sheet.head(title, 12, bold=False)
    for label in ("2019", "2020", "total of all", "52", "48"):
        sheet.lines.append(replace(Sheet(0).row(label).lines[0], y0=sheet.y, y1=sheet.y + 9, size=7.5, font="Sans"))
        sheet.y += 20
    return sheet


def test_titles_of_charts_are_no_headings() -> None:
    sheets = [
        chart(Sheet(n).head(f"Views of yard {n}", 14).prose(8), f"Few like yard {n}").prose(6) for n in range(1, 7)
    ]
    assert [title for _, title, _ in headings(sheets)] == [f"Views of yard {n}" for n in range(1, 7)]


def test_a_sentence_that_announces_a_list_is_no_heading() -> None:
    sheets = [
        Sheet(n).head(f"Wages of week {n}", 14).prose(5).row("Wages decreased driven by:", bold=True).prose(5)
        for n in range(1, 5)
    ]
    assert [title for _, title, _ in headings(sheets)] == [f"Wages of week {n}" for n in range(1, 5)]


def test_bold_sentences_that_always_open_a_text_are_headings() -> None:
    sheets = []
    for number in range(1, 4):
        sheet = Sheet(number).head(f"Risks {number}", 14).prose(4)
        for word in ("market", "river"):
            sheet.y += 8
            sheet.row(f"We depend on the {word} of the year {number}, and it may not last as long as we do.", bold=True)
            sheet.prose(4)
        sheets.append(sheet)
    found = [title for _, title, _ in headings(sheets)]
    assert len(found) == 9
    assert found[1] == "We depend on the market of the year 1, and it may not last as long as we do."


def test_capitals_in_body_type_are_headings_where_most_of_them_are() -> None:
    sheets = []
    for number in range(1, 5):
        sheet = Sheet(number).prose(4)
        sheet.y += 14
        sheet.row(f"THE ORDERS OF YARD {'ABCD'[number - 1] * 3}")
        sheet.y += 8
        sheets.append(sheet.prose(6))
    assert len(headings(sheets)) == 4


def test_nothing_goes_below_the_title_of_a_document_without_a_cover() -> None:
    sheets = [Sheet(1).head("On the keeping of yards", 20).prose(4).head("Beginning", 14).prose(12)]
    sheets += [Sheet(n).head(f"Part of yard {n}", 14).prose(10) for n in range(2, 30)]
    assert [level for level, _, _ in headings(sheets)] == [1] * 30


def test_an_exhibit_begins_anew_and_holds_its_clauses() -> None:
    sheets = [
        Sheet(1).head("Item 1. Orders", 10).prose(8),
        Sheet(2).head("Exhibit 10.1", 10, x=480).prose(2).head("1. Wages", 10).prose(4).head("2. Ropes", 10).prose(4),
    ]
    assert headings(sheets) == [
        (1, "Item 1. Orders", 1),
        (1, "Exhibit 10.1", 2),
        (2, "1. Wages", 2),
        (2, "2. Ropes", 2),
    ]


def test_the_letter_of_an_appendix_is_its_number() -> None:
    sheets = [Sheet(1).head("1 Introduction", 12).prose(9).head("References", 12).prose(9)]
    for number, (letter, word) in enumerate((("A", "Wages"), ("B", "Ledgers"), ("C", "Keepers")), 2):
        sheet = Sheet(number).prose(number).head(f"{letter}  {word} of the yard", 12).prose(4)
        sheets.append(sheet.head(f"{letter}.1 {word} in winter", 12).prose(9))
    assert headings(sheets)[2:4] == [(1, "A Wages of the yard", 2), (2, "A.1 Wages in winter", 2)]


def test_a_page_that_lists_what_follows_gives_no_headings() -> None:
    sheets = [Sheet(n).head(f"Note {n} Orders", 12).prose(12) for n in range(1, 35)]
    listing = Sheet(35).head("Index to the statements", 12)
    for n in range(36, 44):
        listing.entry(f"Note {n} Orders of the yard", str(n))
    sheets.append(listing)
    sheets += [Sheet(n).head(f"Note {n} Orders of the yard", 12).prose(12) for n in range(36, 44)]
    assert not [title for _, title, page in headings(sheets) if page == 35 and title.startswith("Note")]


def test_a_bookmark_that_adds_to_a_title_of_its_page_gives_way_to_it() -> None:
    sheets = [Sheet(n).head(f"Managing the orders of yard {n}", 16).prose(8) for n in range(1, 5)]
    bookmarks = [Bookmark(1, f"Managing the orders of yard {n} - Quick Guide - Yards", n, None) for n in range(1, 5)]
    assert headings(sheets, bookmarks) == [(1, f"Managing the orders of yard {n}", n) for n in range(1, 5)]
