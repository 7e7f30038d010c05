"""The coarse pass: the best pages of the whole library in milliseconds, by words and by meaning."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hybrid_core.store.vectors import VectorIndex
from hybrid_core.types import Document, Hit
from retrievers.fusion import normalised, ranked, weighted
from retrievers.options import Meaning, Weights

Key = tuple[str, int]  # (doc_id, page)


def coarse_pass(
    index: VectorIndex,
    query: Mapping[int, float],
    meaning: Meaning,
    published: Mapping[str, Document],
    scope: frozenset[str] | None,
    weights: Weights,
) -> list[Hit]:
    """At most ``weights.coarse_hits`` pages of published versions, best first, within ``scope`` if given.

    ``query`` is {term hash: weight}. Without a vector a hit's score is its BM25; with one it is the
    weighted sum of BM25 and similarity, each scaled to 1 for the question's best.
    """
    sparse = _published(_by_words(index, query, weights.coarse_hits, scope), published)
    if meaning.vector is None:
        return sparse
    dense = _published(index.search_dense(meaning.vector, weights.coarse_hits, scope), published)
    hits = {(hit.doc_id, hit.page): hit for hit in dense}
    for hit in sparse:
        key = (hit.doc_id, hit.page)
        hits[key] = replace(hits[key], sparse=hit.score) if key in hits else hit
    fused = weighted(
        [
            (1.0, normalised({(hit.doc_id, hit.page): hit.score for hit in sparse})),
            (weights.dense_coarse, similarity(dense)),
        ]
    )
    return [replace(hits[key], score=fused[key]) for key in ranked(fused)[: weights.coarse_hits]]


def similarity(hits: Sequence[Hit]) -> dict[Key, float]:
    """Dense scores scaled to 1 for the best and 0 for the last of the hits.

    Cosines of one question lie in a narrow band: what tells is how far above the crowd a page stands.
    """
    if not hits:
        return {}
    best, last = hits[0].score, hits[-1].score
    width = best - last
    return {(hit.doc_id, hit.page): (hit.score - last) / width if width > 0 else 1.0 for hit in hits}


def _by_words(index: VectorIndex, query: Mapping[int, float], limit: int, scope: Collection[str] | None) -> list[Hit]:
    if not query:
        return []
    terms = np.fromiter(query, np.uint32, len(query))
    return index.search(terms, np.fromiter(query.values(), np.float32, len(query)), limit, scope)


def _published(hits: Sequence[Hit], published: Mapping[str, Document]) -> list[Hit]:
    return [h for h in hits if h.doc_id in published and published[h.doc_id].content_id == h.content_id]
