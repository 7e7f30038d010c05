"""What a document gives its pages: by hand, named and not."""

from __future__ import annotations

import pytest

from hybrid_core.text import tokens
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import Section
from hybrid_core.types.scoring import ScoringConfig
from retrievers.documents.candidates import CandidateDocument
from retrievers.documents.content import Content, children_of
from retrievers.pages.page_score import PageQuery
from retrievers.pages.page_values import HitPlaces, score_pages, value_pages
from tests.retrievers.made_documents import document


def candidate(doc_id: str, doc_score: float, routing: float, scoring: ScoringConfig) -> CandidateDocument:
    body = TermCounts.build([tokens.counts(["weir"]), tokens.counts(["lock"])], [1, 1])
    empty = TermCounts.build([{}, {}], [0, 0])
    sections = (Section("0001", None, 1, "Locks", 1, 2),)
    content = Content(doc_id, body, empty, sections, children_of(sections))
    score = doc_score + scoring.documents.cards * routing
    return CandidateDocument(document(doc_id), content, score, doc_score, routing, "")


@pytest.mark.parametrize("named", [0.0, 0.5, 1.0])
def test_a_document_counts_half_where_none_is_named(named: float) -> None:
    scoring = ScoringConfig()
    made = [candidate("a", 1.0, named, scoring), candidate("b", 0.4, 0.0, scoring)]
    query = PageQuery({"weir": 1.0})
    raw = [score_pages(c, query, scoring.pages) for c in made]
    first, second = value_pages(made, [query, query], HitPlaces.of(made, {}), raw, {}, (), scoring, "weighted")
    by_document = 4.0 * named + 2.0 * (1 - named)
    total = 1.0 + (0.5 * named + 2.0 * (1 - named)) + by_document + 0.1
    assert first.part("document", 1) == pytest.approx(by_document * (1.0 + 3.0 * named) / 4.0 / total)
    assert second.part("document", 1) == pytest.approx(by_document * 0.4 / 4.0 / total)
    assert first.values.tolist() == pytest.approx([1 / total + (first.part("document", 1) or 0.0), 0.0])
