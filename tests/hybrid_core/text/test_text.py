"""The one tokeniser, by its stated rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.text import tokens
from hybrid_core.text.markup import Offsets, hidden, visible


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("Capital expenditures", ["capit", "expenditur"]),
        ("the company's and", ["compani"]),
        ("$1,577.00 and 8.70", ["1577", "8.7"]),
        ("FY18 FY2018 FY'97 fy 21", ["2018", "2018", "1997", "2021"]),
        ("section 2.4.1", ["section", "2.4.1"]),
        ("inter-\nnational", ["internat"]),
        ("10-K", ["10", "10k"]),  # a lone letter says nothing, the whole does
        ("V34Z0Q", ["34", "0", "v34z0q"]),
        ("0x34F0", ["0", "34", "0", "0x34f0"]),
        ("E-1047/B", ["1047", "e1047/b", "e1047"]),
        ("ISO 9001:2015", ["iso", "9001", "2015", "9001:2015"]),
        ("C++, C# and § 312g", ["c++", "c#", "312", "312g"]),
        ("RFC-2119 RFC2119", ["rfc", "2119", "rfc2119"] * 2),  # a hyphen before a digit says nothing
        ("user_id np.float32", ["user", "id", "user_id", "np", "float", "32", "np.float32", "float32"]),
        ("CVE-2021-44228", ["cve", "2021", "44228", "cve2021-44228"]),
        ("(EU) 2016/679 v34/v35", ["eu", "2016", "679", "2016/679", "34", "35", "v34/v35", "v34", "v35"]),
        ("Größe_2", ["gross", "2", "grosse_2"]),
        ("使用V34Z型", ["使用", "34", "v34z", "型"]),
        ("well-known 10-year-old and/or U.S. e.g.", ["well", "known", "10", "year", "old"]),
        ("2023-05-01 1/2/2024 10:30 2019/20 10-15 24/7", "2023 05 01 1 2 2024 10 30 2019 20 10 15 24 7".split()),
        ("1,234.50 10km 3rd 1990s Q3", ["1234.5", "10", "km", "3", "rd", "1990", "3"]),
        ("see https://www.corvane.example/a/b?x=1#y, please", ["see", "corvane.example/a/b", "pleas"]),
        ('[the guide](https://a.example/pier "Big Map")s ![a chart](chart-7.png)', ["guid", "chart"]),
        ("<https://a.example/x>\n[1]: https://b.example/y\n[^1]: a note", ["a.example/x", "1", "note"]),
        ("table[key](event)", ["tabl", "key", "event"]),  # code is no link
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
    for piece in ("a1-", "](", "[", "[](", "](<", "[a]:\n", "http://", "a_1.", "1:", "++", "[a](b "):
        tokens.tokenise(piece * 100_000)


@given(st.text(alphabet="aV1_-./:+#[]()<>\"' \n中", max_size=60))
def test_terms_and_words_of_any_signs_agree(written: str) -> None:
    terms = tokens.tokenise(written)
    assert [term for term, _ in tokens.written_terms(written)] == terms
    assert tokens.word_hashes(written) == [tokens.term_hash(term) for term in terms if not tokens.is_number(term)]
    assert visible(written).count("\n") == written.count("\n")


def test_places_in_a_visible_text_are_found_in_its_source() -> None:
    source = "[One](a.md) and ![two](b.png)\n[x]: c.md\n[![three](d.png)](e.md) end"
    shown, at = visible(source), Offsets(hidden(source)).source
    assert shown == "One and two\n\nthree end"
    assert [source[at(shown.index(word)) :].lstrip("![")[:3] for word in ("One", "two", "thr", "end")] == [
        "One", "two", "thr", "end",
    ]  # fmt: skip
    assert at(0) == 0 and source[at(shown.index("end")) - 1] == " "


def test_numbers_and_years() -> None:
    assert tokens.is_year("2018") and not tokens.is_year("1577") and not tokens.is_year("20189")
    assert tokens.is_number("1577") and not tokens.is_number("2018") and not tokens.is_number("sale")


def test_unreadable_text_is_recognised() -> None:
    assert not tokens.readable("\ue001\ue002\ue003 \ue004 ab")
    assert tokens.readable("Zürich, 中文, العربية")
    assert not tokens.readable("   ")
