"""Whole-tree reasoning over a scripted model: what is shown, what comes of names, how much it takes."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from eval.datasets.corpus import Corpus
from eval.rankers import trees
from eval.rankers.trees import WholeTree
from eval.records.progress import Progress
from eval.runs.run import measure
from eval.runs.scripted import guess
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_pageindex import Engine
from tests import pdfs
from tests.doubles.replies import Answer, FakeEndpoint
from tests.doubles.scripted_server import scripted_server
from tests.eval.answering import answered_set, checked, oracle_of
from tests.eval.sets import plan

QUIET = Progress(quiet=True)
QUESTION, NAME, PAGE = pdfs.FISCAL_QUESTIONS[0]


def ranker(library: Engine, answer: Answer) -> tuple[WholeTree, FakeEndpoint]:
    endpoint = FakeEndpoint(answer)
    return WholeTree(Corpus(library), ChatModel(endpoint)), endpoint


def test_all_of_a_document_is_shown_and_named_sections_become_pages(library: Engine) -> None:
    def answer(_: object) -> dict[str, object]:
        return {"thinking": "", "node_list": ["D1.0003", "D1.9999", "D1.0001", "D1.0003"]}

    made, endpoint = ranker(library, answer)
    found = made.rank(QUESTION, ["book.pdf"], 50)
    sections = {section.node_id: section for section in Corpus(library).sections("book.pdf")}
    prompt = endpoint.requests[0].messages[-1].text
    for section in sections.values():
        assert f"D1.{section.node_id} {section.title} · page" in prompt and section.summary[:60] in prompt
    third, first = sections["0003"], sections["0001"]
    expected = [*range(third.start_page, third.end_page + 1), *range(first.start_page, first.end_page + 1)]
    assert [page.page for page in found.pages] == list(dict.fromkeys(expected))
    assert found.pages[0].section == "0003" and found.pages[0].node == (third.start_page, third.end_page)
    assert found.notes == ("The model named 1 sections that do not exist: D1.9999",)
    assert found.tokens > len(prompt) // 4


def test_of_a_library_documents_are_picked_by_their_descriptions(library: Engine) -> None:
    def answer(request: object) -> dict[str, object]:
        if getattr(request, "title", "") == "PicksReply":
            return {"thinking": "", "documents": ["D2", "D77", "D2", "D1", "D3", "D4"]}
        return {"thinking": "", "node_list": []}

    made, endpoint = ranker(library, answer)
    found = made.rank(QUESTION, None, 5)
    names = sorted(Corpus(library).documents)
    assert found.documents == (names[1], names[0], names[2]) and found.pages == ()
    listed, trees = (request.messages[-1].text for request in endpoint.requests)
    assert all(f"D{number} · {name} · " in listed for number, name in enumerate(names, 1))
    assert f"D1 · {names[1]}" in trees and names[4] not in trees
    assert any("D77" in note for note in found.notes)


def test_what_has_no_room_is_left_out_and_told(library: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    made, endpoint = ranker(library, lambda _: {"thinking": "", "node_list": [], "documents": []})
    made.rank(QUESTION, ["book.pdf"], 5)
    whole = len(endpoint.requests[-1].messages[-1].text)
    for budget, said in ((300, "summaries were left out"), (120, "deep sections were left out")):
        monkeypatch.setattr(trees, "TREE_TOKENS", budget)
        (note,) = made.rank(QUESTION, ["book.pdf"], 5).notes
        assert said in note and len(endpoint.requests[-1].messages[-1].text) < whole
    monkeypatch.setattr(trees, "LIST_TOKENS", 60)
    assert any("of 5 documents were not shown" in note for note in made.rank(QUESTION, None, 5).notes)


def test_ceiling_and_floor_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    from eval.datasets.registry import load

    docs, questions = answered_set(tmp_path, hidden=False)
    oracle = oracle_of(list(load("custom", docs=docs, questions=questions).questions))
    hits = {}
    for name, answer in (("oracle", oracle), ("random", guess)):
        with scripted_server(checked(answer)) as server:
            monkeypatch.setenv("PAGEINDEX_LLM_BASE_URL", server.url)
            monkeypatch.setenv("PAGEINDEX_LLM_MODEL", uuid4().hex)
            run = measure(plan(tmp_path / "runs" / name, docs, questions, ranker="whole-tree"), QUIET)
        assert {request.title for request in server.requests} == {"Word", "PicksReply", "NodeList"}
        assert all(record.tokens > 0 for record in run.questions) and run.head.model
        hits[name] = run.head.measures["all"]["hit@1"]
    assert hits["oracle"] == 1 > hits["random"]
