"""Where expert knowledge expands a question, and that it never lifts a document that is not named above one that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text import tokens
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import Card, Document, Hit, Section
from hybrid_core.types.results import SearchResult
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex import Engine, run
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import Content, children_of
from retrievers.documents.expansion_scope import ExpansionScope
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Router
from retrievers.pages.expansion_bounds import bounded, score_documents
from retrievers.pages.first_stage import expanded_hits
from retrievers.pages.scores import PageScores
from retrievers.query.expert import NO_EXPANSION, Expansion, read_expert
from tests.retrievers.pages.test_page_values import document

FIELD = Expansion({"weir": 0.5, "sluic": 0.5}, sources=("field",))
WORDS = ["lock", "weir", "sluic", "gate"]
PAGES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=4)


def typed(doc_id: str, kind: str) -> Document:
    return replace(document(doc_id), card=Card(type=kind))


def candidate(doc_id: str, kind: str, pages: Sequence[Sequence[str]], routing: float) -> CandidateDocument:
    body = TermCounts.build([tokens.counts(list(page)) for page in pages], [len(page) for page in pages])
    empty = TermCounts.build([{} for _ in pages], [0 for _ in pages])
    sections = (Section("0001", None, 1, "All", 1, len(pages)),)
    content = Content(doc_id, body, empty, sections, children_of(sections))
    return CandidateDocument(typed(doc_id, kind), content, 0.5 + 3 * routing, 0.5, routing, "")


def best(valued: Sequence[PageScores]) -> list[float]:
    return [float(one.values.max(initial=0.0)) for one in valued]


@pytest.mark.slow
@given(st.lists(st.tuples(PAGES, st.sampled_from(["fits", "other"]), st.sampled_from([0.0, 0.2, 0.6])), max_size=5))
def test_no_unnamed_document_passes_a_named_one(made: list[tuple[list[list[str]], str, float]]) -> None:
    scoring = ScoringConfig()
    candidates = [candidate(f"d{at}", kind, pages, named) for at, (pages, kind, named) in enumerate(made)]
    named = frozenset(c.document.doc_id for c in candidates if c.routing >= 0.4)
    if not candidates or not named:
        return
    expansion = ExpansionScope({"fits": FIELD}, named)
    asked = {"lock": 1.0, "gate": 1.0}
    own = score_documents(candidates, asked, ExpansionScope(), {}, {}, (), scoring, "weighted")
    expanded = score_documents(candidates, asked, expansion, {}, {}, (), scoring, "weighted")
    before, after = best(own), best(expanded)
    for n, kept in enumerate(candidates):
        for u, other in enumerate(candidates):
            if kept.document.doc_id in named and other.document.doc_id not in named and before[n] >= before[u]:
                assert after[n] >= after[u] - 1e-12
    for one in expanded:  # the parts add up to what they are parts of
        parts = sum(one.contributions.values())
        assert np.allclose(one.values, np.where(one.values > 0, parts, 0.0))


@given(st.lists(st.tuples(PAGES, st.sampled_from(["fits", "other"])), min_size=1, max_size=5))
def test_where_none_is_named_the_best_page_is_worth_what_the_question_says(
    made: list[tuple[list[list[str]], str]],
) -> None:
    scoring = ScoringConfig()
    candidates = [candidate(f"d{at}", kind, pages, 0.0) for at, (pages, kind) in enumerate(made)]
    asked = {"lock": 1.0, "gate": 1.0}
    own = score_documents(candidates, asked, ExpansionScope(), {}, {}, (), scoring, "weighted")
    expanded = score_documents(candidates, asked, ExpansionScope({"fits": FIELD}), {}, {}, (), scoring, "weighted")
    fits = [c.document.card.type == "fits" for c in candidates]
    before = max((b for b, f in zip(best(own), fits, strict=True) if f), default=0.0)
    after = max((b for b, f in zip(best(expanded), fits, strict=True) if f), default=0.0)
    if before > 0 and not all(fits):
        assert after == pytest.approx(before)


def test_bounds_are_given_to_named_documents_only() -> None:
    expansion = ExpansionScope({"fits": FIELD}, frozenset({"a"}))
    made = [candidate("a", "fits", [["lock"]], 0.6), candidate("b", "fits", [["lock"]], 0.0)]
    own = score_documents(made, {"lock": 1.0}, ExpansionScope(), {}, {}, (), ScoringConfig(), "weighted")
    lowered = [one.times(0.5) for one in own]
    kept = bounded(lowered, own, expansion)
    assert best(kept) == pytest.approx([best(own)[0], best(own)[1] / 2])
    assert expansion.of(made[1].document) is NO_EXPANSION and expansion.of(made[0].document) is FIELD


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
