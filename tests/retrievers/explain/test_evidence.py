"""How well pages can answer: the formula by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text.terms import TermCounts
from hybrid_core.text.tokens import term_hash
from hybrid_core.types.results import Evidence
from hybrid_pageindex import Engine, run
from retrievers.candidates.router import CardScores
from retrievers.explain import evidence
from retrievers.explain.evidence import InformationNeed, TermCoverage
from retrievers.query.words import content_words, proper_names
from retrievers.trees.content import Content

QUESTIONS = Path(__file__).parents[2] / "eval" / "evidence_questions.jsonl"


def content(*pages: dict[str, int]) -> Content:
    counts = TermCounts.build([{term_hash(t): n for t, n in page.items()} for page in pages], [10] * len(pages))
    return Content("c", counts, counts, (), ((),))


def asked(*terms: str) -> dict[str, float]:
    return dict.fromkeys(terms, 1.0)


Places = list[tuple[str, Content, int]]
Terms = dict[str, float]


def coverage(terms: Terms, pages: Places, routing: CardScores, names: Collection[str] = ()) -> float:
    return TermCoverage(terms, pages, routing).coverage(terms, names)


def judge(terms: Terms, added: Terms, names: Collection[str], pages: Places, routing: CardScores) -> Evidence:
    return evidence.judge(TermCoverage({**added, **terms}, pages, routing), InformationNeed(terms, names), added, [])


def test_by_hand() -> None:
    """On three pages of equal length: one mention counts 1 / 1.5, two 2 / 2.5, a page beside it 0.4."""
    book = content({"weir": 1}, {}, {"lock": 2, "weir": 1})
    rare, common, unknown = (1 + math.log1p((3 - n + 0.5) / (n + 0.5)) for n in (1, 2, 0))
    page = {number: ("d", book, number) for number in (1, 2, 3)}
    assert coverage(asked("weir"), [page[1]], CardScores()) == pytest.approx(1 / 1.5, abs=1e-4)
    assert coverage(asked("weir"), [page[2]], CardScores()) == pytest.approx(0.4)
    both = (2 / 2.5 * rare + 1 / 1.5 * common) / (rare + common)
    assert coverage(asked("lock", "weir"), [page[1], page[3], page[2]], CardScores()) == pytest.approx(both, abs=1e-4)
    half = judge(asked("weir", "zyzzyva"), {}, (), [page[1]], CardScores())
    assert half.score == pytest.approx(common / 1.5 / (common + unknown), abs=1e-4) and half.level == "none"


@given(st.permutations(["weir", "lock", "sluice", "barge", "mill", "race", "tow"]))
def test_the_order_of_terms_changes_nothing(terms: list[str]) -> None:
    """It comes from sets and tables, which have their own in each process and database."""
    book = content({"weir": 1, "lock": 2, "barge": 3}, {"mill": 5, "race": 1, "tow": 2}, {"sluice": 7, "weir": 2})
    weights = {term: 0.1 * len(term) for term in terms}
    places = [("d", book, page) for page in (1, 2, 3)]
    coverages = {
        TermCoverage(order, places, CardScores()).coverage(weights, apart=True) for order in (terms, sorted(terms))
    }
    coverages.add(TermCoverage(terms, places, CardScores()).coverage(dict(sorted(weights.items())), apart=True))
    assert len(coverages) == 1


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40).flatmap(
        lambda values: st.tuples(st.just(values), st.permutations(values))
    )
)
def test_a_sum_is_the_same_to_the_last_digit_in_any_order(orders: tuple[list[float], list[float]]) -> None:
    assert len({evidence._sum(np.array(values)) for values in orders}) == 1


def test_expert_knowledge_that_the_page_speaks_raises_it_and_never_lowers_it() -> None:
    """An added word counts by its weight, beside the question's own; a word that is both counts once."""
    book = content({"weir": 1, "sluic": 2}, {})
    pages = [("d", book, 1)]
    held, unknown = (1 + math.log1p((2 - n + 0.5) / (n + 0.5)) for n in (1, 0))
    plain = judge(asked("weir", "barrag"), {}, (), pages, CardScores())
    assert plain.score == pytest.approx(held / 1.5 / (held + unknown), abs=1e-4)
    worded = judge(asked("weir", "barrag"), {"sluic": 0.5, "weir": 0.5}, (), pages, CardScores())
    assert worded.score == pytest.approx((held / 1.5 + held / 2 * 2 / 2.5) / (1.5 * held + unknown), abs=1e-4)
    assert worded.score > plain.score
    assert judge(asked("weir", "barrag"), {"penstock": 0.5}, (), pages, CardScores()) == plain
    assert judge({}, {"sluic": 0.5}, (), pages, CardScores()).level == "none"


def test_a_document_that_the_question_does_not_name_counts_less() -> None:
    book = content({"weir": 9})
    routing = CardScores(scores={"named": 0.8, "half": 0.4}, organisations=("Weir Trust",))
    named, half, other = (judge(asked("weir"), {}, (), [(doc, book, 1)], routing) for doc in ("named", "half", "other"))
    assert (half.score / named.score, other.score / named.score) == pytest.approx((0.7, 0.4), abs=1e-3)
    assert (named.level, half.level, other.level) == ("strong", "strong", "weak")
    assert coverage(asked("weir"), [("other", book, 1)], CardScores(scores=routing.scores)) == named.score


def test_a_document_that_never_says_a_name_of_the_question_counts_less() -> None:
    book = content({"weir": 9}, {}, {}, {"brunel": 1})
    whole, silent = (
        coverage(asked("weir", who), [("d", book, 1)], CardScores(), {who}) for who in ("brunel", "telford")
    )
    assert whole == coverage(asked("weir", "brunel"), [("d", book, 1)], CardScores())
    unnamed = coverage(asked("weir", "telford"), [("d", book, 1)], CardScores())
    assert silent == pytest.approx(0.4 * unnamed, abs=1e-3)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (
            "What did Isambard Brunel say of the O'Hara weir?",
            {"isambard", "brunel", "ohara"},
        ),
        ("Which is older? Explain with the words of “Weirs and locks”.", set()),
        ("How much did the NPV of the weir change?", set()),  # documents spell abbreviations out
        ("What do the CEO's letter and the ETFs’ reports say of the Art-Deco weir?", {"art"}),
        ("What Are the Costs Of Weir And Lock Repairs To the Trust?", set()),
        ("Welche Kosten hatte die Stadt für das Wehr im Jahr 2020?", set()),
        ("布鲁内尔的 Weir 是什么？", set()),
        ("", set()),
    ],
)
def test_names_are_capitals_within_sentences_of_running_english(question: str, names: set[str]) -> None:
    assert proper_names(question) == names


def test_a_search_judges_by_names_and_expert_knowledge_and_is_as_sure_as_before(
    library: Engine, tmp_path: Path
) -> None:
    small, named = (
        run(library.search(f"What were the net sales of Corvane Optics in 2023 in {place}?", expert="none"))
        for place in ("zanzibar", "Zanzibar")
    )
    assert named.evidence.score < small.evidence.score
    assert small.sureness >= named.sureness > 0
    expert = tmp_path / "expert.yaml"
    expert.write_text("expand:\n  - when: turnover\n    phrases: [net sales]\n    weight: 1\n", encoding="utf-8")
    question = "What turnover and operating income did Corvane Optics have in 2023?"
    plain, worded = (run(library.search(question, expert=one)).evidence.score for one in ("none", expert))
    assert worded > plain


def test_nothing_found_or_asked_is_no_evidence() -> None:
    found = [("d", content({}), 1)]
    assert (
        judge(asked("weir"), {}, (), [], CardScores()).level == judge({}, {}, (), found, CardScores()).level == "none"
    )


def test_a_comparison_is_judged_by_two_pages_together() -> None:
    """Each of two documents holds one of the things compared; neither holds both."""
    one, other = content({"weir": 2}, {}), content({"lock": 2}, {})
    pages = [("one", one, 1), ("other", Content("o", other.body, other.headings, (), ((),)), 1)]
    terms = asked("weir", "lock")
    whole, apart = (
        TermCoverage(terms, pages, CardScores()).coverage(terms, (), together) for together in (False, True)
    )
    assert apart == pytest.approx(2 / 2.5, abs=1e-3) and whole == pytest.approx(apart / 2, abs=1e-3)


def test_a_comparison_of_two_names_in_two_documents_is_no_none(library: Engine) -> None:
    for question in (
        "Which paid the higher dividend per share, Corvane Optics or Dunlin Freight?",
        "Compare the net sales of Corvane Optics in 2023 and 2024",
        "Corvane vs Dunlin inventories",
    ):
        assert run(library.search(question)).evidence.level in ("strong", "weak"), question


WHOLE = ("What is this document about?", "Summarize the report.")


@pytest.mark.parametrize(
    "question",
    [
        "And the year before?",
        "What is this document about?",
        "' OR 1=1 --",
        "Summarize the report.",
        "2023",
        "?!",
        "那么前一年呢？",
    ],
)
@pytest.mark.parametrize("documents", [None, ["book.pdf"]])
def test_a_question_that_names_nothing_is_unclear_and_told_how_to_ask(
    library: Engine, question: str, documents: list[str] | None
) -> None:
    found = run(library.search(question, documents=documents)).evidence
    if documents and question in WHOLE:
        assert found.level == "strong"  # it asks for the one document there is
    else:
        assert (found.level, found.score) == ("unclear", 0.0) and "names no subject" in found.hint


def test_a_name_alone_is_clear_and_a_word_of_every_page_is_not(engine: Engine, tmp_path: Path) -> None:
    for number in range(30):
        told = "The Quarnford Weir is old." if number == 7 else "It is old."
        (tmp_path / f"{number}.md").write_text(f"# Sheet {number}\n\nThis covenant binds. {told}\n", encoding="utf-8")
    run(engine.index(tmp_path))
    assert run(engine.search("Quarnford")).evidence.level == "strong"
    assert run(engine.search("What of the covenant?")).evidence.level == "unclear"
    assert run(engine.search("covenant of Quarnford")).evidence.level == "strong"


def test_a_name_that_is_not_surely_known_is_asked_for(engine: Engine, tmp_path: Path) -> None:
    """The name of one document, which says nothing of the matter, is no evidence on a page of another."""
    for name, said in (
        ("toyota-camry-2020-brochure", "Five people sit in it."),
        ("toyota-corolla-2020-brochure", "Options, options and more options: heated seats."),
        ("honda-accord-2020", "The options are a tow bar and better audio options."),
    ):
        title = name.replace("-", " ").title()
        (tmp_path / f"{name}.md").write_text(f"# {title}\n\n{said}\n\n" + "trim leather roof wheels " * 150, "utf-8")
    run(engine.index(tmp_path))
    found = run(engine.search("what options does the camry have"))
    assert found.evidence.level != "strong"


WRITTEN = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "asked", [q for q in WRITTEN if q["kind"] in ("answerable", "comparison")], ids=lambda q: q["question"]
)
def test_real_questions_name_something(asked: dict[str, str]) -> None:
    assert content_words(asked["question"])


def test_questions_about_nothing_name_nothing() -> None:
    named = [q["question"] for q in WRITTEN if q["kind"] == "unclear" and content_words(q["question"])]
    assert named == [
        "<script>alert(1)</script>",
        "What is this agreement about?",  # which most pages of contracts say
        "And what about the other party?",
        "'; DROP TABLE documents; --",
        "What does this contract say?",
        "1' UNION SELECT null, version() --",
    ]
