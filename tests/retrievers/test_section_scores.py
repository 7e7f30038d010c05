"""A scored outline is a search that stops early: the same NodeScores through every interface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli import main
from hybrid_pageindex.engine.documents.contents import Outline
from tests.work import examples

WORDS = (
    "net sales Corvane Optics Dunlin Freight fiscal 2023 2024 balance sheet dividend share harbour crew plants".split()
)
EXPERT = "expand:\n  - when: turnover\n    phrases: [net sales]\n    headings: [results of operations]\n    weight: 1\n"


def shown(found: SearchResult) -> Iterator[tuple[str, str, float]]:
    """(doc_id, node_id, NodeScore) of every section that a search's answer names."""
    sections = [(page.doc_id, page.section) for page in found.results]
    sections += [(ranked.doc_id, ranked.section) for ranked in found.sections]
    for doc_id, section in sections:
        yield doc_id, section.node_id, section.node_score
        yield from ((doc_id, hint.node_id, hint.node_score) for hint in section.hints)


def scores(tree: Outline) -> dict[str, float | None]:
    return {node.section.node_id: node.node_score for node in tree.nodes}


@pytest.mark.slow
@given(asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join))
@settings(max_examples=examples(12))
def test_a_section_has_the_same_score_in_search_and_outline(library: Engine, asked: str) -> None:
    found = run(library.search(asked, top_k=10))
    trees = {doc_id: scores(run(library.outline(doc_id, query=asked))) for doc_id, _, _ in shown(found)}
    trees |= {d.document.doc_id: scores(d) for d in run(library.outlines(asked, limit=2))}
    for doc_id, node_id, score in shown(found):
        assert trees[doc_id][node_id] == pytest.approx(score, abs=1e-9)


def test_expert_knowledge_scores_an_outline_as_it_scores_a_search(
    library: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expert = tmp_path / "expert.yaml"
    expert.write_text(EXPERT, encoding="utf-8")
    question = "What turnover did Corvane Optics have in 2023?"
    doc = "corvane-optics-2023-10k.pdf"
    worded, plain = (run(library.outline(doc, query=question, expert=one)) for one in (expert, "none"))
    assert scores(worded) != scores(plain)
    found = run(library.search(question, expert=expert))
    assert found.results[0].doc_name == doc and found.results[0].section.node_score > 0
    assert scores(worded)[found.results[0].section.node_id] == found.results[0].section.node_score
    [tree] = run(library.outlines(question, expert=expert, limit=1))
    assert (tree.document.name, scores(tree)) == (doc, scores(worded))

    home = ("--home", str(library.home))
    assert main([*home, "outline", doc, "--query", question, "--expert", str(expert), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["notes"] == []
    assert [node["node_score"] for node in told["nodes"]] == [
        node.node_score for node in worded.nodes if node.section.level == 1
    ]


def test_a_document_that_the_search_does_not_look_into_says_so(library: Engine) -> None:
    question = "dividend per share of Corvane Optics"
    assert "book.pdf" not in {document.doc_name for document in run(library.search(question)).documents}
    tree = run(library.outline("book.pdf", query=question))
    assert any("does not choose book.pdf" in note for note in tree.notes)
    alone = run(library.search(question, documents=["book.pdf"]))
    assert all(scores(tree)[node_id] == score for _, node_id, score in shown(alone))
    assert not any(
        "does not choose" in note for note in run(library.outline("corvane-optics-2023-10k", query=question)).notes
    )
