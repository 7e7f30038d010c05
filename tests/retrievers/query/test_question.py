"""Reading questions: instructions out, content in, time and types understood."""

from __future__ import annotations

import signal

import pytest

from hybrid_core.text.tokens import tokenise
from hybrid_core.types.documents import Period
from retrievers.query.question import read_question


@pytest.mark.parametrize(
    ("text", "kept", "dropped"),
    [
        (
            "Give a response to the question by relying on the details shown in the cash flow statement.",
            "cash flow statement",
            "give response question relying details shown",
        ),
        (
            "What is the capex of Tangerine (in USD millions)?",
            "capex Tangerine",
            "usd millions",
        ),
        (
            "What is the ratio? Round your answer to two decimal places.",
            "ratio",
            "round answer two decimal places",
        ),
        (
            "Answer in units of percents and round to one decimal place. What grew?",
            "grew",
            "answer percents decimal place round",
        ),
        (
            "Assume that you are a public equities analyst. What fell?",
            "fell",
            "assume equities analyst public",
        ),
        (
            "You are an investment banker and your only resources are: the balance sheet.",
            "balance sheet",
            "banker investment",
        ),
        (
            "Did it improve? If gross margin is not a useful metric for this, then please state that and explain why.",
            "improve",
            "useful metric state explain",
        ),
        (
            "Base your judgments on the information provided primarily in the statement of income.",
            "statement income",
            "base judgments information provided primarily",
        ),
        (
            "Please explain the warranty.",
            "warranty",
            "explain please",
        ),
        (
            "How many gates does the weir have? Please write the answer in integer format with one decimal.",
            "gates weir",
            "many write answer integer format decimal",
        ),
        (
            "According to this report, which gate leaks? List the gates in the list format by descending order.",
            "gate leaks",
            "according report format descending order",
        ),
        (
            "How many million dollars of freight did the line carry, and what did it cost in millions of US dollars?",
            "freight line carry cost",
            "many million millions dollars us",
        ),
        (
            "What share of the cargo was grain? One decimal, please.",
            "share cargo grain",
            "one decimal please",
        ),
        (
            "Did the lock fill faster? If nobody measures a lock like this by time, explain.",
            "lock fill faster",
            "nobody measures time explain",
        ),
        (
            "Is the sluice sound? Say so and why if that is the wrong word for a sluice of this age.",
            "sluice sound",
            "wrong word age",
        ),
        (
            "Mark all passages of our charter lease about subletting that a harbour master should read.",
            "subletting",
            "mark passages charter lease harbour master read",
        ),
        (
            "Point out the clauses, if any, that deal with early termination. Details: who may give notice, and when?",
            "early termination who may give notice",
            "point clauses deal details",
        ),
        (
            "Show me all sections, if there are any, of the policy about water damage which need attention.",
            "water damage",
            "show section policy attention",
        ),
        (
            "Pull out the paragraphs of our handbook covering staff turnover that the board has to discuss.",
            "staff turnover",
            "pull paragraph handbook board discuss",
        ),
        (
            "Which documents talk about arbitration?",
            "arbitration",
            "documents talk",
        ),
        (
            "List all files that mention the harbour fee",
            "harbour fee",
            "list files mention",
        ),
        (
            "Task: list the fees (where applicable). Background: the levy is paid yearly.",
            "fee levy paid yearly",
            "task list applicable background",
        ),
        (
            "Adopting the standpoint of a cautious investor who dislikes debt, what of the balance sheet?",
            "dislikes debt balance sheet",
            "adopting standpoint cautious investor",
        ),
        (
            "请根据资产负债表回答，利润是多少？保留两位小数",
            "",
            "请根据 保留两位小数",
        ),
    ],
)
def test_instructions_are_dropped_and_what_they_point_to_stays(text: str, kept: str, dropped: str) -> None:
    terms = read_question(text).terms
    assert set(tokenise(kept)) <= set(terms)
    assert not set(tokenise(dropped)) & set(terms)


@pytest.mark.parametrize(
    "text",
    [
        "What is the response timeout?",
        "How do I round the corners of the table?",
        "Which question did the chair answer?",
        "What data does the meter record?",
        "What is the percentage of renewable power in 2020?",
        "Is the export in JSON or in table form?",
        "Was the fee paid according to the report of the auditors?",
        "What happens if the basin is empty, say at night?",
        "If a tenant leaves early, explain what he owes.",
        "Which reports must be reviewed by the audit committee?",
        "Which parts of the lease relate to the crane?",
        "Does the notice mark the parts of the pump that need oil?",
        "Which valves close if the pressure is high?",
        "Which documents are needed for a visa?",
    ],
)
def test_the_same_words_as_content_stay(text: str) -> None:
    assert list(read_question(text).terms) == tokenise(text)


def test_order_and_duplicates_are_kept() -> None:
    assert read_question("tide tables and the tide of 2018, tide").terms == ("tide", "tabl", "tide", "2018", "tide")


def test_only_stop_words_fall_back_to_all_words() -> None:
    assert read_question("What is it?").terms == ("what", "is", "it")
    assert read_question("Please answer.").terms == ("pleas", "answer")
    assert read_question("").terms == ()


def test_the_year_asked_about_comes_first() -> None:
    assert read_question("average between FY2018 and FY2020").years == (2020, 2018)
    assert read_question("As of FY 2021, how much is expected in 2024?").years == (2021, 2024)
    assert read_question("legal battles from 2022, 2021 and 2020").years == (2022, 2021, 2020)


def test_quarters_dates_and_types() -> None:
    asked = read_question("Did the 10-Q for Q2 of FY2024 dated July 29, 2023 mention the first quarter?")
    assert asked.quarters == (Period(2024, 2), Period(0, 1))
    assert asked.dates == ("2023-07-29",)
    assert asked.types == ("quarterly report",)
    assert asked.type_terms == {"quarterly report": frozenset(tokenise("10-Q"))}
    assert asked.timed and not read_question("Did it?").timed


def test_own_types_replace_the_built_in_ones() -> None:
    asked = read_question("the ship's log and the annual report", {"log book": ["log", "ship's log"]})
    assert asked.types == ("log book",)


@pytest.mark.parametrize(
    ("text", "numeric"),
    [("How much did it pay?", True), ("What is the quick ratio?", True), ("罚款多少？", True),
     ("Who are the customers?", False), ("Is it seasonal?", False)],
)  # fmt: skip
def test_numeric(text: str, numeric: bool) -> None:
    assert read_question(text).numeric is numeric


def test_latest() -> None:
    assert read_question("in the most recent 10-Q").latest
    assert not read_question("in the 10-Q").latest


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "answer the question ",
        "If a b c ",
        "in units of ",
        "you are a ",
        "Assume that you ",
        "to ",
        "(",
        "x. ",
        "保留",
        "as if you ",
        " ",
        "\n",
        "to   ",
    ],
)
def test_time_grows_with_length_only(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    signal.alarm(600)  # ends the tests: with backtracking it takes longer than the world is old
    try:
        read_question(text)
    finally:
        signal.alarm(0)
