"""Search requests and the numbers of scoring: what they take, and what they refuse."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.requests import OPTIONS, SearchFields, SearchRequest, search_request
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex import Engine, Settings, run
from hybrid_pageindex.cli.parser import build_parser
from hybrid_pageindex.config.settings import usual_fields


def test_keyword_arguments_are_the_fields() -> None:
    assert SearchFields.__annotations__.keys() - {"library"} == {one.name for one in fields(SearchRequest)} - {
        "question"
    }


def test_settings_fill_in_what_is_not_said_and_nothing_else() -> None:
    usual = usual_fields(Settings(library="contracts", top_k=9, fusion="rrf"))
    request = SearchRequest("Why?", top_k=3).completed(usual)
    assert (request.library, request.top_k, request.fusion, request.mmr) == ("contracts", 3, "rrf", 1.0)
    assert all(getattr(request, name) is not None for name in (*usual, *(OPTIONS.keys() - {"documents"})))
    assert request.completed(usual_fields(Settings())) == request


def test_one_name_is_no_list_of_letters() -> None:
    request = search_request("Why?", {"library": "a", "documents": Path("b.pdf"), "where": "year=2023"})
    assert (request.libraries, request.documents, request.where) == (("a",), ("b.pdf",), ("year=2023",))
    assert search_request(request, {"top_k": 2}).documents == ("b.pdf",) and search_request(request, {}) is request


@pytest.mark.parametrize("number", [0, 1.5, -1])
def test_numbers_out_of_range_are_refused(number: Any) -> None:
    with pytest.raises(UsageError, match="top_k is"):
        SearchRequest("Why?", top_k=number)
    with pytest.raises(UsageError, match=r"documents\.limit is"):
        SearchRequest("Why?", scoring={"documents.limit": number})  # type: ignore[arg-type]


def test_a_library_that_is_not_there_is_named_among_several(library: Engine) -> None:
    with pytest.raises(NotFoundError, match="library 'other' does not exist"):
        run(library.search("net sales", libraries=["default", "other"]))


def test_the_command_line_offers_every_option() -> None:
    typed = ["search", "Why?", "--doc", "a", "--doc", "b", "--top-k", "7", "--route", "semantic", "--mmr", ".5"]
    options = build_parser(typed).parse_args(typed)
    said = {name: getattr(options, name) for name in OPTIONS}
    request = SearchRequest("Why?", **said)
    assert (request.documents, request.top_k, request.route, request.mmr) == (("a", "b"), 7, "semantic", 0.5)
    assert {name for name, value in said.items() if value} == {"documents", "top_k", "route", "mmr"}


def test_scoring_is_made_from_names() -> None:
    made = ScoringConfig.of({"pages.headings": 0, "first_stage": {"rrf_k": 30}, "periods.later": [0.5, 0.4, 0.1]})
    assert (made.pages.headings, made.first_stage.rrf_k, made.periods.later) == (0.0, 30.0, (0.5, 0.4, 0.1))
    assert ScoringConfig.of({}) == ScoringConfig() and hash(made) != hash(ScoringConfig())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pages.headngs": 0}, "Did you mean pages.headings?"),
        ({"headings": 0.5}, "'headings' is not a ranking parameter"),
        ({"pages": 3}, "'pages' is not a ranking parameter"),
        ({"pages.b": "high"}, "pages.b is 'high'"),
        ({"pages.b": float("nan")}, "Set the parameter to a number of 0 or more"),
        ({"periods.later": [1]}, "Set the parameter to a list of 3 numbers"),
    ],
)
def test_unknown_names_and_wrong_numbers_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        ScoringConfig.of(given, "config.yaml: scoring")
    assert said in str(refused.value) and str(refused.value).startswith("config.yaml: scoring")


def test_every_number_reaches_the_search(library: Engine) -> None:
    question = "What were the net sales of Corvane Optics in fiscal 2023?"
    usual = run(library.search(question))
    found = run(library.search(question, scoring={"cards.period": 0.0}))
    assert found.results[0].receipt.routing < usual.results[0].receipt.routing
    changed = run(library.search(question, scoring={"pages.k1": 0.1}))
    assert changed.results[0].receipt.terms != usual.results[0].receipt.terms
    assert run(library.search(question)).results == usual.results  # nothing of it is kept
    asked = SearchRequest(question, effort="fast", top_k=2)
    assert run(library.search(asked)).results == library.search_now(asked).results == usual.results[:2]
