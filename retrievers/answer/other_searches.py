"""Other searches for a question whose pages do not answer it: its parts apart, its words as the library has them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from hybrid_core.text.languages import language_of
from hybrid_core.text.names import has_cjk
from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.tokens import fold
from retrievers.query.content_words import content_words, without_frame

MOST = 4  # searches of one question
_LEAST_WORDS = 3  # of a part that can be searched for alone
_LONG = 7  # letters from which a word may be a slip that is not one letter off
_ALIKE = 0.84  # difflib's ratio of a slip and the word that is meant
_LENGTHS = 2  # letters by which they may differ
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
_WORDS = 12  # of a question that are looked up


Spellings = Callable[[str], Sequence[str]]
"""The words of the library that are spelled most like one, [] for a word that it holds."""


def other_searches(question: str, texts: Sequence[str], spellings: Spellings | None = None) -> list[str]:
    """Return what else to search for, the likeliest first; ``texts`` are those of pages that were found.

    Words that stand on none of these are replaced by the word there that is spelled most alike, and those that the
    library holds nowhere by one of its ``spellings``. A part of a question that says too little has the words of the
    part before.
    """
    found: dict[str, None] = {}
    right = corrected(respelled(question, texts), spellings)
    if right != question:
        found[right] = None
    found |= dict.fromkeys(parts(right))
    found.pop(question, None)
    return list(found)[:MOST]


def parts(question: str) -> list[str]:
    """Return the parts of a question that can be searched for apart, [] where it has one."""
    pieces = [piece.strip() for piece in _BETWEEN.split(question) if any(map(str.isalnum, piece))]
    if _COMPARES.match(question):
        pieces = [one for piece in pieces for one in _WITH.split(piece)]
    if len(pieces) < 2:
        return []
    whole = [pieces[0]]
    for before, piece in pairwise(pieces):
        alone = len(piece.split()) >= _LEAST_WORDS and len(content_words(piece)) > 1 and not _SIDE.match(piece)
        whole.append(piece if alone or has_cjk(piece) else _completed(piece, before))
    return [piece for piece in whole if len(piece.split()) > 1 or not piece.isascii()]


def _completed(piece: str, before: str) -> str:
    """Return a part of a question that says too little with what the part before asks for, but not for whom."""
    words = _WORD.findall(without_frame(before))
    asked = [word for word in words if word[0].islower()]
    chosen = words if language_of(before) == "German" or not asked else asked
    return " ".join([piece, *(word for word in chosen if word.casefold() not in piece.casefold())])


def corrected(question: str, spellings: Spellings | None) -> str:
    """Return a question with the library's words in place of those that it does not hold and that are spelled alike."""
    if spellings is None:
        return question
    for word in list(dict.fromkeys(re.findall(r"[^\W\d_]{5,}", question)))[:_WORDS]:
        if near := spellings(word):
            right = near[0].capitalize() if word[0].isupper() else near[0]
            question = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, question)
    return question


def respelled(question: str, texts: Iterable[str]) -> str:
    """Return a question with words of the texts in place of long ones that stand nowhere and are spelled alike."""
    written = {word for text in texts for word in plain_words(text).split() if len(word) >= _LONG - _LENGTHS}
    by_fold: dict[str, str] = {}
    for word in sorted(written):
        by_fold.setdefault(fold(word), word)
    for word in dict.fromkeys(re.findall(r"[^\W\d_]+", question)):
        plain = fold(word)
        if len(plain) < _LONG or plain in by_fold:
            continue
        near = [one for one in by_fold if one[0] == plain[0] and abs(len(one) - len(plain)) <= _LENGTHS]
        if likely := difflib.get_close_matches(plain, near, 1, _ALIKE):
            question = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", by_fold[likely[0]], question)
    return question
