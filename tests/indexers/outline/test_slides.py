"""Titles of slides."""

from __future__ import annotations

import pytest

from hybrid_core.types.documents import Line, ParsedDocument, ParsedPage
from indexers.outline.tree import build_tree
from tests.indexers.outline.outline_pages import filler, outline_of


def slide(number: int, *lines: tuple[str, float, float]) -> ParsedPage:
    """A page of 768 × 576 points with (text, top, height)."""
    set_lines = tuple(
        Line(text, 60, top, 60 + 0.5 * height * len(text), top + height, 20, False, False, "")
        for text, top, height in lines
    )
    return ParsedPage(number, str(number), 768, 576, set_lines, 0)


def titles(*pages: ParsedPage) -> list[tuple[int, str, int]]:
    return outline_of(build_tree(ParsedDocument("pdf", pages, (), {})))


COVER = slide(1, ("Yards and Their Keepers", 200, 60))


def test_every_slide_has_its_title_as_a_heading() -> None:
    found = titles(
        COVER,
        slide(2, ("Who the Keepers Are", 40, 50), (filler(1, 6), 200, 24), (filler(2, 6), 240, 24)),
        slide(3, ("What They Do", 40, 50), (filler(3, 6), 200, 24)),
    )
    assert found == [(1, "Who the Keepers Are", 2), (1, "What They Do", 3)]


def test_a_title_takes_its_second_line_and_what_dots_announce() -> None:
    found = titles(
        COVER,
        slide(2, ("Steps for Keeping", 40, 50), ("Any Yard", 100, 48), (filler(1, 6), 300, 24)),
        slide(3, ("Keeping a yard means...", 40, 50), ("mending ropes", 300, 40), (filler(3, 6), 420, 24)),
    )
    assert [title for _, title, _ in found] == ["Steps for Keeping Any Yard", "Keeping a yard means... mending ropes"]


def test_slides_with_nothing_but_a_title_in_the_middle_begin_parts() -> None:
    found = titles(
        COVER,
        slide(2, ("Ropes", 260, 60)),
        slide(3, ("Their Length", 40, 50), (filler(1, 6), 200, 24)),
        slide(4, ("Gates", 260, 60)),
        slide(5, ("Their Width", 40, 50), (filler(2, 6), 200, 24)),
    )
    assert [(level, title) for level, title, _ in found] == [
        (1, "Ropes"), (2, "Their Length"), (1, "Gates"), (2, "Their Width")
    ]  # fmt: skip


def test_one_slide_with_nothing_but_a_title_parts_nothing() -> None:
    found = titles(
        COVER,
        slide(2, ("Ropes", 260, 60)),
        *(
            slide(n, (title, 40, 50), (filler(n, 6), 200, 24))
            for n, title in enumerate(("Length", "Gates", "Width"), 3)
        ),
    )
    assert [level for level, *_ in found] == [1, 1, 1, 1]


def test_titles_that_begin_alike_with_slides_between_begin_parts() -> None:
    said = (
        "What a yard needs: ropes",
        "Length",
        "What a yard needs: gates",
        "Width",
        "What a yard needs: lamps",
        "Summary",
    )
    found = titles(COVER, *(slide(n, (title, 40, 50), (filler(n, 6), 200, 24)) for n, title in enumerate(said, 2)))
    assert [level for level, *_ in found] == [1, 2, 1, 2, 1, 1]
    beside = sorted(said)  # one behind the other they are a list
    found = titles(COVER, *(slide(n, (title, 40, 50), (filler(n, 6), 200, 24)) for n, title in enumerate(beside, 2)))
    assert {level for level, *_ in found} == {1}


def test_a_title_carried_over_slides_stands_once_and_rubbish_never() -> None:
    found = titles(
        COVER,
        *(slide(n, ("Census of Yards", 40, 50), (filler(n, 6), 200, 24)) for n in (2, 3, 4)),
        slide(5, ("== o", 40, 50), ("12%", 200, 24)),
        slide(6, ("https://yards.example/a", 40, 50)),
    )
    assert found == [(1, "Census of Yards", 2)]


def test_wide_pages_full_of_text_are_no_slides() -> None:
    page = tuple((filler(n, 12), 40 + 20 * n, 12.0) for n in range(20))
    assert titles(*(slide(n, *page) for n in range(1, 5))) == []


@pytest.mark.parametrize("again", ["What They Do (continued)", "What They Do (cont’d)", "What They Do – Continued"])
def test_a_slide_that_carries_a_title_on_begins_no_section(again: str) -> None:
    sections = titles(
        COVER,
        slide(2, ("Who the Keepers Are", 40, 50), (filler(1, 6), 200, 24)),
        slide(3, ("What They Do", 40, 50), (filler(2, 6), 200, 24)),
        slide(4, (again, 40, 50), (filler(3, 6), 200, 24)),
    )
    assert [title for _, title, _ in sections] == ["Who the Keepers Are", "What They Do"]


@pytest.mark.parametrize("counted", ["({}/3)", "[{} of 3]", "({} von 3)"])
def test_slides_that_count_one_title_are_one_section(counted: str) -> None:
    pages = [
        slide(at + 1, (f"What They Do {counted.format(at)}", 40, 50), (filler(at, 6), 200, 24)) for at in (1, 2, 3)
    ]
    sections = titles(COVER, *pages, slide(5, ("Their Wages (2019)", 40, 50), (filler(9, 6), 200, 24)))
    assert [title for _, title, _ in sections] == [f"What They Do {counted.format(1)}", "Their Wages (2019)"]
