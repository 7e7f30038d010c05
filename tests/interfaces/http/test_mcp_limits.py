"""A token of some libraries may use /mcp: no tool shows or changes anything of another library, or beyond its role."""

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

from tests.interfaces.http.conftest import Serving, serving, upload, wait_for_jobs

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
            if tool.name in ("name_library", "upload_document", "jobs") and library not in ("theirs", HIDDEN):
                continue  # it would change what is one's own
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
            with pytest.raises(Exception, match=r"(?i)no (document|library)|does not exist|not found|unknown"):
                await agent.read_resource(f"pageindex://{library}/{document}{path}")
    assert "sold to the town" in str(await agent.read_resource("pageindex://mine/mine-document.md/page/1"))
    template = ResourceTemplateReference(type="ref/resource", uri="pageindex://{library}/{document}")
    for typed in ({"name": "library", "value": ""}, {"name": "document", "value": ""}):
        for library in ("theirs", "mine", ""):
            completed = await agent.complete(template, typed, {"library": library} if library else {})
            assert not [one for one in completed.values if "their" in one or HIDDEN in one], completed


@dataclass(frozen=True)
class Writer:
    """A caller and what it may do: the tools that its list has, and the calls in its own library that succeed."""

    role: str
    libraries: tuple[str, ...]
    listed: frozenset[str]
    allowed: frozenset[str]


CHANGES = {
    "upload": ("upload_document", {"name": "new.md", "text": "# New\n\nA new page.\n"}),
    "rebuild": ("jobs", {"action": "rebuild", "documents": ["{document}"]}),
    "rebuild all": ("jobs", {"action": "rebuild"}),
    "pause": ("jobs", {"action": "pause"}),
    "resume": ("jobs", {"action": "resume"}),
    "forget": ("jobs", {"action": "forget", "jobs": ["{job}"]}),
    "name": ("name_library", {"alias": "An alias of {library}"}),
    "create": ("name_library", {"library": "made by {caller} beside {library}"}),
    "add": ("add_documents", {"paths": ["/etc/hostname"]}),
    "build": ("build_index", {"file_path": "/etc/hostname"}),
    "remove": ("remove_documents", {"documents": ["{document}"]}),
}
"""Every tool that changes something. The last removes what the others are about."""
WRITING = {"upload", "rebuild", "pause", "resume", "forget", "remove"}
WRITERS = {
    "reader": Writer("read", ("mine",), frozenset(), frozenset()),
    "reader of all": Writer("read", (), frozenset(), frozenset()),
    "writer": Writer("write", ("mine",), frozenset({"upload_document", "remove_documents"}), frozenset(WRITING)),
    "mixed": Writer("read", ("mine=write", "theirs"), frozenset({"upload_document", "remove_documents"}),
                    frozenset(WRITING)),
    "writer of all": Writer("write", (), frozenset({"upload_document", "remove_documents", "name_library"}),
                            frozenset(WRITING | {"create"})),
    "admin": Writer("admin", ("mine",), frozenset({"upload_document", "remove_documents", "name_library"}),
                    frozenset(WRITING | {"rebuild all", "name"})),
}  # fmt: skip
ALL_CHANGING = {"upload_document", "remove_documents", "name_library", "add_documents", "build_index"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


@pytest.mark.parametrize("name", WRITERS)
async def test_what_each_role_may_change(name: str, shop: Serving) -> None:
    """Each tool, in a library of one's own and in another's: nothing is ever changed beyond the role."""
    writer = WRITERS[name]
    names = {kind: f"{kind} of {name}" for kind in ("mine", "theirs")}
    with shop.client() as owner:
        for library in names.values():
            owner.post("/libraries", json={"name": library})
            upload(owner, library, document=MINE)
        granted = [names[grant.partition("=")[0]] + grant[len(grant.partition("=")[0]) :] for grant in writer.libraries]
        secret = owner.post("/tokens", json={"name": name, "role": writer.role, "libraries": granted}).json()["secret"]
        untouched = _state(owner, names["theirs"])
        transport = StreamableHttpTransport(f"{shop.url}/mcp", headers={"Authorization": f"Bearer {secret}"})
        async with Client(transport) as agent:
            listed = {tool.name for tool in await agent.list_tools()} & ALL_CHANGING
            assert listed == writer.listed
            for kind in ("theirs", "mine"):
                for change in CHANGES:
                    before = _state(owner, names[kind])
                    allowed = change in writer.allowed and (kind == "mine" or name == "writer of all")
                    assert await _change(agent, owner, name, change, names[kind]) == allowed, (change, kind)
                    if not allowed:
                        assert _state(owner, names[kind]) == before, (change, kind)
                if kind == "theirs" and name != "writer of all":
                    assert _state(owner, names[kind]) == untouched
        audited = [entry for entry in owner.get("/audit", params={"limit": 1000}).json() if entry["caller"] == name]
        done = {entry["action"] for entry in audited if entry["outcome"] == 200}
        assert done == {CHANGES[change][0] for change in writer.allowed}
        assert {entry["outcome"] for entry in audited} == ({200, 400} if writer.allowed else {400})


def _state(owner: httpx.Client, library: str) -> Any:
    """Return what a change of a library shows: its documents without times, its names, pauses and jobs."""
    documents = owner.get(f"/libraries/{library}/documents").json()["documents"]
    jobs = owner.get("/jobs", params={"library": library}).json()
    size = owner.get(f"/libraries/{library}").json()
    return (
        sorted((item["doc_id"], item["path"]) for item in documents), size["name"], size["alias"],
        sorted(job["id"] for job in jobs["jobs"]), jobs["paused"], len(owner.get("/libraries").json()),
    )  # fmt: skip


async def _change(agent: Client[Any], owner: httpx.Client, caller: str, change: str, library: str) -> bool:
    """Try a change. Return whether it happened; a refusal names neither a command line nor a traceback."""
    tool, arguments = CHANGES[change]
    found = owner.get(f"/libraries/{library}/documents").json()["documents"]
    ended = owner.get("/jobs", params={"library": library, "status": "done"}).json()["jobs"]
    words = {
        "document": next(item["doc_id"] for item in found if item["name"] == "document.md"),
        "job": ended[0]["id"] if ended else 0, "library": library, "caller": caller,
    }  # fmt: skip
    given = {"library": library} | {
        key: [words[item[1:-1]] if item.startswith("{") else item for item in value]
        if isinstance(value, list)
        else value.format(**words)
        for key, value in arguments.items()
    }
    if tool == "build_index":
        del given["library"]
    try:
        await agent.call_tool(tool, given)
    except ToolError as error:
        assert "hybrid-pageindex" not in str(error) and "Traceback" not in str(error)
        return False
    if change in ("upload", "rebuild", "rebuild all"):
        jobs = owner.get("/jobs", params={"library": library, "status": ["waiting", "running"]}).json()["jobs"]
        wait_for_jobs(owner, [job["id"] for job in jobs])
    return True


@pytest.mark.parametrize(
    ("given", "why"),
    [({"name": "a.md"}, "exactly one of the fields text and data"),
     ({"name": "a.md", "text": "a", "data": "YQ=="}, "exactly one of the fields text and data"),
     ({"name": "a.md", "data": "%%%"}, "base64"), ({"name": "a.md", "data": "é"}, "base64"),
     ({"name": "../", "text": "a"}, "not a file name"), ({"name": "x" * 3000, "text": "a"}, "at most"),
     ({"name": "a.md", "text": "a" * 3000}, "at most 2,000 bytes"),
     ({"name": "a.md", "text": "a", "library": "no"}, "no")],
)  # fmt: skip
async def test_what_cannot_be_uploaded_is_refused(writing: Client[Any], given: dict[str, str], why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await writing.call_tool("upload_document", given)


async def test_an_uploaded_document_is_found(writing: Client[Any]) -> None:
    for name, content in (
        ("one.md", {"text": "# One\n\nThe weir is old.\n"}),
        ("two.txt", {"data": "VGhlIGZlcnJ5Lg=="}),
    ):
        answered = (await writing.call_tool("upload_document", {"name": name} | content)).structured_content
        assert answered["document"] == f"upload:/{name}" and answered["next"]
        for _ in range(600):
            [job] = (await writing.call_tool("jobs", {"action": "show", "jobs": [answered["job"]]})).structured_content[
                "jobs"
            ]
            if job["state"] == "done":
                break
            await asyncio.sleep(0.2)
        assert name in shown(await writing.call_tool("list_documents", {}))


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a server that takes small files alone, and a token that may write into its library."""
    with (
        serving(tmp_path_factory.mktemp("narrow"), PAGEINDEX_MAX_UPLOAD_SIZE="2000") as served,
        served.client() as owner,
    ):
        owner.post("/libraries", json={"name": "mine"})
        made = owner.post("/tokens", json={"name": "w", "role": "write", "libraries": ["mine"]}).json()
        yield f"{served.url}/mcp", made["secret"]


@pytest.fixture
async def writing(narrow: tuple[str, str]) -> AsyncIterator[Client[Any]]:
    async with Client(StreamableHttpTransport(narrow[0], headers={"Authorization": f"Bearer {narrow[1]}"})) as client:
        yield client


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
    async with httpx.AsyncClient(timeout=600) as http:
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
