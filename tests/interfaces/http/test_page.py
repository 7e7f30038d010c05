"""The web page in a real browser: a library is made, a file is given to it, and questions find and cite its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.interfaces.http.conftest import START, Serving, wait_for_jobs


def test_a_file_is_added_found_and_read(served: Serving, page: Any, tmp_path: Path) -> None:
    file = tmp_path / "harbour.md"
    file.write_text("# Harbour\n\nThe crane of the harbour lifts ninety tonnes.\n")
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("button", name="New library").click()
    page.get_by_label("Name", exact=True).fill("quay")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="quay").wait_for()
    page.get_by_label("Add files").set_input_files(str(file))
    page.get_by_text("1 document", exact=True).wait_for()
    page.get_by_role("searchbox").fill("How much does the crane lift?")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Page 1", exact=True).wait_for()
    assert "ninety tonnes" in page.get_by_role("article").inner_text()
    assert START not in page.url

    page.get_by_role("link", name="Page 1", exact=True).click()
    mark, word = page.locator(".box.mark").first, page.locator(".text-layer span", has_text="crane").first
    mark.wait_for()
    over, under = mark.bounding_box(), word.bounding_box()
    assert over["y"] < under["y"] + under["height"] / 2 < over["y"] + over["height"], "the line of the quote is marked"
    page.keyboard.press("/")
    page.get_by_role("searchbox").or_(page.locator(".find-bar input")).first.fill("harbour")
    page.get_by_text("of 2", exact=False).first.wait_for()


def test_questions_are_answered_beside_what_they_cite_and_asked_in_another_way(
    served: Serving, page: Any, tmp_path: Path
) -> None:
    file = tmp_path / "lock.md"
    file.write_text("# Lock\n\nThe gate of the lock weighs forty tonnes.\n\n# Bridge\n\nThe bridge is of oak.\n")
    with served.client() as client:
        client.post("/libraries", json={"name": "canal"})
        with file.open("rb") as read:
            sent = client.post("/libraries/canal/documents", files={"file": ("lock.md", read)}).json()
        wait_for_jobs(client, [sent["files"][0]["job"]])
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("link", name="canal").click()
    page.get_by_role("searchbox").fill("What does the gate weigh?")
    page.get_by_role("button", name="Ask").click()
    card = page.locator(".page-card button").first
    card.wait_for()
    assert "forty tonnes" in card.inner_text()
    card.click()
    page.locator(".box.mark").first.wait_for()

    page.get_by_role("button", name="Edit the question").click()
    page.get_by_role("textbox", name="Edit the question").fill("What is the bridge of?")
    page.keyboard.press("Enter")
    page.locator(".page-card", has_text="oak").first.wait_for()
    page.reload()
    page.locator(".page-card", has_text="oak").first.wait_for()
    with served.client() as client:
        (talk,) = client.get("/conversations").json()["conversations"]
        first = client.get(f"/conversations/{talk['id']}").json()["messages"][0]
        earlier = min(first["siblings"])
        turned = client.patch(f"/conversations/{talk['id']}", json={"branch": earlier})
        assert turned.status_code == 200, turned.text
    page.reload()
    page.locator(".page-card", has_text="forty tonnes").first.wait_for()
