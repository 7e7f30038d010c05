"""Names and years that stand on most pages: what a document is about where its file and its cover do not say it."""

from __future__ import annotations

import os
import subprocess
import sys

from hybrid_core.cards.card import read_card
from hybrid_core.cards.cover import recurring_names, running_years
from hybrid_core.types.documents import Card
from retrievers.candidates.router import Router
from retrievers.query.question import read_question

HASH = "9f2c4e1ab07d.pdf"


def pages(name: str, foot: str, many: int = 12) -> list[str]:
    """Pages that speak of ``name``, with a running foot."""
    said = [
        f"The dividend was declared by {name} for holders in Section {page}.\nSource: management\n{foot} {page}"
        for page in range(1, many + 1)
    ]
    return ["Results for the year", *said]


def test_the_name_that_most_pages_hold_is_found_and_labels_are_not() -> None:
    assert recurring_names(pages("Tarrowgate", "Interim statement")) == ["Tarrowgate"]


def test_names_of_several_words_are_one_name() -> None:
    assert recurring_names(pages("Mira Bellweather Trust", "p.")) == ["Mira Bellweather Trust"]


def test_a_word_that_is_common_in_lower_case_is_no_name() -> None:
    texts = [f"{page}\nagreed by Landlord and by the landlord of each house" for page in pages("Tarrowgate", "p.")]
    assert recurring_names(texts) == ["Tarrowgate"]


def test_few_pages_say_nothing() -> None:
    assert recurring_names(pages("Tarrowgate", "p.", many=1)) == []
    assert recurring_names([]) == [] and running_years([]) == []


def test_the_year_of_the_running_foot_is_the_card_s_where_nothing_else_says_one() -> None:
    texts = pages("Tarrowgate", "Tarrowgate Yearbook 2022  |")
    assert running_years(texts) == [2022]
    assert read_card(HASH, {}, "", texts).years == (2022,)


def test_a_card_with_a_name_of_its_own_takes_none_that_recurs() -> None:
    texts = ["Annual Report\nOrrin Vale Holdings, Inc.\n(Exact name of registrant as specified in its charter)"]
    assert read_card("orrin_vale_10K.pdf", {}, "", texts + pages("Tarrowgate", "p.")).recurring == ()


def routed(question: str, cards: dict[str, Card]) -> list[str]:
    scores = Router(cards).route(read_question(question)).scores
    return sorted(scores, key=lambda doc: -scores[doc])


def dated(name: str) -> Card:
    return read_card(f"{name}_2022_annual_report.pdf", {}, "", [f"{name.title()}\nAnnual report 2022"])


def test_a_name_on_most_pages_outweighs_the_year_on_other_cards() -> None:
    cards = {"hash": read_card(HASH, {}, "", pages("Tarrowgate", "p."))}
    cards |= {name: dated(name) for name in ("ORRINVALE", "BELLWEATHER", "QUENSTED")}
    assert routed("What dividends were paid by Tarrowgate in 2022?", cards)[0] == "hash"
    assert routed("What dividends were paid in 2022?", cards)[0] != "hash"


def test_a_name_that_many_documents_hold_tells_none_of_them() -> None:
    cards = {f"hash{n}": read_card(f"{n}9f2c4e1ab07d.pdf", {}, "", pages("Tarrowgate", "p.")) for n in range(5)}
    cards |= {name: dated(name) for name in ("ORRINVALE", "BELLWEATHER")}
    assert routed("What dividends were paid by Tarrowgate in 2022?", cards)[0] in ("ORRINVALE", "BELLWEATHER")


def test_a_name_that_another_document_is_called_by_stays_that_document_s() -> None:
    cards = {"hash": read_card(HASH, {}, "", pages("Orrinvale", "p.")), "own": dated("ORRINVALE")}
    assert routed("What dividends were paid by Orrinvale in 2022?", cards)[0] == "own"


def test_documents_that_share_a_recurring_name_are_told_apart_by_their_years() -> None:
    cards = {
        str(year): read_card(
            f"{year % 7}ab07d9f2c4e1.pdf", {}, "", pages("Tarrowgate", f"Tarrowgate Yearbook {year}  |")
        )
        for year in (2020, 2021, 2022)
    }
    assert routed("What dividends were paid by Tarrowgate in 2021?", cards)[0] == "2021"


def test_names_that_stand_equally_often_are_in_one_order_in_every_process() -> None:
    text = "We hear of Alder and of Birch, as of Cedar and of Damson, told by Elder, by Fern and by Gorse."
    code = f"from hybrid_core.cards.cover import recurring_names; print(recurring_names([{text!r}] * 6))"
    seeds = ({**os.environ, "PYTHONHASHSEED": seed} for seed in "123")
    printed = {subprocess.check_output([sys.executable, "-c", code], env=env, text=True) for env in seeds}
    assert len(printed) == 1 and "Alder" in printed.pop()
