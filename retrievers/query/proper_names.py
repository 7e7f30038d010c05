"""Names that a question asks about: what it writes with a capital within a sentence."""

from __future__ import annotations

import re

from hybrid_core.text.tokens import STOP_WORDS, tokenise

_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BEGINNING = re.compile(r"(?:\A|[.?!:;\n]|[\"“”‘«(\[]|(?<!\w)'|\w-)\s*\Z")
_ENDING = re.compile(r"['’]?s\Z")  # of a plural or possessive: CEO's, ETFs
_NEAR = 20  # characters before a word in which a sentence may have ended
_RUNNING = 0.25  # small stop words among all words: fewer have headings, keywords, and languages that capitalise nouns


def running_words(question: str) -> bool:
    """Whether these are sentences in English, in which a capital says something."""
    words = _WORDS.findall(question)
    return sum(word in STOP_WORDS for word in words) >= _RUNNING * len(words)


def proper_names(question: str) -> frozenset[str]:
    """The terms of the question's names.

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
