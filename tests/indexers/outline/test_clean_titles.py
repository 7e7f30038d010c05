"""Titles are shown as people write them, whatever the page draws; titles that only look alike stay."""

from __future__ import annotations

import pytest

from indexers.outline.heading import clean_title, continues


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        # drawn twice or three times
        ("1.2 Scope 1.2 Scope", "1.2 Scope"),
        ("RISK RISK FACTORS FACTORS", "RISK FACTORS"),
        ("IInnttrroodduuccttiioonn", "Introduction"),
        ("44..22 RReessuullttss ooff TTeessttss", "4.2 Results of Tests"),
        ("Glossary Glossary Glossary", "Glossary"),
        ("公司概况公司概况", "公司概况"),
        ("第一章 总则 第一章 总则", "第一章 总则"),
        # letter-spaced
        ("1.  I N T R O D U C T I O N", "1. INTRODUCTION"),
        ("Ü B E R S I C H T", "ÜBERSICHT"),
        ("С О Д Е Р Ж А Н И Е", "СОДЕРЖАНИЕ"),
        ("目 录", "目录"),
        ("前　言", "前言"),
        ("P A R T  I I", "PART II"),
        # page numbers
        ("前言……1", "前言"),
        ("はじめに・・・・・・・・3", "はじめに"),
        ("Overview ‥‥‥‥‥ 12", "Overview"),
        ("Summary - - - - - - - 9", "Summary"),
        ("Risk Factors\t17", "Risk Factors"),
        ("Introduction | 12", "Introduction"),
        ("12 | Introduction", "Introduction"),
        ("Overview (page 12)", "Overview"),
        # broken words
        ("Long- Term Debt", "Long-Term Debt"),
        ("NON- GAAP MEASURES", "NON-GAAP MEASURES"),
        ("Infor\u00ad mation und Recht", "Information und Recht"),
        ("Organi\u00adsation", "Organisation"),
        # marks that are no part of a title
        ("\uf0b7 Overview", "Overview"),
        ("■ Our strategy", "Our strategy"),
        ("\u200bScope\ufeff of work", "Scope of work"),
        ("Results\xa0of\xa0operations", "Results of operations"),
    ],
)
def test_titles_lose_what_only_the_page_shows(written: str, clean: str) -> None:
    assert clean_title(written) == clean


@pytest.mark.parametrize(
    "title",
    [
        "Baden Baden", "Bora Bora", "Yo Yo", "Committee", "Bookkeeping", "AA Batteries", "1100 Assets", "11 22",
        "A B testing", "Vitamin A", "Windows 11", "Figures for 2024", "Form 10-K", "2 | 3", "Article 12",
        "e e cummings", "Pre- and post-war years", "Q & A", "이 책", "人人", "See page 12", "Title-page", "C++ | Rust",
        "... and beyond", "A - B", "第 3 章", "AAA", "WWW", "20 | 20 vision",
    ],
)  # fmt: skip
def test_titles_that_look_alike_stay(title: str) -> None:
    assert clean_title(title) == title


@pytest.mark.parametrize(
    ("title", "earlier"),
    [
        ("Notes, continued", "Notes"),
        ("NOTES (CONTINUED FROM PAGE 3)", "NOTES"),
        ("Balance Sheets (Cont.)", "Balance Sheets"),
        ("Debt (contd)", "Debt"),
        ("Bilancio (segue)", "Bilancio"),
        ("Bericht (Forts.)", "Bericht"),
        ("Balance (continuación)", "Balance"),
        ("资产负债表（续表）", "资产负债表"),
        ("賃借対照表（つづき）", "賃借対照表"),
        ("Notes (concluded)", "Notes"),
        ("We continued", ""),
        ("Operations discontinued", ""),
        ("Dance suite", ""),
    ],
)
def test_a_title_that_carries_another_on_says_which_in_any_form(title: str, earlier: str) -> None:
    assert continues(title) == earlier
