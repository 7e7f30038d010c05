"""Searching in a real browser: as one types, over what is chosen, with why, and with sections as they were scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hybrid_pageindex.sample import write_sample_report
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.interfaces.http.conftest import START, Serving, serving, until, upload, wait_for_jobs

HARBOUR = """# Harbour

## Cranes

The crane of the harbour lifts ninety tonnes. It was built in Genoa.

## Pilots

Pilots are paid by the hour.
"""
CANAL = "# Canal\n\nThe gate of the lock weighs forty tonnes.\n\n## Dredging\n\nThe bed is dredged in May.\n"
QUESTION = "How many tonnes does the crane lift?"


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with scripted_server() as made:
        yield made


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer) -> Iterator[Serving]:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    said = {"LLM_MODEL": "scripted", "LLM_BASE_URL": model.url, "ENRICH": "never"}
    home = tmp_path_factory.mktemp("searching")
    with serving(home, **{f"PAGEINDEX_{name}": value for name, value in said.items()}) as made:
        with made.client() as client:
            for name in ("ports", "works"):
                client.post("/libraries", json={"name": name})
            upload(client, "ports", harbour=HARBOUR, canal=CANAL)
            upload(client, "works", crane="# Order\n\nA crane that lifts twenty tonnes is ordered.\n")
            client.post("/libraries", json={"name": "reports"})
            report = write_sample_report(home / "report.pdf").read_bytes()
            sent = client.post("/libraries/reports/documents", files={"file": ("report.pdf", report)}).json()
            wait_for_jobs(client, [sent["files"][0]["job"]])
        yield made


@pytest.fixture
def at(library: Serving, page: Any) -> Any:
    """Signed in, before the first question."""
    page.goto(f"{library.url}/#token={START}")
    page.get_by_role("navigation").get_by_role("link", name="Search").click()
    page.get_by_role("searchbox", name="What do you want to know?").wait_for()
    return page


def ask(page: Any, question: str) -> None:
    page.get_by_role("searchbox", name="What do you want to know?").fill(question)
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/search?q=*")


def choose(page: Any, *documents: str, library: str = "ports") -> None:
    page.get_by_label("Where to search").select_option(library)
    if documents:
        page.locator(".choose summary").click()
        for name in documents:
            page.get_by_role("group", name="Documents to search").get_by_label(name).check()


def test_results_come_while_one_types_with_the_sentence_and_why(at: Any) -> None:
    page, box = at, at.get_by_role("searchbox", name="What do you want to know?")
    choose(page)
    page.get_by_text("All documents").wait_for()
    box.press_sequentially("crane tonnes")
    page.locator("mark", has_text="lifts ninety tonnes").wait_for()
    assert "q=" not in page.url, "nothing was asked yet"
    first = page.get_by_role("article").first
    assert page.locator("mark", has_text="Genoa").count() == 0, "only the sentence that matches is marked"
    assert first.locator(".path").first.inner_text() == "Harbour › Cranes"
    first.locator(".why summary").first.click()
    first.get_by_text("NodeScore", exact=True).wait_for()
    assert "crane" in first.locator(".term").all_inner_texts()[0] + first.locator(".term").all_inner_texts()[1]
    image = first.locator("img").first
    page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=image.element_handle())


def test_a_person_goes_down_the_scored_sections_to_the_page(at: Any) -> None:
    choose(at, library="reports")
    at.get_by_label("Fast").check()
    ask(at, "About how much went into the new casting line at Millrace?")
    outline = at.get_by_role("complementary", name="Where it stands")
    liquidity, cash = (outline.get_by_role("button", name=name) for name in ("Liquidity", "Statements of Cash Flows"))
    outlook, statements = (outline.get_by_role("button", name=name) for name in ("Outlook", "Item 8."))
    scores = [float(one.locator("meter").get_attribute("value") or 0) for one in (liquidity, outlook)]
    assert scores[0] > scores[1], "the section that holds it is the darker one"
    assert liquidity.get_attribute("aria-expanded") == "true", "it is open as far as the first hit"
    outline.get_by_role("link", name="Page 13, found").wait_for()
    statements.press("Enter")
    cash.press("Enter")
    outline.get_by_role("link", name="Page 18").click()
    at.wait_for_url("**/#/doc/reports/*/page/18*")


def test_effort_and_documents_are_kept_in_the_address(at: Any, library: Serving) -> None:
    choose(at, "Canal")
    ask(at, QUESTION)
    at.get_by_role("article").filter(has_text="canal.md").wait_for()
    assert at.get_by_role("article").count() == 1, "the other document is not searched"
    at.get_by_label("Fast").check()
    at.wait_for_url("**effort=fast**")
    at.reload()
    at.get_by_role("article").filter(has_text="canal.md").wait_for()
    assert at.get_by_label("Fast").is_checked()
    assert "1 document" in at.locator(".choose summary").inner_text()
    at.get_by_label("Where to search").select_option("")
    at.get_by_role("article").filter(has_text="works").wait_for()
    at.go_back()
    at.wait_for_url("**docs=**")
    at.get_by_role("article").nth(1).wait_for(state="detached")


def test_a_deep_search_tells_its_steps_as_they_are_taken(at: Any, model: ScriptedServer) -> None:
    choose(at)
    at.get_by_label("Thorough").check()
    model.replies.append(FakeReply("It may stand under Cranes.", wait=0.5))
    ask(at, QUESTION)
    at.locator(".steps li").first.wait_for()
    at.get_by_role("article").first.wait_for()
    at.locator(".steps summary").wait_for()


def test_slips_weak_evidence_and_silence_are_said(at: Any, model: ScriptedServer) -> None:
    choose(at)
    at.get_by_label("Fast").check()
    ask(at, "How many tonnes does the crnae of the harbour lift?")
    at.locator(".remark", has_text="Corrected spelling").get_by_text("crane", exact=False).wait_for()
    at.locator("mark", has_text="ninety tonnes").wait_for()
    assert at.locator(".remark.warn").count() == 0
    ask(at, "Who painted the crane in Genoa?")
    weak = at.locator(".remark.warn", has_text="The evidence is weak: these pages hold only part of what was asked.")
    before = len(model.requests)
    weak.get_by_role("button", name="Look more thoroughly").click()
    at.wait_for_url("**effort=deep**")
    at.locator(".steps summary").wait_for()
    until(lambda: len(model.requests) > before)  # a model reads the trees
    at.get_by_label("Fast").check()
    ask(at, "What is the salary of the divers of the lock?")
    at.get_by_text("The documents do not seem to answer this. These pages are the closest.").wait_for()
    ask(at, "Which bishop consecrated the cathedral?")
    at.get_by_role("heading", name="Nothing was found").wait_for()
    at.get_by_role("button", name="Search all libraries").click()
    at.wait_for_url(lambda url: "in=" not in url)
    at.get_by_label("Fast").check()
    at.context.set_offline(True)
    ask(at, "What is dredged in May?")
    at.get_by_role("alert").filter(has_text="does not answer").first.wait_for()
    at.context.set_offline(False)
    at.locator("mark", has_text="dredged").wait_for()


def test_what_is_still_to_be_indexed_is_said_and_found_once_it_is_in(at: Any, library: Serving) -> None:
    """Without a model the search is made again by itself; where one was asked, a person decides."""
    tide = {"file": ("tide.md", b"# Tide\n\nThe spring tide rises by eleven metres.\n")}
    with library.client() as client:
        client.post("/libraries", json={"name": "sea"})
        upload(client, "sea", buoy="# Buoy\n\nThe buoy was painted red.\n")

        def sent_while_paused(file: dict[str, Any]) -> None:
            client.post("/jobs/pause", json={"library": "sea"}).raise_for_status()
            client.post("/libraries/sea/documents", files=file).raise_for_status()

        sent_while_paused(tide)
        choose(at, library="sea")
        at.get_by_label("Fast").check()
        ask(at, "By how much does the spring tide rise?")
        at.get_by_text("1 file is still to be indexed").wait_for()
        assert at.locator("mark", has_text="eleven metres").count() == 0
        client.post("/jobs/resume", json={"library": "sea"}).raise_for_status()
        at.locator("mark", has_text="eleven metres").wait_for()
        at.get_by_text("still to be indexed").wait_for(state="detached")

        at.get_by_label("Thorough").check()
        at.locator(".steps summary").wait_for()
        sent_while_paused({"file": ("neap.md", b"# Neap\n\nThe neap tide rises by four metres.\n")})
        at.get_by_text("1 file is still to be indexed").wait_for()
        client.post("/jobs/resume", json={"library": "sea"}).raise_for_status()
        at.get_by_text("Documents were added or changed").wait_for()
        assert at.get_by_role("article").filter(has_text="neap.md").count() == 0
        at.get_by_role("button", name="Search again").click()
        at.get_by_role("article").filter(has_text="neap.md").wait_for()
        at.get_by_text("Documents were added or changed").wait_for(state="detached")


def test_all_of_it_by_keyboard_and_what_was_asked_is_there_again(at: Any) -> None:
    ask(at, "Who is paid by the hour?")
    at.locator("mark", has_text="by the hour").first.wait_for()
    at.get_by_role("link", name="Page 1", exact=True).first.focus()
    at.keyboard.press("/")
    at.keyboard.type("x")
    assert at.evaluate("document.activeElement.value") == "x", "the slash leads to the box and selects what is there"
    at.evaluate("location.hash = '#/search'")
    at.get_by_role("button", name="Who is paid by the hour?", exact=True).press("Enter")
    at.locator("mark", has_text="by the hour").first.wait_for()


def test_back_leads_to_where_one_was_among_the_hits(at: Any) -> None:
    choose(at, library="reports")
    ask(at, "What was the capital expenditure in fiscal 2025?")
    at.locator(".found[aria-busy=false] .hit").first.wait_for()
    at.set_viewport_size({"width": 1000, "height": 500})
    at.locator(".hit-head > a").last.scroll_into_view_if_needed()
    before = at.evaluate("scrollY")
    assert before > 0
    at.locator(".hit-head > a").last.click()
    at.wait_for_url("**/#/doc/**")
    at.go_back()
    at.wait_for_function("before => Math.abs(scrollY - before) < 60", arg=before)


def test_a_passage_is_kept_as_a_note_and_rated(at: Any, library: Serving) -> None:
    choose(at)
    ask(at, QUESTION)
    first = at.locator(".hit").first
    first.get_by_role("button", name="Save as a note").click()
    at.get_by_text("Saved as a note").wait_for()
    first.get_by_role("button", name="This page answers it").click()
    at.get_by_text("Your rating is stored").wait_for()
    other = at.locator(".hit").nth(1)
    other.get_by_role("button", name="This page does not answer it").click()
    other.locator("button[aria-pressed=true]").wait_for()
    with library.client() as client:
        (note,) = client.get("/libraries/ports/notes").json()
        assert note["page"] == 1 and "ninety tonnes" in note["text"]
        given = {one["right"]: one for one in client.get("/libraries/ports/feedback").json()}
        assert {one["question"] for one in given.values()} == {QUESTION}
        assert given[True]["document"] != given[False]["document"]


def test_a_library_and_a_document_offer_questions_that_are_answered(
    at: Any, library: Serving, model: ScriptedServer
) -> None:
    at.goto(f"{library.url}/#/library/reports")
    at.get_by_text("What is in this library").click()
    at.locator(".briefing .questions button").nth(2).wait_for()
    asked = at.locator(".briefing .questions button").first
    shown = asked.locator("small").inner_text()
    asked.click()
    at.locator(".hit").first.wait_for()
    page = shown.rpartition(" ")[2]
    assert page in [one.rpartition(" ")[2] for one in at.locator(".hit-head > a").all_inner_texts()]

    at.goto(f"{library.url}/#/library/reports")
    at.get_by_text("What is in this library").click()
    at.get_by_text("Written by rules").wait_for()
    model.replies.append(FakeReply('{"description": "What the works at Millrace spent.", "questions": []}'))
    at.get_by_role("button", name="Let the model write it").click()
    at.get_by_text("What the works at Millrace spent.").wait_for()
    at.get_by_text("Written by").wait_for()

    at.goto(f"{library.url}/#/library/reports")
    at.get_by_role("link", name="Details").or_(at.get_by_role("button", name="Details")).first.click()
    at.get_by_text("What this document is").click()
    details = at.get_by_role("complementary")
    details.get_by_text("Figures that it states").wait_for()
    details.get_by_role("link", name="Item 1A. Risk Factors").wait_for()

    with library.client() as client:
        talk = client.post("/conversations", json={"libraries": ["reports"]}).json()["id"]
    at.goto(f"{library.url}/#/conversation/{talk}")
    at.locator(".beginning button").first.click()
    at.locator(".answer").wait_for()


def test_it_fits_a_small_screen_in_chinese(library: Serving, window: Any) -> None:
    page = window.new_page(locale="zh-CN", viewport={"width": 360, "height": 740})
    page.goto(f"{library.url}/#token={START}")
    page.wait_for_selector(".bar")
    page.goto(f"{library.url}/#/search?q=crane&in=ports")
    page.locator("mark").first.wait_for()
    page.get_by_role("button", name="章节").click()
    page.get_by_role("complementary", name="所在位置").get_by_role("button", name="Cranes").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="页面").click()
    page.locator(".why summary").first.click()
    assert "「Cranes」从此处开始" in page.locator(".receipt").first.inner_text()
    said = reasons(library)
    assert len(said) > 6
    assert all(code is not None for _, code in said), said
    shown = page.evaluate(
        "async (said) => (await import('/web/bundle/views.js')).modules['translation.js']"
        ".noteTexts(said.map(([text]) => text), said.map(([, code]) => code))",
        said,
    )
    assert all(re.search("[\u4e00-\u9fff]", text) for text in shown), shown
    page.close()


def reasons(library: Serving) -> list[tuple[str, Any]]:
    """Return what the engine says of some searches, each English text with its code."""
    said: dict[str, Any] = {}
    with library.client() as client:
        for question in ("How many tonnes does the crane lift?", "What does Table 9 of the harbour say of pilots?",
                         "capital expenditure in fiscal 2025", "zzzz qqqq"):  # fmt: skip
            asked = {"question": question, "libraries": ["ports", "reports"], "effort": "fast"}
            found = client.post("/search", json=asked).raise_for_status().json()
            said |= dict(zip(found["notes"], found.get("note_codes", [None] * len(found["notes"])), strict=True))
            places = [(found["effort"], "why"), (found["route"], "why"), (found["evidence"], "hint")]
            for result in found["results"]:
                places += [(result["receipt"], "verdict"), (result["receipt"], "routing_reason")]
            said |= {holder[name]: holder.get(f"{name}_code") for holder, name in places if holder[name]}
    return sorted(said.items())


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "no-locks"])
def test_one_stream_serves_all_tabs_and_none_a_hidden_one(library: Serving, window: Any, locks: bool) -> None:
    """A browser has six connections to a server of HTTP/1.1, and a stream holds one."""
    context = window.new_context(locale="en-GB")
    if not locks:  # as where the page comes over http from another machine
        context.add_init_script("Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })")
    streams: set[Any] = set()
    context.on("request", lambda one: streams.update([one] if one.url.endswith("/jobs/events") else []))
    context.on("requestfailed", lambda one: streams.discard(one))
    context.on("requestfinished", lambda one: streams.discard(one))
    tabs = []
    for _ in range(10):
        tabs.append(context.new_page())
        tabs[-1].goto(f"{library.url}/#token={START}" if len(tabs) == 1 else f"{library.url}/#/search")
        tabs[-1].locator("main").wait_for()
    for tab in tabs:
        tab.bring_to_front()  # a question is typed where it is seen
        tab.goto(f"{library.url}/#/search")
        ask(tab, QUESTION)
        tab.locator(".hit").first.wait_for()
    wait(tabs[-1], lambda: len(streams) == 1)
    [first] = streams
    leader = first.frame.page
    leader.close()
    tabs.remove(leader)
    wait(tabs[0], lambda: len(streams - {first}) == 1)
    for tab in tabs:
        show(tab, "hidden")
    wait(tabs[0], lambda: not streams - {first})
    show(tabs[0], "visible")
    wait(tabs[0], lambda: len(streams - {first}) == 1)
    with library.client() as client:
        client.post("/libraries", json={"name": "tabs"})
        for tab in tabs:
            show(tab, "visible")
            tab.goto(f"{library.url}/#/library/tabs")
            tab.get_by_role("heading", name="tabs").first.wait_for()
        upload(client, "tabs", ebb="# Ebb\n\nThe ebb is slow.\n")
        for tab in tabs:
            tab.get_by_text("Ebb").first.wait_for()
        client.delete("/libraries/tabs")
    context.close()


def show(page: Any, state: str) -> None:
    """As a browser tells a page that its tab is looked at, or is not any more."""
    page.evaluate(
        """(state) => {
        if (document.visibilityState === state) return;
        Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    }""",
        state,
    )


def wait(page: Any, true: Callable[[], object]) -> None:
    """While what the browser tells of its requests is listened to."""
    for _ in range(600):
        if true():
            return
        page.wait_for_timeout(100)
    raise AssertionError("it did not come to be")


@pytest.mark.parametrize("question", [QUESTION, "What did the crane that lifts ninety tonnes in the harbour cost?"])
def test_a_question_is_read_whole_on_a_phone(library: Serving, window: Any, question: str) -> None:
    page = window.new_page(locale="en-GB", viewport={"width": 360, "height": 740})
    page.goto(f"{library.url}/#token={START}")
    page.wait_for_selector(".bar")
    page.goto(f"{library.url}/#/search?q={question}&in=ports&effort=fast")
    page.locator(".whole-question", has_text=question).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()
