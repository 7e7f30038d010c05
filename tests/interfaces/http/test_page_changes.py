"""What a browser shows after somebody else, or another of its tabs, changed or deleted what is open in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.http.conftest import START, Serving, serving, upload, wait_for_jobs

TIDE = "# Tide\n\nThe tide rises four metres at the mole.\n"
MOLE = "# Mole\n\nThe mole is built of slate.\n"


@pytest.fixture
def tab(served: Serving, page: Any) -> Callable[[str], Any]:
    """Opens a place in a tab of its own, in one browser."""
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("main").wait_for()

    def opened(place: str) -> Any:
        view = page.context.new_page()
        view.goto(f"{served.url}/#/{place}")
        view.get_by_role("main").wait_for()
        return view

    return opened


def test_a_library_that_is_renamed_and_deleted_elsewhere(served: Serving, tab: Callable[[str], Any]) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "coast"})
        upload(client, "coast", tide=TIDE, mole=MOLE)
        client.post("/libraries/coast/notes", json={"title": "Of slate", "text": "As is the quay."}).raise_for_status()
        home, library, notes = tab(""), tab("library/coast"), tab("notes")
        search = tab("search?q=how+far+does+the+tide+rise&effort=fast")
        home.get_by_role("link", name="coast", exact=True).wait_for()
        library.get_by_text("2 documents", exact=True).wait_for()
        notes.get_by_text("As is the quay.").wait_for()
        search.get_by_text("four metres").first.wait_for()

        client.patch("/libraries/coast", json={"name": "shore", "alias": "The shore"}).raise_for_status()
        home.get_by_role("link", name="The shore", exact=True).wait_for()
        library.get_by_role("heading", name="The shore", level=1).wait_for()
        assert library.url.endswith("#/library/shore"), "the view follows the name"
        notes.get_by_role("link", name="The shore").wait_for()
        search.locator(".page-card a[href*='/doc/shore/'], .found-document a[href*='/doc/shore/']").first.wait_for()

        client.delete("/libraries/shore/documents/mole.md").raise_for_status()
        library.get_by_text("1 document", exact=True).wait_for()
        home.locator(".library-card", has_text="The shore").get_by_text("1 document", exact=True).wait_for()

        client.delete("/libraries/shore").raise_for_status()
        home.get_by_role("link", name="The shore", exact=True).wait_for(state="detached")
        library.get_by_role("alert").get_by_role("heading", name="shore").wait_for()
        notes.get_by_text("As is the quay.").wait_for(state="detached")
        search.get_by_text("four metres").first.wait_for(state="detached")

        client.post("/libraries", json={"name": "shore"}).raise_for_status()
        library.get_by_role("heading", name="No documents yet").wait_for()


def test_jobs_that_are_forgotten_and_paused_elsewhere(served: Serving, tab: Callable[[str], Any]) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "port"})
        torn = [("file", ("torn.pdf", b"%PDF-1.7 torn"))]
        [job] = wait_for_jobs(client, [client.post("/libraries/port/documents", files=torn).json()["files"][0]["job"]])
        jobs, library = tab("jobs"), tab("library/port")
        line = jobs.get_by_role("listitem").filter(has_text="torn.pdf")
        line.get_by_text("Failed", exact=True).wait_for()
        library.get_by_role("button", name="1 failed").wait_for()
        client.post(f"/jobs/{job['id']}/forget").raise_for_status()
        line.wait_for(state="detached")
        library.get_by_role("button", name="1 failed").wait_for(state="detached")

        client.post("/jobs/pause", json={"library": "port"}).raise_for_status()
        later = [("file", ("quay.md", b"# Quay"))]
        [sent] = client.post("/libraries/port/documents", files=later).json()["files"]
        library.get_by_role("button", name="1 waiting").click()
        library.get_by_role("button", name="Resume all").wait_for()
        client.post(f"/jobs/{sent['job']}/cancel").raise_for_status()
        client.post("/jobs/resume", json={"library": "port"}).raise_for_status()


def test_a_library_made_anew_shows_nothing_of_the_one_before(served: Serving, tab: Callable[[str], Any]) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "lock"})
        upload(client, "lock", gate="# Gate\n\nOf oak.\n")
    page = tab("library/lock")
    page.get_by_role("link", name="Gate").wait_for()
    page.get_by_role("link", name="Libraries").click()
    page.get_by_role("button", name="Delete lock").click()
    page.get_by_role("button", name="Delete it").click()
    page.get_by_role("link", name="lock", exact=True).wait_for(state="detached")
    with served.client() as client:
        client.post("/libraries", json={"name": "lock"})
    failed = {"code": "failed", "detail": "The disk is away.", "advice": ""}
    page.route("**/lock/rows", lambda route: route.fulfill(status=500, json=failed))
    page.get_by_role("link", name="lock", exact=True).click()
    page.get_by_role("alert").get_by_text("The disk is away.").wait_for()
    assert page.get_by_role("link", name="Gate").count() == 0
    page.unroute("**/lock/rows")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="No documents yet").wait_for()


def test_a_browser_that_is_known_no_more_signs_in_where_it_stands(tmp_path: Path, window: Any, page: Any) -> None:
    with serving(tmp_path / "home") as own, own.client() as client:
        client.post("/libraries", json={"name": "weir"})
        upload(client, "weir", weir="# Weir\n\nOf stone.\n")
        secret = client.post("/tokens", json={"name": "reader"}).json()["secret"]
        page.goto(f"{own.url}/#token={secret}")
        page.get_by_role("link", name="weir", exact=True).click()
        page.get_by_role("link", name="Weir").wait_for()
        client.delete("/tokens/reader").raise_for_status()
        client.patch("/libraries/weir", json={"alias": "The weir"}).raise_for_status()  # of which the page hears
        page.get_by_label("Token").fill(START)
        assert "Weir" not in page.get_by_role("main").inner_text(), "what it showed is gone"
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="The weir", level=1).wait_for()

        context = window.new_context(locale="en-GB")
        other = context.new_page()
        other.goto(f"{own.url}/#token={START}")
        other.get_by_role("link", name="The weir", exact=True).wait_for()
        page.get_by_role("link", name="Settings", exact=True).click()
        page.get_by_role("link", name="Bin", exact=True).click()
        page.get_by_role("button", name="Clear everything").click()
        page.get_by_label("Type everything to confirm").fill("everything")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Delete sample").wait_for()
        other.get_by_label("Token").wait_for()
        assert other.get_by_role("link", name="The weir").count() == 0
        page.reload()
        page.get_by_role("button", name="Delete sample").wait_for()
        context.close()
