"""The pinned baseline: BM25 over whole pages, as bm25s does it (method «lucene», k1 1.2, b 0.75)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.datasets.corpus import Corpus
from eval.rankers.page_scores import Floats, Places, chinese, english, stemmed
from eval.records.rankings import Ranking
from hybrid_core.system.extras import require


class PageBM25:
    """Lù 2024 (bm25s); the «lucene» variant of Kamphuis et al. 2020. Statistics are over the whole library's pages."""

    name = "page-bm25"

    def __init__(self, corpus: Corpus, *, in_chinese: bool) -> None:
        bm25s = require("bm25s", "eval")
        self.options: Mapping[str, Any] = {
            "method": "lucene", "k1": 1.2, "b": 0.75, "tokens": "jieba" if in_chinese else "english stop words",
        }  # fmt: skip
        self.places = Places(corpus)
        self._tokens = chinese if in_chinese else english
        self._index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self._index.index(self._tokens(self.places.texts(corpus)), show_progress=False)

    def scores(self, question: str) -> Floats:
        """One score for each of ``places.pages``, higher is better."""
        return _scores(self._index, self._tokens([question])[0], len(self.places.pages))

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        return self.places.ranking(self.scores(question), documents, depth)


class StemmedPageBM25:
    """The same BM25 over stems: Snowball's of the question's language; character bigrams for CJK writing.

    No stop words are dropped from pages or questions. Each language asked in has an index of all pages.
    """

    name = "page-bm25-stemmed"

    def __init__(self, corpus: Corpus, languages: Mapping[str, str]) -> None:
        self.options: Mapping[str, Any] = {
            "method": "lucene", "k1": 1.2, "b": 0.75, "tokens": "Snowball stems, bigrams of CJK",
        }  # fmt: skip
        self.places = Places(corpus)
        self._texts = self.places.texts(corpus)
        self._languages = languages
        self._indexes: dict[str, Any] = {}

    def scores(self, question: str) -> Floats:
        """Return one score for each of ``places.pages``, shape (pages,), float64; higher is better."""
        language = self._languages.get(question, "")
        return _scores(self._index(language), stemmed([question], language)[0], len(self.places.pages))

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        return self.places.ranking(self.scores(question), documents, depth)

    def _index(self, language: str) -> Any:
        if language not in self._indexes:
            index = require("bm25s", "eval").BM25(method="lucene", k1=1.2, b=0.75)
            rows = [row or [""] for row in stemmed(self._texts, language)]  # bm25s refuses a page without words
            index.index(rows, show_progress=False)
            self._indexes[language] = index
        return self._indexes[language]


def _scores(index: Any, terms: Sequence[str], pages: int) -> Floats:
    """What a bm25s index gives each page for the terms that it knows: shape (pages,), float64."""
    known = [term for term in terms if term in index.vocab_dict]
    return np.asarray(index.get_scores(known), dtype=np.float64) if known else np.zeros(pages)
