"""Each result with its receipt, results that are nearly equal, and where a search looked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from hybrid_core.text.listing import lists_pages
from hybrid_core.types.documents import Hit, PageText, place_of
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
from retrievers.documents.content import Content, cosine
from retrievers.documents.postings import offsets
from retrievers.pages import snippet
from retrievers.pages.page_score import matched_terms
from retrievers.pages.scores import PageScores, PageVisit, Place, WalkTrace, best_pages
from retrievers.pages.windows import PassageTerms
from retrievers.places.located import Span
from retrievers.query.question import Question
from retrievers.rerank.selection import ResultSlot

_SECTIONS, _HINTS, _DOCUMENTS = 5, 3, 20


class Explainer:
    """Writes the results of one search."""

    def __init__(
        self,
        scores: Sequence[PageScores],
        question: Question,
        verdicts: Mapping[Place, str],
        spans: Mapping[Place, Span],
        beside: Mapping[Place, Collection[str]],
        short_path: Callable[[str], str],
        scoring: PageScoring,
        addends: Mapping[Place, Mapping[str, float]],
        terms: Sequence[PassageTerms],
    ) -> None:
        """``verdicts`` are what a model said of pages, or why the question means them; ``spans`` the parts of pages
        that it means, from which snippets are then taken; ``beside`` the only terms of the question that choose the
        snippet of a page that it names by its number: its footer has the others. ``addends`` are those of the ranking
        model, ``terms`` what passages are chosen by in each document."""
        self._scores, self._question, self._verdicts = scores, question, verdicts
        self._spans, self._beside, self._path_of, self._scoring = spans, beside, short_path, scoring
        self._addends, self._terms = addends, terms

    def page(self, slot: ResultSlot, held: PageText, copies: Sequence[PageText] = ()) -> PageFound:
        """One page with its receipt; ``copies`` are the texts of those that are nearly the same."""
        visit = slot.visit
        scores, page = self._scores[visit.doc], visit.page
        document, content = scores.candidate.document, scores.content
        adds = matched_terms(content, page, scores.query, self._scoring)
        terms, kept = self._terms[visit.doc], self._beside.get((visit.doc, page))
        terms = terms if kept is None else terms.only(kept)
        first, last = self._spans.get((visit.doc, page), (0, None))
        headings = [at - first for at in content.headings_at.get(page, ())]
        shown = snippet.best_passage(held.text[first:last], terms, numeric=self._question.numeric, headings=headings)
        offset = first + shown.offset
        section = self._section(visit.doc, content.section_at(page, offset))
        own = {name: scores.part(name, page) for name in scores.contributions}
        known = {name: by_page.get(page) for name, by_page in scores.signals.items()}
        receipt = Receipt(
            terms={term: _r(add) for term, add in adds.items()},
            coarse=_maybe(known.get("coarse")),
            dense=_maybe(known.get("dense")),
            page=_r(own.pop("page", 0.0) or 0.0),
            document=_r(own.pop("document", 0.0) or 0.0),
            structure=_r(own.pop("structure", 0.0) or 0.0),
            doc_score=_r(scores.candidate.doc_score),
            routing=_r(scores.candidate.routing),
            routing_reason=scores.candidate.reason,
            section_path=section.path,
            node_score=section.node_score,
            verdict=self._verdict((visit.doc, page), section.title, held),
            learned_sparse=_maybe(known.get("learned_sparse")),
            rerank=_maybe(own.pop("rerank", None)),
            reasoning=_maybe(own.pop("reasoning", None)),
            contributions={name: _r(part) for name, part in own.items() if part is not None},
            addends=self._addends.get((visit.doc, page), {}),
        )
        score = _r(scores.values[page - 1])
        also_in = tuple(
            f"{self._short_path(copy.doc)}, page {copy.page}{_apart(held, other)}"
            for copy, other in zip(slot.also_in, copies or [held] * len(slot.also_in), strict=True)
        )
        return PageFound(
            document.doc_id, document.name, page, held.label, score, shown.text, section, receipt, also_in,
            self._short_path(visit.doc), place=place_of(held.label, held.places, held.text.count("\n", 0, offset)),
            mark=shown.mark, contents=lists_pages(held.text, content.pages), hidden_text=held.hidden,
            doc_title=document.title,
        )  # fmt: skip

    def _verdict(self, place: tuple[int, int], title: str, held: PageText) -> str:
        verdict = self._verdicts.get(place) or f"best-first walk, found in «{title}»"
        return f"{verdict}; hidden text on this page" if held.hidden else verdict

    def _short_path(self, doc: int) -> str:
        return self._path_of(self._scores[doc].candidate.document.path)

    def sections(self) -> tuple[SectionRanked, ...]:
        """The leaf sections with the highest NodeScore, weighed with their documents' scores."""
        if not self._scores:
            return ()
        worth = [scores.nodes * scores.content.leaves * scores.candidate.score for scores in self._scores]
        firsts = offsets(np.array([len(one) for one in worth], np.int64))
        together = np.concatenate(worth)
        found = np.flatnonzero(together)
        best = found[np.argsort(-together[found], kind="stable")][:_SECTIONS]
        docs = firsts.searchsorted(best, "right") - 1
        return tuple(self._ranked(int(doc), int(at - firsts[doc])) for doc, at in zip(docs, best, strict=True))

    def documents(self) -> tuple[DocumentRanked, ...]:
        """The best documents with candidate pages, best first."""
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


def _apart(one: PageText, other: PageText) -> str:
    """What a copy says instead, where it is none to the letter."""
    if one.text == other.text:
        return ""
    from retrievers.explain.differences import differences

    told = differences(one.text, other.text)
    return f": {told}" if told else ""


def _r(value: float) -> float:
    return round(float(value), 4)


def _maybe(value: float | None) -> float | None:
    return None if value is None else _r(value)


_COMPARED = 10  # results that are compared with each other
_ALIKE, _LENGTH = 0.9, 0.2  # cosine from which pages are nearly equal, share by which their lengths may differ


def nearly_equal(pages: Sequence[tuple[Content, int]]) -> dict[int, int]:
    """Return which pages, by their places, are nearly one of another document before them, by its place."""
    equals: dict[int, int] = {}
    lengths = [int(content.body.lengths[page - 1]) for content, page in pages[:_COMPARED]]
    for at, (content, page) in enumerate(pages[:_COMPARED]):
        for before, (other, its_page) in enumerate(pages[:at]):
            if abs(lengths[at] - lengths[before]) > _LENGTH * lengths[before] or other.content_id == content.content_id:
                continue
            if cosine(content.vector(page), other.vector(its_page)) >= _ALIKE:
                equals[at] = before
                break
    return equals


def trace(hits: Sequence[Hit], scores: Sequence[PageScores], steps: WalkTrace, visits: Sequence[PageVisit]) -> Trace:
    """Return where one search looked. ``hits`` are those of the first stage, best first."""
    ids = [document.candidate.document.doc_id for document in scores]
    nodes = [[section.node_id for section in document.content.sections] for document in scores]
    return Trace(
        coarse=tuple((hit.doc_id, hit.page) for hit in hits),
        documents=tuple(ids),
        sections=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.seen),
        opened=tuple((ids[doc], nodes[doc][at]) for doc, at in steps.opened),
        read=tuple((ids[visit.doc], visit.page) for visit in visits),
    )
