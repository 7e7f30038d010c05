"""A filter without a model: what a question names of the documents' cards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hybrid_core.types.documents import Document
from retrievers.documents.route import Routing
from retrievers.query.question import Question
from retrievers.reason.routing.conditions import Condition


def conditions(question: Question, routing: Routing, documents: Mapping[str, Document]) -> list[Condition]:
    """Whose documents, of which types and years. A document without a name is found by no name, so where the
    question names the party of such a one, whose documents are meant stays open. A quarter is no condition: a report
    on the year answers for it too.
    """
    made = []
    named = [documents[doc_id] for doc_id in routing.named if doc_id in documents]
    if named and all(document.card.names for document in named):
        made.append(Condition("organisation", "is", _each(document.card.names[0] for document in named)))
    if question.types:
        made.append(Condition("type", "is", question.types))
    if question.years:
        made.append(Condition("year", "is", _each(map(str, question.years))))
    return made


def _each(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
