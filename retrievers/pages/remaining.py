"""Pages that hold nothing of what a question asks for, but words of how it asks.

«Mark the passages of this lease about subletting that we ought to check» searches for subletting. Where that reaches
fewer pages than are wanted, those that speak of leases and checks are likelier than none: they come last. And a word
that stands only in what a document is called, by hand or by its file, leads to its beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.scoring import PageScoring
from retrievers.pages.page_score import page_scores
from retrievers.pages.scores import PageScores, PageVisit, Place
from retrievers.query.question import Question

NAME = "instruction"


def remaining_pages(
    question: Question, visits: Sequence[PageVisit], pages: Sequence[PageScores], most: int, scoring: PageScoring
) -> tuple[list[PageVisit], Mapping[Place, float]]:
    """As many visits as there are fewer than ``most``, best first, and what is added to each page: it is then worth
    less than any visited, whatever its document and section are worth.

    Nothing where the question instructs nobody.
    """
    words = set(tokenise(question.text)).difference(question.terms)
    if len(visits) >= most or not words or not pages:
        return [], {}
    query = {cached_hash(word): 1.0 for word in words}
    seen = {(visit.doc, visit.page) for visit in visits}
    found: list[tuple[float, int, int]] = []
    for doc, scores in enumerate(pages):
        told = page_scores(scores.content, query, scoring)
        found += [(float(told[at]), doc, at + 1) for at in np.flatnonzero(told).tolist() if (doc, at + 1) not in seen]
    best = sorted(found, key=lambda one: (-one[0], one[1], one[2]))[: most - len(visits)]
    if not best:
        return [], {}
    least = min((float(pages[visit.doc].values[visit.page - 1]) for visit in visits), default=1.0)
    worth = {(doc, page): 0.5 * least * told / best[0][0] - pages[doc].parts(page) for told, doc, page in best}
    return [PageVisit(doc, page) for _, doc, page in best], worth


def beginnings(pages: Sequence[PageScores]) -> list[PageVisit]:
    """The first pages of the documents that the question's words name at least in part, best first."""
    named = [(-one.candidate.routing, doc) for doc, one in enumerate(pages) if one.candidate.routing > 0]
    return [PageVisit(doc, 1) for _, doc in sorted(named)]
