"""How well what was found can answer: strong, weak, or none.

Rare words weigh more; a page that says a word often, for its length, holds more of it than one that mentions it; and
a page of another organisation or year than the question names says little, as does one whose document never says a name
that the question asks about.
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
from hybrid_core.text.term_counts import Occurrences
from hybrid_core.types.results import Evidence
from retrievers.documents.content import Content
from retrievers.documents.route import Routing
from retrievers.pages.scores import Floats, PageScores, PageVisit
from retrievers.query.content_words import compares, content_words, is_frame
from retrievers.query.expert import Expansion
from retrievers.query.names import proper_names
from retrievers.query.question import Question

STRONG, WEAK = 0.65, 0.35  # probabilities that one of the first five pages answers
JUDGED = 5  # pages, however many are shown
_K1 = 0.5  # one mention on a page of average length holds 1 / (1 + 0.5) of a term
_BESIDE = 0.4  # what a term counts that only the page before or after holds
_ELSEWHERE = 0.4  # what a page counts whose document is not the one that the question names
_SURE = 0.4  # routing scores below this name nothing
_COMMON, _FEW = 0.5, 6  # the share of pages that tells nothing any more; so many pages do not show what is common
_TOGETHER = 3  # so many common words tell what is asked for after all
_FRAME = 0.3  # what a word weighs that could be part of any question
_SPANNING = 0.2  # what an unknown pair of characters weighs: as likely it spans two words as that it is one


HINT = (
    "the question names nothing to look for: say what it is about, in words that the pages would use "
    "(what was asked before is not remembered)"
)


@dataclass(frozen=True, slots=True)
class InformationNeed:
    """What a question wants evidence for.

    ``asked`` are its terms with their weights, without what surely names a document; ``names`` those of them that are
    proper names. ``things`` are the words that can name what it is about, ``named`` says that it names an organisation
    of the library. ``compares``: it asks about several things that need not stand on one page.
    """

    asked: Mapping[str, float]
    names: Collection[str] = ()
    things: Collection[str] = ()
    named: bool = True
    compares: bool = False


def information_need(question: Question, routing: Routing) -> InformationNeed:
    """A name that is not surely one of the library's is asked for like any other word; the frame counts little."""
    said = routing.matched_terms if routing.named else question.period_terms
    kept = [term for term in question.terms if term not in said] or question.terms
    asked = {term: _FRAME if is_frame(term) else 1.0 for term in kept}
    names = proper_names(question.text) & asked.keys()
    several = len(routing.organisations) > 1 or len(question.years) > 1 or compares(question.text)
    return InformationNeed(asked, names, content_words(question.text), bool(routing.named), several)


def judge(
    held: TermCoverage, need: InformationNeed, added: Mapping[str, float], looked_into: Sequence[Content]
) -> Evidence:
    """The coverage of the question's terms, or where that is more, of these and what expert knowledge added.

    To say what is asked in the field's words is as good as to say it in the question's. A word that most pages of the
    documents that were ``looked_into`` hold says by itself nothing.
    """
    if not need.named and len(need.things) < _TOGETHER and all(_common(t, looked_into) for t in need.things):
        return Evidence("unclear", 0.0, HINT)
    worded = [need.asked, {**added, **need.asked}] if need.asked and added else [need.asked]
    score = max(held.coverage(terms, need.names, need.compares) for terms in worded)
    return by_probability(score)


def by_probability(likely: float) -> Evidence:
    """Return the level of a probability, 0 to 1, with it."""
    score = round(likely, 4)
    return Evidence("strong" if score >= STRONG else "weak" if score >= WEAK else "none", score)


def judged(
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    expansions: Sequence[Expansion],
    asked: Mapping[str, float],
    question: Question,
    routing: Routing,
) -> Evidence:
    """The evidence of these pages, each with what expands the question in its document."""
    need = information_need(question, routing)

    def coverage(best: Sequence[PageVisit], terms: Mapping[str, float]) -> Evidence:
        places = [(pages[one.doc].candidate.document.doc_id, pages[one.doc].content, one.page) for one in best]
        return judge(TermCoverage({**terms, **asked, **need.asked}, places, routing), need, terms, looked_into)

    looked_into = [one.content for one in pages]
    expanded: dict[int, list[PageVisit]] = {}
    for one in visits:
        expanded.setdefault(id(expansions[one.doc]), []).append(one)
    groups = [(best, expansions[best[0].doc].terms) for best in expanded.values()]
    found = [coverage(best, terms) for best, terms in groups if terms or len(groups) == 1]
    if len(groups) != 1:
        found.append(coverage(visits, {}))
    return max(found, key=lambda evidence: evidence.score)


@dataclass(frozen=True, slots=True)
class _Page:
    """``holds`` (float64, one value for each term) is how much of each term the page says, times how well its document
    fits what the question names."""

    content: Content
    holds: Floats


def _common(term: str, contents: Sequence[Content]) -> bool:
    pages = sum(content.pages for content in contents)
    return _holding(term, contents) > _COMMON * (pages + _FEW)


def _holding(term: str, contents: Iterable[Content]) -> int:
    """How many pages hold a term."""
    hashed = [tokens.cached_hash(term)]
    return sum(len(content.body.occurrences(hashed).pages) for content in contents)


class TermCoverage:
    """How much of each of the ``terms`` the ``pages`` (doc_id, content, page) hold."""

    def __init__(self, terms: Iterable[str], pages: Sequence[tuple[str, Content, int]], routing: Routing) -> None:
        contents = {content.content_id: content for _, content, _ in pages}
        self._contents, looked_for = list(contents.values()), list(terms)
        hashes = [tokens.cached_hash(term) for term in looked_for]
        found = {content_id: content.body.occurrences(hashes) for content_id, content in contents.items()}
        holding = sum((one.holding for one in found.values()), np.zeros(len(hashes), np.int64))
        rarity = bm25.idf(sum(content.pages for content in self._contents), holding)
        self._weights: dict[str, float] = {
            term: (1.0 if held or not has_cjk(term) else _SPANNING) * (1 + idf)
            for term, held, idf in zip(looked_for, holding.tolist(), rarity.tolist(), strict=True)
        }
        self._rows = {term: row for row, term in enumerate(looked_for)}
        self._pages = [
            _Page(content, _fit(routing, doc_id) * _shares_held(content, found[content.content_id], page))
            for doc_id, content, page in pages
        ]

    def coverage(self, terms: Mapping[str, float], names: Collection[str] = (), apart: bool = False) -> float:
        """The best share of the terms, which must be among those looked for, that one of the pages holds; or, with
        ``apart``, that two of them hold together, which need not be of one document.

        Σ w(t) · tf / (tf + k1 · |page| / average) / Σ w(t) with w = given weight · (1 + idf over the judged
        documents); times how well the page's document fits what the question names. A term that no page holds weighs
        most: a question about something the library does not know scores low however often its common words occur.
        0 to 1, higher is better.
        """
        if not terms:
            return 0.0
        weights = np.array([weight * self._weights[term] for term, weight in terms.items()])
        rows = np.array([self._rows[term] for term in terms])
        held = [page.holds[rows] for page in self._pages]
        whole = math.fsum(weights)  # in whatever order the terms come, the same to the last digit
        if apart:
            said = _ELSEWHERE if any(_holding(name, self._contents) == 0 for name in names) else 1.0
            best = max((_sum(weights * np.maximum(*pair)) for pair in combinations(held, 2)), default=0.0)
            return max(round(said * best / whole, 4), self.coverage(terms, names))
        named = [_says(page.content, names) for page in self._pages]
        shares = [share * _sum(weights * holds) / whole for share, holds in zip(named, held, strict=True)]
        return round(max(shares, default=0.0), 4)


def _sum(values: Floats) -> float:
    return math.fsum(values[values != 0])


def _shares_held(content: Content, occurrences: Occurrences, page: int) -> Floats:
    """Return how much of each term a page holds, 0 to 1."""
    shares = np.zeros(len(occurrences.holding))
    pages = occurrences.pages.astype(np.int64)
    shares[occurrences.terms[np.abs(pages - (page - 1)) == 1]] = _BESIDE
    here = pages == page - 1
    model = Bm25(_K1, 1.0, content.body.average_length)
    shares[occurrences.terms[here]] = model.weights(occurrences.counts[here], float(content.body.lengths[page - 1]))
    return shares


def _says(content: Content, names: Collection[str]) -> float:
    """1 where the document says all of the names somewhere."""
    return 1.0 if all(_holding(name, [content]) for name in names) else _ELSEWHERE


def _fit(routing: Routing, doc_id: str) -> float:
    """1 where the question names no organisation or this document fits it best, less for others of the library."""
    best = max(routing.scores.values(), default=0.0)
    if not routing.organisations or best < _SURE:
        return 1.0
    return _ELSEWHERE + (1 - _ELSEWHERE) * routing.scores.get(doc_id, 0.0) / best
