"""A companion of the document that leads: another one of its organisation and time, which speaks of what is asked too.

An annual report and a release on the same quarter may both answer, and the longer one fills the first results by its
length.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from hybrid_core.text.tokens import cached_hash
from hybrid_core.types.documents import Card, Document
from hybrid_core.types.scoring import SelectionScoring
from retrievers.documents.content import Content
from retrievers.documents.route import Routing
from retrievers.pages.scores import PageScores, PageVisit
from retrievers.query.content_words import content_words
from retrievers.query.question import Question
from retrievers.query.references import references

_BEST = 5  # pages of a companion that are looked at


def with_companion(
    visits: Sequence[PageVisit],
    scores: Sequence[PageScores],
    question: Question,
    routing: Routing,
    asked: Collection[str],
    scoring: SelectionScoring,
) -> Sequence[PageVisit]:
    """The pages with the best page of the leading document's companion among the first ``slots_within``, last but one:
    the last place is one that a role may take. Where the question says which kind of document or which quarter it
    means, or nothing of what it asks for stands in another document, they stay as they are.
    """
    first = visits[: scoring.slots_within]
    terms = list(dict.fromkeys(term for term in content_words(question.text) if term in asked))
    if _told(question, routing) or len(first) < scoring.slots_within or not terms:
        return visits
    leader = first[0].doc
    least = scoring.companion * max(_held(terms, scores[leader].content, [p.page for p in first if p.doc == leader]))
    beside = []
    for doc, one in enumerate(scores):
        if doc != leader and _same_occasion(
            one.candidate.document, scores[leader].candidate.document, question, routing
        ):
            best = [page for page in (np.argsort(-one.values)[:_BEST] + 1).tolist() if one.values[page - 1] > 0]
            saying = [page for page, held in zip(best, _held(terms, one.content, best), strict=True) if held >= least]
            beside += [(doc, page) for page in saying[:1]]
    shown = {one.doc for one in first}
    if not beside or any(doc in shown for doc, _ in beside):
        return visits
    doc, page = max(beside, key=lambda place: float(scores[place[0]].values[place[1] - 1]))
    new = next((one for one in visits if (one.doc, one.page) == (doc, page)), PageVisit(doc, page))
    rest = [one for one in visits if (one.doc, one.page) != (doc, page)]
    place = scoring.slots_within - 2
    return [*rest[:place], new, *rest[place:]]


def _told(question: Question, routing: Routing) -> bool:
    """Whether a question says which kind of document, which quarter or which place it means."""
    told = question.types or question.quarters or question.dates or len(routing.organisations) > 1
    return bool(told or references(question.text))


def _held(terms: Sequence[str], content: Content, pages: Sequence[int]) -> list[int]:
    """How many of the terms each of these pages holds."""
    found = content.body.occurrences([cached_hash(term) for term in terms]).pages + 1
    return [int(np.count_nonzero(found == page)) for page in pages]


def _same_occasion(one: Document, other: Document, question: Question, routing: Routing) -> bool:
    """Whether two documents of what the question names are of one time. Two of one type are only where they bear the
    same date: else they follow each other, as annual reports do."""
    if not {one.doc_id, other.doc_id} <= set(routing.named):
        return False
    first, second = one.card, other.card
    years = set(first.years) & set(second.years) & set(question.years) if question.years else _own_year(first, second)
    quarters = {first.quarter, second.quarter} - {None}
    return bool(years) and len(quarters) < 2 and (first.type != second.type or first.date == second.date)


def _own_year(one: Card, other: Card) -> set[int]:
    return set(one.years[:1]) & set(other.years[:1])
