"""Settings in a browser: a model is set up and tried, packs are tried on a question, tokens are made and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.llm.chat import Request
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.interfaces.http.conftest import START, Serving, serving, upload, wait_for_jobs
from tests.tiny_models import embedding_server

KEY = "a-key-that-is-never-shown-again"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with scripted_server(lambda _: '{"word": "ready"}') as made:
        yield made


def _answer(request: Request) -> str:
    """As a local model would answer: a word for the test, else a sentence with its citation."""
    return '{"word": "ready"}' if request.title == "Word" else "It leaves at nine [[source:1]]."


def test_a_model_is_set_up_and_tried(served: Serving, page: Any, model: ScriptedServer) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("link", name="Settings").click()
    card = page.locator("section.card", has_text="Language model").first
    for label, text in (("Model", "m"), ("Address", model.url), ("Key", KEY)):
        card.get_by_label(label, exact=True).fill(text)
        card.get_by_label(label, exact=True).blur()
        card.locator(".field", has=page.get_by_label(label, exact=True)).get_by_text("Saved").wait_for()
    card.get_by_role("button", name="Test").click()
    card.get_by_text("answers in").wait_for()
    page.get_by_role("cell", name="m", exact=False).first.wait_for()
    page.reload()
    key = page.locator("section.card", has_text="Language model").first.get_by_label("Key", exact=True)
    key.wait_for()
    assert key.input_value() == "" and KEY not in page.content()
    assert "type to replace" in key.get_attribute("placeholder")


def test_from_a_dropped_file_to_an_answer_of_a_local_model_in_six_actions(tmp_path: Path, page: Any) -> None:
    """A plain person, no terminal: each line of actions is one click, one drop, or one thing that is typed."""
    with serving(tmp_path / "home") as own, scripted_server(_answer) as local, own.client() as client:
        client.post("/libraries", json={"name": "boats"})
        page.goto(f"{own.url}/#token={START}")
        page.get_by_role("main").wait_for()
        page.evaluate("location.hash = '#/library/boats'")
        page.get_by_role("heading", name="boats", level=1).wait_for()
        file = {"name": "ferry.md", "mimeType": "text/markdown", "buffer": b"# Ferry\n\nThe ferry leaves at nine.\n"}

        page.locator("input[type=file]").first.set_input_files(file)  # 1
        page.get_by_text("1 document", exact=True).wait_for()
        page.get_by_role("link", name="Settings", exact=True).click()  # 2
        page.get_by_label("Other port").fill(local.url.rsplit(":", 1)[1].removesuffix("/v1"))  # not at a usual port
        page.keyboard.press("Enter")  # 3
        page.get_by_text("Ollama", exact=True).wait_for()
        assert page.get_by_label("Model of Ollama").locator("option").all_inner_texts() == ["llama3.2:3b"]
        page.get_by_role("button", name="Use it").click()  # 4
        page.get_by_text("llama3.2:3b is set up").wait_for()
        page.get_by_role("link", name="Ask your documents").click()  # 5
        page.get_by_role("searchbox").fill("When does the ferry leave?")
        page.get_by_role("button", name="Ask", exact=True).click()  # 6
        page.get_by_text("It leaves at nine").wait_for()
        with client.stream("GET", "/ready"):
            views = {one["name"]: one["value"] for one in client.get("/settings").json()}
        assert views["llm_base_url"] == local.url and views["llm_model"] == "llama3.2:3b"


def test_a_provider_that_refuses_the_key_says_why_in_its_own_words(
    served: Serving, page: Any, model: ScriptedServer
) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Other port").fill("1")  # where nothing listens
    page.get_by_role("button", name="Look for").click()
    page.get_by_text("No Ollama, LM Studio, llama.cpp").wait_for()
    page.get_by_text("Use a provider with a key").click()
    page.get_by_label("API key").fill("sk-wrong")
    refusal = {"error": {"message": "Incorrect API key provided: sk-wrong.", "type": "invalid_request_error"}}
    page.route("**/api/v1/models/llm/test", lambda route: route.fulfill(
        json={"ok": False, "configured": True, "error": refusal["error"] | {"code": "model_failed", "advice": ""}}
    ))  # fmt: skip
    page.get_by_role("button", name="Save and test").click()
    page.get_by_text("Incorrect API key provided").wait_for()
    with served.client() as client:
        settings = {one["name"]: one for one in client.get("/settings").json()}
        assert settings["llm_provider"]["value"] == "openai" and settings["llm_api_key"]["given"]
        client.patch("/settings", json={"llm_model": "", "llm_api_key": ""}).raise_for_status()
        reader = client.post("/tokens", json={"name": "boss", "role": "admin"}).json()["secret"]
    with served.client(reader) as other:
        assert other.post("/models/local", json={}).status_code == 403
        assert other.post("/models/local", json={"ports": [70000]}).status_code == 422
    with served.client() as client:
        client.delete("/tokens/boss").raise_for_status()


def test_packs_show_what_they_make_of_a_question(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.goto(f"{served.url}/#/settings/packs")
    page.get_by_label("Type a question").fill("What was the capex of 2018?")
    page.get_by_text("capital expenditures").first.wait_for()
    page.get_by_label("All packs, each for documents of its kind").uncheck()
    page.get_by_text("Saved").wait_for()
    page.locator("label", has_text="Finance").get_by_role("checkbox").uncheck()
    page.get_by_text("The packs add nothing to this question.").wait_for()
    with served.client() as client:
        [expert] = [one["value"] for one in client.get("/settings").json() if one["name"] == "expert"]
    assert expert == "contracts,statutes-zh,operations"


def test_a_token_is_made_shown_once_and_taken_back(served: Serving, page: Any) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.goto(f"{served.url}/#/settings/tokens")
    page.get_by_label("Name of the person or program").fill("anna")
    page.get_by_role("button", name="Create").click()
    secret = page.locator(".secret code").inner_text()
    with served.client(secret) as anna:
        assert anna.get("/session").json()["name"] == "anna"
    page.reload()
    page.get_by_text("anna").first.wait_for()
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_text("Nobody else has access.").wait_for()


def test_a_folder_that_the_server_may_not_read_is_refused_in_words(served: Serving, page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "kept"})
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.goto(f"{served.url}/#/settings/folders")
    kept = page.get_by_role("region", name="kept")
    kept.get_by_label("Folder on the server's disk").fill("/etc")
    kept.get_by_role("button", name="Watch", exact=True).click()
    kept.get_by_role("alert").get_by_text("/etc", exact=False).wait_for()


def test_how_pages_are_chosen_is_set_and_refused_in_words(served: Serving, page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "bay"})
        upload(client, "bay", cape="# Cape\n\nThe lighthouse is white.\n", cove="# Cove\n\nThe lighthouse is red.\n")
        asked = {"question": "Which lighthouse is red?", "libraries": ["bay"]}
        assert len(client.post("/search", json=asked).json()["results"]) == 2
        page.goto(f"{served.url}/#token={START}")
        page.locator("main").wait_for()
        page.goto(f"{served.url}/#/settings/searching")
        most = page.locator(".field", has=page.get_by_label("Pages per search"))
        for value, said in (("0", "top_k"), ("1", "Saved")):
            most.get_by_role("spinbutton").fill(value)
            most.get_by_role("spinbutton").blur()
            most.get_by_role("status").get_by_text(said).wait_for()
        [hit] = client.post("/search", json=asked).json()["results"]
        assert "red" in str(hit)
        page.reload()
        most.get_by_role("spinbutton").wait_for()
        assert most.get_by_role("spinbutton").input_value() == "1"


def test_how_documents_are_read_and_embedded_is_set(served: Serving, page: Any) -> None:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    with served.client() as client, embedding_server() as vectors:
        client.post("/libraries", json={"name": "shore"})
        upload(client, "shore", dune="# Dune\n\nThe dune is of sand.\n")
        page.goto(f"{served.url}/#token={START}")
        page.locator("main").wait_for()
        page.goto(f"{served.url}/#/settings/reading")
        for label, value in (("Scans", "never"), ("Pages a model describes", "never")):
            page.get_by_label(label, exact=True).select_option(value)
            page.locator(".field", has=page.get_by_label(label, exact=True)).get_by_text("Saved").wait_for()
        page.get_by_label("Languages of scans").fill("deu+eng")
        page.get_by_label("Languages of scans").blur()
        page.locator(".field", has=page.get_by_label("Languages of scans")).get_by_text("Saved").wait_for()
        page.locator(".checks dd").first.wait_for()
        kept = {one["name"]: one["value"] for one in client.get("/settings").json()}
        assert (kept["ocr"], kept["vision"], kept["ocr_languages"]) == ("never", "never", "deu+eng")

        page.goto(f"{served.url}/#/settings/vectors")
        shore = page.get_by_role("listitem").filter(has_text="shore")
        shore.get_by_text("by words alone").wait_for()
        for label, value in (("Embedder", "openai:m"), ("Address", vectors.url)):
            page.get_by_label(label, exact=True).fill(value)
            page.get_by_label(label, exact=True).blur()
            page.locator(".field", has=page.get_by_label(label, exact=True)).get_by_text("Saved").wait_for()
        shore.get_by_role("button", name="Make vectors").click()
        page.get_by_text("Queued: the Jobs page shows the progress.").wait_for()
        jobs = client.get("/jobs", params={"library": "shore"}).json()["jobs"]
        wait_for_jobs(client, [job["id"] for job in jobs])
        page.reload()
        shore.get_by_text("1 of 1 documents have vectors of openai:m").wait_for()
        asked = {"question": "What is the dune made of?", "libraries": ["shore"], "effort": "fast"}
        [hit] = client.post("/search", json=asked).json()["results"]
        assert hit["receipt"]["dense"] is not None, "searches use them"


def test_choices_bear_names_that_people_read(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    for part in ("searching", "reading", "models"):
        page.evaluate("part => { location.hash = '#/settings/' + part }", part)
        page.locator(f".parts a[href$={part}][aria-current=page]").wait_for()
        page.locator(".fields select").first.wait_for()
        names = page.locator(".fields select option").all_inner_texts()
        assert not {"auto", "deep", "fast", "mcts", "rrf", "weighted", "outline", "openai", "never"} & set(names), names
    page.evaluate("location.hash = '#/settings/searching'")
    assert page.get_by_label("Effort").locator("option").all_inner_texts() == ["Fast", "Balanced", "Thorough"]
