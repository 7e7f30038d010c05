"""Names in a question: those that it writes with a capital, those that a library knows, and the question without them.

Names that are known are found by their keys: the longest first at each place, none overlapping. Patterns of expert
knowledge are tried on the question without names: «Best Buy» buys nothing and «Guidance Software» gives no guidance. A
name is what documents of the library are linked by, and two words or more with capitals in running English that the
field itself does not write together, as it does «Cash Flow» and «Governing Law».
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from hybrid_core.text.names import GENERIC, has_cjk
from hybrid_core.text.tokens import STOP_WORDS, fold, tokenise
from retrievers.query.instructions import IMPERATIVES

_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BEGINNING = re.compile(r"(?:\A|[.?!:;\n]|[\"“”‘«(\[]|(?<!\w)'|\w-)\s*\Z")
_ENDING = re.compile(r"['’]?s\Z")  # of a plural or possessive: CEO's, ETFs
_NEAR = 20  # characters before a word in which a sentence may have ended
_RUNNING = 0.25  # small stop words among all words: fewer have headings, keywords, and languages that capitalise nouns


def running_words(question: str) -> bool:
    """Return whether these are sentences in English, in which a capital says something."""
    words = _WORDS.findall(question)
    return sum(word in STOP_WORDS for word in words) >= _RUNNING * len(words)


def proper_names(question: str) -> frozenset[str]:
    """Return the terms of the question's names.

    A capital at the beginning of a sentence or quotation, or behind a hyphen, says nothing, and in words that are no
    running English none does. Abbreviations are left out: documents spell them out.
    """
    if not running_words(question):
        return frozenset()
    within = [
        word[0]
        for word in _WORDS.finditer(question)
        if not _BEGINNING.search(question, max(0, word.start() - _NEAR), word.start())
    ]
    named = [word for word in within if word[0].isupper() and not _ENDING.sub("", word).isupper()]
    return frozenset(term for name in named for term in tokenise(name))


NAME = "_"  # stands where a name stood
_CAPITAL = r"[A-Z][^\W\d_]*[a-z][^\W\d_]*"  # of abbreviations, nothing is known
_RUN = re.compile(rf"(?<![\w'’]){_CAPITAL}(?:(?:[ -]| (?:&|of|and|of the) ){_CAPITAL})+(?!\w)")
_WORD = re.compile(_CAPITAL)
_QUOTED = re.compile(r"(\"[^\"]*\"|“[^”]*”|«[^»]*»)")  # a heading or a title, whose words say what is asked
_NAMES = re.compile(rf"{NAME}(?:(?:[ -]| (?:&|of|and|of the) ){NAME})+")


def without_names(question: str, names: Iterable[str], of_field: Callable[[str], bool]) -> str:
    """Write ``_`` for each name of a question: for ``names``, as it writes them, and for unknown ones in capitals.

    ``of_field`` says whether words that follow each other are the field's own.
    """
    for name in sorted({name for name in names if name}, key=len, reverse=True):
        written = re.escape(name) if has_cjk(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
        question = re.sub(written, NAME, question)
    if not running_words(question.lower()):
        return question
    parts = _QUOTED.split(question)
    parts[::2] = [_RUN.sub(lambda run: _hidden(run[0], of_field), part) for part in parts[::2]]
    return "".join(parts)


def _hidden(run: str, of_field: Callable[[str], bool]) -> str:
    """Write ``_`` for words in capitals that are no words of the field, of the language, or of an instruction."""
    words = [word for word in _WORD.finditer(run) if word[0].lower() not in STOP_WORDS | IMPERATIVES]
    if len(words) < 2:
        return run
    own = {word.start() for pair in pairwise(words) if of_field(run[pair[0].start() : pair[1].end()]) for word in pair}
    for word in reversed(words):
        if word.start() not in own:
            run = f"{run[: word.start()]}{NAME}{run[word.end() :]}"
    return _NAMES.sub(NAME, run)


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
        """Return how many words from the i-th on make the longest key, and the key."""
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
