"""The coarse pass: the best pages of the whole library in milliseconds, by words and by meaning."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.query import Query
from hybrid_core.types.documents import Document, Fusion, Hit
from hybrid_core.types.scoring import FirstStageScoring
from retrievers.pages.fusion import normalised, ranked, reciprocal_ranks, weighted
from retrievers.query.options import Meaning

Key = tuple[str, int]  # (doc_id, page)


def coarse_pass(
    index: VectorIndex,
    query: Mapping[int, float],
    meaning: Meaning,
    published: Mapping[str, Document],
    scope: frozenset[str] | None,
    scoring: FirstStageScoring,
    fusion: Fusion,
) -> list[Hit]:
    """At most ``scoring.hits`` pages of published versions, best first, within ``scope`` if given.

    ``query`` is {term hash: weight}. Without a vector a hit's score is its BM25; with one it is the
    weighted sum of BM25, scaled to 1 for the question's best, and nearness in meaning, or with
    ``fusion`` "rrf" the sum of their reciprocal ranks.
    """
    sparse = by_words(index, query, published, scope, scoring)
    near = by_meaning(index, meaning, published, scope, scoring, scoring.hits)
    return joined(sparse, near, scoring, fusion) if meaning.vector is not None else sparse


def by_words(
    index: VectorIndex,
    query: Mapping[int, float],
    published: Mapping[str, Document],
    scope: Collection[str] | None,
    scoring: FirstStageScoring,
) -> list[Hit]:
    """The best pages by BM25, at most ``scoring.hits``."""
    return _published(index.search(Query("bm25", _arrays(query), scoring.hits, scope)), published) if query else []


def joined(
    sparse: Sequence[Hit],
    by_near: tuple[Mapping[Key, Hit], Mapping[Key, float]],
    scoring: FirstStageScoring,
    fusion: Fusion,
) -> list[Hit]:
    """The hits of words and those of meaning in one order; ``by_near`` is what ``by_meaning`` gives."""
    hits, near = dict(by_near[0]), by_near[1]
    for hit in sparse:
        key = (hit.doc_id, hit.page)
        hits[key] = replace(hits[key], sparse=hit.score) if key in hits else hit
    if fusion == "rrf":
        fused = reciprocal_ranks([_scores(sparse), near], scoring.rrf_k)
    else:
        fused = weighted([(1.0, normalised(_scores(sparse))), (scoring.vectors, near)])
    return [replace(hits[key], score=fused[key]) for key in ranked(fused)[: scoring.hits]]


def by_meaning(
    index: VectorIndex,
    meaning: Meaning,
    published: Mapping[str, Document],
    scope: Collection[str] | None,
    scoring: FirstStageScoring,
    limit: int,
) -> tuple[dict[Key, Hit], dict[Key, float]]:
    """The pages nearest to a question by its vector, and by its learned term weights where it has them: at most
    ``limit`` by each, with their scores; and how near each page is, 0 to 1.

    Both kinds of nearness are scaled within the question and added with the weights 1 and
    ``scoring.term_weights``, whose ratio is that of BGE-M3's authors (Chen et al. 2024).
    """
    if meaning.vector is None:
        return {}, {}
    dense = _published(index.search(Query("dense", meaning.vector, limit, scope)), published)
    hits = {(hit.doc_id, hit.page): hit for hit in dense}
    if not meaning.learned:
        return hits, similarity(dense)
    learned = _published(index.search(Query("learned-sparse", _arrays(meaning.learned), limit, scope)), published)
    for hit in learned:
        key = (hit.doc_id, hit.page)
        hits[key] = replace(hits[key], learned=hit.score) if key in hits else hit
    near = weighted([(1.0, similarity(dense)), (scoring.term_weights, normalised(_scores(learned)))])
    return hits, {key: score / (1 + scoring.term_weights) for key, score in near.items()}


def similarity(hits: Sequence[Hit]) -> dict[Key, float]:
    """Dense scores scaled to 1 for the best and 0 for the last of the hits.

    Cosines of one question lie in a narrow band: what tells is how far above the crowd a page stands.
    """
    if not hits:
        return {}
    best, last = hits[0].score, hits[-1].score
    width = best - last
    return {(hit.doc_id, hit.page): (hit.score - last) / width if width > 0 else 1.0 for hit in hits}


def _arrays(weights: Mapping[int, float]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    return np.fromiter(weights, np.uint32, len(weights)), np.fromiter(weights.values(), np.float32, len(weights))


def _scores(hits: Sequence[Hit]) -> dict[Key, float]:
    return {(hit.doc_id, hit.page): hit.score for hit in hits}


def _published(hits: Sequence[Hit], published: Mapping[str, Document]) -> list[Hit]:
    return [h for h in hits if h.doc_id in published and published[h.doc_id].content_id == h.content_id]
