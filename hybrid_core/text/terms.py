"""Term counts and ordered terms of a document's pages. Page scoring reads them instead of the text."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hybrid_core.text import tokens

if TYPE_CHECKING:
    from hybrid_core.types.documents import IndexedContent

_HEADER = struct.Struct("<4sIII")
_MAGIC = b"TC01"
HEADER = _HEADER.size

Uint32 = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Packed = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Occurrences of t requested terms in one document. A posting is a page with a term; there are p postings.

    Postings are grouped by term, in the order of the request. holding: int64 (t,), the number of pages with each term.
    terms: int64 (p,), the index of each posting's term in the request. pages: uint32 (p,), 0-based. counts: uint16
    (p,), the number of occurrences on the page.
    """

    holding: Ints
    terms: Ints
    pages: Uint32
    counts: npt.NDArray[np.uint16]


@dataclass(frozen=True)
class TermCounts:
    """The term counts of one document. Pages are 0-based here (row p is page p + 1).

    A posting is a page with a term. terms: uint32 (t,), the ascending hashes of the terms. starts: int64 (t + 1,), the
    first posting of each term. pages: uint32 (p,), the page of each posting, ascending within a term. counts: uint16
    (p,), the occurrences on the page, at most 255. lengths: uint32 (n,), the number of words on each page, without
    numbers.
    """

    terms: Uint32
    starts: Ints
    pages: Uint32
    counts: npt.NDArray[np.uint16]
    lengths: Uint32

    @classmethod
    def build(cls, per_page: Sequence[Mapping[int, int]], lengths: Sequence[int]) -> TermCounts:
        """Build the term counts of a document from a mapping {term hash: count} and a number of words per page."""
        sizes = [len(page) for page in per_page]
        total = sum(sizes)
        terms = np.fromiter((t for page in per_page for t in page), np.uint32, total)
        counts = np.fromiter((min(c, 255) for page in per_page for c in page.values()), np.uint16, total)
        pages = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
        order = np.lexsort((pages, terms))
        unique, first = np.unique(terms[order], return_index=True)
        starts = np.append(first, total).astype(np.int64)
        return cls(unique, starts, pages[order], counts[order], np.asarray(lengths, np.uint32))

    @property
    def page_count(self) -> int:
        return len(self.lengths)

    @cached_property
    def average_length(self) -> float:
        """Return the average number of words per page, 1 if all pages are empty."""
        return float(self.lengths.mean()) or 1.0 if self.page_count else 1.0

    def holds(self, terms: Collection[int]) -> bool:
        """Return whether every one of these terms occurs in the document."""
        hashes = np.fromiter(terms, np.uint32, len(terms))
        at = self.terms.searchsorted(hashes)
        return bool(len(self.terms)) and bool((self.terms[np.minimum(at, len(self.terms) - 1)] == hashes).all())

    def occurrences(self, terms: Collection[int]) -> Occurrences:
        """Return the occurrences of these terms (hashes) on the pages of the document.

        Look up all terms of a question in one call, which is faster.
        """
        hashes = np.fromiter(terms, np.uint32, len(terms))
        at = self.terms.searchsorted(hashes)
        after = self.terms.searchsorted(hashes, "right")  # the same index if the term is missing
        firsts = self.starts[at]
        holding = self.starts[after] - firsts
        ends = holding.cumsum()
        rows = np.arange(holding.sum()) + np.repeat(firsts - ends + holding, holding)
        return Occurrences(holding, np.repeat(np.arange(len(hashes)), holding), self.pages[rows], self.counts[rows])

    def page_vectors(self) -> Iterator[tuple[Uint32, npt.NDArray[np.uint16]]]:
        """Yield for each page its term hashes (ascending) and their counts."""
        terms = np.repeat(self.terms, np.diff(self.starts))
        order = np.argsort(self.pages, kind="stable")
        ends = np.searchsorted(self.pages[order], np.arange(self.page_count + 1))
        for page in range(self.page_count):
            rows = order[ends[page] : ends[page + 1]]
            yield terms[rows], self.counts[rows]

    def to_bytes(self) -> bytes:
        narrow = np.uint16 if self.page_count <= 65_535 else np.uint32
        header = _HEADER.pack(_MAGIC, self.page_count, len(self.terms), len(self.pages))
        parts = (
            self.terms.astype("<u4"), np.diff(self.starts).astype("<u4"), self.pages.astype(narrow),
            self.counts.astype(np.uint8), self.lengths.astype("<u4"),
        )  # fmt: skip
        return header + b"".join(part.tobytes() for part in parts)

    @staticmethod
    def stored(header: bytes) -> tuple[int, int]:
        """Return the numbers of pages and of terms from the first ``HEADER`` bytes of the result of ``to_bytes``.

        After the header come the hashes of the terms, then the number of pages with each term, as little-endian uint32.
        """
        _, pages, terms, _ = _HEADER.unpack(header)
        return int(pages), int(terms)

    @classmethod
    def from_bytes(cls, data: bytes) -> TermCounts:
        """Return the term counts that ``to_bytes`` encoded.

        Raise ValueError if the bytes are invalid, for example if terms are unsorted or pages missing.
        """
        if len(data) < _HEADER.size:
            raise ValueError("term counts are cut short")
        magic, n, t, p = _HEADER.unpack_from(data)
        wide = 2 if n <= 65_535 else 4
        if magic != _MAGIC or len(data) != _HEADER.size + 8 * t + (wide + 1) * p + 4 * n:
            raise ValueError("term counts are damaged")
        at = _HEADER.size
        terms = np.frombuffer(data, "<u4", t, at)
        sizes = np.frombuffer(data, "<u4", t, at + 4 * t)
        pages = np.frombuffer(data, np.uint16 if wide == 2 else np.uint32, p, at + 8 * t)
        counts = np.frombuffer(data, np.uint8, p, at + 8 * t + wide * p)
        lengths = np.frombuffer(data, "<u4", n, at + 8 * t + (wide + 1) * p)
        starts = np.zeros(t + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        if starts[-1] != p or (p and int(pages.max()) >= n) or bool((terms[1:] <= terms[:-1]).any()):
            raise ValueError("term counts are damaged")
        return cls(terms, starts, pages.astype(np.uint32), counts.astype(np.uint16), lengths)


ORDER_BYTES = 5  # per word: the hash of its term, and a check byte of its spelling
STOP_WORD = 0  # the value that replaces the hash of a stop word


@dataclass(frozen=True, eq=False)
class TermOrder:
    """The words of one page in reading order.

    terms: uint32 (n,), the hashes of their terms, ``STOP_WORD`` for a stop word. forms: uint8 (n,), a check byte of
    each word as it is written, in lower case and not stemmed. It is 0 for a number other than a year.
    """

    terms: npt.NDArray[np.uint32]
    forms: npt.NDArray[np.uint8]

    @cached_property
    def packed(self) -> Packed:
        """Return each word as one number, so that a search goes through the words of many pages once: uint64 (n,).

        The lowest 32 bits are the hash of its term, for a stop word its form. Above are 8 bits for its form, a bit that
        is set for a stop word, and the number of other words before it.
        """
        pack([self])
        return self.packed

    @cached_property
    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of words, of words other than stop words, and of numbers."""
        return len(self.terms), int(np.count_nonzero(self.terms)), len(self.forms) - int(np.count_nonzero(self.forms))

    @classmethod
    def of_text(cls, text: str) -> TermOrder:
        """Return the words of a text in order. An identifier, such as a part number, follows its parts."""
        words = tokens.written_words(text)
        terms = np.fromiter((word_hash(term) for term, _ in words), np.uint32, len(words))
        return cls(terms, np.fromiter((form_check(term, word) for term, word in words), np.uint8, len(words)))

    def to_bytes(self) -> bytes:
        """Return the stored form, five bytes per word: first all hashes, little-endian, then all check bytes."""
        return self.terms.astype("<u4").tobytes() + self.forms.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> TermOrder:
        """Return the ordered terms that ``to_bytes`` encoded. Raise ValueError if the bytes are invalid."""
        count, rest = divmod(len(data), ORDER_BYTES)
        if rest:
            raise ValueError("a page's terms are damaged")
        return cls(np.frombuffer(data, "<u4", count), np.frombuffer(data, np.uint8, count, 4 * count))


def pack(orders: Sequence[TermOrder]) -> None:
    """Compute ``packed`` for pages that lack it. For many pages at once this is faster."""
    new = [order for order in orders if "packed" not in order.__dict__]
    if not new:
        return
    lengths = np.array([len(order.terms) for order in new])
    terms, forms = np.concatenate([order.terms for order in new]), np.concatenate([order.forms for order in new])
    others = terms != STOP_WORD
    before = np.append(others.cumsum(dtype=np.uint32) - others, np.uint32(0))
    starts = lengths.cumsum() - lengths
    ranks = before[:-1] - np.repeat(before[starts], lengths)
    halves = np.empty((len(terms), 2), "<u4")
    halves[:, 0] = np.where(others, terms, forms)
    halves[:, 1] = ranks << np.uint32(9) | ~others * np.uint32(1 << 8) | forms
    words = halves.view("<u8").ravel()
    for order, start, length in zip(new, starts.tolist(), lengths.tolist(), strict=True):
        order.__dict__["packed"] = words[start : start + length].copy()  # a view would keep all pages in memory


NO_ORDER = TermOrder(np.zeros(0, np.uint32), np.zeros(0, np.uint8))


def word_hash(term: str) -> int:
    """Return the hash of a term, ``STOP_WORD`` for ""."""
    return tokens.cached_hash(term) if term else STOP_WORD


@lru_cache(maxsize=200_000)
def form_check(term: str, word: str) -> int:
    """Return the check byte of a word: 0 for a number, else 1 to 255 from its spelling."""
    return 0 if tokens.is_number(term) else 1 + zlib.crc32(word.encode()) % 255


def title_terms(titles: Sequence[str]) -> TermCounts:
    """Return the term counts of section titles, without numbers. Each title is a row, in place of a page.

    The result equals that of ``TermCounts.build``, in a third of the time.
    """
    rows = [tokens.word_hashes(title) if title else [] for title in titles]
    sizes = [len(row) for row in rows]
    places = np.repeat(np.arange(len(rows), dtype=np.uint64), sizes)
    words = np.fromiter(chain.from_iterable(rows), np.uint64, sum(sizes))
    both, counts = np.unique(words << np.uint64(32) | places, return_counts=True)
    terms, starts = np.unique((both >> np.uint64(32)).astype(np.uint32), return_index=True)
    return TermCounts(
        terms, np.append(starts, len(both)).astype(np.int64),
        both.astype(np.uint32),  # the lower half
        np.minimum(counts, 255).astype(np.uint16), np.array(sizes, np.uint32),
    )  # fmt: skip


def page_orders(content: IndexedContent) -> tuple[bytes, ...]:
    """Return the stored form of ``TermOrder`` for each page of a document: its words in reading order."""
    return tuple(TermOrder.of_text(page.text).to_bytes() for page in content.pages)
