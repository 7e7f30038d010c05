"""Measure one MCP server over HTTP with many simultaneous clients.

    python -m benchmarks mcp_load [--data DIR] [--home DIR] [--clients 50] [--seconds 60] [--json]
    python -m benchmarks mcp_load --sessions 10000 [--home DIR] [--json]

Each client opens a session, searches, follows the first hint and starts again. Every error counts. With --sessions, the
benchmark measures the server's memory after many clients open a session and never return.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
from fastmcp import Client

from eval.datasets import load as load_dataset
from hybrid_core.errors import PageIndexError
from hybrid_pageindex import Engine, run

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "0"}},
}  # fmt: skip


async def load(url: str, questions: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    """Run clients at once for some seconds. Return the number of calls, the errors (as text), and p50 and p95 in
    milliseconds.
    """
    times: list[float] = []
    errors: list[str] = []
    end = time.monotonic() + seconds

    async def call(client: Client[Any], tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        began = time.perf_counter()
        result = await client.call_tool(tool, arguments)
        times.append((time.perf_counter() - began) * 1000)
        return result.structured_content or {}

    async def work(number: int) -> None:
        try:
            async with Client(url) as client:
                at = number
                while True:
                    answer = await call(client, "search", {"question": questions[at % len(questions)]})
                    if answer["next"]:
                        await call(client, answer["next"][0]["tool"], answer["next"][0]["arguments"])
                    at += clients
                    if time.monotonic() >= end:
                        break
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is counted
            errors.append(f"{type(error).__name__}: {error}")

    await asyncio.gather(*(work(number) for number in range(clients)))
    return {
        "clients": clients, "seconds": seconds, "calls": len(times), "errors": errors,
        "p50_ms": round(statistics.median(times), 1) if times else None,
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1) if len(times) > 1 else None,
    }  # fmt: skip


def sessions(url: str, process: int, count: int) -> dict[str, Any]:
    """Return the server's resident memory in MB before and after ``count`` clients opened a session and never closed
    it.
    """
    resident = psutil.Process(process).memory_info
    with httpx2.Client(headers={"Accept": "application/json, text/event-stream"}) as client:
        client.post(url, json=HELLO).raise_for_status()
        before = resident().rss
        began = time.monotonic()
        refused = sum(client.post(url, json=HELLO).status_code != 200 for _ in range(count))
        seconds = time.monotonic() - began
    return {
        "sessions": count, "errors": [f"{refused} sessions were refused"] if refused else [],
        "seconds": round(seconds, 1), "before_mb": round(before / 2**20, 1),
        "after_mb": round(resident().rss / 2**20, 1),
    }  # fmt: skip


@contextmanager
def server(home: Path) -> Iterator[tuple[str, int]]:
    """Start a server, and yield its URL and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "mcp", "--http", f"127.0.0.1:{port}"]
    process = subprocess.Popen(program, env=os.environ)
    try:
        while process.poll() is None:
            try:
                httpx2.get(f"http://127.0.0.1:{port}/mcp")
                break
            except httpx2.TransportError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp", process.pid
    finally:
        process.terminate()
        process.wait(20)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data")
    parser.add_argument("--home", help="keep the index here (default: a temporary folder)")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sessions", type=int, default=0, help="open so many sessions instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(options.home or temporary)
        if options.sessions:
            with server(home) as (url, process):
                figures = sessions(url, process, options.sessions)
        else:
            dataset = load_dataset("financebench", options.data)
            engine = Engine(home)
            run(engine.index(dataset.files))
            engine.close()
            with server(home) as (url, _):
                questions = [question.text for question in dataset.questions]
                figures = asyncio.run(load(url, questions, options.clients, options.seconds))
    print(json.dumps(figures) if options.json else "\n".join(f"{name:<10}{value}" for name, value in figures.items()))
    return 1 if figures["errors"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PageIndexError as error:
        sys.exit(str(error))
