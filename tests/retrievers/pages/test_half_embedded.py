"""Documents with and without vectors beside each other: nothing changes where all have them, or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pytest

from hybrid_core.text import tokens
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import Fusion, Section
from hybrid_core.types.scoring import ScoringConfig
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import Content, children_of, per_page
from retrievers.documents.fusion import normalised, reciprocal_ranks
from retrievers.pages.first_stage import Key
from retrievers.pages.page_score import PageQuery
from retrievers.pages.page_values import HitPlaces, score_pages, value_pages
from retrievers.pages.scores import PageScores
from tests.retrievers.made_documents import document

PAGES = ("weir weir gate", "lock", "weir lock", "gate lock weir sluice")
QUERY = PageQuery({"weir": 1.0, "sluice": 1.0})
SCORING = ScoringConfig()
SIMILAR = {("a", 1): 0.3, ("a", 2): 1.0, ("b", 3): 0.7, ("b", 4): 0.1}
COARSE = {("a", 1): 1.0, ("a", 4): 0.6, ("b", 1): 0.9, ("b", 4): 0.5}


def candidate(doc_id: str) -> CandidateDocument:
    words = [page.split() for page in PAGES]
    body = TermCounts.build([tokens.counts(page) for page in words], [len(page) for page in words])
    sections = (Section("0001", None, 1, "Locks", 1, len(PAGES)),)
    empty = TermCounts.build([{}] * len(PAGES), [0] * len(PAGES))
    content = Content(doc_id, body, empty, sections, children_of(sections))
    return CandidateDocument(document(doc_id), content, 1.0, 1.0, 0.0, "")


def values(
    similar: Mapping[Key, float],
    unembedded: Collection[str],
    fusion: Fusion = "weighted",
    coarse: Mapping[Key, float] = COARSE,
) -> list[PageScores]:
    made = [candidate("a"), candidate("b")]
    raw = [score_pages(one, QUERY, SCORING.pages) for one in made]
    return value_pages(made, [QUERY] * 2, HitPlaces.of(made, coarse), raw, similar, unembedded, SCORING, fusion)


def expected(similar: Mapping[Key, float], fusion: Fusion) -> list[list[float]]:
    """The formula without a word about documents that lack vectors, in the order of its operations."""
    made, weights = [candidate("a"), candidate("b")], SCORING.pages
    raw = [score_pages(one, QUERY, weights) for one in made]
    dense = weights.vectors if similar else 0.0
    total = 1.0 + weights.first_stage_unnamed + dense + weights.document_unnamed + weights.structure
    best = max(float(scores.max()) for scores in raw)
    words = {
        (one.document.doc_id, at + 1): float(scores[at])
        for one, scores in zip(made, raw, strict=True)
        for at in np.flatnonzero(scores).tolist()
    }
    ranks = normalised(reciprocal_ranks([words, similar], SCORING.first_stage.rrf_k))
    found = []
    for one, place, scores in zip(made, HitPlaces.of(made, COARSE), raw, strict=True):
        doc_id = one.document.doc_id
        near = per_page(one.content, {page: score for (doc, page), score in similar.items() if doc == doc_id})
        by_rank = per_page(one.content, {page: score for (doc, page), score in ranks.items() if doc == doc_id})
        ranked = fusion == "rrf" and bool(similar)
        spoken = (1.0 + dense) * by_rank if ranked else scores / best + dense * near
        own = (spoken + weights.first_stage_unnamed * place.library * (spoken > 0)) / total
        from_document = weights.document_unnamed * one.score / (1.0 + SCORING.documents.cards) / total
        structure = weights.structure * place.structure / total
        found.append(np.where(own > 0, own + from_document + structure, 0.0).tolist())
    return found


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
@pytest.mark.parametrize("similar", [SIMILAR, {}], ids=["all embedded", "none embedded"])
def test_where_all_or_none_have_vectors_every_digit_stays(similar: Mapping[Key, float], fusion: Fusion) -> None:
    assert [one.values.tolist() for one in values(similar, (), fusion)] == expected(similar, fusion)


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_where_no_document_looked_into_has_vectors_every_digit_stays(fusion: Fusion) -> None:
    alone = values({}, ("a", "b"), fusion)
    assert [one.values.tolist() for one in alone] == expected({}, fusion)


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_a_document_without_vectors_keeps_its_order_and_is_not_pushed_aside(fusion: Fusion) -> None:
    near = {key: score for key, score in SIMILAR.items() if key[0] == "a"}
    half, without = values(near, ("b",), fusion)[1].values, values({}, ())[1].values
    assert np.argsort(-half, kind="stable").tolist() == np.argsort(-without, kind="stable").tolist()
    pushed = values(near, (), fusion)[1].values
    assert (half[half > 0] > pushed[half > 0]).all()


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_equal_documents_are_worth_the_same_where_similarity_agrees_with_words(fusion: Fusion) -> None:
    """Two copies, of which one has vectors that say what its words say."""
    raw = score_pages(candidate("a"), QUERY, SCORING.pages)
    agreeing = {("a", at + 1): float(raw[at] / raw.max()) for at in np.flatnonzero(raw).tolist()}
    coarse = {("a", page): score for (_, page), score in agreeing.items()}
    embedded, other = values(
        agreeing, ("b",), fusion, {**coarse, **{("b", page): s for (_, page), s in coarse.items()}}
    )
    if fusion == "weighted":
        assert other.values == pytest.approx(embedded.values)
    assert other.values.max() == pytest.approx(embedded.values.max(), rel=0.02)
