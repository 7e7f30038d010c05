"""Routing: score how document cards match the organisation, period and type in a question.

The score is added, with a weight, to the score of the pages' text. First the organisation is resolved to a cluster of
documents. Within the cluster, period and type decide; the words of the organisation's name do not.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nlargest, nsmallest
from typing import Any, ClassVar

from hybrid_core.cards.document_types import type_note
from hybrid_core.store.mapped import MappedTable
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.documents import Card
from hybrid_core.types.notes import Note
from hybrid_core.types.scoring import ScoringConfig
from retrievers.candidates.cards import TitleIndex, newest, period_fit
from retrievers.candidates.clusters import Cluster, Clusters, EntityLinks
from retrievers.candidates.layers import (
    COUNTS,
    PLAIN,
    SETS,
    Counts,
    KeySets,
    Kind,
    Layered,
    WrittenTable,
    differences,
    restore,
    written,
)
from retrievers.query.question import Question

_REASON_DOCUMENTS = 20  # best documents that get a reason


@dataclass(frozen=True, slots=True)
class CardScores:
    """The scores of documents from their cards: 0 to 1, higher is better. Documents with 0 are left out.

    ``reasons`` explain the best scores.
    """

    scores: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, Note] = field(default_factory=dict)
    matched_terms: frozenset[str] = frozenset()  # question terms that name organisations, periods, types
    organisations: tuple[str, ...] = ()  # those the question names, by their best name
    named: tuple[str, ...] = ()  # the documents of organisations and parties that it surely names
    names: tuple[str, ...] = ()  # sure names of organisations and parties as the question writes them


@dataclass(slots=True)
class _Query:
    """A question with its matches in the library. ``fits`` caches the period score of each card's facts."""

    question: Question
    matched: EntityLinks
    types: set[str]
    titles: Mapping[str, float]
    fits: dict[str, float] = field(default_factory=dict)


class Router:
    """A router for one state of a library. It is immutable, so running searches keep using it.

    Parts of the router ``before`` that changed cards do not affect are reused.
    """

    # As of an empty library.
    _cards: Mapping[str, Card] = Layered[Card]()
    _facts: Layered[str] = Layered()  # period and type, as text, by document
    _alike: KeySets = KeySets()  # documents by these
    _by_year: KeySets = KeySets()  # these by year
    _by_quarter: KeySets = KeySets()
    _by_type: KeySets = KeySets()
    _typed: Counts = Counts()  # documents by type
    _order: Mapping[str, Any]
    _aliases: Mapping[str, Sequence[str]]
    _clusters: Clusters
    _titles: TitleIndex

    KINDS: ClassVar[Mapping[str, Kind]] = {
        "_facts": PLAIN, "_alike": SETS, "_by_year": SETS, "_by_quarter": SETS, "_by_type": SETS, "_typed": COUNTS,
    }  # fmt: skip

    def __init__(
        self,
        cards: Mapping[str, Card],
        aliases: Mapping[str, Sequence[str]] | None = None,
        scoring: ScoringConfig = ScoringConfig(),
        before: Router | None = None,
        order: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a router.

        ``order`` is the position of each document in the library, by default the order of ``cards``. ``aliases`` maps
        organisation names to user-defined nicknames. ``before`` is the router of an earlier state of the library, whose
        results are reused. Documents with unchanged cards must have the same order in both states.
        """
        if before is not None and not before.made_with(aliases, scoring):
            before = None
        old = before or Router.__new__(Router)
        went, came = differences(old._cards, cards)
        self._begin(cards, aliases, scoring, order)
        facts = {doc_id: facts_written(card) for doc_id, card in came.items()}
        were = {doc_id: old._facts[doc_id] for doc_id in went}
        self._facts = old._facts.updated(facts, [doc_id for doc_id in went if doc_id not in came])
        self._alike = old._alike.with_pairs(_by_value(were), _by_value(facts))
        gone = [facts_text for facts_text in {*were.values()} if facts_text not in self._alike]
        new = [facts_text for facts_text in {*facts.values()} if facts_text not in old._alike]
        self._by_year = old._by_year.with_pairs(_years(gone), _years(new))
        self._by_quarter = old._by_quarter.with_pairs(_quarters(gone), _quarters(new))
        self._by_type = old._by_type.with_pairs(_types(went), _types(came))
        self._typed = old._typed.counted((kind for kind, _ in _types(went)), (kind for kind, _ in _types(came)))
        clusters, titles = (before._clusters, before._titles) if before else (None, None)
        self._clusters = Clusters(cards, self._order, self._aliases, scoring.linking, clusters)
        self._titles = TitleIndex(cards, scoring.titles, titles)

    @classmethod
    def restored(
        cls,
        tables: Mapping[str, MappedTable],
        cards: Mapping[str, Card],
        aliases: Mapping[str, Sequence[str]],
        scoring: ScoringConfig,
        order: Mapping[str, Any],
    ) -> Router:
        """Return a router read from stored tables."""
        router = cls.__new__(cls)
        router._begin(cards, aliases, scoring, order)
        restore(router, cls.KINDS, tables)
        router._clusters = Clusters.restored(tables, cards, order, aliases, scoring.linking)
        router._titles = TitleIndex.restored(tables, cards, scoring.titles)
        return router

    def written(self) -> Iterator[WrittenTable]:
        """Yield the router as tables for storage."""
        yield from written(self, self.KINDS)
        yield from self._clusters.written()
        yield from written(self._titles, TitleIndex.KINDS)

    def _begin(
        self,
        cards: Mapping[str, Card],
        aliases: Mapping[str, Sequence[str]] | None,
        scoring: ScoringConfig,
        order: Mapping[str, Any] | None,
    ) -> None:
        self.scoring, self._weights, self._sure = scoring, scoring.cards, scoring.linking.sure
        self._cards, self._aliases = cards, aliases or {}
        self._order = {doc_id: place for place, doc_id in enumerate(cards)} if order is None else order

    def made_with(self, aliases: Mapping[str, Sequence[str]] | None, scoring: ScoringConfig) -> bool:
        """Return whether the router was built with these nicknames and scoring parameters."""
        own = self.scoring
        same = scoring is own or (scoring.linking, scoring.cards, scoring.periods, scoring.titles) == (
            own.linking, own.cards, own.periods, own.titles,
        )  # fmt: skip
        return same and self._aliases == (aliases or {})

    def route(self, question: Question) -> CardScores:
        """Return the scores of the documents that the question names by organisation, period, type or title."""
        matched = self._clusters.match(question.text)
        facts = {doc_id: self._facts[doc_id] for doc_id in matched.strengths}
        cards = {facts_text: facts_read(facts_text) for facts_text in set(facts.values())}
        types = self._types_held(question, cards.values())
        named = question.period_terms.union(
            *map(tokenise, matched.spans), *(question.type_terms[name] for name in types)
        )
        # A name's own words count as a name only: where some of a cluster's titles lack them, they would decide.
        titles = self._titles.scores([term for term in question.terms if term not in named])
        query = _Query(question, matched, types, titles)
        scores = self._among(query, facts, cards)
        if matched.best < self._sure:
            for doc_id, score in self._anywhere(query).items():
                scores[doc_id] = max(score, scores.get(doc_id, 0.0))
        if matched.strengths and not question.timed:
            dated_cards = {doc_id: cards[facts_text] for doc_id, facts_text in facts.items()}
            for doc_id, share in newest(dated_cards, _by_cluster(matched), self._weights.newest_beside).items():
                extra = self._weights.newest_asked if question.latest else self._weights.newest
                scores[doc_id] = min(1.0, scores[doc_id] + extra * share * matched.strengths[doc_id][0])
        explained = self._best(scores, _REASON_DOCUMENTS)
        organisations = sorted(matched.names, key=lambda cluster: -matched.names[cluster])
        return CardScores(
            scores,
            {doc_id: self._reason(query, doc_id) for doc_id in explained},
            named,
            tuple(cluster.name for cluster in organisations),
            tuple(d for d, (strength, _) in matched.strengths.items() if strength >= self._sure),
            tuple(matched.sure),
        )

    def _among(self, query: _Query, facts: Mapping[str, str], cards: Mapping[str, Card]) -> dict[str, float]:
        """Return the scores of the named organisations' documents, by period, type and title.

        ``facts`` maps each of these documents to its period and type as text, and ``cards`` maps this text to a card.
        """
        if query.question.timed:
            self._fit(query, cards)
        weights = self._weights
        wrong = weights.wrong_type if query.types and not query.question.timed else 0.0
        fits = dict[str, float]()
        for facts_text, card in cards.items():
            typed = float(card.type in query.types) if query.types else weights.unsaid
            timed = query.fits.get(facts_text, weights.unsaid)
            fits[facts_text] = (
                weights.organisation + weights.period * timed + weights.type * typed - wrong * (1.0 - typed)
            )
        title_weight, titles = weights.title_beside, query.titles
        return {
            doc_id: min(1.0, strength * fits[facts[doc_id]] + title_weight * titles.get(doc_id, 0.0))
            for doc_id, (strength, _) in query.matched.strengths.items()
        }

    def _anywhere(self, query: _Query) -> dict[str, float]:
        """Return scores of documents by the period, type or title in the question, for any organisation."""
        years = {year + later for year in query.question.years for later in (0, 1)}
        dated = {facts for year in years for facts in self._by_year[str(year)]}
        if not years:
            quarters = {period.quarter for period in query.question.quarters}
            dated.update(facts for quarter in quarters for facts in self._by_quarter[str(quarter)])
        self._fit(query, dated)
        scores = dict[str, float]()
        for facts in dated:
            scores |= dict.fromkeys(self._alike[facts], self._weights.period_alone * query.fits[facts])
        for name in query.types:
            for doc_id in self._by_type[name]:
                scores[doc_id] = scores.get(doc_id, 0.0) + self._weights.type_alone
        for doc_id, score in query.titles.items():
            scores[doc_id] = scores.get(doc_id, 0.0) + self._weights.title_alone * score
        return {doc_id: score for doc_id, score in scores.items() if score > 0.0}

    def _types_held(self, question: Question, named: Collection[Card]) -> set[str]:
        """Return the document types in the question that distinguish documents ("annual report").

        With named documents, only the types of these count. If no document is an agreement, "credit agreement" is the
        subject of the question and not a type of document.
        """
        if named:
            return {card.type for card in named}.intersection(question.types)
        limit = self._weights.telling * len(self._cards)
        return {name for name in question.types if 0 < self._typed[name] <= limit}

    def _facts_card(self, doc_id: str) -> Card:
        """Return a card with only the period and type of a document."""
        return facts_read(self._facts[doc_id])

    def _fit(self, query: _Query, alike: Iterable[str]) -> None:
        """Compute the period scores of facts (period and type as text), and cache them in the query."""
        query.fits |= {
            facts_text: period_fit(facts_read(facts_text), query.question, self.scoring.periods) for facts_text in alike
        }

    def _best(self, scores: Mapping[str, float], count: int) -> list[str]:
        """Return the ``count`` documents with the highest scores. Documents with equal scores keep the library's
        order.
        """
        threshold = min(nlargest(count, scores.values()), default=0.0)
        better = [doc_id for doc_id, score in scores.items() if score > threshold]
        last = [doc_id for doc_id, score in scores.items() if score == threshold]
        if len(better) + len(last) > count:
            last = nsmallest(count - len(better), last, self._order.__getitem__)
        return sorted((*better, *last), key=lambda doc_id: (-scores[doc_id], self._order[doc_id]))

    def _reason(self, query: _Query, doc_id: str) -> Note:
        card = self._facts_card(doc_id)
        reasons: list[Note] = []
        if doc_id in query.matched.strengths:
            name = query.matched.strengths[doc_id][1].name
            topic = self._cards[doc_id].topic
            reasons.append(Note("reason.subject", name=name) if topic else Note("reason.organisation", name=name))
        if card.years and query.fits.get(self._facts[doc_id], 0.0) >= self._weights.unsaid:
            year = card.years[0]
            of_quarter = Note("reason.quarter", year=year, quarter=card.quarter) if card.quarter else None
            reasons.append(of_quarter or Note("reason.year", year=year))
        if card.type and (reasons or card.type in query.types):
            reasons.append(type_note(card.type))
        if doc_id in query.titles:
            reasons.append(Note("reason.title"))
        return Note.joined(reasons, "list.commas")


def facts_written(card: Card) -> str:
    """Return the period and type of a card as text. Cards with equal periods and types give equal texts."""
    return json.dumps([card.years, card.quarter, card.date, card.dates, card.type], ensure_ascii=False)


@lru_cache(maxsize=10_000)
def facts_read(text: str) -> Card:
    """Return a card with only the period and type, from a text of ``facts_written``."""
    years, quarter, date, dates, kind = json.loads(text)
    return Card(years=tuple(years), quarter=quarter, date=date, dates=tuple(dates), type=kind)


def _by_value(facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((value, doc_id) for doc_id, value in facts.items())


def _years(facts: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((str(year), facts_text) for facts_text in facts for year in facts_read(facts_text).years)


def _quarters(facts: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((str(quarter), facts_text) for facts_text in facts if (quarter := facts_read(facts_text).quarter))


def _types(cards: Mapping[str, Card]) -> Iterator[tuple[str, str]]:
    return ((card.type, doc_id) for doc_id, card in cards.items() if card.type)


def _by_cluster(matched: EntityLinks) -> list[list[str]]:
    groups: dict[Cluster, list[str]] = {}
    for doc_id, (_, cluster) in matched.strengths.items():
        groups.setdefault(cluster, []).append(doc_id)
    return list(groups.values())
