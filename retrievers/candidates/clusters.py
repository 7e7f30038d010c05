"""Group documents by organisation (or other subject), and find the groups that a question names.

The documents in a cluster share a name. The parties of an agreement are linked only with that agreement.
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
from retrievers.candidates.layers import (
    PLAIN,
    SETS,
    TALLIES,
    KeySets,
    Kind,
    Layered,
    Tallies,
    WrittenTable,
    differences,
    restore,
    written,
)
from retrievers.candidates.subjects import (
    RecurringNames,
    Subject,
    best_name,
    grouped,
    has_legal_form,
    name_keys,
    squashed,
    subject_of,
    subject_written,
)
from retrievers.query.words import MentionFinder, NameMention


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """A group of documents about one organisation, in library order.

    ``keys`` maps the organisation's names, in normalised form, to strengths (0 to 1), higher for a surer match.
    """

    name: str
    documents: tuple[str, ...]
    keys: Mapping[str, float]
    organisation: bool

    @property
    def id(self) -> str:
        """Return the id of the first document in the cluster, which identifies it."""
        return self.documents[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cluster) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(slots=True)
class EntityLinks:
    """The documents whose names occur in a question.

    ``strengths`` maps each document to a score (0 to 1) and its cluster. ``spans`` are the names as the question writes
    them.
    """

    strengths: dict[str, tuple[float, Cluster]] = field(default_factory=dict)
    names: dict[Cluster, float] = field(default_factory=dict)  # clusters with their strengths
    spans: list[str] = field(default_factory=list)
    sure: list[str] = field(default_factory=list)  # the clear names among the spans

    @property
    def best(self) -> float:
        """Return the strength of the best match, 0 if there is none."""
        return max((strength for strength, _ in self.strengths.values()), default=0.0)


class Clusters:
    """The clusters of a library's documents, by the names on their cards.

    Only clusters that share a name with a changed document are computed again. Others are taken from the earlier state
    ``before``.
    """

    # those of an empty library; subjects are text, clusters are their ids
    _cards: Mapping[str, Card] = Layered[Card]()
    _recurring: RecurringNames
    _subjects: Layered[str] = Layered()  # subject by document
    _about: KeySets = KeySets()  # documents by subject
    _linked: KeySets = KeySets()  # subjects by key
    _grouped: Layered[str] = Layered()  # cluster by subject
    _clusters: Layered[Cluster] = Layered()
    _keys: Layered[Mapping[str, float]] = Layered()  # strengths by cluster, by key
    _parties: KeySets = KeySets()
    _in_characters: Tallies = Tallies()  # numbers of keys by their first two characters and length

    KINDS: ClassVar[Mapping[str, Kind]] = {
        "_subjects": PLAIN, "_about": SETS, "_linked": SETS, "_grouped": PLAIN,
        "_clusters": Kind(Layered, lambda row: Cluster(row[0], tuple(row[1]), row[2], row[3]),
                          lambda cluster: (cluster.name, cluster.documents, cluster.keys, cluster.organisation)),
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
        """Create the clusters. ``order`` is the position of each document in the library.

        ``aliases`` and ``scoring`` must equal those of ``before``.
        """
        old = before or Clusters.__new__(Clusters)
        went, came = differences(old._cards, cards)
        self._begin(cards, order, aliases, scoring)
        self._recurring = RecurringNames(scoring, len(cards), went, came, before._recurring if before else None)
        gone, new_clusters = self._regroup(old, went.keys() | came.keys() | self._recurring.anew)
        self._keys = _changed_keys(old._keys, gone, new_clusters)
        self._parties = old._parties.with_pairs(_parties(went), _parties(came))
        lost = chain((key for cluster in gone for key in cluster.keys), (key for key, _ in _parties(went)))
        added = chain((key for cluster in new_clusters for key in cluster.keys), (key for key, _ in _parties(came)))
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
        """Return clusters read from stored tables."""
        clusters = cls.__new__(cls)
        clusters._begin(cards, order, aliases, scoring)
        restore(clusters, cls.KINDS, tables)
        clusters._recurring = RecurringNames.restored(tables, scoring, len(cards))
        clusters._finder = MentionFinder(_Either(clusters._keys, clusters._parties), clusters._in_characters)
        return clusters

    def written(self) -> Iterator[WrittenTable]:
        """Yield the clusters as tables for storage."""
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
        """Compute again the clusters that changed documents may affect. Return the old and the new clusters."""
        was = [(old._subjects[doc_id], doc_id) for doc_id in changed if doc_id in old._subjects]
        now = [
            (subject_of(doc_id, self._cards[doc_id], self._recurring.names.get(doc_id, "")).written(), doc_id)
            for doc_id in changed
            if doc_id in self._cards
        ]
        subjects = {doc_id: subject for subject, doc_id in now}
        self._subjects = old._subjects.updated(subjects, [doc_id for doc_id in changed if doc_id not in subjects])
        self._about = old._about.with_pairs(was, now)
        touched = {subject for subject, _ in chain(was, now)}
        self._linked = old._linked.with_pairs(
            ((key, text) for text in touched if text in old._about for key in subject_written(text).links),
            ((key, text) for text in touched if text in self._about for key in subject_written(text).links),
        )
        reached = self._reached(touched)
        gone = {old._grouped[text] for text in reached | touched if text in old._grouped}
        first = {text: min(map(self._order.__getitem__, self._about[text])) for text in reached}
        new_clusters, groups = [], dict[str, str]()
        for group in grouped([subject_written(text) for text in sorted(reached, key=first.__getitem__)]):
            cluster = self._cluster(group)
            new_clusters.append(cluster)
            groups |= dict.fromkeys((subject.written() for subject in group), cluster.id)
        self._grouped = old._grouped.updated(groups, [text for text in touched if text not in groups])
        by_id = {cluster.id: cluster for cluster in new_clusters}
        self._clusters = old._clusters.updated(by_id, [cluster_id for cluster_id in gone if cluster_id not in by_id])
        return [old._clusters[cluster_id] for cluster_id in gone], new_clusters

    def _reached(self, touched: Collection[str]) -> set[str]:
        """Return all subjects that share a name key with ``touched`` ones, directly or through others."""
        reached = {subject for subject in touched if subject in self._about}
        waiting, keys = [*touched], set[str]()
        while waiting:
            for key in subject_written(waiting.pop()).links - keys:
                keys.add(key)
                more = self._linked[key] - reached
                reached |= more
                waiting += more
        return reached

    def _cluster(self, subjects: Sequence[Subject]) -> Cluster:
        about = (doc_id for own in subjects for doc_id in self._about[own.written()])
        documents = sorted(about, key=self._order.__getitem__)
        names = list(dict.fromkeys(name for own in subjects for name in (*own.names, own.recurring) if name))
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
        """Return the documents of the organisations and subjects that a question names."""
        matched = EntityLinks()
        best: dict[str, tuple[float, Any, Cluster]] = {}
        answers: dict[str, set[object]] = {}  # the different matching names by document
        written: list[tuple[float, str]] = []
        for mention in self._finder.find(text):
            clusters = self._clusters_named(mention)
            parties = (
                ()
                if self._scoring.whole in self._keys.get(mention.key, {}).values()
                else sorted(self._parties[mention.key], key=self._order.__getitem__)
            )
            if not clusters and not parties:
                continue
            for cluster, strength in clusters.items():
                matched.names[cluster] = max(strength, matched.names.get(cluster, 0.0))
            sure = (
                self._scoring.party
                if mention.capital is not False or mention.words > 1
                else self._scoring.party * self._scoring.lower_case
            )
            written.append((max([*clusters.values(), *([sure] if parties else [])]), mention.written))
            for doc_id in parties:
                cluster = self._clusters[self._grouped[self._subjects[doc_id]]]
                self._offer(best, [doc_id], sure, cluster)
                answers.setdefault(doc_id, set()).add(mention.key)
        for cluster, strength in matched.names.items():
            self._offer(best, cluster.documents, strength, cluster)
            for doc_id in cluster.documents:
                answers.setdefault(doc_id, set()).add(cluster)
        surest = max((strength for strength, *_ in best.values()), default=0.0)
        threshold = self._scoring.weak if surest >= self._scoring.clear else 0.0
        most_names = max(map(len, answers.values()), default=1)
        for doc_id, (strength, _, cluster) in best.items():
            if strength >= threshold:
                share = (
                    self._scoring.one_of_two + (1 - self._scoring.one_of_two) * len(answers[doc_id]) / most_names
                    if most_names > 1
                    else 1.0
                )
                matched.strengths[doc_id] = (strength * share, cluster)
        matched.names = {cluster: strength for cluster, strength in matched.names.items() if strength >= threshold}
        matched.spans = [text for strength, text in written if strength >= threshold]
        matched.sure = [text for strength, text in written if strength >= max(threshold, self._scoring.sure)]
        return matched

    def _clusters_named(self, mention: NameMention) -> dict[Cluster, float]:
        strengths = self._keys.get(mention.key, {})
        strongest = max(strengths.values(), default=0.0)
        if strongest >= self._scoring.shortened:
            strengths = {cluster_id: strength for cluster_id, strength in strengths.items() if strength == strongest}
        elif len(strengths) > self._scoring.shared:
            return {}
        share = 1.0 if strongest >= self._scoring.shortened else 1.0 / max(1, len(strengths))
        clusters = sorted(map(self._clusters.__getitem__, strengths), key=self._place)
        return {c: strengths[c.id] * share * self._certainty(mention, c, strengths[c.id]) for c in clusters}

    def _certainty(self, mention: NameMention, cluster: Cluster, strength: float) -> float:
        """Return the certainty (0 to 1) that a mention means the cluster and not a common word.

        A capitalised mention is surer than one in lower case.
        """
        if mention.capital or (mention.words > 1 and strength >= self._scoring.shortened):
            return 1.0
        if strength < self._scoring.shortened:
            return self._scoring.caseless if mention.capital is None else self._scoring.lower_case
        if cluster.organisation:
            return 1.0 if mention.capital is None else self._scoring.lower_organisation
        return self._scoring.caseless if mention.capital is None else self._scoring.lower_case

    def _offer(
        self, best: dict[str, tuple[float, Any, Cluster]], doc_ids: Iterable[str], strength: float, cluster: Cluster
    ) -> None:
        """Record strength and cluster for each of the documents that has no stronger match yet."""
        place = self._place(cluster)
        for doc_id in doc_ids:
            if doc_id not in best or best[doc_id][:2] < (strength, place):
                best[doc_id] = (strength, place, cluster)

    def _place(self, cluster: Cluster) -> Any:
        """Return the position of the cluster's first document in the library."""
        return self._order[cluster.id]


class _Either:
    """A container that looks up a key in two other containers."""

    def __init__(self, first: Container[str], second: Container[str]) -> None:
        self._one, self._other = first, second

    def __contains__(self, key: object) -> bool:
        return key in self._one or key in self._other


def _parties(cards: Mapping[str, Card]) -> Iterator[tuple[str, str]]:
    for doc_id, card in cards.items():
        yield from ((key, doc_id) for party in card.parties if (key := name_key(party)))


def _changed_keys(
    before: Layered[Mapping[str, float]], gone: Iterable[Cluster], new_clusters: Iterable[Cluster]
) -> Layered[Mapping[str, float]]:
    changed: dict[str, dict[str, float]] = {}
    for cluster in gone:
        for key in cluster.keys:
            changed.setdefault(key, dict(before[key])).pop(cluster.id)
    for cluster in new_clusters:
        for key, strength in cluster.keys.items():
            changed.setdefault(key, dict(before.get(key, ())))[cluster.id] = strength
    empty = [key for key, clusters in changed.items() if not clusters]
    return before.updated({key: clusters for key, clusters in changed.items() if clusters}, empty)


def _begun(keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (first two characters, length) of each key in Chinese, Japanese or Korean."""
    return ((key[:2], str(len(key))) for key in keys if has_cjk(key))
