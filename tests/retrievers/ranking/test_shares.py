"""A comparison of two documents has the best page of each among its first three results."""

from __future__ import annotations

import pytest

from hybrid_pageindex import Engine, run

ONE, OTHER = "corvane-optics", "dunlin-freight"


@pytest.mark.parametrize(
    "question",
    [
        "Compare the net sales of Corvane Optics with Dunlin Freight",
        "Corvane Optics vs. Dunlin Freight: operating income in 2023",
        "Which had more employees in 2023, Dunlin Freight or Corvane Optics?",
        "What are the risk factors of Dunlin Freight and of Corvane Optics?",
    ],
)
def test_the_best_page_of_each_is_among_the_first_three(library: Engine, question: str) -> None:
    found = run(library.search(question, effort="fast", top_k=10)).results
    first = [next(name for name in (ONE, OTHER, "") if page.doc_name.startswith(name)) for page in found[:3]]
    assert {ONE, OTHER} <= set(first)
    for name in (ONE, OTHER):
        own = [page.score for page in found if page.doc_name.startswith(name)]
        assert own[0] == max(own)
