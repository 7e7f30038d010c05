"""How well pages can answer: the formula by hand."""

from __future__ import annotations

import math

import pytest

from hybrid_core.term_counts import TermCounts
from hybrid_core.text import term_hash
from retrievers.content import Content
from retrievers.evidence import judge
from retrievers.route import Routing


def content(*pages: dict[str, int]) -> Content:
    counts = TermCounts.build([{term_hash(t): n for t, n in page.items()} for page in pages], [10] * len(pages))
    return Content("c", counts, counts, (), ((),))


def test_by_hand() -> None:
    """On three pages of equal length: one mention counts 1 / 1.5, two 2 / 2.5, a page beside it 0.4."""
    book = content({"weir": 1}, {}, {"lock": 2, "weir": 1})
    rare, common, unknown = (1 + math.log1p((3 - n + 0.5) / (n + 0.5)) for n in (1, 2, 0))
    page = {number: ("d", book, number) for number in (1, 2, 3)}
    assert judge(["weir"], [page[1]], Routing()).score == pytest.approx(1 / 1.5, abs=1e-4)
    assert judge(["weir"], [page[2]], Routing()).score == pytest.approx(0.4)
    both = (2 / 2.5 * rare + 1 / 1.5 * common) / (rare + common)
    assert judge(["lock", "weir", "weir"], [page[1], page[3], page[2]], Routing()).score == pytest.approx(
        both, abs=1e-4
    )
    half = judge(["weir", "zyzzyva"], [page[1]], Routing())
    assert half.score == pytest.approx(common / 1.5 / (common + unknown), abs=1e-4) and half.level == "none"


def test_a_document_that_the_question_does_not_name_counts_less() -> None:
    book = content({"weir": 9})
    routing = Routing(scores={"named": 0.8, "half": 0.4}, organisations=("Weir Trust",))
    named, half, other = (judge(["weir"], [(doc, book, 1)], routing) for doc in ("named", "half", "other"))
    assert (half.score / named.score, other.score / named.score) == pytest.approx((0.7, 0.4), abs=1e-3)
    assert (named.level, half.level, other.level) == ("strong", "strong", "weak")
    unnamed = Routing(scores=routing.scores)
    assert judge(["weir"], [("other", book, 1)], unnamed).score == named.score


def test_nothing_found_or_asked_is_no_evidence() -> None:
    assert judge(["weir"], [], Routing()).level == judge([], [("d", content({}), 1)], Routing()).level == "none"
