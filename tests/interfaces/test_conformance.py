"""The server under the checks of others: the official MCP suite, mcpcheck, promtool, a TypeScript client.

``CONFORMANCE_TOOLS`` is a folder that ``scripts/conformance`` fills. Tests without their tool are skipped.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hybrid_pageindex.http.api import FILE
from tests.interfaces.http.conftest import serving

ROOT = Path(__file__).parents[2]
TOOLS = Path(os.environ.get("CONFORMANCE_TOOLS") or "/nowhere")
MODULES = TOOLS / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = MODULES / ".bin" / "node"
MCPCHECK, PROMTOOL = TOOLS / "bin" / "mcpcheck", TOOLS / "bin" / "promtool"
TSC, OPENAPI = MODULES / "typescript" / "bin" / "tsc", MODULES / "openapi-typescript" / "bin" / "cli.js"

CLIENT = """
import type { paths } from "./api";
type Found = paths["/api/v1/search"]["post"]["responses"]["200"]["content"]["application/json"];
type Asked = paths["/api/v1/search"]["post"]["requestBody"]["content"]["application/json"];
const asked: Asked = { question: "When was the mill sold?" } as Asked;
export async function ask(url: string, token: string): Promise<string[]> {
  const answered = await fetch(`${url}/api/v1/search`, { method: "POST", body: JSON.stringify(asked),
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" } });
  const found = (await answered.json()) as Found;
  return found.results.map((page) => `${page.doc_name}:${page.page}`);
}
"""


def needs(*tools: Path) -> pytest.MarkDecorator:
    missing = [tool.name for tool in tools if not tool.exists()]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: not in CONFORMANCE_TOOLS")


@contextmanager
def started(module: str, *arguments: object) -> Iterator[str]:
    """Start a module with a free port as its last argument, and give its address of MCP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", module, *map(str, arguments), str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            until = time.monotonic() + 120
            while process.poll() is None and time.monotonic() < until:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/mcp", timeout=5)
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@needs(NODE, SUITE)
def test_every_scenario_of_the_official_suite_passes(tmp_path: Path) -> None:
    with started("tests.interfaces.mcp_fixture", tmp_path / "home") as url:
        done = subprocess.run(
            [NODE, SUITE, "server", "--url", url, "--suite", "all"], cwd=tmp_path, capture_output=True, text=True
        )
    total = re.search(r"Total: (\d+) passed, (\d+) failed", done.stdout)
    assert total and int(total[1]) >= 40 and total[2] == "0", done.stdout[-5000:]


@needs(MCPCHECK)
def test_mcpcheck_has_nothing_to_say(tmp_path: Path) -> None:
    with started("hybrid_pageindex", "--home", tmp_path / "home", "mcp", "--http") as url:
        done = subprocess.run([MCPCHECK, url], capture_output=True, text=True)
    assert "All 8 checks passed in" in done.stdout, done.stdout


@needs(PROMTOOL)
def test_promtool_reads_the_metrics(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.client() as client:
        metrics = client.get("/metrics").text
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=metrics, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs(NODE, TSC, OPENAPI)
def test_a_typescript_client_fits_the_description(tmp_path: Path) -> None:
    subprocess.run([NODE, OPENAPI, FILE, "--output", tmp_path / "api.d.ts"], check=True, capture_output=True)
    (tmp_path / "client.ts").write_text(CLIENT)
    options = {"noEmit": True, "strict": True, "target": "es2022", "lib": ["es2022", "dom"], "types": []}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["client.ts"]}))
    compiler = [NODE, TSC, "--project", tmp_path]
    done = subprocess.run(compiler, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    (tmp_path / "client.ts").write_text(CLIENT.replace("page.doc_name", "page.doc_nam"))
    wrong = subprocess.run(compiler, capture_output=True, text=True)
    assert "doc_nam" in wrong.stdout, "the types say what is there"
