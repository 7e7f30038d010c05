"""What a model asks to read, which pages are sent as pictures, which questions name no document."""

from __future__ import annotations

import pytest

from retrievers.answer.showing import Showing, pictured
from retrievers.answer.wishes import Wish, wishes
from retrievers.query.unnamed_document import unnamed_document


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
    assert pictured([plain, chart, None, scan, thin, chart], 3) == [1, 3, 4]
    assert chart.clip == (64, 64, 336, 336) and scan.clip is None and thin.clip is None
    assert Showing(600, 800, figures=((0, 0, 600, 700),)).clip is None, "most of the page is all of it"


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
