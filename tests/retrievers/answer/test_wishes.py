"""What a model asks to read, which pages are sent as pictures, which questions name no document."""

from __future__ import annotations

import pytest

from retrievers.answer.searches import Wish, wishes
from retrievers.answer.sources import Showing, pictured
from retrievers.query.references import unnamed_document


def test_lines_that_ask_to_read_are_told_from_answers() -> None:
    assert wishes("READ D1 pages 12, 30-32\nread D2 section 0007\n- READ source 4") == (
        Wish("READ D1 pages 12, 30-32", 1, (12, 30, 31, 32)),
        Wish("read D2 section 0007", 2, node_id="0007"),
        Wish("- READ source 4", source=4),
    )
    assert wishes("Readers were 5.") == wishes("READ the report.") == wishes("Sales rose.\nREAD D1 page 2") == ()


def test_the_first_pages_whose_text_lacks_what_they_show_are_pictured() -> None:
    plain = Showing(600, 800)
    chart = Showing(600, 800, figures=((100, 100, 300, 300),))
    scan = Showing(600, 800, scan=True)
    thin = Showing(600, 800, marks=((10, 100, 90, 110), (10, 120, 60, 130)))
    assert pictured([plain, chart, None, scan, thin, chart], ["a"] * 6, 3) == [(1,), (3,), (4,)]
    assert chart.clip == (64, 64, 336, 336) and scan.clip is None and thin.clip is None
    assert Showing(600, 800, figures=((0, 0, 600, 700),)).clip is None, "most of the page is all of it"


def test_the_last_picture_has_what_is_left_of_the_slides() -> None:
    slide, leaf, plain = Showing(768, 576, scan=True), Showing(576, 768, scan=True), Showing(768, 576)
    assert pictured([slide, plain, slide, slide, slide, slide], ["a"] * 6, 3) == [(0,), (2,), (3, 4, 5)]
    assert pictured([slide] * 9, ["a"] * 9, 2) == [(0,), (1, 2, 3, 4)], "no more than can be read"
    assert pictured([slide] * 4, ["a", "a", "a", "b"], 3) == [(0,), (1,), (2,)], "of one document"
    assert pictured([leaf] * 4, ["a"] * 4, 3) == [(0,), (1,), (2,)], "the small print of a page would be lost"
    assert pictured([slide, None], ["a", "a"], 3) == [(0,)] and pictured([slide], ["a"], 0) == []


@pytest.mark.parametrize(
    ("question", "names_none"),
    [
        ("What is shown on page 3 of this document?", True),
        ("What is in Table 4 of the document?", True),
        ("第3页写了什么？", True),
        ("What does this report say about Latino economic mobility?", False),
        ("What was Boeing's revenue on page 3?", False),
        ("What are net sales?", False),
    ],
)
def test_questions_that_could_mean_any_document(question: str, names_none: bool) -> None:
    assert unnamed_document(question) is names_none
