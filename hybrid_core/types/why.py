"""Sentences that explain why a page was returned, made from its receipt, the record of its score.

A sentence names the matching words on the page, their section, and why the document was chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from hybrid_core.text.names import has_cjk
from hybrid_core.text.tokens import fold, tokenise

_QUOTES = 2
_LONGEST = 80  # maximum characters of a quotation
_WORD = re.compile(r"\S+")
_EDGES = " .,;:?!()[]{}'\"«»“”‘’•·-–—。，、；："
_STOPS = (".", ";", ":", "?", "!")

_Terms = frozenset[str]


def sentence(snippet: str, terms: Mapping[str, float], title: str, document: str, by_model: bool) -> str:
    """Return the reason why a page was returned, as a predicate without a full stop.

    Example: holds "Purchases of property, plant and equipment" under Consolidated Statements of Cash Flows; its
    document fits the question by year 2025, annual report.

    ``terms`` are the question terms with their scores, ``title`` is that of the page's section. ``document`` is the
    reason for the choice of the document, "" for none. ``by_model`` is True if a language model chose the page.
    """
    title = title.strip(" :")
    under = f" under {title}" if title else ""
    quotes = _quotes(snippet, terms)
    telling = [quote for quote in quotes if fold(quote) not in fold(title)]
    if telling:
        reason = "holds " + " and ".join(f'"{quote}"' for quote in telling) + under
    elif quotes:
        reason = f"stands under {title}, a title that fits the question"
    elif terms:
        reason = f"has words of the question{under}"
    else:
        reason = f"is near the question in meaning{under and ','}{under}"
    if by_model:
        reason += "; a language model chose it"
    if document:
        reason += f"; its document fits the question by {document}"
    return reason


def _quotes(snippet: str, terms: Mapping[str, float]) -> list[str]:
    """Return up to two quotations from a snippet whose question terms contribute most to the score.

    The terms that the first quotation contains do not count for the second.
    """
    stretches = list(_matching_runs(snippet, frozenset(terms)))
    chosen: list[str] = []
    quoted: _Terms = frozenset()

    def adds(stretch: tuple[str, _Terms]) -> float:
        return sum(terms[term] for term in stretch[1] - quoted)

    while stretches and len(chosen) < _QUOTES and adds(best := max(stretches, key=adds)) > 0:
        chosen.append(best[0])
        quoted |= best[1]
    return chosen


def _matching_runs(snippet: str, terms: _Terms) -> Iterator[tuple[str, _Terms]]:
    """Yield the runs of consecutive words in a snippet that match the question, each with its matching terms.

    Function words such as "of" and "and" may stand inside a run, but not at its ends.
    """
    first, last = 0, 0
    matched: _Terms = frozenset()
    for start, end, matching in _match_words(snippet, terms):
        if matched and matching != frozenset() and end - first > _LONGEST:
            yield snippet[first:last].strip(_EDGES), matched
            matched = frozenset()
        if matching:
            first, last = (first if matched else start), end
            matched |= matching
        if matched and (matching == frozenset() or snippet[start:end].endswith(_STOPS)):
            yield snippet[first:last].strip(_EDGES), matched
            matched = frozenset()
    if matched:
        yield snippet[first:last].strip(_EDGES), matched


def _match_words(snippet: str, terms: _Terms) -> Iterator[tuple[int, int, _Terms | None]]:
    """Yield (start, end, matching question terms) of every word in a snippet.

    The terms are None for a word that is never a term, such as "of". In scripts without spaces each character is a
    word.
    """
    for match in _WORD.finditer(snippet):
        word, at = match.group(), match.start()
        if has_cjk(word):
            for offset, pairs in enumerate(_character_pairs(word)):
                yield at + offset, at + offset + 1, terms & pairs
        else:
            own_terms = _terms(word)
            yield at, match.end(), terms & own_terms if own_terms else None


@lru_cache(maxsize=20_000)
def _terms(word: str) -> _Terms:
    return frozenset(tokenise(word))


def _character_pairs(word: str) -> Iterator[_Terms]:
    """Yield, for each character of a word in a script without spaces, the terms that contain it.

    In these scripts, a term is a pair of adjacent characters.
    """
    folded = fold(word)
    folded = folded if len(folded) == len(word) else word
    for at, character in enumerate(folded):
        pairs = (folded[max(at - 1, 0) : at + 1], folded[at : at + 2])
        yield frozenset(pairs if character.isalnum() else ())
