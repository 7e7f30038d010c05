"""Our BM25, in memory and inside Qdrant Edge, against independent implementations on real text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from hybrid_core.store.index.edge.store import open_edge
from hybrid_core.store.index.index import WeightedIndex
from hybrid_core.store.index.points import Point, Query
from hybrid_core.text import tokens
from hybrid_core.text.bm25 import Bm25, idf
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Change
from hybrid_core.types.scoring import PageScoring
from retrievers.features.pages import page_scores
from retrievers.trees.content import Content

K1, B = 1.2, 0.75
LICENCE = Path(__file__).parents[3] / "LICENSE"  # long, real, and in every checkout
QUERIES = ("source code conveying object form", "patent license contributor", "network server interaction", "zebra")


@pytest.fixture(scope="module")
def passages() -> list[list[str]]:
    """The licence's paragraphs as terms."""
    found = [tokens.tokenise(p) for p in LICENCE.read_text(encoding="utf-8").split("\n\n")]
    return [terms for terms in found if terms]


def counts(passages: Iterable[list[str]]) -> TermCounts:
    listed = list(passages)
    return TermCounts.build([tokens.counts(p) for p in listed], [len(p) for p in listed])


def query(written: str) -> dict[int, float]:
    return {tokens.term_hash(term): 1.0 for term in tokens.tokenise(written)}


def oracle(passages: list[list[str]]) -> bm25s.BM25:
    made = bm25s.BM25(method="lucene", k1=K1, b=B)
    made.index(passages, show_progress=False)
    return made


@pytest.mark.parametrize("written", QUERIES)
def test_page_scores_equal_bm25s_lucene(passages: list[list[str]], written: str) -> None:
    content = Content("c", counts(passages), counts([[] for _ in passages]), (), ((),))
    ours = page_scores(content, query(written), PageScoring(K1, B, headings=0.0))
    theirs = oracle(passages).get_scores(list(dict.fromkeys(tokens.tokenise(written))))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


class Passages:
    """A library of one document whose pages are the passages (a PointSource)."""

    def __init__(self, passages: list[list[str]]) -> None:
        self._counts = counts(passages)
        self._bm25 = Bm25(K1, B, float(self._counts.lengths.mean()))

    def position(self) -> int:
        return 1

    def mark(self, seq: int) -> int | None:
        return 0 if seq <= self.position() else None

    def changes(self, after: int) -> list[Change]:
        return [Change(1, "doc", "content")] if after < 1 else []

    def published(self, doc_ids: object = None) -> list[tuple[str, str]]:
        return [("doc", "content")]

    def points(self, doc_id: str, content_id: str) -> list[Point]:
        return [
            Point(doc_id, content_id, page, terms, self._bm25.weights(tf, float(self._counts.lengths[page - 1])))
            for page, (terms, tf) in enumerate(self._counts.page_vectors(), 1)
        ]

    def expected_vectors(self) -> int:
        return self._counts.page_count

    def of(self, terms: Sequence[int]) -> tuple[int, np.ndarray]:
        return self._counts.page_count, self._counts.occurrences(terms).holding


@pytest.mark.parametrize("written", QUERIES)
def test_edge_scores_equal_bm25s_lucene(passages: list[list[str]], written: str, tmp_path: Path) -> None:
    source = Passages(passages)
    index = open_edge(tmp_path / "edge", source, {"points": 1})
    terms = query(written)
    hits = WeightedIndex(index, source).search(Query("bm25", (list(terms), list(terms.values())), 1000))
    index.close()
    theirs = oracle(passages).get_scores(list(dict.fromkeys(tokens.tokenise(written))))
    assert {hit.page - 1 for hit in hits} == set(np.flatnonzero(theirs))
    for hit in hits:
        assert hit.score == pytest.approx(float(theirs[hit.page - 1]), rel=5e-4), "but for rounded weights"


@pytest.mark.parametrize("written", QUERIES[:3])
def test_ranking_agrees_with_rank_bm25_where_its_idf_is_not_floored(passages: list[list[str]], written: str) -> None:
    """Okapi's idf differs, so only the order for one rare term at a time is compared."""
    okapi = BM25Okapi(passages, k1=K1, b=B)
    content = Content("c", counts(passages), counts([[] for _ in passages]), (), ((),))
    for term in tokens.tokenise(written):
        holding = sum(term in p for p in passages)
        if not 1 < holding < len(passages) / 3:
            continue
        ours = page_scores(content, {tokens.term_hash(term): 1.0}, PageScoring(K1, B, headings=0.0))
        theirs = okapi.get_scores([term])
        held = np.flatnonzero(ours)
        assert list(held) == list(np.flatnonzero(theirs))
        assert list(np.argsort(-ours[held].round(6), kind="stable")) == list(
            np.argsort(-theirs[held].round(6), kind="stable")
        )


def test_by_hand() -> None:
    # tf 2 in a page of 6 words, average 4: 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 6 / 4)) = 2 / 3.65
    weight = Bm25(1.2, 0.75, 4.0).weights(np.array([2], np.uint16), 6.0)
    assert weight[0] == pytest.approx(2 / 3.65, rel=1e-6)
    assert idf(10, 2) == pytest.approx(np.log(1 + 8.5 / 2.5))


@given(st.integers(1, 10_000), st.data())
def test_idf_is_positive_and_falls_with_use(pages: int, data: st.DataObject) -> None:
    holding = data.draw(st.integers(0, pages - 1))
    assert idf(pages, holding) > idf(pages, holding + 1) > 0


@given(st.lists(st.dictionaries(st.integers(0, 2**32 - 1), st.integers(1, 400), max_size=12), min_size=1, max_size=12))
def test_term_counts_survive_their_bytes(pages: list[dict[int, int]]) -> None:
    made = TermCounts.build(pages, [sum(p.values()) for p in pages])
    read = TermCounts.from_bytes(made.to_bytes())
    for number, (terms, tf) in enumerate(read.page_vectors()):
        assert dict(zip(terms.tolist(), tf.tolist(), strict=True)) == {t: min(c, 255) for t, c in pages[number].items()}
    for term in {t for p in pages for t in p} | {7}:
        found = read.occurrences([7, term])
        held, tf = found.pages[found.terms == 1], found.counts[found.terms == 1]
        assert found.holding.tolist()[1] == len(held)
        assert Counter(dict(zip(held.tolist(), tf.tolist(), strict=True))) == Counter(
            {n: min(p[term], 255) for n, p in enumerate(pages) if term in p}
        )


@pytest.mark.parametrize("cut", [0, 3, 15, 40, -1])
def test_damaged_term_counts_are_refused(cut: int) -> None:
    data = TermCounts.build([{1: 2, 9: 1}, {9: 4}], [3, 4]).to_bytes()
    with pytest.raises(ValueError, match=r"cut short|damaged"):
        TermCounts.from_bytes(data[:cut])
