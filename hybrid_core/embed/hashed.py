"""Embedders without a model, for tests and demonstrations: random projections of hashed terms.

They compare words, not meanings: texts are similar if they share terms (Johnson and Lindenstrauss 1984; the projection
with signs is Achlioptas 2003, "Database-friendly random projections"). Results are the same on every machine. The
second embedder also has term weights and token vectors, with parts of words as tokens, so that misspelled words match.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import EmbedderId, Kind, TermWeights, Vectors, checked_texts, fingerprint, unit_rows
from hybrid_core.errors import UsageError
from hybrid_core.text.tokens import TOKENISER, cached_hash, tokenise

_NO_TERMS = " "  # the term for a text without terms; the tokeniser never returns it


class HashedEmbedder:
    """An ``Embedder`` that projects the hashed terms of a text to 16 to 4,096 dimensions.

    Queries and documents are embedded alike.
    """

    _form = "hashed"

    def __init__(self, dimension: int) -> None:
        name = f"{self._form}:{dimension}"
        if not 16 <= dimension <= 4096:
            raise UsageError(
                f"The embedder name {name} contains an invalid dimension.",
                f"Choose a dimension from 16 to 4096, for example {self._form}:256.",
            )
        self._id = EmbedderId(name, dimension, fingerprint(name, TOKENISER, "log-tf signs 1"))
        self._closed = False

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if self._closed:
            raise UsageError(f"{self._id.name} is closed, so it cannot embed texts.", "Load the model again.")
        rows = [self._row(text) for text in checked_texts(texts, kind)]
        return unit_rows(rows, self._id.name, self._id.dimension)

    def close(self) -> None:
        self._closed = True

    def _row(self, text: str) -> NDArray[np.float64]:
        row = np.zeros(self._id.dimension)
        for term, count in sorted(Counter(tokenise(text)).items()):  # sorted, since sums of floats depend on the order
            row += (1 + math.log(count)) * _signs(term, self._id.dimension)
        return row if row.any() else _signs(_NO_TERMS, self._id.dimension).astype(np.float64)


class HashedM3Embedder(HashedEmbedder):
    """A ``HashedEmbedder`` that is also a ``SparseEmbedder`` and a ``MultiVectorEmbedder``."""

    _form = "hashed-m3"

    def embed_both(self, texts: Sequence[str], kind: Kind) -> tuple[Vectors, list[TermWeights]]:
        vectors = self.embed(texts, kind)
        return vectors, [_unit(Counter(_trigram_hashes(tokenise(text)))) for text in checked_texts(texts, kind)]

    def colbert_scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._closed:
            raise UsageError(f"{self._id.name} is closed, so it cannot embed texts.", "Load the model again.")
        terms = tokenise(checked_texts([query], "query")[0])
        return np.array([_late_interaction(terms, tokenise(text)) for text in checked_texts(texts)], np.float32)


def _late_interaction(query_terms: Sequence[str], text_terms: Sequence[str]) -> float:
    """Return the mean over the query's terms of their best match among the terms of the text, 0 to 1."""
    text_vectors = [_unit(Counter(_trigram_hashes([term]))) for term in set(text_terms)]
    matches = [
        max(
            (sum(weight * other.get(piece, 0.0) for piece, weight in vector.items()) for other in text_vectors),
            default=0.0,
        )
        for vector in (_unit(Counter(_trigram_hashes([term]))) for term in query_terms)
    ]
    return sum(matches) / len(matches) if matches else 0.0


def _trigram_hashes(terms: Sequence[str]) -> list[int]:
    """Return the hashes of all runs of three characters in each term, with "<" and ">" added as its ends."""
    marked = [f"<{term}>" for term in terms]
    return [cached_hash(term[at : at + 3]) for term in marked for at in range(len(term) - 2)]


def _unit(counts: Counter[int]) -> TermWeights:
    """Return weights from 1 + log of each count, scaled so that the sum of squares is 1."""
    weights = {piece: 1 + math.log(count) for piece, count in sorted(counts.items())}
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {piece: weight / length for piece, weight in weights.items()}


@lru_cache(maxsize=20_000)
def _signs(term: str, dimension: int) -> NDArray[np.int8]:
    """Return int8 (dimension,): +1 or -1 for each dimension, derived from the hash of the term."""
    bits = np.unpackbits(np.frombuffer(hashlib.shake_128(term.encode()).digest(-(-dimension // 8)), np.uint8))
    return bits[:dimension].astype(np.int8) * np.int8(2) - np.int8(1)
