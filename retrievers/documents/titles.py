"""Words that a question shares with documents' names and titles, weighed by their rarity in the library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar

from hybrid_core.store.mapped import MappedTable
from hybrid_core.text.names import GENERIC
from hybrid_core.text.tokens import is_number, is_year, stem, tokenise
from hybrid_core.types.documents import Card
from hybrid_core.types.scoring import TitleMatching
from retrievers.documents.layers import COUNTS, PLAIN, SETS, Counts, Kind, Layered, Postings, differences, restore

_GENERIC_TERMS = frozenset(stem(word) for word in GENERIC)


class TitleIndex:
    """Inverted index from title terms to documents; of the index ``before`` what did not change is taken over."""

    # As of an empty library.
    _cards: Mapping[str, Card] = Layered[Card]()
    _terms: Layered[Sequence[str]] = Layered()  # of the titles, by document
    _documents: Postings = Postings()
    _holding: Counts = Counts()  # documents by term

    KINDS: ClassVar[Mapping[str, Kind]] = {"_terms": PLAIN, "_documents": SETS, "_holding": COUNTS}

    def __init__(self, cards: Mapping[str, Card], scoring: TitleMatching, before: TitleIndex | None = None) -> None:
        old = before or TitleIndex.__new__(TitleIndex)
        went, came = differences(old._cards, cards)
        self._begin(cards, scoring)
        new = {doc_id: self._title_terms(card) for doc_id, card in came.items()}
        lost = {doc_id: old._terms[doc_id] for doc_id in went}
        self._documents = old._documents.with_pairs(_pairs(lost), _pairs(new))
        self._holding = old._holding.counted(chain(*lost.values()), chain(*new.values()))
        self._terms = old._terms.updated(new, [doc_id for doc_id in lost if doc_id not in new])

    @classmethod
    def restored(
        cls, tables: Mapping[str, MappedTable], cards: Mapping[str, Card], scoring: TitleMatching
    ) -> TitleIndex:
        """The one that was written as tables."""
        one = cls.__new__(cls)
        one._begin(cards, scoring)
        restore(one, cls.KINDS, tables)
        return one

    def _begin(self, cards: Mapping[str, Card], scoring: TitleMatching) -> None:
        self._cards, self._scoring = cards, scoring
        self._norms: dict[str, float] = {}  # of documents that were found
        self._idfs: dict[str, float] = {}  # of terms that were looked up

    def _title_terms(self, card: Card) -> list[str]:
        words = tokenise(" . ".join((card.title, *card.tags, *card.names[:1])))[: self._scoring.longest]
        return [term for term in dict.fromkeys(words) if _tells(term)]

    def _idf(self, term: str) -> float:
        """0 where too many titles hold the term, or none."""
        if term not in self._idfs:
            count, holding = len(self._cards), self._holding[term]
            most = max(2.0, self._scoring.common * count) if count >= 8 else count
            self._idfs[term] = math.log(1 + count / holding) if 0 < holding <= most else 0.0
        return self._idfs[term]

    def _norm(self, doc_id: str) -> float:
        if doc_id not in self._norms:
            self._norms[doc_id] = math.sqrt(sum(self._idf(term) ** 2 for term in self._terms[doc_id]))
        return self._norms[doc_id]

    def scores(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Document -> 0 to 1: how much of the title the question holds, and of the question's title terms
        the title. One lone word of a longer title is no evidence."""
        found: dict[str, float] = {}
        hits: dict[str, int] = {}
        norm = 0.0
        for term in dict.fromkeys(terms):
            idf = self._idf(term)
            if not idf:
                continue
            norm += idf * idf
            for doc_id in self._documents[term]:
                found[doc_id] = found.get(doc_id, 0.0) + idf * idf
                hits[doc_id] = hits.get(doc_id, 0) + 1
        root = math.sqrt(norm)
        result = {}
        for doc_id, dot in found.items():
            share = dot / (self._norm(doc_id) ** 2)
            if hits[doc_id] >= 2:
                cosine = dot / (root * self._norm(doc_id))
                result[doc_id] = min(1.0, max(cosine * math.sqrt(share), share * share))
            elif share >= self._scoring.least_share:
                result[doc_id] = self._scoring.one_word * share
        return result


def _pairs(terms: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for doc_id, own in terms.items():
        yield from ((term, doc_id) for term in own)


def _tells(term: str) -> bool:
    """Numbers tell where they are as long as those of standards and models are (RFC 9110)."""
    if is_number(term):
        return 3 <= len(term) <= 6
    return not (term in _GENERIC_TERMS or is_year(term))
