"""Bookmarks: trusted where they lead to their titles, ignored where they do not."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.documents import Bookmark
from indexers.outline.heading import from_bookmarks
from indexers.outline.tree import build_tree
from indexers.outline.view import view
from tests.indexers.outline.outline_pages import Sheet, check, document, outline_of, save, text_of

_TITLES = ("Ropes and Cables", "Crates", "The Scales", "Night Watch")


def _sheets() -> list[Sheet]:
    return [Sheet(i).head(title).prose(12) for i, title in enumerate(_TITLES, 1)]


def test_titles_are_located_on_their_pages() -> None:
    sheets = [Sheet(1).head("Ropes and Cables").prose(6).head("Crates").prose(6), Sheet(2).head("The Scales").prose(8)]
    marks = [
        Bookmark(1, "Ropes and cables", 1, None),
        Bookmark(2, "Crates", 1, None),
        Bookmark(1, "The Scales", 1, None),
    ]
    found = from_bookmarks(marks, view(document(sheets).pages))
    assert [(h.title, h.page, h.level) for h in found] == [
        ("Ropes and cables", 1, 1),
        ("Crates", 1, 2),
        ("The Scales", 2, 1),  # the bookmark names the page before
    ]
    tree = build_tree(document(sheets, marks))
    pages = document(sheets).pages
    assert text_of(tree[1], pages).startswith("Crates\n")
    assert "Crates" not in text_of(tree[0], pages).split("\nCrates")[0]


def test_out_of_range_targets_are_dropped_and_the_rest_kept() -> None:
    marks = [Bookmark(1, title, i, None) for i, title in enumerate(_TITLES, 1)] + [Bookmark(1, "Lost", 0, None)]
    found = from_bookmarks(marks, view(document(_sheets()).pages))
    assert [h.title for h in found] == list(_TITLES)


def test_bookmarks_that_go_back_are_dropped() -> None:
    marks = [Bookmark(1, title, i, None) for i, title in enumerate(_TITLES, 1)]
    marks.insert(3, Bookmark(1, "Ropes and Cables", 1, None))
    found = from_bookmarks(marks, view(document(_sheets()).pages))
    assert [h.page for h in found] == [1, 2, 3, 4]


def test_bookmarks_whose_titles_stand_nowhere_are_not_trusted() -> None:
    sheets = [Sheet(i).head(f"{title} of the yard").prose(12) for i, title in enumerate(_TITLES, 1)]
    sheets += [Sheet(i).prose(20) for i in range(5, 9)]
    marks = [Bookmark(1, f"scan{i}_final", i, None) for i in range(1, 9)]
    assert from_bookmarks(marks, view(document(sheets).pages)) == []
    assert outline_of(build_tree(document(sheets, marks)))[0] == (1, "Ropes and Cables of the yard", 1)


def test_page_names_are_no_titles() -> None:
    marks = [Bookmark(1, f"Page {i}", i, None) for i in range(1, 5)]
    assert from_bookmarks(marks, view(document(_sheets()).pages)) == []


def test_headings_finer_than_the_bookmarks_are_grafted_below_them() -> None:
    sheets = []
    for i, title in enumerate(_TITLES, 1):
        sheet = Sheet(i).head(title, 18)
        for part in ("Weights", "Measures", "Storage"):
            sheet.prose(6).head(f"{part} of {title}", 12)
        sheets.append(sheet.prose(6))
    marks = [Bookmark(1, title, i, None) for i, title in enumerate(_TITLES, 1)]
    tree = build_tree(document(sheets, marks))
    assert outline_of(tree)[:5] == [
        (1, "Ropes and Cables", 1),
        (2, "Weights of Ropes and Cables", 1),
        (2, "Measures of Ropes and Cables", 1),
        (2, "Storage of Ropes and Cables", 1),
        (1, "Crates", 2),
    ]
    assert {s.source for s in tree} == {"bookmark", "layout"}


@pytest.mark.slow
def test_ten_thousand_bookmarks_nested_deeply(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    for number in range(1, 21):
        pdf.new_page().insert_text((72, 90), f"Entry on page {number}", fontsize=16)
    toc = [[min(i + 1, 200), f"Entry on page {i // 500 + 1}", i // 500 + 1] for i in range(10_000)]
    pdf.set_toc(toc)
    parsed = save(pdf, tmp_path / "many.pdf")
    assert len(parsed.bookmarks) == 10_000
    tree = build_tree(parsed)
    check(tree, parsed.pages)
    assert {s.start_page for s in tree} == set(range(1, 21))
    assert max(s.level for s in tree) <= 12


def test_bookmarks_that_name_their_pages_in_other_words_are_trusted() -> None:
    sheets = [Sheet(i).head(f"The {title} of the Whole Yard", 14).prose(20) for i, title in enumerate(_TITLES, 1)]
    marks = [Bookmark(1, f"A-{i} - {title}, yard", i, 10.0) for i, title in enumerate(_TITLES, 1)]
    assert [h.title for h in from_bookmarks(marks, view(document(sheets).pages))] == [mark.title for mark in marks]
