"""Per-page term counts of one document: the in-document index that page scoring reads."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

_HEADER = struct.Struct("<4sIII")
_MAGIC = b"TC01"
HEADER = _HEADER.size

Uint32 = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Occurrences:
    """Where several terms of one document stand: those of each together, in the order in which they were asked for.

    holding: int64 (t,), how many pages hold each term. terms: int64 (p,), which term a posting is of, its place among
    those asked for. pages: uint32 (p,), 0-based. counts: uint16 (p,).
    """

    holding: Ints
    terms: Ints
    pages: Uint32
    counts: npt.NDArray[np.uint16]


@dataclass(frozen=True)
class TermCounts:
    """Occurrences of one document. Pages are 0-based here (row p is page p + 1).

    terms: uint32 (t,), ascending hashes. starts: int64 (t + 1,), where each term's postings begin.
    pages: uint32 (p,), ascending within a term. counts: uint16 (p,), at most 255.
    lengths: uint32 (n,), the number of words on each page (numbers do not count).
    """

    terms: Uint32
    starts: Ints
    pages: Uint32
    counts: npt.NDArray[np.uint16]
    lengths: Uint32

    @classmethod
    def build(cls, per_page: Sequence[Mapping[int, int]], lengths: Sequence[int]) -> TermCounts:
        """From one {term hash: count} per page."""
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
        """Words per page; 1 where no page has any."""
        return float(self.lengths.mean()) or 1.0 if self.page_count else 1.0

    def holds(self, terms: Collection[int]) -> bool:
        """Whether each of these terms stands somewhere."""
        wanted = np.fromiter(terms, np.uint32, len(terms))
        at = self.terms.searchsorted(wanted)
        return bool(len(self.terms)) and bool((self.terms[np.minimum(at, len(self.terms) - 1)] == wanted).all())

    def occurrences(self, terms: Collection[int]) -> Occurrences:
        """Where these terms stand, looked up at once: a question asks for dozens of them in each of its documents."""
        wanted = np.fromiter(terms, np.uint32, len(terms))
        at = self.terms.searchsorted(wanted)
        after = self.terms.searchsorted(wanted, "right")  # the same where there is no such term
        firsts = self.starts[at]
        holding = self.starts[after] - firsts
        ends = holding.cumsum()
        rows = np.arange(holding.sum()) + np.repeat(firsts - ends + holding, holding)
        return Occurrences(holding, np.repeat(np.arange(len(wanted)), holding), self.pages[rows], self.counts[rows])

    def page_vectors(self) -> Iterator[tuple[Uint32, npt.NDArray[np.uint16]]]:
        """For each page its term hashes (ascending) and counts."""
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
        """Of the first ``HEADER`` bytes of ``to_bytes``: how many pages there are, and how many terms follow: their
        hashes, then how many pages hold each, both uint32, little-endian."""
        _, pages, terms, _ = _HEADER.unpack(header)
        return int(pages), int(terms)

    @classmethod
    def from_bytes(cls, data: bytes) -> TermCounts:
        """Raises ValueError where the bytes are not those of ``to_bytes``: terms ascend, on pages that there are."""
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
