"""How well what was found can answer: strong, weak, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybrid_core import bm25, text
from hybrid_core.results import Evidence
from retrievers.content import Content

STRONG, WEAK = 0.6, 0.25


def judge(inside: Mapping[str, float], pages: Sequence[tuple[Content, int]]) -> Evidence:
    """The share of the question's term weight (1 + idf over the looked-into documents) that the best page holds.

    A term that no page holds weighs most: a question about something the library does not know
    scores low however often its common words occur. 0 to 1, higher is better.
    """
    contents = list({content.content_id: content for content, _ in pages}.values())
    total = sum(content.pages for content in contents)
    if not pages or not inside:
        return Evidence("none", 0.0)
    weight = {
        term: 1 + bm25.idf(total, sum(len(c.body.postings(text.cached_hash(term))[0]) for c in contents))
        for term in inside
    }
    everything = sum(weight.values())
    best = 0.0
    for content, page in pages:
        held = [t for t in weight if page - 1 in content.body.postings(text.cached_hash(t))[0]]
        best = max(best, sum(weight[t] for t in held) / everything if everything else 0.0)
    score = round(best, 4)
    return Evidence("strong" if score >= STRONG else "weak" if score >= WEAK else "none", score)
