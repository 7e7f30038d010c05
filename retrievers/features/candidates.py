"""The pages that a question may be answered from, and where its terms stand in their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_core.text.bm25 import Bm25, idf
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.text.tokens import cached_hash
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import Content

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """The different terms of a question in their order.

    terms: the words. hashes: int64 (t,). worth: float64 (t,), 0 to 1, less for pieces of an identifier. idf: float64
    (t,), higher for what fewer pages of the library hold, times the worth.
    """

    terms: Sequence[str]
    hashes: Ints
    worth: Floats
    idf: Floats

    @classmethod
    def of(cls, worth: Mapping[str, float], pages: int, holding: Mapping[str, int]) -> QueryTerms:
        """``worth`` is by term; ``holding`` says how many of the library's ``pages`` hold each."""
        different = list(worth)
        each = np.fromiter(worth.values(), np.float64, len(worth))
        hashes = np.fromiter((cached_hash(term) for term in different), np.int64, len(different))
        return cls(different, hashes, each, each * idf(pages, [holding.get(term, 0) for term in different]))


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """Where terms stand in several documents, whose pages are numbered through.

    terms: int64 (p,), the place among the terms asked for. documents: int64 (p,). pages: int64 (p,), numbered
    through. counts: uint16 (p,). holding: int64 (documents, terms), how many pages of each document hold a term.
    lengths: float64 (pages,), words. firsts: int64 (documents + 1,), the first page of each document.
    """

    terms: Ints
    documents: Ints
    pages: Ints
    counts: npt.NDArray[np.uint16]
    holding: Ints
    lengths: Floats
    firsts: Ints

    @classmethod
    def of(cls, contents: Sequence[TermCounts], hashes: Ints) -> Postings:
        found = [counts.occurrences(hashes.tolist()) for counts in contents]
        sizes = [len(one.pages) for one in found]
        firsts = np.concatenate(([0], np.cumsum([counts.page_count for counts in contents]))).astype(np.int64)
        documents = np.repeat(np.arange(len(found)), sizes)
        empty = np.zeros(0, np.int64)
        return cls(
            np.concatenate([empty, *(one.terms for one in found)]).astype(np.int64),
            documents,
            np.concatenate([empty, *(one.pages for one in found)]).astype(np.int64) + firsts[documents],
            np.concatenate([empty.astype(np.uint16), *(one.counts for one in found)]).astype(np.uint16),
            np.array([one.holding for one in found], np.int64).reshape(len(found), len(hashes)),
            np.concatenate([np.zeros(0), *(counts.lengths for counts in contents)]).astype(np.float64),
            firsts,
        )

    @property
    def sizes(self) -> Ints:
        """Pages of each document: int64 (documents,)."""
        return np.diff(self.firsts)

    @property
    def _totals(self) -> Floats:
        """Words of each document."""
        documents = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.bincount(documents, self.lengths, len(self.sizes)).astype(np.float64)

    def library_bm25(self, weights: Floats, model: Bm25) -> Floats:
        """BM25 of every page with the same ``weights`` of terms, float64 (t,), in all documents: float64 (pages,)."""
        adds = weights[self.terms] * model.weights(self.counts, self.lengths[self.pages])
        return np.bincount(self.pages, adds, len(self.lengths)).astype(np.float64)

    def own_bm25(self, weights: Floats, k1: float, b: float) -> Floats:
        """BM25 of every page by its document's statistics: idf and average length of its own pages.

        ``weights``: float64 (t,) or (documents, t), beside the idf. Returns float64 (pages,), higher is better.
        """
        sizes = np.maximum(self.sizes, 1)
        each = weights * idf_of(sizes[:, None], self.holding)
        average = np.maximum(self._totals / sizes, 1.0)
        norm = k1 * (1 - b + b * self.lengths[self.pages] / average[self.documents])
        tf = self.counts.astype(np.float64)
        adds = each[self.documents, self.terms] * tf / (tf + norm)
        return np.bincount(self.pages, adds, len(self.lengths)).astype(np.float64)

    def document_bm25(self, weights: Floats, k1: float = 1.2, b: float = 0.75) -> Floats:
        """BM25 of whole documents against each other: float64 (documents,)."""
        shape = self.holding.shape
        at = self.documents * shape[1] + self.terms
        tf = np.bincount(at, self.counts, shape[0] * shape[1]).reshape(shape)
        average = float(self._totals.mean()) if shape[0] else 0.0
        norm = k1 * (1 - b + b * self._totals / max(1.0, average))
        return np.asarray((weights * tf / (tf + norm[:, None])).sum(axis=1))


def idf_of(pages: Ints, holding: Ints) -> Floats:
    """``hybrid_core.text.bm25.idf`` for many collections at once."""
    return np.asarray(np.log1p((pages - holding + 0.5) / (holding + 0.5)), np.float64)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidate pages of one question.

    documents: those that hold them. firsts: int64 (documents + 1,), their first pages, numbered through. at: int64
    (n,), the pages, numbered through. doc: int64 (n,), the place of each page's document. page: int64 (n,), 1-based.
    """

    documents: Sequence[CandidateDocument]
    firsts: Ints
    at: Ints
    doc: Ints
    page: Ints

    @classmethod
    def of(cls, documents: Sequence[CandidateDocument], firsts: Ints, at: Ints) -> Candidates:
        doc = np.searchsorted(firsts, at, side="right") - 1
        return cls(documents, firsts, at, doc, at - firsts[doc] + 1)

    def places(self) -> list[tuple[Content, int]]:
        """The pages as (content, 1-based page)."""
        pairs = zip(self.doc.tolist(), self.page.tolist(), strict=True)
        return [(self.documents[doc].content, page) for doc, page in pairs]

    @cached_property
    def rows(self) -> Mapping[tuple[int, int], int]:
        """The row of each page by (place of its document, 1-based page)."""
        places = zip(self.doc.tolist(), self.page.tolist(), strict=True)
        return {place: row for row, place in enumerate(places)}

    def __len__(self) -> int:
        return len(self.at)
