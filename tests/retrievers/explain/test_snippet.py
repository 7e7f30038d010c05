"""Which lines of a page are shown, and where on it the match is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hybrid_core.text.tokens import tokenise
from retrievers.explain.passages import PassageTerms, best_passage


def best_window(
    text: str, query: dict[str, float], *, numeric: bool = False, headings: Sequence[int] = ()
) -> tuple[int, str]:
    passage = best_passage(text, PassageTerms(query), numeric=numeric, headings=headings)
    assert passage.mark in passage.text
    return passage.offset, passage.text


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
    assert best_window(page, {"minimum": 0.5, "purchas": 0.9, "oblig": 0.5}) == (offset, shown)  # by its shape alone


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


def test_a_snippet_begins_with_its_sentence() -> None:
    text = (
        "Nothing stands here. The keeper of the lighthouse\nreceives a pension of 900 crowns\nfor as long as he lives."
    )
    assert best_window(text, {"pension": 1.0})[1].startswith("The keeper of the lighthouse receives a pension of 900")
    far = "The keeper " + "who keeps the lamp " * 14 + "\nreceives a pension."
    assert best_window(far, {"pension": 1.0})[1] == "receives a pension."


def test_a_page_without_a_match_shows_its_beginning() -> None:
    assert best_window("One line.\n\nAnother.", {"owl": 1.0}) == (0, "One line. Another.")
    assert best_window("", {"owl": 1.0}) == best_window("", {}) == (0, "")


@pytest.mark.parametrize(
    ("asked", "line"),
    [("use", "Using both pumps"), ("party", "Ferrers Pty and the other parties"), ("1577", "It came to 1,577 in all"),
     ("2018", "The plan of FY18"), ("O'Brien", "Paid to O’Brien"), ("cafés", "CAFE"), ("GPT4", "The model GPT-4"),
     ("E-1047/B", "Part E-1047/B"), ("C++", "Built for C++"), ("9001:2015", "ISO 9001:2015"),
     ("https://a.example/x", "At https://a.example/x?y")],
)  # fmt: skip
def test_a_term_is_found_however_it_is_written(asked: str, line: str) -> None:
    filler = "Nothing of the kind is said on this line.\n" * 8
    query = dict.fromkeys(tokenise(asked), 1.0)
    assert set(query) <= set(tokenise(line))
    offset, shown = best_window(filler + line, query)
    assert line in shown and offset == len(filler)


def test_links_are_shown_as_they_are_read() -> None:
    page = (
        'See the [map of the pier](https://maps.example/zander/1 "Big Map") first.\n[map]: https://b.example/zander\n'
        + "Nothing of the kind is said on this line.\n" * 8
        + "[![a lamp](lamp-3.png)](lamps.html) The lamp of the [weir](#weir-7) is lit at nine."
    )
    offset, shown = best_window(page, {"weir": 1.0})
    assert shown == "a lamp The lamp of the weir is lit at nine." and offset == page.index("[![a lamp]")
    assert best_window(page, {"zander": 1.0}) == best_window(page, {"owl": 1.0})
    assert best_window(page, {"pier": 1.0})[1].startswith("See the map of the pier first. Nothing")


def test_a_long_line_with_links_is_cut_as_it_is_read() -> None:
    line = (
        "[Prices](https://a.example/prices?of=all) are net. " * 60 + "The [weir](w.md) opens at nine. " + "Why? " * 90
    )
    offset, shown = best_window(line, {"weir": 1.0})
    assert "The weir opens at nine." in shown and "example" not in shown and len(shown) <= 280
    assert offset <= line.index("[weir]") < offset + 6 * 280


_STATEMENT = """CONSOLIDATED STATEMENTS OF OPERATIONS
(in millions, except per share data)
Year Ended December 31,
2017  2018  2019
Net product sales  $  118,573  $  141,915  $  160,408
Net service sales  59,293  90,972  120,114
Total net sales  177,866  232,887  280,522
Operating expenses:
Cost of sales  111,934  139,156  165,536
Fulfillment  25,249  34,027  40,232
Technology and content  22,620  28,837  35,931
Marketing  10,069  13,814  18,878
Income before income taxes  3,806  11,261  13,976
Provision for income taxes  (769)  (1,197)  (2,374)
Net income  $  3,033  $  10,073  $  11,588"""


def _terms(question: str) -> dict[str, float]:
    return dict.fromkeys(tokenise(question), 1.0)


def test_a_row_of_a_table_is_shown_with_the_heads_of_its_columns() -> None:
    offset, shown = best_window(_STATEMENT, _terms("net income in the statement of operations"), numeric=True)
    assert shown == "Year Ended December 31, 2017 2018 2019 … Net income $ 3,033 $ 10,073 $ 11,588"
    assert offset == _STATEMENT.index("Net income")


def test_of_the_rows_after_it_those_that_match_are_shown_first() -> None:
    shown = best_window(_STATEMENT, _terms("cost of sales and provision for income taxes"))[1]
    assert shown.startswith("Year Ended December 31, 2017 2018 2019 … Cost of sales 111,934")
    assert "Provision for income taxes (769)" in shown and "Marketing" not in shown


def test_heads_may_stand_one_below_the_other_and_a_table_ends_with_its_prose() -> None:
    heads = "Three Months Ended  Change\nJuly 1,\n2023\nJune 25,\n2022\n"
    prose = "The Company sells to many and describes at length how it does so, in lines that are long.\n" * 3
    page = f"{heads}Tablets  5,791  7,224  (20)%\n{prose}Owls  11  12"
    assert best_window(page, _terms("tablets"))[1].startswith(
        "Three Months Ended Change July 1, 2023 June 25, 2022 Tablets 5,791 7,224 (20)%"
    )
    assert best_window(page, _terms("owls"))[1] == "Owls 11 12"


def test_rows_of_markdown_tables_have_their_heads_too() -> None:
    rows = "\n".join(f"| Pump {number} | {number * 17} |" for number in range(1, 60))
    page = f"# Stock\n\n| Item | Pieces |\n|---|---|\n{rows}\n"
    assert best_window(page, _terms("42"))[1].startswith("| Item | Pieces | … | Pump 42 | 714 |")
    assert best_window(page.split("|---|---|\n")[1], _terms("42"))[1].startswith("| Pump 42 | 714 |")


def test_a_name_over_two_lines_stays_with_its_figures() -> None:
    page = f"  2018  2017\n{'Inventories  57  58'}\nProceeds from sale of businesses, net of\ncash sold  846  1,065\n"
    assert best_window(page, _terms("cash sold"))[1] == (
        "2018 2017 … Proceeds from sale of businesses, net of cash sold 846 1,065"
    )
