"""Names in a question, found by their keys: longest first at each place, none overlapping."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass

from hybrid_core.text.names import GENERIC, has_cjk
from hybrid_core.text.tokens import STOP_WORDS, fold

_LONGEST = 7  # words of a name looked up at once
_MOST_WORDS = 4_000  # of a question
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|&")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\w（）()、〇·]+")
_NOT_KEY = re.compile(r"[\W_]+")
_JOINING = frozenset(("and", "&", "n"))


@dataclass(frozen=True, slots=True)
class NameMention:
    """A key as the question writes it. ``capital`` is None where the whole question is in one case."""

    key: str
    written: str
    words: int
    capital: bool | None


class MentionFinder:
    """Finds the keys of a collection in texts; ``name & name`` and ``name and name`` have the same key."""

    def __init__(self, keys: Container[str], in_characters: Mapping[str, Collection[str]]) -> None:
        """``in_characters`` are those of the keys that stand in texts without spaces: how long they are, by their first
        two characters."""
        self._keys, self._in_characters = keys, in_characters

    def find(self, text: str) -> Iterator[NameMention]:
        yield from self._in_words(text)
        if self._in_characters and has_cjk(text):
            yield from self._without_spaces(text)

    def _in_words(self, text: str) -> Iterator[NameMention]:
        plain = text.replace("\u2019", "'")
        spans = [(match.start(), match.end()) for match in _TOKEN.finditer(plain)][:_MOST_WORDS]
        words = [fold(plain[a:b]).removesuffix("'s").replace("'", "") for a, b in spans]
        cased = not (text.islower() or text.isupper())
        i = 0
        while i < len(words):
            length, key = (0, "") if words[i] in _JOINING else self._longest(words, i)
            if length:
                written = plain[spans[i][0] : spans[i + length - 1][1]]
                capital = any(c.isupper() or c.isdigit() for c in written) if cased else None
                if not (length == 1 and words[i] in STOP_WORDS and (i == 0 or not capital)):  # «about» is no About.com
                    yield NameMention(key, written, length, capital)
            i += length or 1

    def _longest(self, words: list[str], i: int) -> tuple[int, str]:
        """How many words from the i-th on make the longest key, and the key."""
        best, key, taken = (0, ""), "", 0
        for j in range(i, len(words)):
            if words[j] in _JOINING:
                continue
            key += words[j]
            taken += 1
            if key in self._keys and not (taken == 1 and key in GENERIC):
                best = (j - i + 1, key)
            if taken == _LONGEST:
                break
        pair = words[i : i + 3]  # J&J, J and J
        if best[0] < 3 and len(pair) == 3 and pair[1] in _JOINING and len(pair[0]) == len(pair[2]) == 1:
            key = f"{pair[0]}&{pair[2]}"
            best = (3, key) if key in self._keys else best
        return best

    def _without_spaces(self, text: str) -> Iterator[NameMention]:
        for run in _CJK_RUN.findall(text[: 10 * _MOST_WORDS]):
            plain = _NOT_KEY.sub("", fold(run))
            i = 0
            while i < len(plain):
                key = self._longest_at(plain, i)
                if key:
                    yield NameMention(key, key, 2, None)
                i += len(key) or 1

    def _longest_at(self, plain: str, i: int) -> str:
        lengths = sorted(map(int, self._in_characters.get(plain[i : i + 2], ())), reverse=True)
        return next((plain[i : i + n] for n in lengths if plain[i : i + n] in self._keys), "")
