"""Names that the patterns of expert knowledge do not see."""

from __future__ import annotations

import pytest

from hybrid_pageindex.config.experts import find_expert
from retrievers.query.words import without_names


def of_field(words: str) -> bool:
    return words.lower() in ("cash flow", "flow statement", "governing law", "change of control")


@pytest.mark.parametrize(
    ("question", "seen"),
    [
        ("What did Best Buy sell in Reno?", "What did _ sell in Reno?"),
        ("What was the revenue of Royalty Pharma in 2022?", "What was the revenue of _ in 2022?"),
        ("Is the bank Wells and Brothers Trust in the list?", "Is the bank _ in the list?"),
        ("What is shown in the Cash Flow Statement of Best Buy?", "What is shown in the Cash Flow Statement of _?"),
        ("Explain Governing Law and what it is for", "Explain Governing Law and what it is for"),
        ("What is the Change of Control clause for?", "What is the Change of Control clause for?"),
        ("What was the EBITDA of Boeing in FY2020?", "What was the EBITDA of Boeing in FY2020?"),
        ("What is Boeing's Revenue in the year?", "What is Boeing's Revenue in the year?"),
        ('What is under the heading "Best Price" here?', 'What is under the heading "Best Price" here?'),
        ("Best Buy Revenue 2022", "Best Buy Revenue 2022"),  # keywords: capitals say nothing
        ("Welche Option hat der Große Monitor?", "Welche Option hat der Große Monitor?"),
    ],
)
def test_unknown_names_are_capitals_in_running_words_that_no_field_writes(question: str, seen: str) -> None:
    assert without_names(question, (), of_field) == seen


def test_known_names_are_whole_words_as_the_question_writes_them() -> None:
    assert without_names("does target target a target price", ["target"], of_field) == "does _ _ a _ price"
    assert without_names("what does gap say of gaps?", ["gap"], of_field) == "what does _ say of gaps?"
    assert without_names("民法典规定的诉讼时效", ["民法典"], of_field) == "_规定的诉讼时效"


@pytest.mark.parametrize("name", ["Best Buy", "Guidance Software", "Royalty Pharma", "LendingClub", "Universal Health"])
def test_names_wake_no_pack(name: str) -> None:
    packs = find_expert("auto")
    kinds = {kind for expansion in packs.expansions for kind in expansion.documents}
    assert packs.expand(f"Where is the office of {name}?", kinds) == {}
    assert packs.expand(f"Where is the office of {name.lower()}?", kinds, [name.lower()]) == {}


@pytest.mark.parametrize(
    "question",
    ["What was the total revenue?", "what options does the camry have", "Is adoption monitored?", "Monitor?"],
)
def test_words_within_words_and_everyday_words_wake_no_contracts_or_operations(question: str) -> None:
    packs = find_expert("auto")
    assert packs.expand(question, ["agreement", "manual"]) == {}


def test_words_of_the_field_do() -> None:
    packs = find_expert("auto")
    for question, kind, pack in (
        ("What was the total revenue?", "annual report", "finance"),
        ("Which venue for disputes is agreed?", "agreement", "contracts"),
        ("Under which state's Governing Law does the lease fall?", "agreement", "contracts"),
        ("How do I configure the retention of logs?", "manual", "operations"),
        ("5G手机套餐合同违约金怎么算", "statute", "statutes-zh"),
    ):
        assert packs.expand(question, [kind])[kind].sources == (pack,)
