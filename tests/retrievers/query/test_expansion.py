"""Where expert knowledge expands a question, and that it never lifts a document that is not named above one that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.types.documents import Card, Document, Hit
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from retrievers.candidates.coarse_pass import expanded_hits
from retrievers.candidates.documents import ExpansionScope
from retrievers.candidates.library import LibraryView
from retrievers.candidates.router import Router
from retrievers.query.expert import Expansion, read_expert
from tests.retrievers.made_documents import document

FIELD = Expansion({"weir": 0.5, "sluic": 0.5}, sources=("field",))


def typed(doc_id: str, kind: str) -> Document:
    return replace(document(doc_id), card=Card(type=kind))


def test_added_hits_stand_where_the_best_of_their_documents_stood() -> None:
    own = [Hit("other", "c", 1, 9.0), Hit("fits", "c", 1, 6.0), Hit("fits", "c", 2, 4.0)]
    added = [Hit("fits", "c", 3, 30.0), Hit("fits", "c", 1, 15.0), Hit("fits", "c", 4, 2.0)]
    expanded = expanded_hits(own, added, {"fits"}, 3)
    assert [(hit.doc_id, hit.page, hit.score) for hit in expanded] == [("other", 1, 9.0), ("fits", 3, 6.0)]
    assert [hit.page for hit in expanded_hits(own, added, {"fits"}, 10)] == [1, 3, 1, 4]
    assert expanded_hits([], added, {"fits"}, 10) == added
    assert expanded_hits(own, [], {"fits"}, 10) == own[:1]


def test_documents_are_grouped_by_what_they_hear() -> None:
    documents = {d.doc_id: d for d in (typed("a", "fits"), typed("b", "other"), typed("c", "fits"), typed("d", ""))}
    view = LibraryView(1, documents, Router({}))
    other = Expansion({"x": 1.0}, sources=("other",))
    assert ExpansionScope({"fits": FIELD}).groups(view, None) == [(FIELD, frozenset("ac"))]
    assert ExpansionScope({"fits": FIELD}).groups(view, frozenset("ab")) == [(FIELD, frozenset("a"))]
    assert ExpansionScope({"fits": FIELD}).groups(view, frozenset("ac")) == [(FIELD, None)]
    assert ExpansionScope({"fits": FIELD}, frozenset("cd")).groups(view, None) == [(FIELD, frozenset("c"))]
    assert ExpansionScope({"fits": FIELD}, frozenset("d")).groups(view, None) == []
    assert ExpansionScope({"fits": FIELD, "other": other}).groups(view, None) == [
        (FIELD, frozenset("ac")), (other, frozenset("b")),
    ]  # fmt: skip


def test_what_is_heard_is_in_one_order_in_every_process() -> None:
    expert = read_expert("expand: [{when: fees, phrases: [costs]}]", "mine")
    kinds = frozenset(map(str, range(50)))  # which another process has in another order
    assert list(expert.expand("the fees", kinds)) == sorted(kinds)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A report, an agreement and a brochure, each with a page that the other fields' words would find."""
    folder = tmp_path_factory.mktemp("mixed")
    texts = {
        "Corvane 2023 Annual Report.md": "# Corvane annual report\n\nThe total revenue of the year was 12.\n\n"
        "# Statement of operations\n\nNet sales were 12 and net revenues 11.\n\n"
        "# Law\n\nGoverned by the laws of the state; jurisdiction of the courts.",
        "Tarn Supply Agreement.md": "# Supply agreement\n\nThis agreement is made by Tarn Ltd and Ostrow Ltd.\n\n"
        "# Governing law\n\nThis agreement is governed by and construed in accordance with the laws of the state of "
        "Ohio, without regard to conflict of laws. The courts have jurisdiction.\n\n# Sales\n\nNet sales are reported.",
        "camry_brochure.md": "# Camry\n\nThe camry comes with these options: a roof, a radio, a sun shade.\n\n"
        "# Colours\n\nRed, blue, green.",
        "Server manual.md": "# Configuration\n\nConfiguration: set the parameter and its default value. Options of the "
        "environment variable.\n\n# Monitoring\n\nMonitoring, alerts, metrics, logs, health check.",
    }
    for name, written in texts.items():
        (folder / name).write_text(written, encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index(folder))
    yield engine
    engine.close()


def ask(library: Engine, question: str, expert: str = "auto") -> SearchResult:
    return run(library.search(question, expert=expert))


def test_a_pack_is_heard_in_documents_of_its_kind_and_in_no_others(library: Engine) -> None:
    revenue = ask(library, "What was the total revenue?")
    assert revenue.expert == ("finance",) and revenue.results[0].doc_name == "Corvane 2023 Annual Report.md"
    law = ask(library, "Is there a governing law clause?")
    assert law.expert == ("contracts",) and law.results[0].doc_name == "Tarn Supply Agreement.md"
    for found, kind in ((revenue, "Annual Report"), (law, "Agreement")):
        own = set(ask(library, found.query, "none").results[0].receipt.terms)
        others = {term for page in found.results if kind not in page.doc_name for term in page.receipt.terms}
        plain = {term for page in ask(library, found.query, "none").results for term in page.receipt.terms}
        assert others <= plain | own


@pytest.mark.parametrize("question", ["what options does the camry have", "Which colours does the camry have?"])
def test_everyday_words_wake_nothing_and_the_named_document_leads(library: Engine, question: str) -> None:
    found = ask(library, question)
    assert found.expert == () and found.results[0].doc_name == "camry_brochure.md"


@pytest.mark.parametrize("question", ["What net sales does Tarn report?", "Which law governs the contract of Tarn?"])
def test_a_pack_for_any_document_does_not_outvote_the_named_one(library: Engine, question: str) -> None:
    plain, expanded = ask(library, question, "none"), ask(library, question, "finance,contracts")
    assert plain.results[0].doc_name == expanded.results[0].doc_name == "Tarn Supply Agreement.md"


def test_users_files_are_held_to_whole_words(library: Engine, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("expand:\n  - {when: venue, phrases: [governed by the laws]}\n", encoding="utf-8")
    assert ask(library, "What was the total revenue?", str(own)).expert == ()
    assert ask(library, "Which venue was named?", str(own)).expert == (str(own),)
