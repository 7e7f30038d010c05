"""A library in a real browser: its documents listed, narrowed and put in order, files on their way into it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.doors.http.conftest import START, Serving, upload
from tests.doors.http.many_rows import write_rows


@pytest.fixture
def library(served: Serving, page: Any) -> Any:
    """Opens a library in the page."""

    def opened(name: str, **given: str) -> Any:
        asked = "&".join(f"{key}={value}" for key, value in given.items())
        page.goto(f"{served.url}/#token={START}")
        page.get_by_role("main").wait_for()
        page.evaluate("place => { location.hash = place }", f"#/library/{name}?{asked}")
        page.get_by_role("heading", name=name, level=1).wait_for()
        return page

    return opened


def test_ten_thousand_documents_scroll_and_are_narrowed(served: Serving, library: Any) -> None:
    write_rows(served.home, "many", 10_000)
    page = library("many")
    page.get_by_text("10,000 documents", exact=True).wait_for()
    assert page.get_by_role("row").count() < 60, "only what can be seen is there"
    page.get_by_role("link", name="Report 00000").focus()
    page.keyboard.press("End")
    last = page.get_by_role("link", name="Report 09999")
    last.wait_for()
    assert last.evaluate("link => link === document.activeElement"), "the keyboard goes with the list"
    slowest = page.evaluate("""async () => {
      const frames = [];
      for (let at = 0; at < 30; at += 1) {
        const start = performance.now();
        scrollTo(0, at * 9000);
        await new Promise(requestAnimationFrame);
        frames.push(performance.now() - start);
      }
      return frames.sort((a, b) => a - b)[15];
    }""")
    assert slowest < 100, "half of the frames come at once, on a busy machine too"

    page.get_by_role("combobox", name="Organisation").select_option("Company 7")
    page.get_by_text("200 of 10,000 documents").wait_for()
    page.get_by_role("combobox", name="Year").select_option("2027")
    page.get_by_placeholder("Filter by words").fill("report-00057")
    page.get_by_text("1 of 10,000 documents").wait_for()
    assert "organisation=Company+7" in page.url
    page.reload()
    page.get_by_text("1 of 10,000 documents").wait_for()
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("combobox", name="State").select_option("warned")
    page.get_by_text("20 of 10,000 documents").wait_for()
    page.get_by_role("columnheader", name="Pages").get_by_role("button").click()
    page.get_by_role("columnheader", name="Pages").get_by_role("button").click()
    assert "Report 09501" not in page.get_by_role("row").nth(1).inner_text()
    assert page.get_by_role("row").nth(1).get_by_role("gridcell").nth(4).inner_text() == "202"

    page.get_by_role("button", name="Clear filters").click()
    page.get_by_role("button", name="Gallery").click()
    page.get_by_role("listitem").first.wait_for()
    assert page.get_by_role("listitem").count() < 150
    page.get_by_role("button", name="Folders").click()
    page.get_by_role("button", name="shelf 03").press("ArrowRight")
    page.get_by_role("treegrid").get_by_role("link", name="Report").first.wait_for()


def test_a_folder_is_sent_watched_and_shown_as_a_tree(served: Serving, library: Any, tmp_path: Path) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "port"})
        upload(client, "port", first="# First\n\nA quay.\n")
    folder = tmp_path / "papers"
    for name in ("2025/quay.md", "2025/crane.md", "lock.md", "broken.pdf", ".DS_Store"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"# {name}\n\nThe {name} of the port.\n")
    page = library("port")
    page.get_by_text("1 document", exact=True).wait_for()
    page.get_by_label("Add folder").set_input_files(str(folder))
    work = page.get_by_role("region", name="On its way")
    work.get_by_text("papers/broken.pdf").wait_for()
    page.get_by_role("button", name=re.compile("1 failed")).wait_for()
    assert work.locator(".work-why.bad").inner_text(), "why it failed is said"
    page.reload()
    page.get_by_role("button", name=re.compile("1 failed")).click()
    work.get_by_role("button", name="Retry: papers/broken.pdf").click()
    work.get_by_role("button", name="Forget: papers/broken.pdf").wait_for()
    page.get_by_role("button", name="Folders").click()
    page.get_by_role("link", name="crane").wait_for()
    assert "DS_Store" not in page.get_by_role("treegrid").inner_text()
    page.get_by_role("button", name="2025", exact=True).press("ArrowLeft")
    page.get_by_role("link", name="crane").wait_for(state="detached")


def test_a_document_is_opened_by_its_outline_corrected_and_removed(served: Serving, library: Any) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "mill"})
        upload(client, "mill", wheel="# Wheel\n\nOf oak.\n\n## Paddles\n\nOf elm.\n", stone="# Stone\n\nOf granite.\n")
        doc = next(
            one["doc_id"]
            for one in client.get("/libraries/mill/documents").json()["documents"]
            if one["name"] == "wheel.md"
        )
    page = library("mill")
    page.get_by_role("button", name="Details of Wheel").click()
    details = page.get_by_role("complementary", name="Wheel")
    details.get_by_role("treeitem", name="Wheel").focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.innerText").strip().startswith("Paddles")

    details.get_by_text("Correct", exact=True).click()
    details.get_by_role("textbox", name="Organisation").fill("Watermill Trust")
    with served.client() as client:
        client.patch(f"/libraries/mill/documents/{doc}", json={"set": {"year": "1830"}}).raise_for_status()
    details.get_by_role("button", name="Save").click()
    details.get_by_text("Somebody else changed this document").wait_for()
    assert details.get_by_role("textbox", name="Organisation").input_value() == "Watermill Trust", (
        "what was typed stays"
    )
    assert details.get_by_role("textbox", name="Year").input_value() == "1830", "and what they wrote is there"
    details.get_by_role("button", name="Save").click()
    details.get_by_text("Saved.").wait_for()
    page.get_by_role("gridcell", name="Watermill Trust").wait_for()
    details.get_by_role("button", name="Undo the correction of Organisation").click()
    page.get_by_role("gridcell", name="Watermill Trust").wait_for(state="detached")

    with page.expect_download() as kept:
        details.get_by_role("link", name="Download").click()
    assert kept.value.suggested_filename == "wheel.md"
    details.get_by_role("button", name="Remove").click()
    details.get_by_role("button", name="Yes, remove").click()
    page.get_by_text("1 document", exact=True).wait_for()
    page.go_back()
    page.get_by_text("This document is not here any more.").wait_for()
