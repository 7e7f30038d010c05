"""Web addresses as sources: typed in a real browser, fetched by the server, refused in words that people read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doubles import near_web
from tests.doubles.web_pages import Pages, web_pages
from tests.interfaces.http.conftest import START, Serving, serving, until, upload

_LIMIT = 2000
_ANSWERS: Pages = {
    "/heron.html": (200, {"Content-Type": "text/html"}, b"<title>The heron</title><h1>The heron</h1><p>It eats eels."),
    "/moved": (302, {"Location": "/heron.html"}, b""),
    "/inside": (302, {"Location": "http://10.0.0.1/secret.md"}, b""),
    "/big.txt": (200, {"Content-Type": "text/plain"}, b"heron " * _LIMIT),
    "/tool": (200, {"Content-Type": "application/x-msdownload"}, b"MZ"),
}


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with web_pages(_ANSWERS) as host:
        yield host


@pytest.fixture(scope="module")
def fetching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server for which this machine is public."""
    settings = {"PAGEINDEX_FETCH_WEB": "public", "PAGEINDEX_MAX_DOWNLOAD_SIZE": str(_LIMIT)}
    with serving(tmp_path_factory.mktemp("home") / "home", before=near_web.BEFORE, **settings) as server:
        yield server


def opened(served: Serving, page: Any, library: str, token: str = START) -> Any:
    page.goto(f"{served.url}/#token={token}")
    page.get_by_role("main").wait_for()
    page.evaluate("place => { location.hash = place }", f"#/library/{library}")
    page.get_by_role("heading", name=library, level=1).wait_for()
    return page


def add(page: Any, *addresses: str) -> None:
    page.get_by_role("button", name="Add web address").click()
    page.get_by_role("textbox", name="Address").fill(" ".join(addresses))
    page.get_by_role("button", name="Fetch").click()


def test_an_address_becomes_a_document_and_refusals_are_readable(fetching: Serving, page: Any, web: str) -> None:
    with fetching.client() as client:
        client.post("/libraries", json={"name": "birds"})
    opened(fetching, page, "birds")
    add(page, "ftp://example.org/x")
    page.get_by_role("dialog").get_by_text("ftp://example.org/x is not a web address").wait_for()
    page.get_by_role("textbox", name="Address").fill(f"http://{web}/heron.html")
    page.get_by_role("textbox", name="Address").press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("link", name="The heron").wait_for()
    page.get_by_text("1 document", exact=True).wait_for()

    again = {"address": f"http://{web}/moved"}
    with fetching.client() as client:  # the time of a file that was written a moment ago does not prove it unchanged
        until(lambda: client.post("/libraries/birds/fetch", json=again).json()["files"][0]["job"] is None)
    add(page, again["address"])
    page.get_by_text(f"{web}/heron.html is here already, unchanged").wait_for()
    add(page, *(f"http://{web}/{name}" for name in ("inside", "big.txt", "tool", "nothing")), "http://10.1.2.3/x.md")
    work = page.get_by_role("region", name="In progress")
    for name, why in {
        "inside": "10.0.0.1 is not a public address", "big.txt": "larger than the settings allow",
        "tool": "application/x-msdownload are not supported", "nothing": "answered 404",
        "x.md": "10.1.2.3 is not a public address",
    }.items():  # fmt: skip
        line = work.get_by_role("listitem").filter(has_text=f"/{name}")
        line.get_by_text("Not fetched").wait_for()
        assert why in line.inner_text()
        assert "max_download_size" not in line.inner_text()
        line.get_by_role("button", name="Cancel").click()
    page.get_by_text("1 document", exact=True).wait_for()
    with fetching.client() as client:
        [document] = client.get("/libraries/birds/documents").json()["documents"]
    assert document["path"] == f"web:/{web}/heron.html"


def test_who_may_only_read_is_offered_no_address(fetching: Serving, page: Any) -> None:
    with fetching.client() as client:
        client.post("/libraries", json={"name": "fish"})
        upload(client, "fish", eel="# The eel\n\nIt is eaten by herons.\n")
        token = client.post("/tokens", json={"name": "reader", "libraries": ["fish"]}).json()["secret"]
    opened(fetching, page, "fish", token)
    page.get_by_role("link", name="The eel").wait_for()
    assert page.get_by_role("button", name="Add web address").count() == 0
    with fetching.client(token) as reader:
        refused = reader.post("/libraries/fish/fetch", json={"address": "https://example.org"})
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


def test_the_owner_allows_addresses_in_the_settings(tmp_path: Path, page: Any, web: str) -> None:
    with serving(tmp_path / "home", before=near_web.BEFORE) as closed:
        with closed.client() as client:
            client.post("/libraries", json={"name": "birds"})
        opened(closed, page, "birds")
        add(page, f"{web}/heron.html")
        page.get_by_text("This server does not fetch web addresses").wait_for()
        page.evaluate("location.hash = '#/settings/reading'")
        page.get_by_role("combobox", name="Web addresses").select_option("public")
        page.get_by_text("Saved").wait_for()
        page.go_back()
        add(page, f"http://{web}/heron.html")
        page.get_by_role("link", name="The heron").wait_for()
    assert "fetch_web: public" in (tmp_path / "home" / "config.yaml").read_text()
