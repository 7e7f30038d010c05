"""Years, quarters and dates read out of running text and file names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text.periods import (
    days_between,
    find_periods,
    fiscal_year,
    period_end,
    quarter_ended,
    quarter_of,
    quarters_reported,
)


def read(text: str) -> list[tuple[int, int | None, str | None]]:
    return [(m.period.year, m.period.quarter, m.period.date) for m in find_periods(text)]


@pytest.mark.parametrize(
    "text",
    ["FY2018", "FY 2018", "FY18", "FY'18", "fiscal 2018", "fiscal year 2018", "financial year 2018", "FYE 2018"],
)
def test_fiscal_years(text: str) -> None:
    mentions = list(find_periods(f"What was the margin in {text}?"))
    assert [(m.period.year, m.fiscal) for m in mentions] == [(2018, True)]


def test_a_bare_year_is_not_called_fiscal() -> None:
    assert [(m.period.year, m.fiscal) for m in find_periods("growth in 2018")] == [(2018, False)]


@pytest.mark.parametrize(
    "text",
    [
        "Q2 2023", "2023Q2", "2023 Q2", "2023-Q2", "Q22023", "Q2'2023", "Q2 of FY2023", "Q2 FY23", "2Q23", "2Q 2023",
        "FY2023Q2", "second quarter of 2023", "second fiscal quarter of 2023", "second-quarter 2023",
        "2nd quarter of FY 2023", "second quarter of fiscal year 2023", "H1 FY2023",
        "1H23", "first half of 2023", "2023年第二季度", "2023年上半年",
    ],
)  # fmt: skip
def test_quarters_and_halves(text: str) -> None:
    assert read(f"As of {text}, what changed?") == [(2023, 2, None)]


def test_a_quarter_without_a_year() -> None:
    assert read("in the third quarter") == [(0, 3, None)]


@pytest.mark.parametrize(
    "text",
    [
        "July 1, 2022", "1 July 2022", "1st July 2022", "the 1st day of July, 2022", "Jul. 1, 2022", "2022-07-01",
        "07/01/2022", "07_01_2022", "20220701", "2022年7月1日", "二〇二二年7月1日",
    ],
)  # fmt: skip
def test_dates(text: str) -> None:
    assert read(f"dated {text} and filed") == [(2022, None, "2022-07-01")]


def test_day_first_where_it_can_be_nothing_else() -> None:
    assert read("25/12/2020") == [(2020, None, "2020-12-25")]


@pytest.mark.parametrize(
    "text",
    [
        "$2,018",
        "2018.5 points",
        "12018",
        "20185",
        "2018%",
        "room 1877",
        "the year 2100",
        "version 1.2018",
        "may be",
        "Q5 2020",
    ],
)
def test_other_numbers_are_no_years(text: str) -> None:
    assert [p for p in read(text) if p[:2] != (2020, None)] == []


def test_impossible_dates_are_left_out() -> None:
    assert read("31 February 2020 and 2021-02-30") == []


def test_mentions_say_where_they_stand() -> None:
    text = "from FY2018 to Q3 of FY2020, net"
    assert [text[m.start : m.end] for m in find_periods(text)] == ["FY2018", "Q3 of FY2020"]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("For the fiscal year ended June 30, 2018\nCommission", "2018-06-30"),
        ("For the quarterly period ended\nMarch 31, 2021", "2021-03-31"),
        ("the thirteen weeks ended 29 July 2023", "2023-07-29"),
        ("截至2020年12月31日止年度", "2020-12-31"),
        ("founded on May 5, 1990; revenue ended lower", None),
    ],
)
def test_period_end(text: str, end: str | None) -> None:
    assert period_end(text) == end


@pytest.mark.parametrize(
    ("text", "quarters"),
    [
        ("For the Three and Six\nMonths Ended June 30, 2023", [2]),
        ("thirty-nine weeks ended; 13 Weeks  Ended", [3, 1]),
        ("12 weeks ended, 24 weeks ended, 36 Weeks Ended", [1, 2, 3]),
        ("53 weeks then ended and twelve-month periods ended", [4, 4]),
        ("one month ended; two years ended; 9 days ended; 60 weeks ended; 0 weeks ended", []),
    ],
)
def test_the_quarters_that_a_report_covers(text: str, quarters: list[int]) -> None:
    assert quarters_reported(text) == quarters


@pytest.mark.parametrize(
    ("end", "quarter", "calendar", "fiscal"),
    [
        ("2022-12-31", 2, 4, 2023),  # the year ends in June
        ("2023-07-02", 2, 2, 2023),  # weeks that run over the end of June; the year ends in December
        ("2023-07-29", 2, 3, 2024),  # the year ends in January
        ("2022-12-31", 1, 4, 2023),
        ("2023-01-01", 4, 4, 2022),
    ],
)
def test_the_year_and_quarter_in_which_a_report_ends(end: str, quarter: int, calendar: int, fiscal: int) -> None:
    assert quarter_ended(end) == calendar
    assert fiscal_year(end, quarter) == fiscal


def test_quarters_and_days_of_dates() -> None:
    assert [quarter_of(f"2020-{month:02d}-15") for month in (1, 3, 4, 9, 10, 12)] == [1, 1, 2, 3, 4, 4]
    assert days_between("2020-02-28", "2020-03-01") == 2
    assert days_between("2020-03-01", "2020-02-28") == -2


@given(st.text(alphabet="FYq1234567890 fiscal'-/.,年月日季第二the of", max_size=200))
def test_never_fails_and_mentions_are_ordered(text: str) -> None:
    position = 0
    for mention in find_periods(text):
        assert position <= mention.start < mention.end <= len(text)
        position = mention.end


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["in the fiscal ", "2018 ", "second  ", "1 day of ", "Q2 of the ", "a", "一"])
def test_time_grows_with_length_only(piece: str) -> None:
    """What took the square of it would not end within the time limit of a test."""
    text = piece * (300_000 // len(piece))
    list(find_periods(text))
