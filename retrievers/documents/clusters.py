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
from retrievers.query.mentions import MentionFinder, NameFound

# How surely a key means its cluster.
WHOLE, SHORTENED, PARTY, SYMBOL, FIRST_WORD, INITIALS, ONE_WORD, CLIPPED = 1.0, 0.9, 0.9, 0.85, 0.7, 0.7, 0.6, 0.6
SURE = 0.5  # a weaker match of an organisation does not silence the rest of the library
TWO_LETTERS = 0.45  # «GM», but also «IT»: never sure by itself
# What is left of that without a capital: it may be a common word («cost», «security»).
_LOWER_CASE = 0.4
_CASELESS = 0.55  # where the whole question is in one case, so that capitals say nothing
_LOWER_ORGANISATION = 0.85  # a whole name of what is surely an organisation
_CLEAR, _WEAK = 0.85, 0.75  # a match as clear as the first silences those below the second
_SHARED = 3  # a short form of more clusters than this names none of them
_FEW = 0.1  # of a library's documents: a recurring name of more than these tells none of them
_ONE_OF_TWO = 0.8  # of the strength, for a document of one of the parties where another is of both


@dataclass(slots=True)
class Matched:
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

    def __init__(self, cards: Sequence[Card], aliases: Mapping[str, Sequence[str]]) -> None:
        cards = _named_by_what_recurs(cards)
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
                for key, strength in _name_keys(name):
                    self._add(key, cluster, strength)
            if any(map(_has_legal_form, names)) or any(_of_organisation(cards[n]) for n in members):
                self._organisations.add(cluster)
        for number, card in enumerate(cards):
            for symbol in card.symbols:
                if (key := _squashed(symbol)) and key not in GENERIC:
                    self._add(key, self._of[number], SYMBOL)
            for party in card.parties:
                if key := name_key(party):
                    self._parties.setdefault(key, []).append(number)
        for organisation, nicknames in aliases.items():
            for cluster in list(self._keys.get(name_key(organisation), ())):
                for nickname in nicknames:
                    self._add(cjk_key(nickname) if has_cjk(nickname) else _squashed(nickname), cluster, WHOLE)
        self._finder = MentionFinder(self._keys.keys() | self._parties.keys())

    def name(self, cluster: int) -> str:
        """The best name of a cluster."""
        return self._names[cluster]

    def match(self, text: str) -> Matched:
        """The documents of the organisations and subjects that a question names."""
        matched = Matched()
        best: dict[int, tuple[float, int]] = {}
        answers: dict[int, set[object]] = {}  # document -> the different names it answers to
        written: list[tuple[float, str]] = []
        for found in self._finder.find(text):
            clusters = self._clusters_named(found)
            parties = () if WHOLE in self._keys.get(found.key, {}).values() else self._parties.get(found.key, ())
            if not clusters and not parties:
                continue
            for cluster, strength in clusters.items():
                matched.names[cluster] = max(strength, matched.names.get(cluster, 0.0))
            sure = PARTY if found.capital is not False or found.words > 1 else PARTY * _LOWER_CASE
            written.append((max([*clusters.values(), *([sure] if parties else [])]), found.written))
            for number in parties:
                best[number] = max(best.get(number, (0.0, 0)), (sure, self._of[number]))
                answers.setdefault(number, set()).add(found.key)
        for cluster, strength in matched.names.items():
            for number in self._members[cluster]:
                best[number] = max(best.get(number, (0.0, 0)), (strength, cluster))
                answers.setdefault(number, set()).add(cluster)
        surest = max((strength for strength, _ in best.values()), default=0.0)
        least = _WEAK if surest >= _CLEAR else 0.0
        most = max(map(len, answers.values()), default=1)
        for number, (strength, cluster) in best.items():
            if strength >= least:
                share = _ONE_OF_TWO + (1 - _ONE_OF_TWO) * len(answers[number]) / most if most > 1 else 1.0
                matched.strengths[number] = (strength * share, cluster)
        matched.names = {cluster: strength for cluster, strength in matched.names.items() if strength >= least}
        matched.spans = [text for strength, text in written if strength >= least]
        matched.sure = [text for strength, text in written if strength >= max(least, SURE)]
        return matched

    def _clusters_named(self, found: NameFound) -> dict[int, float]:
        held = self._keys.get(found.key, {})
        strongest = max(held.values(), default=0.0)
        if strongest >= SHORTENED:
            held = {cluster: strength for cluster, strength in held.items() if strength == strongest}
        elif len(held) > _SHARED:
            return {}
        share = 1.0 if strongest >= SHORTENED else 1.0 / max(1, len(held))
        return {c: strength * share * self._certainty(found, c, strength) for c, strength in held.items()}

    def _certainty(self, found: NameFound, cluster: int, strength: float) -> float:
        """How sure it is, by how it is written, that a key means the cluster and no common word."""
        if found.capital or (found.words > 1 and strength >= SHORTENED):
            return 1.0
        if strength < SHORTENED:
            return _CASELESS if found.capital is None else _LOWER_CASE
        if cluster in self._organisations:
            return 1.0 if found.capital is None else _LOWER_ORGANISATION
        return _CASELESS if found.capital is None else _LOWER_CASE

    def _add(self, key: str, cluster: int, strength: float) -> None:
        held = self._keys.setdefault(key, {})
        if strength > held.get(cluster, 0.0):
            held[cluster] = strength


def _name_keys(name: str) -> list[tuple[str, float]]:
    """The keys of one name with their strengths."""
    whole = name_key(name)
    if not whole:
        return []
    keys = [(whole, WHOLE)]
    if has_cjk(name):
        return keys
    words = name_words(name)
    plain = name.replace("\u2019", "'")
    if "'s" in plain:
        keys.append((name_key(plain.replace("'s", "s")), WHOLE))  # written without its apostrophe
    if len(words) == 1:  # HARBORINC, harbor.com
        keys.extend((key, WHOLE) for key in (_squashed(name), f"{words[0]}com") if key.startswith(whole))
    if not 2 <= len(words) <= 6:
        return keys
    for length in range(1, len(words)):
        head, tail = words[:length], words[length:]
        key = "".join(head)
        if name_key(" ".join(head)) and len(key) > 1:
            keys.append((key, SHORTENED if all(word in GENERIC for word in tail) else FIRST_WORD))
    keys.extend((word, ONE_WORD) for word in words[1:] if word not in GENERIC and len(word) > 2)
    letters = initials(words)
    keys.append((letters, INITIALS if len(letters) > 2 else TWO_LETTERS))
    if len(letters) == 2 and ("&" in name or " and " in name.lower()):
        keys.append(("&".join(letters), INITIALS))
    first, second = words[:2]
    keys.extend(
        (first[:head] + second[:tail], CLIPPED)
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


def _named_by_what_recurs(cards: Sequence[Card]) -> list[Card]:
    """The cards, each with the first of its recurring names where few documents share it and none is called so.

    A name on most pages of many documents says what the library is about, not which document is meant.
    """
    called = {
        key for card in cards for name in card.names for key, strength in _name_keys(name) if strength >= SHORTENED
    }
    held = Counter(name_key(name) for card in cards for name in card.recurring)
    most = max(_SHARED, _FEW * len(cards))
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
