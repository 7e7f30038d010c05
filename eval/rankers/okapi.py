"""BM25 over whole pages as the package rank-bm25 does it (Okapi, k1 1.5, b 0.75), with the pinned baseline's tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eval.datasets.corpus import Corpus
from eval.rankers.page_scores import Places, chinese, english
from eval.records.rankings import Ranking
from hybrid_core.system.extras import require


class Okapi:
    """Many tutorials and RAG frameworks use this package."""

    name = "rank-bm25"

    def __init__(self, corpus: Corpus, *, in_chinese: bool) -> None:
        rank_bm25 = require("rank_bm25", "eval")
        self.options: Mapping[str, Any] = {
            "k1": 1.5, "b": 0.75, "tokens": "jieba" if in_chinese else "english stop words",
        }  # fmt: skip
        self._places = Places(corpus)
        self._tokens = chinese if in_chinese else english
        # A library without any word makes the package divide by zero: one page of nothing but a mark helps.
        self._index = rank_bm25.BM25Okapi([tokens or [""] for tokens in self._tokens(self._places.texts(corpus))])

    def rank(self, question: str, documents: Sequence[str] | None, depth: int) -> Ranking:
        scores = np.asarray(self._index.get_scores(self._tokens([question])[0]), dtype=np.float64)
        return self._places.ranking(scores, documents, depth)
