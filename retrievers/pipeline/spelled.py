"""A question as the library spells it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import islice

import numpy as np

from hybrid_core.store.index.query import Query
from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.tokens import cached_hash, stem, term_hash
from hybrid_core.types.documents import Hit
from retrievers.documents.candidates import doc_scores, ranked
from retrievers.documents.route import Routing
from retrievers.pages.first_stage import of_published
from retrievers.pipeline.state import SearchResources
from retrievers.query.question import Question
from retrievers.query.references import may_refer
from retrievers.query.spelling import corrected, words

_LOOKED_INTO = 8  # of the best documents: a word that one of them holds is known
_PAGES = 5  # read to see how a word is written
_WORDS = 10  # that are put right: a question with more is of other things than the library


def spelled(question: Question, routing: Routing, hits: Sequence[Hit], opened: SearchResources) -> str:
    """The question with the known word in place of each that no document holds, as far as it is surely a slip. Names
    of the library, words that expert knowledge has and those that places are called by stay."""
    view = opened.view
    left = {word: cached_hash(stem(word.lower())) for word in words(question.text, routing.matched_terms)}
    for doc_id in islice(ranked(doc_scores(hits)), _LOOKED_INTO):
        if not left:
            return question.text
        if held := opened.cache.get(opened.contents, view.contents[doc_id]):
            found = held.body.occurrences(list(left.values())).holding.tolist()
            left = {word: term for (word, term), count in zip(left.items(), found, strict=True) if not count}
    if not left:
        return question.text
    names = view.name_terms()
    text = question.text
    for word in islice(left, _WORDS):
        if opened.expert.knows(word) or may_refer(word):
            continue
        if right := corrected(word, partial(_holding, opened), names, partial(_written, opened)):
            text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", right, text)
    return text


def _holding(opened: SearchResources, terms: Sequence[str]) -> Sequence[int]:
    return opened.index.holding([term_hash(term) for term in terms])


def _written(opened: SearchResources, word: str) -> set[str]:
    """The words of the pages that say most of a word's term."""
    terms, weights = np.array([term_hash(stem(word))], np.uint32), np.ones(1, np.float32)
    contents = opened.view.contents
    hits = of_published(opened.index.search(Query("bm25", (terms, weights), _PAGES)), contents)
    pages = opened.contents.page_texts([(contents[hit.doc_id], hit.page) for hit in hits])
    return {word for page in pages.values() for word in plain_words(page.text).split()}
