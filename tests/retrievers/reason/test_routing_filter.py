"""Filters over the fields of documents: what a question or a model asks for is compared with what a library holds."""

from __future__ import annotations

import string
from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.llm.budget import estimate
from retrievers.candidates.router import Router
from retrievers.query.question import read_question
from retrievers.reason import document_choice
from retrievers.reason.conditions import Condition, Operator, apply, check, fields_of, met, table
from tests.retrievers.made_documents import document, held

AR, QR = "annual report", "quarterly report"
LIBRARY = held(
    document("hp18", names=("Harbor & Pine, Inc.",), symbols=("HPNE",), years=(2018,), type=AR, date="2018-12-31"),
    document("hp19", names=("Harbor & Pine, Inc.",), years=(2019, 2020), type=AR, date="2019-12-31"),
    document("hp19q2", names=("Harbor & Pine, Inc.",), years=(2019,), quarter=2, type=QR, date="2019-06-30"),
    document("ww19", names=("Western Water Works",), years=(2019,), type=AR, date="2019-12-31"),
    document("memo", metadata={"Author": "Ines Oduya", "budget": "120.5", "approved": "D:20210304090000Z"}),
    document("plan", metadata={"author": "J. Quill", "budget": "80", "approved": "2020-01-15T08:00:00"}),
)
FIELDS = fields_of(LIBRARY)


def kept(field: str, operator: Operator, *values: str) -> set[str]:
    return set(apply(FIELDS, [Condition(field, operator, values)], LIBRARY).documents)


@pytest.mark.parametrize(
    ("condition", "documents"),
    [
        (("organisation", "is", "harbor and pine"), {"hp18", "hp19", "hp19q2"}),
        (("Organisation", "is", "HARBORPINE"), {"hp18", "hp19", "hp19q2"}),
        (("organisation", "is", "Water Works"), {"ww19"}),
        (("organisation", "is", "Harbour & Pine, Inc"), {"hp18", "hp19", "hp19q2"}),
        (("organisation", "is not", "Western Water Works"), set(LIBRARY) - {"ww19"}),
        (("symbol", "is", "hpne"), {"hp18"}),
        (("type", "is", "10-K"), {"hp18", "hp19", "ww19"}),
        (("year", "is", "FY2018"), {"hp18"}),
        (("year", "is", "2018", "2020"), {"hp18", "hp19"}),
        (("year", "at least", "2020"), {"hp19"}),
        (("year", "at most", "2018"), {"hp18"}),
        (("quarter", "is", "Q2"), {"hp19q2"}),
        (("date", "is", "2019"), {"hp19", "hp19q2", "ww19"}),
        (("date", "is", "June 30, 2019"), {"hp19q2"}),
        (("date", "at most", "2019-06"), {"hp18", "hp19q2"}),
        (("date", "at least", "2019-07-01"), {"hp19", "ww19"}),
        (("author", "is", "ines oduya"), {"memo"}),
        (("author", "contains", "QUILL"), {"plan"}),
        (("budget", "at least", "100"), {"memo"}),
        (("approved", "at most", "2020-12-31"), {"plan"}),
        (("name", "contains", "hp19"), {"hp19", "hp19q2"}),
    ],
)
def test_a_condition_finds_the_documents_that_meet_it(condition: tuple[Any, ...], documents: set[str]) -> None:
    field, operator, *values = condition
    assert kept(field, operator, *values) == documents != set(LIBRARY)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (Condition("colour", "is", ("red",)), "there is no field 'colour'"),
        (Condition("organisation", "is", ("Tangerine Wharf",)), "no organisation 'Tangerine Wharf'"),
        (Condition("year", "is", ("1907",)), "no year '1907'"),
        (Condition("year", "is", ("NaN", "inf", "many", "1e400", "")), "no year"),
        (Condition("date", "is", ("2019-13-45",)), "no date"),
        (Condition("organisation", "at least", ("Harbor",)), "has no order"),
        (Condition("type", "is", ("recipe",)), "no type 'recipe'"),
        (Condition("title", "contains", ("o",)), "no title 'o'"),
        (Condition("year", "is", ()), "no year ''"),
        (Condition("organisation", "is", ("x' OR '1'='1",)), "no organisation"),
        (Condition("organisation", "contains", ("%",)), "no organisation"),
        (Condition("organisation", "is", ("*",)), "no organisation"),
        (Condition("year; DROP TABLE documents", "is", ("2019",)), "there is no field"),
        (Condition("year", "is", ("2019 UNION SELECT 1 --; ",)), "no year"),
        (Condition("year", "at most", ("1800",)), "no document of the filters has year at most 1800"),
    ],
)
def test_what_the_library_does_not_hold_is_left_out_and_told(condition: Condition, why: str) -> None:
    filtered = apply(FIELDS, [condition], LIBRARY)
    assert filtered.documents == set(LIBRARY) and filtered.conditions == ()
    assert why in filtered.dropped[0] and len(filtered.dropped) == 1


def test_whose_documents_comes_before_which_of_them_and_nothing_empties_the_filter() -> None:
    asked = [Condition("year", "is", ("2018",)), Condition("organisation", "is", ("Western Water Works",))]
    filtered = apply(FIELDS, asked, LIBRARY)
    assert filtered.documents == {"ww19"} and [one.field for one in filtered.conditions] == ["organisation"]
    assert filtered.dropped == ("no document of organisation is Western Water Works has year is 2018",)


_TEXT = st.one_of(
    st.text(max_size=12),
    st.sampled_from([value for field in FIELDS.values() for value in field.values]),
    st.sampled_from(["FY2019", "Q2", "10-K", "harbor", "'; --", "%", "*", "2019-1", "-0", "9" * 400, "²", "١٩"]),
)
_CONDITION = st.builds(
    Condition,
    st.one_of(st.sampled_from(sorted(FIELDS)), st.text(alphabet=string.printable, max_size=6)),
    st.sampled_from(get_args(Operator)),
    st.lists(_TEXT, max_size=3).map(tuple),
)


@given(st.lists(_CONDITION, max_size=5))
def test_laws_of_filters(asked: list[Condition]) -> None:
    filtered = apply(FIELDS, asked, LIBRARY)
    assert filtered.documents and filtered.documents <= set(LIBRARY)
    assert len(filtered.conditions) + len(filtered.dropped) == len(asked)
    everyone = frozenset(LIBRARY)
    for condition in filtered.conditions:
        assert check(FIELDS, condition) == condition, "what was checked stays as it is"
        assert filtered.documents <= met(FIELDS, condition, LIBRARY)
        if condition.operator == "is":
            others = met(FIELDS, replace(condition, operator="is not"), LIBRARY)
            assert met(FIELDS, condition, LIBRARY) == everyone - others
    assert apply(FIELDS, filtered.conditions, LIBRARY) == replace(filtered, dropped=())
    fewer = apply(FIELDS, filtered.conditions[:-1], LIBRARY)
    assert filtered.documents <= fewer.documents, "a condition more never adds a document"


@given(st.sampled_from(["year", "budget"]), st.integers(-1, 3000))
def test_at_least_and_at_most_leave_no_gap(field: str, number: int) -> None:
    below, above = (
        met(FIELDS, Condition(field, operator, (str(number),)), LIBRARY) for operator in ("at most", "at least")
    )
    assert below | above == FIELDS[field].documents


def test_of_fields_a_model_sees_bounded_examples_those_near_the_question_first() -> None:
    many = held(
        *(document(f"d{n}", names=(f"Company {n} of the Valley",), years=(2000 + n % 20,)) for n in range(3000))
    )
    for tokens in (300, 1500):
        shown = table(fields_of(many).values(), read_question("What did Company 2718 earn?").terms, tokens)
        assert estimate(shown) <= tokens
        lines = dict(line.split(" (", 1) for line in shown.splitlines())
        assert '"Company 2718 of the Valley" 1' in lines["organisation"] and "3000 values" in lines["organisation"]
        assert '"2000" 150' in lines["year"]


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("What were the sales of Harbor & Pine in FY2018?", {"hp18"}),
        ("What were the sales of Harbor & Pine?", {"hp18", "hp19", "hp19q2"}),
        ("What does the quarterly report of Harbor & Pine for 2019 say of sales?", {"hp19q2"}),
        ("What did Western Water Works earn in 2018?", {"ww19"}),
        ("How much did they earn?", set(LIBRARY)),
    ],
)
def test_without_a_model_the_cards_make_the_filter(question: str, documents: set[str]) -> None:
    asked = read_question(question)
    routing = Router({doc_id: one.card for doc_id, one in LIBRARY.items()}).route(asked)
    filtered = apply(FIELDS, document_choice.card_conditions(asked, routing, LIBRARY), LIBRARY)
    assert filtered.documents == documents


def test_every_operator_is_met_by_no_document_outside_those_asked_about() -> None:
    some = {"hp18", "memo"}
    for operator, field in product(get_args(Operator), FIELDS.values()):
        checked = check(FIELDS, Condition(field.name, operator, tuple(field.values)))
        if isinstance(checked, Condition):
            assert met(FIELDS, checked, some) <= some
