"""Organisations (and other subjects) as clusters of names over documents, and which of them a question names.

A cluster gathers the documents that share a name. Parties of an agreement belong to that document, not to its
cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from hybrid_core.text.names import GENERIC, cjk_key, has_cjk, name_key
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking
from retrievers.documents.postings import Postings, differences
from retrievers.documents.subjects import (
    Subject,
    best_name,
    grouped,
    has_legal_form,
    join_keys,
    name_keys,
    squashed,
    subject_of,
)
from retrievers.query.mentions import MentionFinder, NameMention


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """``documents`` are in the library's order; ``keys`` say how surely each means this cluster."""

    name: str
    documents: tuple[str, ...]
    keys: Mapping[str, float]
    organisation: bool


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

    # As of an empty library.
    _cards: Mapping[str, Card] = MappingProxyType({})
    _whole_names: Mapping[str, int] = MappingProxyType({})  # keys, with how often documents are called so
    _holding: Mapping[str, Sequence[tuple[str, str]]] = MappingProxyType({})  # document -> recurring names, their keys
    _recurring: Mapping[str, str] = MappingProxyType({})  # document -> the one of them that counts
    _subjects: Mapping[str, Subject] = MappingProxyType({})  # by document
    _about: Postings[Subject, str] = Postings()
    _linked: Postings[str, Subject] = Postings()
    _clusters: Mapping[Subject, Cluster] = MappingProxyType({})
    _keys: Mapping[str, Mapping[Cluster, float]] = MappingProxyType({})
    _parties: Postings[str, str] = Postings()
    _in_characters: Mapping[str, int] = MappingProxyType({})  # keys that stand in texts without spaces

    def __init__(
        self,
        cards: Mapping[str, Card],
        order: Mapping[str, int],
        aliases: Mapping[str, Sequence[str]],
        scoring: EntityLinking,
        before: Clusters | None = None,
    ) -> None:
        """``order`` is the library's, from 0. ``aliases`` and ``scoring`` are those of ``before``."""
        old = before or self
        went, came = differences(old._cards, cards)
        self._cards, self._order, self._scoring = cards, order, scoring
        self._aliases = [
            (name_key(name), [cjk_key(n) if has_cjk(n) else squashed(n) for n in nicknames])
            for name, nicknames in aliases.items()
        ]
        self._whole_names = _counted(old._whole_names, self._wholly(went.values()), self._wholly(came.values()))
        recurring = old._recurring
        self._holding, self._recurring = self._named_by_what_recurs(old._holding, went, came)
        named_anew = {doc_id for doc_id, _ in recurring.items() ^ self._recurring.items()}
        gone, made = self._regroup(old, went.keys() | came.keys() | named_anew)
        self._keys = _changed_keys(old._keys, gone, made)
        self._parties = old._parties.updated(_parties(went), _parties(came))
        lost = chain((key for cluster in gone for key in cluster.keys), (key for key, _ in _parties(went)))
        added = chain((key for cluster in made for key in cluster.keys), (key for key, _ in _parties(came)))
        self._in_characters = _counted(old._in_characters, filter(has_cjk, lost), filter(has_cjk, added))
        self._finder = MentionFinder(_Either(self._keys, self._parties), self._in_characters)

    def _named_by_what_recurs(
        self, before: Mapping[str, Sequence[tuple[str, str]]], went: Mapping[str, Card], came: Mapping[str, Card]
    ) -> tuple[Mapping[str, Sequence[tuple[str, str]]], Mapping[str, str]]:
        """The documents with recurring names, and the first of each's that few documents share and none is called by.

        A name on most pages of many documents says what the library is about, not which document is meant.
        """
        holding = {doc_id: names for doc_id, names in before.items() if doc_id not in went}
        for doc_id, card in came.items():
            if card.recurring:
                holding[doc_id] = [(name, join_keys(name)[0]) for name in card.recurring]
        held = Counter(key for names in holding.values() for _, key in names)
        most = max(self._scoring.shared, self._scoring.few * len(self._cards))
        own = (
            (doc_id, name)
            for doc_id, names in holding.items()
            for name, key in reversed(names)  # the first one stays
            if held[key] <= most and key not in self._whole_names
        )
        return holding, dict(own)

    def _wholly(self, cards: Iterable[Card]) -> Iterator[str]:
        least = self._scoring.shortened
        for card in cards:
            for name in card.names:
                yield from (key for key, strength in name_keys(name, self._scoring) if strength >= least)

    def _regroup(self, old: Clusters, changed: Collection[str]) -> tuple[set[Cluster], list[Cluster]]:
        """Put together anew the clusters that may have changed with these documents: those that went, those made."""
        was = [(old._subjects[doc_id], doc_id) for doc_id in changed if doc_id in old._subjects]
        now = [
            (subject_of(doc_id, self._cards[doc_id], self._recurring.get(doc_id, "")), doc_id)
            for doc_id in changed
            if doc_id in self._cards
        ]
        subjects = {doc_id: subject for doc_id, subject in old._subjects.items() if doc_id in self._cards}
        self._subjects = subjects | {doc_id: subject for subject, doc_id in now}
        about = old._about
        self._about = about.updated(was, now)
        touched = {subject for subject, _ in chain(was, now)}
        self._linked = old._linked.updated(
            ((key, subject) for subject in touched if subject in about for key in subject.links),
            ((key, subject) for subject in touched if subject in self._about for key in subject.links),
        )
        reached = self._reached(touched)
        clusters = dict(old._clusters)
        gone = {clusters.pop(subject) for subject in reached | touched if subject in clusters}
        first = {s: min(map(self._order.__getitem__, self._about[s])) for s in reached}
        made = []
        for group in grouped(sorted(reached, key=first.__getitem__)):
            cluster = self._cluster(group)
            made.append(cluster)
            clusters |= dict.fromkeys(group, cluster)
        self._clusters = clusters
        return gone, made

    def _reached(self, touched: Collection[Subject]) -> set[Subject]:
        """The subjects that some of these are or were joined with, directly or through others."""
        found = {subject for subject in touched if subject in self._about}
        waiting, keys = [*touched], set[str]()
        while waiting:
            for key in waiting.pop().links - keys:
                keys.add(key)
                more = self._linked[key] - found
                found |= more
                waiting += more
        return found

    def _cluster(self, subjects: Sequence[Subject]) -> Cluster:
        documents = sorted((d for s in subjects for d in self._about[s]), key=self._order.__getitem__)
        names = list(dict.fromkeys(name for subject in subjects for name in subject.names))
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
        best: dict[str, tuple[float, int, Cluster]] = {}
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
                cluster = self._clusters[self._subjects[doc_id]]
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
            held = {cluster: strength for cluster, strength in held.items() if strength == strongest}
        elif len(held) > self._scoring.shared:
            return {}
        share = 1.0 if strongest >= self._scoring.shortened else 1.0 / max(1, len(held))
        return {c: held[c] * share * self._certainty(found, c, held[c]) for c in sorted(held, key=self._place)}

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
        self, best: dict[str, tuple[float, int, Cluster]], doc_ids: Iterable[str], strength: float, cluster: Cluster
    ) -> None:
        """Note the strength and the cluster for those documents that have no better ones."""
        place = self._place(cluster)
        for doc_id in doc_ids:
            if doc_id not in best or best[doc_id][:2] < (strength, place):
                best[doc_id] = (strength, place, cluster)

    def _place(self, cluster: Cluster) -> int:
        """The place of its first document in the library."""
        return self._order[cluster.documents[0]]


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
    before: Mapping[str, Mapping[Cluster, float]], gone: Iterable[Cluster], made: Iterable[Cluster]
) -> dict[str, Mapping[Cluster, float]]:
    changed: dict[str, dict[Cluster, float]] = {}
    for cluster in gone:
        for key in cluster.keys:
            changed.setdefault(key, dict(before[key])).pop(cluster)
    for cluster in made:
        for key, strength in cluster.keys.items():
            changed.setdefault(key, dict(before.get(key, ())))[cluster] = strength
    keys = {**before, **changed}
    for key in [key for key, held in changed.items() if not held]:
        del keys[key]
    return keys


def _counted(before: Mapping[str, int], went: Iterable[str], came: Iterable[str]) -> dict[str, int]:
    """The counts with what came and without what went; what is not there any more has none."""
    counts = Counter(before)
    counts.update(came)
    for key in went:
        counts[key] -= 1
        if not counts[key]:
            del counts[key]
    return counts
