"""A question's terms, and the pages that it may be answered from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_core.text.bm25 import idf
from hybrid_core.text.tokens import cached_hash
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import Content

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """The different terms of a question in their order.

    terms: the words. hashes: int64 (t,). worth: float64 (t,), 0 to 1, less for pieces of an identifier. idf: float64
    (t,), higher for what fewer pages of the library hold, times the worth. held: float64 (t,), how many of the
    library's ``pages`` hold each.
    """

    terms: Sequence[str]
    hashes: Ints
    worth: Floats
    idf: Floats
    held: Floats
    pages: int

    @classmethod
    def of(cls, worth: Mapping[str, float], pages: int, holding: Mapping[str, int]) -> QueryTerms:
        """``worth`` is by term; ``holding`` says how many of the library's ``pages`` hold each."""
        different = list(worth)
        each = np.fromiter(worth.values(), np.float64, len(worth))
        hashes = np.fromiter((cached_hash(term) for term in different), np.int64, len(different))
        held = [holding.get(term, 0) for term in different]
        return cls(different, hashes, each, each * idf(pages, held), np.array(held, np.float64), pages)


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

    def place(self, row: int) -> tuple[int, int]:
        """The place of a row's document, and its page from 1."""
        return int(self.doc[row]), int(self.page[row])

    @cached_property
    def rows(self) -> Mapping[tuple[int, int], int]:
        """The row of each page by (place of its document, 1-based page)."""
        places = zip(self.doc.tolist(), self.page.tolist(), strict=True)
        return {place: row for row, place in enumerate(places)}

    def __len__(self) -> int:
        return len(self.at)
