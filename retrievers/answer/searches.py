"""Further searches for an answer, by the engine or by a model.

If the pages do not answer the question, the engine searches its parts separately, or replaces misspelled words. A model
requests pages by lines that begin with READ, and searches by lines that begin with SEARCH.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hybrid_core.text.names import has_cjk
from hybrid_core.text.prose import language_of
from hybrid_core.text.tokens import fold, plain_words
from retrievers.query.words import content_words, without_frame

MOST = 4  # maximum searches for one question
_LEAST_WORDS = 3  # minimum words of a part that can be searched alone
_LONG = 7  # letters from which a word may differ from the right one in more than one letter
_ALIKE = 0.84  # minimum ratio of difflib between a misspelled and the right word
_LENGTHS = 2  # maximum difference in length
_BETWEEN = re.compile(
    r"[?!;。？！；]\s*|,\s*(?:and|or|und|oder|et|ou|y|e)\s+"
    r"|\s+(?:and|und|et|sowie|as well as|versus|vs\.?|compared (?:to|with)|differs? from|than"
    r"|(?:im )?(?:gegensatz|vergleich) zu[mr]?|als|or(?= (?:in|of|that)\b)|oder(?= (?:in|im|bei)\b))\s+"
    r"|，|、|以及|并且",
    re.IGNORECASE,
)
_COMPARES = re.compile(r"^\W*(?:compare|contrast|vergleiche?)\b", re.IGNORECASE)
_WITH = re.compile(r"\s+(?:with|to|mit|against)\s+", re.IGNORECASE)
_SIDE = re.compile(r"(?:the (?:one|other)|that|those|in|im|of|bei|die|der|das|the)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\s,;:?!()]+")
_WORDS = 12  # maximum words of a question to look up


Spellings = Callable[[str], Sequence[str]]
"""A function that returns the library's words with the most similar spelling, [] for a word that the library
contains.
"""


def other_searches(question: str, texts: Sequence[str], spellings: Spellings | None = None) -> list[str]:
    """Return further queries for a question, most promising first. ``texts`` are the pages found so far.

    Words that no text contains are replaced by similarly spelled words of the texts. Words that the library lacks are
    replaced by the first of their ``spellings``. The parts of the question become queries of their own. A part with too
    few words is extended by words of the part before it.
    """
    queries: dict[str, None] = {}
    right = corrected(respelled(question, texts), spellings)
    if right != question:
        queries[right] = None
    queries |= dict.fromkeys(parts(right))
    queries.pop(question, None)
    return list(queries)[:MOST]


def parts(question: str) -> list[str]:
    """Return the parts of a question that can be searched separately, [] if there is only one."""
    pieces = [piece.strip() for piece in _BETWEEN.split(question) if any(map(str.isalnum, piece))]
    if _COMPARES.match(question):
        pieces = [part for piece in pieces for part in _WITH.split(piece)]
    if len(pieces) < 2:
        return []
    whole = [pieces[0]]
    for before, piece in pairwise(pieces):
        alone = len(piece.split()) >= _LEAST_WORDS and len(content_words(piece)) > 1 and not _SIDE.match(piece)
        whole.append(piece if alone or has_cjk(piece) else _completed(piece, before))
    return [piece for piece in whole if len(piece.split()) > 1 or not piece.isascii()]


def _completed(piece: str, before: str) -> str:
    """Return a short part of a question, extended by words of the previous part.

    Only lower-case words are added, because capitalised words are usually names. In German all words are added.
    """
    words = _WORD.findall(without_frame(before))
    lowercase = [word for word in words if word[0].islower()]
    chosen = words if language_of(before) == "German" or not lowercase else lowercase
    return " ".join([piece, *(word for word in chosen if word.casefold() not in piece.casefold())])


def corrected(question: str, spellings: Spellings | None) -> str:
    """Return the question with words that the library lacks replaced by words that it contains.

    ``spellings`` returns the similarly spelled words of the library; the first is used.
    """
    if spellings is None:
        return question
    for word in list(dict.fromkeys(re.findall(r"[^\W\d_]{5,}", question)))[:_WORDS]:
        if near := spellings(word):
            right = near[0].capitalize() if word[0].isupper() else near[0]
            question = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, question)
    return question


def respelled(question: str, texts: Iterable[str]) -> str:
    """Return the question with misspelled long words replaced by similarly spelled words of the texts.

    A word counts as misspelled if no text contains it.
    """
    written = {word for text in texts for word in plain_words(text).split() if len(word) >= _LONG - _LENGTHS}
    by_fold: dict[str, str] = {}
    for word in sorted(written):
        by_fold.setdefault(fold(word), word)
    for word in dict.fromkeys(re.findall(r"[^\W\d_]+", question)):
        plain = fold(word)
        if len(plain) < _LONG or plain in by_fold:
            continue
        near = [
            candidate
            for candidate in by_fold
            if candidate[0] == plain[0] and abs(len(candidate) - len(plain)) <= _LENGTHS
        ]
        if likely := difflib.get_close_matches(plain, near, 1, _ALIKE):
            question = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", by_fold[likely[0]], question)
    return question


MARK, SEARCH = "READ ", "SEARCH "
MOST_PAGES = 4  # in one round
MOST_SEARCHES = 2  # in one round
_LONGEST = 300  # maximum characters of a search
_LINE = re.compile(
    r"^\W{0,3}READ\s+(?:(?P<source>source)|D(?P<document>\d+))\b[\s,:]*(?:(?P<kind>pages?|sections?)\b)?[\s:]*(?P<what>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SEARCH = re.compile(r"^\W{0,3}SEARCH\b[\s:]*(?P<words>\S.*)$", re.MULTILINE)
_RANGE = re.compile(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Wish:
    """A model's request to read pages.

    It names a listed ``document`` by number, with ``pages`` or a section (``node_id``). Or it names a ``source`` that
    was shortened and should be sent completely. Unused fields are 0 or empty.
    """

    written: str
    document: int = 0
    pages: tuple[int, ...] = ()
    node_id: str = ""
    source: int = 0


def wishes(reply: str) -> tuple[Wish, ...]:
    """Return the requests for pages in a model's reply, () if the reply is an answer.

    A reply that requests something begins with READ or SEARCH.
    """
    text = reply.strip()
    return tuple(wish for match in _LINE.finditer(text) for wish in _read_wishes(match)) if _asks(text) else ()


def searches(reply: str) -> tuple[str, ...]:
    """Return the search queries that a model's reply requests, () if the reply is an answer."""
    text = reply.strip()
    queries = [" ".join(match["words"].split())[:_LONGEST] for match in _SEARCH.finditer(text)] if _asks(text) else []
    return tuple(dict.fromkeys(queries))[:MOST_SEARCHES]


def _asks(reply: str) -> bool:
    return _LINE.match(reply) is not None or _SEARCH.match(reply) is not None


def _read_wishes(match: re.Match[str]) -> list[Wish]:
    written, what = " ".join(match[0].split()), match["what"]
    if match["source"]:
        return [Wish(written, source=int(number)) for number, _ in _RANGE.findall(what)]
    document = int(match["document"])
    if (match["kind"] or "").lower().startswith("section"):
        return [Wish(written, document, node_id=number) for number in re.findall(r"\d{4,}", what)]
    pages: list[int] = []
    for first, last in _RANGE.findall(what):
        pages += range(int(first), min(int(last or first), int(first) + MOST_PAGES) + 1)
    return [Wish(written, document, tuple(dict.fromkeys(pages)))] if pages else []
