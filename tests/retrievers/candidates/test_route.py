"""Routing over invented organisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from hybrid_core.cards.card import read_card
from hybrid_core.types.documents import Card
from retrievers.candidates.router import CardScores, Router
from retrievers.query.question import read_question
from tests.work import calls

AR, QR = "annual report", "quarterly report"


def report(name: str, year: int, quarter: int | None = None, **more: object) -> Card:
    month = {None: 12, 1: 3, 2: 6, 3: 9, 4: 12}[quarter]
    day = f"{year}-{month:02d}-30"
    values = {"names": (name,), "years": (year,), "quarter": quarter, "date": day, "dates": (day,),
              "type": QR if quarter else AR}  # fmt: skip
    return Card(**(values | more))  # type: ignore[arg-type]


LIBRARY = {
    "hp18": report("Harbor & Pine, Inc.", 2018, symbols=("HPNE",)),
    "hp19": report("HARBORPINE", 2019),
    "hp19q2": report("Harbor & Pine, Inc.", 2019, 2),
    "hp19q3": report("Harbor & Pine, Inc.", 2019, 3),
    "ww19": report("Western Water Works Company, Inc.", 2019),
    "we19": report("Western Express Company", 2019),
    "tang20": report("Tangerine Wharf International Ltd", 2020),
    "tang20e": Card(names=("Tangerine Wharf",), years=(2020,), date="2020-05-04", dates=("2020-05-04",),
                    type="current report"),
    "lakes15": Card(names=("湖泊保护法",), years=(2015,), date="2015-01-01", dates=("2015-01-01",), type="statute"),
    "lakes21": Card(names=("湖泊保护法",), years=(2021,), date="2021-01-01", dates=("2021-01-01",), type="statute"),
    "rivers": Card(names=("内河湖泊保护法实施条例",), type="statute"),
    "reseller": Card(names=("QUILLFEATHERINC",), parties=("International Lantern Makers Ltd", "ILM"), type="agreement"),
    "supply": Card(names=("QUILLFEATHERINC",), parties=("Moss & Fern LLC",), type="agreement"),
    "tides": Card(names=("a-history-of-tidal-mills",), title="A History of Tidal Mills in Brittany"),
    "security": Card(names=("Security",), title="Security"),
}  # fmt: skip


def ask(
    text: str, cards: Mapping[str, Card] = LIBRARY, aliases: Mapping[str, Sequence[str]] | None = None
) -> CardScores:
    return Router(cards, aliases).route(read_question(text))


def best(text: str, cards: Mapping[str, Card] = LIBRARY) -> str:
    scores = ask(text, cards).scores
    return max(scores, key=lambda doc: scores[doc])


@pytest.mark.parametrize(
    "spelling",
    ["Harbor & Pine", "Harbor and Pine", "HarborPine", "harbor pine", "HARBOR & PINE, INC.", "Harbor\u00a0& Pine's",
     "HPNE", "H&P", "Harbor", "Harbor-Pine"],
)  # fmt: skip
def test_spellings_of_an_organisation(spelling: str) -> None:
    routing = ask(f"What was the debt of {spelling}?")
    assert set(routing.scores) == {"hp18", "hp19", "hp19q2", "hp19q3"}
    assert routing.organisations == ("Harbor & Pine, Inc.",)


def test_a_name_that_only_some_documents_carry_does_not_decide_among_them() -> None:
    scores = ask("HPNE debt").scores
    assert scores["hp19"] == scores["hp19q3"] > scores["hp18"] == scores["hp19q2"]


def test_shared_words_are_kept_apart() -> None:
    assert set(ask("Did Western Water Works pay dividends?").scores) == {"ww19"}
    assert set(ask("Did Western Express pay dividends?").scores) == {"we19"}
    assert not set(ask("Is the western part good?").scores) & {"ww19", "we19"}


@pytest.mark.parametrize(
    ("text", "doc"),
    [
        ("Harbor & Pine's FY2018 revenue", "hp18"),
        ("revenue of Harbor & Pine between FY18 and FY19", "hp19"),
        ("Harbor & Pine revenue in Q2 2019", "hp19q2"),
        ("Harbor & Pine revenue in the third quarter of 2019", "hp19q3"),
        ("Harbor & Pine's 10-Q for the quarter ended June 30, 2019", "hp19q2"),
        ("Harbor & Pine at the end of 2018, according to the annual report", "hp18"),
        ("What did Tangerine Wharf announce on May 2, 2020?", "tang20e"),
        ("What did Tangerine Wharf earn in 2020?", "tang20"),
        ("the most recent 10-Q of Harbor & Pine", "hp19q3"),
        ("《中华人民共和国湖泊保护法》（2015年1月1日）第三条", "lakes15"),
        ("《内河湖泊保护法实施条例》第三条", "rivers"),
        ("When does the agreement between Quillfeather and International Lantern Makers end?", "reseller"),
        ("When does Moss and Fern have to pay?", "supply"),
        ("Does ILM get a discount?", "reseller"),
        ("According to the history of tidal mills, who built the first?", "tides"),
    ],
)
def test_period_type_title_and_party_choose_the_document(text: str, doc: str) -> None:
    scores = dict(ask(text).scores)
    assert best(text) == doc
    assert scores.pop(doc) > max(scores.values(), default=0.0) + 0.005


def test_the_report_of_the_next_year_holds_the_figures_too() -> None:
    cards = {str(year): report("Tangerine Wharf", year) for year in (2016, 2017, 2018, 2020)}
    scores = ask("Tangerine Wharf in FY2017", cards).scores
    assert scores["2017"] > scores["2018"] > scores["2020"] and scores["2018"] > scores["2016"]


def test_without_time_documents_tie_and_the_newest_of_a_kind_gets_more() -> None:
    routing = ask("Who audits Harbor & Pine?")
    assert routing.scores["hp19"] == routing.scores["hp19q3"] > routing.scores["hp18"] == routing.scores["hp19q2"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("What did the 8-K of Tangerine Wharf announce?", "tang20e"), ("debt in Tangerine Wharf's 10k", "tang20"),
     ("the latest 10-Q of Harbor & Pine", "hp19q3")],
)  # fmt: skip
def test_without_time_a_named_type_outweighs_more_matching_words(text: str, kind: str) -> None:
    scores = dict(ask(text).scores)
    lead = scores.pop(kind) - max(scores.values())
    assert lead > 0.2


def test_the_newest_version_of_a_law_comes_first() -> None:
    assert best("湖泊保护法对罚款的规定") == "lakes21"


def test_routing_is_soft_evidence_within_bounds() -> None:
    for text in ("Harbor & Pine's 10-K for FY2019", "in 2019", "security of the annual report", "湖泊保护法", "x"):
        assert all(0 < score <= 1 for score in ask(text).scores.values())
    assert ask("Harbor & Pine in 1999").scores.keys() == ask("Harbor & Pine").scores.keys()


def test_a_question_that_names_nothing_routes_nowhere() -> None:
    assert ask("How does photosynthesis work?") == CardScores()


def test_period_alone_is_weak_evidence() -> None:
    scores = ask("What drove costs in FY2020?").scores
    assert scores["tang20"] > scores["tang20e"]
    assert max(scores.values()) < min(ask("Tangerine Wharf").scores.values())


def test_a_common_word_is_weak_evidence_of_a_document_of_that_name() -> None:
    cards = LIBRARY | {"guard": Card(names=("Night Guard Ltd",), type="agreement")}
    assert ask("What does the Security document say?", cards).scores["security"] > 0.5
    assert ask("How is network security handled?", cards).scores.get("security", 0.0) < 0.5


def test_nicknames_of_a_users_list() -> None:
    routing = ask("Did Fruity grow in 2020?", aliases={"Tangerine Wharf": ["Fruity", "the Wharf"], "Unknown": ["x"]})
    assert routing.organisations == ("Tangerine Wharf International Ltd",)
    assert ask("Did Fruity grow?").organisations == ()


def test_matched_terms_are_the_names_the_periods_and_the_types() -> None:
    routing = ask("What was Harbor & Pine's inventory turnover in the annual report for FY2018?")
    assert {"harbor", "pine", "2018", "annual", "report"} <= routing.matched_terms
    assert not routing.matched_terms & {"inventori", "turnov"}


def test_a_type_that_no_document_of_the_organisation_has_is_content() -> None:
    assert "agreement" not in ask("Harbor & Pine's credit agreement in FY2018").matched_terms
    assert best("Harbor & Pine's credit agreement in FY2018") == "hp18"


def test_reasons_say_why() -> None:
    assert ask("Harbor & Pine's 10-K for FY2018").reasons["hp18"] == (
        "organisation Harbor & Pine, Inc., year 2018, annual report"
    )
    assert "Q3" in ask("Harbor & Pine in Q3 2019").reasons["hp19q3"]


def test_several_organisations_are_all_routed_to() -> None:
    assert set(ask("Compare Western Express with Tangerine Wharf").scores) == {"we19", "tang20", "tang20e"}


def test_a_function_word_in_small_letters_is_no_name() -> None:
    cards = {"lease": Card(names=("Quill Ltd",), parties=("About.com, Inc.",), type="agreement"), **LIBRARY}
    assert ask("which agreements are about mills?", cards).names == ()
    assert "About" in ask("Does the agreement with About name a fee?", cards).names


def test_cards_from_files_route() -> None:
    page = (
        "FORM 10-K\nFor the fiscal year ended January 28, 2017\nTHE GRAND EXAMPLE CO., INC.\n(Exact name of registrant"
    )
    cards = {
        str(year): read_card(f"GRANDEXAMPLE_{year}_10K.pdf", {}, "", [page.replace("2017", str(year))])
        for year in (2017, 2018)
    }
    assert best("Grand Example's FY2018 capex", cards) == "2018"
    assert best("capex of GrandExample for FY17", cards) == "2017"


def test_empty_library_and_empty_question() -> None:
    assert Router({}).route(read_question("Harbor")) == CardScores()
    assert ask("") == CardScores()
    assert ask("x", {"nameless": Card()}) == CardScores()


def test_ten_times_the_cards_are_ten_times_the_work_to_prepare_and_hardly_more_for_a_question() -> None:
    cards = {
        f"{n}": report(f"Org{n % 900:03d}x Works{n % 7} Inc.", 2010 + n % 12, title=f"Report {n} of Org{n}")
        for n in range(2_000)
    }
    few = dict(list(cards.items())[:200])
    assert calls(lambda: Router(cards)) < 30 * calls(lambda: Router(few))
    question = read_question("What was the FY2015 revenue of Org123x Works4?")
    large, small = (Router(cards), Router(few))
    for router in (large, small):
        router.route(question)  # a first one prepares what others use too
    assert calls(lambda: large.route(question)) < 3 * calls(lambda: small.route(question))
