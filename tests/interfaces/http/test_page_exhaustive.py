"""Counting and comparing in a browser: every place by document, two documents side by side."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interfaces.http.conftest import START, Serving, upload

OLD = "# Lease\n\n## Rent\n\nThe rent is 4,200 crowns a year.\n\n## Term\n\nThe term is five years.\n"
NEW = OLD.replace("4,200", "4,650") + "\n## Pets\n\nNo dogs.\n"
OTHER = "# Letter\n\nThe rent was paid. Rent again and rent.\n"


@pytest.fixture
def at(served: Serving, page: Any) -> Any:
    with served.client() as client:
        if client.post("/libraries", json={"name": "lets"}).status_code == 201:
            upload(client, "lets", **{"lease-2023": OLD, "lease-2024": NEW, "letter": OTHER})
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("main").wait_for()
    return page


def test_every_place_of_a_word_is_counted_by_document_and_opened(at: Any) -> None:
    at.evaluate("location.hash = '#/search?q=rent&in=lets'")
    at.get_by_role("link", name="Every occurrence of these words").click()
    at.get_by_text("7 places").first.wait_for()
    at.get_by_text("on 3 pages of 3 documents").wait_for()
    counts = at.locator(".count-list .count-number").all_inner_texts()
    assert counts == ["2", "2", "3"] and at.locator(".count-name").first.inner_text()
    letter = at.locator(".count-list > li", has_text="Letter")
    letter.locator("summary").focus()
    at.keyboard.press("Enter")
    letter.get_by_text("The rent was paid").first.wait_for()
    assert {mark.casefold() for mark in letter.locator("mark").all_inner_texts()} == {"rent"}
    field = at.get_by_label("Words")
    field.fill(r"[0-9],[0-9]{3}")
    at.get_by_label("Regular expression").check()
    at.get_by_text("2 places").wait_for()
    field.fill("(")
    at.keyboard.press("Enter")
    at.get_by_role("alert").wait_for()
    field.fill(r"4,650")
    at.keyboard.press("Enter")
    at.get_by_text("1 place", exact=False).first.wait_for()
    at.locator(".count-list summary").click()
    at.get_by_role("link", name="Page 1").click()
    at.locator(".box.mark").first.wait_for()


def test_two_documents_stand_side_by_side(at: Any) -> None:
    at.evaluate("location.hash = '#/library/lets?sort=indexed_at'")
    for name in ("lease-2023", "lease-2024"):
        row = at.get_by_role("row").filter(has_text=name)
        row.get_by_role("checkbox").check()
    at.get_by_role("button", name="Compare", exact=True).click()
    at.get_by_role("heading", name="Compare two documents").wait_for()
    before = at.get_by_label("Before").locator("option:checked").inner_text()
    rent = at.get_by_role("article", name="Rent")
    rent.get_by_role("cell", name="4,650").wait_for()
    assert rent.get_by_role("cell", name="4,200").is_visible() and before == "Lease (lease-2023.md)"
    assert at.get_by_role("article", name="Pets").is_visible()
    at.get_by_label("Only where figures differ").check()
    at.get_by_role("article", name="Pets").wait_for(state="detached")
    at.get_by_label("Only where figures differ").uncheck()
    at.get_by_role("button", name="Swap").click()
    at.get_by_role("article", name="Pets").get_by_text("Not in this document").wait_for()
    at.get_by_role("article", name="Rent").get_by_role("link", name="Rent").first.click()
    at.locator(".viewer").wait_for()
