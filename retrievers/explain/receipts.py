"""What was found becomes results, each with its receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybrid_core.text import tokens
from hybrid_core.text.plural import counted
from hybrid_core.types.documents import Hit
from hybrid_core.types.results import DocumentRanked, PageFound, Receipt, SectionFound, SectionHint, SectionRanked
from hybrid_core.types.scoring import PageScoring
from retrievers.documents.candidates import Valued, Wanted, best_pages
from retrievers.explain import snippet
from retrievers.pages import page_score
from retrievers.pages.choose_pages import Chosen
from retrievers.pages.coarse import Key
from retrievers.pages.content import Content
from retrievers.query.question import Question
from retrievers.reason.reasoner import Reasoned

_SECTIONS, _HINTS = 5, 3


class Writer:
    """Writes the results of one search."""

    def __init__(
        self,
        valued: Sequence[Valued],
        coarse: Mapping[Key, float],
        near: Mapping[Key, Hit],
        worded: Mapping[tuple[int, int], float],
        reranked: Mapping[tuple[int, int], float],
        wanted: Sequence[Wanted],
        question: Question,
        reasoned: Reasoned,
        short_paths: Mapping[str, str],
        scoring: PageScoring,
    ) -> None:
        self._valued, self._coarse, self._near = valued, coarse, near
        self._worded, self._reranked = worded, reranked
        self._question, self._scoring = question, scoring
        self._reasoned, self._short_paths, self._wanted = reasoned, short_paths, wanted

    def page(self, chosen: Chosen, label: str, page_text: str) -> PageFound:
        """One page with its receipt."""
        reached = chosen.reached
        valued = self._valued[reached.doc]
        document, content = valued.candidate.document, valued.candidate.content
        at, key = reached.page - 1, (document.doc_id, reached.page)
        adds = _adds(content, reached.page, self._wanted[reached.doc], self._scoring)
        weights = snippet.weights(self._question.terms, adds)
        offset, shown = snippet.best_window(
            page_text, weights, numeric=self._question.numeric, headings=content.headings_at.get(reached.page, ())
        )
        section = self._section(reached.doc, content.section_at(reached.page, offset))
        coarse, near = self._coarse.get(key), self._near.get(key)
        receipt = Receipt(
            terms={term: _r(add) for term, add in adds.items()},
            coarse=_maybe(coarse),
            dense=None if near is None else _maybe(near.dense),
            page=_r(valued.from_page[at]),
            document=_r(valued.from_document),
            structure=_r(valued.from_structure[at]),
            doc_score=_r(valued.candidate.doc_score),
            routing=_r(valued.candidate.routing),
            routing_reason=valued.candidate.reason,
            section_path=section.path,
            node_score=section.node_score,
            verdict=self._reasoned.verdicts.get((reached.doc, reached.page)) or _verdict(chosen, section.title),
            learned_sparse=None if near is None else _maybe(near.learned),
            wording=_maybe(self._worded.get((reached.doc, reached.page))),
            rerank=_maybe(self._reranked.get((reached.doc, reached.page))),
            reasoning=_maybe(self._reasoned.added.get((reached.doc, reached.page))),
        )
        score = _r(valued.values[at])
        also_in = tuple(f"{self._short_path(copy.doc)}, page {copy.page}" for copy in chosen.also_in)
        return PageFound(
            document.doc_id,
            document.name,
            reached.page,
            label,
            score,
            shown,
            section,
            receipt,
            also_in,
            self._short_path(reached.doc),
        )

    def _short_path(self, doc: int) -> str:
        return self._short_paths[self._valued[doc].candidate.document.path]

    def sections(self) -> tuple[SectionRanked, ...]:
        """The leaf sections with the highest NodeScore, weighed with their documents' scores."""
        found = [
            (float(valued.nodes[at]) * valued.candidate.score, doc, at)
            for doc, valued in enumerate(self._valued)
            for at in valued.nodes.nonzero()[0].tolist()
            if not valued.candidate.content.children[at]
        ]
        found.sort(key=lambda item: (-item[0], item[1], item[2]))
        return tuple(self._ranked(doc, at) for _, doc, at in found[:_SECTIONS])

    def documents(self) -> tuple[DocumentRanked, ...]:
        """The documents that were looked into, best first."""
        chosen = [valued.candidate for valued in self._valued]
        return tuple(
            DocumentRanked(c.document.doc_id, c.document.name, _r(c.score), _r(c.doc_score), _r(c.routing), c.reason)
            for c in chosen
        )

    def _ranked(self, doc: int, at: int) -> SectionRanked:
        valued = self._valued[doc]
        section = self._section(doc, at)
        best = best_pages(valued.values, valued.candidate.content.sections[at])
        return SectionRanked(valued.candidate.document.doc_id, valued.candidate.document.name, section, best)

    def _section(self, doc: int, at: int) -> SectionFound:
        valued = self._valued[doc]
        content = valued.candidate.content
        section = content.sections[at]
        path = tuple(content.sections[i].title for i in content.path(at))
        children = sorted(
            (-float(valued.nodes[child]), child) for child in content.children[at] if valued.nodes[child] > 0
        )
        hints = tuple(
            SectionHint(s.node_id, s.title, s.start_page, s.end_page, _r(-score))
            for score, s in ((score, content.sections[child]) for score, child in children[:_HINTS])
        )
        return SectionFound(
            section.node_id, section.title, path, section.start_page, section.end_page, _r(valued.nodes[at]),
            section.flags, hints, section.gaps,
        )  # fmt: skip


def _verdict(chosen: Chosen, title: str) -> str:
    if chosen.role:
        return f"slot for the role «{chosen.role}», which the question needs"
    return f"best-first walk, found in «{title}» after opening {counted(chosen.reached.opened, 'section')}"


def _r(value: float) -> float:
    return round(float(value), 4)


def _maybe(value: float | None) -> float | None:
    return None if value is None else _r(value)


def _adds(content: Content, page: int, wanted: Wanted, scoring: PageScoring) -> dict[str, float]:
    """What each term adds to a page's score; best first."""
    names = {tokens.cached_hash(term): term for term in (*wanted.headings, *wanted.terms)}
    terms = {tokens.cached_hash(term): weight for term, weight in wanted.terms.items()}
    headings = {tokens.cached_hash(term): weight for term, weight in wanted.headings.items()}
    return {names[term]: add for term, add in page_score.matched(content, page, terms, headings, scoring).items()}
