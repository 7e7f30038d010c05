"""Answers taken apart and compared with their sources, and sources cut to size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.llm.budget import estimate, shares
from hybrid_core.types.results import PageFound, Receipt, SectionFound
from retrievers.answer.citations import check, split
from retrievers.answer.sources import sources
from retrievers.explain.passages import PassageTerms, excerpt

NOT_DONE = "the calculation contains more than numbers and signs, so it could not be checked"
PAGES = {
    1: "Net sales were $1,577.0 million in fiscal 2018.\n"
    "Purchases of property, plant and\nequipment (1,577) rose 4.8 %.",
    2: "The company leases an office in Ghent. 公司2023年营业收入为12亿元。",
}


def why(answer: str, question: str = "") -> list[str]:
    return [claim.why for claim in check(answer, PAGES, question)[1]]


@pytest.mark.parametrize(
    "answer",
    [
        "Net sales were $1,577 million [[source:1]].",
        "Net sales were $1.577 billion in 2018 [[source:1]].",
        "They were $1.58 billion. [[source:1]]",
        "The page says “purchases of property, plant and equipment” [[source:1]].",
        "Spending rose 4.8% [[source: 2, 1]].",
        "Inc. and Co. leases an office in Ghent [source:2].",
        "营业收入为12亿元[[source:2]]。",
        "In fiscal 2031 nothing else was leased by the company in Ghent [[source:2]].",
    ],
)
def test_what_the_cited_page_holds_is_supported(answer: str) -> None:
    assert why(answer, "What happened in fiscal 2031?") == [""]


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("Net sales were $1,677 million [[source:1]].", "1677 is not on the cited page"),
        ("Net sales were $1,577 million [[source:2]].", "1577 is not on the cited page"),
        ("Spending rose 12 and 13 percent [[source:1]].", "12, 13 are not on the cited page"),
        (
            "It “sold all of its property” last year [[source:1]].",
            "'sold all of its property' is not on the cited page",
        ),
        (
            "Bananas flourish underneath volcanic archipelagos [[source:1]].",
            "few words of the sentence are on the cited page",
        ),
        ("Net sales were $1,577 million.", "the sentence cites no source"),
        ("增长了15%[[source:2]]。", "15 is not on the cited page"),
    ],
)
def test_what_it_does_not_hold_is_marked(answer: str, missing: str) -> None:
    assert why(answer) == [missing]


def test_citations_of_sources_that_were_not_given_are_taken_out() -> None:
    text, claims, dropped, *_ = check(
        "Sales rose 4.8% [[source:1]][[source:9]]. It leases in Ghent [[source:7]].", PAGES, ""
    )
    assert text == "Sales rose 4.8% [[source:1]]. It leases in Ghent."
    assert dropped == ("9", "7")
    assert [(claim.sources, claim.supported) for claim in claims] == [((1,), True), ((), False)]


def test_sentences_keep_the_citations_that_follow_them() -> None:
    answer = (
        "The reasons are:\n- 3M Co. grew to $1.5 billion. [[source:1]] It shrank\nlater [[source:2]].\n"
        "2. The U.S. unit closed [[source:1]]."
    )
    assert split(answer) == [
        "3M Co. grew to $1.5 billion. [[source:1]]",
        "It shrank later [[source:2]].",
        "The U.S. unit closed [[source:1]].",
    ]


def test_a_long_page_keeps_the_lines_that_match_wherever_they_stand() -> None:
    lines = [f"line {number} of this page" for number in range(400)]
    lines[250], lines[20], lines[390] = "total revenue by segment", "revenue 2023 2022", "segment of the coast"
    text = "\n".join(lines)
    kept = excerpt(text, PassageTerms({"revenu": 2.0, "segment": 1.0}), 340)
    assert estimate(kept) <= 340 and kept.startswith("…") and kept.endswith("…\n")
    assert [line for line in kept.split("\n") if line in (lines[20], lines[250], lines[390])] == [
        lines[20], lines[250], lines[390]
    ]  # fmt: skip
    around = kept.split("…")[2]
    assert "line 249 of this page\n" in around and "line 254 of this page\n" in around
    assert all(line in (*lines, "…", "") for line in kept.split("\n"))
    assert excerpt(text, PassageTerms({}), 50).startswith("line 0 of this page\n")
    assert excerpt("short", PassageTerms({}), 50) == "short"


@given(st.text(), st.text(min_size=1, max_size=30), st.integers(1, 60))
def test_what_is_kept_of_a_page_stands_there_and_fits(text: str, word: str, tokens: int) -> None:
    kept = excerpt(text, PassageTerms({word: 1.0, "a": 0.5}), tokens)
    assert estimate(kept) <= tokens and all(part.strip("…\n") in text for part in kept.split("…\n"))


def found(number: int, reasoning: float | None = None) -> PageFound:
    section = SectionFound("0001", "All", ("All",), 1, 9, 0.0)
    receipt = Receipt({"harbour": 1.0}, None, None, 0, 0, 0, 0, 0, "", (), 0, "", reasoning=reasoning)
    return PageFound("d", "a.pdf", number, "", 1.0, "", section, receipt)


def test_long_pages_are_cut_those_that_were_named_and_then_the_best_last() -> None:
    page = "\n".join(["The quay is long and was built of stone."] * 150 + ["The harbour fee is 12 crowns."])
    long = [found(number, 0.5 if number == 3 else None) for number in range(1, 5)]
    given = sources("How high is the harbour fee?", long, [page] * 4, 8000)
    sizes = [estimate(source.text) for source in given]
    assert sizes[2] > sizes[0] > sizes[1] and sizes[2] <= 900 and sum(sizes) <= 900 + 600 + 2 * 350
    assert all(source.cut and "The harbour fee is 12 crowns." in source.text for source in given)
    asked = sources("How high is the harbour fee?", long, [page] * 4, 8000, {2})
    assert not asked[1].cut and asked[2].cut
    short = sources("How high is the harbour fee?", long, ["The harbour fee is 12 crowns."] * 4, 8000)
    assert not any(source.cut for source in short)
    little = sources("How high is the harbour fee?", long, [page] * 4, 500)
    assert [bool(source.text) for source in little] == [True, False, True, False]
    assert sum(estimate(source.text) for source in little) <= 500


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(0, 2000))
def test_shares_use_the_budget_and_nobody_gets_more_than_it_wants(lengths: list[int], budget: int) -> None:
    given_ = shares(lengths, budget)
    assert all(0 <= got <= wanted for got, wanted in zip(given_, lengths, strict=True))
    assert sum(given_) <= budget and sum(given_) >= min(budget, sum(lengths)) - len(lengths)


WORKED = """Sales rose by 37.8 percent [[source:1]], or half a million more than one would think.

**Definition:** growth is the change by the value before [[source: 2]].
Calculation: ($2,173 - 1577.0) / $1,577.0 = 37.8% [[source:1]]"""


def test_what_an_answer_goes_by_and_calculated_is_told_apart_and_done_again() -> None:
    pages = PAGES | {1: PAGES[1] + "\nNet sales were 2,173 in fiscal 2019."}
    checked = check(WORKED, pages, "")
    assert checked.definition == "growth is the change by the value before"
    (one,) = checked.calculations
    assert (one.text, one.result, one.sources) == ("($2,173 - 1577.0) / $1,577.0 = 37.8%", "37.8%", (1,))
    assert one.right and one.why == "" and "Calculation: (" in checked.text
    (claim,) = checked.claims
    assert claim.supported and claim.sources == (1,), "what a right calculation comes to need not stand there"
    wrong = check(WORKED.replace("37.8", "38.7"), pages, "")
    assert wrong.calculations[0].why == "the correct result is 37.7933%" and not wrong.claims[0].supported


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("(1,577 + 4.8 x 2) / 2 = 793.3 [[source:1]]", ""),
        ("1577.0 − 4.8 ≈ 1,572 [[source:1]]", ""),
        ("1,577 million / 2 = $0.79 billion [[source:1]]", ""),
        ("(4.8 / 1577) ^ (1 / 3) - 1 = -85.5% [[source:1]]", ""),
        ("1577.0 / 4.8 = 328.54 [[source:1]] (rounded)", ""),
        ("1577.0 / 4.8 = 412 [[source:1]]", "the correct result is 328.542"),
        ("1577.0 / 4.8 = 329.6 [[source:1]]", "the correct result is 328.542"),
        ("1,600.5 - 4.8 = 1,595.7 [[source:1]]", "1600.5 is not on the cited page"),
        ("1,577 - 1,577 = 0", "the sentence cites no source"),
        ("1577.0 / (2 - 2) = 4 [[source:1]]", NOT_DONE),
        ("sales / assets = 4 [[source:1]]", NOT_DONE),
        ("__import__('os').getpid() = 4 [[source:1]]", NOT_DONE),
        ("9 ** 9 ** 9 ** 9 = 4 [[source:1]]", NOT_DONE),
    ],
)
def test_calculations_are_done_again(said: str, why: str) -> None:
    (one,) = check(f"It is so.\nCalculation: {said}", PAGES, "").calculations
    assert (one.why, one.right) == (why, not why)


def test_what_may_stand_in_a_picture_that_was_sent_is_neither_borne_out_nor_wrong() -> None:
    answer = (
        "It rose to 9,215 [[source:1]]. It fell to 8,007 [[source:2]].\nCalculation: 9,215 - 4.8 = 9,210.2 [[source:1]]"
    )
    checked = check(answer, PAGES, "", pictured={1})
    assert [(claim.supported, claim.pictured) for claim in checked.claims] == [(False, True), (False, False)]
    assert "the model also saw a picture of the page, with which the claim was not compared" in checked.claims[0].why
    assert not checked.calculations[0].right and "a picture of the page" in checked.calculations[0].why


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("sum(1577, 1577) = 3154 [[source:1]]", ""),
        ("average(1577, 1577.0) = 1,577 [[source:1]]", ""),
        ("max(1577, 4.8) - min(1577, 4.8) = 1572.2 [[source:1]]", ""),
        ("sum(1577, 1577) = 3157 [[source:1]]", "the correct result is 3154"),
        ("sum(1577, 9999) = 11576 [[source:1]]", "9999 is not on the cited page"),
        ("eval(1577) = 1577 [[source:1]]", NOT_DONE),
        ("sum() = 0 [[source:1]]", NOT_DONE),
        ("sum(__import__) = 0 [[source:1]]", NOT_DONE),
    ],
)
def test_sums_and_averages_are_done_again_and_nothing_else_is_run(said: str, why: str) -> None:
    (one,) = check(f"It is so.\nCalculation: {said}", PAGES, "").calculations
    assert one.why == why and one.right == (not why)


TABLE = ["Segment  2023  2022", *(f"Region {letter}  {ord(letter)}  {ord(letter) + 7}" for letter in "ABCDEFGHIJ")]
PROSE = [f"The report speaks at length of matter {number} and of nothing else." for number in range(60)]


@pytest.mark.parametrize("at", [0, 20, 60])
@pytest.mark.parametrize("tokens", [200, 320])
def test_a_table_that_fits_is_never_cut(at: int, tokens: int) -> None:
    text = "\n".join([*PROSE[:at], "Sales by region:", *TABLE, "", *PROSE[at:]])
    kept = excerpt(text, PassageTerms({"region": 1.0, "f": 2.0}), tokens)
    assert estimate(kept) <= tokens
    assert all(row in kept for row in TABLE), "the row that matches, its neighbours and the heads of the columns"


def test_a_table_beside_what_matches_is_whole_or_left_out() -> None:
    text = "\n".join([*PROSE[:9], "The harbour fee is 12 crowns.", "Sales by region:", *TABLE, *PROSE[9:]])
    for tokens in range(60, 400, 20):
        kept = excerpt(text, PassageTerms({"harbour": 1.0, "fee": 1.0}), tokens)
        shown = [row for row in TABLE if row in kept]
        assert shown in ([], TABLE) and "harbour fee is 12" in kept


def test_of_a_table_that_does_not_fit_the_rows_that_match_stay_with_their_heads() -> None:
    long = [TABLE[0], *(f"Place {number}  {number}  {number + 1}" for number in range(100, 400))]
    kept = excerpt("\n".join(long), PassageTerms({"234": 1.0}), 120)
    assert TABLE[0] in kept and "Place 234  234  235" in kept and estimate(kept) <= 120
