"""What else is searched for before an answer is said not to be in the library."""

from __future__ import annotations

import pytest

from hybrid_core.text.misspellings import alike
from retrievers.answer.searches import corrected, other_searches, parts, respelled, searches, wishes

TEXTS = ["Der Auskunftsanspruch verjährt nach drei Jahren. The warranty period is two years.", "Installation of pumps."]


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Wann verjährt der Ankunftsanspruch?", "Wann verjährt der Auskunftsanspruch?"),
        ("How long is the waranty?", "How long is the warranty?"),
        ("Who does the instalation?", "Who does the installation?"),
        ("How long is the warranty?", "How long is the warranty?"),
        ("Who won the regatta?", "Who won the regatta?"),
        ("", ""),
    ],
)
def test_slips_become_the_words_of_the_pages(question: str, right: str) -> None:
    assert respelled(question, TEXTS).casefold() == right.casefold()


@pytest.mark.parametrize(
    ("question", "apart"),
    [
        (
            "What is the rent of the mill and who owns the harbour crane?",
            ["What is the rent of the mill", "who owns the harbour crane"],
        ),
        ("Wie hoch ist die Miete? Wem gehört der Kran?", ["Wie hoch ist die Miete", "Wem gehört der Kran"]),
        ("租金是多少？谁拥有起重机？", ["租金是多少", "谁拥有起重机"]),
        ("What is research and development?", ["What is research", "development research"]),
        (
            "Is the deposit in the mill lease higher than in the barn lease?",
            ["Is the deposit in the mill lease higher", "in the barn lease deposit mill higher"],
        ),
        (
            "Ist die Kaution der Mühle höher als die der Scheune?",
            ["Ist die Kaution der Mühle höher", "die der Scheune Ist Kaution Mühle höher"],
        ),
        (
            "Compare the notice period of Corvane with Dunlin's",
            ["Compare the notice period of Corvane", "Dunlin's notice"],
        ),
        ("What is the rent?", []),
        ("", []),
    ],
)
def test_parts_of_a_question_are_searched_apart(question: str, apart: list[str]) -> None:
    assert parts(question) == apart


def test_other_searches_are_others_and_bounded() -> None:
    question = "How long is the waranty and who does the instalation?"
    made = other_searches(question, TEXTS)
    assert made[0] == "How long is the warranty and who does the installation?" and question not in made
    assert "How long is the warranty" in made and len(other_searches("; ".join(["one two three four"] * 99), [])) <= 4


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("SEARCH rent of the mill", ("rent of the mill",)),
        ("- SEARCH: rent\nSEARCH harbour crane\nSEARCH more", ("rent", "harbour crane")),
        ("READ D1 page 3\nSEARCH rent", ("rent",)),
        ("The SEARCH for oil began in 1901 [[source:1]].", ()),
        ("It is 12.\nSEARCH rent", ()),
        ("SEARCH   ", ()),
    ],
)
def test_a_reply_asks_for_searches_only_where_it_begins_so(reply: str, found: tuple[str, ...]) -> None:
    assert searches(reply) == found
    assert [wish.pages for wish in wishes(reply)] == ([(3,)] if reply.startswith("READ") else [])


KNOWN = {
    "Ankunftsanspruch": ["auskunftsanspruch"], "indemnfication": ["indemnification"],
    "Zephir": ["zephyr"], "tenant": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Wann verjährt der Ankunftsanspruch?", "Wann verjährt der Auskunftsanspruch?"),
        ("Who owes indemnfication?", "Who owes indemnification?"),
        ("Who is the tenant of the Zephir?", "Who is the tenant of the Zephyr?"),
        ("Who is the tenant?", "Who is the tenant?"),
    ],
)
def test_words_that_the_library_lacks_become_its_own(question: str, right: str) -> None:
    def spellings(word: str) -> list[str]:
        return KNOWN.get(word, [])

    assert corrected(question, spellings) == right and corrected(question, None) == question
    assert (right in other_searches(question, [], spellings)) is (right != question)


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("Ankunftsanspruch", {"auskunftsanspruch": 3, "ankunft": 9, "anspruch": 9}, ["auskunftsanspruch"]),
        ("Gewährlestung", {"gewahrleistung": 2, "gewahrung": 5}, ["gewahrleistung"]),
        ("arbitraton", {"arbitration": 4, "arbitrator": 9, "arbiter": 9}, ["arbitration", "arbitrator"]),
        ("tenant", {"tenant": 1, "tenants": 5}, []),
        ("xylophone", {"telephone": 9}, []),
        ("abc", {"abd": 1}, []),
    ],
)
def test_a_slip_is_looked_up_among_known_words(word: str, known: dict[str, int], meant: list[str]) -> None:
    assert alike(word, known) == meant
