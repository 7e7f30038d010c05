"""What expert knowledge says of pages: its terms, headings, phrases and roles, each where its documents are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_core.text.term_order import TermOrder
from hybrid_core.text.tokens import cached_hash, tokenise
from hybrid_core.types.scoring import ExpansionScoring, PageScoring
from retrievers.documents.content import Content
from retrievers.documents.content_cache import ContentGroup
from retrievers.documents.postings import ranges
from retrievers.features.candidates import Candidates
from retrievers.features.order import PageWords, TermPlaces
from retrievers.pages.page_score import PageQuery
from retrievers.query.expert import Expansion, Role

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_ROLE_PAGES = 2  # a section longer than this has its role on its first pages only


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """What expands a question in each of several documents, ``contents`` being theirs.

    firsts: int64 (documents + 1,), the first page of each document, numbered through.
    """

    expansions: Sequence[Expansion]
    contents: ContentGroup
    firsts: Ints

    def _groups(self) -> list[tuple[Expansion, list[int]]]:
        """Each expansion that adds something, with the places of its documents."""
        groups: dict[int, list[int]] = {}
        for place, expansion in enumerate(self.expansions):
            if expansion.sources:
                groups.setdefault(id(expansion), []).append(place)
        return [(self.expansions[places[0]], places) for places in groups.values()]

    def bm25(self, scoring: PageScoring) -> tuple[Floats, Floats]:
        """BM25 of the added terms in the texts, and of the added headings: float64 (pages,) both."""
        texts, headings = np.zeros(int(self.firsts[-1])), np.zeros(int(self.firsts[-1]))
        for expansion, places in self._groups():
            contents = self.contents.only(places)
            terms, titles = PageQuery(expansion.terms, {**expansion.headings, **expansion.terms}).hashed()
            at = ranges(self.firsts[places], np.diff(self.firsts)[places])
            for found, look, wanted in ((texts, contents.body, terms), (headings, contents.headings, titles)):
                each = np.fromiter(wanted.values(), np.float64, len(wanted))
                found[at] = look(np.fromiter(wanted, np.int64, len(wanted))).own_bm25(each, scoring.k1, scoring.b)
        return texts, headings

    def phrases(self, candidates: Candidates, orders: Sequence[TermOrder], scoring: ExpansionScoring) -> Floats:
        """The share of the phrases of several words, by weight, that stand on each candidate page: float64 (n,)."""
        found = np.zeros(len(candidates))
        for expansion, places in self._groups():
            rows = np.flatnonzero(np.isin(candidates.doc, places))
            wanted = _sequences(expansion.phrases, scoring.full_weight)
            if not wanted or not len(rows):
                continue
            terms = sorted({term for sequence in wanted for term in sequence})
            hashes = np.array(terms, np.int64)
            standing = TermPlaces.of(PageWords.of([orders[row] for row in rows.tolist()]), hashes)
            for sequence, weight in wanted.items():
                found[rows] += weight * standing.in_sequence(hashes.searchsorted(sequence).tolist())
            found[rows] /= sum(wanted.values())
        return found

    def roles(self, candidates: Candidates) -> Floats:
        """1 for a candidate page that has a role which is wanted in its document: float64 (n,)."""
        wanted = np.zeros(int(self.firsts[-1]))
        for expansion, places in self._groups():
            for place in places if expansion.roles else ():
                content, first = candidates.documents[place].content, int(self.firsts[place])
                for role in expansion.roles:
                    for page in role_pages(content, role):
                        wanted[first + page - 1] = 1.0
        return wanted[candidates.at]


def role_pages(content: Content, role: Role) -> dict[int, None]:
    """Return the pages of a document that have a role, by the titles of its sections, in order."""
    pages: dict[int, None] = {}
    for section in content.titled(role.title):
        last = min(section.end_page, section.start_page + _ROLE_PAGES - 1)
        pages |= dict.fromkeys(range(section.start_page, last + 1))
    return pages


def _sequences(phrases: Mapping[str, float], full: float) -> dict[tuple[int, ...], float]:
    """The phrases of several words as hashes of terms, with their weights, at most 1."""
    found = {tuple(map(cached_hash, tokenise(phrase))): min(1.0, weight / full) for phrase, weight in phrases.items()}
    return {sequence: weight for sequence, weight in found.items() if len(sequence) > 1}
