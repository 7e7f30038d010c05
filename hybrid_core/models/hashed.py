"""An embedder without a model: hashed terms, projected at random. For tests and demonstrations.

It knows words, not meanings: texts are similar where they share terms (Johnson and Lindenstrauss 1984; the
projection with signs is Achlioptas 2003, "Database-friendly random projections"). The same everywhere.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import UsageError
from hybrid_core.models.embedder import EmbedderId, Kind, Vectors, checked_texts, fingerprint, unit_rows
from hybrid_core.text import TOKENISER, tokenise

_NO_TERMS = " "  # stands for a text without terms; no term of the tokeniser is a space


class HashedEmbedder:
    """An ``Embedder`` of 16 to 4,096 dimensions; queries and documents are treated alike."""

    def __init__(self, dimension: int) -> None:
        if not 16 <= dimension <= 4096:
            raise UsageError(f"hashed:{dimension} has a bad dimension.", "Choose 16 to 4096, for example hashed:256.")
        name = f"hashed:{dimension}"
        self._id = EmbedderId(name, dimension, fingerprint(name, TOKENISER, "log-tf signs 1"))
        self._closed = False

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        if self._closed:
            raise UsageError(f"{self._id.name} is closed.", "Load it again.")
        rows = [self._row(text) for text in checked_texts(texts, kind)]
        return unit_rows(rows, self._id.name, self._id.dimension)

    def close(self) -> None:
        self._closed = True

    def _row(self, text: str) -> NDArray[np.float64]:
        row = np.zeros(self._id.dimension)
        for term, count in sorted(Counter(tokenise(text)).items()):  # sorted: sums of floats depend on the order
            row += (1 + math.log(count)) * _signs(term, self._id.dimension)
        return row if row.any() else _signs(_NO_TERMS, self._id.dimension).astype(np.float64)


@lru_cache(maxsize=20_000)
def _signs(term: str, dimension: int) -> NDArray[np.int8]:
    """+1 or -1 for each dimension, drawn by the term: int8 (dimension,)."""
    bits = np.unpackbits(np.frombuffer(hashlib.shake_128(term.encode()).digest(-(-dimension // 8)), np.uint8))
    return bits[:dimension].astype(np.int8) * np.int8(2) - np.int8(1)
