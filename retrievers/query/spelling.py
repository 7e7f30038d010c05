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
_ENDING = 3  # letters by which two forms of a word may differ
_TRIED = 4  # of the words that a word may be a slip of, looked for on pages


def words(question: str, known: Collection[str]) -> list[str]:
    """The words that may have a slip, no short ones and no abbreviations; ``known`` are terms that are surely meant."""
    found = dict.fromkeys(_WORD.findall(strip_instructions(question)))
    return [word for word in found if not _sure(word) and stem(fold(word)) not in known]


def _sure(word: str) -> bool:
    return not word.isascii() or word.lower() in STOP_WORDS or (word.isupper() and len(word) <= _ACRONYM)


def corrected(word: str, holding: Holding, names: Collection[str], written: Written) -> str:
    """The known word of which one is a slip, in the same case; "" where there is none or where it is known itself.

    Of several it is the one that most pages hold; one of the terms in ``names`` comes before all others.
    """
    plain = word.lower()
    if holding([stem(plain)])[0]:
        return ""
    for candidates, inflected in _candidates(plain):
        found = list(dict.fromkeys(candidates))
        if stop := next((candidate for candidate in found if candidate in STOP_WORDS), ""):
            return _in_case(stop, word)
        counts = holding([stem(candidate) for candidate in found])
        held = [(stem(c) in names, count, c) for c, count in zip(found, counts, strict=True) if count]
        for _, _, candidate in nlargest(_TRIED, held):
            pages = written(candidate)
            if _is_word(candidate, pages, inflected):
                alike = (one for _, _, one in held if one in pages and stem(one) == stem(candidate))
                return _in_case(candidate if candidate in pages else next(alike, candidate), word)
    return ""


def _candidates(word: str) -> Iterator[tuple[Iterable[str], bool]]:
    """What a word may be a slip of, and whether the library may hold it in another form only."""
    yield chain(usual(word), missing(word)), True
    if len(word) >= _WRONG:
        yield wrong(word), False
    if len(word) >= _TWICE:
        yield (twice for once in set(usual(word)) for twice in usual(once)), False


def _is_word(candidate: str, written: Collection[str], inflected: bool) -> bool:
    """Whether pages have a word as it is, or, ``inflected``, in a form that differs in its ending alone."""
    if candidate in written:
        return True
    term = stem(candidate)
    alike = (word for word in written if stem(word) == term) if inflected and candidate != term else ()
    return any(word.startswith(candidate[: min(len(candidate), len(word)) - _ENDING]) for word in alike)


def _in_case(word: str, like: str) -> str:
    return word.upper() if like.isupper() else word.capitalize() if like[0].isupper() else word
