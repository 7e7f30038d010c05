"""The one path from a question to pages: score documents and pages, walk, look closer, reason, receipts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.types.documents import Document
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import Evidence, SearchResult
from retrievers.documents.candidates import Valued
from retrievers.documents.route import Routing
from retrievers.explain.clock import Clock
from retrievers.explain.evidence import JUDGED, Held, Wanted, judge, wanted
from retrievers.explain.receipts import Writer
from retrievers.explain.tracing import trace
from retrievers.pages.choose_pages import choose_pages
from retrievers.pages.content import ContentCache
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scoring import Scored, score
from retrievers.pages.tree_walk import Reached, Steps, Walkable, walk
from retrievers.query.expert import Advice, Expert, together
from retrievers.query.options import LibraryView, Meaning
from retrievers.reason.reasoner import Reasoner, reason
from retrievers.reason.sureness import sureness
from retrievers.rerank.multi_vector import rerank
from retrievers.rerank.phrases import look_closer
from retrievers.rerank.raised import Raised


def search(
    request: SearchRequest,
    view: LibraryView,
    contents: Contents,
    index: VectorIndex,
    cache: ContentCache,
    expert: Expert = Expert(),
    meaning: Meaning = Meaning(),
    reasoner: Reasoner | None = None,
) -> SearchResult:
    """Answer with pages. The view decides what is published; hits of anything else are dropped. What is removed while
    the search runs is left out and told.

    A model's failure is told in the result. Raises NotFoundError for an unknown document, UsageError for a bad
    condition.
    """
    clock = Clock()
    scoring = request.scoring
    scored = score(request, view, contents, index, cache, expert, meaning, reasoner, clock)
    question, advice, routed, routing = scored.question, scored.advice, scored.routed, scored.routing
    asked, valued = scored.asked, scored.valued
    walkable = [Walkable(v.candidate.content, v.values) for v in valued]
    steps = Steps() if request.trace else None
    reached = walk(walkable, max(scoring.selection.reached, scoring.documents.most * request.top_k + 10), steps)
    clock.lap("walk")
    texts = PageTexts(contents)
    worded = look_closer(reached, valued, [one.phrases for one in advice], texts, scoring)
    reached, valued = worded.reached, worded.valued
    clock.lap("wording")
    reranked = Raised(reached, valued)
    if meaning.compare is not None:
        reranked = rerank(reached, valued, meaning.compare, texts, scoring.rerank)
        reached, valued = reranked.reached, reranked.valued
        clock.lap("rerank")

    evidence, covered = _judged(reached[:JUDGED], valued, advice, asked, wanted(question, routing), routing)
    sure = sureness(covered, len(asked), reached, valued)
    told = together(advice)
    if reasoner is not None:  # while it thinks they may be removed
        texts.of([(valued[one.doc].candidate.content, one.page) for one in reached[: max(JUDGED, request.top_k)]])
    reasoned = reason(
        reasoner, request.effort, sure, request.question, told, reached, valued, texts, scoring.rerank.model_pages,
        routed.dead,
    )  # fmt: skip
    reached, valued = reasoned.reached, reasoned.valued
    if reasoned.reasoning is not None:
        clock.lap("reasoning")
    roles = () if reasoned.added else [one.roles for one in advice]  # the model was told of them
    chosen = choose_pages(reached, valued, request.top_k, roles, request.mmr, scoring.selection)
    places = [(valued[one.reached.doc].candidate.content, one.reached.page) for one in chosen]
    writer = Writer(
        valued, scored.coarse, scored.near, worded.added, reranked.added, scored.wanted, question, reasoned,
        view.short_paths, scoring.pages,
    )  # fmt: skip
    results = [
        writer.page(one, *found)
        for one, place, found in zip(chosen, places, texts.of(places), strict=True)
        if not texts.gone(place)
    ]
    clock.lap("results")
    return SearchResult(
        query=request.question,
        library=request.library,
        evidence=evidence,
        effort=reasoned.effort,
        results=tuple(results),
        sections=writer.sections(),
        documents=writer.documents(),
        embedded_share=round(meaning.share, 4),
        expert=told.sources,
        notes=_notes(
            scored, valued, request, (*scored.notes, reranked.note, reasoned.note, _gone(contents, view.documents))
        ),
        timings_ms=clock.laps,
        trace=None if steps is None else trace(scored.hits, valued, steps, reached),
        sureness=sure,
        reasoning=reasoned.reasoning,
        usage=routed.usage + reasoned.usage,
        route=routed.used,
    )


def _judged(
    reached: Sequence[Reached],
    valued: Sequence[Valued],
    advice: Sequence[Advice],
    asked: Mapping[str, float],
    want: Wanted,
    routing: Routing,
) -> tuple[Evidence, float]:
    """The evidence of these pages, each with what is heard in its document, and their coverage of what is asked."""

    def held(pages: Sequence[Reached], terms: Mapping[str, float]) -> Held:
        candidates = [valued[one.doc].candidate for one in pages]
        judged = [(c.document.doc_id, c.content, one.page) for c, one in zip(candidates, pages, strict=True)]
        return Held({**terms, **asked, **want.asked}, judged, routing)

    looked_into = [one.candidate.content for one in valued]
    heard: dict[int, list[Reached]] = {}
    for one in reached:
        heard.setdefault(id(advice[one.doc]), []).append(one)
    judged = []
    for pages in heard.values():
        terms = advice[pages[0].doc].terms
        if not terms and len(heard) > 1:
            continue
        by_words = held(pages, terms)
        judged.append((judge(by_words, want, terms, looked_into), by_words.coverage(asked)))
    if len(heard) != 1:
        own = held(reached, {})
        judged.append((judge(own, want, {}, looked_into), own.coverage(asked)))
    return max((evidence for evidence, _ in judged), key=lambda evidence: evidence.score), judged[-1][1]


def _notes(scored: Scored, valued: Sequence[Valued], request: SearchRequest, amiss: Sequence[str]) -> tuple[str, ...]:
    if scored.scope is not None and not scored.scope:
        return (f"no document matches the filters ({', '.join((*(request.documents or ()), *request.where))})",)
    notes = [note for note in amiss if note]
    if scored.routing.tied and not request.documents:
        notes.append(
            "several documents fit the question equally well; name a year, a type or a document to choose among them"
        )
    if not valued:
        notes.append("no page shares a word with the question")
    return tuple(notes)


def _gone(contents: Contents, documents: Mapping[str, Document]) -> str:
    if not contents.gone:
        return ""
    names = sorted(d.name for d in documents.values() if d.content_id in contents.gone)
    return f"removed or indexed again during the search and left out: {', '.join(names)}; ask again"
