"""The turn in which models improve a published document: its order, what is kept, what every failure leaves."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hybrid_core.errors import ChatError, UsageError
from hybrid_core.llm.chat import Message, Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.client import Retries
from hybrid_core.llm.client.limiter import Breaker
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.types.files import ContentVersion
from hybrid_pageindex import Engine, Settings, run
from tests import pdfs
from tests.doubles.replies import Answer, FakeEndpoint, FakeReply
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.indexers.enrich.test_pages import describing
from tests.models_over_http import data, engine_with


def reading(request: Request) -> dict[str, Any] | str:
    """A language model that says something of everything that is asked of it, and a vision model."""
    text = request.messages[-1].text
    if "Text of the page" in text or "colour" in text or "word: ready" in text:
        return describing(request)
    if request.title == "SectionSummaries":
        numbers = re.findall(r"^\[section (\d+)\]", data(text, "Sections"), re.MULTILINE)
        return {
            "summaries": [
                {"section": int(n), "summary": "All about gneiss.", "gaps": ["Annex to the chapter"]} for n in numbers
            ]
        }
    if request.title == "Description":
        return {"description": "A handbook of feldspar."}
    raise AssertionError(f"nobody expects {request.title}")


def thinking(
    home: Path, answer: Answer = reading, **settings: Any
) -> AbstractContextManager[tuple[Engine, ScriptedServer]]:
    """An engine whose language model is scripted behind HTTP, and no vision model unless ``vlm_model`` is set."""
    return engine_with(home, answer, **({"ocr": "never"} | settings))


def titles(server: ScriptedServer) -> list[str]:
    return [request.title for request in server.requests if request.title != "Word"]


def long_book(path: Path, word: str = "chalk") -> Path:
    """Chapters with bookmarks, each long enough to be summarised by a model; ``word`` is on the third page."""
    import pymupdf

    document = pymupdf.open()
    outline = []
    for chapter in range(1, 4):
        for part in range(2):
            sheet = pdfs.Sheet(document)
            if not part:
                sheet.heading(f"Chapter {chapter}")
                outline.append((1, f"Chapter {chapter}", document.page_count))
            more = f"The word is {word}. " if document.page_count == 3 else ""
            sheet.text(more + pdfs.prose(f"chapter {chapter}", part, 26))
    document.set_toc([list(entry) for entry in outline])
    document.save(path, no_new_id=True)
    return path


def test_a_language_model_summarises_sections_and_describes_the_document(tmp_path: Path) -> None:
    path = long_book(tmp_path / "a.pdf")
    with thinking(tmp_path / "home") as (engine, server):
        file = run(engine.index(path)).files[0]
        assert [(step.step, step.failed) for step in file.steps] == [("tree", 0), ("sections", 0), ("description", 0)]
        assert titles(server).count("Description") == 1 and file.usage.calls == len(titles(server)) <= 3
        document = run(engine.documents.get("a.pdf"))
        assert document.description == "A handbook of feldspar." and document.models["llm"].startswith("openai:")
        nodes = run(engine.outline("a.pdf")).to_dict()["nodes"]
        assert [node["summary"] for node in nodes] == ["All about gneiss."] * 3 and nodes[0]["gaps"] == [
            "Annex to the chapter"
        ]
        assert run(engine.search("chapter 2")).results[0].section.gaps == ("Annex to the chapter",)
        asked = len(server.requests)
        assert run(engine.index(path)).files[0].status == "unchanged"
        assert len(titles(server)) == file.usage.calls and len(server.requests) <= asked + 1, "at most a trial"


def test_one_changed_page_costs_three_calls_at_most(tmp_path: Path) -> None:
    path = long_book(tmp_path / "a.pdf")
    with thinking(tmp_path / "home") as (engine, _):
        run(engine.index(path))
        file = run(engine.index(long_book(path, word="loess"))).files[0]
        assert file.status == "indexed" and 1 <= file.usage.calls <= 3 and file.usage.cached >= 1


def test_page_descriptions_come_before_the_summaries_of_their_sections(tmp_path: Path) -> None:
    path = pdfs.pictured(tmp_path / "a.pdf")
    with thinking(tmp_path / "home", vlm_model=uuid4().hex, enrich="auto") as (engine, server):
        file = run(engine.index(path)).files[0]
        assert [step.step for step in file.steps] == ["pages", "tree", "sections", "description"]
        order = [title for title in titles(server) if title in ("PageSaid", "SectionSummaries")]
        assert order == sorted(order) and order[0] == "PageSaid"


FAILING = {
    "answers nothing": lambda: FakeReply(""),
    "another shape": lambda: FakeReply('{"x": 1}'),
    "cut off": lambda: FakeReply('{"summaries": [', finish="length"),
    "a refusal": lambda: FakeReply(refusal="no"),
    "overloaded": lambda: FakeReply(status=500, body={"error": {"message": "overloaded"}}),
    "a rate limit": lambda: FakeReply(
        status=429, headers={"Retry-After": "0"}, body={"error": {"message": "slow down"}}
    ),
    "no connection": lambda: FakeReply(break_after=0),
    "a used-up account": lambda: FakeReply(status=429, body={"error": {"message": "x", "code": "insufficient_quota"}}),
}


@pytest.mark.parametrize("name", FAILING)
def test_whatever_fails_the_document_is_indexed_and_the_rest_follows(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Retries.__init__, "__defaults__", (2, 0.01, 1.0, 1.0))
    path = long_book(tmp_path / "a.pdf")
    ill = True

    def answer(request: Request) -> Any:
        return FAILING[name]() if ill and request.title == "SectionSummaries" else reading(request)

    with thinking(tmp_path / "home", answer) as (engine, server):
        file = run(engine.index(path)).files[0]
        assert file.status == "indexed" and file.sections == 3 and file.note
        assert [step.failed for step in file.steps if step.step == "sections"] == [1]
        nodes = run(engine.outline("a.pdf")).to_dict()["nodes"]
        assert all(node["summary"] and "gneiss" not in node["summary"] for node in nodes), "the rules' own"
        ill = False
        mended = run(engine.index(path)).files[0]
        assert mended.status == "indexed" and not any(step.failed for step in mended.steps)
        assert titles(server).count("Description") <= 2
        assert run(engine.outline("a.pdf")).to_dict()["nodes"][0]["summary"] == "All about gneiss."
        assert run(engine.index(path)).files[0].status == "unchanged"


def version(engine: Engine) -> ContentVersion:
    with engine._catalog().snapshot() as snapshot:
        [stored] = snapshot.published_versions("default").values()
    return stored.version


def test_another_model_improves_what_the_rules_made_and_not_what_the_last_one_said(tmp_path: Path) -> None:
    path = long_book(tmp_path / "a.pdf")
    with thinking(tmp_path / "home") as (engine, _):
        run(engine.index(path))
        first = version(engine)
        engine.settings = replace(engine.settings, llm_model=uuid4().hex)
        engine.close()
        assert run(engine.index(path)).files[0].status == "indexed"
        second = version(engine)
        assert first != second and first.by_rules == second.by_rules
        engine.settings = replace(engine.settings, enrich="never")
        engine.close()
        report = run(engine.index(path))
        assert report.files[0].status == "unchanged" and version(engine) == second


def test_a_complete_version_is_not_replaced_by_a_partial_one(tmp_path: Path) -> None:
    path = long_book(tmp_path / "a.pdf")
    ill = False

    def answer(request: Request) -> Any:
        return FakeReply(refusal="no") if ill and request.title == "SectionSummaries" else reading(request)

    with thinking(tmp_path / "home", answer) as (engine, _):
        run(engine.index(path))
        before, ill = run(engine.documents.get("a.pdf")).content_id, True
        engine.settings = replace(engine.settings, llm_model=uuid4().hex)
        engine.close()
        file = run(engine.index(path)).files[0]
        assert (file.status, file.steps[1].failed) == ("unchanged", 1)
        assert "the results of earlier models are kept" in file.note
        assert run(engine.documents.get("a.pdf")).content_id == before
        ill = False
        assert run(engine.index(path)).files[0].status == "indexed"


def test_a_model_that_is_given_is_asked_and_sees_only_where_that_is_wished(tmp_path: Path) -> None:
    path = pdfs.pictured(tmp_path / "a.pdf")
    given = FakeEndpoint(reading)
    engine = Engine(tmp_path / "home", chat=ChatModel(given))
    assert [step.step for step in run(engine.index(path)).files[0].steps] == ["tree", "sections", "description"]
    assert not any(message.images for request in given.requests for message in request.messages)
    steps = run(engine.index(path, vision="always")).files[0].steps
    assert (steps[0].step, steps[0].done) == ("pages", 7)
    assert not any(request.title == "Word" for request in given.requests)
    engine.close()


def test_the_same_bytes_are_paid_for_once(tmp_path: Path) -> None:
    one = long_book(tmp_path / "a.pdf")
    two = tmp_path / "b.pdf"
    two.write_bytes(one.read_bytes())
    with thinking(tmp_path / "home") as (engine, server):
        files = run(engine.index([one, two])).files
        assert len({document.content_id for document in run(engine.documents.list())}) == 1
        assert titles(server).count("Description") == 1 == sum(bool(file.steps) for file in files)
        assert any("models have already improved a document with the same bytes" in file.note for file in files)
        other = run(engine.index(two, library="other")).files[0]
        assert other.status == "indexed" and titles(server).count("Description") == 1


def test_a_kill_in_the_middle_leaves_it_searchable_and_the_next_run_goes_on(tmp_path: Path) -> None:
    path = pdfs.pictured(tmp_path / "a.pdf")
    answered = 0

    def answer(request: Request) -> Any:
        nonlocal answered
        if "Text of the page" in request.messages[-1].text:
            answered += 1
            if 3 <= answered <= 4:
                return FakeReply("{}", wait=60)
        return describing(request)

    with scripted_server(answer) as server:
        settings = {"PAGEINDEX_VLM_MODEL": "eyes", "PAGEINDEX_VLM_BASE_URL": server.url, "PAGEINDEX_OCR": "never"}
        more = {"PAGEINDEX_MAX_CONCURRENT_PAGES": "1", "PAGEINDEX_VISION": "always"}
        command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(tmp_path / "home"), "index", str(path)]
        process = subprocess.Popen(
            command, env=os.environ | settings | more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 600
        while answered < 3 and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert answered == 3
        heard = [request.messages for request in server.requests if request.title == "PageSaid"]
        engine = Engine(settings=Settings(
            storage_path=tmp_path / "home", vlm_model="eyes", vlm_base_url=server.url, ocr="never", vision="always",
        ))  # fmt: skip
        assert run(engine.search("quarry")).results and not run(engine.pages("a.pdf", 2))[0].described
        answered = 10
        file = run(engine.index(path)).files[0]
        assert (file.steps[0].done, file.usage.calls, file.usage.cached) == (7, 5, 2)
        again = [request.messages for request in server.requests if request.title == "PageSaid"][len(heard) :]
        assert not [one for one in again if one in heard[:2]], "what was answered is not asked again"
        engine.close()


def test_without_models_the_command_says_what_it_did_instead(program: Any, tmp_path: Path) -> None:
    paths = [pdfs.numbered(tmp_path / f"{n}.pdf", 1, f"cove {n}") for n in range(2)]
    shown = program("index", *paths)
    assert shown.stdout.count("no language model is configured") == 1 == shown.stdout.count("no vision model")
    assert "note" not in program("index", *paths).stdout, "nothing was done, nothing was done without"
    assert "note" not in program("index", pdfs.numbered(tmp_path / "2.pdf", 1, "cove 2")).stdout, "it was said before"
    assert program("index", *paths, "--vision", "always").stdout.count("no vision model") == 1, "it was asked for"


def test_the_command_shows_what_models_did_and_took(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pdfs.pictured(tmp_path / "a.pdf")
    with scripted_server(describing) as server:
        monkeypatch.setenv("PAGEINDEX_VLM_MODEL", "eyes")
        monkeypatch.setenv("PAGEINDEX_VLM_BASE_URL", server.url)
        monkeypatch.setenv("PAGEINDEX_MODEL_PRICES", "eyes=1/1")
        shown = program("index", path, "--vision", "always")
        row = next(line.split() for line in shown.stdout.splitlines() if line.startswith("a.pdf"))
        assert row[:6] == ["a.pdf", "7", "0", "0", "7", "0"] and float(row[-2]) > 0
        assert re.search(r"a\.pdf: 7 pages, .*, models [\d.]+ s \(7 calls\)", shown.stderr)
        assert "pages 7 done, 0 failed, 7 model calls, " in program("info", "a.pdf").stdout
        assert "marlstone" in program("page", "a.pdf", "2").stdout
        server.answer = lambda _: FakeReply(status=401, body={"error": {"message": "no"}})
        wrong = program("index", pdfs.numbered(tmp_path / "b.pdf", 1, "cove"))
        assert wrong.returncode == 0 and wrong.stdout.count("the vision model does not work") == 1
        assert wrong.stderr.count("note: the vision model does not work") == 1, "as soon as it is known"


def test_a_model_that_fails_three_times_in_a_row_is_left_alone() -> None:
    calls = 0

    def answer(_: Request) -> FakeReply:
        nonlocal calls
        calls += 1
        raise ChatError("no route.", failure="connection", retryable=True)

    breaker = Breaker(math.inf, 3)
    run_of = CallScope(patient=True, breaker=breaker)
    model = ChatModel(FakeEndpoint(answer), retries=Retries(tries=1))
    for _ in range(5):
        with pytest.raises(ChatError, match="no route") as caught:
            model.say([Message("user", "hello")], scope=run_of.part())
        assert "The next call is made" not in str(caught.value) and caught.value.wait == 0
    assert calls == 3 and breaker.refuses(model.name) is not None
    with pytest.raises(ChatError, match="no route"):
        model.say([Message("user", "hello")], scope=CallScope(patient=True))
    assert calls == 4, "another run asks again"


def test_versions_tell_what_has_been_done() -> None:
    made = ContentVersion("c0ffee", "pdf", "pdf-1", "chunks-1", "tree-1", ocr="12345678")
    done = made.with_models({"llm": "aaaa", "vlm": "bbbb"})
    assert done.by_rules == made and done.made_as(made) and done.new_id() != made.new_id()
    assert done.improved_by({"llm": "aaaa"}) and done.improved_by({"llm": "aaaa", "vlm": "bbbb"})
    assert done.improved_by({}) and not done.improved_by({"llm": "cccc"}) and not made.improved_by({"vlm": "bbbb"})
    partly = done.with_models({"vlm": "bbbb"}, "99")
    assert partly.by_rules == made and not partly.improved_by({"vlm": "bbbb"})


@pytest.mark.parametrize(
    ("setting", "said"),
    [({"vision": "some"}, "vision is 'some'.*auto, always or never"), ({"enrich": "x"}, "enrich is 'x'"),
     ({"image_format": "gif"}, "png or jpeg"), ({"image_max_side": 10}, "256 to 8000"),
     ({"image_max_tiles": 0}, "1 to 16"), ({"max_concurrent_pages": 0}, "max_concurrent_pages is 0")],
)  # fmt: skip
def test_mistakes_in_settings(setting: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Settings(**setting)


def test_every_prompt_of_indexing_decides_whether_a_version_still_serves() -> None:
    from importlib import resources

    from indexers.enrich import options

    files = [file.name for file in resources.files("hybrid_core.llm.prompts").iterdir() if file.name.endswith(".md")]
    kinds = ("page-", "headings-", "section-", "document-")
    of_indexing = {name.split(".")[0] for name in files if name.startswith(kinds)}
    assert of_indexing == {*options._READING, *options._SEEING}
