"""Which pages are returned: copies once, variety where asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.cards.document_types import document_types
from hybrid_core.errors import UsageError
from hybrid_core.text import tokens
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Section
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.experts import PACKS, find_expert
from retrievers.query.expert import pattern
from retrievers.ranking.selection import mmr
from retrievers.trees.content import Content, children_of, cosine, page_vector
from tests import pdfs

items = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(items, st.integers(1, 10))
def test_lambda_one_is_the_order_of_relevance(relevance: list[float], k: int) -> None:
    listed = list(enumerate(relevance))
    expected = sorted(range(len(relevance)), key=lambda at: (-relevance[at], at))[:k]
    assert mmr(listed, k, 1.0, lambda a, b: 1.0) == expected


@given(items, st.integers(1, 10), st.floats(0, 1), st.integers(0, 10**6))
def test_mmr_picks_each_item_once_and_the_best_first(relevance: list[float], k: int, lam: float, seed: int) -> None:
    table = np.random.default_rng(seed).random((len(relevance), len(relevance)))
    picked = mmr(list(enumerate(relevance)), k, lam, lambda a, b: float(table[a, b]))
    assert len(picked) == len(set(picked)) == min(k, len(relevance))
    if lam > 0.001:  # with less, rounding makes all values equal
        assert relevance[picked[0]] == max(relevance)


def test_mmr_by_hand() -> None:
    """b repeats a: at 0.5 c (0.6 - 0) goes before b (0.9 - 1)."""
    alike = {frozenset("ab"): 1.0}
    found = mmr([("a", 1.0), ("b", 0.9), ("c", 0.6)], 3, 0.5, lambda x, y: alike.get(frozenset((x, y)), 0.0))
    assert found == ["a", "c", "b"]
    with pytest.raises(ValueError, match="between 0 and 1"):
        mmr([("a", 1.0)], 1, 1.5, lambda x, y: 0.0)


@pytest.mark.parametrize("name", ["revenue.md", "2025.txt", "revenue-2025.md"])
@pytest.mark.parametrize("mmr_lambda", [0.0, 0.5])
def test_documents_that_only_their_names_match_can_be_varied(engine: Engine, name: str, mmr_lambda: float) -> None:
    """Their pages have the score 0."""
    run(engine.index(b"a b", name=name))
    run(engine.index(b"- -", name=f"copy-{name}"))
    assert run(engine.search("revenue 2025", mmr=mmr_lambda)).results


def test_page_vectors_have_unit_length_and_compare_words() -> None:
    pages = [
        tokens.counts(tokens.tokenise(t))
        for t in ("cash flows from operations", "cash flows from operations", "owls", "")
    ]
    counts = TermCounts.build(pages, [4, 4, 1, 0])
    one, same, other, blank = (page_vector(counts, number) for number in range(1, 5))
    assert cosine(one, same) == pytest.approx(1) and cosine(one, other) == 0 and blank == {}


def test_the_same_page_in_two_files_is_shown_once(engine: Engine, tmp_path: Path) -> None:
    """Two different files (one has a page more) that share their first pages."""
    short, long = pdfs.numbered(tmp_path / "short.pdf", 3, "fjords"), pdfs.numbered(tmp_path / "long.pdf", 4, "fjords")
    run(engine.index([short, long]))
    results = run(engine.search(pdfs.landmark("fjords", 2), top_k=10)).results
    first = results[0]
    assert first.page == 2 and [r.page for r in results].count(2) == 1
    other = "long.pdf" if first.doc_name == "short.pdf" else "short.pdf"
    assert first.also_in == (f"{other}, page 2",)


def test_a_heading_that_is_a_sentence_bears_no_role() -> None:
    titles = (
        "New taxes could harm our results of operations and our financial condition",
        "Management's Discussion and Analysis of Financial Condition and Results of Operations",
        "Results of operations",
    )
    sections = tuple(Section(f"{at:04}", None, 1, title, at, at) for at, title in enumerate(titles, 1))
    counts = TermCounts.build([{}, {}, {}], [0, 0, 0])
    content = Content("c", counts, counts, sections, children_of(sections))
    assert content.titled(pattern("results of operations", "test")) == sections[1:]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Books that share words and, two of them, pages; and filings, whose statements have roles."""
    folder = tmp_path_factory.mktemp("mixed")
    engine = Engine(folder / "home")
    (folder / "roles.yaml").write_text(
        "roles: {balance: balance sheet, second part: part 2, holders: shareholder, business: business}\n"
        "expand:\n"
        "  - {when: weirs|spare|locks, roles: [second part]}\n"
        "  - {when: sales|corvane|2023, roles: [balance, holders]}\n"
        "  - {when: training|dunlin, roles: [business, balance], phrases: [lenses]}\n"
    )
    books = [pdfs.numbered(folder / f"{n}.pdf", n, topic) for n, topic in ((23, "weirs"), (31, "weirs"), (27, "locks"))]
    run(engine.index([*books, *pdfs.fiscal_reports(folder)]))
    yield engine
    engine.close()


_ASKED = (
    "net sales", "inventories", "dividends paid", "capital expenditures", "Dunlin Freight", "Corvane", "2023",
    "Part 2 of weirs", "the supervisory board", "the training of new colleagues", "spare parts", "locks",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(_ASKED), min_size=1, max_size=4),
    st.integers(5, 30),
    st.sampled_from(["none", "roles.yaml"]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_asking_for_more_results_changes_none_of_the_first(mixed: Engine, words: list[str], n: int, name: str) -> None:
    question = " and ".join(words)
    expert = mixed.home.parent / name if name != "none" else name
    few, many = (run(mixed.search(question, top_k=k, expert=expert)).results for k in (n, 40))
    assert [(r.doc_id, r.page, r.score, r.receipt.verdict) for r in few] == [
        (r.doc_id, r.page, r.score, r.receipt.verdict) for r in many[:n]
    ]
    assert len({(r.doc_id, r.page) for r in many}) == len(many)


def test_headings_of_an_expert_count_in_headings_only(library: Engine, tmp_path: Path) -> None:
    expert = tmp_path / "expert.yaml"
    expert.write_text("expand:\n  - {when: wares, headings: [balance sheet], weight: 1}\n")
    asked = library.search("wares", expert=expert, documents=["dunlin-freight-2024-10k"], top_k=1)
    best = run(asked).results[0]
    assert (best.doc_name, best.page) == ("dunlin-freight-2024-10k.pdf", 4)


ASKED = {
    "finance": "What was the gross margin?",
    "contracts": "Which law governs the agreement? Governing law",
    "statutes-zh": "公司拖欠工资怎么办",
    "operations": "How do I configure the service?",
}


@pytest.mark.parametrize("pack", PACKS)
def test_packs_are_sound_and_speak_only_of_their_documents(pack: str) -> None:
    expert = find_expert(pack)
    assert len(expert.expansions) >= 10
    for expansion in expert.expansions:
        assert not expansion.when.search("") and expansion.phrases
        assert not re.search(r"\b(19|20)\d\d\b", " ".join(expansion.phrases)), "no pack knows a year"
    asked = expert.expand(ASKED[pack], [""])[""]
    assert asked.sources == (pack,) and asked.terms
    auto, kinds = (
        find_expert("auto"),
        {t for e in find_expert("auto").expansions if e.source == pack for t in e.documents},
    )
    assert kinds <= document_types().keys()
    heard = auto.expand(ASKED[pack], [*kinds, "", "minutes"])
    assert heard.keys() == kinds and all(advice.sources == (pack,) for advice in heard.values())
    assert find_expert("none").expand(ASKED[pack], kinds) == {}


def test_packs_join_and_say_that_they_helped(library: Engine, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("expand:\n  - {when: stocked, phrases: [inventories balance sheet]}\n")
    question = "How well stocked is Corvane, and what is its gross margin in 2023?"
    for expert, sources in ((None, ("finance",)), ("none", ()), (f"finance, {own}", ("finance", str(own)))):
        assert run(library.search(question, expert=expert)).expert == sources


def test_nicknames_of_the_users_own_file(tmp_path: Path, filings: list[Path]) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "names.yaml").write_text("Dunlin Freight Lines: [The Grey Goose]\n")
    (home / "config.yaml").write_text(f"aliases: {home / 'names.yaml'}\n")
    engine = Engine(home)
    run(engine.index(filings))
    best = run(engine.search("net sales of the grey goose in 2023")).results[0]
    assert best.doc_name == "dunlin-freight-2023-10k.pdf"
    (home / "names.yaml").write_text("Corvane Optics: [The Grey Goose]\n")  # taken up without a restart
    assert (
        run(engine.search("net sales of the grey goose in 2023")).results[0].doc_name == "corvane-optics-2023-10k.pdf"
    )
    (home / "names.yaml").write_text("- nothing\n")
    with pytest.raises(UsageError, match=r"names\.yaml: the file of aliases must map"):
        run(engine.search("net sales"))
    engine.close()


def test_unknown_experts_are_refused(library: Engine) -> None:
    with pytest.raises(UsageError, match=r"expert knowledge 'finanze' does not exist.*finance, contracts"):
        run(library.search("net sales", expert="finanze"))
