"""The stages that find candidates: the question read, the first stage, documents chosen, pages scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from hybrid_core.store.index.points import Query
from hybrid_core.text.tokens import cached_hash, plain_words, stem, term_hash
from hybrid_core.types.documents import Hit
from retrievers.candidates.documents import (
    CandidateDocument,
    candidate_documents,
    doc_scores,
    expansion_scope,
    named_apart,
    preferred,
    ranked,
    search_scope,
)
from retrievers.candidates.first_stage import FirstStage, Key, by_meaning, of_published
from retrievers.candidates.router import Routing
from retrievers.explain.passages import PassageTerms, best_passage
from retrievers.features.pages import PageQuery, QueryTerms
from retrievers.features.table import FeatureBuilder, FeatureInputs
from retrievers.pipeline.state import SearchResources, SearchState, stage
from retrievers.query.question import Question, read_question
from retrievers.query.references import may_refer
from retrievers.query.words import corrected, words
from retrievers.ranking.model import scored
from retrievers.reason.board import SeenPage, pictured
from retrievers.reason.document_choice import Contenders, DocumentChoice, choose_documents

_LOOKED_INTO = 8  # of the best documents: a word that one of them holds is known
_PAGES = 5  # read to see how a word is written
_WORDS = 10  # that are put right: a question with more is of other things than the library


@stage("question")
def read(state: SearchState) -> SearchState:
    """Read the question: its terms, names, times and types, the documents that filters leave, and those that cards
    name.
    """
    return _with_question(state)


@stage("coarse")
def first_stage(state: SearchState) -> SearchState:
    """Find the best pages of the whole library."""
    return _with_hits(state)


@stage("spelling")
def correct(state: SearchState) -> SearchState:
    """Replace words that the library does not know by the known words of which they are slips."""
    opened = state.resources
    text = spelled(state.question, state.routing, state.hits, opened)
    if text == state.question.text:
        return state
    corrected_state = replace(state, request=replace(state.request, question=text))
    note = f"showing results for «{text}»: the library does not know the words as they were written"
    return _with_hits(_with_question(corrected_state)).noted(note)


@stage("routing")
def route(state: SearchState) -> SearchState:
    """Choose the documents that count and how much each does, by the route of the request."""
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
    return _with_hits(state) if choice.scope != scope else state


@stage("gather")
def gather(state: SearchState) -> SearchState:
    """Gather the documents whose pages are candidates."""
    opened, choice = state.resources, state.choice
    candidates = candidate_documents(
        state.hits, state.page_hits, choice.routing, opened.view, choice.scope,
        partial(opened.cache.get_all, opened.contents), state.request.scoring.documents, state.apart,
    )  # fmt: skip
    return replace(state, candidates=candidates)


@stage("pages")
def score(state: SearchState) -> SearchState:
    """Compute the features of the candidate pages, and score them by the ranking model."""
    opened, question, documents = state.resources, state.question, state.candidates
    near, meaning = by_meaning(
        opened.index, opened.embedding, opened.view.contents, [c.document.doc_id for c in documents],
        state.request.scoring.first_stage, 2 * state.request.scoring.first_stage.hits,
    )  # fmt: skip
    best = max((hit.score for hit in state.page_hits), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best for hit in state.page_hits}
    holding = pages_holding(opened, list(dict.fromkeys(question.terms)))
    held_terms = {term for term, pages in holding.items() if pages}
    query = QueryTerms.of(question.worth(held_terms), opened.view.pages, holding)
    named, expansions = state.routing.matched_terms, [state.expansion.of(item.document) for item in documents]
    unembedded = opened.embedding.unembedded
    chosen = 1 / max(1, len(opened.view.within(state.choice.scope)))
    contents = opened.cache.group([item.content for item in documents])
    inputs = FeatureInputs(question, query, named, documents, contents, expansions, coarse, meaning, unembedded, chosen)
    builder = FeatureBuilder(inputs, state.request.scoring)
    candidates = builder.candidates
    table = builder.table(opened.cache.orders(opened.contents, candidates.places()))
    worth = question.worth(held_terms.union(question.identifiers))  # for evidence, what no page holds is asked for too
    term_worth = {term: worth[term] for term in builder.kept}
    queries = [PageQuery({**item.terms, **term_worth}, item.headings) for item in expansions]
    pages = scored(table, opened.ranking, builder.inside, builder.nodes, queries, _signals(near, coarse, documents))
    quoted = frozenset(candidates.place(row) for row in np.flatnonzero(table.column("quoted") == 1.0).tolist())
    return replace(state, term_weights=term_worth, pages=pages, table=table, expansions=expansions, quoted=quoted)


def _with_question(state: SearchState) -> SearchState:
    """Return the state with its question read, and what the library says of it."""
    request, opened = state.request, state.resources
    view = opened.view
    question = read_question(request.question)
    scope = search_scope(view.documents, request)
    cards = view.router.route(question)
    named = {} if request.route == "semantic" else cards.scores
    expansion = expansion_scope(
        opened.expert, request.question, cards.names, named, view, scope, request.scoring.expansion
    )
    state = replace(state, question=question, scope=scope, expansion=expansion, choice=DocumentChoice(cards, scope))
    return state.noted(opened.embedding.note)


def _with_hits(state: SearchState) -> SearchState:
    """Return the state with the best pages of its scope."""
    opened, question = state.resources, state.question
    terms = question.worth([term for term, pages in pages_holding(opened, list(question.identifiers)).items() if pages])
    searcher = FirstStage(
        opened.index, terms, state.expansion, opened.embedding, opened.view, state.request, opened.contents,
        opened.cache,
    )  # fmt: skip
    hits, page_hits = searcher.hits(state.choice.scope)
    return replace(state, hits=hits, page_hits=page_hits)


def _seen_on(state: SearchState) -> Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], SeenPage]]:
    """Return a reader of pages (doc_id, page): the passage that matches best, and whether the page has figures."""
    terms = PassageTerms(dict.fromkeys(state.question.terms, 1.0))

    def read(places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], SeenPage]:
        contents = state.resources.view.contents
        texts = state.texts.by_id([(contents[doc_id], page) for doc_id, page in places])
        return {
            place: SeenPage(best_passage(page_text.text, terms).text, pictured(page_text.text, page_text.described))
            for place, page_text in zip(places, texts, strict=True)
        }

    return read


def _signals(
    near: Mapping[Key, Hit], coarse: Mapping[Key, float], documents: Sequence[CandidateDocument]
) -> list[dict[str, dict[int, float]]]:
    """Return the coarse score, and what vectors and learned term weights say, by document, name and page."""
    signals: dict[str, dict[str, dict[int, float]]] = {
        candidate.document.doc_id: {"coarse": {}, "dense": {}, "learned_sparse": {}} for candidate in documents
    }
    for (doc_id, page), value in coarse.items():
        if doc_id in signals:
            signals[doc_id]["coarse"][page] = value
    for (doc_id, page), hit in near.items():
        if hit.dense is not None:
            signals[doc_id]["dense"][page] = hit.dense
        if hit.learned is not None:
            signals[doc_id]["learned_sparse"][page] = hit.learned
    return list(signals.values())


def pages_holding(opened: SearchResources, terms: Sequence[str]) -> dict[str, int]:
    """Return how many pages of the library hold each term."""
    return dict(zip(terms, opened.index.holding([cached_hash(term) for term in terms]), strict=True)) if terms else {}


def spelled(question: Question, routing: Routing, hits: Sequence[Hit], opened: SearchResources) -> str:
    """Replace words of a question that no document holds by known words, where each is surely a slip.

    Names of the library, words of expert knowledge and words that places are called by stay.
    """
    view = opened.view
    left = {word: cached_hash(stem(word.lower())) for word in words(question.text, routing.matched_terms)}
    for doc_id in islice(ranked(doc_scores(hits)), _LOOKED_INTO):
        if not left:
            return question.text
        if content := opened.cache.get(opened.contents, view.contents[doc_id]):
            counts = content.body.occurrences(list(left.values())).holding.tolist()
            left = {word: term for (word, term), count in zip(left.items(), counts, strict=True) if not count}
    if not left:
        return question.text
    names = view.name_terms()
    text = question.text
    for word in islice(left, _WORDS):
        if opened.expert.knows(word) or may_refer(word):
            continue
        if right := corrected(word, partial(_pages_holding, opened), names, partial(_words_of_pages, opened)):
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, text)
    return text


def _pages_holding(opened: SearchResources, terms: Sequence[str]) -> Sequence[int]:
    return opened.index.holding([term_hash(term) for term in terms])


def _words_of_pages(opened: SearchResources, word: str) -> set[str]:
    """Return the words of the pages that say most of a word's term."""
    terms, weights = np.array([term_hash(stem(word))], np.uint32), np.ones(1, np.float32)
    contents = opened.view.contents
    hits = of_published(opened.index.search(Query("bm25", (terms, weights), _PAGES)), contents)
    pages = opened.contents.page_texts([(contents[hit.doc_id], hit.page) for hit in hits])
    return {word for page in pages.values() for word in plain_words(page.text).split()}
