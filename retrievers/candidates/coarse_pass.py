"""Coarse pass of a search: find the best pages of the whole library in milliseconds, by words and by vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.index.index import CountedDocument, WeightedIndex
from hybrid_core.store.index.points import PageIndex, Query, version_tag
from hybrid_core.text import tokens
from hybrid_core.types.documents import Fusion, Hit
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.scoring import CoarseScoring
from retrievers.candidates.documents import ExpansionScope, normalised, ranked, reciprocal_ranks, weighted
from retrievers.candidates.library import LibraryView
from retrievers.query.expert import NO_EXPANSION, Expansion
from retrievers.query.question import QuestionEmbedding
from retrievers.trees.contents import ContentCache

Key = tuple[str, int]  # (doc_id, page)
_COUNTED = 64  # maximum documents scored by their own term counts; for more, an index is faster


def joined(
    sparse: Sequence[Hit],
    by_near: tuple[Mapping[Key, Hit], Mapping[Key, float]],
    scoring: CoarseScoring,
    fusion: Fusion,
) -> list[Hit]:
    """Return one ranking of the hits by words (``sparse``) and the hits by vectors, best first.

    ``by_near`` is the result of ``by_meaning``.
    """
    hits, near = dict(by_near[0]), by_near[1]
    for hit in sparse:
        key = (hit.doc_id, hit.page)
        hits[key] = hits[key].with_words(hit.score) if key in hits else hit
    if fusion == "rrf":
        fused = reciprocal_ranks([_scores(sparse), near], scoring.rrf_k)
    else:
        fused = weighted([(1.0, normalised(_scores(sparse))), (scoring.vectors, near)])
    return [hits[key].scored(fused[key]) for key in ranked(fused)[: scoring.hits]]


def by_meaning(
    index: PageIndex,
    embedding: QuestionEmbedding,
    published: Mapping[str, str],
    scope: Collection[str] | None,
    scoring: CoarseScoring,
    limit: int,
) -> tuple[dict[Key, Hit], dict[Key, float]]:
    """Return the pages nearest to a question by its vector and its learned term weights, if any.

    The result contains at most ``limit`` hits by each method, and the combined similarity of each page, 0 to 1. The
    scores of both methods are scaled for each question and added with the weights 1 and ``scoring.term_weights``. This
    is the ratio that the authors of BGE-M3 use (Chen et al. 2024).
    """
    if embedding.vector is None:
        return {}, {}
    dense = of_published(index.search(Query("dense", embedding.vector, limit, scope)), published)
    hits = {(hit.doc_id, hit.page): hit for hit in dense}
    if not embedding.learned:
        return hits, similarity(dense)
    learned = of_published(index.search(Query("learned-sparse", _arrays(embedding.learned), limit, scope)), published)
    for hit in learned:
        key = (hit.doc_id, hit.page)
        hits[key] = hits[key]._replace(learned=hit.score) if key in hits else hit
    near = weighted([(1.0, similarity(dense)), (scoring.term_weights, normalised(_scores(learned)))])
    return hits, {key: score / (1 + scoring.term_weights) for key, score in near.items()}


def similarity(hits: Sequence[Hit]) -> dict[Key, float]:
    """Return the vector scores of hits by page, scaled to 1 for the best and 0 for the last.

    The cosines of one question are close together, so only their differences carry information.
    """
    if not hits:
        return {}
    best, last = hits[0].score, hits[-1].score
    width = best - last
    return {(hit.doc_id, hit.page): (hit.score - last) / width if width > 0 else 1.0 for hit in hits}


@dataclass(frozen=True, slots=True)
class CoarsePass:
    """The first stage of the search for one question.

    ``terms`` are the question's own words; expert terms are added for the documents to which they apply.
    """

    index: WeightedIndex
    terms: Mapping[str, float]
    expansion: ExpansionScope
    embedding: QuestionEmbedding
    view: LibraryView
    request: SearchRequest
    contents: Contents
    cache: ContentCache

    def hits(self, scope: frozenset[str] | None) -> tuple[list[Hit], list[Hit]]:
        """Return two lists of hits: one ranks documents, the other ranks pages. Both are best first.

        The lists are equal unless the question names documents.
        """
        groups, scoring = self.expansion.groups(self.view, scope), self.request.scoring.first_stage
        if not groups or groups[0][1] is None:
            hits = self._pass(groups[0][0] if groups else NO_EXPANSION, scope, scoring)
            return hits, hits
        fusion = self.request.fusion
        own = expanded = self._by_words(NO_EXPANSION, scope, scoring)
        for expansion, documents in groups:
            if documents is not None:
                added = self._by_words(expansion, documents, scoring)
                expanded = expanded_hits(expanded, added, documents, scoring.hits)
        if self.embedding.over_all:
            near = by_meaning(self.index, self.embedding, self.view.contents, scope, scoring, scoring.hits)
            own, expanded = joined(own, near, scoring, fusion), joined(expanded, near, scoring, fusion)
        return (own if self.expansion.named is not None else expanded), expanded

    def _pass(self, expansion: Expansion, scope: frozenset[str] | None, scoring: CoarseScoring) -> list[Hit]:
        """Return at most ``scoring.hits`` pages, best first, for a question and terms of expert knowledge."""
        sparse = self._by_words(expansion, scope, scoring)
        if not self.embedding.over_all:
            return sparse
        near = by_meaning(self.index, self.embedding, self.view.contents, scope, scoring, scoring.hits)
        return joined(sparse, near, scoring, self.request.fusion)

    def _by_words(self, expansion: Expansion, scope: Collection[str] | None, scoring: CoarseScoring) -> list[Hit]:
        """Return the best pages by BM25, at most ``scoring.hits``."""
        terms = {**expansion.terms, **self.terms}
        query = {tokens.cached_hash(term): weight for term, weight in terms.items()}
        if not query:
            return []
        counted = self._counted(scope)
        index = self.index if counted is None else self.index.within(counted)
        hits = index.search(Query("bm25", _arrays(query), scoring.hits, scope))
        published = of_published(hits, self.view.contents)
        if len(published) < len(hits):  # versions that were replaced after the index or the documents were read
            self.contents.gone.update(
                content_id
                for doc_id in {hit.doc_id for hit in hits}.difference(hit.doc_id for hit in published)
                if (content_id := self.view.contents.get(doc_id)) is not None
            )
        return published

    def _counted(self, scope: Collection[str] | None) -> list[CountedDocument] | None:
        """Return the documents of a small scope with their term counts.

        Return None if the scope is large, or if most of its documents are not in memory.
        """
        if scope is None or len(scope) > _COUNTED:
            return None
        published = self.view.contents
        versions = {doc_id: content_id for doc_id in scope if (content_id := published.get(doc_id)) is not None}
        new = sum(self.cache.cached(content_id) is None for content_id in versions.values())
        if new > self.request.scoring.documents.limit:
            return None
        contents = self.cache.get_all(self.contents, list(versions.values()))
        return [
            CountedDocument(doc_id, content_id, contents[content_id].body)
            for doc_id, content_id in versions.items()
            if content_id in contents
        ]


def expanded_hits(own: Sequence[Hit], added: Sequence[Hit], where: Collection[str], limit: int) -> list[Hit]:
    """Replace the hits of the documents in ``where`` by ``added`` hits with expert terms. Return all, best first.

    The added hits are scaled so that their best score equals the best replaced one.
    """
    others = [hit for hit in own if hit.doc_id not in where]
    if not added:
        return others
    stood = max((hit.score for hit in own if hit.doc_id in where), default=own[-1].score if own else added[0].score)
    scale = stood / added[0].score if added[0].score > 0 else 1.0
    limit_score = own[-1].score if len(own) >= limit else 0.0  # of many pages, only the best of the library are hits
    scaled = [hit.scored(hit.score * scale) for hit in added if hit.score * scale >= limit_score]
    return sorted([*others, *scaled], key=lambda hit: (-hit.score, hit.doc_id, hit.page))[:limit]


def _arrays(weights: Mapping[int, float]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    return np.fromiter(weights, np.uint32, len(weights)), np.fromiter(weights.values(), np.float32, len(weights))


def _scores(hits: Sequence[Hit]) -> dict[Key, float]:
    return {(hit.doc_id, hit.page): hit.score for hit in hits}


def of_published(hits: Sequence[Hit], published: Mapping[str, str]) -> list[Hit]:
    """Return the hits that belong to the published version of their document (doc_id -> content_id)."""
    listed = {hit.doc_id for hit in hits}
    now = {doc_id: version_tag(content) for doc_id in listed if (content := published.get(doc_id)) is not None}
    return [hit for hit in hits if now.get(hit.doc_id) == hit.version]
