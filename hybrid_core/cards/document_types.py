"""Document types: their names and aliases, and their mentions in texts.

The types are defined in ``document_types.yaml``, which is read on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import yaml

from hybrid_core.text.tokens import fold
from hybrid_core.types.note_texts import TEMPLATES
from hybrid_core.types.notes import Note

_PIECE = re.compile(r"[a-z]+|\d+|[\u3040-\u30ff\u3400-\u9fff]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_IN_BRACKETS = re.compile(r"(?:\s?[(（][^()（）]{0,12}[)）]?){1,3}$")


@dataclass(frozen=True, slots=True)
class DocumentType:
    """A kind of document, such as an annual report.

    ``covers`` is the period that it reports on: "year", "quarter", "" for none. ``interim`` is True if it covers only
    part of a year. ``supersedes`` is True if a newer document replaces older ones of this type.
    """

    name: str
    covers: str = ""
    aliases: tuple[str, ...] = ()
    in_names: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    parties: bool = False
    supersedes: bool = False
    interim: bool = False
    headlines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeMention:
    """A document type named in a text at characters ``start`` to ``end``."""

    type: str
    start: int
    end: int


class TypeFinder:
    """A finder of document types in texts. ``aliases`` maps each type to the words that name it."""

    def __init__(self, aliases: Mapping[str, tuple[str, ...]]) -> None:
        self._words: dict[tuple[str, ...], str] = {}
        joined: dict[str, str] = {}
        for name, forms in aliases.items():
            for form in forms:
                folded = fold(form)
                if _CJK.search(folded):
                    joined[folded] = name
                else:
                    self._words[tuple(_PIECE.findall(folded.replace("'s", "")))] = name
        self._starts = {key[0]: max(len(k) for k in self._words if k[0] == key[0]) for key in self._words}
        self._joined = joined
        longest_first = sorted(joined, key=len, reverse=True)
        self._joined_pattern = re.compile("|".join(map(re.escape, longest_first))) if joined else None

    def find(self, text: str) -> Iterator[TypeMention]:
        """Yield the mentions of document types in a text, in order.

        They do not overlap: of several that begin at the same character, only the longest counts.
        """
        folded = text.lower()
        mentions = [*self._find_words(folded), *self._find_joined(folded)]
        mentions.sort(key=lambda mention: mention.start)
        yield from mentions

    def _find_words(self, folded: str) -> Iterator[TypeMention]:
        pieces = list(_PIECE.finditer(folded.replace("'s", "  ").replace("\u2019s", "  ")))
        words = [piece.group() for piece in pieces]
        i = 0
        while i < len(words):
            length = self._longest(words, i)
            if length and not _inside_word(folded, pieces[i].start(), pieces[i + length - 1].end()):
                key = self._key(words, i, length)
                yield TypeMention(self._words[key], pieces[i].start(), pieces[i + length - 1].end())
            i += length or 1

    def _longest(self, words: list[str], i: int) -> int:
        longest = self._starts.get(words[i]) or self._starts.get(_singular(words[i])) or 0
        for length in range(min(longest, len(words) - i), 0, -1):
            if self._key(words, i, length) in self._words:
                return length
        return 0

    def _key(self, words: list[str], i: int, length: int) -> tuple[str, ...]:
        key = tuple(words[i : i + length])
        return key if key in self._words else (*key[:-1], _singular(key[-1]))

    def _find_joined(self, folded: str) -> Iterator[TypeMention]:
        if self._joined_pattern is not None and not folded.isascii():
            for match in self._joined_pattern.finditer(folded):
                yield TypeMention(self._joined[match.group()], match.start(), match.end())


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 1 and word.endswith("s") else word


def _inside_word(text: str, start: int, end: int) -> bool:
    """Return whether a mention is only part of a longer word or number, as ``10k`` is in ``210k``."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return (before.isascii() and before.isalnum() and before.isdigit() == first.isdigit()) or (
        after.isascii() and after.isalnum() and after.isdigit() == last.isdigit()
    )


@lru_cache(maxsize=1)
def document_types() -> Mapping[str, DocumentType]:
    """Return the document types by name, in the order of ``document_types.yaml``."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = yaml.load(files(__package__).joinpath("document_types.yaml").read_bytes(), loader)
    types = {}
    for name, entry in raw.items():
        lists = {key: tuple(map(str, entry.get(key, ()))) for key in ("aliases", "in_names", "endings", "headlines")}
        covers = str(entry.get("covers", ""))
        types[str(name)] = DocumentType(
            str(name),
            covers,
            parties=bool(entry.get("parties", False)),
            supersedes=bool(covers or entry.get("supersedes", False)),
            interim=bool(entry.get("interim", False)),
            **lists,
        )
    return types


def type_aliases() -> dict[str, tuple[str, ...]]:
    """Return the aliases by which texts and questions name each document type."""
    return {name: entry.aliases for name, entry in document_types().items()}


@lru_cache(maxsize=1)
def finder() -> TypeFinder:
    """Return the finder of document types in running text and questions."""
    return TypeFinder(type_aliases())


@lru_cache(maxsize=1)
def name_finder() -> TypeFinder:
    """Return the finder of document types in file names and titles, which also knows words used only there."""
    return TypeFinder({name: entry.aliases + entry.in_names for name, entry in document_types().items()})


def type_by_ending(title: str) -> str:
    """Return the document type named by the end of a title, "" if there is none."""
    folded = _IN_BRACKETS.sub("", fold(title).strip(" ."))
    for name, entry in document_types().items():
        for ending in entry.endings:
            if folded.endswith(ending if _CJK.search(ending) else (f" {ending}", f"-{ending}")):
                return name
    return ""


def type_by_headline(text: str) -> str:
    """Return the type of a document whose headline announces something, such as an earnings release.

    Return "" if there is no such headline.
    """
    flat = " ".join(text.split())
    for name, pattern in _headlines():
        if pattern.search(flat):
            return name
    return ""


@lru_cache(maxsize=1)
def _headlines() -> list[tuple[str, re.Pattern[str]]]:
    types = document_types().values()
    return [(entry.name, re.compile(pattern, re.IGNORECASE)) for entry in types for pattern in entry.headlines]


def type_note(name: str) -> Note:
    """Return the name of a document type as a note, which is a translatable message.

    A type that is missing in the catalogue of messages gives a note without a code, which is not translated.
    """
    code = f"document-type.{name.replace(' ', '-')}"
    return Note(code) if code in TEMPLATES else Note.of(name)
