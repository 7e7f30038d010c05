"""Organisations (and other subjects) as clusters of names over documents, and which of them a question names.

A cluster gathers the documents that share a name. Parties of an agreement belong to that document, not to its
cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

from hybrid_core.store.mapped import MappedTable
from hybrid_core.text.names import GENERIC, cjk_key, has_cjk, name_key
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking
from retrievers.documents.layers import (
    PLAIN,
    SETS,
    TALLIES,
    Kind,
    Layered,
    Postings,
    Tallies,
    WrittenTable,
    differences,
    restore,
    written,
)
from retrievers.documents.recurring_names import RecurringNames
from retrievers.documents.subjects import (
    Subject,
    best_name,
    grouped,
    has_legal_form,
    name_keys,
    squashed,
    subject_of,
    subject_written,
)
from retrievers.query.names import MentionFinder, NameMention


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """``documents`` are in the library's order; ``keys`` say how surely each means this cluster."""

    name: str
    documents: tuple[str, ...]
    keys: Mapping[str, float]
    organisation: bool

    @property
    def id(self) -> str:
        """A document is of one cluster."""
        return self.documents[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cluster) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(slots=True)
class EntityLinks:
    """``strengths``: document -> (0 to 1, its cluster). ``spans``: the names as the question writes them."""

    strengths: dict[str, tuple[float, Cluster]] = field(default_factory=dict)
    names: dict[Cluster, float] = field(default_factory=dict)  # with their strengths
    spans: list[str] = field(default_factory=list)
    sure: list[str] = field(default_factory=list)  # those of them that are surely names

    @property
    def best(self) -> float:
        """The strength of the surest match, 0 where there is none."""
        return max((strength for strength, _ in self.strengths.values()), default=0.0)


class Clusters:
    """Groups documents by their cards' names. Made of the clusters ``before``, where some are given, and of what
    differs: only clusters that share a name with a changed document are put together anew.
    """

    # As of an empty library. Subjects are as text, clusters by their ids.
    _cards: Mapping[str, Card] = Layered[Card]()
    _recurring: RecurringNames
    _subjects: Layered[str] = Layered()  # by document
    _about: Postings = Postings()  # documents by subject
    _linked: Postings = Postings()  # subjects by key
    _grouped: Layered[str] = Layered()  # clusters by subject
    _clusters: Layered[Cluster] = Layered()
    _keys: Layered[Mapping[str, float]] = Layered()  # key -> how surely it means clusters
    _parties: Postings = Postings()
    _in_characters: Tallies = Tallies()  # how many keys begin with two characters, by their length

    KINDS: ClassVar[Mapping[str, Kind]] = {
        "_subjects": PLAIN, "_about": SETS, "_linked": SETS, "_grouped": PLAIN,
        "_clusters": Kind(Layered, lambda said: Cluster(said[0], tuple(said[1]), said[2], said[3]),
                          lambda one: (one.name, one.documents, one.keys, one.organisation)),
        "_keys": PLAIN, "_parties": SETS, "_in_characters": TALLIES,
    }  # fmt: skip

    def __init__(
        self,
        cards: Mapping[str, Card],
        order: Mapping[str, Any],
        aliases: Mapping[str, Sequence[str]],
        scoring: EntityLinking,
        before: Clusters | None = None,
    ) -> None:
        """``order`` says where each stands in the library. ``aliases`` and ``scoring`` are those of ``before``."""
        old = before or Clusters.__new__(Clusters)
        went, came = differences(old._cards, cards)
        self._begin(cards, order, aliases, scoring)
        self._recurring = RecurringNames(scoring, len(cards), went, came, before._recurring if before else None)
        gone, made = self._regroup(old, went.keys() | came.keys() | self._recurring.anew)
        self._keys = _changed_keys(old._keys, gone, made)
        self._parties = old._parties.with_pairs(_parties(went), _parties(came))
        lost = chain((key for cluster in gone for key in cluster.keys), (key for key, _ in _parties(went)))
        added = chain((key for cluster in made for key in cluster.keys), (key for key, _ in _parties(came)))
        self._in_characters = old._in_characters.counted(_begun(lost), _begun(added))
        self._finder = MentionFinder(_Either(self._keys, self._parties), self._in_characters)

    @classmethod
    def restored(
        cls,
        tables: Mapping[str, MappedTable],
        cards: Mapping[str, Card],
        order: Mapping[str, Any],
        aliases: Mapping[str, Sequence[str]],
        scoring: EntityLinking,
    ) -> Clusters:
        """Those that were written as tables."""
        one = cls.__new__(cls)
        one._begin(cards, order, aliases, scoring)
        restore(one, cls.KINDS, tables)
        one._recurring = RecurringNames.restored(tables, scoring, len(cards))
        one._finder = MentionFinder(_Either(one._keys, one._parties), one._in_characters)
        return one

    def written(self) -> Iterator[WrittenTable]:
        """As tables."""
        yield from written(self, self.KINDS)
        yield from written(self._recurring, RecurringNames.KINDS)

    def _begin(
        self,
        cards: Mapping[str, Card],
        order: Mapping[str, Any],
        aliases: Mapping[str, Sequence[str]],
        scoring: EntityLinking,
    ) -> None:
        self._cards, self._order, self._scoring = cards, order, scoring
        self._aliases = [
            (name_key(name), [cjk_key(n) if has_cjk(n) else squashed(n) for n in nicknames])
            for name, nicknames in aliases.items()
        ]

    def _regroup(self, old: Clusters, changed: Collection[str]) -> tuple[list[Cluster], list[Cluster]]:
        """Put together anew the clusters that may have changed with these documents: those that went, those made."""
        was = [(old._subjects[doc_id], doc_id) for doc_id in changed if doc_id in old._subjects]
        now = [
            (subject_of(doc_id, self._cards[doc_id], self._recurring.names.get(doc_id, "")).written(), doc_id)
            for doc_id in changed
            if doc_id in self._cards
        ]
        there = {doc_id: subject for subject, doc_id in now}
        self._subjects = old._subjects.updated(there, [doc_id for doc_id in changed if doc_id not in there])
        self._about = old._about.with_pairs(was, now)
        touched = {subject for subject, _ in chain(was, now)}
        self._linked = old._linked.with_pairs(
            ((key, one) for one in touched if one in old._about for key in subject_written(one).links),
            ((key, one) for one in touched if one in self._about for key in subject_written(one).links),
        )
        reached = self._reached(touched)
        gone = {old._grouped[one] for one in reached | touched if one in old._grouped}
        first = {one: min(map(self._order.__getitem__, self._about[one])) for one in reached}
        made, groups = [], dict[str, str]()
        for group in grouped([subject_written(one) for one in sorted(reached, key=first.__getitem__)]):
            cluster = self._cluster(group)
            made.append(cluster)
            groups |= dict.fromkeys((one.written() for one in group), cluster.id)
        self._grouped = old._grouped.updated(groups, [one for one in touched if one not in groups])
        by_id = {cluster.id: cluster for cluster in made}
        self._clusters = old._clusters.updated(by_id, [one for one in gone if one not in by_id])
        return [old._clusters[one] for one in gone], made

    def _reached(self, touched: Collection[str]) -> set[str]:
        """The subjects that some of these are or were joined with, directly or through others."""
        found = {subject for subject in touched if subject in self._about}
        waiting, keys = [*touched], set[str]()
        while waiting:
            for key in subject_written(waiting.pop()).links - keys:
                keys.add(key)
                more = self._linked[key] - found
                found |= more
                waiting += more
        return found

    def _cluster(self, subjects: Sequence[Subject]) -> Cluster:
        about = (doc_id for one in subjects for doc_id in self._about[one.written()])
        documents = sorted(about, key=self._order.__getitem__)
        names = list(dict.fromkeys(name for one in subjects for name in (*one.names, one.recurring) if name))
        keys: dict[str, float] = {}
        for name in names:
            for key, strength in name_keys(name, self._scoring):
                keys[key] = max(strength, keys.get(key, 0.0))
        for symbol in {symbol for subject in subjects for symbol in subject.symbols}:
            if (key := squashed(symbol)) and key not in GENERIC:
                keys[key] = max(self._scoring.symbol, keys.get(key, 0.0))
        for organisation, nicknames in self._aliases:
            if organisation in keys:
                keys |= {key: max(self._scoring.whole, keys.get(key, 0.0)) for key in nicknames}
        called = best_name(names) or self._cards[documents[0]].title
        organisation_like = any(map(has_legal_form, names)) or any(subject.organisation for subject in subjects)
        return Cluster(called, tuple(documents), keys, organisation_like)

    def match(self, text: str) -> EntityLinks:
        """The documents of the organisations and subjects that a question names."""
        matched = EntityLinks()
        best: dict[str, tuple[float, Any, Cluster]] = {}
        answers: dict[str, set[object]] = {}  # document -> the different names it answers to
        written: list[tuple[float, str]] = []
        for found in self._finder.find(text):
            clusters = self._clusters_named(found)
            parties = (
                ()
                if self._scoring.whole in self._keys.get(found.key, {}).values()
                else sorted(self._parties[found.key], key=self._order.__getitem__)
            )
            if not clusters and not parties:
                continue
            for cluster, strength in clusters.items():
                matched.names[cluster] = max(strength, matched.names.get(cluster, 0.0))
            sure = (
                self._scoring.party
                if found.capital is not False or found.words > 1
                else self._scoring.party * self._scoring.lower_case
            )
            written.append((max([*clusters.values(), *([sure] if parties else [])]), found.written))
            for doc_id in parties:
                cluster = self._clusters[self._grouped[self._subjects[doc_id]]]
                self._offer(best, [doc_id], sure, cluster)
                answers.setdefault(doc_id, set()).add(found.key)
        for cluster, strength in matched.names.items():
            self._offer(best, cluster.documents, strength, cluster)
            for doc_id in cluster.documents:
                answers.setdefault(doc_id, set()).add(cluster)
        surest = max((strength for strength, *_ in best.values()), default=0.0)
        least = self._scoring.weak if surest >= self._scoring.clear else 0.0
        most = max(map(len, answers.values()), default=1)
        for doc_id, (strength, _, cluster) in best.items():
            if strength >= least:
                share = (
                    self._scoring.one_of_two + (1 - self._scoring.one_of_two) * len(answers[doc_id]) / most
                    if most > 1
                    else 1.0
                )
                matched.strengths[doc_id] = (strength * share, cluster)
        matched.names = {cluster: strength for cluster, strength in matched.names.items() if strength >= least}
        matched.spans = [text for strength, text in written if strength >= least]
        matched.sure = [text for strength, text in written if strength >= max(least, self._scoring.sure)]
        return matched

    def _clusters_named(self, found: NameMention) -> dict[Cluster, float]:
        held = self._keys.get(found.key, {})
        strongest = max(held.values(), default=0.0)
        if strongest >= self._scoring.shortened:
            held = {one: strength for one, strength in held.items() if strength == strongest}
        elif len(held) > self._scoring.shared:
            return {}
        share = 1.0 if strongest >= self._scoring.shortened else 1.0 / max(1, len(held))
        clusters = sorted(map(self._clusters.__getitem__, held), key=self._place)
        return {c: held[c.id] * share * self._certainty(found, c, held[c.id]) for c in clusters}

    def _certainty(self, found: NameMention, cluster: Cluster, strength: float) -> float:
        """How sure it is, by how it is written, that a key means the cluster and no common word."""
        if found.capital or (found.words > 1 and strength >= self._scoring.shortened):
            return 1.0
        if strength < self._scoring.shortened:
            return self._scoring.caseless if found.capital is None else self._scoring.lower_case
        if cluster.organisation:
            return 1.0 if found.capital is None else self._scoring.lower_organisation
        return self._scoring.caseless if found.capital is None else self._scoring.lower_case

    def _offer(
        self, best: dict[str, tuple[float, Any, Cluster]], doc_ids: Iterable[str], strength: float, cluster: Cluster
    ) -> None:
        """Note the strength and the cluster for those documents that have no better ones."""
        place = self._place(cluster)
        for doc_id in doc_ids:
            if doc_id not in best or best[doc_id][:2] < (strength, place):
                best[doc_id] = (strength, place, cluster)

    def _place(self, cluster: Cluster) -> Any:
        """The place of its first document in the library."""
        return self._order[cluster.id]


class _Either:
    """The keys of two collections."""

    def __init__(self, one: Container[str], other: Container[str]) -> None:
        self._one, self._other = one, other

    def __contains__(self, key: object) -> bool:
        return key in self._one or key in self._other


def _parties(cards: Mapping[str, Card]) -> Iterator[tuple[str, str]]:
    for doc_id, card in cards.items():
        yield from ((key, doc_id) for party in card.parties if (key := name_key(party)))


def _changed_keys(
    before: Layered[Mapping[str, float]], gone: Iterable[Cluster], made: Iterable[Cluster]
) -> Layered[Mapping[str, float]]:
    changed: dict[str, dict[str, float]] = {}
    for cluster in gone:
        for key in cluster.keys:
            changed.setdefault(key, dict(before[key])).pop(cluster.id)
    for cluster in made:
        for key, strength in cluster.keys.items():
            changed.setdefault(key, dict(before.get(key, ())))[cluster.id] = strength
    empty = [key for key, held in changed.items() if not held]
    return before.updated({key: held for key, held in changed.items() if held}, empty)


def _begun(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The first two characters of those that stand in texts without spaces, and how long they are."""
    return ((key[:2], str(len(key))) for key in keys if has_cjk(key))
