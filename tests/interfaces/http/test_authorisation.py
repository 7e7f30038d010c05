"""Who may call what: every route of the API, with every kind of token, on its own library and on another one.

The routes and their bodies come from the OpenAPI description. ``NEEDS`` names the right that each route asks for, so a
new route fails here until somebody has decided who may call it.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from hybrid_core.types.access import ROLES, Role
from hybrid_pageindex.http.api import build_api
from hybrid_pageindex.http.identity import OPEN
from tests.interfaces.http.conftest import START, Serving, serving, upload
from tests.interfaces.http.test_rights import filled

pytestmark = pytest.mark.slow
LIBRARIES = ("mine", "theirs")
HOME, BROWSER = "*", "the start token in a cookie"
_SLOW = {"checks", "findLocalModels"}  # they look at all parts of the engine, so one allowed caller is enough
TEXT = "# The mill of {library}\n\nThe mill of {library} was sold to the town in 1987.\n"


@dataclass(frozen=True)
class Need:
    """The right that a route needs.

    ``kind``: nothing ("open"), any valid token ("token"), a role in the library of the request ("library"), for the
    whole home ("home"), in both ("both"), or to be the owner of a conversation or an administrator ("owner").
    ``missing`` says that the route may answer 404 although the library is visible, since the test lacks what it needs.
    """

    kind: Literal["open", "token", "library", "home", "both", "owner"]
    role: Role = "read"
    missing: bool = False


OPEN_TO_ALL, ANY_TOKEN = Need("open"), Need("token")
READ, WRITE, ADMIN = (Need("library", role) for role in ROLES)
READ_HOME, WRITE_HOME, ADMIN_HOME = (Need("home", role) for role in ROLES)
BOTH, OWNER = Need("both", "admin"), Need("owner")
NEEDS: dict[str, Need] = {
    **dict.fromkeys(("health", "ready", "signIn"), OPEN_TO_ALL),
    **dict.fromkeys(
        ("session", "signOut", "listLibraries", "listBin", "listJobs", "followJobs", "listConversations", "listPacks",
         "previewPacks", "listModels", "listVectorStores", "listFiles"), ANY_TOKEN,
    ),
    "updateLibrary": Need("library", "write", missing=True),  # its documents were uploaded, so it has no source
    "createEmbeddings": Need("token", missing=True),  # no embedder is configured
    **dict.fromkeys(("metrics", "disk", "showSample"), READ_HOME),
    **dict.fromkeys(("createLibrary", "makeSample", "createVectorStore"), WRITE_HOME),
    **dict.fromkeys(
        ("checks", "clear", "audit", "usage", "emptyBin", "importLibrary", "showSettings", "changeSettings",
         "testModel", "findLocalModels", "listTokens", "createToken", "revokeToken"), ADMIN_HOME,
    ),
    **dict.fromkeys(
        ("showLibrary", "briefLibrary", "listRows", "listDocuments", "showDocument", "listVersions", "original",
         "briefDocument", "listTerms", "listFacts", "outline", "readPages", "findWords", "readPage", "layout", "boxes",
         "picture", "thumbnail", "contactSheet", "listNotes", "listFeedback", "exportFeedback", "listSources",
         "showJob", "followJob", "search", "grep", "compare", "ask", "beginConversation", "showModel", "completeChat",
         "createResponse", "showVectorStore", "searchVectorStore", "listStoreFiles", "showStoreFile", "readStoreFile",
         "showFile", "readFileContent", "findDuplicates"), READ,
    ),
    **dict.fromkeys(
        ("uploadDocuments", "fetchPage", "correctDocument", "removeDocument", "rebuildDocument", "unlockDocument",
         "addNote", "changeNote", "removeNote", "giveFeedback", "removeFeedback", "decideAboutJob", "decideAboutJobs",
         "restoreEntry", "deleteEntry", "attachFile", "deleteStoreFile", "createFile", "deleteFile"), WRITE,
    ),
    **dict.fromkeys(
        ("nameLibrary", "deleteLibrary", "estimateImproving", "dropVectors", "rebuildLibrary", "exportLibrary",
         "deleteVectorStore"), ADMIN,
    ),
    **dict.fromkeys(("embedLibrary", "watchFolder", "unwatchFolder", "indexPaths"), BOTH),
    **dict.fromkeys(
        ("readConversation", "changeConversation", "deleteConversation", "exportConversation", "askInConversation",
         "readMessage", "followMessage", "cancelMessage", "answerAgain", "editQuestion", "findCitation", "findMessage",
         "showResponse", "listInputItems"), OWNER,
    ),
}  # fmt: skip
"""By operation id."""


@dataclass
class Caller:
    """``roles`` by library, and for the home under HOME. ``valid`` is False for those who are refused at the door."""

    name: str
    client: httpx.Client
    roles: dict[str, Role] = field(default_factory=dict)
    valid: bool = True

    def has(self, role: Role, library: str) -> bool:
        return any(ROLES.index(self.roles[at]) >= ROLES.index(role) for at in (HOME, library) if at in self.roles)


def expectation(need: Need, caller: Caller, library: str) -> Literal["allowed", "not signed in", "forbidden", "hidden"]:
    """Return what a caller is answered. ``library`` is the one of the request, and owns what its path names."""
    if need.kind == "open":
        return "allowed"
    if not caller.valid:
        return "not signed in"
    if need.kind == "owner":
        return "allowed" if library == "mine" or caller.has("admin", HOME) else "hidden"
    if need.kind in ("library", "both") and not caller.has("read", library):
        return "hidden"
    if need.kind in ("library", "both") and not caller.has(need.role, library):
        return "forbidden"
    if need.kind in ("home", "both") and not caller.has(need.role, HOME):
        return "forbidden"
    return "allowed"


class World:
    """Two libraries with one of everything in each. What a request deletes is made again before the next one."""

    def __init__(self, served: Serving, owner: httpx.Client, root: Path) -> None:
        self.served, self.owner, self.root = served, owner, root
        for library in LIBRARIES:
            owner.post("/libraries", json={"name": library})
            upload(owner, library, **{f"of-{library}": TEXT.format(library=library)})
        self.ids = {each: owner.get(f"/libraries/{each}").json()["id"] for each in LIBRARIES}
        self._values: dict[tuple[str, ...], Any] = {}

    def document(self, library: str) -> str:
        if not (listed := self._documents(library)):
            upload(self.owner, library, **{f"of-{library}": TEXT.format(library=library)})
            listed = self._documents(library)
        return str(listed[0])

    def job(self, library: str) -> int:
        """A job of the library. It is looked up or made once, until something was deleted."""
        return int(self._once(("a job", library), lambda: self._job(library)))

    def _job(self, library: str) -> Any:
        while not (listed := self.owner.get("/jobs", params={"library": library}).json()["jobs"]):
            upload(self.owner, library, **{f"another-{time.monotonic_ns()}": f"# Another\n\n{time.monotonic_ns()}\n"})
        return listed[0]["id"]

    def _documents(self, library: str) -> list[str]:
        if self.owner.get(f"/libraries/{library}").status_code == 404:  # it is in the bin, or its name was changed
            self._restore("library", library)
        listed = self.owner.get(f"/libraries/{library}/documents", params={"find": f"of-{library}.md"}).json()
        return [document["doc_id"] for document in listed["documents"] if document["content_id"]]

    def _restore(self, kind: str, library: str) -> None:
        for entry in self.owner.get("/bin").json():
            if entry["kind"] == kind and entry["library_id"] == self.ids[library]:
                assert self.owner.post(f"/bin/{entry['id']}/restore").status_code == 200

    def entry(self, library: str) -> str:
        """A document of the library in the bin."""
        for entry in self.owner.get("/bin").json():
            if entry["kind"] == "documents" and entry["library_id"] == self.ids[library]:
                return str(entry["id"])
        document = self.document(library)
        return str(self.owner.delete(f"/libraries/{library}/documents/{document}").json()["bin"])

    def values(self, names: set[str], library: str, caller: Caller) -> dict[str, Any]:
        """Return a value for each parameter of a path. A conversation is the caller's own if the library is "mine"."""
        makers = {
            "library": lambda: library, "vector_store": lambda: library, "model": lambda: library,
            "document": lambda: self.document(library), "file": lambda: self.document(library),
            "entry": lambda: self.entry(library), "job": lambda: self.job(library),
            "note": lambda: self.owner.post(f"/libraries/{library}/notes", json={"text": "A note"}).json()["id"],
            "one": lambda: self._feedback(library), "action": lambda: "cancel", "kind": lambda: "llm",
            "number": lambda: 1, "name": self._token,
        }  # fmt: skip
        for each in LIBRARIES:
            self._once(("library", each), lambda each=each: self.document(each) and each)
        values = {name: self._once((name, library), make) for name, make in makers.items() if name in names}
        if names & {"conversation", "message", "response"}:
            own = caller if library == "mine" and caller.valid else None
            client = own.client if own else self.owner
            values |= self._once((own.name if own else "", library), lambda: self._talk(client, library))
        return values

    def _once(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        if key not in self._values:
            self._values[key] = make()
        return self._values[key]

    def sign_in(self, browser: httpx.Client) -> None:
        assert browser.post("/session", json={"token": START}).status_code == 201

    def changed(self) -> None:
        """Make what requests name anew, since one of them may have deleted it."""
        self._values.clear()

    def _feedback(self, library: str) -> Any:
        given = {"question": "Which mill?", "right": True, "document": "", "page": 0}
        return self.owner.post(f"/libraries/{library}/feedback", json=given).json()["id"]

    def _token(self) -> str:
        self.owner.post("/tokens", json={"name": "expendable"})
        return "expendable"

    def _talk(self, client: httpx.Client, library: str) -> dict[str, Any]:
        self.document(library)  # a question about an empty library is refused
        asked = client.post(
            f"{self.served.url}/v1/responses", json={"model": library, "input": "When was the mill sold?"}
        ).json()
        conversation = client.post("/conversations", json={"libraries": [library]}).json()["id"]
        said = client.post(f"/conversations/{conversation}/messages", json={"question": "When was the mill sold?"})
        assert said.status_code < 300, said.text
        messages = client.get(f"/conversations/{conversation}").json()["messages"]
        return {"response": asked["id"], "conversation": conversation, "message": messages[-1]["id"]}

    def body(self, operation: str, library: str) -> dict[str, Any]:
        """Return the body of a request where it needs one that fits what is there, or one that does no harm."""
        document = lambda: self._once(("document", library), lambda: self.document(library))  # noqa: E731
        bodies = {
            "clear": lambda: {"confirm": "nothing"}, "estimateImproving": lambda: {"documents": [document()]},
            "changeSettings": lambda: {"no_such_setting": 1},
            "signIn": lambda: {"token": START}, "embedLibrary": lambda: {"model": "no such model"},
            "createLibrary": lambda: {"name": "new"}, "createVectorStore": lambda: {"name": "new"},
            "nameLibrary": lambda: {"alias": f"The {library}"},
            "watchFolder": lambda: {"folder": str(self.root)}, "indexPaths": lambda: {"paths": [str(self.root)]},
            "decideAboutJobs": lambda: {"jobs": [self.job(library)]},
            "search": lambda: {"question": "mill", "libraries": [library]},
            "grep": lambda: {"pattern": "mill", "libraries": [library]},
            "ask": lambda: {"question": "When was the mill sold?", "libraries": [library]},
            "beginConversation": lambda: {"libraries": [library]},
            "askInConversation": lambda: {"question": "And who sold it?"},
            "changeConversation": lambda: {"title": "The mill"},
            "editQuestion": lambda: {"question": "Who sold it?"}, "answerAgain": dict,
            "compare": lambda: {
                side: {"document": document(), "library": library} for side in ("left", "right")
            },
            "completeChat": lambda: {"model": library, "messages": [{"role": "user", "content": "mill"}]},
            "createResponse": lambda: {"model": library, "input": "mill"},
            "searchVectorStore": lambda: {"query": "mill"}, "attachFile": lambda: {"file_id": document()},
            "correctDocument": lambda: {"set": {"title": "The mill"}},
            "addNote": lambda: {"text": "A note"}, "changeNote": lambda: {"text": "A note"},
            "giveFeedback": lambda: {"question": "Which?", "right": True, "document": document(), "page": 1},
            "createToken": lambda: {"name": "expendable"}, "findLocalModels": lambda: {"ports": [1]},
            "createEmbeddings": lambda: {"model": "none", "input": "mill"},
        }  # fmt: skip
        return bodies[operation]() if operation in bodies else {}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("root")
    (root / "file.md").write_text("# A file\n\nIt stands below the root.\n")
    with ExitStack() as stack:
        home = tmp_path_factory.mktemp("authorisation")
        served = stack.enter_context(serving(home, "--root", str(root), PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="0"))
        yield World(served, stack.enter_context(served.client()), root)


@pytest.fixture(scope="module")
def callers(world: World) -> Iterator[list[Caller]]:
    """Every kind of caller: no token, wrong, expired and revoked ones, roles in a library and everywhere, a browser."""
    served, owner = world.served, world.owner

    def secret(name: str, **fields: Any) -> str:
        return str(owner.post("/tokens", json={"name": name, **fields}).json()["secret"])

    with ExitStack() as stack:
        open_client = lambda client: stack.enter_context(client)  # noqa: E731
        own = {"Origin": served.url}
        browser = open_client(served.bare(**own))
        world.sign_in(browser)
        no_origin = open_client(
            served.bare(Cookie="; ".join(f"{key}={value}" for key, value in browser.cookies.items()))
        )
        revoked, expired = secret("revoked"), secret("expired", days=1e-7)
        owner.delete("/tokens/revoked")
        time.sleep(0.1)
        callers = [
            Caller("nobody", open_client(served.bare()), valid=False),
            Caller("a wrong token", open_client(served.client("hpi_wrong")), valid=False),
            Caller("a revoked token", open_client(served.client(revoked)), valid=False),
            Caller("an expired token", open_client(served.client(expired)), valid=False),
            Caller(BROWSER, browser, {HOME: "admin"}),
            Caller("the start token", open_client(served.client()), {HOME: "admin"}),
        ]
        for role in ROLES:
            for at, libraries in (("mine", ["mine"]), (HOME, [])):
                fields = {"role": role, **({"libraries": libraries} if libraries else {})}
                client = open_client(served.client(secret(f"{role} {at.replace(HOME, 'everywhere')}", **fields)))
                callers.append(Caller(f"{role} in {at}", client, {at: role}))
        assert no_origin.post("/libraries", json={"name": "x"}).status_code == 403, "a cookie alone changes nothing"
        yield callers


@functools.cache
def described() -> dict[str, Any]:
    return build_api().openapi()


def routes() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, operations in described()["paths"].items()
        for method, operation in operations.items()
    ]


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    assert sorted(operation["operationId"] for _, _, operation in routes()) == sorted(NEEDS)
    without_token = {operation["operationId"] for method, path, operation in routes() if (method, path) in OPEN}
    assert without_token == {name for name, need in NEEDS.items() if need.kind == "open"}


def required_query(world: World, operation: dict[str, Any]) -> dict[str, str]:
    known = {"q": "mill", "question": "mill", "quote": "mill", "pages": "1", "folder": str(world.root)}
    required = [
        each["name"] for each in operation.get("parameters", ()) if each["in"] == "query" and each.get("required")
    ]
    return {name: known[name] for name in required}


def send(world: World, caller: Caller, route: tuple[str, str, dict[str, Any]], library: str) -> tuple[int, str]:
    """Return the status of a request of a caller, and its text if it was refused."""
    method, path, operation = route
    name = operation["operationId"]
    values = world.values(set(re.findall(r"\{(\w+)\}", path)), library, caller)
    url = world.served.url + re.sub(r"\{(\w+)\}", lambda part: str(values[part[1]]), path)
    query = required_query(world, operation)
    content, sent = operation.get("requestBody", {}).get("content", {}), dict[str, Any]()
    if "application/json" in content:
        schemas = described()["components"]["schemas"]
        body = world.body(name, library) or filled(content["application/json"]["schema"], schemas, {"library": library})
        sent = {"json": {} if name == "answerAgain" else body}
    elif name == "createFile":
        query["library"] = library
        sent = {
            "files": {"file": ("sent.md", b"# Sent\n\nOver OpenAI's protocol.\n")},
            "data": {"purpose": "assistants"},
        }
    elif content:
        query["name"] = "sent.md"
        sent = {"content": b"# Sent\n\nA file.\n", "headers": {"Content-Type": "application/octet-stream"}}
    with caller.client.stream(method, url, params=query, timeout=600, **sent) as answer:
        text = answer.read().decode(errors="replace") if answer.status_code >= 400 else ""
        if method != "GET" and answer.status_code < 400:
            world.changed()
        if caller.name != BROWSER:
            caller.client.cookies.clear()
        elif name == "signOut":
            world.sign_in(caller.client)
        return answer.status_code, text


@pytest.mark.parametrize("route", routes(), ids=lambda route: route[2]["operationId"])
def test_each_caller_is_answered_what_its_rights_say(
    route: tuple[str, str, dict[str, Any]], world: World, callers: list[Caller]
) -> None:
    operation_id = route[2]["operationId"]
    need, wrong = NEEDS[operation_id], list[str]()
    fitting = {"allowed": range(200, 500), "not signed in": [401], "forbidden": [403], "hidden": [404]}
    for library in LIBRARIES:
        for caller in sorted(callers, key=lambda caller: caller.valid):
            expected = expectation(need, caller, library)
            if operation_id == "signIn" and "authorization" in caller.client.headers and not caller.valid:
                expected = "not signed in"
            if expected == "allowed" and operation_id in _SLOW and caller.name != "the start token":
                continue
            status, text = send(world, caller, route, library)
            fits = status in fitting[expected]
            if expected == "allowed":
                fits = fits and status not in ((401, 403) if need.missing else (401, 403, 404))
            if not fits:
                wrong.append(f"{caller.name}, {library}: expected {expected}, was {status} {text[-300:]}")
    assert not wrong, "\n".join(wrong)


def test_what_is_in_another_library_is_not_reached_through_ones_own(world: World, callers: list[Caller]) -> None:
    """Not even by who may read both: an address with the wrong library leads nowhere."""
    wrong = []
    for method, path, operation in routes():
        names = set(re.findall(r"\{(\w+)\}", path))
        objects = names & {"document", "note", "one", "file"}
        if not objects or not names & {"library", "vector_store"}:
            continue
        for caller in (caller for caller in callers if caller.valid and caller.has("admin", "mine")):
            values = world.values(names, "theirs", caller) | {"library": "mine", "vector_store": "mine"}
            url = world.served.url + re.sub(r"\{(\w+)\}", lambda part, values=values: str(values[part[1]]), path)
            query = required_query(world, operation)
            body = world.body(operation["operationId"], "theirs") or {"password": "x"}
            sent = {"json": body} if "requestBody" in operation else {}
            status = caller.client.request(method, url, params=query, timeout=600, **sent).status_code
            if status != 404:
                wrong.append(f"{operation['operationId']} by {caller.name}: {status}")
    assert not wrong, "\n".join(wrong)
