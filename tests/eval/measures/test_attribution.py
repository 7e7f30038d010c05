"""Every stage that can lose a question, constructed one by one."""

from __future__ import annotations

import pytest

from eval.measures.retrieval import losses, stage
from eval.records.questions import RankedPage
from eval.records.runs import STAGES, GoldPlace, QuestionRecord
from hybrid_core.types.results import Trace

GOLD = [GoldPlace("a.pdf", 7, "0003")]
IDS = {"a.pdf": "A", "b.pdf": "B"}
OTHER = tuple(RankedPage("a.pdf", page, 1.0) for page in (1, 2, 3, 4, 5))


def trace(documents: str = "A", sections: str = "", opened: str = "", read: tuple[int, ...] = ()) -> Trace:
    return Trace(
        coarse=(),
        documents=tuple(documents),
        sections=tuple(("A", node) for node in sections.split()),
        opened=tuple(("A", node) for node in opened.split()),
        read=tuple(("A", page) for page in read),
    )


def ends(found: Trace | None, pages: tuple[RankedPage, ...] = OTHER, gold: list[GoldPlace] = GOLD) -> str:
    return stage(gold, pages, found, IDS, lambda _, page: ["0003", "0004"] if page == 7 else ["0009"])


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("wrong document", trace("B")),
        ("section not a candidate", trace(sections="0001 0002")),
        ("section not chosen", trace(sections="0001 0004", opened="0001")),
        ("wrong page", trace(sections="0001 0003", opened="0001 0003", read=(6, 8))),
        ("not ranked", trace(sections="0003", opened="0003", read=(6, 7))),
    ],
)
def test_a_miss_is_laid_at_the_stage_that_lost_it(expected: str, found: Trace) -> None:
    assert ends(found) == expected


def test_a_hit_is_among_the_first_five() -> None:
    page = RankedPage("a.pdf", 7, 0.1)
    read = trace(sections="0003", opened="0003", read=(7,))
    assert ends(read, (*OTHER[:4], page)) == "hit"
    assert ends(read, (*OTHER, page)) == "not ranked"
    assert ends(None, (page,)) == "hit"
    assert ends(None, (RankedPage("a.pdf", 8, 1.0),), [GoldPlace("a.pdf", 7, also=(8,))]) == "hit"


def test_without_a_trace_or_a_place_nothing_is_claimed() -> None:
    assert ends(None) == ""
    assert ends(trace(), gold=[GoldPlace("a.pdf", lost=True)]) == "no gold placed"


def test_the_gold_that_came_furthest_counts() -> None:
    gold = [GoldPlace("b.pdf", 1), *GOLD]
    assert ends(trace(sections="0003"), gold=gold) == "section not chosen"


def test_the_table_says_what_each_stage_leaves() -> None:
    stages = ["hit", "hit", "wrong document", "not ranked", "not ranked", "wrong page", "hit", "no gold placed", "", ""]
    rows = losses([QuestionRecord(str(at), "?", stage=name) for at, name in enumerate(stages)])
    assert [row.stage for row in rows] == list(STAGES)
    counts = {row.stage: (row.count, row.ceiling) for row in rows}
    assert counts["no gold placed"] == (1, 7 / 8)
    assert counts["failed"] == (0, 7 / 8)
    assert counts["wrong document"] == (1, 6 / 8)
    assert counts["section not chosen"] == (0, 6 / 8)
    assert counts["wrong page"] == (1, 5 / 8)
    assert counts["not ranked"] == (2, 3 / 8)
    assert counts["hit"] == (3, 3 / 8)
    assert losses([QuestionRecord("1", "?")]) == ()
