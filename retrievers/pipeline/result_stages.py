"""The stages that order candidate pages and choose, judge and explain results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.text.bm25 import idf
from hybrid_core.types.documents import PageText
from hybrid_core.types.results import Evidence, PageFound, Pointer
from retrievers.explain.evidence import JUDGED, STRONG, by_probability, judged, probability, signals
from retrievers.explain.passages import PassageTerms
from retrievers.explain.receipts import Explainer, PageFindings, differences, nearly_equal
from retrievers.pipeline.candidate_stages import correct, first_stage, gather, pages_holding, read, route, score
from retrievers.pipeline.state import SearchState, Stage, Stages, run_stages, stage
from retrievers.query.references import may_refer
from retrievers.query.words import asks_for_documents
from retrievers.ranking.model import addends_of
from retrievers.ranking.selection import ResultSlot, grouped, multi_vector_gains, one_of_each, select_pages, shared_out
from retrievers.ranking.walk import INSTRUCTION, beginnings, best_first, remaining_pages, walk
from retrievers.reason.board import FoundAgain
from retrievers.reason.document_choice import PICKED
from retrievers.reason.reasoner import RankedPages, reason
from retrievers.references.locations import pointers
from retrievers.references.resolution import meant_places
from retrievers.trees.content import Content
from retrievers.trees.contents import PageTexts

_MORE = 10  # pages reached beyond what is asked for
_MOST_WITHOUT_PLACE = STRONG - 0.01


@stage("walk")
def walk_trees(state: SearchState) -> SearchState:
    """Order the pages as a best-first walk down the trees reaches them."""
    scoring = state.request.scoring
    limit = max(scoring.selection.reached, scoring.documents.most * state.request.top_k + _MORE)
    if not state.request.trace:
        return replace(state, visits=best_first([scores.values for scores in state.pages], limit))
    visits, steps = walk([(scores.content, scores.values) for scores in state.pages], limit)
    return replace(state, visits=visits, walk=steps)


@stage("remaining")
def reach_remaining(state: SearchState) -> SearchState:
    """Add pages where fewer were reached than asked for.

    Pages that hold words of how the question asks come last; where none was reached, the beginnings of documents that
    it names in part.
    """
    visits, worth = remaining_pages(
        state.question, state.visits, state.pages, state.request.top_k, state.request.scoring.pages
    )
    if not (state.visits or visits):
        return replace(state, visits=beginnings(state.pages))
    return replace(state, visits=[*state.visits, *visits]).plus(INSTRUCTION, worth) if visits else state


@stage("rerank")
def multi_vector(state: SearchState) -> SearchState:
    """Compare the best pages with the question token by token, where the request asks for that.

    Where the embedder fails, the order stays. Raises UsageError where it cannot compare.
    """
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
    """Put the pages first that the question means by number, by name or by what a document is about.

    They come before pages that hold the question's quotation only if they hold it too.
    """
    alone = len(state.resources.view.within(state.scope)) == 1
    leads = meant_places(
        state.question, state.routing, state.visits, state.pages, state.texts, state.request.scoring.documents, alone
    )
    if leads.missing:
        state = replace(state, missing=leads.missing).noted(_lacking(state, leads.missing))
    if not leads.reasons or (state.quoted and (leads.visits[0].doc, leads.visits[0].page) not in state.quoted):
        return state
    return replace(
        state, visits=leads.visits, pages=leads.pages, reasons=leads.reasons, spans=leads.spans,
        page_terms=leads.page_terms, settled=leads.settled,
    )  # fmt: skip


@stage("evidence")
def judge(state: SearchState) -> SearchState:
    """Estimate how likely one of the best pages answers, and how likely the first one does."""
    weights = state.resources.ranking.evidence
    coverage = judged(
        state.visits[:JUDGED], state.pages, state.expansions, state.term_weights, state.question, state.routing
    )
    values = signals(state.visits, state.table, state.resources.ranking, coverage.score)
    evidence = by_probability(probability(weights.get("five", {}), values))
    first = probability(weights.get("first", {}), values)
    if coverage.level == "unclear":
        evidence = coverage
    if state.settled:
        first = max(first, STRONG)
        evidence = evidence if evidence.score >= STRONG else Evidence("strong", STRONG)
    if state.missing and evidence.score >= STRONG:
        evidence = Evidence("weak", _MOST_WITHOUT_PLACE)
    return replace(state, evidence=evidence, sureness=round(first, 4), signals=values)


@stage("reasoning")
def ask_model(state: SearchState) -> SearchState:
    """Ask a model where the answer stands, where effort and sureness call for it."""
    reasoner, request = state.resources.reasoner, state.request
    if reasoner is None or request.effort == "fast":
        return state
    best = state.visits[: max(JUDGED, request.top_k)]
    # While the model thinks, pages may be removed.
    state.texts.of([(state.pages[visit.doc].content, visit.page) for visit in best])
    likely = 0.0 if state.evidence.level == "unclear" else state.evidence.score
    ranked = RankedPages(state.visits, state.pages, state.expansions, state.texts, state.sureness, likely)
    search = partial(_again, state)
    outcome = reason(reasoner, request, ranked, _meant_documents(state), search, dead=state.choice.dead)
    return replace(
        state, visits=outcome.visits, pages=outcome.scores, effort=outcome.effort, verdicts=outcome.verdicts,
        reasoning=outcome.reasoning, usage=state.usage + outcome.usage,
        expansions=[*state.expansions, *outcome.expansions],
    ).noted(outcome.note)  # fmt: skip


@stage("selection")
def select_results(state: SearchState) -> SearchState:
    """Select the pages to return: copies once, a share for each named document, variety where asked for."""
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
    """Write each page with its receipt, the best sections and the documents looked into."""
    view, texts = state.resources.view, state.texts
    shown = [(slot.visit.doc, slot.visit.page) for slot in state.slots]
    addends = {} if state.table is None else addends_of(state.table, state.resources.ranking, shown)
    findings = PageFindings({**state.reasons, **state.verdicts}, state.spans, state.page_terms, addends)
    terms, scoring = _passage_terms(state), state.request.scoring.pages
    explainer = Explainer(state.pages, state.question, findings, terms, view.short_path, scoring)
    places = [(state.pages[shown_slot.visit.doc].content, shown_slot.visit.page) for shown_slot in state.slots]
    results = [
        replace(result, see=_pointers(result, place, texts))
        for slot, place, page_text in zip(state.slots, places, texts.of(places), strict=True)
        if not texts.gone(place)
        for result in (explainer.page(slot, page_text, _copies(state, slot)),)
    ]
    results = _told_apart(results, [place for place in places if not texts.gone(place)], texts)
    return replace(state, results=results, sections=explainer.sections(), documents=explainer.documents())


def _meant_documents(state: SearchState) -> list[int]:
    """Return the documents that different parts of the question name, and those that a model picked."""
    picked = {doc_id for doc_id, why in state.routing.reasons.items() if PICKED in why}
    numbers = {scores.candidate.document.doc_id: doc for doc, scores in enumerate(state.pages)}
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


def _passage_terms(state: SearchState) -> list[PassageTerms]:
    """Return what passages are chosen by in each document: rare terms of the library weigh more."""
    pages, added = state.resources.view.pages, {id(expansion): expansion.terms for expansion in state.expansions}
    terms = list(dict.fromkeys(chain(state.term_weights, *added.values())))
    holding = pages_holding(state.resources, terms)
    rarity = dict(zip(terms, (1 + idf(pages, list(holding.values()))).tolist(), strict=True))
    own, names = {term: worth * rarity[term] for term, worth in state.term_weights.items()}, state.question.terms
    by_expansion = {
        key: PassageTerms(own, {term: weight * rarity[term] for term, weight in expert.items()}).naming(names)
        for key, expert in added.items()
    }
    return [by_expansion[id(expansion)] for expansion in state.expansions]


def _told_apart(results: list[PageFound], places: Sequence[tuple[Content, int]], texts: PageTexts) -> list[PageFound]:
    """Say of each page of a draft and its final form what the other does not."""
    for at, before in nearly_equal(places).items():
        earlier, later = texts.of([places[before], places[at]])
        where = f"{results[before].short_path}, page {results[before].page}"
        results[at] = replace(results[at], near=f"{where}: {differences(earlier.text, later.text)}")
    return results


def _copies(state: SearchState, slot: ResultSlot) -> list[PageText]:
    """Return the texts of the pages that a result stands for too."""
    return (
        state.texts.of([(state.pages[visit.doc].content, visit.page) for visit in slot.also_in]) if slot.also_in else []
    )


def _pointers(result: PageFound, place: tuple[Content, int], texts: PageTexts) -> tuple[Pointer, ...]:
    content, page = place
    if not may_refer(result.snippet):
        return ()

    def read(numbers: Sequence[int]) -> list[str]:
        return [page_text.text for page_text in texts.of([(content, number) for number in numbers])]

    return pointers(result.snippet, page, content, read)


def _lacking(state: SearchState, missing: Sequence[str]) -> str:
    """Return the note that a document has no such places."""
    name = state.pages[state.visits[0].doc].candidate.document.name
    return f"{name} has no place that is called {', '.join(f'«{place}»' for place in missing)}"
