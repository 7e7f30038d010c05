"""Every section of one document scored for a question: what a scored outline shows."""

from __future__ import annotations

from hybrid_core import text
from hybrid_core.store.snapshot import Snapshot
from hybrid_core.store.vectors import VectorIndex
from hybrid_core.types import Document
from retrievers import page_score
from retrievers.coarse import coarse_pass
from retrievers.content import ContentCache, per_page
from retrievers.node_score import node_scores
from retrievers.options import LibraryView, Meaning, Weights
from retrievers.pipeline import inside_query
from retrievers.question import read_question

_BEST_PAGES = 3


def section_scores(
    question_text: str,
    document: Document,
    view: LibraryView,
    snapshot: Snapshot,
    index: VectorIndex,
    cache: ContentCache,
    meaning: Meaning = Meaning(),
    weights: Weights = Weights(),
) -> list[tuple[float, tuple[int, ...]]]:
    """(NodeScore, best pages) of each section, in preorder.

    NodeScores are over the coarse hits within this document; pages are ordered by in-document score.
    """
    question = read_question(question_text)
    query = {text.cached_hash(term): 1.0 for term in question.terms}
    hits = coarse_pass(index, query, meaning, view.documents, frozenset({document.doc_id}), weights)
    content = cache.get(snapshot, document.content_id)
    if content is None:
        return []
    best = max((hit.score for hit in hits), default=0.0)
    found = per_page(content, {hit.page: hit.score / best for hit in hits})
    nodes = node_scores(content.spans, found)
    inside = inside_query(question, view.router.route(question))
    values = page_score.page_scores(
        content, {text.cached_hash(term): weight for term, weight in inside.items()}, weights.inside
    )
    scored = []
    for section, node in zip(content.sections, nodes, strict=True):
        pages = range(section.start_page, section.end_page + 1)
        ranked = sorted((p for p in pages if values[p - 1] > 0), key=lambda p: (-values[p - 1], p))
        scored.append((round(float(node), 4), tuple(ranked[:_BEST_PAGES])))
    return scored
