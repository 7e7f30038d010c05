"""How well a document's period answers the time a question asks about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybrid_core.cards.document_types import document_types
from hybrid_core.text.periods import days_between, quarter_ended, quarter_of
from hybrid_core.types.documents import Card, Period
from retrievers.query.question import Question

_UNDATED = 0.3  # a document that says no time
_OTHER_READING = 0.85  # the year is the document's second reading (calendar for fiscal)
_COMPARED = 0.4  # the year is only compared with: a later year is what the question is about
_COMPARED_QUARTER = 0.7
_OTHER_DATE = 0.9  # not the document's own date, but one that it tells of (an earlier version, an event)
_LATER = {1: 0.45, 2: 0.3, 3: 0.15}  # a report of later years repeats the year's figures
_EARLIER = {1: 0.2, 2: 0.1}  # a report of earlier years holds the outlook
_WRONG_QUARTER = 0.35
_WHOLE_YEAR = 0.6  # the annual report, where a quarter is asked for
_HAIR = 0.1
_LAST_QUARTER = 0.9  # reports on the year too
_EVENT = 0.75  # a document of one day in the year
_PART_OF_YEAR = 0.7  # a quarter's report, where the year is asked for


def period_fit(card: Card, question: Question) -> float:
    """0 to 1. A date decides over a quarter, a quarter over a year; the first year over those compared with."""
    if not card.years:
        return _UNDATED
    best = max((_date_fit(card, date) for date in question.dates), default=0.0)
    main = question.years[0] if question.years else 0
    asked = question.quarters
    for period in asked:
        weight = 1.0 if period.year in (0, main) else _COMPARED_QUARTER
        best = max(best, weight * _quarter_fit(card, period))
    if not asked and not (question.dates and _dated_only(question)):
        for rank, year in enumerate(question.years):
            best = max(best, _year_fit(card, year, whole=True) * (1.0 if rank == 0 else _COMPARED))
    elif question.dates:
        best = max(best, 0.5 * _year_fit(card, main, whole=True))
    return best


def newest(cards: Sequence[Card], clusters: Iterable[Sequence[int]]) -> dict[int, float]:
    """Documents that are the newest of their type in their cluster: 1 where newer documents of the type replace
    the older, a hair where they do not. Types are not compared: the question's words decide among them."""
    result = {}
    for numbers in clusters:
        stamps = {n: _stamp(cards[n]) for n in numbers if cards[n].years}
        best: dict[str, str] = {}
        for number, stamp in stamps.items():
            best[cards[number].type] = max(best.get(cards[number].type, ""), stamp)
        for number, stamp in stamps.items():
            if stamp == best[cards[number].type]:
                result[number] = 1.0 if supersedes(cards[number]) else _HAIR
    return result


def _stamp(card: Card) -> str:
    """The day the document is of, by its date or by the end of its (calendar) year or quarter."""
    return card.date or f"{card.years[0]}-{3 * (card.quarter or 4):02d}-31"


def _dated_only(question: Question) -> bool:
    """Whether every year of the question is that of one of its dates."""
    return {int(date[:4]) for date in question.dates} >= set(question.years)


def _year_fit(card: Card, year: int, whole: bool) -> float:
    partial = whole and card.quarter is not None
    best = 0.0
    for rank, own in enumerate(card.years[:3]):
        gap = own - year
        fit = 1.0 if gap == 0 else _LATER.get(gap, 0.0) if gap > 0 else _EARLIER.get(-gap, 0.0)
        best = max(best, fit * (_OTHER_READING if rank else 1.0))
    if partial:
        return best * (_LAST_QUARTER if card.quarter == 4 else _PART_OF_YEAR)
    return best * _EVENT if whole and card.type and not covers(card) else best


def _quarter_fit(card: Card, asked: Period) -> float:
    year_fit = _year_fit(card, asked.year, whole=False) if asked.year else 0.8
    if card.quarter is None:
        if asked.quarter == 4 and covers(card) == "year":
            return 0.85 * year_fit
        if card.date and not covers(card):  # an event: on its day, in that quarter or not
            inside = quarter_of(card.date) == asked.quarter
            return (0.8 if inside else _WRONG_QUARTER) * year_fit
        return _WHOLE_YEAR * year_fit
    if card.quarter == asked.quarter:
        return year_fit
    calendar = (
        card.date is not None
        and covers(card) == "quarter"
        and (quarter_ended(card.date) == asked.quarter and int(card.date[:4]) == asked.year)
    )
    return 0.7 if calendar else _WRONG_QUARTER * year_fit


def _date_fit(card: Card, date: str) -> float:
    best = 0.5 * _year_fit(card, int(date[:4]), whole=False)
    for own in card.dates:
        gap = days_between(date, own)
        if 0 <= gap <= 45:  # dated on the day, or shortly after what it tells of
            fit = 1.0 if gap == 0 else 0.9 - gap / 100
        elif -45 <= gap < 0:
            fit = 0.6 + gap / 150
        else:
            continue
        best = max(best, fit if own == card.date else _OTHER_DATE * fit)
    return best


def covers(card: Card) -> str:
    """The stretch of time that the card's type reports on: "year", "quarter" or ""."""
    return document_types()[card.type].covers if card.type in document_types() else ""


def supersedes(card: Card) -> bool:
    """Whether a newer document of the card's type replaces this one."""
    return document_types()[card.type].supersedes if card.type in document_types() else False
