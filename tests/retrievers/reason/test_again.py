"""A model that looks again: other words, exact words, sections by name; and what it is shown of each document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.prompts import fence
from hybrid_core.types.documents import Card
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, Settings, run
from retrievers.explain.statements import breaks_off
from retrievers.reason.board import card, file_name, unlabelled
from retrievers.reason.rounds import SearchWish, search_wish
from tests.doubles.replies import FakeEndpoint
from tests.models_over_http import data
from tests.retrievers.reason.test_reason import page, turn

SEEN = "opened and read so far"
QUESTION = "How long may a tenant stay after the contract ends?"
HASH = "9f86d081884c7d659a2feaa0c55ad015.md"


def long_page(title: str, text: str, number: int) -> str:
    filler = " ".join(f"Paragraph {n} of part {number} speaks of garden benches and lanterns." for n in range(45))
    return f"## {title}\n\n{text} {filler}\n\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Documents whose words differ: the one that answers shares none with the question."""
    folder = tmp_path_factory.mktemp("again")
    (folder / "tenancy-guide.md").write_text(
        "# Tenancy guide\n\n" + long_page("The contract", "A tenant signs the contract and may end it.", 1)
        + long_page("Manual cleaning", "Wipe the floor with a cloth.", 2)
    )  # fmt: skip
    (folder / "lease-terms.md").write_text(
        "# Lease terms\n\n" + long_page("Holding over", "The lessee has a grace period of nine weeks.", 1)
        + long_page("Deposits", "The deposit is returned by bank transfer.", 2)
    )  # fmt: skip
    (folder / HASH).write_text("# Rules of the Orchard Club\n\nA tenant of the club keeps to its rules on contract.\n")
    for number in range(12):
        (folder / f"bench-{number}.md").write_text(
            f"# Bench {number}\n\nA bench of oak, the price is {number} crowns.\n"
        )
    for number in range(6):
        (folder / f"tenant-{number}.md").write_text(
            f"# Tenant {number}\n\nTenant {number} ends the contract and may stay.\n"
        )
    engine = Engine(folder / "home")
    run(engine.index([folder]))
    yield engine
    engine.close()


def ask(
    library: Engine, rule: Callable[[Request], Any], question: str = QUESTION, **options: Any
) -> tuple[SearchResult, list[str]]:
    endpoint = FakeEndpoint(rule)
    engine = Engine(settings=Settings(storage_path=library.home), chat=ChatModel(endpoint))
    try:
        found = run(engine.search(question, effort="deep", top_k=5, expert="none", **options))
    finally:
        engine.close()
    return found, [request.messages[-1].text for request in endpoint.requests if request.title == "Turn"]


def seeker(*searches: str) -> Callable[[Request], Any]:
    """Return a model that searches in its first round, and then names the first page that the search has found."""

    def rule(request: Request) -> Any:
        if request.title != "Turn":
            return {"reasoning": "", "documents": [], "conditions": []}
        text = request.messages[-1].text
        if "Round 1 of" in text:
            return turn(search=list(searches))
        named = re.search(r"^(D\d+) page (\d+), a passage", data(text, SEEN), re.MULTILINE)
        return turn(pages=[page(named[1], int(named[2]))] if named else [])

    return rule


@pytest.mark.parametrize(
    ("search", "passage"),
    [
        ("lessee grace period", "grace period of nine weeks"),
        ('"grace period of nine weeks"', "grace period of nine weeks"),
        ("„grace period of nine weeks“", "grace period of nine weeks"),
        ("deposit returned bank transfer", "by bank transfer"),
    ],
)
def test_a_search_in_other_words_finds_a_page_that_the_question_does_not(
    library: Engine, search: str, passage: str
) -> None:
    found, prompts = ask(library, seeker(search))
    assert "grace" not in prompts[0] and passage in data(prompts[1], SEEN)
    first = found.results[0]
    assert first.doc_name == "lease-terms.md" and found.effort.used == "deep" and len(prompts) == 2
    assert found.reasoning is not None and "searched" in {step.kind for step in found.reasoning.steps}
    receipt = first.receipt
    assert receipt.reasoning is not None
    total = receipt.page + receipt.document + receipt.structure + receipt.reasoning
    assert total == pytest.approx(first.score, abs=3e-4)


@pytest.mark.parametrize("search", ['"grace period of ten weeks"', "xylophone", "section: Basilisks", "…", ""])
def test_a_search_that_finds_nothing_is_said_and_harms_nothing(library: Engine, search: str) -> None:
    fast = run(library.search(QUESTION, effort="fast", top_k=5, expert="none"))
    found, prompts = ask(library, seeker(search))
    assert found.results == fast.results and len(prompts) <= 2
    assert all("found nothing" in data(prompt, SEEN) for prompt in prompts[1:])


@pytest.mark.parametrize("search", ["bench of oak", "lessee grace period", "tenant ends the contract"])
def test_each_document_of_a_later_prompt_is_named_in_it(library: Engine, search: str) -> None:
    def rule(request: Request) -> Any:
        return (
            turn(search=[search], read=[page("D1", 1)])
            if "This is the last" not in request.messages[-1].text
            else turn()
        )

    _, prompts = ask(library, rule)
    for prompt in prompts[1:]:
        shown = f"{data(prompt, 'Outline')}\n{data(prompt, SEEN)}"
        named = set(re.findall(r"^(D\d+) · \S+", shown, re.MULTILINE))
        assert set(re.findall(r"^(D\d+) page \d+(?:, a passage)?:", shown, re.MULTILINE)) <= named


def test_a_section_is_found_by_its_name_and_can_be_opened(library: Engine) -> None:
    def rule(request: Request) -> Any:
        text = request.messages[-1].text
        if request.title != "Turn":
            return {"reasoning": "", "documents": [], "conditions": []}
        if "Round 1 of" in text:
            return turn(search=["section: holding over"])
        named = re.search(r"^(D\d+\.\d+) Holding over", data(text, SEEN), re.MULTILINE)
        return turn(sections=[named[1]] if named else [])

    found, _ = ask(library, rule)
    assert found.results[0].doc_name == "lease-terms.md"


def test_another_search_keeps_to_the_documents_that_are_given(library: Engine) -> None:
    found, prompts = ask(library, seeker("lessee grace period"), documents=["tenancy-guide.md"])
    assert {one.doc_name for one in found.results} == {"tenancy-guide.md"}
    assert all("nine weeks" not in prompt for prompt in prompts)


def test_searches_calls_and_repetitions_are_bounded(library: Engine) -> None:
    many = [f"bench {number}" for number in range(9)]
    found, prompts = ask(library, lambda request: turn(search=many))
    assert len(prompts) == 2 and found.usage.calls <= 4, "the same searches are made once"
    assert data(prompts[1], SEEN).count("Search for") == 3


def test_later_rounds_keep_a_line_of_each_document(library: Engine) -> None:
    _, prompts = ask(library, seeker("lessee grace period"))
    first, second = (re.findall(r"^D\d+ · (\S+)", data(prompt, "Outline"), re.MULTILINE) for prompt in prompts)
    assert set(second) >= set(first) and len(first) > 1


def test_each_part_of_a_comparison_has_its_own_tree(library: Engine) -> None:
    question = "Compare the Tenancy guide and the Lease terms on deposits"
    _, prompts = ask(library, lambda _: turn(), question)
    outline = data(prompts[0], "Outline")
    for name in ("tenancy-guide.md", "lease-terms.md"):
        assert re.search(rf"^D\d+ · {name} .*\n D?.*page \d", outline, re.MULTILINE), name


@pytest.mark.parametrize(
    ("name", "title", "shown"),
    [
        (HASH, "Rules of the Club", "9f86d081….md"),
        ("123e4567-e89b-12d3-a456-426614174000.pdf", "Pumps", "123e4567….pdf"),
        ("deadbeefdeadbeef01.txt", "Beef", "deadbeef….txt"),
        (HASH, "", HASH),
        ("annual-report-2023.pdf", "Report", "annual-report-2023.pdf"),
        ("20230131-effaced.pdf", "Facade", "20230131-effaced.pdf"),
    ],
)
def test_a_hash_gives_way_to_the_title(library: Engine, name: str, title: str, shown: str) -> None:
    document = replace(run(library.documents.list())[0], name=name, title=title, card=Card())
    assert file_name(document) == shown and (not title or title in card(document))


def test_a_line_says_whose_and_the_title_beside_kind_and_time(library: Engine) -> None:
    document = replace(run(library.documents.list())[0], name="a.pdf", title="Corvane Optics on lenses")
    known = replace(document, card=Card(("Corvane",), type="annual report", years=(2022,)))
    assert card(known) == "Corvane Optics on lenses (annual report, 2022)"
    named = replace(known, title="Lenses", card=replace(known.card, names=("Corvane",)))
    assert card(named) == "Lenses (Corvane, annual report, 2022)"


@pytest.mark.parametrize(
    ("text", "following", "off"),
    [
        ("The pump must be\n7", "cleaned by hand.", True),
        ("It lists filters, valves,\n", "Hoses and more.", True),
        ("the inter-", "national court", True),
        ("The pump is clean.", "it stays so.", False),
        ("The pump is clean", "Another heading", False),
        ("", "text", False),
    ],
)
def test_a_sentence_that_breaks_off_brings_the_next_page(text: str, following: str, off: bool) -> None:
    assert breaks_off(text, following) is off


@pytest.mark.parametrize(
    ("written", "wish"),
    [
        ("cold store rent", SearchWish("words", "cold store rent")),
        (' "for cause" ', SearchWish("exact", "for cause")),
        ("“for cause”", SearchWish("exact", "for cause")),
        ("Section: Manual  cleaning", SearchWish("section", "Manual cleaning")),
        ('section: "Manual cleaning"', SearchWish("section", "Manual cleaning")),
        ("???", None),
        ("", None),
    ],
)
def test_a_search_is_read_as_it_is_written(written: str, wish: SearchWish | None) -> None:
    assert search_wish(written) == wish


def printed(path: Path, *pages: str) -> Engine:
    """Index a PDF of these pages."""
    pymupdf = pytest.importorskip("pymupdf")
    drawn = pymupdf.open()
    for text in pages:
        leaf = drawn.new_page()
        for at, line in enumerate(text.split("\n")):
            for column, cell in enumerate(line.split("  ")):
                leaf.insert_text((40 + 160 * column, 40 + 14 * at), cell)
    drawn.save(path / "printed.pdf")
    engine = Engine(settings=Settings(storage_path=path / "home", ocr="never"))
    run(engine.index([path / "printed.pdf"]))
    return engine


FILLER = "\n".join(f"Paragraph {number} tells of lanterns and benches." for number in range(30))
BROKEN = {
    "a sentence": (
        f"{FILLER}\nThe harbour fee for a sloop is due each spring and must be",
        "paid in silver crowns, nine of them.",
    ),
    "a list": (
        f"{FILLER}\nThe harbour fee covers:\n- a berth\n- water",
        "- nine crowns of silver for light\nNothing else is covered.",
    ),
    "a table": (
        f"{FILLER}\nHarbour fee by boat\nBoat  Fee\nSloop  7\nBrig  8\nKetch  9\nYawl  10",
        "Galleon  19\nSilver barge  11\nLugger  12\nCutter  3\nThe end of the rates.",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_breaks_off_at_a_pages_end_comes_with_the_next_page(tmp_path: Path, kind: str) -> None:
    engine = printed(tmp_path, *BROKEN[kind], "Another chapter speaks of gulls.")

    def rule(request: Request) -> Any:
        if request.schema is None:
            return "The harbour fee is as listed [[source:1]]."
        first = "Round 1 of" in request.messages[-1].text
        return turn(read=[page("D1", 1)]) if first else turn(pages=[page("D1", 1)])

    try:
        _, prompts = ask(engine, rule, "What is the harbour fee?")
        endpoint = FakeEndpoint(rule)
        answering = Engine(settings=engine.settings, chat=ChatModel(endpoint))
        answer = run(answering.ask("What is the harbour fee?", effort="fast", top_k=1, expert="none"))
        answering.close()
    finally:
        engine.close()
    following = BROKEN[kind][1].split("\n")[0].split("  ")[0]
    assert "D1 page 2:" in data(prompts[1], SEEN) and following in data(prompts[1], SEEN)
    assert "page 3" not in data(prompts[1], SEEN)
    shown = data(endpoint.requests[-1].messages[-1].text, "Sources")
    assert "Source 2: printed.pdf, page 2" in shown and following in shown
    assert [source.page for source in answer.sources] == [1, 2]


def test_a_page_that_ends_with_its_sentence_brings_no_other(tmp_path: Path) -> None:
    engine = printed(tmp_path, f"{FILLER}\nThe harbour fee is nine crowns.", "Gulls live on the pier.")
    try:
        _, prompts = ask(engine, lambda request: turn(read=[page("D1", 1)]), "What is the harbour fee?")
    finally:
        engine.close()
    assert "D1 page 2:" not in data(prompts[1], SEEN)


@pytest.mark.parametrize(
    ("question", "searched", "passage"),
    [
        ("How long must a tenant's deposit be held?", "Kaution Aufbewahrung Frist", "Die Kaution ist sieben Monate"),
        ("Who pays for the repair of the roof?", "Reparatur des Daches", "Die Reparatur des Daches zahlt"),
        ("¿Quién paga la reparación del tejado y cuándo?", "Reparatur des Daches", "Die Reparatur des Daches zahlt"),
    ],
)
def test_the_language_of_the_documents_is_said_where_the_question_has_another(
    tmp_path: Path, question: str, searched: str, passage: str
) -> None:
    (tmp_path / "mietvertrag.md").write_text(
        "# Mietvertrag\n\nDie Kaution ist sieben Monate nach dem Ende des Vertrags zu verwahren. Der Mieter zahlt.\n\n"
        "## Dach\n\nDie Reparatur des Daches zahlt der Vermieter, und zwar auf eigene Rechnung.\n\n"
        "## Tenant deposit 2023\n\nDas ist der Titel der englischen Fassung, die nicht mehr gilt. Quién sabe.\n"
    )
    engine = Engine(tmp_path / "home")
    try:
        run(engine.index([tmp_path / "mietvertrag.md"]))
        _, prompts = ask(engine, seeker(searched), question)
        _, same = ask(engine, seeker(searched), "Wann ist die Kaution des Mieters fällig und wie?")
    finally:
        engine.close()
    assert "in German" in data(prompts[0], SEEN) or "in another language" in data(prompts[0], "Outline")
    assert passage in data(prompts[1], SEEN) and "in German" not in data(same[0], SEEN)


CHARTS = [
    "Sales of the regions in crowns\n12\n17.5\n23\n9\n4\n31\nHarbour\nMill\nBarn",
    "Share of the votes\n12%\n17 %\n23%\n9%\n39%\nHarbour party",
    "Turnover\n$1,200\n(300)\n$2,100\n900\n1,000\n2019 2020 2021",
]


@pytest.mark.parametrize("text", CHARTS)
def test_figures_without_their_names_are_called_a_chart(tmp_path: Path, text: str) -> None:
    engine = printed(tmp_path, text, "Other pages speak of the regions and their votes.")

    def rule(request: Request) -> Any:
        if request.schema is None:
            return "It is 17.5 [[source:1]]." if "17.5" in text else "It is told there [[source:1]]."
        first = "Round 1 of" in request.messages[-1].text
        return turn(read=[page("D1", 1)]) if first else turn(pages=[page("D1", 1)])

    question = f"What are the {text.splitlines()[0]}?"
    try:
        _, prompts = ask(engine, rule, question)
        answering = Engine(settings=engine.settings, chat=ChatModel(FakeEndpoint(rule)))
        answer = run(answering.ask(question, effort="fast", expert="none"))
        answering.close()
    finally:
        engine.close()
    assert "only its picture tells" in data(prompts[1], SEEN)
    assert any("picture of source 1 (printed.pdf, page 1) was not looked at" in note for note in answer.notes)


def test_a_table_with_names_is_no_chart() -> None:
    rows = "\n".join(f"Region {letter}  {number}" for number, letter in enumerate("ABCDEFG", 3))
    assert not unlabelled(rows) and not unlabelled("1\n2\nchapter") and not unlabelled("") and unlabelled(CHARTS[0])


def test_a_page_that_is_a_picture_is_called_so(tmp_path: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    drawn = pymupdf.open()
    drawn.new_page().insert_text((40, 40), "Turbines of the harbour are listed on the next page, a drawing.")
    drawn.new_page().draw_circle((200, 200), 80)
    drawn.save(tmp_path / "turbines.pdf")
    with_picture = Engine(settings=Settings(storage_path=tmp_path / "home", ocr="never"))
    try:
        run(with_picture.index([tmp_path / "turbines.pdf"]))

        def rule(request: Request) -> Any:
            first = "Round 1 of" in request.messages[-1].text
            return turn(read=[page("D1", 2)]) if first else turn(pages=[page("D1", 2)])

        found, prompts = ask(with_picture, rule, "Which turbines are in the harbour?")
    finally:
        with_picture.close()
    assert "D1 page 2:\n(picture only" in data(prompts[1], SEEN) and found.results[0].page == 2


def spending(library: Engine, question: str, effort: str, reply: Callable[[Request], Any]) -> tuple[SearchResult, int]:
    """Ask with the setting that has auto ask always; return what was found and the calls."""
    endpoint = FakeEndpoint(reply)
    engine = Engine(settings=Settings(storage_path=library.home, reason_below=1.0), chat=ChatModel(endpoint))
    try:
        found = run(engine.search(question, effort=effort, top_k=5, expert="none"))  # type: ignore[arg-type]
    finally:
        engine.close()
    return found, sum(request.title == "Turn" for request in endpoint.requests)


def greedy(request: Request) -> Any:
    """Name a page and ask for others."""
    if request.title != "Turn":
        return {"reasoning": "", "documents": [], "conditions": []}
    return turn(pages=[page("D1", 1)], search=["lessee grace period"])


@pytest.mark.parametrize(
    ("question", "likely"),
    [
        ("What is the price of bench 7?", True),
        ("What is the price of bench 11?", True),
        ("When do leases of zeppelins lapse?", False),
    ],
)
def test_auto_spends_one_call_where_the_first_pages_are_likely_to_answer(
    library: Engine, question: str, likely: bool
) -> None:
    found, calls = spending(library, question, "auto", greedy)
    assert (found.evidence.score >= 0.7) is likely and found.effort.used == "deep"
    assert (calls == 1) is likely and ("one model call was enough" in found.effort.why) is likely
    assert spending(library, question, "deep", greedy)[1] > 1


def test_auto_goes_on_where_its_one_call_names_nothing(library: Engine) -> None:
    found, calls = spending(library, "What is the price of bench 7?", "auto", seeker("bench 7 price"))
    assert calls == 2 and found.reasoning is not None and found.reasoning.outcome == "named"


def test_prompts_begin_alike_so_that_an_endpoint_keeps_them(library: Engine) -> None:
    """System text first, then the question, then what changes; of one question also the fences are alike."""
    endpoint = FakeEndpoint(seeker("lessee grace period"))
    engine = Engine(settings=Settings(storage_path=library.home), chat=ChatModel(endpoint))
    replies = iter(["SEARCH lessee grace period", "It is 7 crowns [[source:1]]."])
    answers = FakeEndpoint(lambda request: next(replies) if request.schema is None else turn())
    answering = Engine(settings=Settings(storage_path=library.home), chat=ChatModel(answers))
    try:
        for question in (QUESTION, "What is the price of bench 7?"):
            run(engine.search(question, effort="deep", expert="none"))
        run(answering.ask("What is the price of bench 7?", effort="fast", expert="none"))
    finally:
        engine.close()
        answering.close()
    first, _, other, _ = [one.messages for one in endpoint.requests if one.title == "Turn"]
    rule = first[0].text.rindex("Text between a line")
    assert first[0].text[:rule] == other[0].text[:rule] and rule > 1000
    assert first[-1].text.index("Question:") < first[-1].text.index("Outline:")
    asked, again = [one.messages for one in answers.requests]
    assert asked[0] == again[0], "the rule with the fence is the same"
    texts = zip(asked[-1].text, again[-1].text, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], texts))
    assert alike > 0.8 * asked[-1].text.index("Documents:"), "sources come first and stay as they were"


def test_a_fence_is_not_used_again_where_a_text_holds_it() -> None:
    first, _ = fence(["one", "two"])
    assert fence(["three"], f"so: {first}")[0] == first
    mark = first.removeprefix("<<<data ").removesuffix(">>>")
    assert fence([f"a text with {mark}"], first)[0] != first and fence(["three"])[0] != first
