"""What a model is shown of a long report: an outline within its tokens, then only what it asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymupdf
import pytest

from eval.runs.scripted import Oracle, shown_outline
from hybrid_core.llm.budget import estimate
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.documents import Card
from hybrid_pageindex import Engine, Settings, run
from retrievers.explain.statements import goes_on
from retrievers.query.intent import pages_wanted
from retrievers.reason.board import about, mark, pictured
from tests.doubles.replies import FakeEndpoint
from tests.models_over_http import data
from tests.retrievers.reason.test_reason import page, turn

QUESTION = "How much did Halden spend on turbines?"
NAME, POLL = "halden-2023.pdf", "poll.pdf"
NOTES = 6
SEEN = "opened and read so far"
EXPERT = """
roles: {balance sheet: balance sheet, cash flow: cash flows, bank: bank capital}
primary: [balance sheet, cash flow]
expand:
  - when: turbines?
    phrases: [turbine spending, broker non-votes]
    headings: [statement of cash flows, capital of banks]
    roles: [cash flow, bank]
"""


def words(number: int) -> str:
    """A page that is longer than what is shown of one."""
    return "\n".join(
        f"Line {n} of page {number} tells of pumps, weirs and their upkeep over the years." for n in range(58)
    )


@pytest.fixture(scope="module")
def long_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A report of 60 pages in eight parts with short notes, turbines on pages 20 and 45, and a poll."""
    folder = tmp_path_factory.mktemp("long")
    report, toc = pymupdf.open(), []
    for number in range(1, 61):
        drawn, title, text = report.new_page(), f"Heading of page {number}", words(number)
        if (number - 1) % NOTES == 0:
            part = f"Part {(number - 1) // NOTES + 1} of Halden"
            drawn.insert_text((40, 30), part, fontsize=18)
            toc.append([1, part, number])
        if number in (20, 45):
            text = f"Figure {number}. Turbines by year\nHalden spent {number} million on turbines.\n" + text
        if number == 50:
            title = "Consolidated balance sheet"
        if number == 51:
            title, text = "Statement of cash flows", "Turbine spending and other cash of Halden.\n" + text
        drawn.insert_text((40, 50), title, fontsize=13)
        drawn.insert_text((40, 70), text, fontsize=7)
        toc.append([2, title, number])
    report.set_toc(toc)
    report.save(folder / NAME)
    poll = pymupdf.open()
    for number in (1, 2, 3):
        poll.new_page().insert_text(
            (40, 40), f"Do you like turbines?\nPoll, page {number}: most people do.", fontsize=9
        )
    poll.save(folder / POLL)
    engine = Engine(folder / "home")
    assert [file.status for file in run(engine.index([folder / NAME, folder / POLL])).files] == ["indexed"] * 2
    yield engine
    engine.close()


def ask(
    library: Engine, rule: Any, expert: Path | str = "none", question: str = QUESTION, documents: Any = (NAME,)
) -> tuple[Any, list[str]]:
    endpoint = FakeEndpoint(rule)
    engine = Engine(settings=Settings(storage_path=library.home), chat=ChatModel(endpoint))
    try:
        found = run(engine.search(question, effort="deep", top_k=20, documents=documents, expert=str(expert)))
    finally:
        engine.close()
    return found, [request.messages[-1].text for request in endpoint.requests]


async def library_page(library: Engine, doc_id: str) -> str:
    (read,) = await library.pages(doc_id, [45])
    return read.text


def test_the_outline_names_the_best_pages_and_keeps_within_its_tokens(long_library: Engine) -> None:
    _, (prompt,) = ask(long_library, lambda _: turn(pages=[page("D1", 20)]))
    outline = data(prompt, "Outline")
    assert estimate(outline) <= 1500
    assert re.search(r"^ +page 20 · Heading of page 20 · \[Figure 20\. Turbines by year", outline, re.MULTILINE)
    assert re.search(r"^ +D1\.\d{4} Part 4 of Halden · pages 19-24 · \d not shown$", outline, re.MULTILINE)
    assert "Name 3 pages at most" in prompt and POLL not in outline
    assert {name for name, _ in re.findall(r"^(D\d+) page (\d+), a passage", data(prompt, SEEN), re.MULTILINE)} == {
        "D1"
    }


def test_the_best_pages_have_whole_passages_and_all_keeps_within_its_tokens(long_library: Engine) -> None:
    question = "Which pumps and weirs have their upkeep over the years?"
    _, (prompt,) = ask(long_library, lambda _: turn(pages=[page("D1", 20)]), question=question)
    outline, seen = data(prompt, "Outline"), data(prompt, SEEN)
    passages = re.findall(r"^D1 page \d+, a passage: (.*)$", seen, re.MULTILINE)
    assert len(passages) >= 8 and all(passage.count("pumps, weirs") > 1 for passage in passages[:4])
    assert estimate(outline) + estimate(seen) <= 0.31 * 6000


@pytest.mark.parametrize("search", [[], ["who paints the turbines"]])
def test_a_model_can_read_as_many_pages_as_the_prompt_promises(long_library: Engine, search: list[str]) -> None:
    numbers = [[20, 45, 30, 10], [33, 57, 3, 14], []]
    requests: list[list[int]] = []

    def rule(request: Request) -> Any:
        prompt = request.messages[-1].text
        promised = re.search(r"There is room to read (\d+) more pages?", prompt)
        requests.append(numbers[len(requests)][: int(promised[1]) if promised else 0])
        return turn(read=[page("D1", number) for number in requests[-1]], pages=[page("D1", 20)], search=search)

    _, prompts = ask(long_library, rule)
    assert len(requests[0]) > 2 and len(prompts) > 1
    for before, prompt in zip(requests, prompts[1:], strict=False):
        seen = data(prompt, SEEN)
        assert "No room" not in seen
        assert {int(number) for number in re.findall(r"^D1 page (\d+):$", seen, re.MULTILINE)} >= set(before)


def test_the_best_page_of_documents_without_a_line_is_named_and_can_be_chosen(tmp_path: Path) -> None:
    for number in range(60):
        filler = " ".join(f"The {name} of hall {number} is quiet." for name in ("roof", "gate", "yard"))
        (tmp_path / f"hall-{number:02}.md").write_text(
            f"# Hall {number}\n\nThe rent of hall {number} is due.\n{filler}\n"
        )
    engine = Engine(tmp_path / "home")
    with closing(engine):
        run(engine.index(sorted(tmp_path.glob("*.md"))))
    lines: list[tuple[str, str]] = []

    def rule(request: Request) -> Any:
        if request.title != "Turn":
            return {"reasoning": "", "documents": [], "conditions": []}
        text = request.messages[-1].text
        other = r"^(D\d+) · (\S+) · less likely page 1 Hall \d+$"
        lines.extend(re.findall(other, data(text, SEEN), re.MULTILINE))
        return turn(pages=[page(lines[-1][0], 1)])

    found, prompts = ask(engine, rule, question="When is the rent of the hall due?", documents=None)
    listed = set(re.findall(r"^D\d+ · (\S+)", data(prompts[-1], "Outline"), re.MULTILINE))
    assert len(lines) > 5 and not listed & {name for _, name in lines}
    assert found.results[0].doc_name == lines[-1][1] and found.results[0].page == 1


def test_pages_with_the_same_passage_share_its_line(tmp_path: Path) -> None:
    for name in ("heron", "swift", "egret", "finch"):
        (tmp_path / f"{name}.md").write_text(
            f"# Manual of the {name}\n\n{words(1)}\n\nTo stop a recording, tap Pause.\n\n{words(2)}\n"
        )
    (tmp_path / "tape.md").write_text(f"# Tape\n\n{words(3)}\n\nA recording stops when the reel is empty.\n")
    engine = Engine(tmp_path / "home")
    with closing(engine):
        run(engine.index(sorted(tmp_path.glob("*.md"))))
    _, prompts = ask(engine, lambda _: turn(), question="How do I stop a recording by Pause?", documents=None)
    seen = data(prompts[-1], SEEN)
    assert seen.count("tap Pause") < 4, "the first passages are longer"
    (also,) = re.findall(r"tap Pause.*\[also (D\d+ page \d+(?:, D\d+ page \d+)*)\]$", seen, re.MULTILINE)
    shown = shown_outline(data(prompts[-1], "Outline"), seen)
    assert len(shown.passages) == 5 and len(also.split(", ")) >= 1


def test_primary_pages_are_listed_and_hints_that_fit_no_page_are_left_out(long_library: Engine, tmp_path: Path) -> None:
    expert = tmp_path / "expert.yaml"
    expert.write_text(EXPERT)
    _, (prompt,) = ask(long_library, lambda _: turn(pages=[page("D1", 20)]), expert)
    outline, hints = data(prompt, "Outline"), data(prompt, "which may be of another field")
    assert "Consolidated balance sheet" in outline and "Statement of cash flows" in outline
    assert "turbine spending" in hints and "statement of cash flows" in hints and ": cash flow." in hints
    assert "broker" not in hints and "bank" not in hints


def test_hints_must_fit_the_documents_of_the_best_pages(long_library: Engine, tmp_path: Path) -> None:
    expert = tmp_path / "expert.yaml"
    expert.write_text("expand: [{when: poll, phrases: [turbine spending]}]")
    question = "What do most people like in the poll?"
    _, prompts = ask(long_library, lambda _: turn(pages=[page("D1", 1)]), expert, question, documents=None)
    outline = data(prompts[-1], "Outline")
    assert outline.startswith(f"D1 · {POLL}")
    assert data(prompts[-1], "which may be of another field") == "none", "the report behind the poll speaks of them"


def test_a_line_says_title_and_length_once(long_library: Engine) -> None:
    document = replace(run(long_library.documents.get(NAME)), title="Halden")
    parts = "Part 1 of Halden; Part 2 of Halden"
    said = replace(document, description=f"{document.title} (60 pages): {document.title}; {parts}", card=Card())
    assert about(said, 200) == parts and about(replace(said, description="Of turbines."), 200) == "Of turbines."
    assert about(replace(said, card=Card(years=(2023,))), 200) == parts


def test_later_rounds_show_what_was_asked_for_and_nothing_twice(long_library: Engine) -> None:
    def rule(request: Request) -> dict[str, Any]:
        text = request.messages[-1].text
        if "Round 1 of" in text:
            return turn(expand=["D1"], read=[page("D1", 20), page("D1", 45)], reasoning="Page 20 is likely.")
        return turn(pages=[page("D1", 45)])

    found, (first, second) = ask(long_library, rule)
    outline, seen = data(second, "Outline"), data(second, SEEN)
    assert outline.startswith(f"D1 · {NAME}") and "\n" not in outline and "a passage" not in seen
    assert "You said: Page 20 is likely." in seen and "D1 holds:" in seen
    assert all(f"Part {number} of Halden" in seen for number in range(1, 11)), "all parts"
    read = seen[: seen.index("D1 holds:")]
    texts = re.split(r"^D1 page \d+:$", read, flags=re.MULTILINE)[1:]
    assert len(texts) == 2 and all(1300 < len(text) <= 3100 for text in texts)
    held = {line for result in found.results[:1] for line in run(library_page(long_library, result.doc_id)).split("\n")}
    assert set(texts[1].strip().split("\n")) <= held | {"…"}, "no line is cut"
    assert found.results[0].page == 45 and "a passage" in first


def test_a_reader_names_a_page_only_after_its_text_was_shown(long_library: Engine) -> None:
    for reads, calls in ((False, 1), (True, 2)):
        found, prompts = ask(long_library, Oracle({QUESTION: {(NAME, 45)}}, reads=reads))
        assert found.results[0].page == 45 and len(prompts) == calls
    assert "D1 page 45:\n" in prompts[-1] and "D1 page 45:\n" not in prompts[0]
    hidden, prompts = ask(long_library, Oracle({QUESTION: {(NAME, 9)}}))
    assert hidden.results[0].page == 9 and len(prompts) > 1, "a page that is not shown has to be looked for"


def test_the_way_to_a_page_is_by_the_innermost_section_that_hides_it() -> None:
    outline = (
        "D1 · a.pdf · report · 90 pages\n D1.0002 Part · pages 3-20 · 2 not shown\n  page 5 · 0.90 · Title\n"
        "  other parts: D1.0030 End (80-90, 4 parts) | D1.0040 Coda (70)"
    )
    shown = shown_outline(
        outline, "D1.0002 Part · pages 3-20 · holds:\n  D1.0003 Inner · pages 10-20\n\nD1 page 7:\ntext"
    )
    assert [shown.way_to("D1", number) for number in (5, 7, 12, 85, 70, 60)] == ["", "", "", "D1.0030", "", "D1"]
    assert shown.read == {("D1", 7)}


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What was the net income?", 3), ("Was revenue in 2019 or in 2020 greater?", 4), ("List all endorsers.", 8),
        ("What do pages 30–35 say?", 6), ("Seiten 4 bis 7 bitte", 4), ("第3页到第9页讲什么？", 7), ("pages 1-90", 12),
        ("How many charts are in the report?", 8),
    ],
)  # fmt: skip
def test_how_many_pages_may_be_named_follows_the_question(question: str, pages: int) -> None:
    assert pages_wanted(question, 3) == pages


TABLE = "\n".join(f"Site {number}  {number}0.5  {number}1.5" for number in range(1, 9))


def test_a_table_or_a_list_that_breaks_off_goes_on_on_the_next_page() -> None:
    prose = "It rained.\n" * 9
    assert goes_on(prose + TABLE + "\n12", TABLE + "\n" + prose, heading=False)
    assert not goes_on(prose + TABLE, TABLE, heading=True) and not goes_on(TABLE + "\n" + prose, TABLE, heading=False)
    assert goes_on(prose, "Costs (continued)\n" + prose, heading=True)
    assert goes_on(prose + "• one\n• two", "• three\n• four\n" + prose, heading=False)
    assert not goes_on(prose, prose, heading=False) and not goes_on("", TABLE, heading=False)


def test_the_page_on_which_a_named_one_goes_on_comes_with_it_and_sections_of_a_page_are_a_line(tmp_path: Path) -> None:
    costs, toc = pymupdf.open(), [[1, "Costs", 1]]
    texts = (
        "Costs of turbines by site.",
        "Costs (continued)\nMore turbines.",
        "Rain of the year.",
        "Wind of the year.",
    )
    for number, text in enumerate(texts, 1):
        drawn = costs.new_page()
        drawn.insert_text((40, 60), text + "\n" + words(number)[:900], fontsize=8)
        for part in range(2):
            title = f"Heading {number}.{part}"
            drawn.insert_text((40, 600 + 60 * part), title, fontsize=13)
            toc.append([2, title, number])
    costs.set_toc(toc)
    costs.save(tmp_path / NAME)
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(tmp_path / NAME))

        def rule(request: Request) -> dict[str, Any]:
            text = request.messages[-1].text
            return turn(expand=["D1"]) if "Round 1 of" in text else turn(pages=[page("D1", 1)])

        found, (_, opened) = ask(engine, rule)
    assert [one.page for one in found.results[:2]] == [1, 2]
    assert found.reasoning.steps[-2].text == "what goes on there: D1 page 2"
    assert re.search(r"^ page 4 · Heading 4\.0 \| Heading 4\.1$", data(opened, SEEN), re.MULTILINE)


def test_captions_and_tables_are_marked() -> None:
    assert mark("Figure 3: Sales by region\n" + "word " * 40) == "[Figure 3: Sales by region]"
    seen = "sales; regions\nFigure: A photograph of a mill.\nTable: Sales by year."
    assert mark("word " * 40, seen) == "[Figure: A photograph of a mill.; Table: Sales by year.]"
    assert (
        mark(TABLE + "\n" + "word " * 40) == "[table]" and mark("word " * 40) == "" and mark("Goals") == "[little text]"
    )
    assert pictured("Figure 3: Sales; costs") and pictured("Goals", seen) and not pictured("Table 2: Costs; sales")
    assert not pictured("Goals")
