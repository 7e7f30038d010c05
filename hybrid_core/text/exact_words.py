"""Exact words of pages, for the exhaustive search and its index.

A word is a run of letters, marks and decimal digits, ignoring case, accents and width. In scripts without spaces each
character is a word. A word that is hyphenated at the end of a line is one word. Addresses of links and pictures hold
no words (``markup.py``), except for queries that are addresses themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from hybrid_core.errors import UsageError
from hybrid_core.text.markup import Offsets, has_links, hidden, visible
from hybrid_core.text.tokens import fold
from hybrid_core.types.exhaustive import MAX_PATTERN

_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
)
_KANA, _VOICING = "\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d", "\u3099\u309a\uff9e\uff9f"
_LAST = 0x2FFFF
_ASCII_LETTERS = bytes(c if chr(c).isalnum() else 32 for c in range(128)) + b" " * 128
_ASCII_BREAK = re.compile(r"[a-z0-9]*[a-z](?:-\n\s*[a-z][a-z0-9]*)+")
_SEPARATOR = r"[\s\-\u2010-\u2014\u00ad]+"
_BREAK = r"(?:-\n\s*)?"
_INSIDE = re.compile(r"(?<=[a-z])(?=[a-z])")
_MARKS = r"[\u0300-\u036f]*"
_ALIKE = dict.fromkeys("'\u2019\u2018", "['\u2019\u2018]") | dict.fromkeys('"\u201c\u201d', '["\u201c\u201d\u201e]')
_QUOTES = (('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb"))
_SIGNS = {
    **dict.fromkeys("\u2019\u2018", "'"), **dict.fromkeys("\u201c\u201d\u201e", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014", "-"),
    **dict.fromkeys("\u2026\u2022\u00b7\u25cf\u00ae\u00a9\u2122\u00b0\u20ac\u00a3\u00a7\u00b2\u00b3\u00b9\u00d7", "\0"),
}  # fmt: skip
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://|mailto:|www\.|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/)\S+", re.IGNORECASE)
_MOST_PIECES = 8  # maximum pieces of one word that is hyphenated over several lines
_LONGEST_RUN = 8  # maximum run of letters in which overlapping ligatures are matched


def count_words(text: str) -> Counter[str]:
    """Return the words of a page, without case and accents, with their numbers of occurrences.

    Words that are only in addresses of links have 0.
    """
    if not has_links(text):
        return _count_words(text)
    counts = _count_words(visible(text))
    counts.update(dict.fromkeys(_count_words(text), 0))
    return counts


def _count_words(text: str) -> Counter[str]:
    folded = _fold_ascii(text)
    if folded is not None:
        words = folded.encode().translate(_ASCII_LETTERS).decode().split()
        breaks = _ASCII_BREAK.findall(folded) if "-\n" in folded else ()
    else:
        words = [word for word in map(_fold_word, _word().findall(text)) if word]
        breaks = _broken().findall(text) if "-\n" in text else ()
    counts = Counter(words)
    for broken in breaks:
        counts.update(_join_pieces(broken))
    return counts


def _fold_ascii(text: str) -> str | None:
    """Return a text in lower case and ASCII, with the same length. Return None if it is not ASCII.

    Common signs, such as curly quotes, are replaced by an ASCII sign before.
    """
    if not text.isascii():
        for sign, plain in _SIGNS.items():
            text = text.replace(sign, plain)
        if not text.isascii():
            return None
    return text.lower()


def _join_pieces(broken: str) -> Iterator[str]:
    """Yield the words that a word hyphenated at line ends may be: two or more consecutive pieces of it, joined."""
    pieces = [_fold_word(piece.strip()) for piece in broken.split("-\n")][:_MOST_PIECES]
    for first in range(len(pieces)):
        for end in range(first + 2, len(pieces) + 1):
            inner = pieces[first:end]
            if all(inner) and all(
                _ends_in_letters(piece, at == 0, at == len(inner) - 1) for at, piece in enumerate(inner)
            ):
                yield "".join(inner)


def _ends_in_letters(piece: str, first: bool, last: bool) -> bool:
    return (first or not piece[:1].isdecimal()) and (last or not piece[-1:].isdecimal())


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query in normalised form. With ``prefix`` it also matches words that begin with it."""

    text: str
    prefix: bool = False


class WordQuery:
    """A query for a word, or for consecutive words; spaces and hyphens between them are equivalent.

    ``words`` are words that every matching page contains. ``exact`` is True if every page with these words matches, so
    that no text has to be read. ``address`` is True if the query is an address; then addresses of links are searched,
    too. Raises UsageError for an empty query, or one that is too long.
    """

    def __init__(self, written: str) -> None:
        for begin, end in _QUOTES:
            if len(written) > 2 and written.startswith(begin) and written.endswith(end):
                written = written[1:-1]
        written = unicodedata.normalize("NFC", written).strip()
        if not written.strip("*").strip():
            raise UsageError("The search pattern is empty.", "Give a word or a phrase to search for.")
        if len(written) > MAX_PATTERN:
            raise UsageError(
                f"The search pattern has {len(written)} characters.", f"Use at most {MAX_PATTERN} characters."
            )
        self._written = written
        self.address = _ADDRESS.fullmatch(written) is not None
        self.words, self.exact, _ = _parse_query(written)
        signs = {_SIGNS.get(sign, sign) for sign in written if not sign.isalnum()}
        self._simple = all(word.text.isascii() for word in self.words) and all(
            character.isascii() for character in signs - {"\0"}
        )
        self._simple = self._simple and "\0" not in signs

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield each match in a text as the offsets of its first character and of the character after its last."""
        gaps = hidden(text) if not self.address and has_links(text) else []
        if not gaps:
            return self._spans(text)
        source = Offsets(gaps).source
        return ((source(start + 1) - 1, source(end)) for start, end in self._spans(visible(text, gaps)))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        plain = _fold_ascii(text) if self._simple else None
        if plain is None:
            return (match.span() for match in _compiled(self._written, "").finditer(text))
        kind = "broken" if "-\n" in plain else "plain"
        return (match.span() for match in _compiled(self._written, kind).finditer(plain))


@lru_cache(maxsize=500)
def _compiled(written: str, text: str) -> re.Pattern[str]:
    """Return the regular expression of a query for a kind of text.

    The kinds are any text (""), lower-case ASCII ("plain"), and such a text with words hyphenated at line ends
    ("broken").
    """
    return re.compile("".join(_parse_query(written, text)[2]))


def _parse_query(written: str, text: str = "") -> tuple[tuple[QueryWord, ...], bool, list[str]]:
    """Return the words of a query, True if it is just one word, and the pieces of its regular expression.

    ``text`` is the kind of text that the expression is for, as in ``_compiled``.
    """
    letters = "[a-z0-9]" if text else _letter_class()
    written = "".join(_SIGNS.get(sign, sign) for sign in written) if text else written
    words: list[QueryWord] = []
    parts: list[str] = []
    at, plain, before = 0, True, ""
    for match in _word().finditer(written):
        if not _fold_word(match[0]):  # the match consists of marks
            continue
        between = written[at : match.start()]
        spaced = not _unspaced(match[0])
        if words or between:
            plain = plain and not between
            parts.append(_between(between, before, spaced))
        prefix = spaced and written[match.end() : match.end() + 1] == "*"
        folded = _fold_word(match[0])
        words.append(QueryWord(folded, prefix))
        begins = not parts and spaced
        if begins and text != "plain":
            parts.append(f"(?<!{letters})" + ("" if text else _MARKS))
        unit = _INSIDE.sub(lambda _: _BREAK, folded) if text == "broken" else folded
        parts.append(unit if text else _unit_pattern(folded))
        if begins and text == "plain":
            # after the word, so that the expression engine searches for the word first
            parts.append(f"(?<!{letters}{folded})")
        parts.append(f"{letters}*" if prefix else "")
        at, before = match.end() + prefix, match[0]
    rest = written[at:]
    if rest:
        plain = False
        parts.append(_between(rest, "", True, last=True))
    elif words and not _unspaced(before) and not words[-1].prefix:
        parts.append(f"(?!{letters})")
    return tuple(words), len(words) == 1 and plain, parts


def _between(signs: str, before: str, spaced: bool, *, last: bool = False) -> str:
    """Return the regular expression for the signs between two words of a query, or after the last word.

    ``signs`` are the signs in the query. ``before`` is the word before, "" for none. ``spaced`` is False if the word
    after the signs is in a script without spaces.
    """
    if not signs:
        return r"\s*" if before else ""
    if before and not last and not signs.strip("-\u2010\u2011\u2012\u2013\u2014 \t\n\r\u00a0\u3000"):
        return _SEPARATOR if spaced or not _unspaced(before) else r"\s*"
    return "".join(r"\s+" if sign.isspace() else _ALIKE.get(sign) or re.escape(sign) for sign in signs)


def _unspaced(word: str) -> bool:
    return re.match(f"[{_UNSPACED_SCRIPTS}]", word) is not None


def _unit_pattern(folded: str) -> str:
    """Return the regular expression for all spellings of a folded word, including hyphenation at the end of a line.

    One character may stand for several letters (``\u00df`` for ``ss``), also if such letters overlap (``sss``). In runs
    of at most ``_LONGEST_RUN`` such letters all spellings match; longer runs are divided.
    """
    _, several = _variants()
    pattern: list[str] = []
    start = 0
    while start < len(folded):
        end = at = start + 1
        while at <= end and at - start < _LONGEST_RUN:
            end = max(
                [
                    end,
                    *(
                        at - 1 + len(letters)
                        for size in (2, 3)
                        if (letters := folded[at - 1 : at - 1 + size]) in several
                    ),
                ]
            )
            at += 1
        end = min(end, start + _LONGEST_RUN)
        pattern.append(_break_before(folded, start) + _ways(folded, start, end))
        start = end
    return "".join(pattern)


def _ways(folded: str, start: int, end: int) -> str:
    """Return the regular expression for all spellings of the letters of a word from ``start`` to ``end``.

    Two or three letters may be written as one character. Ranges are split in the middle, recursively.
    """
    single, several = _variants()
    if end - start < 2:
        letter = folded[start:end]
        return (single.get(letter) or re.escape(letter)) + _MARKS if letter else ""
    middle = (start + end) // 2
    ways = [_ways(folded, start, middle) + _break_before(folded, middle) + _ways(folded, middle, end)]
    for size in (2, 3):
        for first in range(max(start, middle - size + 1), min(middle, end - size + 1)):
            if character := several.get(folded[first : first + size]):
                before, after = _ways(folded, start, first), _ways(folded, first + size, end)
                before += _break_before(folded, first) if before else ""
                ways.append(
                    before + character + _MARKS + (_break_before(folded, first + size) + after if after else "")
                )
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _break_before(folded: str, at: int) -> str:
    """Return the regular expression for a possible hyphenation before the letter at ``at``, "" at a digit."""
    return _BREAK if at and not folded[at].isdecimal() and not folded[at - 1].isdecimal() else ""


@lru_cache(maxsize=100_000)
def _fold_word(word: str) -> str:
    return fold(word)


@lru_cache(maxsize=1)
def _variants() -> tuple[dict[str, str], dict[str, str]]:
    """Return two mappings from folded letters to the regular expression of the characters that fold to them.

    The first is for single letters, the second for several letters, such as ``ss``. A voiced kana may be written as two
    characters.
    """
    single: dict[str, list[str]] = {}
    several: dict[str, list[str]] = {}
    for code in (*range(0x21, 0x2000), *range(0x2C60, 0x2E00), *range(0xA640, 0xAB70), *range(0xF900, 0xFFE0)):
        letter = chr(code)
        if letter.isalnum() and unicodedata.category(letter) not in ("No", "Nl"):
            folded = fold(letter)
            (single if len(folded) == 1 else several).setdefault(folded, []).append(letter)
    for letter in ("\u212a", "\u212b"):  # the Kelvin and Angstrom signs are letters too
        single.setdefault(fold(letter), []).append(letter)
    for letter, characters in single.items():
        if letter not in characters:  # it is outside the ranges, such as an ideograph with a compatibility form
            characters.append(letter)
    patterns = {letter: _class(characters) for letter, characters in single.items()}
    for kana in set(map(fold, _characters(_KANA))):
        patterns[kana] = f"{patterns.get(kana, kana)}(?![{_VOICING}])"
    pairs: dict[str, list[str]] = {}
    for kana, sign in product(_characters(_KANA), _characters(_VOICING)):
        if (voiced := fold(kana + sign)) in patterns:
            pairs.setdefault(voiced, [patterns[voiced]]).append(kana + sign)
    patterns |= {voiced: f"(?:{'|'.join(spellings)})" for voiced, spellings in pairs.items()}
    return patterns, {key: _class(characters) for key, characters in several.items()}


def _characters(ranges: str) -> Iterator[str]:
    """Yield the letters and signs of ranges such as ``a-z``."""
    for match in re.finditer("(.)-(.)|.", ranges):
        first, last = match[1] or match[0], match[2] or match[0]
        yield from map(chr, range(ord(first), ord(last) + 1))


def _class(letters: list[str]) -> str:
    return f"[{''.join(map(re.escape, letters))}]"


@lru_cache(maxsize=1)
def _letter_class() -> str:
    """Return the character class of a regular expression for letters, marks and digits of scripts with spaces."""
    unspaced = re.compile(f"[{_UNSPACED_SCRIPTS}]")
    positions: list[list[int]] = []
    for code in range(_LAST + 1):
        letter = chr(code)
        if unicodedata.category(letter)[0] in "LM" or letter.isdecimal():
            if unspaced.match(letter):
                continue
            if positions and positions[-1][1] == code - 1:
                positions[-1][1] = code
            else:
                positions.append([code, code])
    return "[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in positions) + "]"


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    return re.compile(f"[{_KANA}][{_VOICING}]|[{_UNSPACED_SCRIPTS}]|{_letter_class()}+")


@lru_cache(maxsize=1)
def _broken() -> re.Pattern[str]:
    letters = _letter_class()
    return re.compile(rf"{letters}+(?:-\n\s*{letters}+)+")
