"""How well what was found can answer: strong, weak, or none.

Rare words weigh more; a page that says a word often, for its length, holds more of it than one that mentions it; and
a page of another organisation or year than the question names says little, as does one whose document never says a name
that the question asks about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hybrid_core import bm25, text
from hybrid_core.bm25 import Bm25
from hybrid_core.names import has_cjk
from hybrid_core.results import Evidence
from retrievers.content import Content
from retrievers.route import Routing

STRONG, WEAK = 0.5, 0.25
JUDGED = 5  # pages, however many are shown
_K1 = 0.5  # one mention on a page of average length holds 1 / (1 + 0.5) of a term
_BESIDE = 0.4  # what a term counts that only the page before or after holds
_ELSEWHERE = 0.4  # what a page counts whose document is not the one that the question names
_SURE = 0.4  # routing scores below this name nothing
_SPANNING = 0.2  # what an unknown pair of characters weighs: as likely it spans two words as that it is one


def judge(held: Held, asked: Mapping[str, float], added: Mapping[str, float], names: Collection[str]) -> Evidence:
    """The coverage of the question's terms, or where that is more, of these and what expert knowledge added.

    To say what is asked in the field's words is as good as to say it in the question's. ``names`` are those of the
    question's terms that are proper names.
    """
    worded = [asked, {**added, **asked}] if asked and added else [asked]
    score = max(held.coverage(terms, names) for terms in worded)
    return Evidence("strong" if score >= STRONG else "weak" if score >= WEAK else "none", score)


class Held:
    """How much of each of the ``terms`` the ``pages`` (doc_id, content, page) hold."""

    def __init__(self, terms: Iterable[str], pages: Sequence[tuple[str, Content, int]], routing: Routing) -> None:
        contents = list({content.content_id: content for _, content, _ in pages}.values())
        total = sum(content.pages for content in contents)
        hashes = {term: text.cached_hash(term) for term in terms}
        self._weights = {term: _weight(term, contents, total) for term in hashes}
        self._pages = [
            (content, _fit(routing, doc_id), {term: _held(content, page, hashed) for term, hashed in hashes.items()})
            for doc_id, content, page in pages
        ]

    def coverage(self, terms: Mapping[str, float], names: Collection[str] = ()) -> float:
        """The best share of the terms, which must be among those looked for, that one of the pages holds.

        Σ w(t) · tf / (tf + k1 · |page| / average) / Σ w(t) with w = given weight · (1 + idf over the judged
        documents); times how well the page's document fits what the question names. A term that no page holds weighs
        most: a question about something the library does not know scores low however often its common words occur.
        0 to 1, higher is better.
        """
        if not terms:
            return 0.0
        weights = {term: weight * self._weights[term] for term, weight in terms.items()}
        whole = sum(weights.values())
        shares = (
            fit * _says(content, names) * sum(weight * holds[term] for term, weight in weights.items()) / whole
            for content, fit, holds in self._pages
        )
        return round(max(shares, default=0.0), 4)


def _weight(term: str, contents: Collection[Content], pages: int) -> float:
    held = sum(len(content.body.postings(text.cached_hash(term))[0]) for content in contents)
    known = held > 0 or not has_cjk(term)
    return (1.0 if known else _SPANNING) * (1 + bm25.idf(pages, held))


def _held(content: Content, page: int, term: int) -> float:
    """How much of a term a page holds, 0 to 1."""
    pages, counts = content.body.postings(term)
    if not len(pages):
        return 0.0
    at = int(pages.searchsorted(page - 1))
    if at < len(pages) and pages[at] == page - 1:
        model = Bm25(_K1, 1.0, content.body.average_length)
        return float(model.weights(counts[at : at + 1], float(content.body.lengths[page - 1]))[0])
    beside = pages[max(0, at - 1) : at + 1].tolist()
    return _BESIDE if page - 2 in beside or page in beside else 0.0


def _says(content: Content, names: Collection[str]) -> float:
    """1 where the document says all of the names somewhere."""
    return 1.0 if all(len(content.body.postings(text.cached_hash(name))[0]) for name in names) else _ELSEWHERE


def _fit(routing: Routing, doc_id: str) -> float:
    """1 where the question names no organisation or this document fits it best, less for others of the library."""
    best = max(routing.scores.values(), default=0.0)
    if not routing.organisations or best < _SURE:
        return 1.0
    return _ELSEWHERE + (1 - _ELSEWHERE) * routing.scores.get(doc_id, 0.0) / best
