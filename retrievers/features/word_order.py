"""Word order: how close together the question's words are on a page, and in which form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_core.text.bm25 import idf
from hybrid_core.text.terms import STOP_WORD, TermOrder, pack

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Forms = npt.NDArray[np.uint8]
WHOLE_PAGE = 1 << 19
"""The size of a window that is larger than any page."""
_APART = 2 * WHOLE_PAGE  # distance between pages in the consecutive numbering, larger than any window
_LEAST_QUOTED = 3  # minimum terms of a quotation; fewer are a name
_LOW_BITS = 0xFFFF  # low bits, by which most other words are excluded fast
_PASSAGE = 120  # words of a passage
_K1 = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class PageWords:
    """The words of some pages, one page after the other, or those of them that a question may contain.

    terms: uint32 (n,), their hashes, and forms: uint8 (n,), check bytes of their spelling, both as in ``TermOrder``.
    pages: int64 (n,), index of the page. places: int64 (n,), from 0 on each page. ranks: int64 (n,), the number of
    words before it on the page without stop words. lengths, telling and numbers: int64 (pages,), the numbers of words,
    of words other than stop words, and of numbers on each page.
    """

    terms: npt.NDArray[np.uint32]
    forms: Forms
    pages: Ints
    places: Ints
    ranks: Ints
    lengths: Ints
    telling: Ints
    numbers: Ints

    @classmethod
    def of(cls, orders: Sequence[TermOrder], terms: Ints | None = None, stop_forms: Sequence[int] = ()) -> PageWords:
        """Return the words of pages.

        With ``terms``, return only words with these hashes, stop words with ``stop_forms``, and a few others.
        """
        pack(orders)
        words = np.concatenate([np.zeros(0, "<u8"), *[order.packed for order in orders]])
        lengths, telling, numbers = np.array([order.counts for order in orders], np.int64).reshape(-1, 3).T
        if terms is None:
            rows = np.arange(len(words))
        else:
            low_bits = np.zeros(_LOW_BITS + 1, np.bool_)
            low_bits[terms & _LOW_BITS] = True
            low_bits[list(stop_forms)] = True
            rows = np.flatnonzero(low_bits.take(words.view("<u2")[::4]))
            words = words[rows]
        stops = (words >> np.uint64(40)) & np.uint64(1)
        starts = np.cumsum(lengths) - lengths
        pages = starts.searchsorted(rows, "right") - 1
        return cls(
            np.where(stops, STOP_WORD, words).astype(np.uint32), (words >> np.uint64(32)).astype(np.uint8),
            pages, rows - starts[pages], (words >> np.uint64(41)).astype(np.int64), lengths, telling, numbers,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TermPlaces:
    """The positions of a question's terms on some pages. Stop words of the pages are not counted.

    places: int64 (p,), ascending, numbered consecutively through the pages with a gap after each. pages: int64 (p,),
    index of the page. terms: int64 (p,), index of the term in the question. forms: uint8 (p,), check bytes of the
    spelling, as in ``TermOrder``. lengths: int64 (pages,), terms per page. figures: float64 (pages,), the share of
    numbers among them.
    """

    places: Ints
    pages: Ints
    terms: Ints
    forms: Forms
    lengths: Ints
    figures: Floats

    @classmethod
    def of(cls, words: PageWords, hashes: Ints) -> TermPlaces:
        """Return the positions of the question's terms on these pages.

        ``hashes``, int64 (t,), are the terms without duplicates.
        """
        rows, terms = _find_words(words.terms, None, hashes, None)
        pages, lengths = words.pages[rows], words.telling
        places = pages * _APART + words.ranks[rows]
        return cls(places, pages, terms, words.forms[rows], lengths, words.numbers / np.maximum(1, lengths))

    @cached_property
    def _next(self) -> Ints:
        """Return for each term and each position the next position at which the term occurs: int64 (t, p)."""
        count = int(self.terms.max(initial=-1)) + 1
        next_places = np.full((count, len(self.places)), np.iinfo(np.int64).max)
        for term in range(count):
            own = np.flatnonzero(self.terms == term)
            if len(own):
                ends = np.append(own[0] + 1, np.diff(own))
                next_places[term, : own[-1] + 1] = np.repeat(self.places[own], ends)
        return next_places

    @cached_property
    def _first_places(self) -> tuple[Ints, Ints]:
        """Return the pages that contain a term, ascending, and the index of the first position on each."""
        return np.unique(self.pages, return_index=True)

    def best_window(self, weights: Floats, size: int) -> Floats:
        """Return the highest share of term weights in a window of ``size`` terms on each page.

        Each distinct term in the window counts once. The result is float64 (pages,), 0 to 1.
        """
        total = float(weights.sum())
        best = np.zeros(len(self.lengths))
        if not total or not len(self.places):
            return best
        shares = weights[: len(self._next)] @ (self._next < self.places + size)
        pages, firsts = self._first_places
        best[pages] = np.maximum.reduceat(shares, firsts)
        return best / total

    def pairs(self, sequence: Sequence[int], weights: Floats) -> Floats:
        """Return the share of the question's pairs of neighbouring terms that occur on each page.

        Each pair counts by the sum of its two ``weights``. ``sequence`` contains the question's terms in order. The
        result is float64 (pages,), 0 to 1.
        """
        shares, count = np.zeros(len(self.lengths)), len(weights)
        wanted_pairs = sorted({(a, b) for a, b in pairwise(sequence) if a != b})
        if not wanted_pairs or len(self.places) < 2:
            return shares
        worth = {a * count + b: weights[a] + weights[b] for a, b in wanted_pairs}
        neighbours = np.flatnonzero(np.diff(self.places) == 1)
        codes = self.terms[neighbours] * count + self.terms[neighbours + 1]
        for code, weight in worth.items():
            holding = np.zeros(len(shares), np.bool_)
            holding[self.pages[neighbours[codes == code]]] = True
            shares[holding] += weight
        return np.asarray(shares / sum(worth.values()))

    def in_sequence(self, sequence: Sequence[int], forms: Forms | None = None) -> Floats:
        """Return 1 for pages that contain the terms of ``sequence`` one after the other, else 0.

        If ``forms`` are given, the spellings must match too. The result is float64 (pages,).
        """
        on_page = np.zeros(len(self.lengths))
        starts = np.flatnonzero(self.terms == sequence[0])
        for ahead, term in enumerate(sequence):
            starts = starts[starts + ahead < len(self.places)]
            next_starts = starts + ahead
            same = (self.terms[next_starts] == term) & (self.places[next_starts] == self.places[starts] + ahead)
            starts = starts[same if forms is None else same & (self.forms[next_starts] == forms[term])]
        on_page[self.pages[starts]] = 1.0
        return on_page

    def quoted(self, quotations: Sequence[Sequence[int]], forms: Forms) -> Floats:
        """Return the share of quotations that each page contains literally: float64 (pages,), 0 to 1.

        A quotation is a sequence of terms.
        """
        several = [quotation for quotation in quotations if len(quotation) >= _LEAST_QUOTED]
        on_pages = [self.in_sequence(quotation, forms) for quotation in several]
        return np.asarray(sum(on_pages, np.zeros(len(self.lengths))) / max(1, len(several)))

    def holding(self, count: int) -> Ints:
        """Return the number of pages that contain each of the question's ``count`` terms: int64 (t,)."""
        return _holding(self.pages, self.terms, count)

    def as_written(self, forms: Forms, weights: Floats) -> Floats:
        """Return the weighted share of terms that each page spells as the question does.

        The result is float64 (pages,), 0 to 1.
        """
        total = float(weights.sum())
        same = np.flatnonzero(self.forms == forms[self.terms])
        holding = np.zeros((len(self.lengths), len(weights)))
        holding[self.pages[same], self.terms[same]] = 1.0
        return np.asarray(holding @ weights / (total or 1.0))


@dataclass(frozen=True, eq=False)
class WordPlaces:
    """The positions of a question's words, including stop words, on some pages in the same form.

    places: int64 (p,), from 0 on each page, ascending. pages: int64 (p,), index of the page. words: int64 (p,), index
    among the question's distinct words. lengths: int64 (pages,), words per page.
    """

    places: Ints
    pages: Ints
    words: Ints
    lengths: Ints

    @classmethod
    def of(cls, words: PageWords, terms: Ints, forms: Forms) -> WordPlaces:
        """Return the positions of the question's words on these pages.

        The words are given by the hashes of their ``terms``, int64 (w,), and by their ``forms``, without duplicates.
        """
        rows, word_numbers = _find_words(words.terms, words.forms, terms, forms)
        return cls(words.places[rows], words.pages[rows], word_numbers, words.lengths)

    def holding(self, count: int) -> Ints:
        """Return the number of pages that contain each of the question's ``count`` words: int64 (w,)."""
        return _holding(self.pages, self.words, count)

    def best_passage(self, rarity: Floats) -> Floats:
        """Return the highest BM25 score of a window of words on each page: float64 (pages,), 0 or more.

        ``rarity`` is the idf of each word, float64 (w,). Windows have ``_PASSAGE`` words and overlap by half. All count
        as equally long, so b of the formula is 0 (Robertson and Zaragoza 2009).
        """
        blocks = 1 + np.maximum(0, self.lengths - 1) // (_PASSAGE // 2)
        firsts = np.cumsum(blocks) - blocks
        at = firsts[self.pages] + self.places // (_PASSAGE // 2)
        total = int(blocks.sum())
        counts = np.bincount(at * len(rarity) + self.words, minlength=total * len(rarity)).reshape(total, len(rarity))
        passages = counts.astype(np.float64)
        passages[:-1] += counts[1:]
        passages[firsts[1:] - 1] = counts[firsts[1:] - 1]  # the last window of a page has no next one
        scores = (passages * (_K1 + 1) / (passages + _K1)) @ rarity
        return np.maximum.reduceat(scores, firsts) if len(firsts) else np.zeros(0)

    def triples(self, sequence: Sequence[int], pages: int) -> Floats:
        """Return the summed idf of the question's triples of consecutive words on each page.

        ``sequence`` contains the question's words in order, -1 for ignored words. ``pages`` is the number of pages in
        the library. The result is float64 (pages,).
        """
        sums = np.zeros(len(self.lengths))
        if len(self.places) < 3:
            return sums
        step = (np.diff(self.places) == 1) & (np.diff(self.pages) == 0)
        first = np.flatnonzero(step[:-1] & step[1:])
        count = int(max(self.words.max(), max(sequence, default=0))) + 1
        codes = (self.words[first] * count + self.words[first + 1]) * count + self.words[first + 2]
        for a, b, c in set(zip(sequence, sequence[1:], sequence[2:], strict=False)):
            if min(a, b, c) >= 0 and len(rows := np.flatnonzero(codes == (a * count + b) * count + c)):
                holding = np.unique(self.pages[first[rows]])
                sums[holding] += idf(pages, len(holding))
        return sums


def _holding(pages: Ints, words: Ints, count: int) -> Ints:
    """Return for each of ``count`` words the number of pages that contain it: int64 (count,)."""
    on_page = np.zeros((int(pages.max(initial=-1)) + 1, count), np.bool_)
    on_page[pages, words] = True
    return np.asarray(on_page.sum(axis=0), np.int64)


def _find_words(
    terms: npt.NDArray[np.uint32], forms: Forms | None, asked_terms: Ints, asked_forms: Forms | None
) -> tuple[Ints, Ints]:
    """Return the positions of the requested words, ascending, and which requested word is at each.

    The second array contains indexes of requested words. Words match by their terms, and also by their forms if these
    are given.
    """
    word_codes = _codes(asked_terms, asked_forms)
    sort = np.argsort(word_codes)
    ascending = word_codes[sort]
    codes = _codes(terms, forms)
    near = np.minimum(ascending.searchsorted(codes), max(0, len(ascending) - 1))
    same = np.flatnonzero(ascending[near] == codes) if len(ascending) else np.zeros(0, np.int64)
    return same, sort[near[same]]


def _codes(terms: npt.NDArray[Any], forms: Forms | None) -> Ints:
    codes = terms.astype(np.int64)
    return codes if forms is None else np.asarray(codes << 8 | forms)
