"""The stages that find candidates: read the question, run the coarse pass, choose documents, and score pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from hybrid_core.store.index.points import Query as IndexQuery
from hybrid_core.text.tokens import cached_hash, plain_words, stem, term_hash
from hybrid_core.types.documents import Hit
from hybrid_core.types.notes import Note
from hybrid_core.types.requests import SearchRequest
from retrievers.candidates.coarse_pass import CoarsePass, Key, by_meaning, of_published
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
from retrievers.candidates.router import CardScores
from retrievers.explain.passages import PassageTerms, best_passage
from retrievers.features.pages import PageQuery, QueryTerms
from retrievers.features.table import FeatureBuilder, FeatureInputs
from retrievers.pipeline.state import Candidates, Outcome, Query, Ranking, SearchResources, stage
from retrievers.query.question import Question, read_question
from retrievers.query.references import may_refer
from retrievers.query.words import corrected, words
from retrievers.ranking.model import scored
from retrievers.reason.board import SeenPage, pictured
from retrievers.reason.document_choice import Contenders, DocumentChoice, choose_documents
from retrievers.trees.contents import PageTexts

_LOOKED_INTO = 8  # best documents in which to look for a word; a word in one of them is known
_PAGES = 5  # pages read to see how a word is spelled
_WORDS = 10  # maximum unknown words to correct; with more, the question is not about this library


@stage("question")
def question_stage(query: Query, resources: SearchResources, outcome: Outcome) -> tuple[Query, Candidates, Outcome]:
    """Parse the question, apply the filters, and score documents by their cards."""
    return *_read(query.request, resources), outcome.noted(resources.embedding.note)


@stage("coarse")
def coarse_stage(query: Query, candidates: Candidates, resources: SearchResources) -> Candidates:
    """Find the best pages of all searched documents by the coarse pass."""
    return _with_hits(query, candidates, resources)


@stage("spelling")
def spelling_stage(
    query: Query, candidates: Candidates, resources: SearchResources, outcome: Outcome
) -> tuple[Query, Candidates, Outcome]:
    """Replace misspelled words that the library does not contain by similar words that it contains."""
    text = spelled(query.question, candidates.routing, candidates.hits, resources)
    if text == query.question.text:
        return query, candidates, outcome
    query, candidates = _read(replace(query.request, question=text), resources)
    outcome = outcome.noted(Note("search.spelled", question=text))
    return query, _with_hits(query, candidates, resources), outcome


@stage("routing")
def routing_stage(
    query: Query, candidates: Candidates, resources: SearchResources, texts: PageTexts, outcome: Outcome
) -> tuple[Candidates, Outcome]:
    """Choose the documents to search and their weights, by the requested route."""
    request, view, scope = query.request, resources.view, query.scope
    contenders = Contenders(
        query.question, candidates.routing, candidates.hits, view.within(scope), scope, request.scoring.documents,
        _seen_on(query, resources, texts),
    )  # fmt: skip
    choice = choose_documents(request.route, contenders, resources.reasoner)
    semantic = request.route == "semantic"
    apart = {} if semantic else named_apart(query.question, view, choice.routing, candidates.hits)
    apart = {doc_id: score for doc_id, score in apart.items() if scope is None or doc_id in scope}
    choice = replace(choice, routing=preferred(choice.routing, apart))
    outcome = replace(outcome, usage=outcome.usage + choice.usage).noted(*choice.notes)
    candidates = replace(candidates, choice=choice, apart=tuple(apart))
    return _with_hits(query, candidates, resources) if choice.scope != scope else candidates, outcome


@stage("gather")
def gather_stage(query: Query, candidates: Candidates, resources: SearchResources) -> Candidates:
    """Collect the documents whose pages are candidates."""
    choice = candidates.choice
    documents = candidate_documents(
        candidates.hits, candidates.page_hits, choice.routing, resources.view, choice.scope,
        partial(resources.cache.get_all, resources.contents), query.request.scoring.documents, candidates.apart,
    )  # fmt: skip
    return replace(candidates, documents=documents)


@stage("pages")
def pages_stage(query: Query, candidates: Candidates, ranking: Ranking, resources: SearchResources) -> Ranking:
    """Compute the features of the candidate pages, and score the pages by the ranking model."""
    question, documents, scoring = query.question, candidates.documents, query.request.scoring
    near, meaning = by_meaning(
        resources.index, resources.embedding, resources.view.contents, [c.document.doc_id for c in documents],
        scoring.first_stage, 2 * scoring.first_stage.hits,
    )  # fmt: skip
    best = max((hit.score for hit in candidates.page_hits), default=0.0) or 1.0
    coarse = {(hit.doc_id, hit.page): hit.score / best for hit in candidates.page_hits}
    holding = pages_holding(resources, list(dict.fromkeys(question.terms)))
    held_terms = {term for term, pages in holding.items() if pages}
    terms = QueryTerms.of(question.worth(held_terms), resources.view.pages, holding)
    named, expansions = candidates.routing.matched_terms, [query.expansion.of(item.document) for item in documents]
    unembedded = resources.embedding.unembedded
    chosen = 1 / max(1, len(resources.view.within(candidates.choice.scope)))
    contents = resources.cache.group([item.content for item in documents])
    inputs = FeatureInputs(question, terms, named, documents, contents, expansions, coarse, meaning, unembedded, chosen)
    builder = FeatureBuilder(inputs, scoring)
    rows = builder.candidates
    table = builder.table(resources.cache.orders(resources.contents, rows.places()))
    worth = question.worth(held_terms.union(question.identifiers))  # evidence also counts terms that no page has
    term_worth = {term: worth[term] for term in builder.kept}
    different = {id(item): item for item in expansions}
    queries = {key: PageQuery({**item.terms, **term_worth}, item.headings) for key, item in different.items()}
    page_queries = [queries[id(item)] for item in expansions]
    page_signals = _signals(near, coarse, documents)
    pages = scored(table, resources.ranking, builder.inside, builder.nodes, page_queries, page_signals)
    quoted = frozenset(rows.place(row) for row in np.flatnonzero(table.column("quoted") == 1.0).tolist())
    return replace(
        ranking, term_weights=term_worth, pages=pages, table=table, expansions=expansions, quoted=quoted
    )  # fmt: skip


def _read(request: SearchRequest, resources: SearchResources) -> tuple[Query, Candidates]:
    """Return a request's parsed question, and the documents that filters and cards choose."""
    view = resources.view
    question = read_question(request.question)
    scope = search_scope(view.documents, request)
    cards = view.router.route(question)
    named = {} if request.route == "semantic" else cards.scores
    expansion = expansion_scope(
        resources.expert, request.question, cards.names, named, view, scope, request.scoring.expansion
    )
    return Query(request, question, scope, expansion), Candidates(choice=DocumentChoice(cards, scope))


def _with_hits(query: Query, candidates: Candidates, resources: SearchResources) -> Candidates:
    """Run the coarse pass, and return the candidates with the best hits in the chosen documents."""
    question = query.question
    holding = pages_holding(resources, list(question.identifiers))
    terms = question.worth([term for term, pages in holding.items() if pages])
    searcher = CoarsePass(
        resources.index, terms, query.expansion, resources.embedding, resources.view, query.request,
        resources.contents, resources.cache,
    )  # fmt: skip
    hits, page_hits = searcher.hits(candidates.choice.scope)
    return replace(candidates, hits=hits, page_hits=page_hits)


def _seen_on(
    query: Query, resources: SearchResources, texts: PageTexts
) -> Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], SeenPage]]:
    """Return a function that reads pages, given as (doc_id, page).

    For each page it returns the best matching passage, and whether the page has figures.
    """
    terms = PassageTerms(dict.fromkeys(query.question.terms, 1.0))

    def read(places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], SeenPage]:
        contents = resources.view.contents
        page_texts = texts.by_id([(contents[doc_id], page) for doc_id, page in places])
        return {
            place: SeenPage(best_passage(page_text.text, terms).text, pictured(page_text.text, page_text.described))
            for place, page_text in zip(places, page_texts, strict=True)
        }

    return read


def _signals(
    near: Mapping[Key, Hit], coarse: Mapping[Key, float], documents: Sequence[CandidateDocument]
) -> list[dict[str, dict[int, float]]]:
    """Return the page scores of each document: {name of the score: {page: score}}.

    The names are coarse (the coarse pass), dense (vectors) and learned_sparse (learned term weights).
    """
    scores: dict[str, dict[Key, float]] = {"coarse": dict(coarse), "dense": {}, "learned_sparse": {}}
    for place, hit in near.items():
        if hit.dense is not None:
            scores["dense"][place] = hit.dense
        if hit.learned is not None:
            scores["learned_sparse"][place] = hit.learned
    by_document: dict[str, dict[str, dict[int, float]]] = {name: {} for name in scores}
    for name, values in scores.items():
        for (doc_id, page), value in values.items():
            by_document[name].setdefault(doc_id, {})[page] = value
    none: dict[int, float] = {}
    doc_ids = [candidate.document.doc_id for candidate in documents]
    return [{name: pages.get(doc_id, none) for name, pages in by_document.items()} for doc_id in doc_ids]


def pages_holding(resources: SearchResources, terms: Sequence[str]) -> dict[str, int]:
    """Return the number of library pages that contain each term."""
    return (
        dict(zip(terms, resources.index.holding([cached_hash(term) for term in terms]), strict=True)) if terms else {}
    )


def spelled(question: Question, routing: CardScores, hits: Sequence[Hit], resources: SearchResources) -> str:
    """Return the question's text with misspelled words corrected, where the correction is clear.

    Names in the library, words of expert knowledge, and words for parts of documents (such as "page") are not changed.
    """
    view = resources.view
    left = {word: cached_hash(stem(word.lower())) for word in words(question.text, routing.matched_terms)}
    if not left:
        return question.text
    for doc_id in islice(ranked(doc_scores(hits)), _LOOKED_INTO):
        if not left:
            return question.text
        if content := resources.cache.get(resources.contents, view.contents[doc_id]):
            counts = content.body.occurrences(list(left.values())).holding.tolist()
            left = {word: term for (word, term), count in zip(left.items(), counts, strict=True) if not count}
    if not left:
        return question.text
    names = view.name_terms()
    text = question.text
    for word in islice(left, _WORDS):
        if resources.expert.knows(word) or may_refer(word):
            continue
        if right := corrected(word, partial(_pages_holding, resources), names, partial(_words_of_pages, resources)):
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, text)
    return text


def _pages_holding(resources: SearchResources, terms: Sequence[str]) -> Sequence[int]:
    return resources.index.holding([term_hash(term) for term in terms])


def _words_of_pages(resources: SearchResources, word: str) -> set[str]:
    """Return all words on the pages that match a word best by BM25.

    A correction counts only if it is one of these words.
    """
    terms, weights = np.array([term_hash(stem(word))], np.uint32), np.ones(1, np.float32)
    contents = resources.view.contents
    hits = of_published(resources.index.search(IndexQuery("bm25", (terms, weights), _PAGES)), contents)
    pages = resources.contents.page_texts([(contents[hit.doc_id], hit.page) for hit in hits])
    return {word for page in pages.values() for word in plain_words(page.text).split()}
