"""The one tokeniser, by its stated rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text import tokens


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("Capital expenditures", ["capit", "expenditur"]),
        ("the company's and", ["compani"]),
        ("$1,577.00 and 8.70", ["1577", "8.7"]),
        ("FY18 FY2018 FY'97 fy 21", ["2018", "2018", "1997", "2021"]),
        ("section 2.4.1", ["section", "2.4.1"]),
        ("inter-\nnational", ["internat"]),
        ("10-K", ["10"]),  # a lone letter says nothing
        ("Café RÉSUMÉ", ["cafe", "resum"]),
        ("ﬁnance oﬀer", ["financ", "offer"]),
        ("１２３ ＡＢＣ", ["123", "abc"]),
        ("第五十四条", ["第五", "五十", "十四", "四条"]),
        ("法", ["法"]),
        ("データ分析", ["デー", "ータ", "タ分", "分析"]),
        ("الإيرادات", ["الإيرادات"]),
        ("", []),
        ("… — ®", []),
    ],
)
def test_terms(written: str, terms: list[str]) -> None:
    assert tokens.tokenise(written) == terms


@given(st.text(max_size=300))
def test_any_text_gives_terms_that_are_found_again(written: str) -> None:
    terms = tokens.tokenise(written)
    assert all(term and not term.isspace() for term in terms)
    assert tokens.tokenise(written.upper()) is not None
    for term in terms:
        assert 0 <= tokens.term_hash(term) < 2**32


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs"]), max_size=200))
def test_cleaning_twice_changes_nothing(written: str) -> None:
    once = tokens.clean(written)
    assert tokens.clean(once) == once
    assert "  " not in once and "\u00a0" not in once and "\u00ad" not in once


def test_no_break_spaces_do_not_join_words() -> None:
    assert tokens.tokenise(tokens.clean("net\u00a0sales\u2009grew")) == ["net", "sale", "grew"]


def test_a_large_text_takes_linear_time() -> None:
    """What took the square of it would not end within the time limit of a test."""
    tokens.tokenise("a-\n" * 100_000 + "1," * 100_000 + "x'" * 100_000 + "中" * 100_000)


def test_numbers_and_years() -> None:
    assert tokens.is_year("2018") and not tokens.is_year("1577") and not tokens.is_year("20189")
    assert tokens.is_number("1577") and not tokens.is_number("2018") and not tokens.is_number("sale")


def test_unreadable_text_is_recognised() -> None:
    assert not tokens.readable("\ue001\ue002\ue003 \ue004 ab")
    assert tokens.readable("Zürich, 中文, العربية")
    assert not tokens.readable("   ")
