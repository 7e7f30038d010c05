"""Score the match of document cards with a question, by rare words of titles and by period.

A card is a short description of a document: organisation, type and period.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar

from hybrid_core.cards.document_types import document_types
from hybrid_core.store.mapped import MappedTable
from hybrid_core.text.names import GENERIC
from hybrid_core.text.periods import days_between, quarter_ended, quarter_of
from hybrid_core.text.tokens import is_number, is_year, stem, tokenise
from hybrid_core.types.documents import Card, Period
from hybrid_core.types.scoring import PeriodFit, TitleMatching
from retrievers.candidates.layers import COUNTS, PLAIN, SETS, Counts, KeySets, Kind, Layered, differences, restore
from retrievers.query.question import Question

_GENERIC_TERMS = frozenset(stem(word) for word in GENERIC)


class TitleIndex:
    """An inverted index from title terms to documents. Parts of the earlier index ``before`` are reused."""

    # those of an empty library
    _cards: Mapping[str, Card] = Layered[Card]()
    _terms: Layered[Sequence[str]] = Layered()  # title terms by document
    _documents: KeySets = KeySets()
    _holding: Counts = Counts()  # number of documents by term

    KINDS: ClassVar[Mapping[str, Kind]] = {"_terms": PLAIN, "_documents": SETS, "_holding": COUNTS}

    def __init__(self, cards: Mapping[str, Card], scoring: TitleMatching, before: TitleIndex | None = None) -> None:
        old = before or TitleIndex.__new__(TitleIndex)
        went, came = differences(old._cards, cards)
        self._begin(cards, scoring)
        new = {doc_id: self._title_terms(card) for doc_id, card in came.items()}
        lost = {doc_id: old._terms[doc_id] for doc_id in went}
        self._documents = old._documents.with_pairs(_term_pairs(lost), _term_pairs(new))
        self._holding = old._holding.counted(chain(*lost.values()), chain(*new.values()))
        self._terms = old._terms.updated(new, [doc_id for doc_id in lost if doc_id not in new])

    @classmethod
    def restored(
        cls, tables: Mapping[str, MappedTable], cards: Mapping[str, Card], scoring: TitleMatching
    ) -> TitleIndex:
        """Return an index read from stored tables."""
        index = cls.__new__(cls)
        index._begin(cards, scoring)
        restore(index, cls.KINDS, tables)
        return index

    def _begin(self, cards: Mapping[str, Card], scoring: TitleMatching) -> None:
        self._cards, self._scoring = cards, scoring
        self._norms: dict[str, float] = {}  # norms by document, for documents that were found
        self._idfs: dict[str, float] = {}  # by term, for terms that were looked up

    def _title_terms(self, card: Card) -> list[str]:
        words = tokenise(" . ".join((card.title, *card.tags, *card.names[:1])))[: self._scoring.longest]
        return [term for term in dict.fromkeys(words) if _tells(term)]

    def _idf(self, term: str) -> float:
        """Return a term's idf over titles, 0 if no title or too many titles contain it."""
        if term not in self._idfs:
            count, holding = len(self._cards), self._holding[term]
            limit = max(2.0, self._scoring.common * count) if count >= 8 else count
            self._idfs[term] = math.log(1 + count / holding) if 0 < holding <= limit else 0.0
        return self._idfs[term]

    def _norm(self, doc_id: str) -> float:
        if doc_id not in self._norms:
            self._norms[doc_id] = math.sqrt(sum(self._idf(term) ** 2 for term in self._terms[doc_id]))
        return self._norms[doc_id]

    def scores(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Return the scores of documents by their titles, 0 to 1, higher is better.

        A score combines two shares: that of the title's terms in the question, and that of the question's terms in the
        title. A single matching term scores only if it makes up at least half of the title.
        """
        dots: dict[str, float] = {}
        hits: dict[str, int] = {}
        norm = 0.0
        for term in dict.fromkeys(terms):
            idf = self._idf(term)
            if not idf:
                continue
            norm += idf * idf
            for doc_id in self._documents[term]:
                dots[doc_id] = dots.get(doc_id, 0.0) + idf * idf
                hits[doc_id] = hits.get(doc_id, 0) + 1
        root = math.sqrt(norm)
        result = {}
        for doc_id, dot in dots.items():
            share = dot / (self._norm(doc_id) ** 2)
            if hits[doc_id] >= 2:
                cosine = dot / (root * self._norm(doc_id))
                result[doc_id] = min(1.0, max(cosine * math.sqrt(share), share * share))
            elif share >= self._scoring.least_share:
                result[doc_id] = self._scoring.one_word * share
        return result


def _term_pairs(terms: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for doc_id, own in terms.items():
        yield from ((term, doc_id) for term in own)


def _tells(term: str) -> bool:
    """Return whether a term can distinguish one title from another.

    Years and generic words cannot. Numbers can if they have three to six digits, such as "9110" in RFC 9110.
    """
    if is_number(term):
        return 3 <= len(term) <= 6
    return not (term in _GENERIC_TERMS or is_year(term))


def period_fit(card: Card, question: Question, scoring: PeriodFit) -> float:
    """Return the match of a card's period with the dates in the question, 0 to 1, higher is better.

    A matching date counts more than a quarter, and a quarter more than a year. The first year in the question counts
    more than further years, which are usually compared with it.
    """
    if not card.years:
        return scoring.undated
    best = max((_date_fit(card, date, scoring) for date in question.dates), default=0.0)
    main = question.years[0] if question.years else 0
    quarters = question.quarters
    for period in quarters:
        weight = 1.0 if period.year in (0, main) else scoring.compared_quarter
        best = max(best, weight * _quarter_fit(card, period, scoring))
    if not quarters and not (question.dates and {int(date[:4]) for date in question.dates} >= set(question.years)):
        for rank, year in enumerate(question.years):
            best = max(best, _year_fit(card, year, scoring, whole=True) * (1.0 if rank == 0 else scoring.compared))
    elif question.dates:
        best = max(best, scoring.year_of_date * _year_fit(card, main, scoring, whole=True))
    return best


def newest(cards: Mapping[str, Card], clusters: Iterable[Sequence[str]], share: float) -> dict[str, float]:
    """Return the newest document of each type in each cluster of documents, with a score.

    The score is 1 for types in which newer documents replace older ones, and ``share`` for other types.
    """
    result = {}
    for doc_ids in clusters:
        stamps = {d: _stamp(cards[d]) for d in doc_ids if cards[d].years}
        best: dict[str, str] = {}
        for doc_id, stamp in stamps.items():
            best[cards[doc_id].type] = max(best.get(cards[doc_id].type, ""), stamp)
        for doc_id, stamp in stamps.items():
            if stamp == best[cards[doc_id].type]:
                result[doc_id] = 1.0 if supersedes(cards[doc_id]) else share
    return result


def _stamp(card: Card) -> str:
    """Return a card's date, or the end of its year or quarter, by which documents are ordered."""
    return card.date or f"{card.years[0]}-{3 * (card.quarter or 4):02d}-31"


def _year_fit(card: Card, year: int, scoring: PeriodFit, whole: bool) -> float:
    partial = whole and card.quarter is not None
    best = 0.0
    for rank, own in enumerate(card.years[:3]):
        gap = own - year
        fit = (
            _year_distance_fit(scoring.later, gap)
            if gap > 0
            else _year_distance_fit(scoring.earlier, -gap)
            if gap
            else 1.0
        )
        best = max(best, fit * (scoring.other_reading if rank else 1.0))
    if partial:
        return best * (scoring.last_quarter if card.quarter == 4 else scoring.part_of_year)
    return best * scoring.event if whole and card.type and not covers(card) else best


def _year_distance_fit(fits: Sequence[float], years: int) -> float:
    return fits[years - 1] if years <= len(fits) else 0.0


def _quarter_fit(card: Card, period: Period, scoring: PeriodFit) -> float:
    year_fit = _year_fit(card, period.year, scoring, whole=False) if period.year else scoring.any_year
    if card.quarter is None:
        if period.quarter == 4 and covers(card) == "year":
            return scoring.year_for_last_quarter * year_fit
        if card.date and not covers(card):  # an event, in the quarter of its day or another
            inside = quarter_of(card.date) == period.quarter
            return (scoring.event_in_quarter if inside else scoring.wrong_quarter) * year_fit
        return scoring.whole_year * year_fit
    if card.quarter == period.quarter:
        return year_fit
    calendar = (
        card.date is not None
        and covers(card) == "quarter"
        and (quarter_ended(card.date) == period.quarter and int(card.date[:4]) == period.year)
    )
    return scoring.calendar_quarter if calendar else scoring.wrong_quarter * year_fit


def _date_fit(card: Card, date: str, scoring: PeriodFit) -> float:
    best = scoring.year_of_date * _year_fit(card, int(date[:4]), scoring, whole=False)
    for own in card.dates:
        gap = days_between(date, own)
        if 0 <= gap <= scoring.days:  # dated on the day or shortly after the event
            fit = 1.0 if gap == 0 else scoring.after - gap / 100
        elif -scoring.days <= gap < 0:
            fit = scoring.before + gap / 150
        else:
            continue
        best = max(best, fit if own == card.date else scoring.other_date * fit)
    return best


def covers(card: Card) -> str:
    """Return the period that documents of a card's type report on: "year", "quarter" or ""."""
    return document_types()[card.type].covers if card.type in document_types() else ""


def supersedes(card: Card) -> bool:
    """Return whether newer documents of this type replace older ones."""
    return document_types()[card.type].supersedes if card.type in document_types() else False
