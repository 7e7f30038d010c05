"""Which documents a question is about: its organisation, period and type matched against the documents' cards.

The result is soft evidence: a score per document to be added, with a weight, to what the pages' text says. The
organisation is resolved to its cluster first; names that only some of a cluster's documents carry never decide
among them, period and type do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hybrid_core.text import tokenise
from hybrid_core.types import Card
from retrievers.clusters import Clusters, Matched
from retrievers.period_fit import latest_first, period_fit
from retrievers.question import Question
from retrievers.titles import TitleIndex

_ORGANISATION, _PERIOD, _TYPE = 0.5, 0.4, 0.1  # how much of the score of a matched organisation's document
_PERIOD_ALONE, _TYPE_ALONE, _TITLE_ALONE = 0.3, 0.15, 0.6  # where the question names no organisation we hold
_TITLE_BESIDE = 0.08
_UNSAID = 0.5  # period fit of every document where the question names no time
_NEWEST = 0.02
_TIE = 0.005


@dataclass(frozen=True, slots=True)
class Routing:
    """``scores`` (0 to 1, higher is better, zero left out) and why, one line per document."""

    scores: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    matched_terms: frozenset[str] = frozenset()  # question terms that named organisations, periods, types
    organisations: tuple[str, ...] = ()  # those the question names, by their best name
    tied: tuple[str, ...] = ()  # the best documents, where two or more score alike


class Router:
    """Routes questions over the documents of a library. Built once per state of the library, then read only."""

    def __init__(self, cards: Mapping[str, Card], aliases: Mapping[str, Sequence[str]] | None = None) -> None:
        """``aliases`` is a user's list of nicknames by organisation name."""
        self._ids = list(cards)
        self._cards = list(cards.values())
        self._clusters = Clusters(self._cards, aliases or {})
        self._titles = TitleIndex(self._cards)
        self._by_year: dict[int, list[int]] = {}
        self._by_quarter: dict[int, list[int]] = {}
        self._by_type: dict[str, list[int]] = {}
        for number, card in enumerate(self._cards):
            for year in card.years:
                self._by_year.setdefault(year, []).append(number)
            if card.quarter:
                self._by_quarter.setdefault(card.quarter, []).append(number)
            if card.type:
                self._by_type.setdefault(card.type, []).append(number)

    def route(self, question: Question) -> Routing:
        """Scores for the documents that the question names, by organisation, period, type or title."""
        matched = self._clusters.match(question.text)
        titles = self._titles.scores(question.terms)
        terms = set(question.routing_terms)
        for text in matched.spans:
            terms.update(tokenise(text))
        if matched.strengths:
            scores, reasons = self._among(question, matched, titles)
        else:
            scores, reasons = self._anywhere(question, titles)
        named = sorted(matched.names, key=lambda c: -matched.names[c])
        return Routing(
            {self._ids[n]: score for n, score in scores.items()},
            {self._ids[n]: reason for n, reason in reasons.items()},
            frozenset(terms),
            tuple(self._clusters.name(c) for c in named),
            self._tied(scores),
        )

    def _tied(self, scores: Mapping[int, float]) -> tuple[str, ...]:
        if not scores:
            return ()
        floor = max(scores.values()) - _TIE - _NEWEST
        best = [n for n, score in scores.items() if score >= floor]
        return tuple(self._ids[n] for n in best) if len(best) > 1 else ()

    def _among(
        self, question: Question, matched: Matched, titles: Mapping[int, float]
    ) -> tuple[dict[int, float], dict[int, str]]:
        """The documents of the organisations named, told apart by period, type and title words."""
        scores: dict[int, float] = {}
        reasons: dict[int, str] = {}
        timed = bool(question.years or question.quarters or question.dates)
        types = {t for t in question.types if any(self._cards[n].type == t for n in matched.strengths)}
        newest = {} if timed else latest_first(self._cards, matched.strengths)
        fits: dict[tuple[object, ...], float] = {}
        for number, (strength, cluster) in matched.strengths.items():
            card = self._cards[number]
            fit = _UNSAID + (0.5 if question.latest else _NEWEST) * newest.get(number, 0.0)
            if timed:
                key = (card.years, card.quarter, card.dates, card.type)
                if key not in fits:
                    fits[key] = period_fit(card, question)
                fit = fits[key]
            typed = (card.type in types) if types else 0.5
            extra = _TITLE_BESIDE * titles.get(number, 0.0)
            scores[number] = min(1.0, strength * (_ORGANISATION + _PERIOD * fit + _TYPE * typed) + extra)
            reasons[number] = self._reason(cluster, number, timed, fit, card.type in types)
        return scores, reasons

    def _anywhere(
        self, question: Question, titles: Mapping[int, float]
    ) -> tuple[dict[int, float], dict[int, str]]:
        """Without an organisation: the documents of the period, type or title that the question names."""
        scores: dict[int, float] = {}
        years = {y + after for y in question.years for after in (0, 1)}
        candidates = {n for year in years for n in self._by_year.get(year, ())}
        if not years:
            candidates.update(n for p in question.quarters for n in self._by_quarter.get(p.quarter or 0, ()))
        fits: dict[tuple[object, ...], float] = {}
        for number in candidates:
            card = self._cards[number]
            key = (card.years, card.quarter, card.dates, card.type)
            if key not in fits:
                fits[key] = period_fit(card, question)
            scores[number] = _PERIOD_ALONE * fits[key]
        for name in question.types:
            for number in self._by_type.get(name, ()):
                scores[number] = scores.get(number, 0.0) + _TYPE_ALONE
        for number, score in titles.items():
            scores[number] = scores.get(number, 0.0) + _TITLE_ALONE * score
        reasons = {
            n: self._reason(None, n, n in candidates, 1.0, self._cards[n].type in question.types, n in titles)
            for n in scores
        }
        return {n: min(1.0, s) for n, s in scores.items()}, reasons

    def _reason(
        self, cluster: int | None, number: int, timed: bool, fit: float, typed: bool, titled: bool = False
    ) -> str:
        card = self._cards[number]
        said = [] if cluster is None else [f"organisation {self._clusters.name(cluster)}"]
        if timed and fit >= 0.3 and card.years:
            said.append(f"year {card.years[0]}" + (f" Q{card.quarter}" if card.quarter else ""))
        if card.type and (typed or cluster is not None):
            said.append(card.type)
        if titled:
            said.append("title")
        return ", ".join(said)
