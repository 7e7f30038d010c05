"""The candidate pages of a question, their BM25 scores, and the scores of expert terms.

A term that every page of a document contains does not distinguish its pages, even if it is rare in the library. So idf
is computed over the document's own pages. Headings that begin on a page are a second field with a small weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_core.text import bm25, tokens
from hybrid_core.text.bm25 import Bm25, idf
from hybrid_core.text.terms import TermCounts
from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.scoring import ExpansionScoring, PageScoring
from retrievers.candidates.documents import CandidateDocument
from retrievers.features.word_order import PageWords, TermPlaces
from retrievers.query.expert import Expansion, Role
from retrievers.trees.content import Content
from retrievers.trees.contents import ContentGroup
from retrievers.trees.postings import ranges

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """The distinct terms of a question, in order.

    terms: the words. hashes: int64 (t,). worth: float64 (t,), a weight of 0 to 1, lower for pieces of an identifier.
    idf: float64 (t,), higher for rarer terms of the library, times the worth. holding: float64 (t,), the number of the
    library's ``pages`` that contain each term.
    """

    terms: Sequence[str]
    hashes: Ints
    worth: Floats
    idf: Floats
    holding: Floats
    pages: int

    @classmethod
    def of(cls, worth: Mapping[str, float], pages: int, holding: Mapping[str, int]) -> QueryTerms:
        """Return the terms that are the keys of ``worth``.

        ``holding`` is the number of library pages that contain each term, out of ``pages``.
        """
        different = list(worth)
        each = np.fromiter(worth.values(), np.float64, len(worth))
        hashes = np.fromiter((cached_hash(term) for term in different), np.int64, len(different))
        counts = [holding.get(term, 0) for term in different]
        return cls(different, hashes, each, each * idf(pages, counts), np.array(counts, np.float64), pages)


@dataclass(frozen=True, eq=False)
class CandidatePages:
    """The candidate pages of one question.

    documents: the documents with candidates. firsts: int64 (documents + 1,), their first pages in a consecutive
    numbering. at: int64 (n,), the candidate pages in that numbering. doc: int64 (n,), the index of each page's
    document. page: int64 (n,), from 1.
    """

    documents: Sequence[CandidateDocument]
    firsts: Ints
    at: Ints
    doc: Ints
    page: Ints

    @classmethod
    def of(cls, documents: Sequence[CandidateDocument], firsts: Ints, at: Ints) -> CandidatePages:
        doc = np.searchsorted(firsts, at, side="right") - 1
        return cls(documents, firsts, at, doc, at - firsts[doc] + 1)

    def places(self) -> list[tuple[Content, int]]:
        """Return the pages as (parsed document, page from 1)."""
        pairs = zip(self.doc.tolist(), self.page.tolist(), strict=True)
        return [(self.documents[doc].content, page) for doc, page in pairs]

    def place(self, row: int) -> tuple[int, int]:
        """Return the document index and the page (from 1) of a row of the feature table."""
        return int(self.doc[row]), int(self.page[row])

    @cached_property
    def rows(self) -> Mapping[tuple[int, int], int]:
        """Return the row of each page in the feature table, by (document index, page from 1)."""
        places = zip(self.doc.tolist(), self.page.tolist(), strict=True)
        return {place: row for row, place in enumerate(places)}

    def __len__(self) -> int:
        return len(self.at)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Term weights for scoring the pages of a document, and separate weights for terms in headings."""

    terms: Mapping[str, float]
    headings: Mapping[str, float] = field(default_factory=dict)

    def hashed(self) -> tuple[dict[int, float], dict[int, float]]:
        """Return the weights of terms and the weights of headings, both by term hash."""
        return _hashed(self.terms), _hashed(self.headings)


def page_scores(
    content: Content,
    query: Mapping[int, float],
    scoring: PageScoring = PageScoring(),
    headings: Mapping[int, float] | None = None,
) -> Floats:
    """Return the BM25 score of every page for {term hash: weight}: float64 (pages,), higher is better, 0
    without a match.
    """
    total = _field(content.body, query, scoring)
    if scoring.headings:
        in_headings = {**(headings or {}), **query}
        total += scoring.headings * _field(content.headings, in_headings, scoring)
    if scoring.titles:
        total += scoring.titles * (total > 0) * content.titles.covered(query, content.pages, scoring.title_power)
    return total


def matched_terms(content: Content, page: int, query: PageQuery, scoring: PageScoring) -> dict[str, float]:
    """Return the contribution of each matching term to the score of a page (from 1), highest first."""
    names = {tokens.cached_hash(term): term for term in (*query.headings, *query.terms)}
    terms, headings = query.hashed()
    return {names[term]: add for term, add in matched(content, page, terms, headings, scoring).items()}


def matched(
    content: Content,
    page: int,
    query: Mapping[int, float],
    headings: Mapping[int, float] | None = None,
    scoring: PageScoring = PageScoring(),
) -> dict[int, float]:
    """Return the contribution of each matching term hash to the score of a page (from 1), highest first."""
    adds: dict[int, float] = {}
    fields = ((1.0, content.body, query), (scoring.headings, content.headings, {**(headings or {}), **query}))
    for share, counts, term_weights in fields:
        occurrences = counts.occurrences(term_weights)
        rows = np.flatnonzero(occurrences.pages == page - 1)
        terms, model = occurrences.terms[rows], Bm25(scoring.k1, scoring.b, counts.average_length)
        parts = model.weights(occurrences.counts[rows], float(counts.lengths[page - 1])).astype(np.float64)
        gains = share * _weights(term_weights)[terms] * bm25.idf(counts.page_count, occurrences.holding[terms]) * parts
        hashes = list(term_weights)
        for at, add in zip(terms.tolist(), gains.tolist(), strict=True):
            if term_weights[hashes[at]] > 0:
                adds[hashes[at]] = adds.get(hashes[at], 0.0) + add
    for term, add in content.titles.adds(query, page, scoring.title_power).items():
        adds[term] = adds.get(term, 0.0) + scoring.titles * add
    return dict(sorted(adds.items(), key=lambda item: -item[1]))


def _field(counts: TermCounts, query: Mapping[int, float], scoring: PageScoring) -> Floats:
    pages, occurrences = counts.page_count, counts.occurrences(query)
    term_adds = (_weights(query) * bm25.idf(pages, occurrences.holding)).astype(np.float32)
    model = Bm25(scoring.k1, scoring.b, counts.average_length)
    adds = term_adds[occurrences.terms] * model.weights(occurrences.counts, counts.lengths[occurrences.pages])
    return np.bincount(occurrences.pages, adds, pages).astype(
        np.float64
    )  # without postings the result would be integers


def _weights(query: Mapping[int, float]) -> Floats:
    return np.fromiter(query.values(), np.float64, len(query))


def _hashed(terms: Mapping[str, float]) -> dict[int, float]:
    return {tokens.cached_hash(term): weight for term, weight in terms.items()}


_ROLE_PAGES = 2  # pages of a section that count for its role, from its first page


@dataclass(frozen=True, slots=True, eq=False)
class ExpertTerms:
    """The expert terms of several documents.

    ``contents`` are the parsed documents. firsts: int64 (documents + 1,), the first page of each document in a
    consecutive numbering.
    """

    expansions: Sequence[Expansion]
    contents: ContentGroup
    firsts: Ints

    def _groups(self) -> list[tuple[Expansion, list[int]]]:
        """Return each expansion that adds terms, with the indexes of its documents."""
        groups: dict[int, list[int]] = {}
        for place, expansion in enumerate(self.expansions):
            if expansion.sources:
                groups.setdefault(id(expansion), []).append(place)
        return [(self.expansions[places[0]], places) for places in groups.values()]

    def bm25(self, scoring: PageScoring) -> tuple[Floats, Floats]:
        """Return the BM25 scores of the pages' texts and of their headings, float64 (pages,) each.

        Texts are scored by expert terms, headings by expert terms and expert headings.
        """
        texts, headings = np.zeros(int(self.firsts[-1])), np.zeros(int(self.firsts[-1]))
        for expansion, places in self._groups():
            contents = self.contents.only(places)
            terms, titles = PageQuery(expansion.terms, {**expansion.headings, **expansion.terms}).hashed()
            at = ranges(self.firsts[places], np.diff(self.firsts)[places])
            for total, look, term_weights in ((texts, contents.body, terms), (headings, contents.headings, titles)):
                each = np.fromiter(term_weights.values(), np.float64, len(term_weights))
                total[at] = look(np.fromiter(term_weights, np.int64, len(term_weights))).own_bm25(
                    each, scoring.k1, scoring.b
                )
        return texts, headings

    def phrases(self, scoring: ExpansionScoring) -> list[tuple[list[int], dict[tuple[int, ...], float]]]:
        """Return the expert phrases as term hashes with their weights, and the indexes of their documents."""
        groups = [(places, _sequences(expansion.phrases, scoring.full_weight)) for expansion, places in self._groups()]
        return [(places, sequences) for places, sequences in groups if sequences]

    def roles(self, candidates: CandidatePages) -> Floats:
        """Return 1 for candidate pages with a role that expert knowledge requests, else 0: float64 (n,)."""
        on_role = np.zeros(int(self.firsts[-1]))
        for expansion, places in self._groups():
            for place in places if expansion.roles else ():
                content, first = candidates.documents[place].content, int(self.firsts[place])
                for role in expansion.roles:
                    for page in role_pages(content, role):
                        on_role[first + page - 1] = 1.0
        return on_role[candidates.at]


def phrase_shares(
    phrases: Sequence[tuple[Sequence[int], Mapping[tuple[int, ...], float]]],
    candidates: CandidatePages,
    words: PageWords,
) -> Floats:
    """Return the weighted share of expert phrases that each candidate page contains: float64 (n,), 0 to 1.

    ``phrases`` is the result of ``ExpertTerms.phrases``. ``words`` must contain all their words.
    """
    shares = np.zeros(len(candidates))
    for places, sequences in phrases:
        rows = np.flatnonzero(np.isin(candidates.doc, places))
        hashes = np.array(sorted({term for sequence in sequences for term in sequence}), np.int64)
        standing = TermPlaces.of(words, hashes)
        for sequence, weight in sequences.items():
            shares[rows] += weight * standing.in_sequence(hashes.searchsorted(sequence).tolist())[rows]
        shares[rows] /= sum(sequences.values())
    return shares


def role_pages(content: Content, role: Role) -> dict[int, None]:
    """Return the pages of sections whose title matches a role ("cash flow statement"), in order."""
    pages: dict[int, None] = {}
    for section in content.titled(role.title):
        last = min(section.end_page, section.start_page + _ROLE_PAGES - 1)
        pages |= dict.fromkeys(range(section.start_page, last + 1))
    return pages


def _sequences(phrases: Mapping[str, float], full: float) -> dict[tuple[int, ...], float]:
    """Return the phrases of at least two words as term hashes, with their weights (at most 1)."""
    sequences = {
        tuple(map(cached_hash, tokenise(phrase))): min(1.0, weight / full) for phrase, weight in phrases.items()
    }
    return {sequence: weight for sequence, weight in sequences.items() if len(sequence) > 1}
