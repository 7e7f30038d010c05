"""What the order of a page's terms tells: how close together the question's terms stand, and as it writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hybrid_core.text.term_order import TermOrder

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
WHOLE_PAGE = 1 << 19
"""A window that is wider than any page."""
_APART = 2 * WHOLE_PAGE  # terms between pages that are numbered through: wider than any window
_LEAST_QUOTED = 3  # terms: fewer are a name
_LOW_BITS = np.uint32(0xFFFF)  # of a hash, by which most other terms are told from those asked for


@dataclass(frozen=True, eq=False)
class TermPlaces:
    """Where a question's terms stand on some pages.

    places: int64 (p,), ascending, numbered through the pages with a gap after each. pages: int64 (p,). terms: int64
    (p,), the place among the question's. forms: uint8 (p,), of ``TermOrder``. lengths: int64 (pages,), terms a page.
    figures: float64 (pages,), the share of numbers among them.
    """

    places: Ints
    pages: Ints
    terms: Ints
    forms: npt.NDArray[np.uint8]
    lengths: Ints
    figures: Floats

    @classmethod
    def of(cls, orders: Sequence[TermOrder], hashes: Ints) -> TermPlaces:
        """``hashes`` are those of the question's terms, int64 (t,), all different."""
        lengths = np.array([len(order.terms) for order in orders], np.int64)
        starts = np.cumsum(lengths) - lengths
        terms = np.concatenate([np.zeros(0, np.uint32), *(order.terms for order in orders)])
        forms = np.concatenate([np.zeros(0, np.uint8), *(order.forms for order in orders)])
        filled = np.flatnonzero(lengths)
        figures = np.zeros(len(orders))
        if len(filled):
            figures[filled] = np.add.reduceat(forms == 0, starts[filled], dtype=np.int64) / lengths[filled]
        sort = np.argsort(hashes)
        ascending = hashes[sort].astype(np.uint32)
        asked = np.zeros(_LOW_BITS + 1, np.bool_)
        asked[ascending & _LOW_BITS] = True
        held = np.flatnonzero(asked[terms & _LOW_BITS])  # nearly all that are held, and few others
        near = np.minimum(ascending.searchsorted(terms[held]), max(0, len(ascending) - 1))
        same = np.flatnonzero(ascending[near] == terms[held])
        held, near = held[same], near[same]
        pages = starts.searchsorted(held, "right") - 1
        return cls(pages * _APART + (held - starts[pages]), pages, sort[near], forms[held], lengths, figures)

    @cached_property
    def _next(self) -> Ints:
        """Where each term stands next, from each place on: int64 (t, p)."""
        count = int(self.terms.max(initial=-1)) + 1
        found = np.full((count, len(self.places)), np.iinfo(np.int64).max)
        for term in range(count):
            own = np.flatnonzero(self.terms == term)
            if len(own):
                ends = np.append(own[0] + 1, np.diff(own))
                found[term, : own[-1] + 1] = np.repeat(self.places[own], ends)
        return found

    @cached_property
    def _first_places(self) -> tuple[Ints, Ints]:
        """The pages that hold a term, and where the places of each begin."""
        return np.unique(self.pages, return_index=True)

    def best_window(self, weights: Floats, size: int) -> Floats:
        """The greatest share of ``weights``, float64 (t,), that different terms within ``size`` terms have: float64
        (pages,), 0 to 1."""
        total = float(weights.sum())
        found = np.zeros(len(self.lengths))
        if not total or not len(self.places):
            return found
        held = weights[: len(self._next)] @ (self._next < self.places + size)
        pages, firsts = self._first_places
        found[pages] = np.maximum.reduceat(held, firsts)
        return found / total

    def pairs(self, sequence: Sequence[int], weights: Floats) -> Floats:
        """The share of the question's neighbouring terms that are neighbours on a page too, each by the sum of its two
        ``weights``: float64 (pages,), 0 to 1. ``sequence`` are the question's terms in order."""
        found, count = np.zeros(len(self.lengths)), len(weights)
        asked = sorted({(a, b) for a, b in pairwise(sequence) if a != b})
        if not asked or len(self.places) < 2:
            return found
        worth = {a * count + b: weights[a] + weights[b] for a, b in asked}
        beside = np.flatnonzero(np.diff(self.places) == 1)
        codes = self.terms[beside] * count + self.terms[beside + 1]
        for code, weight in worth.items():
            holding = np.zeros(len(found), np.bool_)
            holding[self.pages[beside[codes == code]]] = True
            found[holding] += weight
        return np.asarray(found / sum(worth.values()))

    def in_sequence(self, sequence: Sequence[int], forms: npt.NDArray[np.uint8] | None = None) -> Floats:
        """1 for a page on which terms stand one after the other, written as ``forms`` says: float64 (pages,)."""
        found = np.zeros(len(self.lengths))
        starts = np.flatnonzero(self.terms == sequence[0])
        for ahead, term in enumerate(sequence):
            starts = starts[starts + ahead < len(self.places)]
            there = starts + ahead
            same = (self.terms[there] == term) & (self.places[there] == self.places[starts] + ahead)
            starts = starts[same if forms is None else same & (self.forms[there] == forms[term])]
        found[self.pages[starts]] = 1.0
        return found

    def quoted(self, quotations: Sequence[Sequence[int]], forms: npt.NDArray[np.uint8]) -> Floats:
        """The share of the quotations, each of terms in order, that a page holds as written: float64 (pages,)."""
        several = [quotation for quotation in quotations if len(quotation) >= _LEAST_QUOTED]
        held = [self.in_sequence(quotation, forms) for quotation in several]
        return np.asarray(sum(held, np.zeros(len(self.lengths))) / max(1, len(several)))

    def as_written(self, forms: npt.NDArray[np.uint8], weights: Floats) -> Floats:
        """The share of ``weights`` of the terms that a page writes as the question does: float64 (pages,), 0 to 1."""
        total = float(weights.sum())
        same = np.flatnonzero(self.forms == forms[self.terms])
        holding = np.zeros((len(self.lengths), len(weights)))
        holding[self.pages[same], self.terms[same]] = 1.0
        return np.asarray(holding @ weights / (total or 1.0))
