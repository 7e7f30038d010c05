"""How sure the deterministic search can be of its order: what decides whether ``auto`` asks a model."""

from __future__ import annotations

from collections.abc import Sequence

from retrievers.pages.scores import PageScores, PageVisit

_BESIDE = 5  # the rank the best page is compared with
_HALF = 5  # terms of a question that say half of what many would


def sureness(evidence: float, terms: int, visits: Sequence[PageVisit], scores: Sequence[PageScores]) -> float:
    """Evidence · (1 - own part of the fifth page's value / that of the first) · terms / (terms + 5): 0 to 1, higher is
    surer.

    The own part leaves out what a page's document gives it, which all pages of that document share, and what its place
    in the tree does; what a closer look added counts. ``terms`` are those that pages are scored by: of two questions
    the longer says more of its page (query length as a predictor: He and Ounis 2004). Of what a search knows by itself
    this tells best whether the right page comes first (docs/lab/reasoning.md).
    """
    own = [_own(scores[one.doc], one.page) for one in visits[:_BESIDE]]
    if not own or own[0] <= 0:
        return 0.0
    beside = own[_BESIDE - 1] if len(own) == _BESIDE else 0.0
    return round(evidence * max(0.0, 1.0 - beside / own[0]) * terms / (terms + _HALF), 4)


def _own(scores: PageScores, page: int) -> float:
    given = (scores.part("structure", page) or 0.0, scores.part("document", page) or 0.0)
    return float(scores.values[page - 1]) - given[0] - given[1]
