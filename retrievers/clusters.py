"""Organisations (and other subjects) as clusters of names over documents, and finding them in a question.

A cluster gathers the documents that share a name. Its keys are squashed names (see ``hybrid_core.names``): whole
names tell most, then names without their tail, symbols, initials, and clipped forms (first letters of two words).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hybrid_core.names import GENERIC, cjk_key, has_cjk, initials, name_key, name_words
from hybrid_core.text import fold
from hybrid_core.types import Card

WHOLE, NICKNAME, PARTY, SHORTENED, SYMBOL, FIRST_WORD, INITIALS, CLIPPED = (
    1.0,
    1.0,
    0.9,
    0.9,
    0.85,
    0.7,
    0.7,
    0.6,
)
_LOWER_CASE = 0.4  # for short forms written without a capital
_CLEAR = 0.85  # a match at least this good silences the weak ones (below _WEAK)
_WEAK = 0.75
_LONGEST = 7  # words of a name looked up at once
_SHARED = 3  # a short form of more clusters than this names none of them
_MOST_WORDS = 4_000  # of a question
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|&")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff（）()、〇·]+")
_JOINING = frozenset(("and", "&", "n"))


@dataclass(slots=True)
class Matched:
    """``strengths``: document number -> (0 to 1, its cluster). ``spans``: the names as the question writes them."""

    strengths: dict[int, tuple[float, int]] = field(default_factory=dict)
    names: dict[int, float] = field(default_factory=dict)  # cluster -> strength
    spans: list[str] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The strength of the surest match, 0 where there is none."""
        return max((strength for strength, _ in self.strengths.values()), default=0.0)


class Clusters:
    """Groups documents by their cards' names. Documents and clusters are numbers."""

    def __init__(self, cards: Sequence[Card], aliases: Mapping[str, Sequence[str]]) -> None:
        self._members, self._names = _group(cards)
        self._keys: dict[str, dict[int, float]] = {}
        self._party_keys: dict[str, dict[int, float]] = {}
        self._spelled: dict[int, str] = {}
        self._cluster_of = {n: c for c, members in enumerate(self._members) for n in members}
        for cluster, names in enumerate(self._names):
            for name in names:
                self._add_name(cluster, name)
        for number, card in enumerate(cards):
            for symbol in card.symbols:
                if (key := _squash(symbol)) and key not in GENERIC:
                    self._add(key, self._cluster_of[number], SYMBOL)
            for party in card.parties:
                if key := name_key(party):
                    held = self._party_keys.setdefault(key, {})
                    held[number] = max(held.get(number, 0.0), PARTY)
        for organisation, nicknames in aliases.items():
            for cluster in list(self._keys.get(name_key(organisation), ())):
                for nickname in nicknames:
                    self._add(cjk_key(nickname) if has_cjk(nickname) else _squash(nickname), cluster, NICKNAME)
        self._cjk_lengths = sorted({len(k) for k in (*self._keys, *self._party_keys) if has_cjk(k)}, reverse=True)
        self._cjk_starts = {k[:2] for k in (*self._keys, *self._party_keys) if has_cjk(k)}

    def name(self, cluster: int) -> str:
        """The best name of a cluster."""
        return self._spelled[cluster]

    def _add(self, key: str, cluster: int, strength: float) -> None:
        held = self._keys.setdefault(key, {})
        if strength > held.get(cluster, 0.0):
            held[cluster] = strength

    def _add_name(self, cluster: int, name: str) -> None:
        self._spelled.setdefault(cluster, name)
        key = name_key(name)
        if not key:
            return
        self._add(key, cluster, WHOLE)
        if has_cjk(name):
            return
        words = name_words(name)
        if len(words) > len(self._spelled[cluster].split()):
            self._spelled[cluster] = name
        if len(words) < 2 or len(words) > 6:
            return
        for length in range(2, len(words)):
            if not all(word in GENERIC for word in words[:length]):
                self._add(
                    "".join(words[:length]),
                    cluster,
                    SHORTENED if all(w in GENERIC for w in words[length:]) else FIRST_WORD,
                )
        if words[0] not in GENERIC and len(words[0]) > 1:
            self._add(words[0], cluster, SHORTENED if all(w in GENERIC for w in words[1:]) else FIRST_WORD)
        letters = initials(words)
        if len(letters) > 2:
            self._add(letters, cluster, INITIALS)
        elif "&" in name or " and " in name.lower():
            self._add(f"{letters[0]}&{letters[1]}", cluster, INITIALS)
        first, second = words[:2]
        for head in (2, 3):
            for tail in (2, 3):
                if len(first) > head and len(second) >= tail:
                    self._add(first[:head] + second[:tail], cluster, CLIPPED)

    def match(self, text: str) -> Matched:
        """The documents of the organisations and subjects that a question names."""
        matched = Matched()
        parties: dict[int, float] = {}
        for key, written, capital in (*self._words_found(text), *self._cjk_found(text)):
            held = self._keys.get(key, {})
            strongest = max(held.values(), default=0.0)
            if strongest < PARTY and len(held) > _SHARED:
                held = {}
            told = False
            for cluster, strength in held.items():
                if strength < strongest and strongest >= PARTY:
                    continue
                if strength < SHORTENED and not capital:
                    strength *= _LOWER_CASE
                if strongest < PARTY:
                    strength /= len(held)
                told = True
                matched.names[cluster] = max(matched.names.get(cluster, 0.0), strength)
            if strongest < WHOLE:
                for number, strength in self._party_keys.get(key, {}).items():
                    told = True
                    parties[number] = max(parties.get(number, 0.0), strength)
            if told:
                matched.spans.append(written)
        best = max((*matched.names.values(), *parties.values()), default=0.0)
        if best >= _CLEAR:
            matched.names = {c: s for c, s in matched.names.items() if s >= _WEAK}
        for cluster, strength in matched.names.items():
            for number in self._members[cluster]:
                if strength > matched.strengths.get(number, (0.0, 0))[0]:
                    matched.strengths[number] = (strength, cluster)
        for number, strength in parties.items():
            if strength > matched.strengths.get(number, (0.0, 0))[0]:
                matched.strengths[number] = (strength, self._cluster_of[number])
        return matched

    def _words_found(self, text: str) -> Iterable[tuple[str, str, bool]]:
        """Keys found, longest first at each place, none overlapping: key, as written, whether capitalised."""
        plain = text.replace("\u2019", "'")
        spans = [(m.start(), m.end()) for m in _TOKEN.finditer(plain)][:_MOST_WORDS]
        written = [plain[a:b] for a, b in spans]
        words = [fold(w).removesuffix("'s").replace("'", "") for w in written]
        cased = not (text.islower() or text.isupper())  # else capitals say nothing
        i = 0
        while i < len(words):
            length, key = (0, "") if words[i] in _JOINING else self._longest(words, i)
            if length:
                start, end = spans[i][0], spans[i + length - 1][1]
                yield key, plain[start:end], cased and any(c.isupper() for c in plain[start:end])
            i += length or 1

    def _longest(self, words: list[str], i: int) -> tuple[int, str]:
        key, best, j, taken = "", (0, ""), i, 0
        while j < len(words) and taken < _LONGEST:
            word = words[j]
            j += 1
            if word in _JOINING:
                continue
            key += word
            taken += 1
            if (key in self._keys or key in self._party_keys) and not (taken == 1 and key in GENERIC):
                best = (j - i, key)
        if i + 2 < len(words) and words[i + 1] in ("&", "and") and len(words[i]) == len(words[i + 2]) == 1:
            pair = f"{words[i]}&{words[i + 2]}"
            if pair in self._keys and best[0] < 3:
                best = (3, pair)
        return best

    def _cjk_found(self, text: str) -> Iterable[tuple[str, str, bool]]:
        if not self._cjk_lengths or not has_cjk(text):
            return
        for run in _CJK_RUN.findall(text[: 10 * _MOST_WORDS]):
            plain = cjk_plain(run)
            i = 0
            while i < len(plain):
                step = 1
                if plain[i : i + 2] in self._cjk_starts:
                    for length in self._cjk_lengths:
                        key = plain[i : i + length]
                        if len(key) == length and (key in self._keys or key in self._party_keys):
                            yield key, key, True
                            step = length
                            break
                i += step


def cjk_plain(run: str) -> str:
    """A run of Chinese as keys have it: folded, without punctuation."""
    return re.sub(r"[\W_]+", "", fold(run))


def _squash(text: str) -> str:
    return re.sub(r"[\W_]+", "", fold(text))


def _group(cards: Sequence[Card]) -> tuple[list[list[int]], list[list[str]]]:
    """Union of documents that share a name's key: members and names per cluster."""
    parent = list(range(len(cards)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    holder: dict[str, int] = {}
    for number, card in enumerate(cards):
        for name in card.names:
            if key := name_key(name):
                other = holder.setdefault(key, number)
                if other != number:
                    parent[root(number)] = root(other)
    members: dict[int, list[int]] = {}
    for number in range(len(cards)):
        members.setdefault(root(number), []).append(number)
    names = [list(dict.fromkeys(name for n in group for name in cards[n].names)) for group in members.values()]
    for group, own in zip(members.values(), names, strict=True):
        if not own:
            own.append(cards[group[0]].title)
    return list(members.values()), names
