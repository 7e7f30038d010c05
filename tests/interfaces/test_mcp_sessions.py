"""Sessions of MCP over HTTP: how many are kept, when they end, and what their end leaves alone."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from hybrid_pageindex import Engine
from tests.interfaces.conftest import LongFile
from tests.interfaces.mcp_client import REVISION, http

pytestmark = pytest.mark.slow

HEADERS = {"Accept": "application/json, text/event-stream"}
FEW = "from hybrid_pageindex.mcp import transports; transports._SESSIONS = 3"


class Caller:
    """A client with a session of its own, spoken to in bare requests."""

    def __init__(self, url: str) -> None:
        self.url = url
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        opened = self._post("initialize", params, HEADERS)
        assert opened.status_code == 200
        self.session = opened.headers["mcp-session-id"]
        self._headers = HEADERS | {"mcp-session-id": self.session, "mcp-protocol-version": REVISION}

    def _post(self, method: str, params: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        # No certificate is looked at: to load those of the world takes longer than the call.
        return httpx2.post(self.url, json=message, headers=headers, timeout=600, verify=False)

    def status(self) -> int:
        return self._post("ping", {}, self._headers).status_code

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self._post("tools/call", {"name": tool, "arguments": arguments}, self._headers)
        assert answer.status_code == 200, answer.text
        said = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
        content: dict[str, Any] = said[-1]["result"]["structuredContent"]
        return content

    def end(self) -> int:
        return httpx2.delete(self.url, headers=self._headers).status_code


def test_the_session_that_was_idle_longest_makes_room_for_a_new_one(library: Engine) -> None:
    with http(library.home, "--read-only", first=FEW) as url:
        first, second, third = Caller(url), Caller(url), Caller(url)
        assert first.status() == 200
        fourth = Caller(url)
        assert [each.status() for each in (first, second, third, fourth)] == [200, 404, 200, 200]
        assert third.end() == 200 and third.status() == 404
        fifth = Caller(url)
        assert [each.status() for each in (first, fourth, fifth)] == [200, 200, 200], "the one that ended left a place"
        assert Caller(url).call("list_libraries")["libraries"]


def test_requests_that_open_no_session_end_none(library: Engine) -> None:
    with http(library.home, "--read-only", first=FEW) as url:
        kept = [Caller(url) for _ in range(3)]
        for _ in range(5):
            options = httpx2.request("OPTIONS", url)
            assert (options.status_code, "POST" in options.headers["Allow"]) == (204, True)
            assert httpx2.get(url, headers=HEADERS).status_code == 400
            assert httpx2.post(url, json={"jsonrpc": "2.0"}, headers=HEADERS).status_code == 400
            assert httpx2.post(url, content=b"{", headers=HEADERS).status_code == 400
            refused = httpx2.post(url, json={}, headers=HEADERS | {"Origin": "https://evil.example"})
            assert (refused.status_code, "mcp-session-id" in refused.headers) == (403, False)
        assert [each.status() for each in kept] == [200, 200, 200]


def test_an_idle_session_expires_and_its_client_is_told_to_begin_again(library: Engine) -> None:
    sooner = "from hybrid_pageindex.mcp import transports; transports._IDLE = 0.5"
    with http(library.home, "--read-only", first=sooner) as url:
        caller = Caller(url)
        end = time.monotonic() + 600
        while caller.status() != 404:  # every request begins its time anew
            assert time.monotonic() < end
            time.sleep(1)  # longer than _IDLE
        assert Caller(url).status() == 200


def test_a_session_at_work_stays_and_what_it_began_outlives_it(tmp_path: Path, long_file: LongFile) -> None:
    root = tmp_path / "root"
    root.mkdir()
    file = long_file(root / "long.gated")
    answered: list[dict[str, Any]] = []
    impatient = f"{FEW}; from hybrid_pageindex.mcp import state; state._PATIENCE = 1.0"
    with http(tmp_path / "home", "--root", root, first=impatient) as url:
        worker = Caller(url)
        thread = threading.Thread(target=lambda: answered.append(worker.call("build_index", file_path=str(file))))
        thread.start()
        watcher = Caller(url)
        end = time.monotonic() + 600
        while not watcher.call("index_status")["building"]:
            assert time.monotonic() < end
        for _ in range(4):
            Caller(url)
        thread.join()
        assert answered[0]["status"] == "building"
        for _ in range(4):
            Caller(url)
        assert worker.status() == 404
        assert Caller(url).call("index_status")["building"], "the server builds, not the session"


def test_abandoned_sessions_cost_no_more_memory_than_those_that_are_kept(library: Engine) -> None:
    few = "from hybrid_pageindex.mcp import transports; transports._SESSIONS = 20"
    with http(library.home, "--read-only", first=few) as url:
        port = int(url.split(":")[2].split("/")[0])
        (server,) = (
            child
            for child in psutil.Process().children()
            if any(one.laddr.port == port for one in child.net_connections("tcp") if one.status == "LISTEN")
        )
        for _ in range(50):
            Caller(url)
        before = server.memory_info().rss
        for _ in range(300):
            Caller(url)
        assert server.memory_info().rss - before < 5 * 2**20, "300 that are kept take 11 MB"
