"""Document cards, with invented organisations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_core.cards.card import read_card
from hybrid_core.cards.corrections import card_from_json, card_to_json, corrected_card
from hybrid_core.cards.document_types import document_types, finder, type_by_ending
from hybrid_core.text.names import is_named, name_key, name_words
from hybrid_core.types.documents import Card

ANNUAL = """UNITED STATES
FORM 10-K
ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d)
For the fiscal year ended June 30, 2021
HARBOR & PINE
FOODS, INC.
(Exact name of registrant as specified in its charter)
Delaware  12-3456789
Title of each class  Trading symbol(s)  Name of each exchange on which registered
Common Stock  HPFD  New York Stock Exchange
"""
AGREEMENT = """Exhibit 10.4
RESELLER AGREEMENT
This Reseller Agreement (the "Agreement") is made as of March 3, 2015 by and between
Quillfeather Systems, Inc. ("Quillfeather") and International Lantern Makers Ltd. ("ILM"), a company under
the laws of England. WHEREAS, the Company wishes to sell; and a Nevada Corporation may join.
"""


def card(name: str, page: str = "", title: str = "", **metadata: str) -> Card:
    return read_card(name, metadata, title, [page] if page else [])


def test_an_annual_report_by_its_cover() -> None:
    found = card("scan0001.pdf", ANNUAL)
    assert found.type == "annual report"
    assert found.years == (2021,)
    assert found.date == "2021-06-30"
    assert found.symbols == ("HPFD",)
    assert "FOODS, INC." in found.names[-1]


INTERIM = """FORM 10-Q
QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d)
For the quarterly period ended December 31, 2022
HARBOR & PINE FOODS, INC.
(Exact name of registrant as specified in its charter)
"""


def test_a_quarter_is_of_the_fiscal_year_that_the_statements_count_from() -> None:
    statements = "Three Months Ended  Six Months Ended\nDecember 31\nRolling twelve months ended December 31"
    found = read_card("scan.pdf", {}, "", [INTERIM, "Contents", "", "", "", statements])
    assert (found.years, found.quarter, found.date) == ((2023, 2022), 2, "2022-12-31")
    assert card("scan.pdf", INTERIM).quarter == 4  # nothing but the date says which
    assert card("HARBORPINE_2022Q4_10Q.pdf", INTERIM).years == (2022,)


@pytest.mark.parametrize(
    ("page", "type_name", "years", "quarter"),
    [
        ("Harbor Pine Reports First-Quarter 2023\nResults; Raises Guidance", "earnings release", (2023,), 1),
        (
            "FOR IMMEDIATE RELEASE\nHarbor Pine today announced results for second-\nquarter 2023.",
            "earnings release",
            (2023,),
            2,
        ),
        ("FOR IMMEDIATE RELEASE\nHarbor Pine opens a shop in March 2023.", "press release", (), None),
        (
            "Harbor Pine Reports First Quarter Results\nThree Months Ended and Twelve Months Ended March 31, 2023",
            "earnings release",
            (2023,),
            1,
        ),
        ("Harbor Pine Announces 2022 Annual Meeting Voting Results", "", (), None),
        ("Item 5. The registrant reports to its board each quarter. Its results vary.", "", (), None),
        ("Harbor Pine Annual Report 2023 Financial Results", "annual report", (), None),
    ],
)
def test_a_release_is_known_by_its_headline(
    page: str, type_name: str, years: tuple[int, ...], quarter: int | None
) -> None:
    found = card("scan.pdf", page)
    assert (found.type, found.years, found.quarter) == (type_name, years, quarter)


def test_the_name_above_the_label_may_break_before_its_legal_form() -> None:
    found = card("x.pdf", "TANGERINE\nPLC\n(Exact name of registrant as specified in its charter)")
    assert "TANGERINE PLC" in found.names


@pytest.mark.parametrize(
    ("name", "subject", "years", "quarter", "type_name"),
    [
        ("HARBORPINE_2019_10K.pdf", "HARBORPINE", (2019,), None, "annual report"),
        ("Harbor_Pine_2023Q2_10Q.pdf", "Harbor Pine", (2023,), 2, "quarterly report"),
        ("2022 Q3 HPFD.pdf", "HPFD", (2022,), 3, ""),
        (
            "HarborPineInc_20190920_S-1_EX-10.12_11817081_Supply Agreement2.pdf",
            "Harbor Pine Inc",
            (2019,),
            None,
            "agreement",
        ),
        ("HARBORPINE_2022_8K_dated-2022-07-01.pdf", "HARBORPINE", (2022,), None, "current report"),
        ("HARBORPINE_2023Q4_EARNINGS.pdf", "HARBORPINE", (2023,), 4, "earnings release"),
        ("Zephyr 9000 user manual.pdf", "Zephyr 9000", (), None, "manual"),
    ],
)
def test_file_names(name: str, subject: str, years: tuple[int, ...], quarter: int | None, type_name: str) -> None:
    found = card(name)
    assert (found.names[0], found.years, found.quarter, found.type) == (subject, years, quarter, type_name)


def test_the_spelling_that_shows_the_words_is_kept() -> None:
    found = card(
        "HARBORPINEFOODS_2021_10K.pdf", ANNUAL.replace("HARBOR & PINE\nFOODS, INC.", "Harbor & Pine Foods, Inc.")
    )
    assert found.names == ("Harbor & Pine Foods, Inc.",)


def test_the_year_of_the_file_name_comes_before_the_calendar_year() -> None:
    found = card("HARBORPINE_2023Q2_10Q.pdf", "FORM 10-Q\nFor the quarterly period ended December 31, 2022")
    assert found.years == (2023, 2022)
    assert (found.quarter, found.date) == (2, "2022-12-31")


def test_a_report_is_not_of_the_year_it_was_filed_in() -> None:
    found = card("10-K.pdf", ANNUAL, title="10-K - 02/07/2022 - Harbor & Pine Foods, Inc.")
    assert found.years == (2021,)
    assert found.dates == ("2021-06-30",)


def test_an_annual_report_has_no_quarter() -> None:
    assert card("HARBORPINE_2021_10K.pdf", ANNUAL, title="HPFD Q4 2021 10-K").quarter is None


def test_parties_of_an_agreement() -> None:
    found = card("QUILLFEATHERSYSTEMSINC_03_30_2015-EX-10.4-RESELLER AGREEMENT.PDF", AGREEMENT)
    assert found.type == "agreement"
    assert found.names == ("QUILLFEATHERSYSTEMSINC",)
    assert "International Lantern Makers Ltd" in found.parties[0]
    assert {"ILM", "Quillfeather"} <= set(found.parties)
    assert not any("Company" in party or "Corporation" in party for party in found.parties)
    assert found.dates == ("2015-03-30", "2015-03-03")


def test_an_announcement_names_who_is_beside_the_symbol() -> None:
    found = card(
        "release.pdf", "Third quarter results\nOSLO - May 2, 2023 - Tangerine Wharf, Inc. (NYSE: TGW) today reported"
    )
    assert found.names == ("Tangerine Wharf, Inc.",)
    assert found.symbols == ("TGW",)


def test_chinese_statutes() -> None:
    found = card("湖泊保护法(2019-08-26).md", "# 中华人民共和国湖泊保护法\n1999年1月1日通过")
    assert (found.names, found.type, found.date) == (("湖泊保护法",), "statute", "2019-08-26")
    assert card("湖泊标准化法.md").type == "statute"
    assert card("湖泊保护法修正案（七）(2020-01-01).md").names == ("湖泊保护法修正案（七）",)


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("青山湖茶叶2022年年度报告.pdf", "青山湖茶叶"),
        ("青山湖茶叶：2023年第三季度报告.pdf", "青山湖茶叶"),
        ("harborpine_form10-k_fy21.pdf", "harborpine"),
        ("Policy on Lantern Expenses.pdf", "Lantern Expenses"),
        ("20230504_Harbor_Pine_Investor_Presentation.pdf", "Harbor Pine"),
    ],
)
def test_what_is_no_name_is_cut_off(name: str, subject: str) -> None:
    assert card(name).names == (subject,)


@pytest.mark.parametrize("name", ["Annual Report 2021.pdf", "scan0003.pdf", "10-K405_1999.txt", "Q2-2023 results.pdf"])
def test_files_may_have_no_name(name: str) -> None:
    assert card(name).names == ()


def test_chinese_companies_lose_their_legal_form() -> None:
    assert name_key("青山湖茶叶股份有限公司") == name_key("青山湖茶叶")


def test_the_author_counts_only_where_the_page_names_it() -> None:
    page = "Report on tides\nTangerine Wharf Inc. and others"
    assert "Tangerine Wharf Inc." in card("tides.pdf", page, author="Tangerine Wharf Inc.").names
    assert "PrintSoft Inc." not in card("tides.pdf", page, author="PrintSoft Inc.").names


@pytest.mark.parametrize(
    "spelling",
    [
        "Harbor & Pine, Inc.",
        "HARBOR_PINE",
        "harbor and pine",
        "The Harbor & Pine Company",
        "HarborPine Corp",
        "Harbor\u00a0& Pine",
    ],
)
def test_spellings_of_one_name_have_one_key(spelling: str) -> None:
    assert name_key(spelling) == "harborpine"


@pytest.mark.parametrize(
    "text", ["Annual Report", "The Company", "Bank", "Group Inc.", "Table of Contents", "final draft"]
)
def test_generic_words_are_no_names(text: str) -> None:
    assert name_key(text) == ""


def test_generic_words_together_may_be_a_name() -> None:
    assert name_key("Bank of the West") != ""
    assert name_words("Western Water Works Company, Inc.") == ("western", "water", "works")


def test_json_round_trip() -> None:
    found = card("HARBORPINE_2023Q2_10Q.pdf", ANNUAL)
    data = json.loads(json.dumps(card_to_json(found)))
    assert card_from_json(data) == found
    assert card_from_json(data | {"of a later version": 1}) == found
    assert card_from_json({}) == Card()


@pytest.mark.parametrize("name", ["", ".pdf", "___", "()", "%%%.x", "a" * 5_000 + ".pdf", "\ud800.pdf"[1:]])
def test_odd_names_do_not_fail(name: str) -> None:
    assert isinstance(read_card(name, {"title": "\n\n"}, "", ["", "\x00 (((("]), Card)


def test_types_are_found_however_they_are_written() -> None:
    texts = {
        "the 10K": "annual report",
        "Form 10-Q's": "quarterly report",
        "two annual reports": "annual report",
        "an 8k filing": "current report",
        "2020年年度报告": "annual report",
        "the owner's manual": "manual",
    }
    assert {text: next(iter(finder().find(text))).type for text in texts} == texts
    assert list(finder().find("210K units of earnings per share")) == []


def test_type_data_is_well_formed() -> None:
    types = document_types()
    aliases = [alias for entry in types.values() for alias in entry.aliases]
    assert len(aliases) == len(set(aliases))
    assert {entry.covers for entry in types.values()} == {"", "year", "quarter"}
    assert type_by_ending("Lake Protection Act") == "statute"
    assert type_by_ending("Fact") == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", [" ", "\n", "(exact ", "A ", "Inc. ", "A. ", "(", '("', "Company: ", "Trading Symbol ", "1", "_"]
)
def test_time_grows_with_length_only(piece: str) -> None:
    """What took the square of it would not end within the time limit of a test."""
    text = piece * (400_000 // len(piece))
    read_card(f"{text[:3_000]}.pdf", {"title": text, "author": text}, text, [text, text, text])


@pytest.mark.parametrize(
    ("name", "first"),
    [
        (
            "0007.md",
            "第十二届全国人民代表大会常务委员会第十四次会议修正\n第一条 为了规范保险合同。",
        ),
        ("0008.pdf", "第一条 为了保护当事人的合法权益，根据宪法，制定本条例。协议应当采用书面形式。"),
        (
            "0009.pdf",
            "An Act to regulate agreements. Be it enacted by the Queen: 1 Every contract is void.",
        ),
        ("0010.pdf", "This Act may be cited as the Contracts Act."),
        ("Labor Contract Law.pdf", ""),
        ("labor-contract-law 2012.md", "Article 1. A contract is concluded in writing."),
        ("合同法.pdf", "合同"),
    ],
)
def test_a_statute_about_contracts_is_no_agreement(name: str, first: str) -> None:
    assert read_card(name, {}, "", [first]).type == "statute"


@pytest.mark.parametrize("name", ["买卖合同.pdf", "Tarn Supply Agreement.pdf"])
def test_an_agreement_that_names_a_statute_is_none(name: str) -> None:
    first = "根据《中华人民共和国民法典》及 the Sale of Goods Act, 双方签订本合同。"
    assert read_card(name, {}, "", [first]).type == "agreement"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("698bba535087fa9a7f9009e172a7f763.pdf", "Views of the Pew Research Center on China"),
        ("2310.07609v1.pdf", "arXiv:2310.07609v1 [cs.CL] 11 Oct 2023"),
        ("2023.acl-long.386.pdf", "Proceedings of the 61st Annual Meeting"),
        ("872p_profilephoto.md", "How to change your picture"),
        ("amazon-dynamodb-developer-guide__API_Query.md", "Query reads the items of a table. See Amazon DynamoDB."),
        ("6f1e2c1a-43b9-4f0e-9d0a-52f6e1c7a9bb.docx", "Minutes of the board"),
        ("IMG_20230412_101500.jpg", "Invoice 12"),
    ],
)
def test_what_only_a_file_name_says_is_no_name(name: str, page: str) -> None:
    assert read_card(name, {}, "", [page]).names == ()


@pytest.mark.parametrize(
    ("name", "page", "organisation"),
    [
        ("expenses.md", "How to claim expenses. Managers approve expenses, and the Expenses team pays.", ""),
        ("Refunds_2022.docx", "Refunds\nWe pay refunds within ten days.", ""),
        ("tools-and-tips.md", "Tools and Tips\nShare your tools and tips.", ""),
        ("corvane-optics.pdf", "Corvane Optics\nAnnual report", "corvane-optics"),
        ("job families.md", "Name of company: Tarrowgate Ltd\nAll job families have levels.", "Tarrowgate Ltd"),
        ("quilla_2022.pdf", "and Quilla, for Quilla, of Quilla, by Quilla, with Quilla", "quilla"),
        ("Lantern_2022.pdf", "at Lantern we sell; so Lantern grew; as Lantern said; by Lantern; a lantern", "Lantern"),
        ("Tarrowgate.pdf", "Tarrowgate\nInvoice 12", "Tarrowgate"),
        ("Quilla.pdf", "Ask ir@quilla.com or see www.quilla.com/investors", "Quilla"),
        ("劳动合同法.docx", "中华人民共和国劳动合同法", "劳动合同法"),
        ("johnson_johnson_2022.pdf", "of Johnson & Johnson, at Johnson & Johnson, by Johnson & Johnson, for Johnson "
         "& Johnson", "johnson johnson"),
    ],
)  # fmt: skip
def test_a_common_noun_in_a_file_name_is_no_organisation(name: str, page: str, organisation: str) -> None:
    read = card(name, page)
    assert read.organisation == organisation and card_from_json(card_to_json(read)) == read


def test_a_corrected_organisation_is_shown_as_it_was_written() -> None:
    assert corrected_card(Card(names=("expenses",), topic=True), {"organisation": "adidas"}).organisation == "adidas"


@pytest.mark.parametrize(
    ("name", "page", "expected"),
    [
        ("BESTBUY_2019_10K.pdf", "BEST BUY CO., INC. annual report", "BESTBUY"),
        ("PEPSICO_2022_10K.pdf", "Every brand of PepsiCo", "PEPSICO"),
        ("3M_2018_10K.pdf", "Why 3M reports this", "3M"),
        ("johnson_johnson_2022.pdf", "JOHNSON & JOHNSON", "johnson johnson"),
        ("劳动合同法.docx", "中华人民共和国劳动合同法", "劳动合同法"),
        ("NELNETINC_04_08_2020-EX-1-JOINT FILING AGREEMENT.PDF", "The parties agree as follows.", "NELNETINC"),
        ("Tarrowgate.pdf", " ", "Tarrowgate"),
    ],
)
def test_a_file_is_named_after_whom_its_pages_or_a_legal_form_name(name: str, page: str, expected: str) -> None:
    assert expected in read_card(name, {}, "", [page]).names


@given(st.lists(st.sampled_from(["harbor", "pine", "north", "vale", "co"]), min_size=1, max_size=4), st.data())
def test_a_name_stands_in_a_text_however_its_words_are_joined(words: list[str], data: st.DataObject) -> None:
    joined = "".join(words)
    if not name_key(joined):
        return
    between = data.draw(st.sampled_from([" ", "-", " & ", ", ", ""]))
    assert is_named(joined, f"About {between.join(words)}, in full.")
    assert not is_named(joined, f"About un{between.join(words)}ed matters.")
