"""The stages of a search: one of one's own, one left out, each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_pageindex import STAGES, Engine, Outcome, Query, Ranking, inserted, run, stage, without
from retrievers.pipeline.state import stages_before

QUESTION = "How large were net sales and inventories in 2023?"


@stage("balance sheets")
def prefer_balance_sheets(ranking: Ranking) -> Ranking:
    """Pages on which a balance sheet begins gain a tenth."""
    gains = {}
    for visit in ranking.visits:
        sections = ranking.pages[visit.doc].content.sections
        if any(s.start_page == visit.page and "balance sheet" in s.title.lower() for s in sections):
            gains[visit.doc, visit.page] = 0.1
    return ranking.plus("balance sheets", gains)


@pytest.fixture
def engines(library: Engine, tmp_path: Path) -> Iterator[list[Engine]]:
    made: list[Engine] = []
    yield made
    for engine in made:
        engine.close()


def test_a_stage_of_ones_own_reorders_pages_and_stands_in_their_receipts(
    library: Engine, engines: list[Engine]
) -> None:
    usual = run(library.search(QUESTION, top_k=20))
    engines.append(Engine(library.home, stages=inserted(prefer_balance_sheets, "remaining", STAGES)))
    found = run(engines[0].search(QUESTION, top_k=20))
    before = {(page.doc_id, page.page): page for page in usual.results}
    gained = [page for page in found.results if page.receipt.contributions]
    assert gained and len(gained) < len(found.results) and "balance sheets" in found.timings_ms
    for page in found.results:
        added = page.receipt.contributions.get("balance sheets", 0.0)
        assert page.score == pytest.approx(before[page.doc_id, page.page].score + added, abs=2e-4)
    assert [page.score for page in found.results] == sorted((page.score for page in found.results), reverse=True)
    shapes = [page["receipt"] for page in found.to_dict()["results"]]
    assert {"balance sheets": 0.1} in [shape.get("contributions") for shape in shapes]
    assert not any("contributions" in page["receipt"] for page in usual.to_dict()["results"])


@pytest.mark.parametrize("name", [one.name for one in STAGES])
def test_a_stage_can_be_left_out(name: str, library: Engine, engines: list[Engine]) -> None:
    engines.append(Engine(library.home, stages=without(name, STAGES)))
    found = run(engines[0].search(QUESTION, effort="fast"))
    assert name not in found.timings_ms and found.query == QUESTION
    needed = {"question", "coarse", "gather", "pages", "walk", "selection", "results"}
    assert name in needed or len(found.results) == 5


def test_a_stage_reads_and_replaces_only_known_parts(library: Engine, engines: list[Engine]) -> None:
    with pytest.raises(UsageError, match="unknown parameter: pages"):

        @stage("odd")
        def odd(pages: object) -> Query:
            raise AssertionError(pages)

    @stage("noted")
    def noted(query: Query, outcome: Outcome) -> tuple[Query, Outcome]:
        return query, outcome.noted("a note of one's own", "")

    engines.append(Engine(library.home, stages=inserted(noted, "gather", STAGES)))
    assert "a note of one's own" in run(engines[0].search(QUESTION)).notes


def test_rows_are_checked_by_name() -> None:
    first = ["question", "coarse", "spelling", "routing", "gather", "pages"]
    assert [one.name for one in stages_before("walk", STAGES)] == first
    with pytest.raises(UsageError, match="The search has no stage 'balance sheets'"):
        without("balance sheets", STAGES)
    assert inserted(prefer_balance_sheets, "walk", STAGES)[7] is prefer_balance_sheets


def test_a_scored_outline_is_the_same_row_stopped_early(library: Engine, engines: list[Engine]) -> None:
    looked: list[str] = []

    @stage("look")
    def record_question(query: Query) -> Query:
        looked.append(query.request.question)
        return query

    engines.append(Engine(library.home, stages=inserted(record_question, "gather", STAGES)))
    tree = run(engines[0].outline("corvane-optics-2023-10k.pdf", query=QUESTION))
    assert looked == [QUESTION]
    scores = {node.section.node_id: node.node_score for node in tree.nodes}
    for page in run(engines[0].search(QUESTION, top_k=20)).results:
        if page.doc_name == "corvane-optics-2023-10k.pdf":
            assert scores[page.section.node_id] == page.section.node_score
