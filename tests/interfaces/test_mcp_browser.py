"""The MCP server as a web page of another origin meets it, in a real browser."""

from __future__ import annotations

import html
import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine
from hybrid_pageindex.mcp.network import web_origin
from tests.browser import browse, needs_browser
from tests.interfaces.mcp_client import QUESTION, REVISION
from tests.interfaces.mcp_client import http as served

TOKEN = "a-long-token-that-nobody-guesses"
PAGE = """<!doctype html><title>a page</title><pre id="said"></pre><script>
const [url, token] = %s;
const said = {};
async function send(method, params, session) {
  const headers = {"Content-Type": "application/json", Accept: "application/json, text/event-stream"};
  if (token) headers.Authorization = "Bearer " + token;
  if (session) Object.assign(headers, {"Mcp-Session-Id": session, "Mcp-Protocol-Version": "%s"});
  const body = JSON.stringify({jsonrpc: "2.0", id: 1, method, params});
  const answer = await fetch(url, {method: "POST", headers, body});
  return [answer.status, answer.headers.get("Mcp-Session-Id"), await answer.text()];
}
async function run() {
  try {
    const client = {protocolVersion: "%s", capabilities: {}, clientInfo: {name: "page", version: "0"}};
    const [status, session] = await send("initialize", client);
    Object.assign(said, {status, session});
    const [, , text] = await send("tools/call", {name: "search", arguments: {question: "%s"}}, session);
    said.called = text;
    said.ended = (await fetch(url, {method: "DELETE", headers: {
      "Mcp-Session-Id": session, ...(token ? {Authorization: "Bearer " + token} : {})}})).status;
  } catch (error) { said.error = String(error); }
  document.getElementById("said").textContent = JSON.stringify(said);
}
run();
</script>"""


@dataclass
class Site:
    """A web site on a port of its own; ``page`` is what it serves."""

    origin: str
    page: str = ""


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site("")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(made.page.encode() if self.path == "/" else b"")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    made.origin = f"http://127.0.0.1:{server.server_address[1]}"
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def shown(site: Site, url: str, token: str, profile: Path) -> dict[str, Any]:
    """What the page could read of the server's answers."""
    site.page = PAGE % (json.dumps([url, token]), REVISION, REVISION, QUESTION)
    document, _ = browse(site.origin + "/", profile)
    found = re.search(r'<pre id="said">(.*?)</pre>', document, re.S)
    assert found
    said: dict[str, Any] = json.loads(html.unescape(found[1]))
    return said


@needs_browser
@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_page_of_an_allowed_origin_calls_a_tool(library: Engine, site: Site, tmp_path: Path, token: str) -> None:
    with served(library.home, "--read-only", "--allow-origin", site.origin + "/", token=token) as url:
        said = shown(site, url, token, tmp_path / "profile")
        assert "error" not in said
        assert (said["status"], said["ended"]) == (200, 200) and said["session"]
        assert "corvane-optics-2023-10k.pdf" in said["called"]


@needs_browser
def test_a_page_of_another_origin_reads_nothing(library: Engine, site: Site, tmp_path: Path) -> None:
    with served(library.home, "--read-only", "--allow-origin", "https://tool.example") as url:
        said = shown(site, url, "", tmp_path / "profile")
    assert said == {"error": "TypeError: Failed to fetch"}


def test_what_a_browser_asks_before_it_calls(library: Engine) -> None:
    allowed = "https://tool.example"
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,mcp-session-id"}
    with served(library.home, "--read-only", "--allow-origin", allowed, token=TOKEN) as url:

        def ask(origin: str, **more: str) -> httpx2.Response:
            return httpx2.request("OPTIONS", url, headers={"Origin": origin} | asks | more)

        yes = ask(allowed)  # without the token: browsers send none
        assert (yes.status_code, yes.headers["access-control-allow-origin"]) == (200, allowed)
        assert {"authorization", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version",
                "mcp-session-id"} <= {name.strip().lower() for name in
                                      yes.headers["access-control-allow-headers"].split(",")}  # fmt: skip
        for refused in (ask("https://evil.example"), ask(allowed, Host="evil.example")):
            assert refused.status_code in (403, 421) and "access-control-allow-origin" not in refused.headers
        wrong = httpx2.post(url, json={}, headers={"Origin": allowed})
        assert (wrong.status_code, wrong.headers["access-control-allow-origin"]) == (401, allowed), "pages see why"
        assert wrong.headers["access-control-expose-headers"].lower() == "mcp-session-id"


@pytest.mark.parametrize("written", ["*", "tool.example", "https://tool.example/app", "null", "https://", ""])
def test_what_is_no_origin_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="is not a web origin"):
        web_origin(written)


def test_an_origin_is_written_as_browsers_send_it() -> None:
    assert web_origin("https://Tool.Example/") == "https://tool.example"
    assert web_origin("http://[::1]:8080") == "http://[::1]:8080"
