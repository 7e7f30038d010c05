"""Every request has an id, which its response, its errors, its jobs and its log lines carry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.interfaces.http.conftest import START, Serving, serving, until, upload

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
QUESTION = "who weaves the unfindable tapestry"


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("logged"), PAGEINDEX_LOG_FORMAT="json", PAGEINDEX_LOG_LEVEL="info") as made:
        yield made


def lines(served: Serving) -> list[dict[str, Any]]:
    """Return the log of a server. Every line of it must be a JSON object."""
    return [json.loads(line) for line in (served.printed, *served.said)]


def lines_about(served: Serving, request: str) -> list[dict[str, Any]]:
    return [line for line in lines(served) if line.get("request_id") == request]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-Request-Id": "order-17.b"}, "order-17.b"),
        ({"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, TRACE),
        ({"X-Request-Id": "a/b", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, "a/b"),
        ({"X-Request-Id": "two words", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}, TRACE),
        ({"X-Request-Id": "x" * 129}, None),
        ({"X-Request-Id": '"}'}, None),
        ({"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}, None),
        ({}, None),
    ],
)
def test_a_response_has_the_id_of_its_request(logged: Serving, headers: dict[str, str], expected: str | None) -> None:
    with logged.bare(**headers) as client:
        number = client.get("/health").headers["X-Request-Id"]
        assert number == expected if expected else len(number) == 32 and number not in headers.values()
        assert client.get("/health").headers.get_list("X-Request-Id").__len__() == 1


@pytest.mark.parametrize("path", ["/libraries/none", "/nowhere", "/search"])
def test_an_error_names_its_request(logged: Serving, path: str) -> None:
    with logged.client(**{"X-Request-Id": f"error{path}"}) as client:
        answer = client.get(path)
        assert answer.status_code >= 400
        assert answer.json()["request_id"] == answer.headers["X-Request-Id"] == f"error{path}"


def test_a_refused_request_has_an_id_too(logged: Serving) -> None:
    with logged.bare(**{"X-Request-Id": "r-401"}) as client:
        answer = client.get("/libraries")
        assert (answer.status_code, answer.json()["request_id"]) == (401, "r-401")
    with logged.bare(**{"X-Request-Id": "r-421", "Host": "evil.example"}) as client:
        assert client.get("/libraries").headers["X-Request-Id"] == "r-421"


def test_the_id_follows_into_jobs_and_their_lines(logged: Serving) -> None:
    with logged.client(**{"X-Request-Id": "upload-1"}) as client:
        client.post("/libraries", json={"name": "mills"})
        [job] = upload(client, "mills", mill="# The mill\n\nIt was sold in 1987.\n")
    assert (job["status"], job["request_id"]) == ("done", "upload-1")
    until(lambda: any("job" in line for line in lines_about(logged, "upload-1")))
    about = lines_about(logged, "upload-1")
    requests = [(line["method"], line["route"], line["status"]) for line in about if "method" in line]
    assert ("POST", "/libraries/{library}/documents", 202) in requests
    ended = next(line for line in about if "job" in line)
    assert (ended["job"], ended["kind"], ended["stage"]) == (job["id"], "index", "parse")
    assert ended["document"].endswith("mill.md") and ended["library"]


def test_neither_token_nor_question_is_logged(logged: Serving) -> None:
    with logged.client(**{"X-Request-Id": "asks"}) as client:
        assert client.post("/search", json={"question": QUESTION, "libraries": ["mills"]}).status_code == 200
        assert client.get("/search", params={"q": QUESTION}).status_code in (200, 404, 405, 422)
        until(lambda: lines_about(logged, "asks"))
    written = "".join((logged.printed, *logged.said))
    assert START not in written and "tapestry" not in written
    [first, *_] = [line for line in lines_about(logged, "asks") if line.get("route", "").endswith("/search")]
    assert (first["method"], first["status"]) == ("POST", 200) and first["seconds"] > 0


def test_a_start_token_that_nobody_chose_is_not_logged(tmp_path: Path) -> None:
    with serving(tmp_path, token="", PAGEINDEX_LOG_FORMAT="json") as made:
        until(lambda: len(made.said) == 1)
        assert "#token=" not in made.printed + made.said[0]
        assert "PAGEINDEX_HTTP_TOKEN" in made.said[0]


def test_text_names_the_request_behind_the_message(tmp_path: Path) -> None:
    with serving(tmp_path, PAGEINDEX_LOG_LEVEL="info") as made, made.bare(**{"X-Request-Id": "plain"}) as client:
        assert client.get("/health").status_code == 200
        until(lambda: any("request_id=plain" in line for line in made.said))
        [line] = [line for line in made.said if "request_id=plain" in line]
        assert " INFO hybrid_pageindex.request_ids: GET /health: 200 [request_id=plain" in line


def test_tools_of_agents_log_the_request_that_carries_them(logged: Serving) -> None:
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_documents", "arguments": {}},
    }  # fmt: skip
    accept = {"Accept": "application/json, text/event-stream", "X-Request-Id": "tool-1"}
    with httpx.Client(headers={"Authorization": f"Bearer {START}", **accept}, timeout=600) as client:
        assert client.post(f"{logged.url}/mcp", json=call).headers["X-Request-Id"] == "tool-1"
    until(lambda: lines_about(logged, "tool-1"))
