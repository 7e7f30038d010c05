"""What models would take, told before any is asked; and contact sheets, by which pages are chosen to be seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hybrid_core.llm.chat import Request
from hybrid_core.llm.offline import CountingEndpoint
from hybrid_pageindex import run
from hybrid_pageindex.cli import main
from tests import pdfs
from tests.indexers.enrich.test_stage import long_book, reading, thinking


def seeing(request: Request) -> dict[str, Any] | str:
    """As ``reading``, and pages 2 and 3 of a contact sheet need no closer look; of headings nothing is known."""
    if request.title == "Glance":
        return {"skip": [2, 3, 99]}
    known = ("", "Word", "PageSaid", "SectionSummaries", "Description")
    return reading(request) if request.title in known else CountingEndpoint("").complete(request, 1).text


def test_an_estimate_says_what_a_run_takes_and_asks_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book, deck = long_book(tmp_path / "a.pdf"), pdfs.pictured(tmp_path / "b.pdf")
    names = {"vlm_model": (eyes := uuid4().hex), "llm_model": (words := uuid4().hex)}
    with thinking(tmp_path / "home", seeing, **names, model_prices=f"{eyes}=1/2,{words}=1/2") as (engine, server):
        told = run(engine.index([book, deck], enrich="estimate"))
        assert server.requests == [] and run(engine.search("chapter 2", effort="fast")).results, "both can be searched"
        assert "an estimate without calling a model: " in told.notes[-1] and "cost 0.0" in told.notes[-1]
        took = run(engine.index([book, deck]))
        asked = [request for request in server.requests if request.title and request.title != "Word"]
        assert told.usage.calls == took.usage.calls == len(asked) and told.usage.cost > 0
        for before, after in zip(told.files, took.files, strict=True):
            assert [step.step for step in before.steps] == [step.step for step in after.steps]
            for guess, step in zip(before.steps, after.steps, strict=True):
                shown_only = step.step == "sections" and after is took.files[1]  # a section may be a chart and no text
                assert guess.done == step.done or (shown_only and guess.done + 1 == step.done)
        again = run(engine.index([book, deck], enrich="estimate"))
        assert again.usage.calls == 0 and "0 calls" in again.notes[-1], "nothing is left to do"
        for file in (book, deck):  # other bytes of the same pages
            file.write_bytes(file.read_bytes() + b"%\n")
        kept = run(engine.index([book, deck], enrich="estimate"))
        assert kept.usage.calls == 0 and "with cached replies" in kept.notes[-1], "an unfinished run costs the rest"
    code = main(["--home", str(tmp_path / "other"), "index", str(book), "--estimate", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert code == 0 and shown["usage"]["calls"] == 0 and "no language model is configured" in shown["notes"][0]


def test_documents_that_are_there_are_estimated_beside_the_jobs_that_wait_for_them(tmp_path: Path) -> None:
    book, deck = long_book(tmp_path / "a.pdf"), pdfs.pictured(tmp_path / "b.pdf")
    names = {"vlm_model": uuid4().hex, "llm_model": (words := uuid4().hex)}
    with thinking(tmp_path / "home", seeing, **names, model_prices=f"{words}=1/2") as (engine, server):
        run(engine.index([book, deck], enrich="never"))
        run(engine.index([book, deck], detach=True))
        told = run(engine.models.estimate())
        assert server.requests == [] and run(engine.models.usage()).days == (), "nothing was asked, and nothing spent"
        assert {one.doc_name: one.pages for one in told.documents} == {"a.pdf": 0, "b.pdf": 4}
        assert told.pages == 4 and told.cost is None, "one of the models has no price"
        one = run(engine.models.estimate("a.pdf"))
        assert [part.usage for part in one.documents] == [one.usage] and 0 < one.usage.calls < told.usage.calls
        waiting = run(engine.jobs.list(status=["waiting"])).jobs
        assert [view.job.options["enrich"] for view in waiting] == ["auto", "auto"], "their turn still comes"
        took = run(engine.index([book, deck]))
        assert told.usage.calls == took.usage.calls and run(engine.models.estimate()).documents == ()


def test_a_contact_sheet_saves_the_calls_of_pages_that_show_nothing(tmp_path: Path) -> None:
    path = pdfs.pictured(tmp_path / "a.pdf")
    eyes = {"vlm_model": uuid4().hex, "llm_model": ""}
    with thinking(tmp_path / "plain", seeing, **eyes) as (engine, server):
        run(engine.index(path))
        every = [request for request in server.requests if request.title == "PageSaid"]
    with thinking(tmp_path / "home", seeing, **eyes, vision_sheet=12) as (engine, server):
        file = run(engine.index(path)).files[0]
        titles = [request.title for request in server.requests]
        assert titles.count("Glance") == 1 and titles.count("PageSaid") == len(every) - 2
        assert "checked only on contact sheets" in file.note and "pages 2-3" in file.note
        assert run(engine.index(path)).usage.calls == 0, "it is settled"
        run(engine.documents.remove(["a.pdf"]))
        asked = len(server.requests)
        run(engine.index(path))
        assert [one.title for one in server.requests[asked:] if one.title not in ("Word", "")] == [], "all is kept"
    with thinking(tmp_path / "always", seeing, **eyes, vision_sheet=12, vision="always") as (engine, server):
        run(engine.index(path))
        assert "Glance" not in [request.title for request in server.requests], "every page was asked for"


def test_what_all_prompts_about_pages_have_in_common_stands_first(tmp_path: Path) -> None:
    path = pdfs.pictured(tmp_path / "a.pdf")
    with thinking(tmp_path / "home", vlm_model=uuid4().hex, llm_model="") as (engine, server):
        run(engine.index(path))
        written = [
            "\n".join(message.text for message in request.messages)
            for request in server.requests
            if request.title == "PageSaid"
        ]
    shared = next(at for at, letters in enumerate(zip(*written, strict=False)) if len(set(letters)) > 1)
    assert len(written) > 1 and shared > 0.6 * min(map(len, written)) and shared > 1500
