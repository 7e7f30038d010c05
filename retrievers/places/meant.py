"""What a question means beside its words: a place by its number, a section by its name, or what a document is about."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.scoring import DocumentScoring
from retrievers.documents.route import Routing
from retrievers.pages.page_texts import PageTexts
from retrievers.pages.scores import PageScores, PageVisit
from retrievers.places.lead import Leads, lead, meant, texts_of
from retrievers.places.located import PlaceFound, locate
from retrievers.places.rest import naming_terms, rest, without
from retrievers.query.question import Question
from retrievers.query.references import references


def meant_places(
    question: Question,
    routing: Routing,
    visits: Sequence[PageVisit],
    pages: Sequence[PageScores],
    texts: PageTexts,
    scoring: DocumentScoring,
) -> Leads:
    """The pages with those first that the question means, and why they are meant."""
    docs = meant(pages, scoring)
    if named := references(question.text):
        text = without(question, routing, named)

        def places(scores: PageScores) -> Sequence[PlaceFound]:
            read = texts_of(texts, scores)
            return [place for one in named for place in locate(one, scores.content, read)]

        def asks_more(scores: PageScores) -> bool:
            return bool(rest(text, question, naming_terms(scores.candidate.document, routing)))

        return lead("reference", visits, pages, docs, places, asks_more)
    return Leads(visits, pages, {})
