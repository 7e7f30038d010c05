"""A page's words in the order in which they stand, so that ranking reads no text."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hybrid_core.text import tokens

ORDER_BYTES = 5  # a word: the hash of its term, and the check of how it is written
STOP_WORD = 0  # in place of a hash


@dataclass(frozen=True, slots=True, eq=False)
class TermOrder:
    """The words of one page in reading order.

    terms: uint32 (n,), the hashes of their terms, ``STOP_WORD`` for a stop word. forms: uint8 (n,), a check of the word
    as the page writes it, folded and not stemmed; 0 for a number that is no year.
    """

    terms: npt.NDArray[np.uint32]
    forms: npt.NDArray[np.uint8]

    @classmethod
    def of_text(cls, text: str) -> TermOrder:
        """Return the words of a text, identifiers after their pieces."""
        found = tokens.written_words(text)
        terms = np.fromiter((word_hash(term) for term, _ in found), np.uint32, len(found))
        return cls(terms, np.fromiter((form_check(term, word) for term, word in found), np.uint8, len(found)))

    def to_bytes(self) -> bytes:
        """Return five bytes a word: the hashes, little-endian, then the checks."""
        return self.terms.astype("<u4").tobytes() + self.forms.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> TermOrder:
        """Raises ValueError where the bytes are not those of ``to_bytes``."""
        count, rest = divmod(len(data), ORDER_BYTES)
        if rest:
            raise ValueError("a page's terms are damaged")
        return cls(np.frombuffer(data, "<u4", count), np.frombuffer(data, np.uint8, count, 4 * count))


NO_ORDER = TermOrder(np.zeros(0, np.uint32), np.zeros(0, np.uint8))


def word_hash(term: str) -> int:
    """Return the hash of a term, ``STOP_WORD`` for ""."""
    return tokens.cached_hash(term) if term else STOP_WORD


@lru_cache(maxsize=200_000)
def form_check(term: str, word: str) -> int:
    """Return 0 for a number, else 1 to 255 by the written word."""
    return 0 if tokens.is_number(term) else 1 + zlib.crc32(word.encode()) % 255
