"""Places that a question names by number, as they are said in several languages."""

from __future__ import annotations

import pytest

from hybrid_core.text.identifiers import adjacent_numbers, page_number, part_number
from retrievers.query.intent import wants_whole
from retrievers.query.references import references
from retrievers.query.words import asks_for_documents


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("page 14 of the report", [("page", "14")]),
        ("what is on p. 96, and on slide 5?", [("page", "96"), ("slide", "5")]),
        ("page iii", [("page", "iii")]),
        ("what is on page A-4", [("page", "A-4")]),
        ("sections 4.02 and § 2.6(a)", [("section", "4.2"), ("section", "2.6")]),
        ("Article XIII, Item 1a and Note 7", [("article", "13"), ("item", "1A"), ("note", "7")]),
        ("Table 3 beside Fig. 2", [("table", "3"), ("figure", "2")]),
        ("Seite 12, Artikel 5, Abb. 3", [("page", "12"), ("article", "5"), ("figure", "3")]),
        ("page 3 du tableau 2", [("page", "3"), ("table", "2")]),
        ("página 9 del capítulo 4", [("page", "9"), ("chapter", "4")]),
        ("刑法第133条和第一百三十三条之一", [("article", "133"), ("article", "133.1")]),
        ("第12页的表3", [("page", "12"), ("table", "3")]),
        ("part of the figure 5 million, note that 7% and item i", []),
    ],
)
def test_places_by_number(question: str, named: list[tuple[str, str]]) -> None:
    assert [(one.word, one.number) for one in references(question)] == named


def test_one_spelling_of_a_number() -> None:
    written = ("viii", "VIII", "八", "008", "1a", "A.04", "二百零五", "十二")
    assert [part_number(one) for one in written] == ["8", "8", "8", "8", "1A", "A.4", "205", "12"]
    assert (page_number("iv"), page_number("IV")) == ("iv", "4")
    neighbours = [("13", "15"), ("A-3", "A-5"), ("iii", "v"), ("", "")]
    assert [adjacent_numbers(number) for number in ("14", "A-4", "iv", "B")] == neighbours


@pytest.mark.parametrize(
    ("question", "wanted", "left"),
    [
        ("What is this paper about?", "summary", "this paper"),
        ("Summarise the lease", "summary", "the lease"),
        ("key findings of the survey", "findings", "of the survey"),
        ("What does the study conclude?", "conclusion", "What does the study"),
        ("Worum geht es in dem Vertrag?", "summary", "in dem Vertrag"),
        ("De quoi parle ce rapport ?", "summary", "ce rapport"),
        ("¿De qué trata el informe?", "summary", "el informe"),
        ("灯塔法主要讲什么", "summary", "灯塔法"),
    ],
)
def test_questions_about_a_whole_document(question: str, wanted: str, left: str) -> None:
    found = wants_whole(question)
    assert found is not None and found[0] == wanted and left in " ".join(found[1].split())


def test_other_questions_ask_for_something_in_it() -> None:
    assert wants_whole("How large was goodwill in 2018?") is None


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("Which documents talk about harbours?", True), ("list the sponsorship agreements", True),
        ("which reports are by the harbour office", True), ("哪些法律规定了灯塔", True),
        ("Welche Verträge gibt es?", True),
        ("Which ship ran aground?", False), ("What did the report say of the agreements?", False),
    ],
)  # fmt: skip
def test_questions_for_documents(question: str, documents: bool) -> None:
    assert asks_for_documents(question) is documents
