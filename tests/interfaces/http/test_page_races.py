"""Answers that come late, out of order, or not at all: the page shows what is, whatever order it hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.interfaces.http.conftest import START, Serving, until, upload, wait_for_held


class Holding:
    """Holds the first answer to a path as it is at that time, until it is released."""

    def __init__(self, page: Any, path: str, method: str = "GET") -> None:
        self.page, self.path, self.method = page, path, method
        self.held: list[tuple[Any, Any]] = []
        self.requests = 0
        page.route(path, self._answer)

    def _answer(self, route: Any) -> None:
        if route.request.method != self.method:
            return route.continue_()
        self.requests += 1
        if self.requests > 1:
            return route.continue_()
        return self.held.append((route, route.fetch()))

    def wait(self) -> None:
        wait_for_held(self.page, self.held)

    def release(self) -> None:
        for route, answer in self.held:
            try:
                route.fulfill(response=answer)
            except Exception as error:  # noqa: BLE001 - the page gave the request up, which is right
                assert "closed" in str(error) or "handled" in str(error) or "Invalid" in str(error), error
        self.page.wait_for_timeout(500)


@pytest.fixture
def at(served: Serving, page: Any) -> Callable[[str], Any]:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("main").wait_for()

    def opened(place: str) -> Any:
        page.evaluate("place => { location.hash = place }", f"#/{place}")
        return page

    return opened


def test_a_home_page_shows_the_libraries_as_they_are(served: Serving, at: Callable[[str], Any], page: Any) -> None:
    at("notes")
    holding = Holding(page, "**/api/v1/libraries")
    at("")
    holding.wait()
    with served.client() as client:
        client.post("/libraries", json={"name": "mole"}).raise_for_status()
    page.wait_for_timeout(1500)
    holding.release()
    page.get_by_role("link", name="mole", exact=True).wait_for()


def test_a_bin_shows_what_is_in_it(served: Serving, at: Callable[[str], Any], page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "pier"}).raise_for_status()
    holding = Holding(page, "**/api/v1/bin")
    at("settings/bin")
    holding.wait()
    with served.client() as client:
        client.delete("/libraries/pier").raise_for_status()
    page.wait_for_timeout(1500)
    holding.release()
    page.get_by_role("button", name="Restore: Library pier").wait_for()


def test_a_library_shows_the_documents_that_it_has(served: Serving, at: Callable[[str], Any], page: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "dock"})
        upload(client, "dock", gate="# Gate\n\nOf oak.\n")
        holding = Holding(page, "**/dock/rows")
        at("library/dock")
        holding.wait()
        upload(client, "dock", sluice="# Sluice\n\nOf elm.\n")
        page.wait_for_timeout(1500)
        holding.release()
    page.get_by_role("link", name="Sluice").wait_for()


@pytest.mark.parametrize(
    ("place", "field", "path", "shown"),
    [
        ("conversations", "searchbox", "**/conversations?find=oak*", ".kept-line"),
        ("search?in=yard", "filter", "**/yard/documents?find=oak*", ".choose-list li"),
    ],
)
def test_what_was_typed_last_is_what_is_listed(
    served: Serving, at: Callable[[str], Any], page: Any, place: str, field: str, path: str, shown: str
) -> None:
    with served.client() as client:
        if client.get("/libraries/yard").status_code == 404:
            client.post("/libraries", json={"name": "yard"})
            upload(client, "yard", oak="# Oak\n\nA tree.\n", elm="# Elm\n\nA tree.\n")
            for title in ("Oak", "Elm"):
                talk = client.post("/conversations", json={"libraries": ["yard"]}).json()["id"]
                client.patch(f"/conversations/{talk}", json={"title": title}).raise_for_status()
    at(place)
    if field == "filter":
        page.locator(".choose summary").click()
    box = page.locator(".choose-list input[type=search]" if field == "filter" else ".view.kept input[type=search]")
    page.locator(shown, has_text="Oak").wait_for()
    holding = Holding(page, path)
    box.fill("oak")
    holding.wait()
    box.fill("elm")
    page.locator(shown, has_text="Oak").wait_for(state="detached")
    holding.release()
    assert page.locator(shown).all_inner_texts()[0].startswith("Elm")


def test_two_changes_of_a_setting_are_both_kept(served: Serving, at: Callable[[str], Any], page: Any) -> None:
    at("settings/packs")
    every = page.get_by_label("All packs, each for documents of its kind")
    every.uncheck()
    page.get_by_text("Saved").wait_for()
    holding = Holding(page, "**/api/v1/settings", "PATCH")
    names = page.locator(".card ul input[type=checkbox]")
    names.nth(0).click()
    holding.wait()
    names.nth(1).click()
    assert [names.nth(n).is_checked() for n in (0, 1)] == [False, False], "what was pressed is shown at once"
    holding.release()

    def expert() -> str:
        with served.client() as client:
            return str(
                next(setting["value"] for setting in client.get("/settings").json() if setting["name"] == "expert")
            )

    until(lambda: len(expert().split(",")) == names.count() - 2)
    assert [names.nth(n).is_checked() for n in (0, 1)] == [False, False]
    every.check()
    until(lambda: expert() == "auto")


def test_packs_are_chosen_once_it_is_known_which_there_are(
    served: Serving, at: Callable[[str], Any], page: Any
) -> None:
    holding = Holding(page, "**/api/v1/packs")
    at("settings/packs")
    every = page.get_by_label("All packs, each for documents of its kind")
    holding.wait()
    every.wait_for()
    assert every.is_disabled(), "all of none would be none"
    holding.release()
    every.uncheck()
    page.get_by_text("Saved").wait_for()
    with served.client() as client:
        [expert] = [setting["value"] for setting in client.get("/settings").json() if setting["name"] == "expert"]
        assert sorted(expert.split(",")) == sorted(client.get("/packs").json())
    every.check()
    page.locator(".card ul input[type=checkbox]:disabled").first.wait_for()


def test_a_library_shows_what_came_before_its_stream_began(served: Serving, page: Any) -> None:
    """Documents were listed, a job ended, and only then the events of jobs were heard."""
    with served.client() as client:
        client.post("/libraries", json={"name": "jetty"})
        upload(client, "jetty", plank="# Plank\n\nOf larch.\n")
        streams: list[Any] = []
        page.route("**/jobs/events*", lambda stream: streams.append(stream), times=1)
        page.goto(f"{served.url}/?fresh#token={START}")
        page.get_by_role("main").wait_for()
        page.evaluate("location.hash = '#/library/jetty'")
        page.get_by_role("link", name="Plank").wait_for()
        upload(client, "jetty", rail="# Rail\n\nOf iron.\n")
        wait_for_held(page, streams)
        for stream in streams:
            stream.continue_()
    page.get_by_role("link", name="Rail").wait_for()


def test_a_tab_misses_nothing_between_two_streams(served: Serving, page: Any) -> None:
    """The tab that streams for all is closed; what changes until another one streams is told by no event."""
    first = page.context.new_page()
    first.goto(f"{served.url}/#token={START}")
    first.get_by_role("main").wait_for()
    first.wait_for_function("navigator.locks.query().then((locks) => locks.held.length > 0)")
    streams: list[Any] = []
    page.route("**/jobs/events*", lambda stream: streams.append(stream), times=1)
    page.goto(f"{served.url}/#/settings/bin")
    page.get_by_role("heading", name="Bin").or_(page.get_by_text("Nothing was removed")).first.wait_for()
    page.wait_for_function("navigator.locks.query().then((locks) => locks.pending.length > 0)")
    with served.client() as client:
        client.post("/libraries", json={"name": "groyne"}).raise_for_status()
        client.post("/libraries", json={"name": "spit"}).raise_for_status()
        client.delete("/libraries/spit").raise_for_status()
        page.get_by_role("button", name="Restore: Library spit").wait_for()  # heard through the other tab
        first.close()
        wait_for_held(page, streams)
        client.delete("/libraries/groyne").raise_for_status()
        for stream in streams:
            stream.continue_()
    page.get_by_role("button", name="Restore: Library groyne").wait_for()


def test_a_choice_that_the_server_refuses_is_not_shown_as_if_it_held(at: Callable[[str], Any], page: Any) -> None:
    at("settings/searching")
    chosen = page.get_by_label("Effort")
    before = chosen.input_value()
    refused = {"code": "failed", "detail": "The disk is away.", "advice": ""}
    page.route("**/api/v1/settings", lambda route: route.fulfill(status=500, json=refused))
    chosen.select_option("deep" if before != "deep" else "fast")
    page.get_by_text("The disk is away.").wait_for()
    assert chosen.input_value() == before


def test_sources_that_were_refused_are_as_the_server_has_them(
    served: Serving, at: Callable[[str], Any], page: Any
) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "mill"})
        upload(client, "mill", **{name: f"# {name}\n\nOf oak.\n" for name in ("Axle", "Beam", "Cog")})
        talk = client.post("/conversations", json={"libraries": ["mill"]}).json()["id"]
    at(f"conversation/{talk}")
    page.get_by_role("checkbox", name="Axle").uncheck()
    page.get_by_text("2 documents are searched").wait_for()
    refused = {"code": "failed", "detail": "The disk is away.", "advice": ""}
    page.route(f"**/conversations/{talk}", lambda route: route.fulfill(status=500, json=refused)
               if route.request.method == "PATCH" else route.continue_())  # fmt: skip
    page.get_by_role("checkbox", name="All documents").click()  # it may be put back before a check would look
    page.get_by_text("The disk is away.").wait_for()
    page.get_by_text("2 documents are searched").wait_for()
    assert not page.get_by_role("checkbox", name="Axle").is_checked()

    question = page.get_by_role("textbox", name="Ask about your documents")
    waiting: list[Any] = []
    page.route(f"**/conversations/{talk}/messages", lambda route: waiting.append(route))
    question.fill("Of what is the axle?")
    with page.expect_request(f"**/conversations/{talk}/messages"):
        page.keyboard.press("Enter")
    question.fill("And the beam?")
    wait_for_held(page, waiting)
    waiting[0].fulfill(status=500, json=refused)
    page.wait_for_timeout(300)
    assert question.input_value() == "And the beam?", "what was typed meanwhile stays"


def test_a_link_that_is_opened_as_the_sign_in_appears_signs_in(served: Serving, page: Any) -> None:
    page.add_init_script(f"""new MutationObserver(() => {{
        if (window.linked || !document.querySelector("input[type=password]")) return;
        window.linked = true;
        location.hash = "token={START}";
    }}).observe(document, {{ childList: true, subtree: true }})""")
    page.goto(f"{served.url}/?from=mail")
    page.get_by_role("heading", name="Libraries").wait_for()
    assert START not in page.url


def test_who_leaves_a_document_while_it_loads_is_not_brought_back(
    served: Serving, page: Any, at: Callable[[str], Any]
) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "weir"}).raise_for_status()
        upload(client, "weir", weir="# The weir\n\nIt holds the river.\n")
    page.evaluate("addEventListener('hashchange', (event) => window.deaf && event.stopImmediatePropagation(), true)")
    at("notes")
    page.get_by_role("heading", name="Notes", exact=True).wait_for()
    holding = Holding(page, "**/documents/weir.md")
    at("doc/weir/weir.md")
    holding.wait()
    page.evaluate("window.deaf = true")
    page.go_back()
    holding.release()
    assert page.url.endswith("#/notes")
    page.evaluate("window.deaf = false; dispatchEvent(new HashChangeEvent('hashchange'))")
    page.get_by_role("heading", name="Notes", exact=True).wait_for()


def test_who_goes_elsewhere_while_a_conversation_is_made_stays_there(
    served: Serving, page: Any, at: Callable[[str], Any]
) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "fen"}).raise_for_status()
        upload(client, "fen", fen="# The fen\n\nIt is wet.\n")
    at("conversations")
    holding = Holding(page, "**/api/v1/conversations", "POST")
    page.get_by_role("button", name="New conversation", exact=True).click()
    holding.wait()
    at("notes")
    page.get_by_role("heading", name="Notes", exact=True).wait_for()
    holding.release()
    assert page.url.endswith("#/notes")
