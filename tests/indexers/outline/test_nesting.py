"""Which heading stands below which where all of them look the same."""

from __future__ import annotations

from indexers.outline.tree import TreeLimits, build_tree
from tests.indexers.outline.outline_pages import Sheet, document, outline_of


def headings(*sheets: Sheet) -> list[tuple[int, str]]:
    """Levels and titles; the document begins with a title of its own."""
    found = outline_of(build_tree(document([Sheet(1).head("Yearbook", 24).prose(8), *sheets]), TreeLimits(50)))
    return [(level, title) for level, title, _ in found if title != "Yearbook"]


def stacked(sheet: Sheet, title: str) -> Sheet:
    """A heading that the next one stands right below."""
    return sheet.row(title, bold=True, step=20)


def bold(sheet: Sheet, title: str) -> Sheet:
    return sheet.row(title, bold=True, step=24).prose(6)


def test_a_heading_without_text_holds_those_that_follow() -> None:
    first = bold(bold(stacked(bold(Sheet(2), "Keepers"), "Risks of Yards"), "Ropes May Break"), "Gates May Close")
    second = bold(bold(stacked(Sheet(3), "Risks of Ships"), "Sails May Tear"), "Anchors May Slip")
    assert headings(first, second) == [
        (1, "Keepers"), (1, "Risks of Yards"), (2, "Ropes May Break"), (2, "Gates May Close"),
        (1, "Risks of Ships"), (2, "Sails May Tear"), (2, "Anchors May Slip"),
    ]  # fmt: skip


def test_a_name_above_every_heading_holds_none() -> None:
    first = bold(bold(Sheet(2), "Keepers").row("Northern Yards", bold=True, step=20), "Income")
    last = bold(bold(Sheet(4), "Ships").row("Northern Yards", bold=True, step=20), "Assets")
    assert {level for level, _ in headings(first, Sheet(3).prose(9), last)} == {1}


def test_numbered_notes_stand_below_the_heading_that_names_them() -> None:
    sheet = bold(bold(bold(Sheet(2), "Balance Sheets"), "Notes to Balance Sheets"), "Note 1. Ropes")
    last = bold(bold(Sheet(3), "Note 2. Gates"), "Note 3. Sails")
    assert headings(sheet, last) == [
        (1, "Balance Sheets"), (1, "Notes to Balance Sheets"), (2, "Note 1. Ropes"), (2, "Note 2. Gates"),
        (2, "Note 3. Sails"),
    ]  # fmt: skip


def test_what_comes_twice_in_a_chapter_stands_below_its_sections() -> None:
    sheets = []
    for number, parts in enumerate((("Ropes", "Gates"), ("Sails", "Anchors")), 1):
        sheet = Sheet(number + 1).head(f"Chapter {number} Stores", 18).prose(3)
        for part in parts:
            sheet = bold(bold(bold(sheet, part), "Quarterly results"), "Yearly results")
        sheets.append(sheet)
    levels = {title: level for level, title in headings(*sheets)}
    assert levels["Quarterly results"] == levels["Yearly results"] == levels["Ropes"] + 1 == levels["Sails"] + 1


def test_the_contents_tell_where_one_heading_ends_and_another_begins() -> None:
    titles = ["Balance Sheets", "Notes to Balance Sheets", "Summary of Yards", "Report of the Keepers"]
    contents = Sheet(2).head("Contents", 14)
    for number, title in enumerate(titles, 3):
        contents.entry(title, str(number))
    pages = [
        bold(Sheet(3), titles[0]), bold(Sheet(4).row(titles[1], bold=True, step=14), titles[2]), Sheet(5).prose(6),
        bold(Sheet(6), titles[3]),
    ]  # fmt: skip
    assert {title for _, title in headings(contents, *pages)} >= {*titles}
