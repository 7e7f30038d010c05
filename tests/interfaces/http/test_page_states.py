"""Honest states in a browser: a server that went and came back, a document that was removed, ways back and forward."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymupdf
import pytest

from tests import pdfs
from tests.interfaces.http.conftest import START, Serving, serving, upload, wait_for_jobs

PAGE = "# Weir\n\nThe weir holds back nine metres of water.\n\n# Sluice\n\nThe sluice has four gates.\n"
DROPPED = """async () => {
    const { modules } = await import("/web/bundle/app.js");
    const { droppedFiles, uploadsOf } = modules["components/library/uploading.js"];
    const file = (name) => ({ isFile: true, name, file: (done) => done(new File([name], name)) });
    const folder = (name, ...within) => ({ isFile: false, name, createReader: () => {
        const batches = within.map((one) => [one]);
        return { readEntries: (done) => done(batches.shift() ?? []) };
    } });
    const broken = { isFile: true, name: "gone.md",
        file: (_, failed) => failed(new DOMException("", "NotFoundError")) };
    const items = (...all) => ({ items: all.map((one) => ({ webkitGetAsEntry: () => one })), files: [] });
    const found = await droppedFiles(items(file("a.md"), folder("shelf", file("b.pdf"), file(".DS_Store"),
        folder("deep", file("c.md"), folder("empty")), folder(".git", file("config")))));
    const cut = await droppedFiles(items(broken, file("a.md")));
    uploadsOf("river").add(cut);
    return [found.map((one) => one.name), cut.map((one) => one.name)];
}"""
SELECT = """() => {
    const words = [...document.querySelectorAll(".text-layer span")];
    const at = words.findIndex((one) => one.textContent === "nine"), range = document.createRange();
    range.setStart(words[at].firstChild, 0);
    range.setEnd(words[at + 1].firstChild, words[at + 1].textContent.length);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "home"


@pytest.fixture(scope="module")
def river(home: Path) -> Iterator[Serving]:
    with serving(home, PAGEINDEX_OCR="never") as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "river"})
            upload(client, "river", weir=PAGE, bank="# Bank\n\nThe bank is of clay.\n")
        yield made


def document(river: Serving, name: str) -> str:
    with river.client() as client:
        return next(
            str(one["doc_id"])
            for one in client.get("/libraries/river/documents").json()["documents"]
            if name in one["name"]
        )


def go(page: Any, served: Serving, place: str) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.locator("main").wait_for()
    page.evaluate("place => { location.hash = place }", place)


def test_selected_words_are_kept_as_a_note_and_back_and_forward_lead_there_again(river: Serving, page: Any) -> None:
    go(page, river, f"#/doc/river/{document(river, 'weir')}/page/1")
    page.locator(".text-layer span", has_text="nine").wait_for()
    page.evaluate(SELECT)
    page.keyboard.press("k")
    page.get_by_text("Saved as a note").wait_for()
    with river.client() as client:
        [note] = client.get("/libraries/river/notes").json()
    assert note["text"].startswith("nine metres\n") and note["page"] == 1 and note["doc_id"]

    page.get_by_role("link", name="Notes").click()
    page.get_by_text("nine metres").wait_for()
    page.go_back()
    page.locator(".sheet[data-ready]").wait_for()
    page.go_forward()
    page.get_by_text("nine metres").wait_for()
    page.get_by_role("link", name="Page 1").click()
    page.locator(".sheet[data-ready]").wait_for()


def test_a_document_that_is_removed_while_it_is_open_says_so(river: Serving, page: Any) -> None:
    doc = document(river, "bank")
    go(page, river, f"#/doc/river/{doc}/page/1")
    page.locator(".sheet[data-ready]").wait_for()
    with river.client() as client:
        assert client.delete(f"/libraries/river/documents/{doc}").is_success
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_role("heading", name="no longer here").wait_for()
    page.get_by_role("link", name="To the library").click()
    page.get_by_role("heading", name="river", level=1).wait_for()


def test_without_a_model_the_pages_answer_and_lead_to_the_settings(river: Serving, page: Any) -> None:
    go(page, river, "#/library/river")
    page.get_by_role("searchbox").fill("How many gates has the sluice?")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("No language model is set up, so these are the pages that fit best.").wait_for()
    page.locator(".page-card", has_text="four gates").first.wait_for()
    page.get_by_role("link", name="Set one up").first.click()
    page.locator("section.card", has_text="Language model").first.get_by_label("Address", exact=True).wait_for()


def test_a_page_without_text_says_so_and_a_file_that_failed_says_why(river: Serving, page: Any) -> None:
    with pymupdf.open() as made:
        made.new_page()
        made.new_page().insert_text((50, 60), "The ferry leaves at noon.")
        blank = made.tobytes()
    files = [("file", ("ferry.pdf", blank)), ("file", ("torn.pdf", b"%PDF-1.7 torn"))]
    with river.client() as client:
        sent = client.post("/libraries/river/documents", files=files).json()["files"]
        wait_for_jobs(client, [file["job"] for file in sent])
    go(page, river, f"#/doc/river/{document(river, 'ferry')}/page/1")
    page.get_by_text("There is no text on this page").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator(".text-layer span", has_text="ferry").wait_for()
    page.get_by_text("There is no text on this page").wait_for(state="detached")

    go(page, river, f"#/doc/river/{document(river, 'torn')}/page/1")
    page.get_by_role("heading", name="torn.pdf could not be indexed").wait_for()
    page.get_by_role("link", name="See the jobs").click()
    page.get_by_role("heading", name="Jobs").wait_for()
    page.get_by_role("button", name=re.compile("Retry|Try again")).first.wait_for()


def test_pages_that_nobody_could_read_are_named_where_the_rest_says_little(
    river: Serving, page: Any, tmp_path: Path
) -> None:
    with river.client() as client:
        client.post("/libraries", json={"name": "notes"})
        scan = [("file", ("delivery.pdf", pdfs.scanned(tmp_path / "delivery.pdf", 1).read_bytes()))]
        wait_for_jobs(client, [client.post("/libraries/notes/documents", files=scan).json()["files"][0]["job"]])
        upload(client, "notes", order="# Order\n\nSand is to be delivered in June.\n")
    go(page, river, "#/search?q=Who+signed+the+delivery+note+of+the+sand&in=notes&effort=fast")
    unread = page.locator(".remark.warn", has_text="One document may hold the answer on pages without readable text")
    unread.wait_for()
    assert "delivery" in unread.inner_text()
    page.evaluate("location.hash = '#/library/notes'")
    page.get_by_role("button", name="Details of delivery").click()
    page.locator(".details .notice.warn li").first.wait_for()
    page.get_by_role("complementary").get_by_role("link", name="Read").click()
    page.get_by_text("This page shows something that has not been read as text").wait_for()


def test_folders_that_are_dropped_keep_their_tree(river: Serving, page: Any) -> None:
    go(page, river, "#/library/river")
    found, cut = page.evaluate(DROPPED)
    assert found == ["a.md", "shelf/b.pdf", "shelf/deep/c.md"], "what systems put into folders is left out"
    assert cut == ["gone.md", "a.md"], "a file that cannot be read takes no other with it"
    page.get_by_role("button", name=re.compile("[12] failed")).click()  # one more where the torn file is known already
    page.get_by_text("The browser could not open it").wait_for()


def test_of_an_upload_that_breaks_what_arrived_stays_and_the_rest_is_sent_again(river: Serving, page: Any) -> None:
    """Two small files go together; once that fails each goes alone, and one that is refused keeps no other."""
    with river.client() as client:
        client.post("/libraries", json={"name": "delta"})
    go(page, river, "#/library/delta")
    page.get_by_role("heading", name="No documents yet").wait_for()
    refused = {"code": "full", "detail": "The disk is full.", "advice": "Make room."}

    def refuse(route: Any) -> None:
        marsh = b"marsh.md" in (route.request.post_data_buffer or b"")
        route.fulfill(status=507, json=refused) if marsh else route.continue_()

    page.route("**/delta/documents", refuse)
    files = [{"name": f"{one}.md", "mimeType": "", "buffer": f"# {one}".encode()} for one in ("marsh", "reed")]
    page.get_by_label("Add files").set_input_files(files)
    page.get_by_role("link", name="reed").wait_for()
    page.get_by_role("button", name="1 failed").wait_for()
    work = page.get_by_role("region", name="In progress")
    work.get_by_text("The disk is full. Make room.").wait_for()
    assert page.get_by_role("link", name="marsh").count() == 0
    page.unroute("**/delta/documents")
    work.get_by_role("button", name="Retry: marsh.md").click()
    page.get_by_role("link", name="marsh").wait_for()
    work.get_by_text("The disk is full.").wait_for(state="detached")


def test_a_server_that_stops_is_told_and_one_that_is_back_goes_on(river: Serving, page: Any, home: Path) -> None:
    """The last test of the file: it stops the server of the others."""
    doc = document(river, "weir")
    go(page, river, f"#/doc/river/{doc}/page/1?hl=four%20gates")
    page.locator(".box.mark").first.wait_for()
    river.process.terminate()
    river.process.wait(600)
    page.evaluate("dispatchEvent(new Event('focus'))")
    page.get_by_role("alert").get_by_text("The server does not answer.").first.wait_for()
    assert page.locator(".sheet[data-ready]").count(), "what is there stays"
    with serving(home, "--port", str(urlsplit(river.url).port)) as again:
        page.locator(".offline").wait_for(state="detached")
        page.reload()
        page.locator(".box.mark").first.wait_for()
        assert again.url == river.url and "hl=four" in page.url, "the address survives a restart, its mark too"
