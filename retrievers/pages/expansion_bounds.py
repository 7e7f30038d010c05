"""What an expansion may change in the order of pages.

It never lifts a document that the question does not name above one that it does name. Where no document is named, the
documents that it applies to are ordered among each other, and the best of their pages is worth as much as the
question's own words make it: those of other types keep their places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hybrid_core.types.documents import Fusion
from hybrid_core.types.scoring import ScoringConfig
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.expansion_scope import ExpansionScope
from retrievers.pages.first_stage import Key
from retrievers.pages.page_score import PageQuery
from retrievers.pages.page_values import HitPlaces, score_pages, value_pages
from retrievers.pages.scores import PageScores
from retrievers.query.expert import NO_EXPANSION


def score_documents(
    candidates: Sequence[CandidateDocument],
    asked: Mapping[str, float],
    expansion: ExpansionScope,
    coarse: Mapping[Key, float],
    similar: Mapping[Key, float],
    unembedded: Collection[str],
    scoring: ScoringConfig,
    fusion: Fusion,
) -> list[PageScores]:
    """Every page of the candidates scores by what is asked and what expands it in its document, within the bounds."""
    expansions = [expansion.of(candidate.document) for candidate in candidates]
    queries = [PageQuery({**one.terms, **asked}, one.headings) for one in expansions]
    raw = [score_pages(c, query, scoring.pages) for c, query in zip(candidates, queries, strict=True)]
    places = HitPlaces.of(candidates, coarse)
    scores = value_pages(candidates, queries, places, raw, similar, unembedded, scoring, fusion)
    if all(one is expansions[0] for one in expansions):
        return scores
    own = PageQuery(asked)
    own_raw = [
        before if one is NO_EXPANSION else score_pages(c, own, scoring.pages)
        for c, one, before in zip(candidates, expansions, raw, strict=True)
    ]
    return bounded(
        scores,
        value_pages(candidates, [own] * len(raw), places, own_raw, similar, unembedded, scoring, fusion),
        expansion,
    )


def bounded(scores: Sequence[PageScores], own: Sequence[PageScores], expansion: ExpansionScope) -> list[PageScores]:
    """Values with expert knowledge, held to what ``own``, those of the question's own words, allow.

    A named document's best page keeps at least its own value. Where none is named, the best page of those
    that an expansion applies to keeps just that.
    """
    if expansion.named is None:
        expanded = [at for at, one in enumerate(scores) if expansion.of(one.candidate.document) is not NO_EXPANSION]
        share = _share([own[at] for at in expanded], [scores[at] for at in expanded])
        return [one.times(share) if at in expanded else one for at, one in enumerate(scores)]
    return [
        one.times(max(1.0, _share([before], [one]))) if one.candidate.document.doc_id in expansion.named else one
        for one, before in zip(scores, own, strict=True)
    ]


def _share(own: Sequence[PageScores], with_expansion: Sequence[PageScores]) -> float:
    """What values must be multiplied by for their best to be the best of the question's own words."""
    before = max((float(one.values.max(initial=0.0)) for one in own), default=0.0)
    after = max((float(one.values.max(initial=0.0)) for one in with_expansion), default=0.0)
    return before / after if before > 0 and after > 0 else 1.0
