"""The MCP server on HTTP: who may call, from where, how much; many clients at once; and the entry for clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import MCPError

from benchmarks.mcp_load import load
from hybrid_core.errors import UsageError
from hybrid_pageindex import Engine
from hybrid_pageindex.cli.servers import CLIENTS, entry, install
from hybrid_pageindex.mcp.transports import parse_address
from tests.conftest import Cli
from tests.interfaces.conftest import LongFile
from tests.interfaces.mcp_client import QUESTION, REVISION, http

pytestmark = pytest.mark.slow

TOKEN = "a-long-token-that-nobody-guesses"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}  # fmt: skip


async def test_tools_work_over_http_with_a_token(library: Engine) -> None:
    with http(library.home, "--read-only", token=TOKEN) as url:
        transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {TOKEN}"})
        async with Client(transport) as client:
            found = (await client.call_tool("search", {"question": QUESTION})).structured_content
            assert found and found["results"][0]["page"] == 3
        bare = httpx2.post(url, json=HELLO, headers=HEADERS | {"Authorization": f"Bearer {TOKEN}"})
        assert bare.status_code == 200 and REVISION in bare.text
        for wrong in ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            refused = httpx2.post(url, json=HELLO, headers=HEADERS | ({"Authorization": wrong} if wrong else {}))
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"


def test_foreign_pages_and_huge_requests_are_refused(library: Engine) -> None:
    with http(library.home, "--allow-origin", "https://tool.example") as url:

        def status(**headers: str) -> int:
            return httpx2.post(url, json=HELLO, headers=HEADERS | headers).status_code

        own = url.removesuffix("/mcp")
        assert status() == status(Origin=own) == status(Origin="https://tool.example") == 200
        assert status(Origin="https://evil.example") == status(Origin="null") == 403
        assert status(Host="evil.example") == 421, "a name that was pointed at this machine"
        assert (status(Host="[::1"), status(Origin="http://[")) == (421, 403), "no addresses at all"
        assert httpx2.post(url, content=b"x" * (5 * 2**20), headers=HEADERS).status_code == 413
        chunks = (b"x" * 2**20 for _ in range(6))
        assert httpx2.post(url, content=chunks, headers=HEADERS).status_code == 413
        assert httpx2.post(url, content=b"{", headers=HEADERS).status_code == 400
        assert status() == 200


def test_methods_that_are_not_served_are_told_those_that_are(library: Engine) -> None:
    allowed = "DELETE, GET, HEAD, OPTIONS, POST"
    with http(library.home, "--read-only", token=TOKEN) as url:
        for method in ("PUT", "PATCH", "TRACE", "BREW"):
            refused = httpx2.request(method, url)
            assert (refused.status_code, refused.headers["allow"]) == (405, allowed), method
        asked = httpx2.options(url)
        assert (asked.status_code, asked.headers["allow"]) == (204, allowed)
        assert httpx2.head(url).status_code == 401
        signed = {"Authorization": f"Bearer {TOKEN}"}
        head, got = httpx2.head(url, headers=signed), httpx2.get(url, headers=signed)
        assert head.status_code == got.status_code and head.content == b""


async def test_ending_a_server_ends_its_builds_and_leaves_nothing_half_done(
    tmp_path: Path, long_file: LongFile
) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    root.mkdir()
    file = long_file(root / "long.gated")
    told: list[str] = []
    begun = asyncio.Event()

    async def progress(_: float, __: float | None, message: str | None) -> None:
        told.append(message or "")
        if " 0 pages" not in told[-1] and "pages" in told[-1]:
            begun.set()

    with http(home, "--root", root) as url:  # asserts that no traceback is logged
        client = Client(url)
        await client.__aenter__()
        work = client.call_tool("build_index", {"file_path": str(file)}, progress_handler=progress)
        task = asyncio.create_task(work)
        await asyncio.wait_for(begun.wait(), 60)
    with pytest.raises(MCPError):
        await asyncio.wait_for(task, 60)
    with contextlib.suppress(Exception):
        await client.__aexit__(None, None, None)
    engine = Engine(home)
    assert await engine.documents.list() == []
    engine.close()


@pytest.mark.parametrize(
    ("written", "token", "why"),
    [
        ("0.0.0.0:80", "", "no token is set"), ("example.org:80", "", "no token"), ("[::]:80", "", "no token"),
        ("0.0.0.0:80", "short", "too short"), ("localhost", "", "is not an address"), (":80", "", "is not an address"),
        ("127.0.0.1:99999", "", "is not an address"), ("127.0.0.1:x", "", "is not an address"),
    ],
)  # fmt: skip
def test_addresses_that_are_refused(written: str, token: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_address(written, token)
    assert parse_address("[::1]:80", "") == ("::1", 80) and parse_address("0.0.0.0:1", TOKEN) == ("0.0.0.0", 1)
    assert parse_address("8765", "") == ("127.0.0.1", 8765)


def test_options_that_cannot_work_end_with_a_reason(tmp_path: Path, program: Cli) -> None:
    for options, why in (
        (["--http", "0.0.0.0:0"], "PAGEINDEX_MCP_TOKEN"), (["--root", str(tmp_path / "none")], "is not a folder"),
        (["--install", "netscape"], "Choose claude-desktop"), (["--root", ""], "'' is not a folder"),
        (["--install", "cursor", "--http", "127.0.0.1:80"], "--http"),
    ):  # fmt: skip
        done = program("mcp", *options)
        assert done.returncode == 2 and why in done.stderr and done.stdout == ""


def test_connections_that_ask_for_nothing_are_closed(library: Engine) -> None:
    """As many as are served at once, and more: whoever asks meanwhile is told so, and the place becomes free again."""
    sooner = "from hybrid_pageindex.mcp import network; network.SECONDS = 6.0"
    with http(library.home, "--read-only", first=sooner) as url, contextlib.ExitStack() as silent:
        where = (url.split("/")[2].split(":")[0], int(url.split("/")[2].split(":")[1]))

        def status() -> int:
            return httpx2.post(url, json=HELLO, headers=HEADERS | {"Connection": "close"}, verify=False).status_code

        assert status() == 200
        held = [silent.enter_context(socket.create_connection(where, 10)) for _ in range(260)]
        held[0].sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        assert status() == 503
        end = time.monotonic() + 600
        while status() != 200:
            assert time.monotonic() < end
            time.sleep(0.2)
        assert held[0].recv(1) == b""


async def test_fifty_clients_at_once(library: Engine) -> None:
    with http(library.home, "--read-only") as url:
        found = await load(url, [QUESTION, "borrowings"], clients=50, seconds=3)
    assert found["errors"] == [] and found["calls"] >= 50


@pytest.mark.parametrize("client", sorted(name for name, client in CLIENTS.items() if not client.toml))
def test_install_writes_an_entry_that_starts_and_keeps_the_rest(client: str, tmp_path: Path, program: Cli) -> None:
    root = tmp_path / "papers"
    root.mkdir()
    first = json.loads(program("mcp", "--install", client, "--root", root, "--json").stdout)
    file = Path(first["file"])
    assert file.is_relative_to(tmp_path / "user") and first["backup"] is None
    key = {"vscode": "servers", "zed": "context_servers"}.get(client, "mcpServers")
    held = json.loads(file.read_text())
    held |= {"theme": "dark"}
    held[key]["other"] = {"command": "x"}
    file.write_text(json.dumps(held))
    file.chmod(0o600)
    again = program("mcp", "--install", client, "--root", root, "--max-tokens", 3000, "--read-only")
    assert again.returncode == 0 and "the server was added to" in again.stdout
    now = json.loads(file.read_text())
    assert now["theme"] == "dark" and now[key]["other"] == {"command": "x"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.with_name(f"{file.name}.backup").read_text()) == held
    entry = now[key]["hybrid-pageindex"]
    extra = {"vscode": {"type"}, "claude-code": {"type"}, "zed": {"source"}}.get(client, set())
    assert entry.keys() == {"command", "args"} | extra
    assert entry["args"][-5:] == ["--root", str(root), "--max-tokens", "3000", "--read-only"]
    assert Path(entry["command"]).is_absolute()
    hello = json.dumps(HELLO) + "\n"
    with subprocess.Popen(
        [entry["command"], *entry["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    ) as started:
        assert started.stdin and started.stdout
        started.stdin.write(hello)
        started.stdin.flush()
        said = json.loads(started.stdout.readline())  # before stdin is closed: its end calls answers off
    assert said["result"]["serverInfo"]["name"] == "hybrid-pageindex" and started.returncode == 0


def test_install_leaves_a_file_alone_that_it_does_not_understand(tmp_path: Path) -> None:
    file = Path.home() / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    for content in (
        b"{ // comment\n}", b"[]", b'{"mcpServers": []}', b'{"mcpServers": null}', '{"a": "ü"}'.encode("utf-16"),
        b'{"a": "\\ud800"}', b'{"a": 1e999}', b"[" * 10**5,
    ):  # fmt: skip
        file.write_bytes(content)
        with pytest.raises(UsageError, match=r'by hand under "mcpServers": {"hybrid-pageindex": {"command": "/'):
            install("cursor", tmp_path, [])
        assert file.read_bytes() == content and len(list(file.parent.iterdir())) == 1
    for content in (b"", b" \n", '\ufeff{"mcpServers": {}}'.encode()):
        file.write_bytes(content)
        install("cursor", tmp_path, [])
        assert json.loads(file.read_text()).keys() == {"mcpServers"}


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("", {}),
        ('# mine\nmodel = "o5"\n\n[mcp_servers.other]\ncommand = "x"\nargs = ["[a]"]\n', {"model": "o5"}),
        (
            '[mcp_servers."hybrid-pageindex"]\ncommand = "old"\nstartup_timeout_sec = 9\n\n'
            "[mcp_servers.hybrid-pageindex.env]\nA = \"b\"\n[tui]\ntheme = 'dark'\n",
            {"tui": {"theme": "dark"}},
        ),
    ],
)
def test_install_adds_a_table_to_a_toml_file_and_keeps_the_rest(
    before: str, kept: dict[str, object], tmp_path: Path
) -> None:
    file = Path.home() / ".codex" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(before)
    for root in (tmp_path / 'a "quoted" ü\\folder', tmp_path):
        root.mkdir(exist_ok=True)
        written, _ = install("codex", tmp_path / "home", [root])
        now, text = tomllib.loads(written.read_text()), written.read_text()
        entry = now["mcp_servers"]["hybrid-pageindex"]
        assert entry["args"][-2:] == ["--root", str(root)] and Path(entry["command"]).is_absolute()
        assert {name: value for name, value in now.items() if name != "mcp_servers"} == kept
        assert "# mine" in text or "# mine" not in before
        assert "other" not in before or now["mcp_servers"]["other"] == {"command": "x", "args": ["[a]"]}
        assert "env" not in before or entry["env"] == {"A": "b"}


def test_install_leaves_a_toml_file_alone_that_it_cannot_extend(tmp_path: Path) -> None:
    file = Path.home() / ".codex" / "config.toml"
    file.parent.mkdir(parents=True)
    for content in (
        b"mcp_servers = 3\n", b"mcp_servers = {}\n", b"a = \n", b"mcp_servers.hybrid-pageindex.command = 'x'\n",
        b"a = \xff", b'b = """\n[mcp_servers.hybrid-pageindex]\n"""\n', "a = 'ü'".encode("utf-16"),
    ):  # fmt: skip
        file.write_bytes(content)
        with pytest.raises(UsageError, match=r"by hand: \[mcp_servers.hybrid-pageindex\]\ncommand = "):
            install("codex", tmp_path, [])
        assert file.read_bytes() == content and len(list(file.parent.iterdir())) == 1


def test_the_command_line_does_not_wait_for_fastmcp() -> None:
    """Only ``mcp`` imports it: it takes longer than a search."""
    code = "import sys, hybrid_pageindex.cli.commands; sys.exit('fastmcp' in sys.modules or 'mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_installed_entry_runs_no_module_of_the_clients_folder(tmp_path: Path) -> None:
    """Clients start the entry in a project's folder, whose files must not stand for the server's libraries."""
    for name in ("yaml", "sqlite3", "hybrid_pageindex"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the project ran')\n", encoding="utf-8")
    started = entry(tmp_path / "home", [], ["--help"])
    done = subprocess.run(
        [started["command"], *started["args"]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "") and "--root" in done.stdout
