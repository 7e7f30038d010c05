"""The tools search and fetch of /mcp/connector, in the form that ChatGPT's connectors demand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError

from tests.interfaces.http.conftest import MILL, SOLD, START, Serving, serving, upload

SECRET = "# Lanterns\n\nThe zanzibarquokka lantern was sold in 1987.\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("connector")) as server, server.client() as owner:
        for name, text in (("mills & towns", MILL), ("theirs", SECRET)):
            owner.post("/libraries", json={"name": name}).raise_for_status()
            upload(owner, name, **{f"{name.split()[0]}-document": text})
        yield server


def connected(served: Serving, secret: str = START) -> Client[Any]:
    return Client(StreamableHttpTransport(f"{served.url}/mcp/connector", headers={"Authorization": f"Bearer {secret}"}))


async def test_search_and_fetch_have_the_demanded_form(served: Serving) -> None:
    async with connected(served) as client:
        assert sorted(tool.name for tool in await client.list_tools()) == ["fetch", "search"]
        searched = await client.call_tool("search", {"query": SOLD})
        assert json.loads(searched.content[0].text) == searched.structured_content, "the text says the same, as JSON"
        results = searched.structured_content["results"]
        assert all(set(page) == {"id", "title", "url"} and all(page.values()) for page in results)
        fetched = (await client.call_tool("fetch", {"id": results[0]["id"]})).structured_content
    assert set(fetched) == {"id", "title", "text", "url", "metadata"}
    assert "sold to the town in 1987" in fetched["text"]
    assert (fetched["id"], fetched["url"]) == (results[0]["id"], results[0]["url"])
    assert fetched["url"].startswith(f"{served.url}/#/doc/") and fetched["url"].endswith("/page/1")
    assert all(isinstance(value, str) and value for value in fetched["metadata"].values())
    assert fetched["metadata"]["library"] == "mills & towns"


@pytest.mark.parametrize(
    "id", ["", "none", "a/b", "a/b/c", "a/b/1/2", "mills%20%26%20towns/none/1", "theirs/x/²", "%/%/1"]
)
async def test_an_id_that_no_search_gave_is_refused(served: Serving, id: str) -> None:
    async with connected(served) as client:
        with pytest.raises(ToolError, match=r"No page has the id|does not exist|no document|No library|no library"):
            await client.call_tool("fetch", {"id": id})


async def test_a_page_beyond_the_last_is_refused(served: Serving) -> None:
    async with connected(served) as client:
        [first, *_] = (await client.call_tool("search", {"query": SOLD})).structured_content["results"]
        with pytest.raises(ToolError, match="page"):
            await client.call_tool("fetch", {"id": first["id"].rsplit("/", 1)[0] + "/999999999999"})


async def test_a_token_of_one_library_finds_and_fetches_nothing_of_another(served: Serving) -> None:
    async with connected(served) as owner:
        hidden = (await owner.call_tool("search", {"query": "zanzibarquokka lantern"})).structured_content["results"][0]
    with served.client() as client:
        token = client.post("/tokens", json={"name": "limited", "role": "read", "libraries": ["mills & towns"]}).json()
    async with connected(served, token["secret"]) as client:
        assert sorted(tool.name for tool in await client.list_tools()) == ["fetch", "search"]
        results = (await client.call_tool("search", {"query": "zanzibarquokka lantern sold"})).structured_content
        assert results["results"] and all(page["id"].startswith("mills") for page in results["results"])
        with pytest.raises(ToolError):
            await client.call_tool("fetch", {"id": hidden["id"]})


def test_without_a_token_it_is_refused(served: Serving) -> None:
    with served.bare() as stranger:
        assert stranger.post(f"{served.url}/mcp/connector", json={}).status_code == 401
        assert stranger.post(f"{served.url}/mcp/other", json={}).status_code in (401, 404)


async def test_documents_of_one_title_are_told_apart(served: Serving) -> None:
    with served.client() as client:
        client.post("/libraries", json={"name": "twins"})
        upload(client, "twins", north="# Ferry rules\n\nThe quillhaven ferry sails at nine.\n",
               south="# Ferry rules\n\nThe quillhaven ferry sails at noon.\n",
               east="# Other rules\n\nThe quillhaven ferry sails at ten.\n")  # fmt: skip
    async with connected(served) as client:
        searched = (
            await client.call_tool("search", {"query": "When does the quillhaven ferry sail?"})
        ).structured_content
    titles = {page["title"].partition(", page")[0] for page in searched["results"] if page["id"].startswith("twins")}
    assert titles == {"Ferry rules (north.md)", "Ferry rules (south.md)", "Other rules"}
