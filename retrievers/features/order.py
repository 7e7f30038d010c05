"""What the order of a page's terms tells: how close together the question's terms stand, and as it writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hybrid_core.text.term_order import TermOrder

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
WHOLE_PAGE = 1 << 19
"""A window that is wider than any page."""
_APART = 2 * WHOLE_PAGE  # terms between pages that are numbered through: wider than any window


@dataclass(frozen=True, slots=True, eq=False)
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
        pages = np.repeat(np.arange(len(orders)), lengths)
        terms = np.concatenate([np.zeros(0, np.uint32), *(order.terms for order in orders)])
        forms = np.concatenate([np.zeros(0, np.uint8), *(order.forms for order in orders)])
        numbers = np.bincount(pages, forms == 0, len(orders))
        figures = numbers / np.maximum(lengths, 1)
        if not len(hashes):
            none = np.zeros(0, np.int64)
            return cls(none, none, none, np.zeros(0, np.uint8), lengths, figures)
        sort = np.argsort(hashes)
        ascending = hashes[sort].astype(np.uint32)
        near = np.minimum(ascending.searchsorted(terms), len(ascending) - 1)
        held = np.flatnonzero(ascending[near] == terms)
        starts = np.cumsum(lengths) - lengths
        places = pages[held] * _APART + (held - starts[pages[held]])
        return cls(places, pages[held], sort[near[held]], forms[held], lengths, figures)

    def best_window(self, weights: Floats, size: int) -> Floats:
        """The greatest share of ``weights``, float64 (t,), that different terms within ``size`` terms have: float64
        (pages,), 0 to 1."""
        total = float(weights.sum())
        found = np.zeros(len(self.lengths))
        if not total or not len(self.places):
            return found
        held = np.zeros(len(self.places))
        for term in range(len(weights)):
            if weights[term] and len(own := self.places[self.terms == term]):
                following = np.append(own, np.iinfo(np.int64).max)[own.searchsorted(self.places)]
                held += weights[term] * (following < self.places + size)
        np.maximum.at(found, self.pages, held)
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

    def as_written(self, forms: npt.NDArray[np.uint8], weights: Floats) -> Floats:
        """The share of ``weights`` of the terms that a page writes as the question does: float64 (pages,), 0 to 1."""
        total = float(weights.sum())
        same = np.flatnonzero(self.forms == forms[self.terms])
        holding = np.zeros((len(self.lengths), len(weights)))
        holding[self.pages[same], self.terms[same]] = 1.0
        return np.asarray(holding @ weights / (total or 1.0))
