"""What a question asks for beside the document and the place that it names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import PurePath

from hybrid_core.text.tokens import is_number, is_year, tokenise
from hybrid_core.types.documents import Document
from retrievers.documents.route import Routing
from retrievers.query.content_words import content_words
from retrievers.query.question import Question
from retrievers.query.references import Reference

# What parts of documents are called, what there is on pages, and what documents are.
STRUCTURE = frozenset(
    tokenise(
        """
        page slide section chapter note item article clause paragraph part appendix annex exhibit schedule table figure
        chart graph diagram picture image map photo heading title
        deck presentation survey study release filing form book guide manual contract agreement statute law edition
        """
    )
)


def own_names(document: Document) -> frozenset[str]:
    """The terms of a document's title, file name and organisation."""
    return frozenset(tokenise(" . ".join((document.title, PurePath(document.name).stem, *document.card.names))))


def naming_terms(document: Document, routing: Routing) -> frozenset[str]:
    """The terms by which a question may name a document."""
    card = document.card
    said = tokenise(" . ".join((card.title, *card.tags, *card.symbols, *card.parties, *card.recurring)))
    return own_names(document) | routing.matched_terms.union(said)


def without(question: Question, routing: Routing, named: Iterable[Reference] = ()) -> str:
    """The question's text without the names of organisations and the places that it names."""
    text = question.text
    for reference in sorted(named, key=lambda one: -one.start):
        text = f"{text[: reference.start]} . {text[reference.end :]}"
    for name in sorted(routing.names, key=len, reverse=True):
        text = re.sub(re.escape(name), " . ", text, flags=re.IGNORECASE)
    return text


def rest(text: str, question: Question, naming: Collection[str]) -> list[str]:
    """The terms of a text that neither name the document nor its type or time, nor could be part of any question."""
    said = question.period_terms.union(*question.type_terms.values(), naming, STRUCTURE)
    return [term for term in content_words(text) if term not in said and not is_year(term) and not is_number(term)]
