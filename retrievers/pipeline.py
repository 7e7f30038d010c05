"""The one path from a question to pages: read, coarse pass, gather, value pages, walk, receipts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hybrid_core import text
from hybrid_core.results import EffortUsed, SearchResult
from hybrid_core.store.snapshot import Snapshot
from hybrid_core.store.vectors import VectorIndex
from hybrid_core.types import Effort
from retrievers import select
from retrievers.candidates import Valued, choose, value_pages
from retrievers.choose_pages import choose_pages
from retrievers.coarse import coarse_pass, similarity
from retrievers.content import ContentCache
from retrievers.evidence import judge
from retrievers.expert import Expert
from retrievers.options import LibraryView, Meaning, SearchOptions, Weights
from retrievers.question import Question, read_question
from retrievers.receipts import Writer
from retrievers.route import Routing
from retrievers.tree_walk import Walkable, walk


def search(
    question_text: str,
    options: SearchOptions,
    view: LibraryView,
    snapshot: Snapshot,
    index: VectorIndex,
    cache: ContentCache,
    expert: Expert = Expert(),
    meaning: Meaning = Meaning(),
    weights: Weights = Weights(),
) -> SearchResult:
    """Answer with pages. The snapshot decides what is published; hits of anything else are dropped.

    Raises NotFoundError for an unknown document, UsageError for a bad condition.
    """
    clock = _Clock()
    question = read_question(question_text)
    scope = searched(view, options)
    routing = view.router.route(question)
    clock.lap("question")

    advice = expert.advise(question_text)
    words = {**advice.terms, **dict.fromkeys(question.terms, 1.0)}
    query = {text.cached_hash(term): weight for term, weight in words.items()}
    hits = coarse_pass(index, query, meaning, view.documents, scope, weights)
    best_hit = max((hit.score for hit in hits), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best_hit for hit in hits}
    clock.lap("coarse")

    candidates = choose(hits, routing, view, scope, snapshot, cache, weights)
    clock.lap("gather")

    inside = {**advice.terms, **inside_query(question, routing)}
    dense = [] if meaning.vector is None else index.search_dense(
        meaning.vector, 2 * weights.coarse_hits, [c.document.doc_id for c in candidates]
    )  # fmt: skip
    valued = value_pages(candidates, coarse, inside, advice.headings, similarity(dense), weights)
    if not any(one.values.any() for one in valued):  # nothing but what named the document occurs in it
        inside = words
        valued = value_pages(candidates, coarse, inside, advice.headings, similarity(dense), weights)
    clock.lap("pages")
    walkable = [Walkable(v.candidate.content, v.values) for v in valued]
    reached = walk(walkable, 4 * options.top_k + 10)
    clock.lap("walk")

    chosen = choose_pages(reached, valued, options.top_k, advice.roles, options.mmr)
    places = [(valued[one.reached.doc].candidate.content, one.reached.page) for one in chosen]
    shown = snapshot.labels_and_texts([(content.content_id, page) for content, page in places])
    writer = Writer(valued, coarse, {(hit.doc_id, hit.page): hit for hit in dense}, inside, question)
    results = [
        writer.page(one, *shown.get((content.content_id, page), ("", "")))
        for one, (content, page) in zip(chosen, places, strict=True)
    ]
    clock.lap("results")
    return SearchResult(
        query=question_text,
        library=options.library,
        evidence=judge(inside, places),
        effort=_effort(options.effort),
        results=tuple(results),
        sections=writer.sections(),
        documents=writer.documents(),
        embedded_share=round(meaning.share, 4),
        notes=_notes(routing, valued, options, meaning),
        timings_ms=clock.laps,
    )


def searched(view: LibraryView, options: SearchOptions) -> frozenset[str] | None:
    """The doc_ids that a filter leaves, None without a filter. Raises as ``search`` does."""
    if not options.documents and not options.where:
        return None
    documents = list(view.documents.values())
    if options.documents:
        documents = select.by_name(documents, options.documents)
    return frozenset(d.doc_id for d in select.where(documents, options.where))


def inside_query(question: Question, routing: Routing) -> dict[str, float]:
    """The terms to score pages by: what named the document holds on all its pages and is left out."""
    kept = [term for term in question.terms if term not in routing.matched_terms] or list(question.terms)
    return dict.fromkeys(kept, 1.0)


def _effort(asked: Effort) -> EffortUsed:
    if asked == "fast":
        return EffortUsed("fast", "fast", "asked for")
    return EffortUsed(asked, "fast", "no language model is configured, so the deterministic tree walk answered")


def _notes(routing: Routing, valued: Sequence[Valued], options: SearchOptions, meaning: Meaning) -> tuple[str, ...]:
    notes = [meaning.note] if meaning.note else []
    if routing.tied and not options.documents:
        notes.append(
            "several documents fit the question equally well; name a year, a type or a document to choose among them"
        )
    if not valued:
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
