"""Words and meaning are added up as asked: by score, or by rank."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.types.results import PageFound
from hybrid_pageindex import Engine, run
from tests import pdfs
from tests.conftest import Cli
from tests.homes import settings_of

QUESTION = "What is the word for this page about the tides of bogs and fens?"


def _places(results: tuple[PageFound, ...]) -> list[tuple[str, int, float]]:
    return [(page.doc_name, page.page, page.score) for page in results]


def test_without_vectors_there_is_nothing_to_choose(library: Engine) -> None:
    question = "What were the net sales of Corvane Optics in fiscal 2023?"
    by_score, by_rank = (run(library.search(question, fusion=fusion)) for fusion in ("weighted", "rrf"))
    assert _places(by_score.results) == _places(by_rank.results)


def test_by_rank_the_receipt_shows_reciprocal_ranks(tmp_path: Path, cli: Cli) -> None:
    with_ranks = settings_of(tmp_path / "home", fusion="rrf")
    engine = Engine(settings=with_ranks)
    run(engine.index([pdfs.numbered(tmp_path / f"{topic}.pdf", 6, topic) for topic in ("bogs", "fens")]))
    run(engine.models.embed("hashed:64"))
    usual = run(engine.search(QUESTION, top_k=12))
    asked = run(engine.search(QUESTION, top_k=12, fusion="rrf"))
    weighted = run(engine.search(QUESTION, top_k=12, fusion="weighted"))
    assert _places(usual.results) == _places(asked.results) != _places(weighted.results)
    with closing(Engine(settings=replace(with_ranks, fusion="weighted"))) as by_score:
        assert by_score.search_now(QUESTION).results == weighted.results[:5]

    # All pages are hits of both kinds (the last by meaning has nearness 0, and no rank): a coarse score is a sum of two
    # reciprocal ranks of 1 to 12, over the best such sum.
    found = sorted(page.receipt.coarse or 0 for page in asked.results)
    sums = [1 / (60 + a) + 1 / (60 + b) for a in range(1, 13) for b in range(1, 13)]
    shares = {round(one / best, 4) for one in sums for best in sums if one <= best}
    assert len(found) == 12 and found[-1] == 1
    assert all(coarse in shares and coarse > 61 / 72 - 1e-4 for coarse in found[1:])
    assert sorted(page.receipt.coarse or 0 for page in weighted.results)[1] < 61 / 72
    engine.close()

    said = cli("search", QUESTION, "--fusion", "rrf", "--top-k", 12, "--json")
    assert [page["page"] for page in json.loads(said.stdout)["results"]] == [page.page for page in asked.results]
    assert cli("search", QUESTION, "--fusion", "borda").returncode == 2


def test_an_outline_is_scored_as_the_setting_says(tmp_path: Path) -> None:
    scores = []
    for fusion in ("weighted", "rrf"):
        engine = Engine(settings=settings_of(tmp_path / "home", fusion=fusion))
        run(engine.index(pdfs.bookmarked(tmp_path / "book.pdf")))
        run(engine.models.embed("hashed:64"))
        scores.append(
            [node.node_score for node in run(engine.outline("book", query="maintenance crew of the harbour")).nodes]
        )
        engine.close()
    assert scores[0] != scores[1]
    assert scores[0] == pytest.approx(scores[1], abs=3)
