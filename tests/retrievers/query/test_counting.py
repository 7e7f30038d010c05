"""Questions that ask for a count or a complete list, and those that only look so."""

from __future__ import annotations

import pytest

from retrievers.query.counting import count_question


@pytest.mark.parametrize(
    ("question", "unit", "words"),
    [
        ('How many contracts mention "change of control"?', "documents", ("change of control",)),
        ("In how many agreements is arbitration mentioned?", "documents", ("arbitration",)),
        ("List every document that names Corvane or Dunlin.", "documents", ("Corvane", "Dunlin")),
        ("Could you tell me how many of the leases use the term “best efforts”?", "documents", ("best efforts",)),
        ("Give me a complete list of the reports where the word EBITDA is used", "documents", ("EBITDA",)),
        ("On which pages does force majeure appear?", "pages", ("force majeure",)),
        ("How often is the word royalty mentioned in the library?", "places", ("royalty",)),
        ("Wie viele Verträge erwähnen «höhere Gewalt»?", "documents", ("höhere Gewalt",)),
        ("In wie vielen Urteilen wird der Auskunftsanspruch erwähnt?", "documents", ("Auskunftsanspruch",)),
        ("Liste alle Entscheidungen auf, in denen „Treu und Glauben“ vorkommt.", "documents", ("Treu und Glauben",)),
        ("Nenne alle Dokumente, die Verjährung erwähnen", "documents", ("Verjährung",)),
        ("Auf welchen Seiten steht Widerruf?", "pages", ("Widerruf",)),
        ("Wie oft kommt Schadensersatz in der Sammlung vor?", "places", ("Schadensersatz",)),
        ('Are there any contracts that mention "non-competition"? How many?', "documents", ("non-competition",)),
        ("Do any of the filings mention goodwill, and if so, which ones?", "documents", ("goodwill",)),
        ("Is escrow mentioned in any of the contracts?", "documents", ("escrow",)),
        ("How many of the 80 contracts mention Delaware, and which ones?", "documents", ("Delaware",)),
        ("Which contracts mention escrow, and how many are there?", "documents", ("escrow",)),
        ("How many contracts mention escrow? List them.", "documents", ("escrow",)),
        ("Wie viele Verträge erwähnen Verjährung, und welche sind das?", "documents", ("Verjährung",)),
        ("List the names of all contracts that mention escrow.", "documents", ("escrow",)),
        ("All documents naming Delaware", "documents", ("Delaware",)),
        ("number of contracts mentioning escrow", "documents", ("escrow",)),
        ("In how many places is Delaware mentioned?", "places", ("Delaware",)),
        ("What is the total number of times Delaware occurs?", "places", ("Delaware",)),
    ],
)
def test_a_question_that_counts_is_read(question: str, unit: str, words: tuple[str, ...]) -> None:
    asked = count_question(question)
    assert asked is not None and (asked.unit, asked.words) == (unit, words)


@pytest.mark.parametrize(
    ("question", "absent", "without"),
    [
        ("Which contracts do not mention insurance?", True, ()),
        ("Which contracts never mention a warranty?", True, ()),
        ("Which contracts lack the phrase force majeure?", True, ()),
        ('How many contracts omit "escrow"?', True, ()),
        ("List the documents without the word escrow.", True, ()),
        ("Welche Urteile erwähnen den BGH nicht?", True, ()),
        ('Which leases mention "rent" but not "deposit"?', False, ("deposit",)),
        ("How many leases mention rent and not deposits?", False, ("deposits",)),
        ("Welche Verträge erwähnen „Miete“, aber nicht „Kaution“?", False, ("Kaution",)),
    ],
)
def test_what_is_not_mentioned_is_told_apart(question: str, absent: bool, without: tuple[str, ...]) -> None:
    asked = count_question(question)
    assert asked is not None and (asked.absent, asked.without) == (absent, without)


def test_words_that_may_be_one_phrase_are_read_both_ways() -> None:
    asked = count_question("How many contracts mention terms and conditions?")
    assert asked is not None and (asked.phrase, asked.words) == ("terms and conditions", ("terms", "conditions"))
    quoted = count_question('How many contracts mention "terms and conditions"?')
    assert quoted is not None and (quoted.phrase, quoted.words) == ("", ("terms and conditions",))


@pytest.mark.parametrize(
    "question",
    [
        "What documents are needed for a visa?",
        "How many documents must be filed?",
        "How many employees are there, and where?",
        "Do any agreements have an effective date?",
        "Does any contract mention a fee of more than 5%?",
        "All reports have the same structure",
        "List reports without figures",
        "What is the number of places where the company operates?",
        "Which plan covers emergency services?",
        "Which document mentions the person who signed it?",
        "Which reports mention that revenue fell in 2012?",
        "How many employees does the report mention?",
        "How often is the filter cleaned?",
        "How many contracts signed after 2019 mention arbitration?",
        "Which contracts mention arbitration and expire before 2020?",
        "How often is rent mentioned in the annual report of Corvane?",
        "How many times did sales rise?",
        "Welche Dokumente brauche ich für den Antrag?",
        "Wie viele Verträge wurden gekündigt?",
        "Wie oft muss der Filter gereinigt werden?",
        "List all steps that the manual names for cleaning the pump and the hoses of the larger model",
        "",
        "?",
    ],
)
def test_other_questions_are_none(question: str) -> None:
    assert count_question(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "how many " + "documents of the " * 22,
        "welche " + "der dokumente " * 25,
        "which documents mention " + "x in the " * 40,
    ],
)
@pytest.mark.timeout(60)  # patterns that go back would take years
def test_reading_a_question_ends(question: str) -> None:
    count_question(question)
