"""Conversations in a real browser: answers stream, survive a reload, are stopped, branched, cited, kept and found."""

from __future__ import annotations

import re
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.interfaces.http.conftest import (
    GOOD,
    MILL,
    SOLD,
    START,
    Serving,
    serving_with,
    until,
    upload,
    wait_for_held,
    wait_for_jobs,
)


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer) -> Iterator[Serving]:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    with serving_with(model, tmp_path_factory.mktemp("talking")) as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "mills"})
            upload(client, "mills", mill=MILL, tower="# The tower\n\nThe tower was built of oak in 1702.\n")
        yield made


@pytest.fixture
def at(talking: Serving, page: Any) -> Any:
    """In a new conversation about the library."""
    with talking.client() as client:
        talk = client.post("/conversations", json={"libraries": ["mills"]}).json()["id"]
    page.goto(f"{talking.url}/#token={START}")
    page.locator(".bar").wait_for()
    page.goto(f"{talking.url}/#/conversation/{talk}")
    field(page).wait_for()
    return page


def field(page: Any) -> Any:
    return page.get_by_role("textbox", name="Ask about your documents")


def ask(page: Any, question: str) -> None:
    field(page).fill(question)
    page.keyboard.press("Enter")


def slowly(model: ScriptedServer, times: int = 40, wait: float = 0.05) -> threading.Event:
    """Stream the next answer in pieces, each after ``wait`` seconds, and the last one after the returned event.

    The question must be new, because replies are cached.
    """
    end = threading.Event()
    model.replies.append(FakeReply(f"{GOOD} " * times, wait=wait, hold=end))
    return end


def test_an_answer_streams_through_a_reload_and_its_citation_opens_the_place(at: Any, model: ScriptedServer) -> None:
    end = slowly(model)
    ask(at, SOLD)
    at.locator(".answer[aria-busy=true] .markdown").get_by_text("The mill was sold").first.wait_for()
    at.reload()
    at.locator(".answer[aria-busy=true] .markdown").get_by_text("The mill was sold").first.wait_for()
    end.set()
    at.locator(".answer[data-status=complete]").wait_for()
    assert at.locator(".answer .markdown").inner_text().count("sold in 1987") == 40, "nothing twice, nothing lost"
    at.locator(".answer .markdown button.chip").first.click()
    at.locator(".pane-page .box.mark").first.wait_for()


def test_a_citation_names_its_title_and_shows_its_lines_to_who_points_at_it(at: Any) -> None:
    ask(at, SOLD)
    at.locator(".answer[data-status=complete]").wait_for()
    chip = at.locator(".answer .markdown").get_by_role("button", name="Source 1: The mill, page 1").first
    chip.hover()
    lines = at.get_by_role("tooltip")
    lines.get_by_text("sold to the town in 1987").wait_for()
    assert "The mill" in lines.inner_text()
    box, screen = lines.bounding_box(), at.viewport_size
    assert (
        box
        and box["x"] >= 0
        and box["x"] + box["width"] <= screen["width"]
        and box["y"] + box["height"] <= screen["height"]
    )
    at.mouse.move(1, 1)
    lines.wait_for(state="detached")
    chip.focus()
    lines.wait_for()
    at.keyboard.press("Escape")
    lines.wait_for(state="detached")
    listed = at.locator(".cited .source-name").first
    assert (listed.inner_text(), listed.get_attribute("title")) == ("The mill", "mill.md")


def test_an_answer_is_stopped_and_made_again(at: Any, model: ScriptedServer) -> None:
    end = slowly(model, wait=0.5)
    ask(at, "Which year was the mill sold?")
    at.locator(".answer .markdown").get_by_text("The mill was sold").first.wait_for()
    at.get_by_role("button", name="Stop").click()
    at.get_by_text("Stopped. The text so far").wait_for()
    end.set()
    at.locator(".remark").get_by_role("button", name="Answer again").click()
    at.locator(".answer[data-status=complete]").wait_for()


def test_an_edited_question_is_a_branch_to_go_back_from(at: Any) -> None:
    ask(at, SOLD)
    at.locator(".answer[data-status=complete]").wait_for()
    at.get_by_role("button", name="Edit the question").click()
    at.get_by_role("textbox", name="Edit the question").fill("What did the mill cost?")
    at.keyboard.press("Enter")
    at.locator(".question", has_text="What did the mill cost?").wait_for()
    at.locator(".answer[data-status=complete]").wait_for()
    at.locator(".question").get_by_text("2 of 2").wait_for()
    at.get_by_role("button", name="Previous branch").first.click()
    at.locator(".question", has_text=SOLD).wait_for()


def test_two_tabs_tell_the_same(at: Any, model: ScriptedServer) -> None:
    other = at.context.new_page()
    other.goto(at.url)
    field(other).wait_for()
    end = slowly(model, 20)
    ask(at, "In which year was the mill sold to the town?")
    other.locator(".answer[aria-busy=true]").get_by_text("The mill was sold").first.wait_for()
    end.set()
    for one in (at, other):
        one.locator(".answer[data-status=complete]").wait_for()
    at.go_back()
    at.go_forward()
    at.locator(".answer[data-status=complete]").wait_for()
    other.close()


def test_chosen_documents_alone_are_searched_and_the_talk_is_exported(at: Any, tmp_path: Path) -> None:
    at.get_by_role("checkbox", name="The mill").or_(at.get_by_role("checkbox", name="mill.md")).first.uncheck()
    at.get_by_text("1 document is searched").wait_for()
    ask(at, "What was built in 1702?")
    answer = at.locator(".answer[data-status=complete]")
    answer.wait_for()
    assert "mill.md" not in answer.inner_text()
    for form in ("Markdown", "JSON"):
        at.locator(".menu summary").click()
        with at.expect_download() as coming:
            at.get_by_role("link", name=form, exact=True).click()
        coming.value.save_as(tmp_path / form)
        assert "What was built in 1702?" in (tmp_path / form).read_text("utf-8")
        assert not at.get_by_role("link", name=form).is_visible()  # a choice closes the menu
    at.locator(".menu summary").click()
    with at.expect_download() as coming:
        at.get_by_role("link", name="Word (DOCX)").click()
    coming.value.save_as(tmp_path / "talk.docx")
    with zipfile.ZipFile(tmp_path / "talk.docx") as package:
        written = package.read("word/document.xml").decode()
    assert "What was built in 1702?" in written and "page 1" in written, "the answer with its sources"


def test_sources_are_chosen_beside_a_file_that_failed(at: Any, talking: Serving) -> None:
    with talking.client() as client:
        client.post("/libraries", json={"name": "torn"})
        texts = {name: f"# {name}\n\nThe {name} is of oak.\n" for name in ("Axle", "Beam", "Cog")}
        upload(client, "torn", **texts)
        sent = client.post("/libraries/torn/documents", files={"file": ("torn.pdf", b"%PDF-1.7 torn")}).json()
        [job] = wait_for_jobs(client, [sent["files"][0]["job"]])
        assert job["status"] == "failed"
        talk = client.post("/conversations", json={"libraries": ["torn"]}).json()["id"]
        at.goto(f"{talking.url}/#/conversation/{talk}")
        at.get_by_text("All of 3 are searched").wait_for()
        assert at.get_by_role("checkbox", name="torn.pdf").is_disabled()
        at.get_by_role("checkbox", name="Axle").uncheck()
        at.get_by_text("2 documents are searched").wait_for()
        at.get_by_role("checkbox", name="Axle").check()
        at.get_by_text("All of 3 are searched").wait_for()
        at.get_by_role("checkbox", name="All documents").uncheck()
        at.get_by_text("Check the documents to search").wait_for()
        assert not at.get_by_role("checkbox", name="Beam").is_checked()
        at.get_by_role("checkbox", name="Beam").check()
        at.get_by_text("1 document is searched").wait_for()
        [beam] = [one["doc_id"] for one in client.get("/libraries/torn/documents").json()["documents"]
                  if one["name"] == "Beam.md"]  # fmt: skip
        until(lambda: client.get(f"/conversations/{talk}").json()["scope"]["documents"] == [beam])
        assert client.delete("/libraries/torn").is_success


def test_conversations_are_found_called_otherwise_and_deleted(at: Any) -> None:
    at.on("dialog", lambda dialog: dialog.accept())
    ask(at, "Is there a windmill of granite?")
    at.locator(".answer[data-status=complete]").wait_for()
    at.get_by_role("link", name="Conversations").click()
    line = at.locator(".kept-line")
    line.first.wait_for()
    at.get_by_role("searchbox").fill("granite")
    line.nth(1).wait_for(state="detached")
    line.get_by_role("button", name="Rename").click()
    at.get_by_label("Title of the conversation").fill("Stones")
    at.keyboard.press("Enter")
    line.get_by_text("Stones").wait_for()
    assert line.get_by_text("mills").count() == 1, "the list says what it is about"
    line.get_by_role("button", name="Delete").click()
    at.get_by_text("No conversation holds these words").wait_for()


def test_answers_are_kept_as_notes_that_lead_to_their_page(at: Any) -> None:
    at.on("dialog", lambda dialog: dialog.accept())
    ask(at, SOLD)
    answer = at.locator(".answer[data-status=complete]")
    answer.get_by_role("button", name="Save as a note").click()
    at.get_by_text("Saved as a note").first.wait_for()
    answer.get_by_role("button", name="These pages answer it").click()
    at.get_by_role("link", name="Notes").click()
    note = at.locator(".note")
    note.get_by_text("The mill was sold in 1987 [1].").wait_for()
    note.get_by_role("button", name="Edit").click()
    at.get_by_label("Text", exact=True).fill("Sold in 1987, for 4,200 crowns.")
    at.get_by_role("button", name="Save").click()
    note.get_by_text("for 4,200 crowns").wait_for()
    note.get_by_role("link", name="Page 1").click()
    at.wait_for_url("**/#/doc/mills/**")
    at.go_back()
    note.get_by_role("button", name="Delete").click()
    at.get_by_text("No notes yet").wait_for()


def test_weak_evidence_steps_and_a_bad_answer_are_said(at: Any, talking: Serving) -> None:
    ask(at, "Who painted the tower in 1702?")
    answer = at.locator(".answer[data-status=complete]")
    answer.get_by_text("The evidence is weak: read the pages before relying on it.").wait_for()
    answer.get_by_role("button", name="These pages do not answer it").click()
    at.get_by_text("Your rating is stored").wait_for()
    with talking.client() as client:
        given = client.get("/libraries/mills/feedback").json()
    assert [one["right"] for one in given if one["question"] == "Who painted the tower in 1702?"] == [False]

    at.get_by_label("Effort").select_option("deep")
    ask(at, "What did the mill cost the town?")
    steps = at.locator(".answer[data-status=complete] .steps").last
    steps.locator("summary", has_text=re.compile(r"\d+ steps?")).click()
    assert steps.locator("li").first.is_visible()
    assert steps.locator("li b").all_inner_texts()[:2] == ["Saw", "Asked"]
    at.get_by_label("Effort").select_option("auto")


def test_the_steps_of_an_answer_that_was_quicker_than_the_page_are_shown(at: Any, talking: Serving) -> None:
    """The page asks for the conversation when the answer has ended, and never saw it run."""
    at.get_by_label("Effort").select_option("deep")
    talk = at.url.rsplit("/", 1)[1]
    held: list[Any] = []
    for question in ("What did the town give for the mill?", "In crowns, what was the price of the mill?"):
        at.route(f"**/conversations/{talk}", lambda route: held.append(route))
        ask(at, question)
        wait_for_held(at, held)
        with talking.client() as client:
            until(lambda: client.get(f"/conversations/{talk}").json()["messages"][-1]["status"] == "complete")
        while held:
            held.pop().continue_()
        at.unroute(f"**/conversations/{talk}")
        at.locator(".question", has_text=question).wait_for()
        answer = at.locator(".answer[data-status=complete]").last
        answer.locator(".steps summary").click()
        assert answer.locator(".steps li b").all_inner_texts()[:2] == ["Saw", "Asked"]
        assert "sold in 1987" in answer.inner_text(), "its words are not told again"
    at.get_by_label("Effort").select_option("auto")


def test_a_talk_by_keys_alone(at: Any) -> None:
    for _ in range(60):
        if at.evaluate("document.activeElement.matches('.composer textarea')"):
            break
        at.keyboard.press("Tab")
    at.keyboard.type(SOLD)
    at.keyboard.press("Enter")
    at.locator(".answer[data-status=complete]").wait_for()
    for _ in range(60):
        if at.evaluate("document.activeElement.matches('.answer .markdown button.chip')"):
            break
        at.keyboard.press("Shift+Tab")
    at.keyboard.press("Enter")
    at.locator(".pane-page .box.mark").first.wait_for()


def test_a_source_that_waits_changed_or_went_is_said(at: Any, talking: Serving) -> None:
    with talking.client() as client:
        upload(client, "mills", barn="# The barn\n\nThe barn was thatched by Oberon in 1811.\n")
        at.get_by_role("checkbox", name="The barn").wait_for()
        ask(at, "Who thatched the barn?")
        at.locator(".answer[data-status=complete] .markdown button.chip").wait_for()

        upload(client, "mills", barn="# The barn\n\nIts roof was thatched by Oberon, and the barn was tiled in 1911.\n")
        at.reload()
        at.locator(".answer .cited", has_text="changed since").wait_for()
        at.locator(".answer .markdown button.chip").first.click()
        at.locator(".pane-page").get_by_text("The document has changed since this answer").wait_for()
        at.locator(".pane-page").get_by_text("was thatched by Oberon in 1811").wait_for()

        client.post("/jobs/pause", json={"library": "mills"}).raise_for_status()
        stack = {"file": ("stack.md", b"# The stack\n\nThe stack is of hay.\n")}
        client.post("/libraries/mills/documents", files=stack).raise_for_status()
        at.get_by_text("1 file is still to be indexed").wait_for()
        client.post("/jobs/resume", json={"library": "mills"}).raise_for_status()
        at.get_by_text("still to be indexed").wait_for(state="detached")
        at.get_by_role("checkbox", name="The stack").wait_for()

        documents = client.get("/libraries/mills/documents").json()["documents"]
        [barn] = [one["doc_id"] for one in documents if one["name"] == "barn.md"]
        assert client.delete(f"/libraries/mills/documents/{barn}").is_success
    at.reload()
    at.locator(".answer .cited", has_text="removed").wait_for()
    at.locator(".answer .markdown button.chip").first.click()
    at.get_by_text("The document was removed.").wait_for()
    assert "was thatched by Oberon in 1811" in at.locator(".cited-only blockquote").inner_text()


def test_lists_fit_a_small_screen_in_chinese(talking: Serving, window: Any) -> None:
    context = window.new_context(locale="zh-CN", viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(f"{talking.url}/#token={START}")
    page.locator(".bar").wait_for()
    with talking.client() as client:
        client.post("/libraries/mills/notes", json={"title": "Sold", "text": "The mill was sold to the town."})
        talk = client.post("/conversations", json={"libraries": ["mills"]}).json()["id"]
    for path, shown in ("conversations", ".kept-line"), ("notes", ".note"), (f"conversation/{talk}", ".composer"):
        page.goto(f"{talking.url}/#/{path}")
        page.locator(shown).first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        box = page.locator(".bar nav [aria-current]").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360, "where one is can be read"
    context.close()
