"""Dates, amounts, tables and figures that documents state, and what only looks like one."""

from __future__ import annotations

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.documents.facts import captions_of, dates_of


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Signed on March 1, 2024, and again on 2 Apr. 2024.", ["2024-03-01", "2024-04-02"]),
        ("This 5th day of May, 2019", ["2019-05-05"]),
        ("am 3. März 2021 und am 04.05.2021", ["2021-03-03", "2021-05-04"]),
        ("le 1er février 2001, el 3 de mayo de 2002", ["2001-02-01", "2002-05-03"]),
        ("自2008年1月1日起施行，2012年12月修正", ["2008-01-01", "2012-12"]),
        ("In July 2020 it was 2020-08-09.", ["2020-07", "2020-08-09"]),
        ("30 February 2020, 2021-13-01, 31.04.2021", []),
        ("03/04/2024, version 1.2.2020.3, 10.1.2024.5, May 12, March 7", []),
        ("It may 2000 times march 2001 miles, page 12 of 1999; May 2000", ["2000-05"]),
        ("", []),
        ("1 " * 20_000 + "January " * 9_000 + "2020", ["2020-01"]),
    ],
)
def test_dates_have_one_form(text: str, dates: list[str]) -> None:
    assert [date for date, *_ in dates_of(text)] == dates


@pytest.mark.parametrize(
    ("line", "kind", "title"),
    [
        ("Table 3: Net sales by region", "table", "Table 3: Net sales by region"),
        ("Figure 2.1 – The pump", "figure", "Figure 2.1: The pump"),
        ("TABLE IV. Results", "table", "TABLE IV: Results"),
        ("Abb. 7: Die Halle", "figure", "Abb. 7: Die Halle"),
        ("表 2 各年产量", "table", "表 2: 各年产量"),
        ("Exhibit 4: Market shares", "figure", "Exhibit 4: Market shares"),
    ],
)
def test_captions_of_tables_and_figures(line: str, kind: str, title: str) -> None:
    assert [(each, text) for _, each, text in captions_of(["Text before it.", line])] == [(kind, title)]


@pytest.mark.parametrize(
    "line",
    [
        "Figure 3 shows that the pump is new.",
        "Table 1: Net sales by region ........ 12",
        "Exhibit 10.3: Lease",
        "Tables are made of wood.",
        "Map of the harbour",
        "",
    ],
)
def test_lines_that_are_no_captions(line: str) -> None:
    assert list(captions_of([line, "More text follows."])) == []


REPORT = """# Harbour report

List of figures

Figure 1: The quay ..... 3

Acme Inc. was founded on 4 May 1998. It moved on 1 June 2001, and was sold on 4 May 1998.

# Costs

The costs of the quay were $4.2 million in 2001.

| Part | Crowns |
| --- | --- |
| Piles | 1,200 |
| Stones | 2,300 |
| Cranes | 3,400 |

Figure 1: The quay from the sea
"""


def test_facts_of_a_document(engine: Engine) -> None:
    run(engine.index(REPORT.encode(), name="harbour.md"))
    facts = run(engine.documents.facts("harbour.md"))
    assert [(each.date, each.mentions) for each in facts.dates] == [("1998-05-04", 2), ("2001-06-01", 1)]
    assert facts.dates[0].text == "Acme Inc. was founded on 4 May 1998."
    assert any("$4.2 million" in each.text for each in facts.amounts)
    titles = [(each.kind, each.title) for each in facts.exhibits]
    assert ("figure", "Figure 1: The quay from the sea") in titles and len(titles) == 2, titles
    assert all(1 <= each.page <= facts.pages_read for each in (*facts.dates, *facts.amounts, *facts.exhibits))
