"""Words that a question shares with documents' names and titles, weighed by their rarity in the library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hybrid_core.text.names import GENERIC
from hybrid_core.text.tokens import is_number, is_year, stem, tokenise
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import TitleMatching

_GENERIC_TERMS = frozenset(stem(word) for word in GENERIC)


class TitleIndex:
    """Inverted index from title terms to documents, by their numbers."""

    def __init__(self, cards: Sequence[Card], scoring: TitleMatching) -> None:
        self._scoring = scoring
        self._documents: dict[str, list[int]] = {}
        own: list[list[str]] = []
        for number, card in enumerate(cards):
            terms = [
                t
                for t in dict.fromkeys(tokenise(" . ".join((card.title, *card.names[:1])))[: scoring.longest])
                if _tells(t)
            ]
            own.append(terms)
            for term in terms:
                self._documents.setdefault(term, []).append(number)
        count = len(cards)
        most = max(2.0, scoring.common * count) if count >= 8 else count
        self._idf = {
            term: math.log(1 + count / len(docs)) for term, docs in self._documents.items() if len(docs) <= most
        }
        self._norms = [math.sqrt(sum(self._idf.get(t, 0.0) ** 2 for t in terms)) for terms in own]

    def scores(self, terms: Sequence[str]) -> Mapping[int, float]:
        """Document number -> 0 to 1: how much of the title the question holds, and of the question's title terms
        the title. One lone word of a longer title is no evidence."""
        found: dict[int, float] = {}
        hits: dict[int, int] = {}
        norm = 0.0
        for term in dict.fromkeys(terms):
            idf = self._idf.get(term)
            if idf is None:
                continue
            norm += idf * idf
            for number in self._documents[term]:
                found[number] = found.get(number, 0.0) + idf * idf
                hits[number] = hits.get(number, 0) + 1
        root = math.sqrt(norm)
        result = {}
        for number, dot in found.items():
            share = dot / (self._norms[number] ** 2)
            if hits[number] >= 2:
                cosine = dot / (root * self._norms[number])
                result[number] = min(1.0, max(cosine * math.sqrt(share), share * share))
            elif share >= self._scoring.least_share:
                result[number] = self._scoring.one_word * share
        return result


def _tells(term: str) -> bool:
    """Numbers tell where they are as long as those of standards and models are (RFC 9110)."""
    if is_number(term):
        return 3 <= len(term) <= 6
    return not (term in _GENERIC_TERMS or is_year(term))
