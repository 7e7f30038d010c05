"""The judge without a model, on figures and phrases whose worth is plain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.measures.rules import Figure, asked_scale, figures, judge_by_rules, near, same


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("$1,577.00", [("1577", None, False)]),
        ("$8.70 billion, up 3.4%", [("8.7", 9, False), ("3.4", -2, False)]),
        ("(3.7) and -$473 million", [("3.7", None, True), ("473", 6, True)]),
        ("a range of 3-5 points", [("3", None, False), ("5", None, False)]),
        ("US$400m or 5bn", [("400", 6, False), ("5", 9, False)]),
        ("10-K of Q2 FY2018, 2018, note 2.4.1, a 364-day term, 3M", []),
        ("约12亿元", [("12", 8, False)]),
        ("a 7.9 percentage point rise and 50 basis points", [("7.9", -2, False), ("50", -4, False)]),
    ],
)
def test_numbers_are_read_with_scale_and_sign(text: str, found: list[tuple[str, int | None, bool]]) -> None:
    assert figures(text) == [Figure(*one) for one in found]


def test_the_scale_that_is_asked_for() -> None:
    assert asked_scale("What is the capital expenditure amount (in USD millions)?") == 6
    assert asked_scale("Answer in units of percents and round to one decimal place.") == -2
    assert asked_scale("Answer in USD billions.") == 9
    assert asked_scale("How did sales develop in March?") is None


MILLIONS = "What is the FY2018 capital expenditure amount (in USD millions)?"


@pytest.mark.parametrize(
    ("question", "reference", "answer", "verdict"),
    [
        (MILLIONS, "$1577.00", "It was $1,577 million in fiscal 2018 [[source:1]].", "right"),
        (MILLIONS, "$1577.00", "$1.577 billion", "right"),
        (MILLIONS, "$1577.00", "$1,577", "right"),
        (MILLIONS, "$1577.00", "$1.577 million", "wrong"),
        (MILLIONS, "$1577.00", "about $1,580 million", "partly"),
        (MILLIONS, "$1577.00", "$1,777 million", "wrong"),
        (MILLIONS, "$1577.00", "It is given on page 60 of the report for 2018.", "wrong"),
        ("What is the ratio?", "24.26", "24.2613", "right"),
        ("What is the ratio?", "24.26", "24.3", "partly"),
        ("What is the ratio?", "0.66", "66%", "right"),
        ("What is the ratio?", "0.66", "660", "wrong"),
        ("What is the cycle?", "-3.7", "(3.7) days", "right"),
        ("What is the cycle?", "-3.7", "3.7 days", "partly"),
        ("By how much did it rise?", "$400,000,000 increase.", "By $400 million [[source:2]].", "right"),
        ("Which amounts are due?", "$1,097 million and $862 million", "$1,097 million is due.", "partly"),
        ("Was a dividend paid?", "Yes", "Yes, one was [[source:1]].", "right"),
        ("Was a dividend paid?", "Yes", "No, none was.", "wrong"),
        ("Was a dividend paid?", "Yes, $0.55 a quarter", "Yes.", "partly"),
        ("Was a dividend paid?", "Yes", "A dividend was declared in March.", "wrong"),
        ("Who are the customers?", "airlines and the government", "Airlines and the US government.", "right"),
        ("Where does it operate?", "United States, EMEA, APAC, and LACC", "In EMEA and APAC.", "partly"),
        ("Where does it operate?", "United States, EMEA, APAC, and LACC", "Only in Ruritania.", "wrong"),
        ("Which of Latinos by cellphone or by landline?", "Latinos by cellphone", "Latinos by cellphone.", "right"),
        ("Which animals?", "['cat', 'dog']", "A dog and a cat.", "right"),
        ("合同期限是多久？", "三年", "合同期限为三年。", "right"),
        ("合同有效吗？", "有效", "没有效力。", "wrong"),
    ],
)  # fmt: skip
def test_verdicts(question: str, reference: str, answer: str, verdict: str) -> None:
    assert judge_by_rules(question, reference, answer) == verdict


@given(st.integers(1, 10**7), st.integers(0, 3), st.sampled_from([3, 6, 9]))
def test_a_figure_is_the_same_in_any_scale_that_is_said(digits: int, decimals: int, scale: int) -> None:
    gold = figures(f"{digits / 10**decimals:.{decimals}f} million")[0]
    other = figures(f"{digits / 10**decimals * 10.0 ** (6 - scale):.12f}")[0]
    assert same(gold, Figure(other.digits, scale), None)
    assert near(gold, Figure(other.digits, scale), None)
    wrong = Figure(f"{float(other.digits) * 1.6:.12f}", scale)
    assert not same(gold, wrong, None) and not near(gold, wrong, None)
