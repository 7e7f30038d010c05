"""Words that the library does not know, and the known ones of which they are a slip.

A library keeps the hashes of its terms, not its words. So what a word may be a slip of is written out, its terms are
looked up (Norvig, «How to Write a Spelling Corrector», 2007), and a word counts only if it stands on a page as it was
written out: usual slips and missing letters first, then any wrong letter, then two usual slips in a long word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import chain

from hybrid_core.text.slips import missing, usual, wrong
from hybrid_core.text.tokens import STOP_WORDS, fold, stem
from retrievers.query.instructions import strip_instructions

Holding = Callable[[Sequence[str]], Sequence[int]]
"""How many pages of the library hold each of some terms."""
Written = Callable[[str], Collection[str]]
"""The words of some pages that hold a word's term."""

_WORD = re.compile(r"(?<![\w.])[^\W\d_]{4,24}(?!\w|\.\w)")  # none longer: two slips of it are too many to try
_WRONG, _TWICE = 6, 7  # letters from which a word may have any letter wrong, and two slips
_ACRONYM = 6  # capitals up to which a word in capitals is an abbreviation
_SHORTEST = 4  # letters of a word that another may be a slip of
_ENDING = 3  # letters by which two forms of a word may differ
_ENDINGS = ("s", "es", "ed", "ing")
_TRIED = 4  # of the words that a word may be a slip of, looked for on pages


def words(question: str, known: Collection[str]) -> list[str]:
    """The words that may have a slip, no short ones; ``known`` are terms that are surely meant."""
    found = dict.fromkeys(_WORD.findall(strip_instructions(question)))
    return [word for word in found if not _sure(word) and stem(fold(word)) not in known]


def _sure(word: str) -> bool:
    return not word.isascii() or word.lower() in STOP_WORDS


def corrected(word: str, holding: Holding, names: Collection[str], written: Written) -> str:
    """The known word of which one is a slip, in the same case; "" where there is none or where it is known itself.

    Of several it is the one that most pages hold, first of those that stand on a page to the letter; one of the terms
    in ``names`` comes before all others. What may be an abbreviation is a slip of a name or of nothing.
    """
    plain = word.lower()
    if holding([stem(plain)])[0]:
        return ""
    for candidates, inflected in _candidates(plain):
        found = [one for one in dict.fromkeys(candidates) if len(one) >= _SHORTEST or one in STOP_WORDS]
        if word.isupper() and len(word) <= _ACRONYM:
            found = [candidate for candidate in found if stem(candidate) in names]
        if stop := next((candidate for candidate in found if candidate in STOP_WORDS), ""):
            return _in_case(stop, word)
        counts = holding([stem(candidate) for candidate in found])
        held = [(stem(c) in names, count, c) for c, count in zip(found, counts, strict=True) if count]
        tried: list[tuple[str, Collection[str]]] = []
        for _, _, candidate in nlargest(_TRIED, held):
            pages = written(candidate)
            tried.append((candidate, pages))
            written_so = (one for _, _, one in held if one in pages and stem(one) == stem(candidate))
            if right := candidate if candidate in pages else next(written_so, ""):
                return _in_case(right, word)
        if inflected and (right := next((c for c, pages in tried if _in_another_form(c, pages)), "")):
            return _in_case(right, word)
    return ""


def _candidates(word: str) -> Iterator[tuple[Iterable[str], bool]]:
    """What a word may be a slip of, and whether the library may hold it in another form only."""
    yield chain(usual(word), missing(word)), True
    if len(word) >= _WRONG:
        yield wrong(word), False
    if len(word) >= _TWICE:
        yield (twice for once in set(usual(word)) for twice in usual(once)), False


def _in_another_form(candidate: str, written: Collection[str]) -> bool:
    """Whether pages have a word in a form that differs in its ending alone; where a word is its own stem, in one of the
    usual ones: not all stems are words."""
    term = stem(candidate)
    if candidate == term:
        return any(candidate + ending in written for ending in _ENDINGS)
    alike = (word for word in written if stem(word) == term)
    return any(word.startswith(candidate[: min(len(candidate), len(word)) - _ENDING]) for word in alike)


def _in_case(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word.capitalize() if like[0].isupper() else word
