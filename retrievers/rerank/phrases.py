"""Phrases of expert knowledge that stand on the best pages word for word.

When pages are scored, the words of a phrase count one by one, wherever they stand. Together they say more, and most
at the beginning of a line: rows of tables, headings and clauses begin there. Only the first pages are read for that,
and only for phrases in Latin script: Chinese terms are pairs of characters, which tell already what stands together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from hybrid_core.text import tokens
from hybrid_core.types.scoring import ScoringConfig
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit, Place

_SPACED = bytes(code if (chr(code).isalnum() and code < 128) or code == 10 else 32 for code in range(256))


def phrase_gains(
    visits: Sequence[PageVisit],
    scores: Sequence[PageScores],
    phrases: Sequence[Mapping[str, float]],
    texts: PageTexts,
    scoring: ScoringConfig,
) -> dict[Place, float]:
    """What the first ``rerank.phrase_pages`` pages gain by the ``phrases`` of their documents; {} where there are none.

    A page on which all of its document's phrases begin lines gains ``rerank.phrases``, one that has them elsewhere half
    of that, one that has some a part. Phrases come with the weights of their entries: those below
    ``expansion.full_weight`` count less. Phrases of a single word say nothing more here than when pages were scored.
    """
    weights, full = scoring.rerank, scoring.expansion.full_weight
    best = visits[: weights.phrase_pages]
    wanted = {doc: _wanted(phrases[doc], full) for doc in {one.doc for one in best}}
    if not any(wanted.values()):
        return {}
    pages = texts.of([(scores[one.doc].content, one.page) for one in best])
    return {
        (one.doc, one.page): weights.phrases * _share(wanted[one.doc], page.text, weights.inside)
        for one, page in zip(best, pages, strict=True)
    }


def _wanted(phrases: Mapping[str, float], full: float) -> dict[str, float]:
    return {plain: min(1.0, weight / full) for phrase, weight in phrases.items() if (plain := _phrase(phrase))}


def _share(phrases: Mapping[str, float], page: str, inside: float) -> float:
    """The mean of what the phrases give by weight: 1 for one that begins a line of the page, ``inside`` elsewhere."""
    if not phrases:
        return 0.0
    plain = _plain(page)
    spaced = f" {' '.join(plain.split())} "
    found = {phrase: weight for phrase, weight in phrases.items() if f" {phrase} " in spaced}
    lines = f"\n{_lines(plain)}\n" if found else ""
    return sum(weight * _stands(phrase, lines, spaced, inside) for phrase, weight in found.items()) / len(phrases)


def _stands(phrase: str, lines: str, spaced: str, inside: float) -> float:
    found, at = 0.0, -1
    while found < 1 and (at := spaced.find(f" {phrase} ", at + 1)) >= 0:
        found = 1.0 if lines[at] == "\n" else inside
    return found


@lru_cache(maxsize=10_000)
def _phrase(written: str) -> str:
    """The phrase as it is looked for; "" where it is a single word, or has letters of another script."""
    latin = all(character.isascii() for character in tokens.fold(written) if character.isalnum())
    return " ".join(_plain(written).split()) if latin and len(tokens.tokenise(written)) > 1 else ""


def _plain(written: str) -> str:
    """Folded, in Latin letters and digits only."""
    return tokens.join_words(tokens.fold(written)).encode("ascii", "replace").translate(_SPACED).decode()


def _lines(plain: str) -> str:
    """With one space between words; lines that hold some stay lines."""
    return "\n".join(line for line in (" ".join(line.split()) for line in plain.split("\n")) if line)
