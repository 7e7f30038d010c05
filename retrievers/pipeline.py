"""The one path from a question to pages: read, coarse pass, gather, value pages, walk, reason, receipts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from hybrid_core import text
from hybrid_core.results import SearchResult
from hybrid_core.store.snapshot import Snapshot
from hybrid_core.store.vectors import VectorIndex
from hybrid_core.types import Document, Hit
from retrievers import select
from retrievers.candidates import Valued, choose, value_pages
from retrievers.choose_pages import choose_pages
from retrievers.coarse import by_meaning, coarse_pass
from retrievers.content import ContentCache
from retrievers.evidence import JUDGED, Held, judge
from retrievers.expert import Expert
from retrievers.options import LibraryView, Meaning, SearchOptions, Weights
from retrievers.page_texts import PageTexts
from retrievers.proper_names import proper_names
from retrievers.question import Question, read_question
from retrievers.raised import Raised
from retrievers.reason.reasoner import Reasoner, reason
from retrievers.reason.sureness import sureness
from retrievers.receipts import Writer
from retrievers.rerank import rerank
from retrievers.route import Routing
from retrievers.routing.choose import Choice, choose_documents
from retrievers.tracing import trace
from retrievers.tree_walk import Steps, Walkable, walk
from retrievers.wording import look_closer

_LEAST_REACHED = 100  # pages, also where few results are asked for: copies are then found all the same


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
    reasoner: Reasoner | None = None,
) -> SearchResult:
    """Answer with pages. The snapshot decides what is published; hits of anything else are dropped.

    A model's failure is told in the result. Raises NotFoundError for an unknown document, UsageError for a bad
    condition.
    """
    clock = _Clock()
    question = read_question(question_text)
    scope = searched(view, options)
    cards = view.router.route(question)
    clock.lap("question")

    advice = expert.advise(question_text, view.types(scope))
    words = {**advice.terms, **dict.fromkeys(question.terms, 1.0)}
    query = {text.cached_hash(term): weight for term, weight in words.items()}
    hits = coarse_pass(index, query, meaning, view.documents, scope, weights)
    clock.lap("coarse")

    documents = view.documents if scope is None else {doc_id: view.documents[doc_id] for doc_id in scope}
    choice = Choice(question, cards, hits, documents, scope, weights)
    routed = choose_documents(options.route, choice, options.effort, reasoner)
    routing = routed.routing
    if routed.scope != scope:
        hits = coarse_pass(index, query, meaning, view.documents, routed.scope, weights)
    clock.lap("routing")
    best_hit = max((hit.score for hit in hits), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best_hit for hit in hits}

    def hits_within(document: Document) -> list[Hit]:
        only, many = {document.doc_id: document}, replace(weights, coarse_hits=weights.pages // 2)
        return coarse_pass(index, query, meaning, only, frozenset(only), many)

    candidates = choose(hits, routing, view, routed.scope, snapshot, cache, weights, hits_within)
    clock.lap("gather")

    asked = inside_query(question, routing)
    inside = {**advice.terms, **asked}
    inspected = [c.document.doc_id for c in candidates]
    near, similar = by_meaning(index, meaning, view.documents, inspected, weights, 2 * weights.coarse_hits)
    valued = value_pages(candidates, coarse, inside, advice.headings, similar, weights)
    if not any(one.values.any() for one in valued):  # nothing but what named the document occurs in it
        inside, asked = words, dict.fromkeys(question.terms, 1.0)
        valued = value_pages(candidates, coarse, inside, advice.headings, similar, weights)
    clock.lap("pages")
    walkable = [Walkable(v.candidate.content, v.values) for v in valued]
    steps = Steps() if options.trace else None
    reached = walk(walkable, max(_LEAST_REACHED, weights.documents * options.top_k + 10), steps)
    clock.lap("walk")
    texts = PageTexts(snapshot)
    worded = look_closer(reached, valued, advice.phrases, texts, weights)
    reached, valued = worded.reached, worded.valued
    clock.lap("wording")
    reranked = Raised(reached, valued)
    if meaning.compare is not None:
        reranked = rerank(reached, valued, meaning.compare, texts, weights)
        reached, valued = reranked.reached, reranked.valued
        clock.lap("rerank")

    looked_at = [(valued[one.doc].candidate, one.page) for one in reached[:JUDGED]]
    judged = [(one.document.doc_id, one.content, page) for one, page in looked_at]
    held = Held({**advice.terms, **asked}, judged, routing)
    evidence = judge(held, asked, advice.terms, proper_names(question_text) & asked.keys())
    sure = sureness(held.coverage(asked), len(asked), reached, valued)
    reasoned = reason(reasoner, options.effort, sure, question_text, advice, reached, valued, texts, routed.dead)
    reached, valued = reasoned.reached, reasoned.valued
    if reasoned.reasoning is not None:
        clock.lap("reasoning")
    roles = () if reasoned.added else advice.roles  # the model was told of them
    chosen = choose_pages(reached, valued, options.top_k, roles, options.mmr)
    places = [(valued[one.reached.doc].candidate.content, one.reached.page) for one in chosen]
    writer = Writer(valued, coarse, near, worded.added, reranked.added, inside, advice.headings, question, reasoned)
    results = [
        writer.page(one, label, page_text) for one, (label, page_text) in zip(chosen, texts.of(places), strict=True)
    ]
    clock.lap("results")
    return SearchResult(
        query=question_text,
        library=options.library,
        evidence=evidence,
        effort=reasoned.effort,
        results=tuple(results),
        sections=writer.sections(),
        documents=writer.documents(),
        embedded_share=round(meaning.share, 4),
        expert=advice.sources,
        notes=_notes(routing, valued, options, (meaning.note, *routed.notes, reranked.note, reasoned.note), scope),
        timings_ms=clock.laps,
        trace=None if steps is None else trace(hits, valued, steps, reached),
        sureness=sure,
        reasoning=reasoned.reasoning,
        usage=routed.usage + reasoned.usage,
        route=routed.used,
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


def _notes(
    routing: Routing,
    valued: Sequence[Valued],
    options: SearchOptions,
    amiss: Sequence[str],
    scope: frozenset[str] | None,
) -> tuple[str, ...]:
    if scope is not None and not scope:
        return (f"no document matches the filters ({', '.join((*options.documents, *options.where))})",)
    notes = [note for note in amiss if note]
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
