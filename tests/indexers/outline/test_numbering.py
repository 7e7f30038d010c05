"""Numbering read from titles, and titles compared without it."""

from __future__ import annotations

import pytest

from indexers.outline.numbering import as_letter, bare, han_value, numbering, roman, split_number


@pytest.mark.parametrize(
    ("title", "kind", "value", "rest"),
    [
        ("Chapter IV: The harbour", "chapter", (4,), "The harbour"),
        ("PART II", "part", (2,), ""),
        ("Item 7A. Market risk", "item", (7,), "Market risk"),
        ("NOTE 5. Goodwill", "note", (5,), "Goodwill"),
        ("Note 12—Leases", "note", (12,), "Leases"),
        ("Article Three General", "article", (3,), "General"),
        ("2.1 Preparing the shaft", "decimal2", (2, 1), "Preparing the shaft"),
        ("2.1.3. Wiring", "decimal3", (2, 1, 3), "Wiring"),
        ("3. Results", "integer.", (3,), "Results"),
        ("1A. Risk Factors", "integer.", (1,), "Risk Factors"),
        ("3 | Results", "integer|", (3,), "Results"),
        ("3 Results", "integer", (3,), "Results"),
        ("IV. Debates", "roman-upper", (4,), "Debates"),
        ("C. Debates", "letter-upper", (3,), "Debates"),
        ("aa) Debates", "letter-double", (1,), "Debates"),
        ("(b) Debates", "bracket-lower", (2,), "Debates"),
        ("第十二章 附则", "han-章", (12,), "附则"),
        ("§ 14 Zweck", "par", (14,), "Zweck"),
        ("제3장 총칙", "han-章", (3,), "총칙"),
        ("제12조(목적)", "han-条", (12,), "(목적)"),
        ("附录A 安装", "appendix", (1,), "安装"),
        ("付録 B 概要", "appendix", (2,), "概要"),
        ("Приложение Б. Разное", "appendix", (2,), "Разное"),
        ("Annexe D Divers", "annex", (4,), "Divers"),
        ("Appendix C: Data", "appendix", (3,), "Data"),
        ("Hoofdstuk 2 Havens", "chapter", (2,), "Havens"),
        ("Rozdział 7. Wyniki", "chapter", (7,), "Wyniki"),
        ("CAPÍTULO PRIMERO Objeto", "chapter", (1,), "Objeto"),
        ("Título II Derechos", "title", (2,), "Derechos"),
        ("Kapitel 3 Häfen", "chapter", (3,), "Häfen"),
        ("Chapter Twenty-Two The pool", "chapter", (22,), "The pool"),
        ("CHAPTER TWENTYTWO", "chapter", (22,), ""),
        ("Section 3.2 Scope", "section", (3, 2), "Scope"),
        ("ΚΕΦΑΛΑΙΟ 2 Λιμένες", "chapter", (2,), "Λιμένες"),
        ("ΜΕΡΟΣ Β. Λιμένες", "part", (2,), "Λιμένες"),
        ("附录C 数据", "appendix", (3,), "数据"),
        ("付録 D 概要", "appendix", (4,), "概要"),
        ("Appendix M Data", "appendix", (13,), "Data"),
        ("CHAPTER L. Home", "chapter", (50,), "Home"),
        ("CHAPTER C. Home", "chapter", (100,), "Home"),
        ("Chapter iii Introduction", "chapter", (3,), "Introduction"),
        ("annex b: data", "annex", (2,), "data"),
    ],
)
def test_numbering(title: str, kind: str, value: tuple[int, ...], rest: str) -> None:
    found = numbering(title)
    assert found is not None
    assert (found.kind, found.value) == (kind, value)
    assert title[found.end :] == rest


def test_a_plural_is_no_number() -> None:
    assert numbering("Notes to Financial Statements") is None and numbering("Parts and controls") is None


@pytest.mark.parametrize(
    "title",
    [
        "del 1 de enero",
        "Parte del todo",
        "Ekonomi 3",
        "제조업 현황",
        "Partial results",
        "Itemised list",
        "A bird in the hand",
        "1,200 crates",
        "In brief",
        "2024 results",
        "Teil a und b",
        "Partie il y a dix ans, elle revint.",
        "Título y autor",
        "Parte il treno alle otto.",
        "Parte l'aereo",
        "Приложение к приказу",
        "Статья о погоде",
        "Часть и целое",
        "Artykuł o pogodzie",
        "Kapitola v knize",
        "Artikel i Dagens Nyheter",
        "Kapitel vi skrev",
        "Section civil engineering",
    ],
)
def test_words_are_not_numbering(title: str) -> None:
    assert numbering(title) is None


def test_roman_and_chinese_values() -> None:
    assert [roman(text) for text in ("i", "iv", "xiv", "XLII", "abc")] == [1, 4, 14, 42, 0]
    assert [han_value(text) for text in ("三", "十", "十二", "二十", "二百三十一", "一千零五", "15", "７")] == [
        3, 10, 12, 20, 231, 1005, 15, 7,
    ]  # fmt: skip


def test_a_single_roman_letter_may_be_a_letter() -> None:
    letter = as_letter("I. Penalties")
    assert letter is not None
    assert (letter.kind, letter.value) == ("letter-upper", (9,))
    assert as_letter("II. Penalties") is None


def test_bare_titles_are_equal_whatever_their_numbering_and_typography() -> None:
    assert bare("2.1  The Keeper’s Book") == bare("Section 4: the keeper's book") == "thekeepersbook"
    assert bare("IV.") == "iv"


def test_two_lines_make_a_number() -> None:
    pairs = [
        ("CHAPTER", "THREE"),
        ("Appendix", "A"),
        ("Kapitel", "12"),
        ("第", "三"),
        ("Chapter two", "A"),
        ("Note", "on"),
    ]
    numbers = [split_number(*pair) for pair in pairs]
    assert [(number.kind, number.value) for number in numbers if number] == [
        ("chapter", (3,)), ("appendix", (1,)), ("chapter", (12,)),
    ]  # fmt: skip
    assert numbers[3:] == [None, None, None]
