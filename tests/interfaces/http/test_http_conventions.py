"""What HTTP and its RFCs demand of every route alike."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import TypeAdapter
from starlette.datastructures import Headers

from hybrid_core.types.libraries import Library
from hybrid_pageindex.client import Client
from hybrid_pageindex.http import errors
from hybrid_pageindex.http.api import EXAMPLES, ROUTES, build_api
from hybrid_pageindex.http.problems import PROBLEMS
from hybrid_pageindex.http.replies import FileVersion, requested_spans, tags_of
from tests.interfaces.http.conftest import START, Serving, serving, upload

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n"
JSON = {"Content-Type": "application/json"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE")
DESCRIBED: dict[str, Any] = build_api().openapi()


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server with a library of one document, and one of everything that a path can name."""
    with serving(tmp_path_factory.mktemp("mills"), PAGEINDEX_HTTP_REQUESTS_PER_MINUTE="0") as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "mills"})
            upload(client, "mills", mill=MILL)
        yield made


@pytest.fixture(scope="module")
def names(mills: Serving) -> dict[str, str]:
    """What the parameters of paths are, so that each is there."""
    with mills.client() as client:
        [document] = client.get("/libraries/mills/documents").json()["documents"]
        note = client.post("/libraries/mills/notes", json={"text": "A note."}).json()["id"]
        conversation = client.post("/conversations", json={"libraries": ["mills"]}).json()["id"]
        asked = client.post(f"/conversations/{conversation}/messages", json={"question": "mill sold"}).json()
        job = client.get("/jobs").json()["jobs"][0]["id"]
        response = client.post(f"{mills.url}/v1/responses", json={"model": "mills", "input": "mill sold"}).json()["id"]
    return {
        "library": "mills", "document": document["doc_id"], "number": "1", "note": note, "one": note,
        "conversation": conversation, "message": str(asked["id"]), "job": str(job), "action": "pause", "kind": "llm",
        "name": "nobody", "model": "mills", "vector_store": "mills", "file": document["doc_id"], "entry": "none",
        "response": response,
    }  # fmt: skip


def filled(path: str, names: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda part: quote(names[part[1]], safe=""), path)


def test_head_answers_what_get_answers_without_a_body(mills: Serving, names: dict[str, str]) -> None:
    """Also where GET streams for ever, and for files."""
    required = {"q": "mill", "quote": "mill was sold", "question": "mill", "pages": "1"}
    tried = 0
    with mills.client() as client:
        for path, operations in DESCRIBED["paths"].items():
            if "get" not in operations:
                continue
            needed = {one["name"] for one in operations["get"].get("parameters", ()) if one.get("required")}
            query = {name: required[name] for name in needed & set(required)}
            url = f"{mills.url}{filled(path, names)}"
            head = client.head(url, params=query, timeout=100)
            with client.stream("GET", url, params=query) as got:
                assert head.status_code == got.status_code, path
                same = ("content-type", "content-disposition", *(() if path.endswith("/export") else ("etag",)))
                for name in same:  # an export is made anew each time
                    assert head.headers.get(name) == got.headers.get(name), (path, name)
            assert head.content == b"", path
            tried += 1
        with client.stream("GET", "/libraries/mills") as got:
            length = got.headers["content-length"]
        assert client.head("/libraries/mills").headers["content-length"] == length
        for path in ("/", "/web/app.js", "/docs", "/api/v1/openapi.json"):
            assert client.head(f"{mills.url}{path}").status_code == 200
        for headers in ({}, {"Accept": "text/event-stream"}):  # without a session, and where none is there
            head = client.head(f"{mills.url}/mcp", headers=headers)
            got = client.get(f"{mills.url}/mcp", headers=headers)
            assert head.status_code == got.status_code >= 400 and head.content == b""
            assert head.headers["content-length"] == got.headers["content-length"]
        assert client.head("/libraries/nothing").status_code == 404 and client.head("/nowhere").status_code == 404
        curl = subprocess.run(
            ["curl", "-sI", "-H", f"Authorization: Bearer {START}", f"{mills.api}/health"],
            capture_output=True,
            text=True,
        )
        assert curl.stdout.startswith("HTTP/1.1 200")
    assert tried > 35
    with mills.bare() as stranger:
        assert stranger.head("/libraries").status_code == 401 and stranger.head("/health").status_code == 200


def test_a_method_that_is_not_answered_has_the_ones_that_are(mills: Serving, names: dict[str, str]) -> None:
    refused = 0
    with mills.client() as client:
        for path, operations in DESCRIBED["paths"].items():
            url = f"{mills.url}{filled(path, names)}"
            options = client.options(url)
            allowed = set(options.headers["allow"].split(", "))
            assert options.status_code == 204 and set(map(str.upper, operations)) <= allowed, path
            assert ("HEAD" in allowed) == ("get" in operations), path
            for method in set(METHODS) - allowed:
                answered = client.request(method, url, json={} if method in ("POST", "PUT", "PATCH") else None)
                assert answered.status_code == 405, (method, path)
                assert set(answered.headers["allow"].split(", ")) == allowed, (method, path)
                refused += 1
        assert client.put(f"{mills.url}/", content=b"x").headers["allow"] == "GET, HEAD, OPTIONS"
        for path, allowed in (
            ("/mcp", "DELETE, GET, HEAD, OPTIONS, POST"), ("/docs", "GET, HEAD, OPTIONS"),
            ("/web/app.js", "GET, HEAD, OPTIONS"), ("/api/v1/openapi.json", "GET, HEAD, OPTIONS"),
        ):  # fmt: skip
            assert client.options(f"{mills.url}{path}").headers["allow"] == allowed, path
            for method in {"TRACE", "PUT", "PATCH"}:
                answered = client.request(method, f"{mills.url}{path}")
                assert (answered.status_code, answered.headers["allow"]) == (405, allowed), (method, path)
    assert refused > 200


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/jobs/pause", {"POST"}), ("/jobs/7", {"GET", "HEAD"}), ("/jobs/events", {"GET", "HEAD"}),
     ("/jobs/7/events", {"GET", "HEAD"}), ("/jobs/7/cancel", {"POST"})],
)  # fmt: skip
def test_paths_of_one_form_have_methods_of_their_own(path: str, allowed: set[str]) -> None:
    assert set(ROUTES.allowed(f"/api/v1{path}")) == {*allowed, "OPTIONS"}


def test_every_operation_refuses_a_parameter_that_it_does_not_have(mills: Serving, names: dict[str, str]) -> None:
    with mills.client() as client:
        for path, operations in DESCRIBED["paths"].items():
            if not path.startswith("/api/v1/"):
                continue
            for method in operations:
                url = f"{mills.url}{filled(path, names)}?colour=red"
                content = b"{}" if method in ("post", "put", "patch") else None
                kind = "application/octet-stream" if path.endswith(("/documents", "/imports")) else "application/json"
                answered = client.request(method.upper(), url, content=content, headers={"Content-Type": kind})
                assert answered.status_code == 422, (method, path, answered.text)
                assert answered.json()["errors"][0]["name"] == "colour", (method, path)


@pytest.mark.parametrize(
    ("path", "wrong", "near"),
    [("/libraries?limit=2", "limit", ""), ("/libraries/mills/documents?max=1&stat=failed", "stat", "state"),
     ("/jobs?libary=mills", "libary", "library"), ("/libraries/mills/documents?wher=year:2025", "wher", "where")],
)  # fmt: skip
def test_a_parameter_that_is_nearly_right_is_told_the_right_one(
    mills: Serving, path: str, wrong: str, near: str
) -> None:
    with mills.client() as client:
        answered = client.get(path)
    problem = answered.json()
    assert answered.status_code == 422 and problem["code"] == "invalid_request"
    [fault] = [one for one in problem["errors"] if one["name"] == wrong]
    assert fault["place"] == "query" and (f"Did you mean {near}" in fault["detail"] or not near)


@pytest.mark.parametrize(
    ("method", "path", "body", "wrong", "near"),
    [("POST", "/search", {"question": "mill", "topk": 3}, "topk", "top_k"),
     ("POST", "/libraries", {"name": "x", "aliass": "y"}, "aliass", "alias"),
     ("POST", "/compare", {"left": {"document": "a", "nod": "1"}, "right": {"document": "c"}}, "left.nod", "node"),
     ("PATCH", "/libraries/mills/documents/mill.md", {"sett": {}}, "sett", "set"),
     ("POST", "/conversations", {"all": True}, "all", "all_libraries")],
)  # fmt: skip
def test_a_field_that_is_nearly_right_is_told_the_right_one(
    mills: Serving, method: str, path: str, body: dict[str, Any], wrong: str, near: str
) -> None:
    with mills.client() as client:
        answered = client.request(method, path, json=body)
    assert answered.status_code == 422
    [fault] = answered.json()["errors"]
    assert fault["name"] == wrong and fault["place"] == "body" and near in fault["detail"]


def test_a_body_is_refused_where_none_is_read(mills: Serving) -> None:
    with mills.client() as client:
        assert client.post("/libraries/mills/update", json={"path": "/tmp"}).status_code == 422
        assert client.post("/libraries/mills/update", json={}).status_code != 422


def test_errors_are_problem_documents(mills: Serving) -> None:
    """And what clients of earlier versions read stands beside."""
    with mills.client() as client, mills.bare() as stranger:
        answers = [
            client.get("/libraries/nothing"), client.get("/nowhere"), client.put("/libraries", json={}),
            client.post("/search", json={}), client.post("/search", content=b"{", headers=JSON),
            client.post("/libraries", json={"name": "mills"}), client.post("/libraries", json={"name": ".."}),
            client.post("/libraries", content=b"x", headers={"Content-Type": "text/plain"}), stranger.get("/libraries"),
            client.get("/libraries", headers={"Origin": "https://evil.example"}),
        ]  # fmt: skip
    for answered in answers:
        assert answered.headers["content-type"] == "application/problem+json", answered.url
        problem = answered.json()
        assert problem["status"] == answered.status_code and problem["type"].endswith(f"#{problem['code']}")
        assert problem["title"] and problem["detail"] and "advice" in problem
        assert problem["error"] == {"code": problem["code"], "message": problem["detail"], "advice": problem["advice"]}
    statuses = [one.status_code for one in answers]
    assert statuses == [404, 404, 405, 422, 422, 409, 400, 415, 401, 403]


def test_what_does_not_fit_what_is_there_is_a_conflict(mills: Serving) -> None:
    with mills.client() as client:
        client.post("/libraries", json={"name": "other", "alias": "The other"})
        client.post("/tokens", json={"name": "bot"})
        job = client.get("/jobs", params={"library": "mills"}).json()["jobs"][0]["id"]
        for answered in (
            client.post("/libraries", json={"name": "OTHER"}),
            client.post("/libraries", json={"name": "third", "alias": "The other"}),
            client.patch("/libraries/mills", json={"name": "other"}),
            client.patch("/libraries/mills", json={"alias": "other"}),
            client.post("/tokens", json={"name": "bot"}),
            client.post(f"/jobs/{job}/pause"),
            client.post("/libraries/other/update"),
        ):
            assert (answered.status_code, answered.json()["code"]) == (409, "conflict"), answered.text


async def test_our_client_raises_a_conflict(mills: Serving) -> None:
    from hybrid_core.errors import ConflictError, NotFoundError, UsageError

    async with Client(mills.url, START) as client:
        with pytest.raises(ConflictError, match="already"):
            await client.libraries.create("mills")
        with pytest.raises(NotFoundError, match="nothing"):
            await client.documents.get("mill.md", library="nothing")
        with pytest.raises(UsageError, match="Did you mean state"):
            await client.documents.browse(library="mills", stat="failed")


VERSION = FileVersion("ab" * 32, 100, 1_000_000_000.5)


@pytest.mark.parametrize(
    ("asked", "spans"),
    [("bytes=0-9", [(0, 10)]), ("bytes=90-", [(90, 100)]), ("bytes=-5", [(95, 100)]), ("bytes=-500", [(0, 100)]),
     ("bytes=50-500", [(50, 100)]), ("Bytes=0-0", [(0, 1)]), ("bytes=0-0, 5-6 ,-1", [(0, 1), (5, 7), (99, 100)]),
     ("bytes=100-", []), ("bytes=-0", []), ("bytes=200-300,0-1", [(0, 2)]),
     ("", None), ("bytes=", None), ("bytes=5-2", None), ("items=0-1", None), ("bytes=a-b", None), ("bytes 0-1", None),
     ("bytes=0-1,x", None), ("bytes=-", None), ("bytes=0-1-2", None), ("bytes=" + "0-1," * 200, None),
     ("bytes=" + "9" * 40 + "-", None), ("bytes=٣-٤", None)],
)  # fmt: skip
def test_ranges_are_read_as_rfc_9110_has_them(asked: str, spans: list[tuple[int, int]] | None) -> None:
    """None is the whole file: such a header is to be ignored. An empty list is 416."""
    assert requested_spans(Headers({"range": asked} if asked.isascii() else {}), VERSION) == spans


@pytest.mark.parametrize(
    ("condition", "part"),
    [(VERSION.etag, True), (VERSION.headers["Last-Modified"], True), (f"W/{VERSION.etag}", False), ('"other"', False),
     ("Thu, 01 Jan 1970 00:00:00 GMT", False), ("not a date", False)],
)  # fmt: skip
def test_a_part_is_of_the_version_that_if_range_names(condition: str, part: bool) -> None:
    assert (requested_spans(Headers({"range": "bytes=0-9", "if-range": condition}), VERSION) == [(0, 10)]) == part


def test_entity_tags_may_hold_commas_and_be_weak() -> None:
    assert list(tags_of('"a,b", W/"c" , "d"')) == ['"a,b"', 'W/"c"', '"d"'] and list(tags_of("*")) == []


def test_originals_are_sent_in_parts_and_on_conditions(mills: Serving, names: dict[str, str]) -> None:
    path, data = f"/libraries/mills/documents/{names['document']}/original", MILL.encode()
    with mills.client() as client:
        whole = client.get(path)
        etag, written = whole.headers["etag"], whole.headers["last-modified"]
        assert whole.content == data and whole.headers["accept-ranges"] == "bytes" and not etag.startswith("W/")
        part = client.get(path, headers={"Range": "bytes=2-9"})
        assert part.status_code == 206 and part.content == data[2:10] and part.headers["etag"] == etag
        assert part.headers["content-range"] == f"bytes 2-9/{len(data)}"
        several = client.get(path, headers={"Range": "bytes=0-1,4-5"})
        assert several.status_code == 206 and several.headers["content-type"].startswith("multipart/byteranges")
        beyond = client.get(path, headers={"Range": f"bytes={len(data)}-"})
        assert beyond.status_code == 416 and beyond.headers["content-range"] == f"bytes */{len(data)}"
        assert beyond.headers["content-type"] == "application/problem+json"
        for ignored in ({"Range": "items=0-1"}, {"Range": "bytes=5-2"}, {"Range": "bytes=0-1", "If-Range": '"old"'}):
            assert client.get(path, headers=ignored).content == data
        for status, conditions in (
            (304, {"If-None-Match": etag}), (304, {"If-None-Match": f'"x", W/{etag}'}), (304, {"If-None-Match": "*"}),
            (304, {"If-Modified-Since": written}), (200, {"If-None-Match": '"x"', "If-Modified-Since": written}),
            (200, {"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}), (200, {"If-Modified-Since": "yesterday"}),
            (412, {"If-Match": '"x"'}), (412, {"If-Match": f"W/{etag}"}), (200, {"If-Match": etag}),
            (200, {"If-Match": "*"}), (412, {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}),
            (200, {"If-Unmodified-Since": written}), (206, {"Range": "bytes=0-1", "If-Range": etag}),
            (206, {"Range": "bytes=0-1", "If-Range": written}),
        ):  # fmt: skip
            assert client.get(path, headers=conditions).status_code == status, conditions
        head = client.head(path, headers={"Range": "bytes=0-1"})
        assert head.status_code == 200 and head.headers["content-length"] == str(len(data))
        exported = client.get("/libraries/mills/export", headers={"Range": "bytes=0-1"})
        assert exported.status_code == 200 and exported.headers["accept-ranges"] == "none"


@pytest.mark.parametrize("conditions", [{"If-Match": '"old"'}, {"If-Match": '"old", W/"x"'}, {"If-None-Match": "*"}])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("DELETE", "/libraries/mills/documents/{document}", None), ("DELETE", "/libraries/mills", None),
     ("PATCH", "/libraries/mills", {"alias": "Old mills"}), ("PATCH", "/conversations/{conversation}", {"title": "x"}),
     ("DELETE", "/conversations/{conversation}", None), ("PATCH", "/settings", {"set": {"top_k": "7"}}),
     ("PATCH", "/libraries/mills/documents/{document}", {"set": {"year": "1999"}})],
)  # fmt: skip
def test_no_write_is_carried_out_whose_condition_does_not_hold(
    mills: Serving, names: dict[str, str], method: str, path: str, body: object, conditions: dict[str, str]
) -> None:
    path = path.format(**names)
    with mills.client() as client:
        before = client.get(path).json()
        refused = client.request(method, path, headers=conditions, json=body)
        assert (refused.status_code, refused.json()["code"]) == (412, "changed"), refused.text
        assert client.get(path).json() == before


def test_a_write_whose_condition_holds_is_carried_out(mills: Serving) -> None:
    with mills.client() as client:
        upload(client, "mills", brief="# Brief\n\nA mill of which nobody knows.\n")
        path = "/libraries/mills/documents/brief.md"
        etag = client.get(path).headers["etag"]
        assert client.delete(path, headers={"If-Match": f'"x", {etag}', "If-None-Match": '"y"'}).status_code == 200
        assert client.delete(path, headers={"If-Match": etag}).status_code == 404


@pytest.mark.parametrize(
    ("name", "accepted"),
    [("ry*", True), ("Q1/Q2 (old)", True), ("磨坊：旧", True), ("x" * 100, True),
     (" x", False), ("x ", False), ("x" * 101, False), ("", False), ("a\nb", False), ("a\x07b", False)],
)  # fmt: skip
def test_a_name_of_a_library_is_accepted_as_it_is_described(mills: Serving, name: str, accepted: bool) -> None:
    schema = DESCRIBED["components"]["schemas"]["NewLibrary"]["properties"]["name"]
    assert bool(re.fullmatch(schema["pattern"], name) and len(name) <= schema["maxLength"]) == accepted
    with mills.client() as client:
        answered = client.post("/libraries", json={"name": name})
        assert answered.status_code == 201 if accepted else answered.status_code in (400, 422), answered.text
        client.delete(f"/libraries/{quote(name, safe='')}") if accepted else None


def test_a_search_does_not_change_the_tag_of_its_library(mills: Serving) -> None:
    with mills.client() as client:
        for path in ("/libraries", "/libraries/mills"):
            tag = client.get(path).headers["etag"]
            client.post("/search", json={"question": "mill", "libraries": ["mills"]})
            assert client.get(path, headers={"If-None-Match": tag}).status_code == 304, path
        client.patch("/libraries/mills", json={"alias": "Mühle"})
        assert client.get("/libraries/mills", headers={"If-None-Match": tag}).status_code == 200


def test_the_description_names_operations_for_good_and_says_how_to_sign_in() -> None:
    ids = [one["operationId"] for path in DESCRIBED["paths"].values() for one in path.values()]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[a-z][A-Za-z]+", one) for one in ids)
    assert {"listDocuments", "search", "createLibrary", "uploadDocuments"} <= set(ids)
    assert DESCRIBED["security"] == [{"token": []}] and DESCRIBED["servers"]
    assert DESCRIBED["paths"]["/api/v1/health"]["get"]["security"] == []
    assert not [name for name in DESCRIBED["components"]["schemas"] if "__" in name]
    for path, operations in DESCRIBED["paths"].items():
        for operation in operations.values():
            for status, answered in operation["responses"].items():
                for kind, content in answered.get("content", {}).items():
                    assert content.get("schema"), (path, kind)
                    problem = kind == "application/problem+json"
                    assert problem == (not status.startswith("2") and path.startswith("/api")) or status == "503", path


def test_examples_of_the_description_are_answered(mills: Serving) -> None:
    ids = {
        one["operationId"]: (method, path) for path, all in DESCRIBED["paths"].items() for method, one in all.items()
    }
    names = {"library": "mills", "document": "mill.md", "action": "resume"}
    with mills.client() as client:
        conversation = client.post("/conversations", json={"libraries": ["mills"]}).json()["id"]
        for operation, example in EXAMPLES.items():
            method, path = ids[operation]
            there = {"conversation": conversation} | ({"library": "reports"} if operation == "nameLibrary" else {})
            url = f"{mills.url}{filled(path, names | there)}"
            answered = client.request(method.upper(), url, json=example)
            assert answered.status_code in (200, 201, 202, 404), (operation, answered.text)
            assert operation != "createLibrary" or TypeAdapter(Library).validate_python(answered.json())


MILLS: dict[str, Any] = {"libraries": ["mills"]}
BODIES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *(
        (operation, {"question": "mill"} | MILLS, {"question": "mill"} | MILLS | wrong)
        for operation in ("search", "ask")
        for wrong in (
            {"top_k": 0}, {"top_k": 1001}, {"mmr": 1.5}, {"mmr": -1}, {"question": " \n"}, {"libraries": [""]},
            {"where": ["year"]}, {"where": ["=2020"]}, {"where": ["year= "]}, {"where": [""]},
        )
    ),
    *(("grep", {"pattern": "mill"} | MILLS, {"pattern": "mill"} | MILLS | wrong) for wrong in (
        {"pattern": " "}, {"libraries": [""]}, {"where": ["year"]}, {"limit": 0},
    )),
    ("askInConversation", {"question": "Sold?"}, {"question": "\t"}),
    ("giveFeedback", {"question": "Sold?"}, {"question": "\f"}),
    *(("correctDocument", {"set": {"year": "1987, 1990", "quarter": "q1", "date": "1987-05-01"}}, wrong) for wrong in (
        {"set": {"year": "87"}}, {"set": {"quarter": "5"}}, {"set": {"title": " "}}, {"set": {"colour": "red"}},
        {"set": {"title": "x" * 501}}, {"set": {"date": "May"}}, {"unset": ["colour"]}, {"unset": [""]},
    )),
    *(("searchVectorStore", {"query": ["mill", "sold"]}, {"query": "mill"} | wrong) for wrong in (
        {"query": ""}, {"query": " "}, {"query": []}, {"query": [""]}, {"filters": {}},
        {"filters": {"type": "eq", "key": "colour", "value": "red"}},
        {"filters": {"type": "eq", "key": "year", "value": True}},
        {"filters": {"type": "gt", "key": "year", "value": 1990}},
        {"filters": {"type": "and", "filters": [{"type": "ne", "key": "year", "value": 1990}]}},
    )),
]  # fmt: skip


def test_what_a_body_may_not_be_is_in_the_description(mills: Serving) -> None:
    """Programs that check a body against the description need not learn the rest from refusals."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    formats = jsonschema.FormatChecker()
    ids = {
        one["operationId"]: (method, path) for path, all in DESCRIBED["paths"].items() for method, one in all.items()
    }
    with mills.client() as client:
        conversation = client.post("/conversations", json={"libraries": ["mills"]}).json()["id"]
        names = {"library": "mills", "document": "mill.md", "conversation": conversation, "vector_store": "mills"}
        for operation, right, wrong in BODIES:
            method, path = ids[operation]
            body = DESCRIBED["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
            schema = jsonschema.Draft202012Validator(
                body | {"components": DESCRIBED["components"]}, format_checker=formats
            )
            assert schema.is_valid(right), (operation, right)
            assert not schema.is_valid(wrong), (operation, wrong)
            answered = client.request(method.upper(), f"{mills.url}{filled(path, names)}", json=wrong)
            assert answered.status_code in (400, 422), (operation, wrong, answered.text)


def test_every_code_has_its_place_in_the_documentation() -> None:
    """Where ``type`` of a problem leads."""
    root = Path(__file__).parents[3]
    written = set(re.findall(r"^### (\w+)$", (root / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE))
    text = "".join(one.read_text(encoding="utf-8") for one in (root / "hybrid_pageindex/http").rglob("*.py"))
    raised = {(code, status) for _, status, code in errors._KINDS}
    raised |= {(code, status) for status, (code, _) in errors._WORDS.items()}
    raised |= {(code, int(status)) for status, code in re.findall(r"Refusal\(\s*(\d{3}),\s*\"(\w+)\"", text)}
    codes = {code for code, _ in raised} | {"internal", "string_above_max_length"}
    codes |= set(re.findall(r"find_openai_library\(request, \w+, \"(\w+)\"", text))
    assert len(codes) > 35 and codes == written == PROBLEMS.keys()
    raised.discard(("invalid_request", 400))  # a body that is no JSON; faults of fields are 422
    assert {(code, PROBLEMS[code][0]) for code, _ in raised} == raised
