"""Other searches for a question whose pages do not answer it: its parts apart, its words as the library has them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.tokens import fold

MOST = 4  # searches of one question
_LEAST_WORDS = 3  # of a part that can be searched for alone
_LONG = 7  # letters from which a word may be a slip that is not one letter off
_ALIKE = 0.84  # difflib's ratio of a slip and the word that is meant
_LENGTHS = 2  # letters by which they may differ
_BETWEEN = re.compile(
    r"[?!;。？！；]\s*|,\s*(?:and|or|und|oder|et|ou|y|e)\s+"
    r"|\s+(?:and|und|et|sowie|as well as|versus|vs\.?)\s+|，|、|以及|并且",
    re.IGNORECASE,
)


def other_searches(question: str, texts: Sequence[str]) -> list[str]:
    """Return what else to search for, the likeliest first; ``texts`` are those of pages that were found.

    Words that stand on none of these are replaced by the word there that is spelled most alike. Parts of a question
    come as they stand in it.
    """
    found: dict[str, None] = {}
    right = respelled(question, texts)
    if right != question:
        found[right] = None
    found |= dict.fromkeys(parts(right))
    found.pop(question, None)
    return list(found)[:MOST]


def parts(question: str) -> list[str]:
    """Return the parts of a question that can be searched for apart, [] where it has one."""
    pieces = [piece.strip() for piece in _BETWEEN.split(question) if any(map(str.isalnum, piece))]
    wide = [piece for piece in pieces if len(piece.split()) >= _LEAST_WORDS or not piece.isascii()]
    return wide if len(pieces) > 1 else []


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
