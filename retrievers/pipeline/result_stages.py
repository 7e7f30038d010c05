"""The stages that order candidate pages, and that select and explain results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.text.bm25 import idf
from hybrid_core.types.documents import PageText
from hybrid_core.types.notes import Note
from hybrid_core.types.results import Evidence, PageFound, Pointer
from retrievers.explain.evidence import JUDGED, STRONG, by_probability, judged, probability, signals
from retrievers.explain.passages import PassageTerms
from retrievers.explain.receipts import Explainer, PageFindings, differences, nearly_equal
from retrievers.pipeline.candidate_stages import (
    coarse_stage,
    gather_stage,
    pages_holding,
    pages_stage,
    question_stage,
    routing_stage,
    spelling_stage,
)
from retrievers.pipeline.state import (
    Candidates,
    Outcome,
    Query,
    Ranking,
    SearchResources,
    SearchState,
    Stage,
    Stages,
    run_stages,
    stage,
)
from retrievers.query.references import may_refer
from retrievers.query.words import asks_for_documents
from retrievers.ranking.model import addends_of
from retrievers.ranking.selection import ResultSlot, grouped, one_of_each, rerank_gains, select_pages, shared_out
from retrievers.ranking.walk import INSTRUCTION, beginnings, best_first, remaining_pages, walk
from retrievers.reason.board import FoundAgain
from retrievers.reason.reasoner import RankedPages, reason
from retrievers.references.locations import pointers
from retrievers.references.resolution import meant_places
from retrievers.trees.content import Content
from retrievers.trees.contents import PageTexts

_MORE = 10  # pages reached beyond what is asked for
_MOST_WITHOUT_PLACE = STRONG - 0.01


@stage("walk")
def walk_stage(query: Query, ranking: Ranking) -> Ranking:
    """Order the pages by score. If a trace is requested, record the walk through the section trees."""
    request = query.request
    limit = max(request.scoring.selection.reached, request.scoring.documents.limit * request.top_k + _MORE)
    if not request.trace:
        return replace(ranking, visits=best_first([scores.values for scores in ranking.pages], limit))
    visits, steps = walk([(scores.content, scores.values) for scores in ranking.pages], limit)
    return replace(ranking, visits=visits, walk=steps)


@stage("remaining")
def remaining_stage(query: Query, ranking: Ranking) -> Ranking:
    """Add pages if fewer were found than requested.

    The added pages match only words of instructions ("please list …"). If no page was found at all, the first pages of
    documents whose names match partly are used.
    """
    request = query.request
    visits, worth = remaining_pages(
        query.question, ranking.visits, ranking.pages, request.top_k, request.scoring.pages
    )  # fmt: skip
    if not (ranking.visits or visits):
        return replace(ranking, visits=beginnings(ranking.pages))
    return replace(ranking, visits=[*ranking.visits, *visits]).plus(INSTRUCTION, worth) if visits else ranking


@stage("rerank")
def rerank_stage(
    query: Query, ranking: Ranking, resources: SearchResources, texts: PageTexts, outcome: Outcome
) -> tuple[Ranking, Outcome]:
    """Let a model compare the best pages with the question, if the setting ``rerank`` asks for it.

    If the model fails, the order stays. Raise UsageError if the embedder makes no token vectors.
    """
    compare, scoring = resources.embedding.compare, query.request.scoring.rerank
    if compare is None:
        return ranking, outcome
    try:
        gains = rerank_gains(ranking.visits, ranking.pages, compare, texts, scoring)
    except UsageError:
        raise
    except PageIndexError as error:
        return ranking, outcome.noted(Note("search.not-reranked", error=error.note))
    return ranking.plus("rerank", gains), outcome


@stage("places")
def places_stage(
    query: Query, candidates: Candidates, ranking: Ranking, resources: SearchResources, texts: PageTexts,
    outcome: Outcome,
) -> tuple[Ranking, Outcome]:  # fmt: skip
    """Put the pages first to which the question refers by page number or section name.

    A question about a whole document refers to its overview pages. If pages contain a quotation from the question, the
    order changes only if the first of the referenced pages contains it too.
    """
    alone = len(resources.view.within(query.scope)) == 1
    leads = meant_places(
        query.question, candidates.routing, ranking.visits, ranking.pages, texts, query.request.scoring.documents, alone
    )
    if leads.missing:
        ranking = replace(ranking, missing=leads.missing)
        outcome = outcome.noted(_lacking(ranking, leads.missing))
    if not leads.reasons or (ranking.quoted and (leads.visits[0].doc, leads.visits[0].page) not in ranking.quoted):
        return ranking, outcome
    ranking = replace(
        ranking, visits=leads.visits, pages=leads.pages, reasons=leads.reasons, spans=leads.spans,
        page_terms=leads.page_terms, settled=leads.settled,
    )  # fmt: skip
    return ranking, outcome


@stage("evidence")
def evidence_stage(
    query: Query, candidates: Candidates, ranking: Ranking, resources: SearchResources, outcome: Outcome
) -> Outcome:
    """Estimate how probably the first page, and one of the first five pages, answers the question."""
    weights = resources.ranking.evidence
    coverage = judged(
        ranking.visits[:JUDGED], ranking.pages, ranking.expansions, ranking.term_weights, query.question,
        candidates.routing,
    )  # fmt: skip
    values = signals(ranking.visits, ranking.table, resources.ranking, coverage.score)
    evidence = by_probability(probability(weights.get("five", {}), values))
    first = probability(weights.get("first", {}), values)
    if coverage.level == "unclear":
        evidence = coverage
    if ranking.settled:
        first = max(first, STRONG)
        evidence = evidence if evidence.score >= STRONG else Evidence("strong", STRONG)
    if ranking.missing and evidence.score >= STRONG:
        evidence = Evidence("weak", _MOST_WITHOUT_PLACE)
    return replace(outcome, evidence=evidence, sureness=round(first, 4), signals=values)


@stage("reasoning")
def reasoning_stage(
    query: Query, candidates: Candidates, ranking: Ranking, resources: SearchResources, texts: PageTexts,
    outcome: Outcome,
) -> tuple[Ranking, Outcome]:  # fmt: skip
    """Let a model look for the answer, if effort and estimated probability require it."""
    reasoner, request = resources.reasoner, query.request
    if reasoner is None or request.effort == "fast":
        return ranking, outcome
    best = ranking.visits[: max(JUDGED, request.top_k)]
    texts.of([(ranking.pages[visit.doc].content, visit.page) for visit in best])  # meanwhile, pages may be removed
    likely = 0.0 if outcome.evidence.level == "unclear" else outcome.evidence.score
    ranked = RankedPages(ranking.visits, ranking.pages, ranking.expansions, texts, outcome.sureness, likely)
    meant = _meant_documents(candidates, ranking)
    search_again = partial(_again, query, candidates, resources, texts)
    result = reason(reasoner, request, ranked, meant, search_again, dead=candidates.choice.dead)
    expansions = [*ranking.expansions, *result.expansions]
    outcome = replace(
        outcome, effort=result.effort, verdicts=result.verdicts, reasoning=result.reasoning,
        usage=outcome.usage + result.usage,
    ).noted(result.note)  # fmt: skip
    return replace(ranking, visits=result.visits, pages=result.scores, expansions=expansions), outcome


@stage("selection")
def selection_stage(query: Query, candidates: Candidates, ranking: Ranking, outcome: Outcome) -> Outcome:
    """Select the pages to return: without copies, with a share for each named document.

    Variety is added if requested.
    """
    request, scoring = query.request, query.request.scoring.selection
    visits, count = ranking.visits, request.top_k
    if request.group == "document":
        visits = grouped(visits, count)
        count = len(visits)
    elif asks_for_documents(query.question.text):
        visits = one_of_each(visits, ranking.pages, query.question.terms)
    else:
        apart = () if ranking.quoted else candidates.apart  # a quotation does not name documents
        visits = shared_out(visits, ranking.pages, apart, scoring)
    return replace(outcome, slots=select_pages(visits, ranking.pages, count, request.mmr, scoring))


@stage("results")
def results_stage(
    query: Query, ranking: Ranking, resources: SearchResources, texts: PageTexts, outcome: Outcome
) -> Outcome:
    """Write each result with its receipt, and list the best sections and the searched documents."""
    pages, slots = ranking.pages, outcome.slots
    shown = [(slot.visit.doc, slot.visit.page) for slot in slots]
    addends = {} if ranking.table is None else addends_of(ranking.table, resources.ranking, shown)
    findings = PageFindings({**ranking.reasons, **outcome.verdicts}, ranking.spans, ranking.page_terms, addends)
    terms = _passage_terms(query, ranking, resources)
    explainer = Explainer(
        pages, query.question, findings, terms, resources.view.short_path, query.request.scoring.pages
    )
    places = [(pages[slot.visit.doc].content, slot.visit.page) for slot in slots]
    results = [
        replace(result, see=_pointers(result, place, texts))
        for slot, place, page_text in zip(slots, places, texts.of(places), strict=True)
        if not texts.gone(place)
        for result in (explainer.page(slot, page_text, _copies(ranking, texts, slot)),)
    ]
    results = _told_apart(results, [place for place in places if not texts.gone(place)], texts)
    return replace(outcome, results=results, sections=explainer.sections(), documents=explainer.documents())


def _meant_documents(candidates: Candidates, ranking: Ranking) -> list[int]:
    """Return the indexes of the documents that parts of the question name or that a model chose."""
    numbers = {scores.candidate.document.doc_id: doc for doc, scores in enumerate(ranking.pages)}
    return [numbers[doc_id] for doc_id in (*candidates.apart, *candidates.choice.picked) if doc_id in numbers]


def _again(
    query: Query, candidates: Candidates, resources: SearchResources, texts: PageTexts, words: str
) -> FoundAgain:
    """Search the same documents for other words, without calling a model.

    Return the pages and their scores.
    """
    opened = replace(resources, reasoner=None, embedding=resources.embed(words))
    request = replace(query.request, question=words, effort="fast", trace=False)
    begun = replace(SearchState.begin(request, opened), texts=texts)
    row: Stages = (
        question_stage, _within(candidates.choice.scope), coarse_stage, spelling_stage, routing_stage, gather_stage,
        pages_stage, walk_stage, places_stage,
    )  # fmt: skip
    ranking = run_stages(row, begun)[0].ranking
    return FoundAgain(ranking.pages, ranking.expansions, ranking.visits)


def _within(scope: frozenset[str] | None) -> Stage:
    """Return a stage that limits a search to the documents in ``scope``, None for no limit."""

    @stage("scope")
    def keep(query: Query, candidates: Candidates) -> tuple[Query, Candidates]:
        choice = replace(candidates.choice, scope=scope)
        return replace(query, scope=scope), replace(candidates, choice=choice)

    return keep


def _passage_terms(query: Query, ranking: Ranking, resources: SearchResources) -> list[PassageTerms]:
    """Return the terms by which passages are chosen in each document. Terms that are rare in the library weigh more."""
    added = {id(expansion): expansion.terms for expansion in ranking.expansions}
    terms = list(dict.fromkeys(chain(ranking.term_weights, *added.values())))
    holding = list(pages_holding(resources, terms).values())
    rarity = dict(zip(terms, (1 + idf(resources.view.pages, holding)).tolist(), strict=True))
    own, names = {term: worth * rarity[term] for term, worth in ranking.term_weights.items()}, query.question.terms
    by_expansion = {
        key: PassageTerms(own, {term: weight * rarity[term] for term, weight in expert.items()}).naming(names)
        for key, expert in added.items()
    }
    return [by_expansion[id(expansion)] for expansion in ranking.expansions]


def _told_apart(results: list[PageFound], places: Sequence[tuple[Content, int]], texts: PageTexts) -> list[PageFound]:
    """Add to each result that is nearly equal to an earlier one the words in which they differ.

    Examples are a draft and its final form.
    """
    for at, before in nearly_equal(places).items():
        earlier, later = texts.of([places[before], places[at]])
        where = f"{results[before].short_path}, page {results[before].page}"
        results[at] = replace(results[at], near=f"{where}: {differences(earlier.text, later.text)}")
    return results


def _copies(ranking: Ranking, texts: PageTexts, slot: ResultSlot) -> list[PageText]:
    """Return the texts of the copies of a result, which are left out of the results."""
    return texts.of([(ranking.pages[visit.doc].content, visit.page) for visit in slot.also_in]) if slot.also_in else []


def _pointers(result: PageFound, place: tuple[Content, int], texts: PageTexts) -> tuple[Pointer, ...]:
    content, page = place
    if not may_refer(result.snippet):
        return ()

    def read(numbers: Sequence[int]) -> list[str]:
        return [page_text.text for page_text in texts.of([(content, number) for number in numbers])]

    return pointers(result.snippet, page, content, read)


def _lacking(ranking: Ranking, missing: Sequence[str]) -> Note:
    """Return a note that no document has the parts in ``missing``, to which the question refers."""
    first = ranking.visits[0].doc if ranking.visits else 0
    name = ranking.pages[first].candidate.document.name
    places = [Note("search.quoted", name=place) for place in missing]
    return Note("search.no-such-place", document=name, places=places)
