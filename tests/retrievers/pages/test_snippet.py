"""Which lines of a page are shown, and where on it the match is."""

from __future__ import annotations

import pytest

from hybrid_core.text.tokens import tokenise
from retrievers.pages.snippet import best_window

_PAGE = """Spare parts end here; a purchase needs an agreement.
13. Prices
All prices are net of tax.
14. Minimum purchase
The buyer takes forty units a year.
15. Payment terms
Sixty days after each delivery."""
_HEADINGS = [_PAGE.index(title) for title in ("13. ", "14. ", "15. ")]


def test_the_match_is_in_the_part_that_holds_most() -> None:
    query = {"minimum": 1.0, "purchas": 1.0, "agreement": 0.1}
    offset, shown = best_window(_PAGE, query, headings=_HEADINGS)
    assert shown.startswith("Spare parts") and "forty units" in shown
    assert offset == _PAGE.index("14. Minimum")


def test_a_heading_is_shown_with_the_text_after_it() -> None:
    before = "The minimum is told further below. " + "Nothing of the kind follows on this line. " * 5
    page = f"{before}\nObligation to purchase\n{'The buyer takes forty units in each year of the term.'}\n"
    offset, shown = best_window(page, {"minimum": 0.5, "purchas": 0.9, "oblig": 0.5}, headings=[len(before) + 1])
    assert shown.startswith("Obligation to purchase The buyer takes forty units")
    assert offset == len(before) + 1
    assert best_window(page, {"minimum": 0.5, "purchas": 0.9, "oblig": 0.5})[1].startswith("The minimum")


def test_figures_are_preferred_where_a_number_is_asked_for() -> None:
    filler = "Nothing of the kind is said on this line. " * 7
    page = f"Net sales are told below.\n{filler}\nNet sales: 418.2 million"
    query = {"net": 1.0, "sale": 1.0}
    assert best_window(page, query)[1].startswith("Net sales are told")
    assert best_window(page, query, numeric=True)[1] == "Net sales: 418.2 million"


def test_a_line_without_end_is_shown_where_it_matches() -> None:
    line = "Prices are net. " * 300 + "The weir opens at nine in FY18. " + "Nobody knows why. " * 300
    offset, shown = best_window(line, {"weir": 1.0, "2018": 1.0})
    assert "weir opens at nine in FY18" in shown and len(shown) <= 280
    assert offset <= line.index("weir") < offset + 280


def test_a_page_without_a_match_shows_its_beginning() -> None:
    assert best_window("One line.\n\nAnother.", {"owl": 1.0}) == (0, "One line. Another.")
    assert best_window("", {"owl": 1.0}) == best_window("", {}) == (0, "")


@pytest.mark.parametrize(
    ("asked", "line"),
    [("use", "Using both pumps"), ("party", "Ferrers Pty and the other parties"), ("1577", "It came to 1,577 in all"),
     ("2018", "The plan of FY18"), ("O'Brien", "Paid to O’Brien"), ("cafés", "CAFE")],
)  # fmt: skip
def test_a_term_is_found_however_it_is_written(asked: str, line: str) -> None:
    filler = "Nothing of the kind is said on this line.\n" * 8
    query = dict.fromkeys(tokenise(asked), 1.0)
    assert set(query) <= set(tokenise(line))
    offset, shown = best_window(filler + line, query)
    assert line in shown and offset == len(filler)
