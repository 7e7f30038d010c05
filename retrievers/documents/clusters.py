"""Organisations (and other subjects) as clusters of names over documents, and which of them a question names.

A cluster gathers the documents that share a name. Its keys are squashed names (see ``hybrid_core.text.names``):
whole names tell most, then names without their tail, symbols, initials, and clipped forms (the first letters
of two words). Parties of an agreement belong to that document, not to its cluster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybrid_core.cards.document_types import document_types
from hybrid_core.text.names import GENERIC, LEGAL_FORMS, cjk_key, has_cjk, initials, name_key, name_words
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import EntityLinking
from retrievers.query.mentions import MentionFinder, NameMention


@dataclass(slots=True)
class EntityLinks:
    """``strengths``: document number -> (0 to 1, its cluster). ``spans``: the names as the question writes them."""

    strengths: dict[int, tuple[float, int]] = field(default_factory=dict)
    names: dict[int, float] = field(default_factory=dict)  # cluster -> strength
    spans: list[str] = field(default_factory=list)
    sure: list[str] = field(default_factory=list)  # those of them that are surely names

    @property
    def best(self) -> float:
        """The strength of the surest match, 0 where there is none."""
        return max((strength for strength, _ in self.strengths.values()), default=0.0)


class Clusters:
    """Groups documents by their cards' names. Documents and clusters are numbers."""

    def __init__(self, cards: Sequence[Card], aliases: Mapping[str, Sequence[str]], scoring: EntityLinking) -> None:
        self._scoring = scoring
        cards = _named_by_what_recurs(cards, scoring)
        self._members = _group(cards)
        self._of = {number: cluster for cluster, members in enumerate(self._members) for number in members}
        self._names: list[str] = []
        self._keys: dict[str, dict[int, float]] = {}  # key -> cluster -> strength
        self._parties: dict[str, list[int]] = {}  # key -> documents
        self._organisations: set[int] = set()
        for cluster, members in enumerate(self._members):
            names = list(dict.fromkeys(name for number in members for name in cards[number].names))
            self._names.append(_best_name(names) or cards[members[0]].title)
            for name in names:
                for key, strength in _name_keys(name, scoring):
                    self._add(key, cluster, strength)
            if any(map(_has_legal_form, names)) or any(_of_organisation(cards[n]) for n in members):
                self._organisations.add(cluster)
        for number, card in enumerate(cards):
            for symbol in card.symbols:
                if (key := _squashed(symbol)) and key not in GENERIC:
                    self._add(key, self._of[number], self._scoring.symbol)
            for party in card.parties:
                if key := name_key(party):
                    self._parties.setdefault(key, []).append(number)
        for organisation, nicknames in aliases.items():
            for cluster in list(self._keys.get(name_key(organisation), ())):
                for nickname in nicknames:
                    self._add(
                        cjk_key(nickname) if has_cjk(nickname) else _squashed(nickname), cluster, self._scoring.whole
                    )
        self._finder = MentionFinder(self._keys.keys() | self._parties.keys())

    def name(self, cluster: int) -> str:
        """The best name of a cluster."""
        return self._names[cluster]

    def match(self, text: str) -> EntityLinks:
        """The documents of the organisations and subjects that a question names."""
        matched = EntityLinks()
        best: dict[int, tuple[float, int]] = {}
        answers: dict[int, set[object]] = {}  # document -> the different names it answers to
        written: list[tuple[float, str]] = []
        for found in self._finder.find(text):
            clusters = self._clusters_named(found)
            parties = (
                ()
                if self._scoring.whole in self._keys.get(found.key, {}).values()
                else self._parties.get(found.key, ())
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
            for number in parties:
                best[number] = max(best.get(number, (0.0, 0)), (sure, self._of[number]))
                answers.setdefault(number, set()).add(found.key)
        for cluster, strength in matched.names.items():
            for number in self._members[cluster]:
                best[number] = max(best.get(number, (0.0, 0)), (strength, cluster))
                answers.setdefault(number, set()).add(cluster)
        surest = max((strength for strength, _ in best.values()), default=0.0)
        least = self._scoring.weak if surest >= self._scoring.clear else 0.0
        most = max(map(len, answers.values()), default=1)
        for number, (strength, cluster) in best.items():
            if strength >= least:
                share = (
                    self._scoring.one_of_two + (1 - self._scoring.one_of_two) * len(answers[number]) / most
                    if most > 1
                    else 1.0
                )
                matched.strengths[number] = (strength * share, cluster)
        matched.names = {cluster: strength for cluster, strength in matched.names.items() if strength >= least}
        matched.spans = [text for strength, text in written if strength >= least]
        matched.sure = [text for strength, text in written if strength >= max(least, self._scoring.sure)]
        return matched

    def _clusters_named(self, found: NameMention) -> dict[int, float]:
        held = self._keys.get(found.key, {})
        strongest = max(held.values(), default=0.0)
        if strongest >= self._scoring.shortened:
            held = {cluster: strength for cluster, strength in held.items() if strength == strongest}
        elif len(held) > self._scoring.shared:
            return {}
        share = 1.0 if strongest >= self._scoring.shortened else 1.0 / max(1, len(held))
        return {c: strength * share * self._certainty(found, c, strength) for c, strength in held.items()}

    def _certainty(self, found: NameMention, cluster: int, strength: float) -> float:
        """How sure it is, by how it is written, that a key means the cluster and no common word."""
        if found.capital or (found.words > 1 and strength >= self._scoring.shortened):
            return 1.0
        if strength < self._scoring.shortened:
            return self._scoring.caseless if found.capital is None else self._scoring.lower_case
        if cluster in self._organisations:
            return 1.0 if found.capital is None else self._scoring.lower_organisation
        return self._scoring.caseless if found.capital is None else self._scoring.lower_case

    def _add(self, key: str, cluster: int, strength: float) -> None:
        held = self._keys.setdefault(key, {})
        if strength > held.get(cluster, 0.0):
            held[cluster] = strength


def _name_keys(name: str, scoring: EntityLinking) -> list[tuple[str, float]]:
    """The keys of one name with their strengths."""
    whole = name_key(name)
    if not whole:
        return []
    keys = [(whole, scoring.whole)]
    if has_cjk(name):
        return keys
    words = name_words(name)
    plain = name.replace("\u2019", "'")
    if "'s" in plain:
        keys.append((name_key(plain.replace("'s", "s")), scoring.whole))  # written without its apostrophe
    if len(words) == 1:  # HARBORINC, harbor.com
        keys.extend((key, scoring.whole) for key in (_squashed(name), f"{words[0]}com") if key.startswith(whole))
    if not 2 <= len(words) <= 6:
        return keys
    for length in range(1, len(words)):
        head, tail = words[:length], words[length:]
        key = "".join(head)
        if name_key(" ".join(head)) and len(key) > 1:
            keys.append((key, scoring.shortened if all(word in GENERIC for word in tail) else scoring.first_word))
    keys.extend((word, scoring.one_word) for word in words[1:] if word not in GENERIC and len(word) > 2)
    letters = initials(words)
    keys.append((letters, scoring.initials if len(letters) > 2 else scoring.two_letters))
    if len(letters) == 2 and ("&" in name or " and " in name.lower()):
        keys.append(("&".join(letters), scoring.initials))
    first, second = words[:2]
    keys.extend(
        (first[:head] + second[:tail], scoring.clipped)
        for head in (2, 3)
        for tail in (2, 3)
        if len(first) > head and len(second) >= tail
    )
    return keys


def _best_name(names: Sequence[str]) -> str:
    """The first name, or the first whose words are told apart where that one is squashed."""
    return max(names, key=lambda name: min(2, len(name_words(name))), default="")


def _has_legal_form(name: str) -> bool:
    return name.rpartition(" ")[2].strip(".,").lower() in LEGAL_FORMS


def _of_organisation(card: Card) -> bool:
    """Whether the card is of a kind that organisations issue about themselves."""
    return bool(card.symbols) or (card.type in document_types() and document_types()[card.type].covers != "")


def _squashed(text: str) -> str:
    return re.sub(r"[\W_]+", "", fold(text))


def _named_by_what_recurs(cards: Sequence[Card], scoring: EntityLinking) -> list[Card]:
    """The cards, each with the first of its recurring names where few documents share it and none is called so.

    A name on most pages of many documents says what the library is about, not which document is meant.
    """
    called = {
        key
        for card in cards
        for name in card.names
        for key, strength in _name_keys(name, scoring)
        if strength >= scoring.shortened
    }
    held = Counter(name_key(name) for card in cards for name in card.recurring)
    most = max(scoring.shared, scoring.few * len(cards))
    told = []
    for card in cards:
        own = [n for n in card.recurring if held[name_key(n)] <= most and name_key(n) not in called][:1]
        told.append(replace(card, names=(*card.names, *own)) if own else card)
    return told


def _group(cards: Sequence[Card]) -> list[list[int]]:
    """Documents that share a name's key, directly or through others."""
    parent = list(range(len(cards)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    holder: dict[str, int] = {}
    cores: dict[str, list[int]] = {}
    for number, card in enumerate(cards):
        for name in card.names:
            if key := name_key(name):
                other = holder.setdefault(key, number)
                if other != number:
                    parent[root(number)] = root(other)
                if (core := _core_key(name)) and core != key:
                    cores.setdefault(core, []).append(number)
    for core, longer in cores.items():  # «Acme» is «Acme International», unless there is an «Acme Energy» too
        if core in holder and len({root(number) for number in longer} - {root(holder[core])}) == 1:
            for number in longer:
                parent[root(number)] = root(holder[core])
    members: dict[int, list[int]] = {}
    for number in range(len(cards)):
        members.setdefault(root(number), []).append(number)
    return list(members.values())


def _core_key(name: str) -> str:
    """The key of a name without the generic words at its end, "" for one word."""
    words = () if has_cjk(name) else name_words(name)
    end = len(words)
    while end > 1 and words[end - 1] in GENERIC:
        end -= 1
    return name_key(" ".join(words[:end])) if end < len(words) else ""
