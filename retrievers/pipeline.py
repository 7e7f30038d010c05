"""The one path from a question to pages: read, coarse pass, gather, score pages, walk, receipts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hybrid_core import text
from hybrid_core.results import (
    DocumentRanked,
    EffortUsed,
    PageFound,
    Receipt,
    SearchResult,
    SectionFound,
    SectionRanked,
)  # fmt: skip
from hybrid_core.store.snapshot import Snapshot
from hybrid_core.store.vectors import VectorIndex
from hybrid_core.types import Document, Effort, Hit
from retrievers import page_score, select, snippet
from retrievers.content import Content, ContentCache, per_page
from retrievers.evidence import judge
from retrievers.expert import Expert
from retrievers.fusion import normalised, ranked, weighted
from retrievers.node_score import doc_scores, node_scores
from retrievers.page_score import PageScoring
from retrievers.question import Question, read_question
from retrievers.route import Router, Routing
from retrievers.tree_walk import Reached, Walkable, page_structure, path_shares, walk

_NAMED = 0.3  # what a snippet makes of the question's names and years, beside its best other term


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What one search asks for. ``documents`` and ``where`` are filters; everything else is soft."""

    library: str = "default"
    documents: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    top_k: int = 5
    effort: Effort = "auto"


@dataclass(frozen=True, slots=True)
class Weights:
    """How the parts of a score add up; chosen with benchmarks/quality.py (docs/benchmarks.md)."""

    coarse_hits: int = 200
    documents: int = 8  # looked into per question
    pages: int = 2000  # scored per question at most
    routing: float = 3.0  # beside a document's DocScore / best DocScore
    document: float = 2.0  # beside a page's score / best page's
    structure: float = 0.1
    inside: PageScoring = field(default_factory=PageScoring)

    @property
    def total(self) -> float:
        """The highest sum of parts, which scores are divided by."""
        return 1.0 + self.document + self.structure


@dataclass(frozen=True, slots=True)
class LibraryView:
    """One library at one log position: derived once, used by every search until the log moves."""

    position: int
    documents: Mapping[str, Document]  # published ones, by doc_id
    router: Router


@dataclass(frozen=True, slots=True)
class _Candidate:
    document: Document
    content: Content
    score: float
    doc_score: float
    routing: float
    reason: str


def search(
    question_text: str,
    options: SearchOptions,
    view: LibraryView,
    snapshot: Snapshot,
    index: VectorIndex,
    cache: ContentCache,
    expert: Expert = Expert(),
    weights: Weights = Weights(),
) -> SearchResult:
    """Answer with pages. The snapshot decides what is published; hits of anything else are dropped.

    Raises NotFoundError for an unknown document, UsageError for a bad condition.
    """
    clock = _Clock()
    question = read_question(question_text)
    scope = _scope(view, options)
    routing = view.router.route(question)
    clock.lap("question")

    extra = expert.expand(question_text)
    query = {text.cached_hash(term): weight for term, weight in (extra | dict.fromkeys(question.terms, 1.0)).items()}
    hits = coarse_pass(index, query, weights.coarse_hits, view, scope)
    clock.lap("coarse")

    candidates = _candidates(hits, routing, view, scope, snapshot, cache, weights)
    clock.lap("gather")

    inside = extra | inside_query(question, routing)
    walkable, coarse = _score(candidates, hits, inside, weights)
    clock.lap("pages")
    reached = walk(walkable, max(options.top_k * 2, options.top_k + 10))
    clock.lap("walk")

    reached, also_in = _without_copies(reached, candidates, options.top_k)
    shown = snapshot.labels_and_texts([(candidates[r.doc].content.content_id, r.page) for r in reached])
    evidence = judge(inside, [(candidates[r.doc].content, r.page) for r in reached], question)
    writer = _Writer(candidates, walkable, coarse, inside, question, weights)
    results = [writer.page(r, shown, copies) for r, copies in zip(reached, also_in, strict=True)]
    clock.lap("results")
    return SearchResult(
        query=question_text,
        library=options.library,
        evidence=evidence,
        effort=_effort(options.effort),
        results=tuple(results),
        sections=writer.sections(),
        documents=tuple(
            DocumentRanked(c.document.doc_id, c.document.name, _r(c.score), _r(c.doc_score), _r(c.routing), c.reason)
            for c in candidates
        ),
        embedded_share=0.0,
        notes=_notes(routing, candidates, options),
        timings_ms=clock.laps,
    )


def _scope(view: LibraryView, options: SearchOptions) -> frozenset[str] | None:
    """The doc_ids that a filter leaves, None without a filter."""
    if not options.documents and not options.where:
        return None
    documents = list(view.documents.values())
    if options.documents:
        documents = select.by_name(documents, options.documents)
    return frozenset(d.doc_id for d in select.where(documents, options.where))


def coarse_pass(
    index: VectorIndex,
    query: Mapping[int, float],
    limit: int,
    view: LibraryView,
    scope: frozenset[str] | None,
) -> list[Hit]:
    """The best pages by BM25 over the whole library (or scope), of published versions only."""
    if not query:
        return []
    hits = index.search(
        np.fromiter(query, np.uint32, len(query)),
        np.fromiter(query.values(), np.float32, len(query)),
        limit,
        scope,
    )
    published = view.documents
    return [hit for hit in hits if hit.doc_id in published and published[hit.doc_id].content_id == hit.content_id]


def _candidates(
    hits: Sequence[Hit],
    routing: Routing,
    view: LibraryView,
    scope: frozenset[str] | None,
    snapshot: Snapshot,
    cache: ContentCache,
    weights: Weights,
) -> list[_Candidate]:
    """The documents to look into, best first: DocScore and routing added, never one filtering the other."""
    found = normalised(doc_scores(hits))
    routed = {d: s for d, s in routing.scores.items() if d in view.documents and (scope is None or d in scope)}
    few = dict.fromkeys(scope, 0.0) if scope is not None and len(scope) <= weights.documents else {}
    scores = weighted([(1.0, found), (weights.routing, routed), (1.0, few)])
    candidates: list[_Candidate] = []
    pages = 0
    for doc_id in ranked(scores)[: weights.documents]:
        document = view.documents[doc_id]
        if candidates and pages + document.pages > weights.pages:
            continue
        content = cache.get(snapshot, document.content_id)
        if content is None:
            continue
        pages += document.pages
        candidates.append(
            _Candidate(
                document, content, scores[doc_id], found.get(doc_id, 0.0), routed.get(doc_id, 0.0),
                routing.reasons.get(doc_id, ""),
            )
        )  # fmt: skip
    return candidates


def inside_query(question: Question, routing: Routing) -> dict[str, float]:
    """The terms to score pages by: what named the document holds on all its pages and is left out."""
    kept = [term for term in question.terms if term not in routing.matched_terms] or list(question.terms)
    return dict.fromkeys(kept, 1.0)


def _score(
    candidates: Sequence[_Candidate], hits: Sequence[Hit], inside: Mapping[str, float], weights: Weights
) -> tuple[list[Walkable], dict[tuple[str, int], float]]:
    """Every page of the candidates scored; and the coarse hits by (doc_id, page), best = 1."""
    best_hit = max((hit.score for hit in hits), default=0.0)
    coarse = {(hit.doc_id, hit.page): hit.score / best_hit for hit in hits} if best_hit > 0 else {}
    query = {text.cached_hash(term): weight for term, weight in inside.items()}
    raw = [page_score.page_scores(c.content, query, weights.inside) for c in candidates]
    best_page = max((float(scores.max(initial=0.0)) for scores in raw), default=0.0) or 1.0
    best_document = max((c.score for c in candidates), default=0.0) or 1.0
    by_document: dict[str, dict[int, float]] = {}
    for (doc_id, page), share in coarse.items():
        by_document.setdefault(doc_id, {})[page] = share
    walkable = []
    for candidate, scores in zip(candidates, raw, strict=True):
        own = by_document.get(candidate.document.doc_id, {})
        nodes = node_scores(candidate.content.spans, per_page(candidate.content, own))
        structure = page_structure(candidate.content, path_shares(candidate.content, nodes))
        values = scores / best_page
        lifted = values + weights.document * candidate.score / best_document + weights.structure * structure
        lifted /= weights.total
        walkable.append(
            Walkable(
                candidate.document.doc_id,
                candidate.content,
                np.where(values > 0, lifted, 0.0),
                structure,
                nodes,
            )
        )
    return walkable, coarse


def _without_copies(
    reached: Sequence[Reached], candidates: Sequence[_Candidate], top_k: int
) -> tuple[list[Reached], list[tuple[str, ...]]]:
    """The same page of the same bytes is shown once; the other documents that hold it are named beside it."""
    kept: dict[tuple[str, int], Reached] = {}
    copies: dict[tuple[str, int], list[str]] = {}
    for one in reached:
        key = (candidates[one.doc].content.content_id, one.page)
        if key in kept:
            copies[key].append(candidates[one.doc].document.name)
        elif len(kept) < top_k:
            kept[key] = one
            copies[key] = []
    return list(kept.values()), [tuple(names) for names in copies.values()]


class _Writer:
    """Turns what was found into results with receipts."""

    def __init__(
        self,
        candidates: Sequence[_Candidate],
        walkable: Sequence[Walkable],
        coarse: Mapping[tuple[str, int], float],
        inside: Mapping[str, float],
        question: Question,
        weights: Weights,
    ) -> None:
        self._candidates, self._walkable, self._coarse = candidates, walkable, coarse
        self._inside, self._question, self._weights = inside, question, weights
        self._best_document = max((c.score for c in candidates), default=0.0) or 1.0

    def page(
        self, reached: Reached, texts: Mapping[tuple[str, int], tuple[str, str]], also_in: tuple[str, ...]
    ) -> PageFound:
        candidate, walked = self._candidates[reached.doc], self._walkable[reached.doc]
        document, content = candidate.document, candidate.content
        label, page_text = texts.get((content.content_id, reached.page), ("", ""))
        names = {text.cached_hash(term): term for term in self._inside}
        adds = page_score.matched(content, reached.page, {h: self._inside[t] for h, t in names.items()})
        wanted = {names[h]: add for h, add in adds.items()}
        named = dict.fromkeys(self._question.terms, _NAMED * max(wanted.values(), default=1.0))
        offset, shown = snippet.best_window(page_text, named | wanted, numeric=self._question.numeric)
        section = self._section(reached.doc, content.section_at(reached.page, offset))
        value = float(walked.values[reached.page - 1])
        structure = self._weights.structure * float(walked.structure[reached.page - 1]) / self._weights.total
        from_document = self._weights.document * candidate.score / self._best_document / self._weights.total
        coarse = self._coarse.get((document.doc_id, reached.page))
        return PageFound(
            doc_id=document.doc_id,
            doc_name=document.name,
            page=reached.page,
            label=label,
            score=_r(value),
            snippet=shown,
            section=section,
            also_in=also_in,
            receipt=Receipt(
                terms={names[h]: _r(add) for h, add in adds.items()},
                coarse=None if coarse is None else _r(coarse),
                dense=None,
                page=_r(value - structure - from_document),
                document=_r(from_document),
                structure=_r(structure),
                doc_score=_r(candidate.doc_score),
                routing=_r(candidate.routing),
                routing_reason=candidate.reason,
                section_path=section.path,
                node_score=section.node_score,
                verdict=self._verdict(reached),
            ),
        )

    def sections(self, most: int = 5) -> tuple[SectionRanked, ...]:
        """The best-scored sections, the deepest where parent and child tie on the same pages."""
        ranked = []
        for doc, (candidate, walked) in enumerate(zip(self._candidates, self._walkable, strict=True)):
            for at, section in enumerate(candidate.content.sections):
                if walked.nodes[at] > 0 and not candidate.content.children[at]:
                    ranked.append((float(walked.nodes[at]) * candidate.score, doc, at, section))
        ranked.sort(key=lambda item: (-item[0], item[1], item[2]))
        return tuple(
            SectionRanked(
                self._candidates[doc].document.doc_id,
                self._candidates[doc].document.name,
                self._section(doc, at),
                self._best_pages(doc, section.start_page, section.end_page),
            )
            for _, doc, at, section in ranked[:most]
        )

    def _best_pages(self, doc: int, start: int, end: int) -> tuple[int, ...]:
        values = self._walkable[doc].values[start - 1 : end]
        order = sorted(range(len(values)), key=lambda i: (-values[i], i))
        return tuple(start + i for i in order[:3] if values[i] > 0)

    def _section(self, doc: int, at: int) -> SectionFound:
        content = self._candidates[doc].content
        section = content.sections[at]
        path = tuple(content.sections[i].title for i in content.path(at))
        score = _r(float(self._walkable[doc].nodes[at]))
        return SectionFound(section.node_id, section.title, path, section.start_page, section.end_page, score)

    def _verdict(self, reached: Reached) -> str:
        content = self._candidates[reached.doc].content
        title = content.sections[reached.section].title
        return f"best-first walk, reached through «{title}» after opening {reached.opened} sections"


def _effort(asked: Effort) -> EffortUsed:
    if asked == "fast":
        return EffortUsed("fast", "fast", "asked for")
    return EffortUsed(asked, "fast", "no language model is configured, so the deterministic tree walk answered")


def _notes(routing: Routing, candidates: Sequence[_Candidate], options: SearchOptions) -> tuple[str, ...]:
    notes = []
    if routing.tied and not options.documents:
        notes.append(
            "several documents fit the question equally well; name a year, a type or a document to choose among them"
        )
    if not candidates:
        notes.append("no page shares a word with the question")
    return tuple(notes)


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._began = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self.laps["total"] = round((now - self._began) * 1000, 3)
        self._last = now


def _r(value: float) -> float:
    return round(value, 4)
