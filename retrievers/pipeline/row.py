"""The stages of a search in a row: from a question to pages that are explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.text.bm25 import idf
from hybrid_core.text.tokens import cached_hash
from hybrid_core.types.documents import Hit, PageText
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.results import Evidence, PageFound, Pointer, SearchResult
from retrievers.documents import select
from retrievers.documents.candidates import CandidateDocument, candidate_documents, doc_scores, expansion_scope
from retrievers.documents.content import Content
from retrievers.documents.several import named_apart, preferred
from retrievers.explain.evidence import JUDGED, STRONG, by_probability, judged
from retrievers.explain.receipts import Explainer, nearly_equal, trace
from retrievers.explain.signals import probability, signals
from retrievers.features.candidates import QueryTerms
from retrievers.features.model import addends_of, scored
from retrievers.features.table import Asked, FeatureBuilder
from retrievers.pages.first_stage import FirstStage, Key, by_meaning
from retrievers.pages.page_score import PageQuery
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import INSTRUCTION, beginnings, best_first, remaining_pages, walk
from retrievers.pages.snippet import best_passage
from retrievers.pages.windows import PassageTerms
from retrievers.pipeline.spelled import spelled
from retrievers.pipeline.stage import Stage, Stages, run_stages, stage
from retrievers.pipeline.state import SearchResources, SearchState
from retrievers.places.meant import meant_places
from retrievers.query.content_words import asks_for_documents
from retrievers.query.expert import together
from retrievers.query.question import read_question
from retrievers.query.references import may_refer
from retrievers.reason.board import FoundAgain
from retrievers.reason.page_marks import SeenPage, pictured
from retrievers.reason.reasoner import reason
from retrievers.reason.routing.choose import PICKED, Contenders, DocumentChoice, choose_documents
from retrievers.rerank.multi_vector import multi_vector_gains
from retrievers.rerank.selection import ResultSlot, grouped, one_of_each, select_pages, shared_out

_MORE = 10  # pages reached beyond what is asked for
_MOST_WITHOUT_PLACE = STRONG - 0.01


@stage("question")
def read(state: SearchState) -> SearchState:
    """The question's terms, names, times and types; the documents that filters leave, and those that cards name."""
    request, opened = state.request, state.resources
    view = opened.view
    question = read_question(request.question)
    scope = select.scope(view.documents, request)
    cards = view.router.route(question)
    named = {} if request.route == "semantic" else cards.scores
    expansion = expansion_scope(
        opened.expert, request.question, cards.names, named, view, scope, request.scoring.expansion
    )
    state = replace(state, question=question, scope=scope, expansion=expansion, choice=DocumentChoice(cards, scope))
    return state.noted(opened.embedding.note)


@stage("coarse")
def first_stage(state: SearchState) -> SearchState:
    """The best pages of the whole library."""
    hits, page_hits = _first_stage(state).hits(state.choice.scope)
    return replace(state, hits=hits, page_hits=page_hits)


@stage("spelling")
def correct(state: SearchState) -> SearchState:
    """A word that the library does not know is searched for as the known one of which it is a slip."""
    opened = state.resources
    text = spelled(state.question, state.routing, state.hits, opened)
    if text == state.question.text:
        return state
    asked = replace(state, request=replace(state.request, question=text))
    note = f"showing results for «{text}»: the library does not know the words as they were written"
    return first_stage(read(asked)).noted(note)


@stage("routing")
def route(state: SearchState) -> SearchState:
    """Which documents count and how much, by the way that was asked for."""
    request, view, scope = state.request, state.resources.view, state.scope
    documents = view.within(scope)
    contenders = Contenders(
        state.question, state.routing, state.hits, documents, scope, request.scoring.documents, _seen_on(state)
    )
    choice = choose_documents(request.route, contenders, request.effort, state.resources.reasoner)
    semantic = request.route == "semantic"
    apart = {} if semantic else named_apart(state.question, view, choice.routing, doc_scores(state.hits))
    apart = {doc_id: score for doc_id, score in apart.items() if scope is None or doc_id in scope}
    choice = replace(choice, routing=preferred(choice.routing, apart))
    state = replace(state, choice=choice, apart=tuple(apart), usage=state.usage + choice.usage).noted(*choice.notes)
    return first_stage(state) if choice.scope != scope else state


@stage("gather")
def gather(state: SearchState) -> SearchState:
    """The documents whose pages are candidates."""
    opened, choice = state.resources, state.choice
    candidates = candidate_documents(
        state.hits, state.page_hits, choice.routing, opened.view, choice.scope, opened.contents, opened.cache,
        state.request.scoring.documents, state.apart,
    )  # fmt: skip
    return replace(state, candidates=candidates)


@stage("pages")
def score(state: SearchState) -> SearchState:
    """The candidate pages, their features, and what the ranking model makes of these."""
    opened, question, documents = state.resources, state.question, state.candidates
    near, meaning = by_meaning(
        opened.index, opened.embedding, opened.view.contents, [c.document.doc_id for c in documents],
        state.request.scoring.first_stage, 2 * state.request.scoring.first_stage.hits,
    )  # fmt: skip
    best = max((hit.score for hit in state.page_hits), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best for hit in state.page_hits}
    holding = _holding(opened, list(dict.fromkeys(question.terms)))
    known = {term for term, pages in holding.items() if pages}
    query = QueryTerms.of(question.worth(known), opened.view.pages, holding)
    named, expansions = state.routing.matched_terms, [state.expansion.of(one.document) for one in documents]
    unembedded = opened.embedding.unembedded
    chosen = 1 / max(1, len(opened.view.within(state.choice.scope)))
    contents = opened.cache.group([one.content for one in documents])
    asked = Asked(question, query, named, documents, contents, expansions, coarse, meaning, unembedded, chosen)
    builder = FeatureBuilder(asked, state.request.scoring)
    found = builder.candidates
    table = builder.table(opened.cache.orders(opened.contents, found.places()))
    worth = question.worth(known.union(question.identifiers))  # for evidence, what no page holds is asked for too
    kept = {term: worth[term] for term in builder.kept}
    queries = [PageQuery({**one.terms, **kept}, one.headings) for one in expansions]
    pages = scored(table, opened.ranking, builder.inside, builder.nodes, queries, _signals(near, coarse, documents))
    quoted = frozenset(found.place(row) for row in np.flatnonzero(table.column("quoted") == 1.0).tolist())
    return replace(state, asked=kept, pages=pages, table=table, expansions=expansions, quoted=quoted)


@stage("walk")
def walk_trees(state: SearchState) -> SearchState:
    """The pages in the order in which a best-first walk down the trees reaches them."""
    scoring = state.request.scoring
    most = max(scoring.selection.reached, scoring.documents.most * state.request.top_k + _MORE)
    if not state.request.trace:
        return replace(state, visits=best_first([one.values for one in state.pages], most))
    visits, steps = walk([(one.content, one.values) for one in state.pages], most)
    return replace(state, visits=visits, walk=steps)


@stage("remaining")
def reach_remaining(state: SearchState) -> SearchState:
    """Where fewer pages were reached than asked for, those that hold words of how the question asks come last; where
    none was, the beginnings of documents that it names in part."""
    visits, worth = remaining_pages(
        state.question, state.visits, state.pages, state.request.top_k, state.request.scoring.pages
    )
    if not (state.visits or visits):
        return replace(state, visits=beginnings(state.pages))
    return replace(state, visits=[*state.visits, *visits]).plus(INSTRUCTION, worth) if visits else state


@stage("rerank")
def multi_vector(state: SearchState) -> SearchState:
    """The best pages compared with the question token by token, where that is asked for. Where the embedder fails, the
    order stays; raises UsageError where it cannot compare."""
    compare = state.resources.embedding.compare
    if compare is None:
        return state
    try:
        gains = multi_vector_gains(state.visits, state.pages, compare, state.texts, state.request.scoring.rerank)
    except UsageError:
        raise
    except PageIndexError as error:
        return state.noted(f"the embedder failed, so nothing was reranked: {error}")
    return state.plus("rerank", gains)


@stage("places")
def find_places(state: SearchState) -> SearchState:
    """The pages that the question means by number, by name or by what a document is about come first, but before what
    it quotes only if they say it themselves."""
    alone = len(state.resources.view.within(state.scope)) == 1
    found = meant_places(
        state.question, state.routing, state.visits, state.pages, state.texts, state.request.scoring.documents, alone
    )
    if found.missing:
        state = replace(state, missing=found.missing).noted(_lacking(state, found.missing))
    if not found.reasons or (state.quoted and (found.visits[0].doc, found.visits[0].page) not in state.quoted):
        return state
    return replace(
        state, visits=found.visits, pages=found.pages, reasons=found.reasons, spans=found.spans, beside=found.beside,
        settled=found.settled,
    )  # fmt: skip


@stage("evidence")
def judge(state: SearchState) -> SearchState:
    """How likely one of the best pages answers, and how likely the first one does."""
    weights = state.resources.ranking.evidence
    coverage = judged(state.visits[:JUDGED], state.pages, state.expansions, state.asked, state.question, state.routing)
    found = signals(state.visits, state.table, state.resources.ranking, coverage.score)
    evidence = by_probability(probability(weights.get("five", {}), found))
    first = probability(weights.get("first", {}), found)
    if coverage.level == "unclear":
        evidence = coverage
    if state.settled:
        first = max(first, STRONG)
        evidence = evidence if evidence.score >= STRONG else Evidence("strong", STRONG)
    if state.missing and evidence.score >= STRONG:
        evidence = Evidence("weak", _MOST_WITHOUT_PLACE)
    return replace(state, evidence=evidence, sureness=round(first, 4), signals=found)


@stage("reasoning")
def ask_model(state: SearchState) -> SearchState:
    """A model says where the answer stands, where effort and sureness call for it."""
    reasoner, request = state.resources.reasoner, state.request
    if reasoner is None or request.effort == "fast":
        return state
    best = state.visits[: max(JUDGED, request.top_k)]
    state.texts.of([(state.pages[one.doc].content, one.page) for one in best])  # while it thinks they may be removed
    found = reason(
        reasoner, request, state.sureness, state.expansions, state.visits, state.pages, state.texts,
        state.choice.dead, _meant_documents(state), partial(_again, state),
        0.0 if state.evidence.level == "unclear" else state.evidence.score,
    )  # fmt: skip
    return replace(
        state, visits=found.visits, pages=found.scores, effort=found.effort, verdicts=found.verdicts,
        reasoning=found.reasoning, usage=state.usage + found.usage, expansions=[*state.expansions, *found.expansions],
    ).noted(found.note)  # fmt: skip


@stage("selection")
def select_results(state: SearchState) -> SearchState:
    """The pages to return: copies once, a share for each named document, variety where it is asked for."""
    request = state.request
    visits, count, scoring = state.visits, request.top_k, request.scoring.selection
    if request.group == "document":
        visits = grouped(visits, count)
        count = len(visits)
    elif asks_for_documents(state.question.text):
        visits = one_of_each(visits, state.pages, state.question.terms)
    else:
        apart = () if state.quoted else state.apart  # what is quoted names nothing
        visits = shared_out(visits, state.pages, apart, scoring)
    slots = select_pages(visits, state.pages, count, request.mmr, scoring)
    return replace(state, slots=slots)


@stage("results")
def explain(state: SearchState) -> SearchState:
    """Each page with its receipt, the best sections and the documents looked into."""
    view, texts = state.resources.view, state.texts
    shown = [(slot.visit.doc, slot.visit.page) for slot in state.slots]
    addends = {} if state.table is None else addends_of(state.table, state.resources.ranking, shown)
    explainer = Explainer(
        state.pages, state.question, {**state.reasons, **state.verdicts}, state.spans, state.beside, view.short_path,
        state.request.scoring.pages, addends, _passage_terms(state),
    )  # fmt: skip
    places = [(state.pages[one.visit.doc].content, one.visit.page) for one in state.slots]
    results = [
        replace(found, see=_pointers(found, place, texts))
        for slot, place, held in zip(state.slots, places, texts.of(places), strict=True)
        if not texts.gone(place)
        for found in (explainer.page(slot, held, _copies(state, slot)),)
    ]
    results = _told_apart(results, [place for place in places if not texts.gone(place)], texts)
    return replace(state, results=results, sections=explainer.sections(), documents=explainer.documents())


STAGES: Stages = (
    read, first_stage, correct, route, gather, score, walk_trees, reach_remaining, multi_vector, find_places,
    judge, ask_model, select_results, explain,
)  # fmt: skip
"""The stages of every search. An engine may be given another row (``Engine(stages=…)``)."""


def search(request: SearchRequest, resources: SearchResources, stages: Sequence[Stage] = STAGES) -> SearchResult:
    """Answer with pages. What is removed while the search runs is left out and told.

    A model's failure is told in the result. Raises NotFoundError for an unknown document, UsageError for a bad
    condition.
    """
    state, laps = run_stages(stages, SearchState.begin(request, resources))
    return SearchResult(
        query=request.question,
        library=", ".join(request.libraries),
        evidence=state.evidence,
        effort=state.effort_used,
        results=tuple(state.results),
        sections=tuple(state.sections),
        documents=tuple(state.documents),
        embedded_share=round(resources.embedding.share, 4),
        expert=together(state.expansions).sources,
        notes=_notes(state),
        timings_ms=laps,
        trace=None if state.walk is None else trace(state.page_hits, state.pages, state.walk, state.visits),
        sureness=state.sureness,
        reasoning=state.reasoning,
        usage=state.usage,
        route=state.choice.used,
    )


def _meant_documents(state: SearchState) -> list[int]:
    """Return the documents that different parts of the question name, and those that a model picked."""
    picked = {doc_id for doc_id, why in state.routing.reasons.items() if PICKED in why}
    numbers = {one.candidate.document.doc_id: doc for doc, one in enumerate(state.pages)}
    return [numbers[doc_id] for doc_id in (*state.apart, *picked) if doc_id in numbers]


def _again(state: SearchState, words: str) -> FoundAgain:
    """Search the same documents in other words, without a model."""
    opened = replace(state.resources, reasoner=None, embedding=state.resources.embed(words))
    request = replace(state.request, question=words, effort="fast", trace=False)
    begun = replace(SearchState.begin(request, opened), texts=state.texts)
    row: Stages = (read, _within(state), first_stage, correct, route, gather, score, walk_trees, find_places)
    after, _ = run_stages(row, begun)
    return FoundAgain(after.pages, after.expansions, after.visits)


def _within(state: SearchState) -> Stage:
    """Return a stage that keeps to the documents that a filter has left."""

    def work(again: SearchState) -> SearchState:
        scope = state.choice.scope
        return replace(again, scope=scope, choice=replace(again.choice, scope=scope))

    return Stage("scope", work)


def _holding(opened: SearchResources, terms: Sequence[str]) -> dict[str, int]:
    """Return how many pages of the library hold each term."""
    return dict(zip(terms, opened.index.holding([cached_hash(term) for term in terms]), strict=True)) if terms else {}


def _passage_terms(state: SearchState) -> list[PassageTerms]:
    """Return what passages are chosen by in each document: rare terms of the library weigh more."""
    pages, added = state.resources.view.pages, {id(expansion): expansion.terms for expansion in state.expansions}
    terms = list(dict.fromkeys(chain(state.asked, *added.values())))
    holding = _holding(state.resources, terms)
    rarity = dict(zip(terms, (1 + idf(pages, list(holding.values()))).tolist(), strict=True))
    own, names = {term: worth * rarity[term] for term, worth in state.asked.items()}, state.question.terms
    by_expansion = {
        key: PassageTerms(own, {term: weight * rarity[term] for term, weight in expert.items()}).naming(names)
        for key, expert in added.items()
    }
    return [by_expansion[id(expansion)] for expansion in state.expansions]


def _first_stage(state: SearchState) -> FirstStage:
    opened, question = state.resources, state.question
    terms = question.worth([term for term, pages in _holding(opened, list(question.identifiers)).items() if pages])
    return FirstStage(
        opened.index, terms, state.expansion, opened.embedding, opened.view, state.request, opened.contents,
        opened.cache,
    )  # fmt: skip


def _seen_on(state: SearchState) -> Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], SeenPage]]:
    """What reads of some pages (doc_id, page) the passage that matches best, and whether they have figures."""
    terms = PassageTerms(dict.fromkeys(state.question.terms, 1.0))

    def read(places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], SeenPage]:
        contents = state.resources.view.contents
        texts = state.texts.by_id([(contents[doc_id], page) for doc_id, page in places])
        return {
            place: SeenPage(best_passage(held.text, terms).text, pictured(held.text, held.described))
            for place, held in zip(places, texts, strict=True)
        }

    return read


def _told_apart(results: list[PageFound], places: Sequence[tuple[Content, int]], texts: PageTexts) -> list[PageFound]:
    """A draft and its final form each say what the other does not."""
    for at, before in nearly_equal(places).items():
        from retrievers.explain.differences import differences

        one, other = texts.of([places[before], places[at]])
        where = f"{results[before].short_path}, page {results[before].page}"
        results[at] = replace(results[at], near=f"{where}: {differences(one.text, other.text)}")
    return results


def _copies(state: SearchState, slot: ResultSlot) -> list[PageText]:
    """The texts of the pages that a result stands for too."""
    return state.texts.of([(state.pages[one.doc].content, one.page) for one in slot.also_in]) if slot.also_in else []


def _pointers(found: PageFound, place: tuple[Content, int], texts: PageTexts) -> tuple[Pointer, ...]:
    content, page = place
    if not may_refer(found.snippet):
        return ()
    from retrievers.places.pointers import pointers

    def read(numbers: Sequence[int]) -> list[str]:
        return [held.text for held in texts.of([(content, number) for number in numbers])]

    return pointers(found.snippet, page, content, read)


def _lacking(state: SearchState, missing: Sequence[str]) -> str:
    """That places are nowhere, and in which document."""
    name = state.pages[state.visits[0].doc].candidate.document.name
    return f"{name} has no place that is called {', '.join(f'«{one}»' for one in missing)}"


def _signals(
    near: Mapping[Key, Hit], coarse: Mapping[Key, float], documents: Sequence[CandidateDocument]
) -> list[dict[str, dict[int, float]]]:
    """By document, name and page: the score in the coarse pass, and what vectors and learned term weights say."""
    found: dict[str, dict[str, dict[int, float]]] = {
        one.document.doc_id: {"coarse": {}, "dense": {}, "learned_sparse": {}} for one in documents
    }
    for (doc_id, page), value in coarse.items():
        if doc_id in found:
            found[doc_id]["coarse"][page] = value
    for (doc_id, page), hit in near.items():
        if hit.dense is not None:
            found[doc_id]["dense"][page] = hit.dense
        if hit.learned is not None:
            found[doc_id]["learned_sparse"][page] = hit.learned
    return list(found.values())


def _notes(state: SearchState) -> tuple[str, ...]:
    request, gone = state.request, state.resources.contents.gone
    if state.scope is not None and not state.scope:
        return (f"no document matches the filters ({', '.join((*(request.documents or ()), *request.where))})",)
    notes = list(state.notes)
    if gone:
        view = state.resources.view
        names = sorted(view.documents[doc_id].name for doc_id, content in view.contents.entries() if content in gone)
        notes.append(f"removed or indexed again during the search and left out: {', '.join(names)}; ask again")
    if state.routing.tied and not request.documents:
        notes.append(
            "several documents fit the question equally well; name a year, a type or a document to choose among them"
        )
    if not state.pages:
        notes.append("no page shares a word with the question")
    return tuple(notes)
