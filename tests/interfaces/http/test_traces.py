"""Traces of a server, received as a collector of OpenTelemetry does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hybrid_core.errors import PageIndexError
from hybrid_core.tracing import sent_traces, span
from tests.interfaces.http.conftest import MILL, SOLD, serving, wait_for_jobs

TRACE, OUTER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@dataclass
class Collector:
    url: str
    paths: set[str] = field(default_factory=set)
    raw: list[bytes] = field(default_factory=list)

    def spans(self) -> list[Any]:
        parsed = [ExportTraceServiceRequest.FromString(body) for body in self.raw]
        return [one for request in parsed for r in request.resource_spans for s in r.scope_spans for one in s.spans]

    def named(self, name: str) -> Any:
        return {one.name: one for one in self.spans()}[name]


@pytest.fixture
def collector() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.paths.add(self.path)
            made.raw.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Collector(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


def values_of(one: Any) -> dict[str, Any]:
    return {item.key: item.value.string_value or item.value.int_value for item in one.attributes}


def test_requests_stages_tools_and_jobs_become_spans(collector: Collector, tmp_path: Path) -> None:
    with serving(tmp_path / "home", PAGEINDEX_TRACES_URL=collector.url) as served, served.client() as client:
        client.post("/libraries", json={"name": "desk"}).raise_for_status()
        sent = client.post("/libraries/desk/documents", files={"file": ("secret-mill.md", MILL.encode())})
        wait_for_jobs(client, [sent.json()["files"][0]["job"]])
        asked = client.post(
            "/search", json={"question": SOLD, "libraries": ["desk"]}, headers={"traceparent": f"00-{TRACE}-{OUTER}-01"}
        ).raise_for_status()
        assert client.get("/libraries/none").status_code == 404
    search = collector.named("POST /search")
    assert (search.trace_id.hex(), search.parent_span_id.hex()) == (TRACE, OUTER), "inside the caller's span"
    assert values_of(search)["request_id"] == asked.headers["X-Request-Id"] == TRACE
    assert values_of(search)["http.response.status_code"] == 200
    stages = [one for one in collector.spans() if one.name.startswith("search ")]
    assert {"search question", "search coarse"} <= {one.name for one in stages}
    assert all(one.trace_id == search.trace_id for one in stages)
    job = next(one for one in collector.spans() if one.name.startswith("job"))
    assert values_of(job)["request_id"] == sent.headers["X-Request-Id"], "its request is named"
    missing = next(one for one in collector.spans() if values_of(one).get("http.response.status_code") == 404)
    assert missing.status.code != 2, "the caller's fault is no error of the server"
    assert collector.paths == {"/v1/traces"}
    assert not any(word in body for body in collector.raw for word in (b"mill", b"sold", b"1987")), "no content leaves"


def test_a_collector_that_does_not_answer_changes_nothing(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "home", PAGEINDEX_TRACES_URL="http://127.0.0.1:9/traces") as served,
        served.client() as client,
    ):
        assert client.get("/libraries").status_code == 200
    assert served.process.returncode in (0, -15)


def test_spans_cost_nothing_unless_they_are_sent() -> None:
    with sent_traces("", "serve"), span("search") as one:
        one.set_attribute("a", 1)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(PageIndexError, match="needs the extra 'traces'"), sent_traces("http://127.0.0.1:9", "serve"):
        pass
