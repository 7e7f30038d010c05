"""The documents that a question is looked for in, and the value of each of their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.text import tokens
from hybrid_core.types.documents import Document, Fusion, Hit, Section
from hybrid_core.types.scoring import DocumentScoring, PageScoring, ScoringConfig
from retrievers.documents.route import Routing
from retrievers.pages import page_score
from retrievers.pages.coarse import Key
from retrievers.pages.content import Content, ContentCache, per_page
from retrievers.pages.fusion import normalised, ranked, reciprocal_ranks, weighted
from retrievers.pages.node_score import doc_scores, node_scores
from retrievers.pages.tree_walk import page_structure, path_shares
from retrievers.query.options import LibraryView

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_BEST_PAGES = 3  # of a section
_NAMED = 3  # documents in a note


@dataclass(frozen=True, slots=True)
class Candidate:
    """``score`` is ``doc_score`` (best 1) + weight · ``routing`` (at most 1).

    ``only``, bool (pages,), says which pages are scored, None where all are.
    """

    document: Document
    content: Content
    score: float
    doc_score: float
    routing: float
    reason: str
    only: Mask | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the pages of a document are scored by: {term: weight}, and the same for what only headings are asked for."""

    terms: Mapping[str, float]
    headings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Valued:
    """A candidate with the value of every page, float64 (pages,), and the parts that add up to it."""

    candidate: Candidate
    values: Floats
    from_page: Floats
    from_document: float
    from_structure: Floats
    nodes: Floats  # NodeScore of every section


def choose(
    hits: Sequence[Hit],
    routing: Routing,
    view: LibraryView,
    scope: frozenset[str] | None,
    contents: Contents,
    cache: ContentCache,
    scoring: DocumentScoring,
    hits_within: Callable[[Document], Sequence[Hit]],
) -> tuple[list[Candidate], tuple[str, ...]]:
    """The documents to look into, best first: DocScore and routing added, never one filtering the other.

    Together they have ``scoring.pages`` pages to score at most. A document that has more by itself is scored
    around its best hits, which ``hits_within`` gives, on half of that number. The second value are notes on documents
    with hits that a bound left out: one of the best ones that has too many pages, and one of more than
    ``scoring.most`` whose score is close to the best.
    """
    found = normalised(doc_scores(hits))
    routed = {d: s for d, s in routing.scores.items() if d in view.documents and (scope is None or d in scope)}
    few = dict.fromkeys(scope, 0.0) if scope is not None and len(scope) <= scoring.most else {}
    scores = weighted([(1.0, found), (scoring.cards, routed), (1.0, few)])
    chosen: list[Candidate] = []
    pages = 0
    order = ranked(scores)
    too_many_pages: list[str] = []
    for doc_id in order[: scoring.most]:
        document = view.documents[doc_id]
        large = document.pages > scoring.pages
        room = min(scoring.pages - pages, scoring.pages // 2 if large else document.pages)
        if room < document.pages and not (large and room > 0):
            too_many_pages.append(doc_id)
            continue
        content = cache.get(contents, document.content_id)
        if content is None:
            continue
        pages += room
        only = around([hit.page for hit in hits_within(document)], document.pages, room) if large else None
        reason = routing.reasons.get(doc_id, "")
        share, route = found.get(doc_id, 0.0), routed.get(doc_id, 0.0)
        chosen.append(Candidate(document, content, scores[doc_id], share, route, reason, only))
    best = max(scores.values(), default=0.0)

    def fitting(doc_ids: Sequence[str], least: float) -> list[str]:
        return [view.documents[doc_id].name for doc_id in doc_ids if doc_id in found and scores[doc_id] > least]

    left_out = (
        (fitting(too_many_pages, best / 2), f"{scoring.pages} pages in all"),
        (fitting(order[scoring.most :], best - scoring.close), f"{scoring.most} documents"),
    )
    return chosen, tuple(_left_out(names, bound) for names, bound in left_out if names)


def _left_out(names: Sequence[str], bound: str) -> str:
    others = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = "1 more document that fits" if len(names) == 1 else f"{len(names)} more documents that fit"
    was = "was" if len(names) == 1 else "were"
    return f"{what} {was} not looked into (at most {bound} are): {', '.join(names[:_NAMED])}{others}"


def around(hits: Sequence[int], pages: int, most: int) -> Mask:
    """At most ``most`` pages: the hits (1-based, best first), each with the pages beside it. bool (pages,)."""
    chosen: dict[int, None] = {}
    for hit in hits:
        chosen |= dict.fromkeys(page for page in (hit, hit - 1, hit + 1) if 1 <= page <= pages)
        if len(chosen) >= most:
            break
    mask = np.zeros(pages, np.bool_)
    mask[[page - 1 for page in list(chosen)[:most]]] = True
    return mask


def score_pages(candidate: Candidate, wanted: Wanted, scoring: PageScoring) -> Floats:
    """The words of every page against its document, neighbours included: float64 (pages,), higher is better."""
    query = {tokens.cached_hash(term): weight for term, weight in wanted.terms.items()}
    headings = {tokens.cached_hash(term): weight for term, weight in wanted.headings.items()}
    scores = page_score.page_scores(candidate.content, query, scoring, headings, candidate.only)
    if scoring.neighbours:
        scores += scoring.neighbours * (scores > 0) * better_neighbour(scores)
    return scores


def value_pages(
    candidates: Sequence[Candidate],
    coarse: Mapping[Key, float],
    raw: Sequence[Floats],
    similar: Mapping[Key, float],
    scoring: ScoringConfig,
    fusion: Fusion,
) -> list[Valued]:
    """Every page of the candidates valued: own words, similarity, its document, its sections.

    A page's words count twice: against its document (``raw``, of ``score_pages``) and against the library
    (``coarse``). The latter is what compares pages of
    documents that the question does not tell apart: it counts more the less surely one is named. A document counts
    by how surely the question names it, not by how far it leads, and half as much where none is named: that others
    of its pages hold the question's words says less than that one does.
    ``coarse`` and ``similar`` give pages 0 to 1. Values are at most 1.
    A page that no word and no similarity speaks for has the value 0.
    """
    best_page = max((float(scores.max(initial=0.0)) for scores in raw), default=0.0) or 1.0
    weights, surest = (
        scoring.pages,
        1.0 + scoring.documents.cards,
    )  # the score of a document that leads the hits and is the one named
    dense = weights.vectors if similar else 0.0
    named = max((c.routing for c in candidates), default=0.0)
    apart = 1.0 - named if len(candidates) > 1 else 0.0
    compared = (1.0 - apart) * weights.first_stage + apart * weights.first_stage_unnamed
    by_document = named * weights.document + (1.0 - named) * weights.document_unnamed
    total = 1.0 + compared + dense + by_document + weights.structure
    coarse_of, similar_of = _by_document(coarse), _by_document(similar)
    by_rank = None
    if similar and fusion == "rrf":
        by_rank = _by_document(_fused_ranks(candidates, raw, similar, scoring.first_stage.rrf_k))
    valued = []
    for candidate, scores in zip(candidates, raw, strict=True):
        content, doc_id = candidate.content, candidate.document.doc_id
        library = per_page(content, coarse_of.get(doc_id, {}))
        nodes = node_scores(content.spans, library)
        structure = weights.structure * page_structure(content, path_shares(content, nodes)) / total
        if by_rank is None:
            spoken = scores / best_page + dense * per_page(content, similar_of.get(doc_id, {}))
        else:
            spoken = (1.0 + dense) * per_page(content, by_rank.get(doc_id, {}))
        own = (spoken + compared * library * (spoken > 0)) / total  # not for the words that name its document
        if candidate.only is not None:
            own *= candidate.only
        from_document = by_document * candidate.score / surest / total
        values = np.where(own > 0, own + from_document + structure, 0.0)
        valued.append(Valued(candidate, values, own, from_document, structure, nodes))
    return valued


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
    candidates: Sequence[Candidate], raw: Sequence[Floats], similar: Mapping[Key, float], k: float
) -> dict[Key, float]:
    """The reciprocal ranks of all candidates' pages by words and by similarity added up; 1 for the best."""
    words = {
        (candidate.document.doc_id, page + 1): float(scores[page])
        for candidate, scores in zip(candidates, raw, strict=True)
        for page in np.flatnonzero(scores).tolist()
    }
    return normalised(reciprocal_ranks([words, similar], k))


def _by_document(scores: Mapping[Key, float]) -> dict[str, dict[int, float]]:
    grouped: dict[str, dict[int, float]] = {}
    for (doc_id, page), score in scores.items():
        grouped.setdefault(doc_id, {})[page] = score
    return grouped
