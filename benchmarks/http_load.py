"""Measure one HTTP server: start time, overhead of HTTP, many clients, and memory after many requests.

    python -m benchmarks http_load [--only PART …] [--clients 200] [--seconds 60] [--requests 10000] [--json]

Clients read, ask, search and upload at the same time, each in its own order. Any status other than 2xx and 304 counts
as an error. The library has 100 generated files, because the HTTP interface is measured and not the engine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil

from hybrid_pageindex import Engine, run

_TOKEN = "benchmark-token-of-this-run-alone"
_SETTINGS = {"PAGEINDEX_HTTP_TOKEN": _TOKEN, "PAGEINDEX_HTTP_REQUESTS_PER_MINUTE": "0"}
_PARTS = ("start", "search", "stream", "memory", "load", "end")
WORDS = "mill river town council bridge harvest ledger crown tithe barley wool market toll ferry abbey".split()
_NAMES = [f"{first}{second}" for first in WORDS for second in WORDS]  # so that documents are no copies of each other
_QUESTIONS = [f"What did the {word} of the {other} cost?" for word in WORDS for other in WORDS if word != other]


@contextmanager
def served(home: Path, settings: Mapping[str, str] = {}) -> Iterator[tuple[str, psutil.Process, float]]:
    """Start a server. Yield the address of its API, its process, and the seconds from its start until it reported
    ready.
    """
    began = time.perf_counter()
    command = [sys.executable, "-m", "hybrid_pageindex", "serve", "--port", "0", "--home", str(home)]
    process = subprocess.Popen(command, env={**os.environ, **_SETTINGS, **settings}, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        printed = process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop the server
        url = f"http://{urlsplit(printed.rsplit(' ', 1)[1].strip()).netloc}/api/v1"
        assert httpx.get(f"{url}/ready").status_code == 200
        yield url, psutil.Process(process.pid), time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(15)
        process.stderr.close()


def client_of(url: str, kind: Any = httpx.Client, **options: Any) -> Any:
    """Return a client of a server that ``served`` started."""
    return kind(base_url=url, headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=120, **options)


async def load(url: str, clients: int, seconds: float, token: str = _TOKEN) -> dict[str, Any]:
    """Run ``clients`` clients at once. Return requests, errors (as text) and milliseconds (p50, p95, p99) for each kind
    of request.
    """
    times: dict[str, list[float]] = {}
    errors: list[str] = []
    end = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, limits=limits, timeout=60) as client:
        listed = await client.get("/libraries/bench/documents", params={"limit": 100})
        documents = [item["doc_id"] for item in listed.json()["documents"]]

        async def work(number: int) -> None:
            chance = random.Random(number)
            while time.monotonic() < end:
                kind = chance.choices(("search", "read", "outline", "list", "ask", "upload"), (40, 25, 10, 15, 8, 2))[0]
                began = time.perf_counter()
                try:
                    answered = await _send_one(client, kind, chance, documents)
                    if not answered.is_success:
                        errors.append(f"{kind}: {answered.status_code} {answered.text[:100]}")
                except httpx.HTTPError as error:
                    errors.append(f"{kind}: {type(error).__name__} {error}")
                times.setdefault(kind, []).append((time.perf_counter() - began) * 1000)

        await asyncio.gather(*(work(number) for number in range(clients)))
    done = {kind: {"requests": len(took), **_percentiles(took)} for kind, took in sorted(times.items())}
    return {"requests": sum(map(len, times.values())), "errors": errors, "kinds": done}


async def _send_one(
    client: httpx.AsyncClient, kind: str, chance: random.Random, documents: list[str]
) -> httpx.Response:
    if kind in ("search", "ask"):
        return await client.post(f"/{kind}", json={"question": chance.choice(_QUESTIONS), "libraries": ["bench"]})
    if kind == "read":
        return await client.get(f"/libraries/bench/documents/{chance.choice(documents)}/pages/1")
    if kind == "outline":
        return await client.get(f"/libraries/bench/documents/{chance.choice(documents)}/outline")
    if kind == "list":
        return await client.get("/libraries/bench/documents", params={"limit": 20, "sort": "-indexed_at"})
    name, sent = f"{chance.random()}.md", {"Content-Type": "application/octet-stream"}
    return await client.post(
        "/libraries/arriving/documents", params={"name": name}, content=_text(chance).encode(), headers=sent
    )


def overhead(url: str, home: Path, process: psutil.Process, count: int = 300) -> dict[str, float]:
    """Measure the same searches in the engine and over HTTP, in turn.

    Return the median of each in milliseconds, and the processor time per search, which other programs on the machine
    hardly affect.
    """
    direct: list[float] = []
    over_http: list[float] = []
    chance = random.Random(1)
    request = {"libraries": ["bench"], "effort": "fast"}
    with (
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=60) as client,
        asyncio.Runner() as runner,
    ):
        engine = Engine(home)
        inside_cpu = outside_cpu = 0.0
        for number in range(count + 20):
            question = chance.choice(_QUESTIONS)
            began, cpu, server_cpu = time.perf_counter(), time.process_time(), _cpu(process)
            runner.run(engine.search(question, libraries=["bench"], effort="fast"))
            between, cpu = time.perf_counter(), time.process_time() - cpu
            client.post("/search", json={"question": question, **request}).raise_for_status()
            if number >= 20:
                direct.append((between - began) * 1000)
                over_http.append((time.perf_counter() - between) * 1000)
                inside_cpu, outside_cpu = inside_cpu + cpu, outside_cpu + _cpu(process) - server_cpu
        engine.close()
    inside, outside = statistics.median(direct), statistics.median(over_http)
    cpu_ms = (1000 * inside_cpu / count, 1000 * outside_cpu / count)
    return {
        "engine_ms": round(inside, 2), "http_ms": round(outside, 2), "overhead_ms": round(outside - inside, 2),
        "engine_cpu_ms": round(cpu_ms[0], 2), "server_cpu_ms": round(cpu_ms[1], 2),
    }  # fmt: skip


def _cpu(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


async def memory(url: str, process: psutil.Process, requests: int) -> dict[str, float]:
    """Return the server's resident memory in MB after a tenth of the requests and after all."""
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=60) as client:
        left, after_tenth = requests, 0.0
        listed = await client.get("/libraries/bench/documents", params={"limit": 100})
        documents = [item["doc_id"] for item in listed.json()["documents"]]
        chance = random.Random(2)
        while left > 0:
            some = min(20, left)
            kinds = chance.choices(("search", "read", "list"), (40, 45, 15), k=some)
            await asyncio.gather(*(_send_one(client, kind, chance, documents) for kind in kinds))
            left -= some
            if not after_tenth and left <= requests * 0.9:
                after_tenth = process.memory_info().rss / 1e6
    return {"after_tenth_mb": round(after_tenth), "after_all_mb": round(process.memory_info().rss / 1e6)}


def first_events(home: Path, count: int = 20) -> dict[str, float]:
    """Measure the delay from a model's first token to the first text that a client receives.

    Return medians in milliseconds: for a streamed answer, and for an answer in a conversation.
    """
    with scripted_model() as (address, sent):
        settings = {"PAGEINDEX_LLM_MODEL": "m", "PAGEINDEX_LLM_BASE_URL": address, "PAGEINDEX_ENRICH": "never"}
        headers = {"Authorization": f"Bearer {_TOKEN}", "Accept": "text/event-stream"}
        with served(home, settings) as (url, _, _), httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            took: dict[str, list[float]] = {"ask_ms": [], "conversation_ms": []}
            for number in range(count + 2):
                question, request = _QUESTIONS[number], {"effort": "fast", "libraries": ["bench"], "force": True}
                talk = client.post("/conversations", json={"libraries": ["bench"]}).json()["id"]
                other = {"question": f"{question} Which?", "effort": "fast"}
                for name, path, body in (
                    ("ask_ms", "/ask", {"question": question, **request}),
                    ("conversation_ms", f"/conversations/{talk}/messages", other),
                ):
                    sent.clear()
                    with client.stream("POST", path, json=body) as answered:
                        lines = answered.iter_lines()
                        heard = next(time.monotonic() for line in lines if line.startswith("event: text"))
                        for _ in lines:
                            pass
                    if number >= 2 and sent:
                        took[name].append((heard - sent[0]) * 1000)
    return {name: round(statistics.median(samples), 1) for name, samples in took.items()} | {
        "answers": len(took["ask_ms"])
    }


@contextmanager
def scripted_model() -> Iterator[tuple[str, list[float]]]:
    """Start a model with OpenAI's interface that sends a word every 50 ms. Yield its URL and the times of sending."""
    sent: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for word in ("It ", "cost ", "4,200 ", "crowns ", "[[source:1]]."):
                delta = {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
                self.wfile.write(f"data: {json.dumps(delta)}\n\n".encode())
                sent.append(time.monotonic())
                time.sleep(0.05)
            done = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            self.wfile.write(f"data: {json.dumps(done)}\n\ndata: [DONE]\n\n".encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", sent
    finally:
        server.shutdown()


async def ending(home: Path, clients: int, seconds: float) -> dict[str, float]:
    """Return the seconds from SIGTERM until the server ends, while clients send requests."""
    with served(home) as (url, process, _):
        working = asyncio.ensure_future(load(url, clients, seconds))
        await asyncio.sleep(seconds / 2)
        began = time.monotonic()
        process.terminate()
        await asyncio.to_thread(process.wait, 60)
        took = time.monotonic() - began
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return {"sigterm_to_end_s": round(took, 2)}


def _text(chance: random.Random) -> str:
    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS + _NAMES, k=count))

    parts = [f"# {words(3)}\n\n{words(200)}." for _ in range(5)]
    return "\n\n".join(parts)


def _percentiles(took: list[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {f"p{share}_ms": round(ordered[len(ordered) * share // 100], 1) for share in (50, 95, 99)}


def fill(home: Path) -> None:
    chance, folder = random.Random(0), home.with_name("files")
    folder.mkdir()
    for number in range(100):
        (folder / f"{number:03}.md").write_text(_text(chance))
    engine = Engine(home)
    run(engine.index(folder, library="bench"))
    run(engine.libraries.create("arriving"))
    engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS, metavar="PART", help=", ".join(_PARTS))
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        fill(home)
        for part in options.only:
            report[part] = _measured(part, home, options)
            if not options.json:
                print(part, report[part], flush=True)
    if options.json:
        print(json.dumps(report, indent=1))


def _measured(part: str, home: Path, options: argparse.Namespace) -> Any:
    if part == "start":
        starts = []
        for _ in range(3):
            with served(home) as (_, process, ready):
                starts.append((ready, _cpu(process)))
        wall, cpu = zip(*starts, strict=True)
        return {"to_ready_s": round(statistics.median(wall), 2), "cpu_s": round(statistics.median(cpu), 2)}
    if part == "stream":
        return first_events(home)
    if part == "end":
        return asyncio.run(ending(home, options.clients, min(options.seconds, 20)))
    with served(home) as (url, process, _):
        if part == "search":
            return overhead(url, home, process)
        if part == "memory":
            return asyncio.run(memory(url, process, options.requests))
        done = asyncio.run(load(url, options.clients, options.seconds))
        return done | {"errors": done["errors"][:5], "failed": len(done["errors"])}


if __name__ == "__main__":
    main()
