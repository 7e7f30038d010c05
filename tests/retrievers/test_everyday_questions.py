"""Built-in patterns of expert knowledge on questions that are not about their fields.

A pattern that meets one of them is too everyday: it is the pattern that has to be narrowed, not the list.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_pageindex.config.experts import PACKS, find_expert

QUESTIONS = [
    line
    for line in Path(__file__).with_name("everyday_questions.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
MEANT = {
    "finance": {  # what a company does, who founded it and who works there: a company's report says it
        "Who founded Guidance Software?",
        "Who founded Universal Health?",
        "Who founded Capital One?",
        "Where was General Mills founded?",
        "When was Cash Converters founded?",
        "What does Guidance Software make?",
        "What does Royalty Pharma do?",
        "What does LendingClub do?",
        "How many people work at Royalty Pharma?",
    },
    "operations": {  # setting something up: a manual says how
        "How do I set up the nebuliser?",
        "How do I set up an out-of-office reply?",
        "How do I configure the seats of the minibus?",
        "How do I install a cat flap?",
    },
}


def test_there_are_two_thousand() -> None:
    assert len(QUESTIONS) == len(set(QUESTIONS)) >= 2000


@pytest.mark.parametrize("pack", PACKS)
def test_no_pattern_meets_an_everyday_question_by_accident(pack: str) -> None:
    expert = find_expert(pack)
    assert {question for question in QUESTIONS if expert.expand(question, [""])} == MEANT.get(pack, set())
