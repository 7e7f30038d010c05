"""What the revisions of the protocol demand: codes of errors, lists with cursors, subscriptions, log messages."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.catalog.maintenance import HomeState
from hybrid_core.types.results import Evidence, PageFound, Receipt, SectionFound
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.index.worker import Feed
from hybrid_pageindex.mcp.payloads import evidence_payload, result_payloads
from hybrid_pageindex.mcp.subscriptions import Subscriptions
from tests import pdfs
from tests.interfaces.mcp_client import MODERN, Stdio, stdio

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n"
BASE = "pageindex://default/mill.md"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("protocol")
    (folder / "mill.md").write_text(MILL)
    engine = Engine(folder / "home")
    run(engine.index(folder / "mill.md"))
    engine.close()
    return folder / "home"


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Stdio]:
    with stdio(home, "--read-only") as client:
        yield client


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        (f"{BASE}/page/99", "no page 99"),
        (f"{BASE}/page/x", "is not a page number"),
        ("pageindex://default/none.md", "has no document"),
        ("pageindex://nowhere/mill.md/outline", "nowhere"),
        ("other://thing", "not found"),
    ],
)
def test_a_resource_that_is_not_there_has_the_code_of_its_revision(served: Stdio, uri: str, why: str) -> None:
    error = served.ask("resources/read", {"uri": uri})["error"]
    assert error["code"] == -32002 and why in error["message"] and error["data"] == {"uri": uri}


@pytest.mark.parametrize("uri", [f"{BASE}/page/99", "pageindex://nowhere/mill.md", "other://thing"])
def test_in_the_revision_of_2026_it_is_an_invalid_parameter(home: Path, uri: str) -> None:
    client = Stdio(home, "--read-only")
    error = client.ask_modern("resources/read", {}, uri=uri)["error"]
    client.close()
    assert error["code"] == -32602 and error["data"] == {"uri": uri}


@pytest.mark.parametrize(
    ("method", "params", "why"),
    [
        ("tools/call", {"name": "nothing", "arguments": {}}, "Unknown tool"),
        ("prompts/get", {"name": "nothing"}, "Unknown prompt"),
        ("prompts/get", {"name": "compare_documents", "arguments": {"first": "a"}}, "second, topic: missing"),
        ("resources/list", {"cursor": "nothing"}, "Invalid cursor"),
        ("tools/list", {"cursor": "nothing"}, "Invalid cursor"),
        ("prompts/list", {"cursor": "nothing"}, "Invalid cursor"),
        ("resources/templates/list", {"cursor": "nothing"}, "Invalid cursor"),
    ],
)
def test_what_does_not_fit_is_an_invalid_parameter(
    served: Stdio, method: str, params: dict[str, Any], why: str
) -> None:
    error = served.ask(method, params)["error"]
    assert error["code"] == -32602 and why in error["message"]


@pytest.mark.parametrize("pages", [1, 1.0, "1", [1], ["1", 1.0]])
def test_pages_are_read_however_a_model_writes_them(served: Stdio, pages: object) -> None:
    result = served.call("read", document="mill.md", pages=pages)
    assert "1987" in result["structuredContent"]["pages"][0]["text"]


@pytest.mark.parametrize("pages", [1.5, True, {"from": 1}])
def test_what_is_no_list_of_pages_is_refused(served: Stdio, pages: object) -> None:
    assert served.call("read", document="mill.md", pages=pages)["isError"]


def test_lists_carry_nothing_of_the_framework(served: Stdio) -> None:
    lists = [
        served.ask(f"{kind}/list", {})["result"] for kind in ("tools", "prompts", "resources", "resources/templates")
    ]
    assert "fastmcp" not in json.dumps(lists)
    prompts = {prompt["name"]: prompt for prompt in lists[1]["prompts"]}
    described = [argument["description"] for prompt in prompts.values() for argument in prompt["arguments"]]
    assert described and not any("JSON" in text for text in described)


def test_documents_are_listed_as_resources_a_part_at_a_time(tmp_path: Path) -> None:
    for library, count in (("a", 120), ("b", 3)):
        (tmp_path / library).mkdir()
        for number in range(count):
            (tmp_path / library / f"{number:03}.md").write_text(f"# Note {number}\n\nOf {library}.\n")
    engine = Engine(tmp_path / "home")
    for library in ("b", "a"):
        run(engine.index(tmp_path / library, library=library))
    engine.close()
    with stdio(tmp_path / "home", "--read-only") as client:
        listed, cursor, parts = list[dict[str, Any]](), "", 0
        while parts == 0 or cursor:
            part = client.ask("resources/list", {"cursor": cursor} if cursor else {})["result"]
            listed, cursor, parts = listed + part["resources"], part.get("nextCursor", ""), parts + 1
        assert parts == 2 and len({item["uri"] for item in listed}) == len(listed) == 123
        assert [item["name"] for item in listed if "/b/" in item["uri"]] == ["000.md", "001.md", "002.md"]
        for item in (listed[0], listed[-1]):
            read = client.ask("resources/read", {"uri": item["uri"]})["result"]["contents"][0]
            assert json.loads(read["text"])["document"] == item["name"] and read["mimeType"] == item["mimeType"]


def test_a_search_links_the_pages_that_it_found(served: Stdio) -> None:
    content = served.call("search", question="When was the mill sold?")["content"]
    [link] = [block for block in content if block["type"] == "resource_link"]
    assert link["name"] == "mill.md, page 1"
    assert "1987" in served.ask("resources/read", {"uri": link["uri"]})["result"]["contents"][0]["text"]


def page_found(page: int, path: tuple[str, ...], **fields: Any) -> PageFound:
    receipt = Receipt({"mill": 1.0}, 1.0, None, 0.4, 0.3, 0.0, 1.0, 0.9, "title", path, 0.7, "walk")  # type: ignore[arg-type]
    section = SectionFound("0001", path[-1], path, page, page + page % 2, 0.7)
    fields = {"label": str(page), "short_path": "a.md"} | fields
    return PageFound("d", "a.md", page, fields.pop("label"), 0.7, "The mill.", section, receipt, **fields)


def test_results_have_fields_of_their_document_once_and_short_sections() -> None:
    deep = ("Part I", "Item 8", "Notes", "x" * 80)
    hits = [
        page_found(3, deep), page_found(4, (*deep[:3], "Leases")), page_found(5, ("Part I", "Summary")),
        page_found(6, ("Index",), label="F-6"),
    ]  # fmt: skip
    shown = [*result_payloads(hits)]
    assert ["document" in result for result in shown] == [True, False, False, False]
    assert ["why" in result for result in shown] == [True, False, False, False]
    assert [result["section"] for result in shown] == [
        f"… › Notes › {'x' * 59}… [0001, pages 3-4]", "… › Leases [0001]", "… › Summary [0001, pages 5-6]",
        "Index [0001]",
    ]  # fmt: skip
    assert [result.get("label") for result in shown] == [None, None, None, "F-6"]


def test_results_of_equal_ids_in_two_libraries_are_told_apart() -> None:
    hits = [page_found(page, ("Mill",), library=library) for page in (1, 2) for library in ("one", "two")]
    assert [(result["library"], "document" in result) for result in result_payloads(hits)] == [
        ("one", True), ("two", True), ("one", False), ("two", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("label", "place", "shown"),
    [
        ("lines 77-146", "line 105", (None, "line 105")), ("14", "chapter 2", ("14", "chapter 2")),
        ("Slide 4", "Slide 4", (None, "Slide 4")), ("lines 1-9", "", ("lines 1-9", None)),
    ],
)  # fmt: skip
def test_labels_are_left_out_where_the_place_says_more(
    label: str, place: str, shown: tuple[str | None, str | None]
) -> None:
    [result] = result_payloads([page_found(2, ("Mill",), label=label, place=place)])
    assert (result.get("label"), result.get("place")) == shown


@pytest.mark.parametrize(("score", "shown"), [(0.4987, 0.49), (0.5, 0.5), (0.29, 0.29), (1.0, 1.0), (0.0, 0.0)])
def test_a_score_is_never_shown_above_its_level(score: float, shown: float) -> None:
    assert evidence_payload(Evidence("weak", score))["score"] == shown


def test_revisions_that_know_no_links_get_none(home: Path) -> None:
    with stdio(home, "--read-only", revision="2025-03-26") as client:
        assert [block["type"] for block in client.call("search", question="mill")["content"]] == ["text"]


def test_subscribers_hear_of_a_document_that_is_indexed_again(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("mill.md", "ferry.md"):
        (folder / name).write_text(MILL)
    with stdio(tmp_path / "home", "--root", folder) as client:
        assert client.server["capabilities"]["resources"]["subscribe"] is True
        client.call("add_documents", paths=[str(folder)])
        assert {"method": "notifications/resources/list_changed", "jsonrpc": "2.0"} in client.notified
        for part in ("mill.md", "mill.md/page/1", "ferry.md"):
            assert client.ask("resources/subscribe", {"uri": f"pageindex://default/{part}"})["result"] == {}
        assert client.ask("resources/unsubscribe", {"uri": f"{BASE}/page/1"})["result"] == {}
        missing = client.ask("resources/subscribe", {"uri": "pageindex://default/none.md"})
        assert missing["error"]["code"] == -32002
        (folder / "mill.md").write_text(MILL.replace("1987", "1988"))
        client.call("add_documents", paths=[str(folder)])
        assert _updated(client) == [BASE]
        client.call("remove_documents", documents=["ferry.md"])
        assert _updated(client) == [BASE, "pageindex://default/ferry.md"]


def _updated(client: Stdio) -> list[str]:
    """Return the addresses that the client was told within some seconds."""
    time.sleep(3)
    client.ask("ping", {})
    return [
        message["params"]["uri"]
        for message in client.notified
        if message["method"] == "notifications/resources/updated"
    ]


async def test_watches_and_streams_share_one_look_at_the_home() -> None:
    """And nobody looks while nobody listens. A catalog that is busy is asked again."""
    looks, version, busy, told = 0, 1, False, asyncio.Event()

    async def read() -> HomeState:
        nonlocal looks
        looks += 1
        return HomeState(7, {"lib": version})

    async def get(_: str, library: str) -> Any:
        nonlocal busy
        if busy:
            busy = False
            raise StoreError("busy")
        return SimpleNamespace(doc_id="d", version=version)

    async def notify() -> None:
        told.set()

    feed = Feed(read)
    engine: Any = SimpleNamespace(documents=SimpleNamespace(get=get))
    subscriptions = Subscriptions(engine, feed)
    tasks = [asyncio.create_task(work) for work in (feed.run(), subscriptions.run())]
    await asyncio.sleep(0.6)
    assert looks == 0
    document: Any = SimpleNamespace(doc_id="d", version=1)
    subscriptions.add("key", "lib", document, notify)
    before = await feed.after(-1)
    stream = asyncio.create_task(feed.after(10**9, before))
    await asyncio.sleep(1.1)
    assert 1 <= looks <= 6 and not stream.done() and not told.is_set()
    busy, version = True, 2
    async with asyncio.timeout(30):
        assert (await stream).parts == {"lib": 2}
        await told.wait()
    subscriptions.remove("key")
    await asyncio.sleep(0.6)
    ended = looks
    await asyncio.sleep(0.8)
    assert looks == ended
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_the_revision_of_2026_listens_on_a_stream(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL)
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "mill.md"))
    client = Stdio(tmp_path / "home", "--read-only")
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    watched = {"resourceSubscriptions": [BASE, "pageindex://default/none.md"]}
    client.send("subscriptions/listen", {"notifications": watched, "_meta": meta})
    while not client.notified:
        client.hear()
    assert client.notified.pop()["method"] == "notifications/subscriptions/acknowledged"
    (tmp_path / "mill.md").write_text(MILL.replace("1987", "1988"))  # by another process
    run(engine.index(tmp_path / "mill.md"))
    engine.close()
    while not client.notified:
        client.hear()
    assert client.notified[0]["method"] == "notifications/resources/updated"
    assert client.notified[0]["params"]["uri"] == BASE
    client.process.kill()
    client.process.communicate()


def test_failures_are_logged_to_the_client_as_loud_as_it_wants(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    pdfs.numbered(folder / "good.pdf", 1, "reeds")
    for level, count in (("warning", 1), ("error", 0)):
        with stdio(tmp_path / f"home-{level}", "--root", folder) as client:
            client.ask("logging/setLevel", {"level": level})
            client.call("add_documents", paths=[str(folder)])
            logged = [message["params"] for message in client.notified if message["method"] == "notifications/message"]
            assert len(logged) == count
            assert all(item["level"] == "warning" and "broken.pdf" in json.dumps(item["data"]) for item in logged)
