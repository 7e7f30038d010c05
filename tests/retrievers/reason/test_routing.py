"""Choosing documents by their fields and with a model: what is asked, what its reply does, what happens without one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from eval.runs.scripted import Oracle, guess
from hybrid_core.errors import ChatError, ReplyError, UsageError
from hybrid_core.llm.budget import estimate
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.types.documents import Document, Hit, Route, unread_warning
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_core.types.scoring import DocumentScoring
from hybrid_pageindex import Engine, Settings, run
from retrievers.candidates.router import CardScores
from retrievers.query.question import read_question
from retrievers.reason import document_prompts
from retrievers.reason.asker import QuestionSession
from retrievers.reason.board import Described, SeenPage
from retrievers.reason.document_choice import Contenders, choose_documents, preferred
from retrievers.reason.reasoner import Reasoner
from tests.conftest import Cli
from tests.doubles.replies import FakeEndpoint
from tests.models_over_http import data
from tests.retrievers.made_documents import document, held

pytestmark = pytest.mark.slow

NAMED = "What were the net sales of Corvane Optics in fiscal 2023?"
OPEN = "What were the net sales in fiscal 2023?"  # two filings fit it equally well
CORVANE, DUNLIN = "corvane-optics-2023-10k.pdf", "dunlin-freight-2023-10k.pdf"
Rule = Callable[[Request], Any]


def naming(*files: str) -> Rule:
    """A model that picks the files that it is shown; asked for anything else it says nothing of use."""

    def answer(request: Request) -> dict[str, Any]:
        assert request.title == "Picks"
        shown = dict(re.findall(r"^(d\d+) · (.+?) · ", data(request.messages[-1].text, "Documents"), re.MULTILINE))
        return {
            "reasoning": "It is theirs.",
            "documents": [name for f in files for name, own in shown.items() if own == f],
        }

    return answer


def filtering(*conditions: tuple[str, str, list[str]]) -> Rule:
    said = [{"field": field, "operator": operator, "values": values} for field, operator, values in conditions]
    return lambda _: {"reasoning": "The question says so.", "conditions": said}


def refusing(_: Request) -> Any:
    raise ChatError("no such key", failure="key")


@contextmanager
def asked(library: Engine, answer: Rule, **settings: Any) -> Iterator[tuple[Engine, FakeEndpoint]]:
    """An engine that may ask this model for documents, but is always sure of its pages."""
    endpoint = FakeEndpoint(answer)
    said: dict[str, Any] = {"storage_path": library.home, "reason_below": 1e-6} | settings
    engine = Engine(settings=Settings(**said), chat=ChatModel(endpoint))
    try:
        yield engine, endpoint
    finally:
        engine.close()


def first(result: SearchResult) -> str:
    return result.documents[0].doc_name


def test_what_a_model_picks_by_descriptions_leads(library: Engine) -> None:
    fast = run(library.search(OPEN, effort="fast"))
    other = DUNLIN if first(fast) == CORVANE else CORVANE
    steps: list[ReasoningStep] = []
    with asked(library, naming(other)) as (engine, endpoint):
        result = run(engine.search(OPEN, route="description", on_step=steps.append))
    (request,) = endpoint.requests
    shown = data(request.messages[-1].text, "Documents")
    assert re.search(rf"^d\d · {CORVANE} · annual report, 2023 · .*pages", shown, re.MULTILINE)
    assert first(result) == other and result.results[0].doc_name == other
    assert result.results[0].receipt.routing_reason.endswith("picked by the model: It is theirs.")
    assert (result.route.asked, result.route.used) == ("description", "description")
    assert result.usage.calls == 1 and result.usage.input_tokens > 0 and result.reasoning is None
    assert [step.kind for step in result.route.steps] == ["asked", "thought", "verdict"]
    assert result.route.steps == tuple(steps) and "routing" in result.timings_ms
    assert {one.doc_name for one in result.documents} == {one.doc_name for one in fast.documents}, "a preference"
    assert all(0 <= one.routing <= 1 for one in result.documents)


@pytest.mark.parametrize("question", [NAMED, OPEN, "zyzzyva quokka"])
@pytest.mark.parametrize("effort", ["fast", "auto"])
def test_auto_asks_no_model_which_documents_are_meant(library: Engine, question: str, effort: Any) -> None:
    """A model that finds pages sees passages of all likely documents, so a call before that only costs."""
    with asked(library, refusing) as (engine, endpoint):
        result = run(engine.search(question, effort=effort))
    assert endpoint.requests == [] and (result.route.asked, result.route.used) == ("auto", "auto")
    assert result.route.steps == () and "metadata" in result.route.why


FAILURES: dict[str, Rule] = {
    "a refused key": refusing,
    "no JSON, twice": lambda _: "I would rather not.",
    "another shape": lambda _: {"answer": 42},
    "only inventions": lambda _: {"reasoning": "", "documents": ["d99", "D1.0003", "../etc"]},
    "none": lambda _: {"reasoning": "", "documents": []},
}


@pytest.mark.parametrize("failure", FAILURES)
def test_where_the_model_fails_the_cards_decide_and_it_is_said(library: Engine, failure: str) -> None:
    fast = run(library.search(OPEN, effort="fast"))
    with asked(library, FAILURES[failure]) as (engine, _):
        result = run(engine.search(OPEN, route="description"))
    assert result.results == fast.results and result.documents == fast.documents
    assert (result.route.asked, result.route.used) == ("description", "auto")
    assert "metadata" in result.route.why and result.route.why in result.notes
    if failure == "only inventions":
        (dropped,) = (step.text for step in result.route.steps if step.kind == "dropped")
        assert "d99" in dropped


def test_metadata_is_a_checked_restriction(library: Engine) -> None:
    said = [("organisation", "is", ["Dunlin Freight"]), ("year", "is", ["FY2024"]), ("colour", "is", ["red"])]
    with asked(library, filtering(*said)) as (engine, endpoint):
        result = run(engine.search(NAMED, route="metadata", top_k=20))
    (request,) = endpoint.requests
    fields = data(request.messages[-1].text, "Fields")
    assert re.search(r'^year \(number, \d values, 5 documents\):.* "2023" \d', fields, re.MULTILINE)
    assert {found.doc_name for found in result.results} == {"dunlin-freight-2024-10k.pdf"}
    assert result.route.used == "metadata" and result.route.filter[1] == "year is 2024"
    assert result.route.filter[0].startswith("organisation is dunlin")
    assert "a condition was left out: there is no field 'colour'" in result.notes
    assert "year is 2024" in result.results[0].receipt.routing_reason
    assert result.usage.calls == 1


def test_metadata_without_a_model_reads_the_cards(library: Engine) -> None:
    result = run(library.search(NAMED, route="metadata", top_k=20))
    assert {found.doc_name for found in result.results} == {CORVANE}
    assert result.route.used == "metadata" and "year is 2023" in result.route.filter
    empty = run(library.search("How large are inventories?", route="metadata"))
    assert (empty.route.used, empty.route.filter) == ("auto", ()) and empty.route.why in empty.notes
    gone = run(library.search("What were the net sales of Corvane Optics in 2011?", route="metadata"))
    assert any("no year '2011'" in note for note in gone.notes) and gone.results
    with asked(library, refusing) as (engine, _):
        failed = run(engine.search(NAMED, route="metadata", top_k=20))
    assert failed.results == result.results
    assert any("the model failed (no such key" in note for note in failed.notes)


def test_semantic_leaves_the_cards_out(library: Engine) -> None:
    result = run(library.search(NAMED, route="semantic"))
    assert result.route.used == "semantic" and {one.routing for one in result.documents} == {0.0}
    assert all(found.receipt.routing_reason == "" for found in result.results)
    assert run(library.search(NAMED)).documents[0].routing > 0.5


def test_description_without_a_model_and_a_route_that_does_not_exist(library: Engine) -> None:
    result = run(library.search(NAMED, route="description"))
    assert result.route.used == "auto" and "no model is used" in result.route.why and result.route.why in result.notes
    assert result.results == run(library.search(NAMED)).results
    with pytest.raises(UsageError, match="route is 'oracle'"):
        run(library.search(NAMED, route="oracle"))  # type: ignore[arg-type]


def test_a_filter_within_a_filter(library: Engine) -> None:
    with asked(library, filtering(("year", "is", ["2024"]))) as (engine, _):
        result = run(engine.search(OPEN, route="metadata", where=["organisation=dunlin*"], top_k=20))
    assert {found.doc_name for found in result.results} == {"dunlin-freight-2024-10k.pdf"}
    with asked(library, refusing) as (engine, endpoint):
        alone = run(engine.search(OPEN, route="description", documents=[DUNLIN]))
    assert endpoint.requests == [] and "at most one can be searched" in alone.route.why


@pytest.mark.parametrize("route", ["description", "metadata"])
def test_the_oracle_of_the_harness_leads_to_its_document_and_the_guess_to_one_that_was_shown(
    library: Engine, route: Route
) -> None:
    other = ({CORVANE, DUNLIN} - {first(run(library.search(OPEN, effort="fast")))}).pop()
    with asked(library, Oracle({OPEN: {(other, 5)}})) as (engine, endpoint):
        result = run(engine.search(OPEN, route=route))
    assert first(result) == other and len(endpoint.requests) == 1 and result.route.used != "auto"
    with asked(library, guess) as (engine, endpoint):
        guessed = run(engine.search(OPEN, route=route))
    assert len(endpoint.requests) == 1 and guessed.results and guessed.route.used != "auto"


def test_the_command_line_takes_the_route(cli: Cli, library: Engine) -> None:
    found = cli("search", NAMED, "--route", "metadata", "--top-k", "20", home=library.home)
    assert found.returncode == 0 and CORVANE in found.stdout and DUNLIN not in found.stdout
    assert "filter" in found.stdout and "year is 2023" in found.stdout
    assert cli("search", NAMED, "--route", "magic", home=library.home).returncode == 2


# More documents than are described, and fewer tokens than they would take.

MANY = held(*(document(f"report-{n}") for n in range(200)))
ORDER = [Described(one) for one in MANY.values()]


def calls(answer: Rule, tokens: int = 6000) -> tuple[QuestionSession, FakeEndpoint]:
    endpoint = FakeEndpoint(answer)
    scope = CallScope(tokens=tokens)
    return QuestionSession(ChatModel(endpoint), scope, lambda _: None, {"question": "Which?"}), endpoint


@pytest.mark.parametrize(("tokens", "fewest", "most"), [(6000, 72, 72), (2000, 10, 71)])
def test_one_call_describes_as_many_documents_as_the_tokens_allow(tokens: int, fewest: int, most: int) -> None:
    made, endpoint = calls(naming("report-7.pdf", "report-3.pdf"), tokens)
    picked = document_prompts.pick(made, ORDER)
    assert picked.documents == ("report-7", "report-3") and picked.reasoning == "It is theirs."
    (request,) = endpoint.requests
    shown = data(request.messages[-1].text, "Documents").splitlines()
    assert fewest <= len(shown) <= most and shown[-1].startswith(f"d{len(shown)} · report-{len(shown) - 1}.pdf")
    assert made.scope.budget.left >= tokens // 2, "half of them stay for the pages"


@pytest.mark.parametrize(("answer", "requests"), [(refusing, 1), (lambda _: "No.", 2)])
def test_a_model_that_gives_no_list_is_a_failure(answer: Rule, requests: int) -> None:
    made, endpoint = calls(answer)
    with pytest.raises(ChatError):
        document_prompts.pick(made, ORDER)
    assert len(endpoint.requests) == requests  # a reply that cannot be read is repaired once


def test_a_line_says_how_long_a_document_is_what_only_pictures_show_and_its_best_passage() -> None:
    """A word that is shared by chance is no reason."""
    scan = replace(document("scan"), warnings=(unread_warning(4, 9, "1-4"),))
    many = held(document("a"), scan)
    routing = CardScores({"a": 0.2, "scan": 0.9}, {"a": Note.of("title: student"), "scan": Note.of("type: poll")})
    hits = [Hit("a", "c", 3, 5.0), Hit("a", "c", 7, 4.95), Hit("scan", "c", 2, 4.9), Hit("a", "c", 5, 4.0)]
    pages = {
        ("a", 3): SeenPage("Students chose the plum."),
        ("a", 7): SeenPage("", pictured=True),
        ("a", 5): SeenPage("", pictured=True),
        ("scan", 2): SeenPage(""),
    }
    made = Contenders(
        read_question("Which?"),
        routing,
        hits,
        many,
        None,
        DocumentScoring(),
        lambda at: {one: pages[one] for one in at},
    )
    endpoint = FakeEndpoint(naming("a.pdf"))
    choose_documents("description", made, Reasoner(ChatModel(endpoint)))
    lines = data(endpoint.requests[0].messages[-1].text, "Documents")
    assert re.search(
        r"^d\d · a\.pdf · .*9 pages, figures on 5, 7 · All about a\n  page 3: Students chose the plum\.$",
        lines,
        re.MULTILINE,
    )
    assert "9 pages, 4 of pictures without text · fits by type: poll" in lines and "title: student" not in lines


# What a preference does to the scores.


def choice(documents: Mapping[str, Document], hits: dict[str, float], cards: dict[str, float]) -> Contenders:
    found = [Hit(doc_id, "c", 1, score) for doc_id, score in hits.items()]
    return Contenders(read_question("Which?"), CardScores(cards, {}), found, documents, None, DocumentScoring())


@pytest.mark.parametrize("cards", [{}, {"a": 1.0, "b": 0.9, "c": 0.2}, {"a": 1.0, "b": 1.0, "c": 1.0}])
def test_what_is_picked_leads_and_scores_stay_scores(cards: dict[str, float]) -> None:
    made = choice(held(*map(document, "abc")), {"a": 5.0, "b": 4.9}, cards)
    before = made.scores()
    routing = preferred(made, ["c", "b"], {"c": "picked"}, 0.5)
    after = choice(made.documents, {"a": 5.0, "b": 4.9}, dict(routing.scores)).scores()
    assert sorted(after, key=lambda doc_id: -after[doc_id]) == ["c", "b", "a"]
    assert all(0 <= score <= 1 for score in routing.scores.values())
    assert after["c"] - after["a"] == pytest.approx(0.5) or cards == {}
    assert routing.reasons["c"] == "picked" and before["a"] == max(before.values())


@pytest.mark.parametrize("route", ["metadata", "description"])
def test_a_dead_model_is_not_asked_for_pages_too(library: Engine, route: Route) -> None:
    with asked(library, refusing, reason_below=1.0) as (engine, endpoint):
        found = run(engine.search(NAMED, route=route, effort="deep"))
    assert len(endpoint.requests) == 1 and found.results
    assert found.effort.used == "fast" and "was not called again" in found.effort.why

    def untidy(_: Request) -> Any:
        raise ReplyError("the model said nothing of use")

    with asked(library, untidy, reason_below=1.0) as (engine, endpoint):
        run(engine.search(NAMED, route=route, effort="deep"))
    assert len(endpoint.requests) > 1, "one that answers badly here may do better there"


OPAQUE = {
    "article_094_1559.txt": "article_094_1559",
    "9f86d081884c7d659a2feaa0c55ad015.pdf": "Rules of the Orchard Club on everything that grows in its gardens",
    "Galaxy_S20_Ultra_5G.html": "Galaxy S20 Ultra 5G user manual",
    "annual-report-2022.pdf": "annual report, 2022",
}


@pytest.mark.parametrize("name", OPAQUE)
def test_a_line_keeps_room_for_what_its_best_page_says(library: Engine, name: str) -> None:
    """Titles and parts do not leave a passage of three words, and a name is not said twice."""
    known = run(library.documents.list())[0]
    parts = "; ".join(f"Part {number} of many" for number in range(20))
    title = OPAQUE[name]
    opaque = replace(known, name=name, title=title, description=f"{title} (9 pages): {parts}", pages=9)
    passage = "The deposit is returned nine weeks after the keys, less what was damaged, says the landlord's own rule."
    described = [Described(opaque, NONE, {3: SeenPage(passage)})] * 24
    lines = document_prompts.document_lines([f"d{number}" for number in range(1, 25)], described, 1300)
    assert estimate("\n".join(lines)) <= 1300 and len(lines) == 24
    for line in lines:
        head, said = line.split("\n")
        assert len(said) > 70 and passage.startswith(said.removeprefix("  page 3: ").rstrip("…"))
        assert (head.startswith("d") and "9 pages" in head) or "…" in head
        assert head.casefold().count(title.casefold()[:20]) <= 1
