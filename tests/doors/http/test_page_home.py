"""The first view in a browser: a sample that can be asked at once, libraries made, named and deleted, files dropped."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx

from tests.doors.http.conftest import START, Serving, serving

DROP = """() => {
    const files = new DataTransfer();
    files.items.add(new File(['# Tide\\n\\nThe tide rises four metres.'], 'tide.md'));
    const drag = { dataTransfer: files, cancelable: true };
    for (const kind of ['dragenter', 'drop']) dispatchEvent(new DragEvent(kind, drag));
}"""


def test_who_opens_it_finds_the_worker_that_draws_pages_started(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "--open", BROWSER="true") as made:
        threads, until = Path(f"/proc/{made.process.pid}/task"), time.monotonic() + 60
        begun: list[str] = []
        while not any("indexers" in one for one in begun):
            assert time.monotonic() < until, f"no worker was started: {begun}"
            time.sleep(0.05)
            ids = [child for one in threads.iterdir() for child in (one / "children").read_text().split()]
            begun = [Path(f"/proc/{child}/cmdline").read_text() for child in ids if Path(f"/proc/{child}").is_dir()]


def test_a_first_start_shows_a_sample_that_goes_for_good(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("link", name="What was the capital expenditure in fiscal 2025?").click()
    page.get_by_text("58,700").first.wait_for()

    page.go_back()
    page.get_by_role("button", name="Delete sample").click()
    page.get_by_role("button", name="Delete it").click()
    page.get_by_text("There is no library yet").wait_for()
    page.reload()
    page.get_by_text("There is no library yet").wait_for()
    with served.client() as client:
        assert client.post("/sample").status_code == 409
        assert client.get("/libraries").json() == []


def test_a_library_is_made_named_and_given_what_is_dropped(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("button", name="New library").click()
    page.get_by_label("Name", exact=True).fill("coast")
    page.get_by_role("button", name="Create").click()
    page.get_by_role("heading", name="coast").wait_for()

    page.go_back()
    page.get_by_role("button", name="Rename coast").click()
    page.get_by_label("Another name").fill("The coast")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="The coast").wait_for()

    page.evaluate(DROP)
    assert page.get_by_label("To which library?").input_value() == "coast"
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("heading", name="The coast").wait_for()
    page.get_by_text("1 document", exact=True).wait_for()
    page.go_back()
    page.locator(".library-card", has_text="The coast").get_by_text("changed").wait_for()


def test_a_browser_that_keeps_nothing_is_served_too(served: Serving, window: Any) -> None:
    context = window.new_context(locale="en-GB")
    context.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, name, { get() { throw new DOMException('no', 'SecurityError') } })"
    )
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("heading", name="Libraries").wait_for()
    page.get_by_role("button", name="Appearance and language").click()
    page.get_by_label("High contrast").check()
    assert page.evaluate("document.documentElement.dataset.theme") == "contrast"
    context.close()
    assert not faults


def test_who_may_only_read_is_offered_nothing_else(served: Serving, page: Any) -> None:
    with served.client() as client:
        secret = client.post("/tokens", json={"name": "reader", "role": "read"}).json()["secret"]
        client.post("/libraries", json={"name": "quiet"})
    page.goto(f"{served.url}/#token={secret}")
    page.get_by_role("heading", name="Libraries").wait_for()
    page.get_by_role("link", name="quiet").wait_for()
    assert page.get_by_role("button", name="New library").count() == 0
    assert httpx.post(f"{served.api}/sample", headers={"Authorization": f"Bearer {secret}"}).status_code == 403
