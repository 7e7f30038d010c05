"""Duplicates of a library in a real browser: copies at once, near-duplicates when they are asked for."""

from __future__ import annotations

import random
from typing import Any

from tests.interfaces.http.conftest import START, Serving, upload


def test_copies_and_near_duplicates_are_shown_as_groups(served: Serving, page: Any) -> None:
    order = random.Random(5)
    words = [f"{first}{last}" for first in ("reed", "sedge", "rush") for last in "abcdefghij"]
    text = [order.choice(words) for _ in range(600)]
    lease, other = " ".join(text), " ".join(order.sample(text, len(text)))
    draft = " ".join([*text[:300], "amended", *text[301:]])
    with served.client() as client:
        client.post("/libraries", json={"name": "leases"})
        upload(
            client, "leases", lease=f"# Lease\n\n{lease}", copy=f"# Lease\n\n{lease}", draft=f"# Draft\n\n{draft}",
            other=f"# Other\n\n{other}",
        )  # fmt: skip
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("main").wait_for()
    page.evaluate("location.hash = '#/library/leases'")
    page.get_by_text("4 documents", exact=True).wait_for()
    assert page.get_by_role("row").filter(has_text="2 copies").count() == 2
    page.get_by_role("button", name="Duplicates").click()
    copies = page.get_by_role("region", name="The same file, 2 times")
    copies.get_by_text("copy.md", exact=True).wait_for()
    assert copies.get_by_role("listitem").count() == 2 and copies.get_by_text("lease.md", exact=True).is_visible()
    page.get_by_role("button", name="Find near-duplicates").click()
    near = page.get_by_role("region", name="3 documents with nearly the same words")
    near.get_by_text("draft.md", exact=True).wait_for()
    page.get_by_text("4 of 4 documents were compared").wait_for()
    assert "other.md" not in near.inner_text() and "% in common with the first" in near.inner_text()
    near.get_by_role("listitem").filter(has_text="copy.md").get_by_role("checkbox").check()
    page.get_by_role("region", name="Selected documents").get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Yes, remove").click()
    page.get_by_role("region", name="2 documents with nearly the same words").wait_for()
    page.get_by_text("3 documents", exact=True).wait_for()
    page.reload()
    page.get_by_text("No file is there twice.").wait_for()
