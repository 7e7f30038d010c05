"""Settings in a browser: a model is set up and tried, packs are tried on a question, tokens are made and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.doors.http.conftest import START, Serving
from tests.doubles.scripted_server import ScriptedServer, scripted_server

KEY = "a-key-that-is-never-shown-again"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with scripted_server(lambda _: '{"word": "ready"}') as made:
        yield made


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


def test_packs_show_what_they_make_of_a_question(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.goto(f"{served.url}/#/settings/packs")
    page.get_by_label("Type a question").fill("What was the capex of 2018?")
    page.get_by_text("capital expenditures").first.wait_for()
    page.get_by_label("All packs, each for documents of its kind").uncheck()
    page.get_by_text("Saved").wait_for()
    page.locator("label", has_text="Finance").get_by_role("checkbox").uncheck()
    page.get_by_text("The packs add nothing to it.").wait_for()
    with served.client() as client:
        [expert] = [one["value"] for one in client.get("/settings").json() if one["name"] == "expert"]
    assert expert == "contracts,statutes-zh,operations"


def test_a_token_is_made_shown_once_and_taken_back(served: Serving, page: Any) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.goto(f"{served.url}/#/settings/tokens")
    page.get_by_label("For whom").fill("anna")
    page.get_by_role("button", name="Create").click()
    secret = page.locator(".secret code").inner_text()
    with served.client(secret) as anna:
        assert anna.get("/session").json()["name"] == "anna"
    page.reload()
    page.get_by_text("anna").first.wait_for()
    assert secret not in page.content()
    page.get_by_role("button", name="Take back").click()
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
