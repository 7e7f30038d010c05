"""Trees against outlines that people wrote."""

from __future__ import annotations

import pytest

from eval.records.questions import HumanOutline
from eval.runs.trees import score
from hybrid_core.types.documents import Section


def tree(*rows: tuple[str, int]) -> list[Section]:
    return [
        Section(f"{at:04d}", None, 1, title, page, page, 0, None, 0.0, "layout", synthetic=False)
        for at, (title, page) in enumerate(rows, 1)
    ]


ROWS = (1, "Yards", 1), (1, "Ropes", 2), (1, "Gates in the picture", 3)


def test_optional_and_doubtful_headings_count_only_where_judgement_is_strict() -> None:
    outline = HumanOutline(ROWS, optional=((1, "Wages", 2),), doubtful=(ROWS[2],))
    found = score(outline, tree(("Yards", 1), ("Ropes", 2), ("Wages", 2)))
    assert (found.precision, found.recall, found.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert found.tolerant == 1.0


def test_a_doubtful_heading_that_is_found_is_right() -> None:
    outline = HumanOutline(ROWS, doubtful=(ROWS[2],))
    found = score(outline, tree(("Yards", 1), ("Ropes", 2), ("Gates in the picture", 3)))
    assert (found.f1, found.tolerant) == (1.0, 1.0)


def test_pages_that_nobody_judged_do_not_count() -> None:
    outline = HumanOutline(ROWS[:2], first=1, last=2)
    found = score(outline, tree(("Yards", 1), ("Ropes", 2), ("Wages", 7)))
    assert (found.precision, found.tolerant) == (1.0, 1.0)
