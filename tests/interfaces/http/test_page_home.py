"""The first view in a browser: a sample that can be asked at once, libraries made, named and deleted, files dropped."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psutil
import pytest

from tests.interfaces.http.conftest import START, Serving, serving, until, wait_for_held, wait_for_jobs

DROP = """() => {
    const files = new DataTransfer();
    files.items.add(new File(['# Tide\\n\\nThe tide rises four metres.'], 'tide.md'));
    const drag = { dataTransfer: files, cancelable: true };
    for (const kind of ['dragenter', 'drop']) dispatchEvent(new DragEvent(kind, drag));
}"""


OBSERVE = """
    window.shifts = 0;
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts += one.value;
    }).observe({ type: 'layout-shift', buffered: true });
"""


def test_who_opens_it_finds_the_worker_that_draws_pages_started(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "--open", BROWSER="true") as made:
        until(lambda: any("indexers" in command for command in children_of(made.process.pid)))


def children_of(process: int) -> list[str]:
    """Return the commands of the processes that a process started."""
    commands = []
    for child in psutil.Process(process).children():
        with suppress(psutil.NoSuchProcess):
            commands.append(" ".join(child.cmdline()))
    return commands


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
    page.get_by_label("Second name").fill("The coast")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="The coast").wait_for()

    page.evaluate(DROP)
    assert page.get_by_label("To which library?").input_value() == "coast"
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("heading", name="The coast").wait_for()
    page.get_by_text("1 document", exact=True).wait_for()
    page.go_back()
    card = page.locator(".library-card", has_text="The coast")
    card.get_by_text("changed").wait_for()
    assert card.locator(".figures").inner_text().split("\n") == ["1 document", "1 page"]
    with served.client() as client:
        torn = [("file", ("torn.pdf", b"%PDF-1.7 torn"))]
        wait_for_jobs(client, [client.post("/libraries/coast/documents", files=torn).json()["files"][0]["job"]])
        client.post("/jobs/pause", json={"library": "coast"}).raise_for_status()
        later = [("file", (f"{name}.md", f"# {name}".encode())) for name in ("ebb", "flood")]
        client.post("/libraries/coast/documents", files=later).raise_for_status()
    card.get_by_role("link", name="2 waiting").wait_for()
    card.get_by_role("link", name="1 failed").click()
    page.get_by_text("1 of 2 documents").wait_for()
    page.get_by_role("link", name="torn").wait_for()


def test_a_first_visit_says_what_this_is_and_what_to_do(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_text("see the pages that answer them").wait_for()
    assert page.locator(".intro li").count() == 3
    page.get_by_text("A model helps if the evidence is weak").wait_for()  # Balanced, where it stands
    page.get_by_label("Thorough").check()
    page.get_by_text("A model reads the section trees: slower").wait_for()
    high, shown = page.evaluate("[document.documentElement.scrollHeight, innerHeight]")
    assert high <= shown, "nothing scrolls that has nothing below"


@pytest.mark.parametrize("link", ["/#token={}", "/?from=mail#token={}"])
def test_the_printed_link_signs_in_where_the_page_is_open(served: Serving, page: Any, link: str) -> None:
    page.goto(served.url + link.split("#")[0])
    page.get_by_label("Token").wait_for()
    assert "serve" not in page.get_by_role("main").inner_text()
    page.evaluate("hash => { location.hash = hash }", link.format(START).split("#")[1])
    page.get_by_role("heading", name="Libraries").wait_for()
    assert START not in page.url


NAMES = [
    "Work papers & reports",
    "R&D",
    "Taxes (2024)",
    "Müller's papers",
    "Q1/Q2",
    "50% off? #1",
    "c++ 🚢",
    "税务/2024",
]


def test_libraries_bear_any_name_that_people_type(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    for name in NAMES:
        page.get_by_role("link", name="Libraries", exact=True).click()
        page.get_by_role("button", name="New library").click()
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("button", name="Create").click()
        page.get_by_role("heading", name=name, exact=True, level=1).wait_for()
    with served.client() as client:
        for name in NAMES:
            path = f"/libraries/{quote(name, safe='')}"
            sent = client.post(f"{path}/documents", files=[("file", ("a.md", f"# Of {name}\n\nA barge.\n".encode()))])
            wait_for_jobs(client, [sent.json()["files"][0]["job"]])
            found = client.post("/search", json={"question": "barge", "libraries": [name]}).json()["results"]
            assert [hit["doc_name"] for hit in found] == ["a.md"]
            assert client.get(f"{path}/documents/a.md").json()["published"]
            by_path = quote("upload:/a.md", safe="")  # with a slash, too
            read = client.get(f"{path}/documents/{by_path}/pages/1").json()
            assert read["page"] == 1, read
    page.reload()
    page.evaluate("name => { location.hash = '#/library/' + encodeURIComponent(name) }", "Q1/Q2")
    page.get_by_text("1 document", exact=True).wait_for()
    page.get_by_role("link", name="Of Q1/Q2").click()
    page.get_by_role("heading", name="Of Q1/Q2").first.wait_for()
    with served.client() as client:
        for name in NAMES:
            assert client.delete(f"/libraries/{quote(name, safe='')}?for_good=true").json()["deleted"] == [name]
        refused = client.post("/libraries", json={"name": ".."})
        assert refused.status_code == 400


def test_how_it_looks_and_speaks_is_chosen_and_stays(served: Serving, page: Any) -> None:
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("button", name="Appearance and language").click()
    page.get_by_label("Dark").check()
    page.get_by_role("combobox", name="Language").select_option("zh")
    page.get_by_role("link", name="设置").wait_for()
    page.reload()
    page.get_by_role("link", name="设置").wait_for()
    assert page.evaluate("document.documentElement.lang").startswith("zh")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_files_are_added_by_keys_alone_over_a_slow_line(served: Serving, page: Any, tmp_path: Path) -> None:
    """Something of the page to come is shown at once, and nothing jumps when it comes."""
    (tmp_path / "reef.md").write_text("# Reef\n\nThe reef is of coral.\n")
    with served.client() as client:
        client.post("/libraries", json={"name": "reefs"})
    page.on("filechooser", lambda _: None)  # so that the browser gives choosers to the test long before one comes
    page.add_init_script(OBSERVE)
    page.goto(f"{served.url}/#token={START}")
    page.get_by_role("heading", name="Libraries").wait_for()
    line = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 300, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
    line.send("Network.emulateNetworkConditions", slow)
    held: list[Any] = []
    page.route("**/api/v1/libraries", lambda route: held.append(route))  # for as long as it takes to see what is busy
    page.reload(wait_until="commit")
    page.locator("[aria-busy=true]").first.wait_for()
    wait_for_held(page, held)
    for route in held:
        route.continue_()
    page.unroute("**/api/v1/libraries")
    page.get_by_role("link", name="reefs", exact=True).wait_for()
    assert page.evaluate("shifts") < 0.01
    line.send("Network.emulateNetworkConditions", {**slow, "latency": 0, "downloadThroughput": -1})
    page.get_by_role("link", name="reefs", exact=True).press("Enter")
    page.get_by_role("heading", name="No documents yet").wait_for()
    add = page.get_by_label("Add files")
    for _ in range(60):
        if add.evaluate("input => input === document.activeElement"):
            break
        page.keyboard.press("Tab")
    assert add.evaluate("input => input === document.activeElement"), "the keys lead there"
    with page.expect_file_chooser() as asked:
        page.keyboard.press("Enter")
    asked.value.set_files(tmp_path / "reef.md")
    page.get_by_role("link", name="Reef").wait_for()


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
        torn = [("file", ("silent.pdf", b"%PDF-1.7 torn"))]
        wait_for_jobs(client, [client.post("/libraries/quiet/documents", files=torn).json()["files"][0]["job"]])
    page.goto(f"{served.url}/#token={secret}")
    page.get_by_role("heading", name="Libraries").wait_for()
    page.get_by_role("link", name="quiet").wait_for()
    assert page.get_by_role("button", name="New library").count() == 0
    page.evaluate("location.hash = '#/jobs'")
    failed = page.get_by_role("listitem").filter(has_text="silent.pdf")
    failed.get_by_text("Failed", exact=True).wait_for()
    assert failed.get_by_role("button").count() == 0, "what the server would refuse is not offered"
    assert httpx.post(f"{served.api}/sample", headers={"Authorization": f"Bearer {secret}"}).status_code == 403
