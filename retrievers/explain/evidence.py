"""Estimate whether the pages of a search answer the question, as a calibrated probability.

The estimate uses the coverage of the question's terms, and signals of the ranking. Rare terms weigh more, and terms
that are frequent on a page count more. Pages of another organisation or year than the question names count little. So
do documents that lack a name in the question.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hybrid_core.text import bm25, tokens
from hybrid_core.text.bm25 import Bm25
from hybrid_core.text.names import has_cjk
from hybrid_core.text.terms import Occurrences
from hybrid_core.types.notes import Note
from hybrid_core.types.results import Evidence
from retrievers.candidates.router import CardScores
from retrievers.features.table import FeatureTable
from retrievers.query.expert import Expansion
from retrievers.query.question import Question
from retrievers.query.words import compares, content_words, is_frame, proper_names
from retrievers.ranking.model import RankingModel
from retrievers.ranking.walk import DocumentScores, Floats, PageVisit
from retrievers.trees.content import Content

STRONG, WEAK = 0.65, 0.35  # minimum probabilities that one of the first five pages answers
JUDGED = 5  # pages that are judged, however many are shown
_K1 = 0.5  # one mention on a page of average length counts 1 / (1 + 0.5)
_BESIDE = 0.4  # value of a term that only the page before or after contains
_ELSEWHERE = 0.4  # factor on a page whose document is not the one that the question names
_SURE = 0.4  # minimum routing score of a named document
_COMMON, _FEW = 0.5, 6  # a term on more than this share of the pages is common; added to the number of pages
_TOGETHER = 3  # common words that together are a sufficient subject
_FRAME = 0.3  # weight of a filler word
_SPANNING = 0.2  # weight of an unknown pair of characters, which may span two words


HINT = Note("evidence.unclear")


@dataclass(frozen=True, slots=True)
class InformationNeed:
    """The words of a question that the pages must contain to answer it.

    ``term_weights`` leave out words that clearly name a document; ``names`` are the proper names among them. ``things``
    are words that may name the subject. ``named`` is True if the question names an organisation in the library.
    ``compares`` is True if it asks about several things that may be on different pages.
    """

    term_weights: Mapping[str, float]
    names: Collection[str] = ()
    things: Collection[str] = ()
    named: bool = True
    compares: bool = False


def information_need(question: Question, routing: CardScores) -> InformationNeed:
    """Return the words of a question that the pages must contain to answer it.

    If the question names no organisation in the library, its names count like other words. Filler words count little.
    """
    naming = routing.matched_terms if routing.named else question.period_terms
    terms = [term for term in question.terms if term not in naming] or question.terms
    weights = {term: _FRAME if is_frame(term) else 1.0 for term in terms}
    names = proper_names(question.text) & weights.keys()
    several = len(routing.organisations) > 1 or len(question.years) > 1 or compares(question.text)
    return InformationNeed(weights, names, content_words(question.text), bool(routing.named), several)


def judge(
    term_coverage: TermCoverage, need: InformationNeed, added: Mapping[str, float], looked_into: Sequence[Content]
) -> Evidence:
    """Return the evidence by the share of the question's terms that the pages cover.

    The share is computed without and with the expert terms ``added``, and the higher one counts. A word on most pages
    of the searched documents (``looked_into``) is no subject by itself. If the question has only such words, the
    evidence is "unclear".
    """
    if not need.named and len(need.things) < _TOGETHER and all(_common(t, looked_into) for t in need.things):
        return Evidence("unclear", 0.0, HINT)
    worded = [need.term_weights, {**added, **need.term_weights}] if need.term_weights and added else [need.term_weights]
    score = max(term_coverage.coverage(terms, need.names, need.compares) for terms in worded)
    return by_probability(score)


def by_probability(likely: float) -> Evidence:
    """Return evidence with this probability (0 to 1) and its level: "strong", "weak" or "none"."""
    score = round(likely, 4)
    return Evidence("strong" if score >= STRONG else "weak" if score >= WEAK else "none", score)


def judged(
    visits: Sequence[PageVisit],
    pages: Sequence[DocumentScores],
    expansions: Sequence[Expansion],
    term_weights: Mapping[str, float],
    question: Question,
    routing: CardScores,
) -> Evidence:
    """Return the evidence in the visited pages. Each page is judged with its document's expert terms."""
    need = information_need(question, routing)

    def coverage(best: Sequence[PageVisit], terms: Mapping[str, float]) -> Evidence:
        places = [(pages[visit.doc].candidate.document.doc_id, pages[visit.doc].content, visit.page) for visit in best]
        return judge(
            TermCoverage({**terms, **term_weights, **need.term_weights}, places, routing), need, terms, looked_into
        )

    looked_into = [visit.content for visit in pages]
    expanded: dict[int, list[PageVisit]] = {}
    for visit in visits:
        expanded.setdefault(id(expansions[visit.doc]), []).append(visit)
    groups = [(best, expansions[best[0].doc].terms) for best in expanded.values()]
    verdicts = [coverage(best, terms) for best, terms in groups if terms or len(groups) == 1]
    if len(groups) != 1:
        verdicts.append(coverage(visits, {}))
    return max(verdicts, key=lambda evidence: evidence.score)


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of ``TermCoverage``. ``holds`` is float64 (terms,), the degree to which it contains each term."""

    content: Content
    holds: Floats


def _common(term: str, contents: Sequence[Content]) -> bool:
    pages = sum(content.pages for content in contents)
    return _holding(term, contents) > _COMMON * (pages + _FEW)


def _holding(term: str, contents: Iterable[Content]) -> int:
    """Return how many pages of these documents contain a term."""
    hashed = [tokens.cached_hash(term)]
    return sum(len(content.body.occurrences(hashed).pages) for content in contents)


class TermCoverage:
    """The degree to which ``pages`` contain ``terms``. Pages are given as (doc_id, content, page)."""

    def __init__(self, terms: Iterable[str], pages: Sequence[tuple[str, Content, int]], routing: CardScores) -> None:
        contents = {content.content_id: content for _, content, _ in pages}
        self._contents, looked_for = list(contents.values()), list(terms)
        hashes = [tokens.cached_hash(term) for term in looked_for]
        occurrences = {content_id: content.body.occurrences(hashes) for content_id, content in contents.items()}
        holding = sum((counted.holding for counted in occurrences.values()), np.zeros(len(hashes), np.int64))
        rarity = bm25.idf(sum(content.pages for content in self._contents), holding)
        self._weights: dict[str, float] = {
            term: (1.0 if pages_holding or not has_cjk(term) else _SPANNING) * (1 + idf)
            for term, pages_holding, idf in zip(looked_for, holding.tolist(), rarity.tolist(), strict=True)
        }
        self._rows = {term: row for row, term in enumerate(looked_for)}
        self._pages = [
            _Page(content, _fit(routing, doc_id) * _shares_held(content, occurrences[content.content_id], page))
            for doc_id, content, page in pages
        ]

    def coverage(self, terms: Mapping[str, float], names: Collection[str] = (), apart: bool = False) -> float:
        """Return the highest weighted share of the terms that one page contains, 0 to 1.

        With ``apart``, two pages may cover the terms together. The terms must be among those of this object.

        The share is Σ w(t) · tf / (tf + k1 · |page| / average) / Σ w(t) with w = given weight · (1 + idf over the
        judged documents). It is multiplied by the match of the page's document with the names in the question. Terms
        that no page contains weigh most, so questions outside the library's subjects score low.
        """
        if not terms:
            return 0.0
        weights = np.array([weight * self._weights[term] for term, weight in terms.items()])
        rows = np.array([self._rows[term] for term in terms])
        shares_held = [page.holds[rows] for page in self._pages]
        whole = math.fsum(weights)  # exact, independently of the order of the terms
        if apart:
            penalty = _ELSEWHERE if any(_holding(name, self._contents) == 0 for name in names) else 1.0
            best = max((_sum(weights * np.maximum(*pair)) for pair in combinations(shares_held, 2)), default=0.0)
            return max(round(penalty * best / whole, 4), self.coverage(terms, names))
        named = [_says(page.content, names) for page in self._pages]
        shares = [share * _sum(weights * holds) / whole for share, holds in zip(named, shares_held, strict=True)]
        return round(max(shares, default=0.0), 4)


def _sum(values: Floats) -> float:
    return math.fsum(values[values != 0])


def _shares_held(content: Content, occurrences: Occurrences, page: int) -> Floats:
    """Return the degree to which a page contains each term: float64 (terms,), 0 to 1."""
    shares = np.zeros(len(occurrences.holding))
    pages = occurrences.pages.astype(np.int64)
    shares[occurrences.terms[np.abs(pages - (page - 1)) == 1]] = _BESIDE
    on_page = pages == page - 1
    model = Bm25(_K1, 1.0, content.body.average_length)
    shares[occurrences.terms[on_page]] = model.weights(
        occurrences.counts[on_page], float(content.body.lengths[page - 1])
    )
    return shares


def _says(content: Content, names: Collection[str]) -> float:
    """Return 1 if the document contains all names of the question, otherwise a factor below 1."""
    return 1.0 if all(_holding(name, [content]) for name in names) else _ELSEWHERE


def _fit(routing: CardScores, doc_id: str) -> float:
    """Return a factor, at most 1, for the match of a document's card with the question.

    It is 1 for the best-matching document, and for all documents if the question names no organisation.
    """
    best = max(routing.scores.values(), default=0.0)
    if not routing.organisations or best < _SURE:
        return 1.0
    return _ELSEWHERE + (1 - _ELSEWHERE) * routing.scores.get(doc_id, 0.0) / best


SIGNALS: Mapping[str, str] = {
    "covered": "the question's terms, by rarity, that the best page holds, less where its document is another's",
    "score": "what the ranking model gives the first page, at most 1.1",
    "lead": "by how much that is more than the second page's, at most 0.3",
    "lead_five": "by how much it is more than the fifth page's, at most 0.6",
    "cover": "share of the question's terms, by idf, on the first page",
    "window": "share of the question's terms, by idf, within 50 terms of the first page",
    "written": "share of the question's terms, by idf, that the first page has as the question writes them",
    "pairs": "share of the question's neighbouring terms that are neighbours there",
    "named": "how surely the question names the first page's document",
    "cover_five": "the best cover of the first five pages",
}
"""The signals from which the evidence is computed."""
_OF_FIRST = ("cover", "window", "written", "pairs", "named")
_BEST_RESULTS = 5
_MOST_OF_COVERED = 1.6
_MOST_SCORE, _MOST_LEAD, _MOST_LEAD_FIVE = 1.1, 0.3, 0.6
"""Scores above these limits carry no further information. Half of all first pages have 1, and a quotation alone
adds 2.
"""


def signals(
    visits: Sequence[PageVisit], table: FeatureTable | None, model: RankingModel, covered: float
) -> dict[str, float]:
    """Return the signals from which ``probability`` is computed, {} without pages.

    ``covered`` is the coverage of the question's terms, 0 to 1. A page that is not a candidate counts with score 0 and
    no terms.
    """
    best = visits[:_BEST_RESULTS]
    if not best or table is None:
        return {}
    scores = model.scores(table)
    rows = [table.candidates.rows.get((visit.doc, visit.page)) for visit in best]
    own = [0.0 if row is None else float(scores[row]) for row in rows]
    first = rows[0]
    covers = table.column("cover")
    return {
        "covered": covered,
        "score": min(_MOST_SCORE, own[0]),
        "lead": min(_MOST_LEAD, own[0] - (own[1] if len(own) > 1 else 0.0)),
        "lead_five": min(_MOST_LEAD_FIVE, own[0] - (own[4] if len(own) == _BEST_RESULTS else 0.0)),
        **{name: 0.0 if first is None else float(table.column(name)[first]) for name in _OF_FIRST},
        "cover_five": max((float(covers[row]) for row in rows if row is not None), default=0.0),
    }


def probability(weights: Mapping[str, float], signals: Mapping[str, float]) -> float:
    """Return the probability that pages answer, by logistic regression on their ``signals``.

    It is 0 without signals, and at most 1.6 · ``covered``, the coverage of the question's terms. Coverage is lower for
    documents that the question does not name or that lack a name in it. No training set has questions to the wrong
    document, so the limit is needed.
    """
    if not signals:
        return 0.0
    total = weights.get("base", 0.0) + math.fsum(weights.get(name, 0.0) * value for name, value in signals.items())
    return min(float(1 / (1 + np.exp(-np.clip(total, -50, 50)))), _MOST_OF_COVERED * signals["covered"])
