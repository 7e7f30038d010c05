"""Write search results with receipts, and the trace of a search.

A receipt explains a result: its score, the matching terms and the reasons. A result also states how it differs from
nearly equal pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain

import numpy as np

from hybrid_core.text.markup import lists_pages
from hybrid_core.types.documents import Hit, PageText, place_of
from hybrid_core.types.notes import Note
from hybrid_core.types.results import (
    DocumentRanked,
    PageFound,
    Receipt,
    SectionFound,
    SectionHint,
    SectionRanked,
    Trace,
)
from hybrid_core.types.scoring import PageScoring
from retrievers.explain.passages import PassageTerms, best_passage
from retrievers.features.pages import matched_terms
from retrievers.query.question import Question
from retrievers.ranking.selection import ResultSlot
from retrievers.ranking.walk import DocumentScores, PageRef, PageVisit, WalkTrace, best_pages
from retrievers.references.locations import Span
from retrievers.trees.content import Content, cosine
from retrievers.trees.postings import offsets

_SECTIONS, _HINTS, _DOCUMENTS = 5, 3, 20


@dataclass(frozen=True, slots=True)
class PageFindings:
    """Results of earlier stages about pages, by (index of the document, page).

    ``verdicts`` are the reasons why a model or the question chose a page. ``spans`` are the parts of pages to which the
    question refers; snippets are taken from them. ``terms`` are the terms for the snippet of a page that was named by
    number, because others occur in its footer. ``addends`` are the contributions of the ranking model.
    """

    verdicts: Mapping[PageRef, Note]
    spans: Mapping[PageRef, Span]
    terms: Mapping[PageRef, Collection[str]]
    addends: Mapping[PageRef, Mapping[str, float]]


class Explainer:
    """A writer of the results of one search, with their receipts."""

    def __init__(
        self,
        scores: Sequence[DocumentScores],
        question: Question,
        findings: PageFindings,
        terms: Sequence[PassageTerms],
        short_path: Callable[[str], str],
        scoring: PageScoring,
    ) -> None:
        """Create a writer.

        ``terms`` choose the passages of each document; ``scores`` and ``terms`` have the same order.
        """
        self._scores, self._question, self._findings, self._terms = scores, question, findings, terms
        self._path_of, self._scoring = short_path, scoring

    def page(self, slot: ResultSlot, page_text: PageText, copies: Sequence[PageText] = ()) -> PageFound:
        """Return one result with its receipt. ``copies`` are the texts of pages nearly equal to it."""
        visit = slot.visit
        scores, page = self._scores[visit.doc], visit.page
        document, content = scores.candidate.document, scores.content
        adds = matched_terms(content, page, scores.query, self._scoring)
        terms, only_terms = self._terms[visit.doc], self._findings.terms.get((visit.doc, page))
        terms = terms if only_terms is None else terms.only(only_terms)
        first, last = self._findings.spans.get((visit.doc, page), (0, None))
        headings = [at - first for at in content.headings_at.get(page, ())]
        shown = best_passage(page_text.text[first:last], terms, numeric=self._question.numeric, headings=headings)
        offset = first + shown.offset
        section = self._section(visit.doc, content.section_at(page, offset))
        own = {name: scores.part(name, page) for name in scores.contributions}
        page_signals = {name: by_page.get(page) for name, by_page in scores.signals.items()}
        receipt = Receipt(
            terms={term: _r(add) for term, add in adds.items()},
            coarse=_maybe(page_signals.get("coarse")),
            dense=_maybe(page_signals.get("dense")),
            page=_r(own.pop("page", 0.0) or 0.0),
            document=_r(own.pop("document", 0.0) or 0.0),
            structure=_r(own.pop("structure", 0.0) or 0.0),
            doc_score=_r(scores.candidate.doc_score),
            routing=_r(scores.candidate.routing),
            routing_reason=scores.candidate.reason,
            section_path=section.path,
            node_score=section.node_score,
            verdict=self._verdict((visit.doc, page), section.title, page_text),
            learned_sparse=_maybe(page_signals.get("learned_sparse")),
            rerank=_maybe(own.pop("rerank", None)),
            reasoning=_maybe(own.pop("reasoning", None)),
            contributions={name: _r(part) for name, part in own.items() if part is not None},
            addends=self._findings.addends.get((visit.doc, page), {}),
        )
        score = _r(scores.values[page - 1])
        also_in = tuple(
            f"{self._short_path(copy.doc)}, page {copy.page}{_apart(page_text, other)}"
            for copy, other in zip(slot.also_in, copies or [page_text] * len(slot.also_in), strict=True)
        )
        return PageFound(
            document.doc_id, document.name, page, page_text.label, score, shown.text, section, receipt, also_in,
            self._short_path(visit.doc),
            place=place_of(page_text.label, page_text.places, page_text.text.count("\n", 0, offset)),
            mark=shown.mark, contents=lists_pages(page_text.text, content.pages), hidden_text=page_text.hidden,
            doc_title=document.title, organisation=document.card.organisation,
            year=next(iter(document.card.years), None),
        )  # fmt: skip

    def _verdict(self, place: tuple[int, int], title: str, page_text: PageText) -> Note:
        verdict = self._findings.verdicts.get(place) or Note("verdict.tree", title=title)
        return Note("verdict.hidden", verdict=verdict) if page_text.hidden else verdict

    def _short_path(self, doc: int) -> str:
        return self._path_of(self._scores[doc].candidate.document.path)

    def sections(self) -> tuple[SectionRanked, ...]:
        """Return the best leaf sections, by NodeScore times the score of their document, best first.

        NodeScore sums the scores of the hits in a section, reduced for large sections.
        """
        if not self._scores:
            return ()
        counts = np.array([len(scores.nodes) for scores in self._scores], np.int64)
        firsts = offsets(counts)
        nodes = np.concatenate([scores.nodes for scores in self._scores])
        leaves = np.concatenate([scores.candidate.content.leaves for scores in self._scores])
        together = nodes * leaves * np.repeat([scores.candidate.score for scores in self._scores], counts)
        positive = np.flatnonzero(together)
        best = positive[np.argsort(-together[positive], kind="stable")][:_SECTIONS]
        docs = firsts.searchsorted(best, "right") - 1
        return tuple(self._ranked(int(doc), int(at - firsts[doc])) for doc, at in zip(docs, best, strict=True))

    def documents(self) -> tuple[DocumentRanked, ...]:
        """Return the best documents with candidate pages, best first."""
        candidates = [scores.candidate for scores in self._scores[:_DOCUMENTS]]
        return tuple(
            DocumentRanked(c.document.doc_id, c.document.name, _r(c.score), _r(c.doc_score), _r(c.routing), c.reason)
            for c in candidates
        )

    def _ranked(self, doc: int, at: int) -> SectionRanked:
        scores = self._scores[doc]
        section = self._section(doc, at)
        best = best_pages(scores.values, scores.content.sections[at])
        return SectionRanked(scores.candidate.document.doc_id, scores.candidate.document.name, section, best)

    def _section(self, doc: int, at: int) -> SectionFound:
        scores = self._scores[doc]
        content = scores.content
        section = content.sections[at]
        path = tuple(content.sections[i].title for i in content.path(at))
        children = sorted(
            (-float(scores.nodes[child]), child) for child in content.children[at] if scores.nodes[child] > 0
        )
        hints = tuple(
            SectionHint(s.node_id, s.title, s.start_page, s.end_page, _r(-score))
            for score, s in ((score, content.sections[child]) for score, child in children[:_HINTS])
        )
        return SectionFound(
            section.node_id, section.title, path, section.start_page, section.end_page, _r(scores.nodes[at]),
            section.flags, hints, section.gaps,
        )  # fmt: skip


def _apart(page: PageText, copy: PageText) -> str:
    """Return how a nearly equal page (``copy``) differs from a page, "" if their texts are equal."""
    if page.text == copy.text:
        return ""
    difference = differences(page.text, copy.text)
    return f": {difference}" if difference else ""


def _r(value: float) -> float:
    return round(float(value), 4)


def _maybe(value: float | None) -> float | None:
    return None if value is None else _r(value)


_RESULTS_TO_COMPARE = 10  # results that are compared with each other
_ALIKE, _LENGTH = 0.9, 0.2  # cosine from which pages are nearly equal; share by which their lengths may differ


def nearly_equal(pages: Sequence[tuple[Content, int]]) -> dict[int, int]:
    """Find pages that are nearly equal to an earlier page of another document.

    Return a mapping from the index of each such page to the index of the earlier page.
    """
    equals: dict[int, int] = {}
    lengths = [int(content.body.lengths[page - 1]) for content, page in pages[:_RESULTS_TO_COMPARE]]
    for at, (content, page) in enumerate(pages[:_RESULTS_TO_COMPARE]):
        for before, (other, its_page) in enumerate(pages[:at]):
            if abs(lengths[at] - lengths[before]) > _LENGTH * lengths[before] or other.content_id == content.content_id:
                continue
            if cosine(content.vector(page), other.vector(its_page)) >= _ALIKE:
                equals[at] = before
                break
    return equals


def trace(
    hits: Sequence[Hit], scores: Sequence[DocumentScores], steps: WalkTrace, visits: Sequence[PageVisit]
) -> Trace:
    """Return the trace of a search: the hits, documents, sections and pages that it considered.

    ``hits`` are those of the coarse pass, best first.
    """
    ids = [document.candidate.document.doc_id for document in scores]
    nodes = [[section.node_id for section in document.content.sections] for document in scores]
    return Trace(
        coarse=tuple((hit.doc_id, hit.page) for hit in hits),
        documents=tuple(ids),
        sections=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.seen),
        opened=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.opened),
        read=tuple((ids[visit.doc], visit.page) for visit in visits),
    )


_MOST, _LONGEST = 2, 60  # maximum differences to describe, and characters of each side
_WORDS = 3_000  # words of a page that are compared
_PAIRS = 30_000  # pairs of equal words up to which texts are compared word by word: the time grows with them


def differences(before: str, after: str) -> str:
    """Return one line that lists the differences in words between two texts, "" if they are equal."""
    mine, theirs = _line_words(before), _line_words(after)
    changes = [
        change
        for kind, a, b, c, d in _edits(mine, theirs)
        if kind != "equal"  # only differing lines are compared word by word, since the time grows with the square
        for change in _word_changes([*chain(*mine[a:b])], [*chain(*theirs[c:d])])
    ]
    if not changes:
        return ""
    more = f" and {len(changes) - _MOST} more" if len(changes) > _MOST else ""
    return ", ".join(changes[:_MOST]) + more


def _line_words(text: str) -> list[tuple[str, ...]]:
    """Return the words of each line of a text, at most the first ``_WORDS`` words of the text."""
    lines, left = [], _WORDS
    for line in text.splitlines():
        if words := tuple(line.split()[:left]):
            lines.append(words)
            left -= len(words)
    return lines


def _edits(mine: Sequence[Hashable], theirs: Sequence[Hashable]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the edits from one sequence to another, as ``SequenceMatcher`` does.

    If few items are repeated very often, all between the first and the last difference is one edit.
    """
    counts = Counter(theirs)
    if sum(counts[item] for item in mine) <= _PAIRS:
        return SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    shorter = min(len(mine), len(theirs))
    first = next((at for at in range(shorter) if mine[at] != theirs[at]), shorter)
    last = next((at for at in range(shorter - first) if mine[-1 - at] != theirs[-1 - at]), shorter - first)
    a, b = len(mine) - last, len(theirs) - last
    kind = "replace" if first < min(a, b) else "insert" if first < b else "delete"
    return [(kind, first, a, first, b)] if first < max(a, b) else []


def _word_changes(mine: Sequence[str], theirs: Sequence[str]) -> Iterator[str]:
    for kind, a, b, c, d in _edits(mine, theirs):
        before, after = _shorten_words(mine[a:b]), _shorten_words(theirs[c:d])
        if kind == "replace":
            yield f"'{after}' for '{before}'"
        elif kind == "insert":
            yield f"'{after}' added"
        elif kind == "delete":
            yield f"'{before}' missing"


def _shorten_words(words: Sequence[str]) -> str:
    line = " ".join(words)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"
