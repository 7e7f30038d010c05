"""Headings with bare numbers are notes only where the notes are: a report numbers its items, too."""

from __future__ import annotations

import pytest

from hybrid_core.types.documents import Section
from retrievers.query.references import references
from retrievers.references.locations import sections_called

ITEMS = [("1 Business", 3), ("7 Management's Discussion", 27), ("8 Financial Statements", 40)]
NOTES = [("1. Summary of Policies", 46), ("7. Borrowings", 60)]


def tree(*headings: tuple[str, int], level: int = 1) -> list[Section]:
    pages = [page for _, page in headings] + [100]
    return [
        Section(f"{number + 1:04}", None, level, title, page, max(page, pages[number + 1] - 1))
        for number, (title, page) in enumerate(headings)
    ]


@pytest.mark.parametrize("head", ["Notes to Consolidated Financial Statements", "NOTES TO THE ACCOUNTS", "Notes"])
@pytest.mark.parametrize(("written", "page"), [("Note 7", 60), ("Notes 1", 46)])
def test_a_note_is_among_the_notes(head: str, written: str, page: int) -> None:
    sections = tree(*ITEMS, (head, 45), *NOTES, ("9 Changes in Accountants", 80))
    [reference] = references(f"see {written} for it")
    assert sections_called(reference, sections)[0].page == page


@pytest.mark.parametrize("written", ["Note 9", "Note 1"])
def test_an_item_before_the_notes_is_no_note(written: str) -> None:
    sections = tree(("1 Business", 3), ("9 Changes", 20), ("Notes to the Accounts", 45), ("7. Borrowings", 60))
    [reference] = references(f"see {written} for it")
    assert sections_called(reference, sections) == []


def test_a_note_is_found_by_number_where_nothing_says_where_notes_are() -> None:
    [reference] = references("see Note 7 for it")
    assert sections_called(reference, tree(*NOTES))[0].page == 60
    [item] = references("see Item 7 for it")
    assert sections_called(item, tree(*ITEMS, ("Notes to the Accounts", 45), *NOTES))[0].page == 27
