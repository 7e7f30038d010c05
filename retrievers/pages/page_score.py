"""Scoring the pages of one document with its own statistics.

A word that every page of a filing holds says nothing inside it, however rare it is in the library: idf
is therefore taken over the document's own pages. Headings that begin on a page are a second, light
field (BM25F's idea, Robertson et al. 2004, with the fields' scores added). A title that the question covers
counts besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hybrid_core.text import bm25, tokens
from hybrid_core.text.bm25 import Bm25
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.scoring import PageScoring
from retrievers.documents.content import Content

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PageQuery:
    """What the pages of a document are scored by: {term: weight}, and the same for what only headings are asked for."""

    terms: Mapping[str, float]
    headings: Mapping[str, float] = field(default_factory=dict)

    def hashed(self) -> tuple[dict[int, float], dict[int, float]]:
        """Both by the hashes of the terms."""
        return _hashed(self.terms), _hashed(self.headings)


def page_scores(
    content: Content,
    query: Mapping[int, float],
    scoring: PageScoring = PageScoring(),
    headings: Mapping[int, float] | None = None,
) -> Floats:
    """BM25 of every page against {term hash: weight}: float64 (pages,), higher is better, 0 for no match.

    ``headings`` are terms that are looked for in headings only.
    """
    total = _field(content.body, query, scoring)
    if scoring.headings:
        in_headings = {**(headings or {}), **query}
        total += scoring.headings * _field(content.headings, in_headings, scoring)
    if scoring.titles:
        total += scoring.titles * (total > 0) * content.titles.covered(query, content.pages, scoring.title_power)
    return total


def matched_terms(content: Content, page: int, query: PageQuery, scoring: PageScoring) -> dict[str, float]:
    """Which terms a page (1-based) holds in its text and headings, and what each adds to its score; best first."""
    names = {tokens.cached_hash(term): term for term in (*query.headings, *query.terms)}
    terms, headings = query.hashed()
    return {names[term]: add for term, add in matched(content, page, terms, headings, scoring).items()}


def matched(
    content: Content,
    page: int,
    query: Mapping[int, float],
    headings: Mapping[int, float] | None = None,
    scoring: PageScoring = PageScoring(),
) -> dict[int, float]:
    """Which terms a page (1-based) holds in its text and headings, and what each adds to its score; best first."""
    adds: dict[int, float] = {}
    fields = ((1.0, content.body, query), (scoring.headings, content.headings, {**(headings or {}), **query}))
    for share, counts, wanted in fields:
        found = counts.occurrences(wanted)
        here = np.flatnonzero(found.pages == page - 1)
        terms, model = found.terms[here], Bm25(scoring.k1, scoring.b, counts.average_length)
        parts = model.weights(found.counts[here], float(counts.lengths[page - 1])).astype(np.float64)
        told = share * _weights(wanted)[terms] * bm25.idf(counts.page_count, found.holding[terms]) * parts
        hashes = list(wanted)
        for at, add in zip(terms.tolist(), told.tolist(), strict=True):
            if wanted[hashes[at]] > 0:
                adds[hashes[at]] = adds.get(hashes[at], 0.0) + add
    for term, add in content.titles.adds(query, page, scoring.title_power).items():
        adds[term] = adds.get(term, 0.0) + scoring.titles * add
    return dict(sorted(adds.items(), key=lambda item: -item[1]))


def _field(counts: TermCounts, query: Mapping[int, float], scoring: PageScoring) -> Floats:
    pages, found = counts.page_count, counts.occurrences(query)
    told = (_weights(query) * bm25.idf(pages, found.holding)).astype(np.float32)
    model = Bm25(scoring.k1, scoring.b, counts.average_length)
    adds = told[found.terms] * model.weights(found.counts, counts.lengths[found.pages])
    return np.bincount(found.pages, adds, pages).astype(np.float64)  # of no posting at all it gives whole numbers


def _weights(query: Mapping[int, float]) -> Floats:
    return np.fromiter(query.values(), np.float64, len(query))


def _hashed(terms: Mapping[str, float]) -> dict[int, float]:
    return {tokens.cached_hash(term): weight for term, weight in terms.items()}
