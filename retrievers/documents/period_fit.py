"""How well a document's period answers the time a question asks about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hybrid_core.cards.document_types import document_types
from hybrid_core.text.periods import days_between, quarter_ended, quarter_of
from hybrid_core.types.documents import Card, Period
from hybrid_core.types.scoring import PeriodFit
from retrievers.query.question import Question


def period_fit(card: Card, question: Question, scoring: PeriodFit) -> float:
    """0 to 1. A date decides over a quarter, a quarter over a year; the first year over those compared with."""
    if not card.years:
        return scoring.undated
    best = max((_date_fit(card, date, scoring) for date in question.dates), default=0.0)
    main = question.years[0] if question.years else 0
    asked = question.quarters
    for period in asked:
        weight = 1.0 if period.year in (0, main) else scoring.compared_quarter
        best = max(best, weight * _quarter_fit(card, period, scoring))
    if not asked and not (question.dates and _dated_only(question)):
        for rank, year in enumerate(question.years):
            best = max(best, _year_fit(card, year, scoring, whole=True) * (1.0 if rank == 0 else scoring.compared))
    elif question.dates:
        best = max(best, scoring.year_of_date * _year_fit(card, main, scoring, whole=True))
    return best


def newest(cards: Mapping[str, Card], clusters: Iterable[Sequence[str]], beside: float) -> dict[str, float]:
    """Documents that are the newest of their type in their cluster: 1 where newer documents of the type replace
    the older, ``beside`` where they do not. Types are not compared: the question's words decide among them."""
    result = {}
    for doc_ids in clusters:
        stamps = {d: _stamp(cards[d]) for d in doc_ids if cards[d].years}
        best: dict[str, str] = {}
        for doc_id, stamp in stamps.items():
            best[cards[doc_id].type] = max(best.get(cards[doc_id].type, ""), stamp)
        for doc_id, stamp in stamps.items():
            if stamp == best[cards[doc_id].type]:
                result[doc_id] = 1.0 if supersedes(cards[doc_id]) else beside
    return result


def _stamp(card: Card) -> str:
    """The day the document is of, by its date or by the end of its (calendar) year or quarter."""
    return card.date or f"{card.years[0]}-{3 * (card.quarter or 4):02d}-31"


def _dated_only(question: Question) -> bool:
    """Whether every year of the question is that of one of its dates."""
    return {int(date[:4]) for date in question.dates} >= set(question.years)


def _year_fit(card: Card, year: int, scoring: PeriodFit, whole: bool) -> float:
    partial = whole and card.quarter is not None
    best = 0.0
    for rank, own in enumerate(card.years[:3]):
        gap = own - year
        fit = _beside(scoring.later, gap) if gap > 0 else _beside(scoring.earlier, -gap) if gap else 1.0
        best = max(best, fit * (scoring.other_reading if rank else 1.0))
    if partial:
        return best * (scoring.last_quarter if card.quarter == 4 else scoring.part_of_year)
    return best * scoring.event if whole and card.type and not covers(card) else best


def _beside(fits: Sequence[float], years: int) -> float:
    return fits[years - 1] if years <= len(fits) else 0.0


def _quarter_fit(card: Card, asked: Period, scoring: PeriodFit) -> float:
    year_fit = _year_fit(card, asked.year, scoring, whole=False) if asked.year else scoring.any_year
    if card.quarter is None:
        if asked.quarter == 4 and covers(card) == "year":
            return scoring.year_for_last_quarter * year_fit
        if card.date and not covers(card):  # an event: on its day, in that quarter or not
            inside = quarter_of(card.date) == asked.quarter
            return (scoring.event_in_quarter if inside else scoring.wrong_quarter) * year_fit
        return scoring.whole_year * year_fit
    if card.quarter == asked.quarter:
        return year_fit
    calendar = (
        card.date is not None
        and covers(card) == "quarter"
        and (quarter_ended(card.date) == asked.quarter and int(card.date[:4]) == asked.year)
    )
    return scoring.calendar_quarter if calendar else scoring.wrong_quarter * year_fit


def _date_fit(card: Card, date: str, scoring: PeriodFit) -> float:
    best = scoring.year_of_date * _year_fit(card, int(date[:4]), scoring, whole=False)
    for own in card.dates:
        gap = days_between(date, own)
        if 0 <= gap <= scoring.days:  # dated on the day, or shortly after what it tells of
            fit = 1.0 if gap == 0 else scoring.after - gap / 100
        elif -scoring.days <= gap < 0:
            fit = scoring.before + gap / 150
        else:
            continue
        best = max(best, fit if own == card.date else scoring.other_date * fit)
    return best


def covers(card: Card) -> str:
    """The stretch of time that the card's type reports on: "year", "quarter" or ""."""
    return document_types()[card.type].covers if card.type in document_types() else ""


def supersedes(card: Card) -> bool:
    """Whether a newer document of the card's type replaces this one."""
    return document_types()[card.type].supersedes if card.type in document_types() else False
