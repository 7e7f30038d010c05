"""Which documents a question is about: its organisation, period and type matched against the documents' cards.

The result is soft evidence: a score per document to be added, with a weight, to what the pages' text says.
The organisation is resolved to its cluster first; names that only some of a cluster's documents carry never
decide among them, period and type do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from hybrid_core.text.tokens import tokenise
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import ScoringConfig
from retrievers.documents.clusters import Clusters, EntityLinks
from retrievers.documents.period_fit import newest, period_fit
from retrievers.documents.titles import TitleIndex
from retrievers.query.question import Question

_EXPLAINED = 20  # best documents that get a reason


@dataclass(frozen=True, slots=True)
class Routing:
    """``scores`` lie in 0 to 1, higher is better, zeros are left out; ``reasons`` explain the best of them."""

    scores: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    matched_terms: frozenset[str] = frozenset()  # question terms that name organisations, periods, types
    organisations: tuple[str, ...] = ()  # those the question names, by their best name
    named: tuple[str, ...] = ()  # the documents of organisations and parties that it surely names
    names: tuple[str, ...] = ()  # sure names of organisations and parties as the question writes them
    tied: tuple[str, ...] = ()  # the best documents, where the question does not tell two or more apart


@dataclass(slots=True)
class _Query:
    """What a question says, read against the library. ``fits`` are the period fits worked out so far."""

    question: Question
    matched: EntityLinks
    types: set[str]
    titles: Mapping[int, float]
    fits: dict[int, float] = field(default_factory=dict)


class Router:
    """Routes questions over the documents of a library. Built once per state of the library, then only read."""

    def __init__(
        self,
        cards: Mapping[str, Card],
        aliases: Mapping[str, Sequence[str]] | None = None,
        scoring: ScoringConfig = ScoringConfig(),
    ) -> None:
        """``aliases`` is a user's list of nicknames by organisation name."""
        self.scoring, self._weights, self._sure = scoring, scoring.cards, scoring.linking.sure
        self._ids = list(cards)
        self._cards = list(cards.values())
        self._clusters = Clusters(self._cards, aliases or {}, scoring.linking)
        self._titles = TitleIndex(self._cards, scoring.titles)
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

    def scores_by(self, scoring: ScoringConfig) -> bool:
        """Whether it scores by these numbers, as far as it reads them."""
        own = self.scoring
        return scoring is own or (scoring.linking, scoring.cards, scoring.periods, scoring.titles) == (
            own.linking, own.cards, own.periods, own.titles,
        )  # fmt: skip

    def route(self, question: Question) -> Routing:
        """Scores for the documents that the question names by organisation, period, type or title."""
        matched = self._clusters.match(question.text)
        types = self._types_held(question, matched)
        named = question.period_terms.union(
            *map(tokenise, matched.spans), *(question.type_terms[name] for name in types)
        )
        # A name's own words count as a name only: where some of a cluster's titles lack them, they would decide.
        titles = self._titles.scores([term for term in question.terms if term not in named])
        asked = _Query(question, matched, types, titles)
        scores = self._among(asked)
        if matched.best < self._sure:
            for number, score in self._anywhere(asked).items():
                scores[number] = max(score, scores.get(number, 0.0))
        tied = self._tied(scores)
        if matched.strengths and not question.timed:
            for number, share in newest(self._cards, _by_cluster(matched), self._weights.newest_beside).items():
                extra = self._weights.newest_asked if question.latest else self._weights.newest
                scores[number] = min(1.0, scores[number] + extra * share * matched.strengths[number][0])
            tied = self._tied(scores) if question.latest else tied
        explained = nlargest(_EXPLAINED, scores, key=scores.__getitem__)
        organisations = sorted(matched.names, key=lambda cluster: -matched.names[cluster])
        return Routing(
            {self._ids[n]: score for n, score in scores.items()},
            {self._ids[n]: self._reason(asked, n) for n in explained},
            named,
            tuple(self._clusters.name(cluster) for cluster in organisations),
            tuple(self._ids[n] for n, (strength, _) in matched.strengths.items() if strength >= self._sure),
            tuple(matched.sure),
            tied,
        )

    def _among(self, asked: _Query) -> dict[int, float]:
        """The documents of the organisations named, told apart by period, type and title words."""
        if asked.question.timed:
            self._fit(asked, asked.matched.strengths)
        weights = self._weights
        wrong = weights.wrong_type if asked.types and not asked.question.timed else 0.0
        scores = {}
        for number, (strength, _) in asked.matched.strengths.items():
            typed = float(self._cards[number].type in asked.types) if asked.types else weights.unsaid
            timed = asked.fits.get(number, weights.unsaid)
            told = weights.organisation + weights.period * timed + weights.type * typed - wrong * (1.0 - typed)
            scores[number] = min(1.0, strength * told + weights.title_beside * asked.titles.get(number, 0.0))
        return scores

    def _anywhere(self, asked: _Query) -> dict[int, float]:
        """Without an organisation: the documents of the period, type or title that the question names."""
        years = {year + later for year in asked.question.years for later in (0, 1)}
        dated = {n for year in years for n in self._by_year.get(year, ())}
        if not years:
            quarters = {period.quarter for period in asked.question.quarters}
            dated.update(n for quarter in quarters for n in self._by_quarter.get(quarter or 0, ()))
        self._fit(asked, dated)
        scores = {number: self._weights.period_alone * asked.fits[number] for number in dated}
        for name in asked.types:
            for number in self._by_type[name]:
                scores[number] = scores.get(number, 0.0) + self._weights.type_alone
        for number, score in asked.titles.items():
            scores[number] = scores.get(number, 0.0) + self._weights.title_alone * score
        return {number: score for number, score in scores.items() if score > 0.0}

    def _types_held(self, question: Question, matched: EntityLinks) -> set[str]:
        """The types asked for that tell documents apart: a «credit agreement» asked of a library, or of an
        organisation, without agreements is what the question is about, not where to look."""
        if matched.strengths:
            held = {self._cards[number].type for number in matched.strengths}
            return held.intersection(question.types)
        most = self._weights.telling * len(self._cards)
        return {name for name in question.types if 0 < len(self._by_type.get(name, ())) <= most}

    def _fit(self, asked: _Query, numbers: Iterable[int]) -> None:
        """Work out the documents' period fits; many share a period, so each period is compared once."""
        known: dict[tuple[object, ...], float] = {}
        for number in numbers:
            card = self._cards[number]
            key = (card.years, card.quarter, card.dates, card.type)
            if key not in known:
                known[key] = period_fit(card, asked.question, self.scoring.periods)
            asked.fits[number] = known[key]

    def _tied(self, scores: Mapping[int, float]) -> tuple[str, ...]:
        best = max(scores.values(), default=0.0)
        tied = [number for number, score in scores.items() if score >= best - self._weights.same]
        return tuple(self._ids[number] for number in tied) if len(tied) > 1 else ()

    def _reason(self, asked: _Query, number: int) -> str:
        card = self._cards[number]
        said = []
        if number in asked.matched.strengths:
            said.append(f"organisation {self._clusters.name(asked.matched.strengths[number][1])}")
        if card.years and asked.fits.get(number, 0.0) >= self._weights.unsaid:
            said.append(f"year {card.years[0]}" + (f" Q{card.quarter}" if card.quarter else ""))
        if card.type and (said or card.type in asked.types):
            said.append(card.type)
        if number in asked.titles:
            said.append("title")
        return ", ".join(said)


def _by_cluster(matched: EntityLinks) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for number, (_, cluster) in matched.strengths.items():
        groups.setdefault(cluster, []).append(number)
    return list(groups.values())
