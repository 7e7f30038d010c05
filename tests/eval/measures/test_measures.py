"""Measures against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from eval.measures.retrieval import abstention, auroc, per_question, summarise, summarise_kinds, token_f1
from eval.records.questions import RankedPage
from eval.records.runs import GoldPlace, QuestionRecord


def asked(id: str, gold: list[GoldPlace], pages: list[tuple[str, int]], **more: object) -> QuestionRecord:
    ranked = tuple(RankedPage(name, page, 1.0, f"{name}-s{page}") for name, page in pages)
    documents = tuple(dict.fromkeys(name for name, _ in pages))
    return QuestionRecord(id, f"question {id}", gold=tuple(gold), pages=ranked, documents=documents, **more)  # type: ignore[arg-type]


def test_page_measures_by_hand() -> None:
    gold = [GoldPlace("a.pdf", 3, "a.pdf-s3"), GoldPlace("a.pdf", 9, "a.pdf-s9")]
    values = per_question([asked("q", gold, [("b.pdf", 1), ("a.pdf", 3), ("a.pdf", 4), ("a.pdf", 9)])])["q"]
    best = 1 + 1 / math.log2(3)
    expected = {
        "hit@1": 0, "hit@3": 1, "hit@20": 1, "mrr": 1 / 2, "recall@1": 0, "recall@3": 1 / 2, "recall@5": 1,
        "r-precision": 1 / 2, "ndcg@5": (1 / math.log2(3) + 1 / math.log2(5)) / best, "doc@1": 0, "citation.page": 0,
        "document.mrr": 1 / 2, "document.hit@1": 0, "document.r-precision": 0, "section.mrr": 1 / 2,
    }  # fmt: skip
    assert {name: values[name] for name in expected} == pytest.approx(expected)


def test_the_order_of_equal_scores_is_the_rankers_own() -> None:
    """All scores are equal here: what breaks ties in the measuring library must not reorder the pages."""
    pages = [(f"{letter}.pdf", 1) for letter in "mzaqb"]
    for rank, (name, page) in enumerate(pages, 1):
        assert per_question([asked("q", [GoldPlace(name, page)], pages)])["q"]["mrr"] == pytest.approx(1 / rank)


def test_nothing_found_or_failed_is_zero_and_not_left_out() -> None:
    records = [
        asked("hit", [GoldPlace("a.pdf", 1)], [("a.pdf", 1)]),
        asked("nothing", [GoldPlace("a.pdf", 1)], []),
        asked("failed", [GoldPlace("a.pdf", 2)], [], error="out of memory"),
    ]
    means = summarise(records)
    assert means["hit@5"] == means["mrr"] == means["doc@1"] == means["document.recall@5"] == pytest.approx(1 / 3)


def test_gold_without_a_page_counts_for_documents_only() -> None:
    lost = asked("lost", [GoldPlace("a.pdf", text="words", lost=True)], [("a.pdf", 1)])
    whole = asked("whole", [GoldPlace("a.pdf"), GoldPlace("b.pdf")], [("a.pdf", 1), ("c.pdf", 1), ("b.pdf", 1)])
    values = per_question([lost, whole])
    assert "hit@5" not in values["lost"] and "section.hit@5" not in values["lost"]
    assert values["lost"]["doc@1"] == 1
    assert values["whole"]["document.r-precision"] == 1 / 2
    assert values["whole"]["document.recall@3"] == 1


def test_a_text_over_a_pages_end_is_one_gold_on_either_page() -> None:
    gold = [GoldPlace("a.pdf", 4, "n1", also=(5,)), GoldPlace("a.pdf", 8, "n2", sections_also=("a.pdf-s7",))]
    values = per_question([asked("q", gold, [("a.pdf", 5), ("a.pdf", 4), ("a.pdf", 7)])])["q"]
    assert (values["hit@1"], values["recall@3"]) == (1, 1 / 2)  # pages 5 and 4 are the same gold, counted once
    assert values["section.mrr"] == pytest.approx(1 / 3)


def test_citation_overlap_is_the_best_of_the_first_five() -> None:
    gold = [GoldPlace("a.pdf", 1, text="net sales rose sharply")]
    snippets = ("weather", "sales rose", "net sales rose sharply")
    record = asked("q", gold, [])
    pages = tuple(RankedPage("a.pdf", n, 1.0, text=said) for n, said in enumerate(snippets, 1))
    shown = QuestionRecord("q", record.question, gold=record.gold, pages=pages)
    assert per_question([shown])["q"]["citation.overlap"] == 1
    whole_pages = asked("p", gold, [("a.pdf", 1)])
    assert "citation.overlap" not in per_question([whole_pages])["p"]  # it cites no text
    assert per_question([record])["q"]["citation.overlap"] == 0  # nothing was found
    assert token_f1("sales rose", "net sales rose sharply") == pytest.approx(2 * 2 / (2 + 4))
    assert token_f1("", "net sales") == 0


def test_evidence_separates() -> None:
    assert auroc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)
    records = [
        asked("1", [], [], evidence=("strong", 0.9)),
        asked("2", [], [], evidence=("none", 0.2)),
        asked("3", [], [], evidence=("none", 0.1), answerable=False),
        asked("4", [], [], evidence=("weak", 0.3), answerable=False),
    ]
    assert abstention(records) == {"evidence.auroc": 3 / 4, "abstention.recall": 1 / 2, "abstention.false": 1 / 2}
    assert abstention(records[:2]) == {}  # nothing to separate
    failed = [*records, asked("5", [], [], error="broken", answerable=False)]
    assert abstention(failed)["evidence.auroc"] == pytest.approx(3 / 6)  # a failure is judged wrongly


def test_kinds_are_means_over_their_own_questions() -> None:
    records = [
        asked("1", [GoldPlace("a.pdf", 1)], [("a.pdf", 1)], kind="text"),
        asked("2", [GoldPlace("a.pdf", 1)], [("a.pdf", 2)], kind="table"),
    ]
    kinds = summarise_kinds(records)
    assert (kinds["text"]["hit@5"], kinds["table"]["hit@5"]) == (1, 0)
    assert summarise_kinds(records[:1]) == {}
