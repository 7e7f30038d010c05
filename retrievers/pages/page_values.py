"""The value of every page of the documents that are looked into."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_core.types.documents import Fusion, Section
from hybrid_core.types.scoring import PageScoring, ScoringConfig
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import per_page
from retrievers.documents.fusion import normalised, reciprocal_ranks
from retrievers.pages.first_stage import Key
from retrievers.pages.node_score import node_scores, page_structure, path_shares
from retrievers.pages.page_score import PageQuery, page_scores
from retrievers.pages.scores import PageScores

Floats = npt.NDArray[np.float64]

_BEST_PAGES = 3  # of a section


def score_pages(candidate: CandidateDocument, query: PageQuery, scoring: PageScoring) -> Floats:
    """The words of every page against its document, neighbours included: float64 (pages,), higher is better."""
    terms, headings = query.hashed()
    scores = page_scores(candidate.content, terms, scoring, headings, candidate.only)
    if scoring.neighbours:
        scores += scoring.neighbours * (scores > 0) * better_neighbour(scores)
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class HitPlaces:
    """What the first stage's hits say of a document: ``coarse`` is by page, ``library`` the same as float64 (pages,);
    ``nodes`` is the NodeScore of every section and ``structure`` what its sections' places earn each page."""

    coarse: Mapping[int, float]
    library: Floats
    nodes: Floats
    structure: Floats

    @classmethod
    def of(cls, candidates: Sequence[CandidateDocument], coarse: Mapping[Key, float]) -> list[HitPlaces]:
        """Those of every candidate; ``coarse`` gives pages 0 to 1."""
        coarse_of, places = _by_document(coarse), []
        for candidate in candidates:
            hits = coarse_of.get(candidate.document.doc_id, {})
            library = per_page(candidate.content, hits)
            nodes = node_scores(candidate.content.spans, library)
            shares = path_shares(candidate.content, nodes)
            places.append(cls(hits, library, nodes, page_structure(candidate.content, shares)))
        return places


def value_pages(
    candidates: Sequence[CandidateDocument],
    queries: Sequence[PageQuery],
    places: Sequence[HitPlaces],
    raw: Sequence[Floats],
    similar: Mapping[Key, float],
    unembedded: Collection[str],
    scoring: ScoringConfig,
    fusion: Fusion,
) -> list[PageScores]:
    """Every page of the candidates scored: own words, similarity, its document, its sections.

    A page's words count twice: against its document (``raw``, of ``score_pages``) and against the library
    (``places``). The latter is what compares pages of documents that the question does not tell apart: it counts more
    the less surely one is named. A document counts by how surely the question names it, not by how far it leads, and
    half as much where none is named: that others of its pages hold the question's words says less than that one does.
    ``similar`` gives pages 0 to 1. Pages of ``unembedded`` documents count as if similarity said of each what its words
    say, so their order is that of a library without vectors. Values are at most 1. A page that no word and no
    similarity speaks for has the value 0.
    """
    best_page = max((float(scores.max(initial=0.0)) for scores in raw), default=0.0) or 1.0
    weights = scoring.pages
    surest = 1.0 + scoring.documents.cards  # the score of a document that leads the hits and is the one named
    dense = weights.vectors if similar else 0.0
    named = max((c.routing for c in candidates), default=0.0)
    apart = 1.0 - named if len(candidates) > 1 else 0.0
    compared = (1.0 - apart) * weights.first_stage + apart * weights.first_stage_unnamed
    by_document = named * weights.document + (1.0 - named) * weights.document_unnamed
    total = 1.0 + compared + dense + by_document + weights.structure
    similar_of = _by_document(similar)
    by_rank = None
    if similar and fusion == "rrf":
        by_rank = _by_document(_fused_ranks(candidates, raw, similar, unembedded, scoring.first_stage.rrf_k))
    scored = []
    for candidate, query, place, scores in zip(candidates, queries, places, raw, strict=True):
        content, doc_id = candidate.content, candidate.document.doc_id
        structure = weights.structure * place.structure / total
        if by_rank is None:
            spoken = scores / best_page + dense * per_page(content, similar_of.get(doc_id, {}))
        else:
            spoken = (1.0 + dense) * per_page(content, by_rank.get(doc_id, {}))
        own = (spoken + compared * place.library * (spoken > 0)) / total  # not for the words that name its document
        if by_rank is None and doc_id in unembedded:
            own *= (1.0 + compared + dense) / (1.0 + compared)
        if candidate.only is not None:
            own *= candidate.only
        from_document = by_document * candidate.score / surest / total
        values = np.where(own > 0, own + from_document + structure, 0.0)
        parts = {"page": own, "document": np.full(content.pages, from_document), "structure": structure}
        scored.append(PageScores(candidate, values, place.nodes, parts, query, {"coarse": place.coarse}))
    return scored


def best_pages(values: Floats, section: Section) -> tuple[int, ...]:
    """The numbers of a section's pages with the highest values, float64 (pages of the document,); 0 is none."""
    pages = range(section.start_page, section.end_page + 1)
    found = sorted((p for p in pages if values[p - 1] > 0), key=lambda p: (-values[p - 1], p))
    return tuple(found[:_BEST_PAGES])


def better_neighbour(scores: Floats) -> Floats:
    """For each page the greater score of the pages beside it: float64 (pages,)."""
    padded = np.concatenate(([0.0], scores, [0.0]))
    return np.asarray(np.maximum(padded[:-2], padded[2:]))


def _fused_ranks(
    candidates: Sequence[CandidateDocument],
    raw: Sequence[Floats],
    similar: Mapping[Key, float],
    unembedded: Collection[str],
    k: float,
) -> dict[Key, float]:
    """The reciprocal ranks of all candidates' pages by words and by similarity added up; 1 for the best.

    The rank by words counts twice for a document without vectors.
    """
    words = {
        (candidate.document.doc_id, page + 1): float(scores[page])
        for candidate, scores in zip(candidates, raw, strict=True)
        for page in np.flatnonzero(scores).tolist()
    }
    fused = reciprocal_ranks([words, similar], k)
    if unembedded:
        ranks = reciprocal_ranks([words], k)
        fused |= {key: 2 * rank for key, rank in ranks.items() if key[0] in unembedded}
    return normalised(fused)


def _by_document(scores: Mapping[Key, float]) -> dict[str, dict[int, float]]:
    grouped: dict[str, dict[int, float]] = {}
    for (doc_id, page), score in scores.items():
        grouped.setdefault(doc_id, {})[page] = score
    return grouped
