"""Background tasks of the protocol: begun, asked about, called off, and ended with the server."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.mcp import builds
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.server import build_server
from tests import pdfs
from tests.interfaces.conftest import LongFile
from tests.interfaces.mcp_client import Stdio, answer, refusal, stdio

pytestmark = pytest.mark.slow

TASKS: dict[str, Any] = {"io.modelcontextprotocol/tasks": {}}


def _begun(client: Stdio, tool: str, **arguments: Any) -> str:
    task = client.ask_modern("tools/call", TASKS, name=tool, arguments=arguments)["result"]
    assert (task["resultType"], task["status"]) == ("task", "working") and task["pollIntervalMs"] <= 1000
    return str(task["taskId"])


def _looked(client: Stdio, task: str) -> dict[str, Any]:
    result: dict[str, Any] = client.ask_modern("tasks/get", TASKS, taskId=task)["result"]
    return result


def _until(client: Stdio, task: str, status: str) -> list[str]:
    """Wait for a status; what the task said of its progress."""
    said: list[str] = []
    end = time.monotonic() + 600
    while (now := _looked(client, task))["status"] != status:
        assert now["status"] == "working" and time.monotonic() < end, now
        said.append(now.get("statusMessage") or "")
        time.sleep(0.05)
    return said


def _reading(client: Stdio, task: str) -> None:
    """Wait until pages have been read."""
    end = time.monotonic() + 600
    while not re.search(r"page [1-9]\d* of", _looked(client, task).get("statusMessage") or ""):
        assert time.monotonic() < end
        time.sleep(0.05)


def _server(home: Path, root: Path) -> Stdio:
    return Stdio(home, "--root", root)


def test_a_build_runs_as_a_task_and_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEINDEX_WORKERS", "1")  # many would be done between two looks
    file = pdfs.numbered(tmp_path / "long.pdf", 600, "reeds")
    client = _server(tmp_path / "home", tmp_path)
    assert TASKS.keys() <= client.ask_modern("server/discover", TASKS)["result"]["capabilities"]["extensions"].keys()
    task = _begun(client, "build_index", file_path=str(file))
    said = _until(client, task, "completed")
    assert any(re.search(r"long\.pdf: page \d+ of 600", line) for line in said), said
    assert answer(_looked(client, task)["result"])["total_pages"] == 600
    again = _begun(client, "add_documents", paths=[str(tmp_path)], library=None)
    _until(client, again, "completed")
    assert answer(_looked(client, again)["result"])["unchanged"] == 1
    refused = _begun(client, "build_index", file_path="/etc/passwd")
    _until(client, refused, "completed")
    assert "a folder that the server may read" in refusal(_looked(client, refused)["result"])
    assert "Task none not found" in client.ask_modern("tasks/get", TASKS, taskId="none")["error"]["message"]
    plain = client.ask_modern("tools/call", {}, name="build_index", arguments={"file_path": str(file)})["result"]
    assert answer(plain)["total_pages"] == 600, "a client that knows no tasks waits"
    assert client.close() == (0, "")


def test_calling_a_task_off_stops_its_build_and_so_does_the_end_of_the_server(
    tmp_path: Path, long_file: LongFile
) -> None:
    file = long_file(tmp_path / "long.gated")
    client = _server(tmp_path / "home", tmp_path)
    task = _begun(client, "build_index", file_path=str(file))
    _reading(client, task)
    client.ask_modern("tasks/cancel", TASKS, taskId=task)
    _until(client, task, "cancelled")
    status = {"name": "index_status", "arguments": {}}
    end = time.monotonic() + 600
    while answer(client.ask_modern("tools/call", TASKS, **status)["result"])["building"]:
        assert time.monotonic() < end
        time.sleep(0.1)
    _reading(client, _begun(client, "build_index", file_path=str(file)))
    assert client.close() == (0, "")
    engine = Engine(tmp_path / "home")
    assert run(engine.documents.list()) == [], "nothing half-done is visible"
    engine.close()


def test_without_the_package_the_server_has_no_tasks(library: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = build_server(library, Access())
    monkeypatch.setattr(builds, "find_spec", lambda _: None)
    without = build_server(library, Access())

    async def of(server: Any) -> dict[str, bool]:
        return {tool.name: tool.task_config.supports_tasks() for tool in await server.list_tools()}

    assert {name for name, can in run(of(with_it)).items() if can} == {"build_index", "add_documents"}
    assert not any(run(of(without)).values())


def test_the_package_is_imported_by_the_first_task_only(library: Engine) -> None:
    """It takes as long as a whole search."""
    code = (
        "import sys; from hybrid_pageindex import Engine; from hybrid_pageindex.mcp.access import Access;"
        "from hybrid_pageindex.mcp.server import build_server; build_server(Engine(sys.argv[1]), Access());"
        "sys.exit('docket' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(library.home)], check=False).returncode == 0


def test_older_clients_are_served_as_before(library: Engine) -> None:
    with stdio(library.home) as client:
        assert "tasks" not in client.server["capabilities"]
        assert client.ask("tasks/get", {"taskId": "x"})["error"]["code"] == -32601
