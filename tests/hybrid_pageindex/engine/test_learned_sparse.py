"""What an embedder gives beyond vectors, through the engine: learned term weights, and reranking token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from hybrid_core.embed.hashed import HashedM3Embedder
from hybrid_core.errors import ModelError, UsageError
from hybrid_core.store.catalog.embeddings import content_texts
from hybrid_core.store.index.points import Query
from hybrid_core.types.results import SearchResult
from hybrid_core.types.scoring import CoarseScoring, ScoringConfig
from hybrid_pageindex import Engine, run
from retrievers.candidates.coarse_pass import by_meaning
from retrievers.query.question import QuestionEmbedding
from tests import pdfs, tiny_models
from tests.homes import OwnHome, settings_of

QUESTION = "This part deals with estuaries"
PAGES = 25


@pytest.fixture(scope="module", params=["hashed-m3", "bge-m3"])
def spec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "hashed-m3":
        return "hashed-m3:64"
    pytest.importorskip("FlagEmbedding", reason="the extra bge-m3 is not installed")
    return f"bge-m3:{tiny_models.bge_m3(tmp_path_factory.mktemp('bge'))}"


@pytest.fixture(scope="module")
def home(spec: str, tmp_path_factory: pytest.TempPathFactory, databases: Callable[[], str]) -> OwnHome:
    """The home of a library that the embedder has embedded; tests must not change it."""
    folder = tmp_path_factory.mktemp("home")
    home = OwnHome(folder / "home", databases())
    engine = Engine(settings=home.settings(embedding_device="cpu"))
    run(engine.index(pdfs.numbered(folder / "estuaries.pdf", PAGES, "estuaries")))
    report = run(engine.models.embed(spec))
    assert report is not None and report.serving and report.vectors >= 2 * PAGES
    engine.close()
    return home


@pytest.fixture
def embedded(home: OwnHome) -> Iterator[Engine]:
    made = Engine(settings=home.settings(embedding_device="cpu"))
    yield made
    made.close()


@pytest.fixture
def reranking(home: OwnHome) -> Iterator[Engine]:
    made = Engine(settings=home.settings(embedding_device="cpu", rerank="multi-vector"))
    yield made
    made.close()


def by_hand(engine: Engine, spec: str, question: str) -> tuple[dict[int, float], dict[int, float]]:
    """(page: best product of vectors, page: best product of term weights), from the model itself."""
    model = engine._parts().embedders.load(spec)
    assert isinstance(model, HashedM3Embedder) or spec.startswith("bge-m3")
    with engine._catalog().snapshot() as snapshot:
        (content,) = snapshot.published("default").values()
        texts = content_texts(snapshot, content, chunks=True)
    (asked,), (tokens,) = model.embed_both([question], "query")  # type: ignore[attr-defined]
    vectors, weights = model.embed_both([text.text for text in texts], "document")  # type: ignore[attr-defined]
    dense: dict[int, float] = {}
    learned: dict[int, float] = {}
    for text, vector, held in zip(texts, vectors, weights, strict=True):
        shared = tokens.keys() & held.keys()
        dense[text.page] = max(dense.get(text.page, -1.0), float(asked @ vector))
        if shared:
            score = sum(tokens[token] * held[token] for token in shared)
            learned[text.page] = max(learned.get(text.page, 0.0), score)
    return dense, learned


def test_receipts_say_what_vectors_and_term_weights_score(embedded: Engine, spec: str) -> None:
    found = run(embedded.search(QUESTION, top_k=PAGES))
    dense, learned = by_hand(embedded, spec, QUESTION)
    assert found.embedded_share == 1 and len(found.results) == PAGES and len(learned) > 2
    for result in found.results:
        assert result.receipt.dense == pytest.approx(dense[result.page], abs=2e-3)
        receipt = result.receipt
        assert (receipt.learned_sparse is None) == (result.page not in learned)
        assert receipt.learned_sparse == pytest.approx(learned.get(result.page, receipt.learned_sparse), abs=5e-4)
        parts = receipt.page + receipt.document + receipt.structure
        assert parts == pytest.approx(result.score, abs=2e-4)
        assert receipt.rerank is None
    (tokens,) = embedded._parts().embedders.load(spec).embed_both([QUESTION], "query")[1]  # type: ignore[attr-defined]
    index = embedded._indexes().ready("default")
    hits = index.search(Query("learned-sparse", (list(tokens), list(tokens.values())), 2 * PAGES))
    assert {hit.page: hit.score for hit in hits} == pytest.approx(learned, rel=5e-3)
    assert run(embedded.admin.doctor()).ok


def test_a_page_that_only_term_weights_find_is_found(embedded: Engine, spec: str) -> None:
    """BM25 is asked nothing: the words are misspelt, or its side is left out. The nearest vector is another page's."""
    misspelt = [word[:7] + "q" + word[8:] for word in (pdfs.landmark("estuaries", n) for n in range(2, PAGES))]
    for question in [*misspelt, *tiny_models.SENTENCES]:
        dense, learned = by_hand(embedded, spec, question)
        best, nearest = max(learned, key=learned.__getitem__, default=0), max(dense, key=dense.__getitem__)
        if best not in (0, nearest):
            break
    else:
        pytest.fail("vectors and term weights agree on every question, so that this says nothing")
    index = embedded._indexes().ready("default")
    model = embedded._parts().embedders.load(spec)
    (vector,), (tokens,) = model.embed_both([question], "query")  # type: ignore[attr-defined]
    published = {document.doc_id: document.content_id for document in run(embedded.documents.list())}
    hits, _ = by_meaning(index, QuestionEmbedding(1, vector), published, None, CoarseScoring(), 1)
    assert {page for _, page in hits} == {nearest}
    hits, near = by_meaning(index, QuestionEmbedding(1, vector, learned=tokens), published, None, CoarseScoring(), 1)
    assert {page: hit.dense is None for (_, page), hit in hits.items()} == {nearest: False, best: True}
    assert {page: round(score, 6) for (_, page), score in near.items()} == {
        nearest: round(1 / 1.3, 6), best: round(0.3 / 1.3, 6)
    }  # fmt: skip
    assert index.search(Query("learned-sparse", (list(tokens), list(tokens.values())), 1))[0].page == best
    if spec.startswith("hashed"):
        assert pdfs.landmark("estuaries", best)[:7] == question[:7], "the page of the word that was meant"
    found = run(embedded.search(question, top_k=PAGES))
    assert best in {result.page for result in found.results}


def test_term_weights_come_and_go_with_their_embedder(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scores() -> set[bool]:
        found = run(engine.search(QUESTION))
        assert found.embedded_share == 1 and run(engine.admin.doctor()).ok
        assert all(result.receipt.dense is not None for result in found.results)
        return {result.receipt.learned_sparse is not None for result in found.results}

    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 6, "estuaries")))
    run(engine.models.embed("hashed:64"))
    assert scores() == {False}
    real = HashedM3Embedder.embed_both

    def gone(*_: object) -> None:
        raise ModelError("the model went away")

    monkeypatch.setattr(HashedM3Embedder, "embed_both", gone)
    with pytest.raises(ModelError, match="went away"):
        run(engine.models.embed("hashed-m3:64"))
    assert scores() == {False}, "the old one serves until the new one is complete"
    monkeypatch.setattr(HashedM3Embedder, "embed_both", real)
    report = run(engine.models.embed())
    assert report is not None and (report.embedder, report.serving) == ("hashed-m3:64", True)
    assert scores() == {True}
    run(engine.models.embed("hashed:64"))
    assert scores() == {False}


# --- reranking ---


def order(found: SearchResult) -> list[int]:
    return [result.page for result in found.results]


def test_the_best_pages_are_ordered_by_the_comparison_too(embedded: Engine, reranking: Engine, spec: str) -> None:
    question = f"{pdfs.landmark('estuaries', 7)} in the estuaries"
    plain, again = (run(one.search(question, top_k=PAGES)) for one in (embedded, reranking))
    compared = ScoringConfig().rerank.multi_vector_pages
    model = embedded._parts().embedders.load(spec)
    pages = run(embedded.pages("estuaries.pdf", order(plain)))
    texts = {page.page: page.text for page in pages}
    raw = model.colbert_scores(question, [texts[page] for page in order(plain)[:compared]])  # type: ignore[attr-defined]
    gains = dict(zip(order(plain), ScoringConfig().rerank.multi_vector * (raw - raw.min()) / np.ptp(raw), strict=False))
    expected = {result.page: result.score + gains.get(result.page, 0.0) for result in plain.results}
    assert order(again) != order(plain) and set(order(again)) == set(order(plain))
    assert order(again)[compared:] == order(plain)[compared:]
    for result in again.results:
        receipt = result.receipt
        assert result.score == pytest.approx(expected[result.page], abs=2e-4)
        assert receipt.rerank == (pytest.approx(gains[result.page], abs=2e-4) if result.page in gains else None)
        parts = receipt.page + receipt.document + receipt.structure + (receipt.rerank or 0)
        assert parts == pytest.approx(result.score, abs=3e-4)
    scores = [result.score for result in again.results]
    assert scores == sorted(scores, reverse=True)
    assert "rerank" in again.timings_ms and "rerank" not in plain.timings_ms
    assert run(reranking.search(question, top_k=PAGES)).results == again.results
    assert order(run(reranking.search(question, top_k=5))) == order(again)[:5]


def test_an_embedder_that_fails_to_compare_is_said(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 6, "estuaries")))
    run(engine.models.embed("hashed-m3:64"))
    plain = run(engine.search(QUESTION))
    engine.close()

    def gone(*_: object) -> None:
        raise ModelError("the model went away")

    monkeypatch.setattr(HashedM3Embedder, "colbert_scores", gone)
    again = Engine(settings=settings_of(engine.home, rerank="multi-vector"))
    found = run(again.search(QUESTION))
    again.close()
    assert "the model failed, so the results were not reranked: the model went away" in found.notes
    assert found.results == plain.results


def test_reranking_needs_an_embedder_that_can(tmp_path: Path) -> None:
    engine = Engine(settings=settings_of(tmp_path / "home", rerank="multi-vector"))
    run(engine.index(pdfs.numbered(tmp_path / "a.pdf", 3, "estuaries")))
    with pytest.raises(UsageError, match=r"library 'default' has no embedder.*Embed the library with BGE-M3"):
        run(engine.search(QUESTION))
    run(engine.models.embed("hashed:64"))
    with pytest.raises(UsageError, match=r"hashed:64 does not make them.*set rerank to none"):
        run(engine.search(QUESTION))
    assert run(engine.outline("a.pdf", query=QUESTION)).nodes
    engine.close()
