"""Words of the question that are quoted from a page: they stand there one after the other, as they were asked.

Who searches for a sentence wants the page that says it, not one that has its words here and there. What stands in
quotation marks is looked for so, and a whole question of some words: hardly one that asks something stands on a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from hybrid_core.text.tokens import cached_hash, fold, join_words, tokenise
from hybrid_core.types.documents import Hit
from hybrid_core.types.scoring import RerankScoring
from retrievers.documents.content import Content
from retrievers.documents.content_cache import ContentCache
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit, Place

_LEAST = 4  # words: fewer, also in quotation marks, are a name or a term
_MARKED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_EAST_ASIAN}]|[^\W_]+")


def quotations(question: str) -> list[str]:
    """What a question may quote: what is marked, else all of it."""
    marked = ["".join(match.groups("")) for match in _MARKED.finditer(question)]
    marked = [text for text in marked if len(_WORD.findall(text)) >= _LEAST]
    return marked or ([question] if len(_WORD.findall(question)) >= _LEAST else [])


def unquoted(question: str) -> str:
    """What is left of a question without its quotations."""
    quoted = quotations(question)
    return "" if quoted == [question] else _MARKED.sub(" ", question)


def share_quoted(quoted: Sequence[str], text: str) -> float:
    """The share of the quotations that stand in a text word for word."""
    folded, plain, found = fold(text), "", 0
    for quotation in map(_plain_quotation, quoted):
        if all(word in folded for word in quotation.split(" ")):  # few pages have them all
            plain = plain or f" {_plain(text)} "
            found += f" {quotation} " in plain
    return found / len(quoted) if quoted else 0.0


def quoted_documents(
    question: str,
    hits: Sequence[Hit],
    contents: Mapping[str, str],
    texts: PageTexts,
    cache: ContentCache,
    scoring: RerankScoring,
) -> dict[str, float]:
    """The documents that say what the question quotes on one of the best pages, with the share of it that they say.
    ``contents`` are the content ids of published documents.

    Of documents in memory only the pages are read that have the words.
    """
    quoted = quotations(question)
    if not quoted:
        return {}
    having: dict[str, set[int] | None] = {}
    best = []
    for hit in hits[: scoring.quotation_pages]:
        if hit.doc_id not in having:
            held = cache.held(contents[hit.doc_id])
            having[hit.doc_id] = None if held is None else _having(held, quoted)
        pages_with = having[hit.doc_id]
        if pages_with is None or hit.page in pages_with:
            best.append(hit)
    pages = texts.by_id([(contents[hit.doc_id], hit.page) for hit in best])
    found: dict[str, float] = {}
    for hit, page in zip(best, pages, strict=True):
        if share := share_quoted(quoted, page.text):
            found[hit.doc_id] = max(share, found.get(hit.doc_id, 0.0))
    return found


def quotation_gains(
    question: str, visits: Sequence[PageVisit], scores: Sequence[PageScores], texts: PageTexts, scoring: RerankScoring
) -> dict[Place, float]:
    """What the pages gain that say what the question quotes: ``scoring.quotations``, a part where it is a part of it.

    Of the pages that have the words, the first ``scoring.quotation_pages`` are read.
    """
    quoted = quotations(question)
    having = {doc: _having(scores[doc].content, quoted) for doc in {one.doc for one in visits}} if quoted else {}
    best = [one for one in visits if one.page in having.get(one.doc, ())][: scoring.quotation_pages]
    pages = texts.of([(scores[one.doc].content, one.page) for one in best])
    shares = {(one.doc, one.page): share_quoted(quoted, page.text) for one, page in zip(best, pages, strict=True)}
    return {place: scoring.quotations * share for place, share in shares.items() if share}


def _having(content: Content, quoted: Sequence[str]) -> set[int]:
    """The pages (1-based) that have all words of one of the quotations."""
    return set().union(*(_pages_with(content, quotation) for quotation in quoted))


def _pages_with(content: Content, quotation: str) -> set[int]:
    """The pages (1-based) that have all its terms."""
    terms = _terms(quotation)
    if not terms or not content.body.holds(terms):
        return set()
    found = content.body.occurrences(terms)
    pages, holding = np.unique(found.pages, return_counts=True)
    return {int(page) + 1 for page in pages[holding == len(terms)]}


@lru_cache(maxsize=64)  # the same for each document that is looked at
def _terms(quotation: str) -> frozenset[int]:
    return frozenset(map(cached_hash, tokenise(quotation)))


def _plain(text: str) -> str:
    """Its words with one space between them; characters of East Asian scripts are words of their own."""
    return " ".join(_WORD.findall(join_words(fold(text))))


_plain_quotation = lru_cache(maxsize=64)(_plain)  # the same for each page that is looked at
