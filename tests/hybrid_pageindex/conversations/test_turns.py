"""Conversations over a small library: follow-ups, checked answers, streams that are resumed, and what ends a turn."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import BusyError, NotFoundError, UsageError
from hybrid_core.llm.chat import Request
from hybrid_core.types.conversations import ConversationMessage
from hybrid_pageindex import Engine, run
from hybrid_pageindex.conversations.turns import TurnMaker
from tests import pdfs
from tests.doubles.replies import FakeReply
from tests.homes import OwnHome
from tests.models_over_http import data, engine_with

pytest.importorskip("openai", reason="the extra openai is not installed")

SALES = "What were the net sales of Corvane Optics in fiscal 2023?"
GOOD = "Net sales were $418.2 million [[source:1]]."


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, databases: Callable[[], str]) -> OwnHome:
    """A home with four invented filings, to be copied."""
    folder = tmp_path_factory.mktemp("small")
    home = OwnHome(folder / "home", databases())
    engine = Engine(settings=home.settings())
    run(engine.index(pdfs.fiscal_reports(folder)))
    engine.close()
    return home


@pytest.fixture
def home(small: OwnHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return small.copied(tmp_path / "copy").chosen(monkeypatch)


@pytest.fixture
def plain(home: Path) -> Iterator[Engine]:
    """Without a model."""
    engine = Engine(home)
    yield engine
    engine.close()


def asked(engine: Engine, id: str, question: str, **fields: Any) -> ConversationMessage:
    async def whole() -> ConversationMessage:
        return await engine.conversations.wait((await engine.conversations.ask(id, question, **fields)).id)

    return run(whole())


def test_a_follow_up_is_searched_for_as_it_stands_alone_and_answered_as_it_was_asked(home: Path) -> None:
    def answer(request: Request) -> Any:
        if request.title == "StandAlone":
            assert "Net sales were $418.2 million" in data(request.messages[-1].text, "What was said before")
            return {"question": "What were the inventories of Corvane Optics at the end of fiscal 2023?"}
        return GOOD

    with engine_with(home, answer, effort="fast") as (engine, server):
        id = run(engine.conversations.create()).id
        first = asked(engine, id, SALES)
        assert (first.status, first.text, first.searched_from) == ("complete", GOOD, "as asked")
        cited = [one for one in first.citations if one.cited]
        assert [(one.doc_name, one.page, one.state) for one in cited] == [("corvane-optics-2023-10k.pdf", 3, "current")]
        second = asked(engine, id, "And how large were its inventories?")
        assert second.searched_from == "model" and "inventories of Corvane Optics" in second.searched
        last = server.requests[-1].messages[-1].text
        assert data(last, "Question") == "And how large were its inventories?"
        assert SALES in data(last, "What was said before") and "source:1" not in data(last, "What was said before")
        assert second.result.unsupported, "an answer is checked against the pages of its own turn"
        alone = asked(engine, id, "What were the net sales of Dunlin Freight in 2023?")
        assert alone.searched_from == "as asked"
        titles = [request.title for request in server.requests]
        assert titles.count("StandAlone") == 1, "no call where nothing points back"
        assert run(engine.conversations.get(id)).title == SALES.rstrip("?")


def test_a_calculation_that_is_wrong_is_told_with_what_the_sources_do_not_bear_out(home: Path) -> None:
    with engine_with(home, lambda _: f"{GOOD}\nCalculation: 418.2 / 4 = 99 [[source:1]]", effort="fast") as (engine, _):
        turn = asked(engine, run(engine.conversations.create()).id, SALES)
    assert "Calculation: 418.2 / 4 = 99" in turn.text
    assert turn.result.unsupported == (("418.2 / 4 = 99", "the correct result is 104.55"),)


def test_a_model_that_fails_is_replaced_by_the_words_of_the_last_question(home: Path) -> None:
    def answer(request: Request) -> Any:
        return FakeReply(refusal="no") if request.title == "StandAlone" else GOOD

    with engine_with(home, answer, effort="fast") as (engine, _):
        id = run(engine.conversations.create()).id
        asked(engine, id, SALES)
        second = asked(engine, id, "And its inventories?")
    assert second.searched == "And its inventories? Corvane Optics 2023" and second.searched_from == "keywords"
    assert any("failed" in note for note in second.result.notes)


def test_without_a_model_a_turn_gives_the_pages_well_set_out(plain: Engine) -> None:
    id = run(plain.conversations.create()).id
    first = asked(plain, id, SALES)
    assert first.text.startswith("No language model is configured: these are the best passages:")
    assert "1. **corvane-optics-2023-10k.pdf, page 3** [[source:1]]" in first.text and "> " in first.text
    assert first.result.outcome == "no_model" and all(one.cited for one in first.citations)
    second = asked(plain, id, "And in 2022?")
    assert second.searched == "And in 2022? net sales Corvane Optics"
    assert second.citations[0].doc_name == "corvane-optics-2023-10k.pdf"
    nothing = asked(plain, id, "Which zyzzyva won the quokka regatta?")
    assert nothing.result.outcome == "not_in_library"


def test_settings_that_are_changed_are_those_of_the_next_turn(plain: Engine) -> None:
    talk = run(plain.conversations.create())
    few = {"top_k": 1}
    run(plain.admin.change_settings(few))
    assert len(asked(plain, talk.id, "What were the net sales in fiscal 2022?").citations) == 1


def test_pages_of_the_last_answer_are_candidates(plain: Engine) -> None:
    found = plain._context.parts.searcher.search(plain.request("net sales", top_k=3, effort="fast"))
    last = plain._context.parts.searcher.search(plain.request("net sales", top_k=20, effort="fast")).results[-1]
    again = plain._context.parts.searcher.search(
        plain.request("net sales", top_k=20, effort="fast"), earlier=[(last.doc_id, last.page), ("gone", 1)]
    )
    (kept,) = [one for one in again.results if (one.doc_id, one.page) == (last.doc_id, last.page)]
    assert kept.receipt.contributions == {"earlier": 0.1} and found.results


def test_an_answer_goes_on_while_nobody_listens_and_a_stream_is_resumed(home: Path) -> None:
    with engine_with(home, lambda _: FakeReply(GOOD * 5, wait=0.02), effort="fast") as (engine, server):
        conversations = engine.conversations

        async def leave_and_return() -> None:
            id = (await conversations.create()).id
            begun = await conversations.ask(id, SALES)
            assert begun.status == "running"
            heard = []
            stream = conversations.stream(begun.id)
            async for event in stream:
                heard.append(event)
                if event.kind == "text":
                    break
            await stream.aclose()  # type: ignore[attr-defined]
            with pytest.raises(BusyError):
                await conversations.ask(id, "Something else?")
            seen = await conversations.message(begun.id)
            assert seen.status == "running" and seen.text and seen.citations
            rest = [event async for event in conversations.stream(begun.id, heard[-1].number)]
            numbers = [event.number for event in (*heard, *rest)]
            assert numbers == list(range(1, len(numbers) + 1))
            kinds = [event.kind for event in (*heard, *rest)]
            assert kinds[:2] == ["begun", "title"] and kinds[-1] == "ended" and "sources" in kinds
            pieces = "".join(event.detail["text"] for event in (*heard, *rest) if event.kind == "text")
            assert pieces == GOOD * 5 == rest[-1].detail["text"]
            assert (await conversations.message(begun.id)).status == "complete"
            late = [event async for event in conversations.stream(begun.id, 10_000)]
            assert late == []

        run(leave_and_return())
        assert len(server.requests) == 1


def test_a_turn_is_cancelled_within_moments_and_what_there_is_stays(home: Path) -> None:
    with engine_with(home, lambda _: FakeReply(GOOD * 50, wait=0.2), effort="fast") as (engine, _):
        conversations = engine.conversations

        async def cancel() -> ConversationMessage:
            begun = await conversations.ask((await conversations.create()).id, SALES)
            cancelled = False
            async for event in conversations.stream(begun.id):
                if event.kind == "text" and not cancelled:  # more text may come until the turn has ended
                    cancelled = await conversations.cancel(begun.id)
                    assert cancelled
            return await conversations.message(begun.id)

        message = run(asyncio.wait_for(cancel(), 600))
        assert message.status == "cancelled" and message.text and len(message.text) < len(GOOD * 50)
        assert not run(conversations.cancel(message.id))


def test_an_engine_that_closes_interrupts_its_turns_and_another_takes_them_again(home: Path) -> None:
    with engine_with(home, lambda _: FakeReply(GOOD * 50, wait=0.2), effort="fast") as (engine, _):
        id = run(engine.conversations.create()).id
        begun = run(engine.conversations.ask(id, SALES))
        engine.close()
    with engine_with(home, lambda _: GOOD, effort="fast") as (engine, _):
        left = run(engine.conversations.message(begun.id))
        assert left.status == "interrupted" and "ended before" in left.cause

        async def again() -> ConversationMessage:
            return await engine.conversations.wait((await engine.conversations.again(begun.id)).id)

        done = run(again())
        assert (done.id, done.status, done.text) == (begun.id, "complete", GOOD)
        branch = run(engine.conversations.again(begun.id))
        assert branch.siblings == (begun.id, branch.id)


def test_an_edited_question_begins_a_branch_and_what_fell_out_is_summarised(home: Path) -> None:
    shown: list[str] = []
    summarised = threading.Event()

    def answer(request: Request) -> Any:
        system = request.messages[0].text
        if "keep the notes" in system:
            shown.append(request.messages[-1].text)
            summarised.set()
            return "Net sales were asked for."
        return GOOD

    with engine_with(home, answer, effort="fast", conversation_tokens=200) as (engine, server):
        conversations = engine.conversations
        id = run(conversations.create()).id
        filler = "Which risks does Dunlin Freight name in its annual report for 2023? " * 4
        first = asked(engine, id, SALES)
        asked(engine, id, filler)
        third = asked(engine, id, filler)
        assert summarised.wait(600) and SALES in shown[0]
        path = run(conversations.messages(id))

        async def edit() -> ConversationMessage:
            return await conversations.wait((await conversations.edit(path[2].id, "What were its liabilities?")).id)

        edited = run(edit())
        assert [one.id for one in run(conversations.messages(id))] == [path[0].id, first.id, edited.parent, edited.id]
        assert len(run(conversations.messages(id))[2].siblings) == 2
        assert [one.id for one in run(conversations.turn_to(id, third.id))][-1] == third.id
        asked(engine, id, filler)
        told = [request.messages[-1].text for request in server.requests]
        assert any("Summary of the beginning: Net sales were asked for." in one for one in told)


def test_what_was_cited_stays_readable(home: Path, tmp_path: Path) -> None:
    with engine_with(home, lambda _: GOOD, effort="fast") as (engine, _):
        conversations = engine.conversations
        id = run(conversations.create(documents="corvane-optics-2023-10k.pdf")).id
        first = asked(engine, id, SALES)
        place = run(conversations.place(first.id, 1))
        assert place.library == "default" and place.boxes and place.citation.page == 3 and not place.note
        assert run(conversations.message(first.id)).citations[0].boxes == place.boxes
        with pytest.raises(NotFoundError):
            run(conversations.place(first.id, 99))
        shown = run(conversations.export(id))
        assert f"## {SALES}" in shown and "(corvane-optics-2023-10k.pdf), page 3" in shown
        whole = json.loads(run(conversations.export(id, "json")))
        assert [one["role"] for one in whole["messages"]] == ["user", "assistant"]
        [work] = json.loads(run(conversations.export(id, "csl")))
        assert work["page"] == "3" and work["note"] == "corvane-optics-2023-10k.pdf"
        assert f"@misc{{{work['id']}," in run(conversations.export(id, "bibtex"))
        run(engine.documents.remove("corvane-optics-2023-10k.pdf"))
        gone = run(conversations.place(first.id, 1))
        assert "the document was removed" in gone.note and gone.citation.quote and gone.citation.page == 3
        assert "*(the document was removed)*" in run(conversations.export(id))
        failed = asked(engine, id, "And in 2022?")
        assert failed.status == "failed" and "None of the documents" in failed.cause


def test_what_a_conversation_is_about(plain: Engine) -> None:
    conversations = plain.conversations
    with pytest.raises(NotFoundError):
        run(conversations.create(libraries="nowhere"))
    with pytest.raises(UsageError):
        run(conversations.create(libraries="default", all_libraries=True))
    made = run(conversations.create(all_libraries=True, title="  Mine \n too "))
    assert made.title == "Mine too" and asked(plain, made.id, SALES).citations[0].library == "default"
    assert run(conversations.get(made.id)).title == "Mine too"
    with pytest.raises(UsageError):
        run(conversations.ask(made.id, SALES, documents=["x"]))
    with pytest.raises(UsageError):
        run(conversations.ask(made.id, "  "))
    run(conversations.remove(made.id))
    assert run(conversations.listed()) == []


def test_an_answer_that_fails_unexpectedly_names_no_class(plain: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("corvane")

    monkeypatch.setattr(TurnMaker, "make", broken)
    failed = asked(plain, run(plain.conversations.create()).id, SALES)
    assert failed.status == "failed" and failed.cause.startswith("An unexpected error occurred")
    assert "KeyError" not in failed.cause


def test_cited_documents_become_references() -> None:
    from hybrid_core.types.conversations import Citation
    from hybrid_pageindex.conversations.exports import cited_works, to_bibtex, to_csl

    def cited(doc: str, name: str, page: int, title: str = "") -> Citation:
        return Citation(1, "l", doc, name, "c", "s", page, "", (), "…", True, doc_title=title)

    works = cited_works(
        [
            cited("a", "r&d_50%.pdf", 9, "R&D {costs} 50 %"), cited("a", "r&d_50%.pdf", 2, "R&D {costs} 50 %"),
            cited("b", "same.pdf", 1, "R&D costs 50"), cited("c", "宪法.md", 3),
        ]
    )  # fmt: skip
    assert [(work.key, work.pages) for work in works] == [
        ("r-d-costs-50", (2, 9)), ("r-d-costs-50-2", (1,)), ("md", (3,)),
    ]  # fmt: skip
    written = to_bibtex(works)
    assert r"title = {{R\&D \{costs\} 50 \%}}" in written and r"note = {r\&d\_50\%.pdf, p. 2, 9}" in written
    assert written.count("@misc{") == 3 and "宪法.md" in written
    assert [item["page"] for item in json.loads(to_csl(works))] == ["2, 9", "1", "3"]
    assert to_bibtex([]) == "" and json.loads(to_csl([])) == []


def test_an_export_says_what_the_page_warns_of() -> None:
    from hybrid_core.types.conversations import Conversation, ConversationScope, TurnResult
    from hybrid_pageindex.conversations.exports import exported

    def told(status: Any, result: TurnResult) -> str:
        answer = ConversationMessage(2, "c", 1, "assistant", "It was 118.", status, 0, result=result)
        return exported(Conversation("c", "", "Mills", "user", ConversationScope(), 0, 0, 0), [answer], "markdown")

    assert "Not supported by the sources: 118 (not on its page)" in told(
        "complete", TurnResult(unsupported=(("118", "not on its page"),))
    )
    assert "The evidence is weak." in told("complete", TurnResult(evidence="weak"))
    assert "The answer was stopped before it was complete." in told("cancelled", TurnResult())
    assert told("complete", TurnResult(evidence="strong")).endswith("It was 118.\n")
