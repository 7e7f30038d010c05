"""A token of some libraries may use /mcp, and no tool, resource or completion shows it anything of another library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp_types import ResourceTemplateReference

from tests.interfaces.http.conftest import Serving, serving, upload

HIDDEN = "zanzibarquokka"  # stands in everything of the hidden library, and in nothing that is asked
THEIRS = f"# Lantern harvest\n\nThe lantern harvest of {HIDDEN} was sold to the mill in 1987.\n"
MINE = "# The mill\n\nThe mill was sold to the town in 1987.\n"


@dataclass
class Shared:
    served: Serving
    secret: str
    """Of a token that may do everything, in the library «mine» alone."""
    theirs: dict[str, Any]
    """What arguments must be to reach the hidden library."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Also the usual library is hidden: what no argument names must not reach it."""
    with serving(tmp_path_factory.mktemp("shared")) as served, served.client() as owner:
        for name, text in (("mine", MINE), ("theirs", THEIRS), ("default", THEIRS)):
            owner.post("/libraries", json={"name": name})
            upload(owner, name, **{f"{name}-document": text})
        owner.patch("/libraries/theirs", json={"alias": HIDDEN})
        [document] = owner.get("/libraries/theirs/documents").json()["documents"]
        conversation = owner.post("/conversations", json={"libraries": ["theirs"], "title": HIDDEN}).json()["id"]
        made = owner.post("/tokens", json={"name": "other", "role": "admin", "libraries": ["mine"]}).json()
        job = owner.get("/jobs", params={"library": "theirs"}).json()["jobs"][0]["id"]
        theirs = {
            "library": "theirs", "libraries": ["theirs"], "document": document["doc_id"],
            "documents": [document["doc_id"]], "left": document["doc_id"], "right": document["doc_id"],
            "file_path": document["path"], "conversation": conversation, "jobs": [job], "paths": [document["path"]],
            "page": 1, "pages": "1", "question": "lantern harvest", "query": "lantern harvest", "pattern": "lantern",
            "name": HIDDEN[:4], "filter": "lantern",
        }  # fmt: skip
        yield Shared(served, made["secret"], theirs)


@pytest.fixture
async def agent(shared: Shared) -> AsyncIterator[Client[Any]]:
    async with Client(_transport(shared, shared.secret)) as client:
        yield client


def _transport(shared: Shared, secret: str) -> StreamableHttpTransport:
    return StreamableHttpTransport(f"{shared.served.url}/mcp", headers={"Authorization": f"Bearer {secret}"})


def shown(result: Any) -> str:
    return json.dumps(result.structured_content, ensure_ascii=False) if result.structured_content else str(result)


async def test_no_tool_shows_what_is_anothers(shared: Shared, agent: Client[Any]) -> None:
    """Every tool with every set of arguments that could reach it: theirs by name, by alias, by id, and by none."""
    tried, refused = 0, 0
    for tool in await agent.list_tools():
        schema = tool.input_schema["properties"]
        required = set(tool.input_schema.get("required", ()))
        for library in ("theirs", HIDDEN, "mine", "", "*", "default", None):
            arguments = {name: shared.theirs[name] for name in schema if name in shared.theirs}
            if "library" in schema:
                arguments["library"] = library or ""
            arguments.pop("libraries", None)
            if "libraries" in schema and library == "*":
                arguments |= {"libraries": ["*"], "library": ""}
            if library is None:  # what must be said alone
                arguments = {name: one for name, one in arguments.items() if name in required}
            if "node" in schema and "pages" in schema:
                arguments.pop("node", None)
            for action in schema.get("action", {}).get("enum", [None]):
                tried += 1
                given = arguments | ({"action": action} if action else {})
                try:
                    said = shown(await agent.call_tool(tool.name, given))
                except ToolError as error:
                    said, refused = str(error), refused + 1
                sent = (f"'{HIDDEN}'", str(shared.theirs["file_path"]))  # what was sent is repeated where it is unknown
                told = said.replace(sent[0], "").replace(sent[1], "")
                assert HIDDEN not in told and "theirs-document" not in told, (tool.name, given)
                assert "lantern harvest of" not in told.lower(), (tool.name, given)
    assert tried > 80 and refused < tried


async def test_what_is_ones_own_is_there(shared: Shared, agent: Client[Any]) -> None:
    """With no library named, too: the usual one may not be read, and there is one that may."""
    for named in ({}, {"library": "mine"}, {"libraries": ["*"]}):
        found = await agent.call_tool("search", {"question": "When was the mill sold?", **named})
        assert [one["document"] for one in found.structured_content["results"]] == ["mine-document.md"], named
    read = await agent.call_tool("read", {"document": "mine-document.md", "pages": 1})
    assert "sold to the town" in shown(read)
    counted = await agent.call_tool("grep", {"pattern": "mill"})
    assert counted.structured_content["total_documents"] == 1
    libraries = await agent.call_tool("list_libraries", {})
    assert [one["library"] for one in libraries.structured_content["libraries"]] == ["mine"]
    answered = await agent.call_tool("ask", {"question": "When was the mill sold?"})
    talk = answered.structured_content["conversation"]
    listed = await agent.call_tool("conversations", {})
    assert talk in [one["conversation"] for one in listed.structured_content["conversations"]]
    assert "1987" in shown(await agent.call_tool("conversations", {"conversation": talk}))


async def test_a_name_that_is_hidden_is_told_like_one_that_is_not_there(agent: Client[Any]) -> None:
    said = []
    for library in ("theirs", "nothing"):
        with pytest.raises(ToolError) as refused:
            await agent.call_tool("search", {"question": "mill", "library": library})
        said.append(str(refused.value))
    assert said[0] == said[1].replace("nothing", "theirs")


async def test_resources_and_completions_stay_within_too(shared: Shared, agent: Client[Any]) -> None:
    document = shared.theirs["document"]
    for path in ("", "/outline", "/page/1", "/page/1/image"):
        for library in ("theirs", HIDDEN, "mine"):
            with pytest.raises(Exception, match=r"(?i)no (document|library)|not found|unknown"):
                await agent.read_resource(f"pageindex://{library}/{document}{path}")
    assert "sold to the town" in str(await agent.read_resource("pageindex://mine/mine-document.md/page/1"))
    template = ResourceTemplateReference(type="ref/resource", uri="pageindex://{library}/{document}")
    for typed in ({"name": "library", "value": ""}, {"name": "document", "value": ""}):
        for library in ("theirs", "mine", ""):
            completed = await agent.complete(template, typed, {"library": library} if library else {})
            assert not [one for one in completed.values if "their" in one or HIDDEN in one], completed


async def test_nothing_is_written(agent: Client[Any]) -> None:
    names = {tool.name for tool in await agent.list_tools()}
    assert not names & {"add_documents", "remove_documents", "name_library", "build_index"}
    for name, arguments in (
        ("remove_documents", {"documents": ["mine-document.md"]}), ("name_library", {"library": "mine", "name": "x"}),
        ("add_documents", {"paths": ["/etc/hostname"]}), ("jobs", {"action": "cancel", "library": "mine"}),
    ):  # fmt: skip
        with pytest.raises(ToolError, match="read-only"):
            await agent.call_tool(name, arguments)


async def test_a_session_has_the_rights_of_the_token_that_is_shown_now(shared: Shared, agent: Client[Any]) -> None:
    """Also of one that was taken away meanwhile."""
    with shared.served.client() as owner:
        made = owner.post("/tokens", json={"name": "passing", "libraries": ["theirs"]}).json()
        async with Client(_transport(shared, made["secret"])) as passing:
            found = await passing.call_tool("search", {"question": "lantern harvest"})
            assert HIDDEN in shown(found)
            with pytest.raises(ToolError):
                await passing.call_tool("search", {"question": "mill", "library": "mine"})
            own = await agent.call_tool("search", {"question": "mill"})
            assert HIDDEN not in shown(own)
            owner.delete("/tokens/passing")
            with pytest.raises(Exception):  # noqa: B017 - clients name a 401 in several ways
                for _ in range(30):
                    await passing.call_tool("search", {"question": "lantern harvest"})
                    await asyncio.sleep(0.2)


async def test_another_tokens_session_shows_what_ones_own_token_may_see(shared: Shared) -> None:
    """Whoever learns a session's id gets no rights by it."""
    with shared.served.client() as owner:
        made = owner.post("/tokens", json={"name": "reading", "libraries": ["theirs"]}).json()
    url = f"{shared.served.url}/mcp"
    kinds = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        },
    }  # fmt: skip
    async with httpx.AsyncClient(timeout=60) as http:
        theirs = kinds | {"Authorization": f"Bearer {made['secret']}"}
        begun = await http.post(url, json=hello, headers=theirs)
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await http.post(url, json=ready, headers=theirs | session)
        call = {
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "search", "arguments": {"question": "lantern harvest"}},
        }  # fmt: skip
        assert HIDDEN in (await http.post(url, json=call, headers=theirs | session)).text
        mine = kinds | session | {"Authorization": f"Bearer {shared.secret}"}
        answered = await http.post(url, json=call | {"id": 3}, headers=mine)
        assert HIDDEN not in answered.text
