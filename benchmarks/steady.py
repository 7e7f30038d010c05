"""Check that memory and descriptors stay flat over many requests, streams, sessions, or a day of following.

    python -m benchmarks steady clients [--clients 50] [--seconds 600]
    python -m benchmarks steady searches [--count 100000]
    python -m benchmarks steady streams [--count 200] [--seconds 600]
    python -m benchmarks steady sessions [--count 10000]
    python -m benchmarks steady following [--hours 24] [--poll]

- ``clients``: clients search, read, outline, list, upload and ask (a scripted model) at the same time.
- ``searches``: one client sends searches, one after the other.
- ``streams``: event streams are opened, hear of uploads, and are closed, again and again.
- ``sessions``: one client opens MCP sessions. It searches in each tenth, and leaves each second one open.
- ``following``: an engine follows a folder of 40 files. A fake clock passes as fast as the changes of each minute are
  indexed. Each hour, the documents must be equal to the files.

Memory and open descriptors are sampled 200 times. A line is fitted to the last half of the samples. The benchmark
prints one line of JSON. It exits with 1 after an error, or if memory or descriptors still grew: memory by more than 1 %
and more than the noise of the samples, descriptors by more than two. A short run ends before memory is flat.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import httpx2
import numpy as np
import psutil

from benchmarks import http_load, mcp_load
from hybrid_core.store.jobs.reader import JobReader
from hybrid_pageindex import Engine, run
from indexers.files import watcher

_SAMPLES = 200
_GROWTH = 1.0  # percent of memory in the last half
_DESCRIPTORS = 2
_NOISE = 5.0  # percent: samples that vary more show nothing


class Samples:
    """Samples of a process's memory in MB and of its open descriptors."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._memory: list[float] = []
        self._descriptors: list[int] = []

    def take(self) -> None:
        self._memory.append(self._process.memory_info().rss / 1e6)
        self._descriptors.append(self._process.num_fds())

    def report(self) -> dict[str, Any]:
        """Return first and last values, growth over the last half, and what was not steady as ``errors``."""
        memory, memory_noise = _growth(self._memory)
        descriptors, _ = _growth([float(count) for count in self._descriptors])
        mean = float(np.mean(self._memory))
        percent, noise = 100 * memory / mean, 100 * memory_noise / mean
        errors = []
        if percent > _GROWTH and percent > min(noise, _NOISE):
            errors.append(f"memory grew by {percent:.2f} % in the last half (noise {noise:.2f} %)")
        if descriptors > _DESCRIPTORS:
            errors.append(f"descriptors grew by {descriptors:.1f} in the last half")
        return {
            "memory_mb": [round(self._memory[0], 1), round(self._memory[-1], 1)],
            "memory_growth_percent": round(percent, 2), "memory_noise_percent": round(noise, 2),
            "descriptors": [self._descriptors[0], self._descriptors[-1]],
            "descriptors_growth": round(descriptors, 1), "samples": len(self._memory), "errors": errors,
        }  # fmt: skip

    @asynccontextmanager
    async def every(self, seconds: float) -> AsyncIterator[None]:
        """Take samples at intervals while the block runs."""

        async def sample() -> None:
            while True:
                self.take()
                await asyncio.sleep(seconds)

        task = asyncio.ensure_future(sample())
        try:
            yield
        finally:
            task.cancel()


def _growth(values: list[float]) -> tuple[float, float]:
    """Return by how much a line through the last half of the values rises, and twice the standard error of this."""
    last = np.array(values[len(values) // 2 :])
    if len(last) < 4:
        return 0.0, 0.0
    at = np.arange(len(last)) - (len(last) - 1) / 2
    slope = float(at @ last / (at @ at))
    rest = last - last.mean() - slope * at
    error = float(np.sqrt(rest @ rest / (len(last) - 2) / (at @ at)))
    return slope * len(last), 2 * error * len(last)


def _milliseconds(seconds: list[float]) -> dict[str, float]:
    p50, p95, p99 = np.percentile(np.array(seconds) * 1000, [50, 95, 99])
    return {"p50_ms": round(p50, 1), "p95_ms": round(p95, 1), "p99_ms": round(p99, 1)}


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    home = folder / "home"
    http_load.fill(home)
    with http_load.scripted_model() as (address, _):
        settings = {"PAGEINDEX_LLM_MODEL": "m", "PAGEINDEX_LLM_BASE_URL": address, "PAGEINDEX_ENRICH": "never"}
        with http_load.served(home, settings) as (url, process, _):
            yield url, process


def clients(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    with _served(folder) as (url, process):
        samples = Samples(process)

        async def work() -> dict[str, Any]:
            async with samples.every(options.seconds / _SAMPLES):
                return await http_load.load(url, options.clients, options.seconds)

        done = asyncio.run(work())
        steady = samples.report()
    failed = done.pop("errors")
    return done | steady | {"failed": len(failed), "errors": failed[:5] + steady["errors"]}


def searches(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    chance, took, failed = random.Random(1), list[float](), list[str]()
    with _served(folder) as (url, process), http_load.client_of(url) as client:
        samples = Samples(process)
        for number in range(options.count):
            question = f"What did the {' '.join(chance.sample(http_load.WORDS, 3))} cost?"
            began = time.perf_counter()
            answer = client.post("/search", json={"question": question, "libraries": ["bench"], "effort": "fast"})
            took.append(time.perf_counter() - began)
            if not answer.is_success:
                failed.append(answer.text[:200])
            if number % max(1, options.count // _SAMPLES) == 0:
                samples.take()
        steady = samples.report()
    return {"searches": len(took), **_milliseconds(took), **steady, "errors": failed[:5] + steady["errors"]}


def streams(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure from the moment an upload was accepted until each stream has heard that its job is done."""
    took, failed, rounds = list[float](), list[str](), 0
    with _served(folder) as (url, process):
        samples, end = Samples(process), time.monotonic() + options.seconds
        while time.monotonic() < end:
            asyncio.run(_hear(url, options.count, rounds, took, failed))
            samples.take()
            rounds += 1
        steady = samples.report()
    return {
        "streams": options.count, "rounds": rounds, "heard": len(took), **_milliseconds(took or [0]), **steady,
        "errors": failed[:5] + steady["errors"],
    }  # fmt: skip


async def _hear(url: str, count: int, number: int, took: list[float], failed: list[str]) -> None:
    """Open the streams, upload a document, wait until all have heard of it, and close them."""
    accepted: dict[int, float] = {}
    opened = asyncio.Semaphore(0)
    limits = httpx.Limits(max_connections=count + 5, max_keepalive_connections=count + 5)
    async with http_load.client_of(url, httpx.AsyncClient, limits=limits) as client:

        async def hear() -> None:
            try:
                async with client.stream("GET", "/jobs/events", params={"library": "arriving"}) as events:
                    opened.release()
                    if events.status_code != 200:
                        failed.append(f"stream: {events.status_code}")
                        return
                    kind = ""
                    async for line in events.aiter_lines():
                        kind = line[7:] if line.startswith("event: ") else kind
                        if line.startswith("data: ") and kind == "done":
                            job = json.loads(line[6:]).get("job")
                            while not accepted:
                                await asyncio.sleep(0.01)
                            if job in accepted:
                                took.append(max(0.0, time.perf_counter() - accepted[job]))
                                return
                failed.append("a stream ended")
            except httpx.HTTPError as error:
                opened.release()
                failed.append(f"stream: {type(error).__name__} {error}")

        listening = [asyncio.ensure_future(hear()) for _ in range(count)]
        for _ in range(count):
            await opened.acquire()
        sent = await client.post(
            "/libraries/arriving/documents", params={"name": f"{number}.md"},
            content=f"# Document {number}\n\nThe heron number {number} is grey.\n".encode(),
            headers={"Content-Type": "application/octet-stream"},
        )  # fmt: skip
        accepted[sent.json()["files"][0]["job"]] = time.perf_counter()
        _, silent = await asyncio.wait(listening, timeout=120)
        failed += ["a stream heard nothing for two minutes"] * len(silent)
        for task in silent:
            task.cancel()
        await asyncio.gather(*silent, return_exceptions=True)


def sessions(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    took, failed = list[float](), list[str]()
    http_load.fill(folder / "home")
    accepts = {"Accept": "application/json, text/event-stream"}
    with mcp_load.server(folder / "home") as (url, pid), httpx2.Client(headers=accepts, timeout=60) as client:
        samples = Samples(psutil.Process(pid))
        for number in range(options.count):
            began = time.perf_counter()
            answer = client.post(url, json=mcp_load.HELLO)
            took.append(time.perf_counter() - began)
            if answer.status_code != 200:
                failed.append(f"initialize: {answer.status_code}")
                continue
            named = {"mcp-session-id": answer.headers["mcp-session-id"]}
            if number % 10 == 0:
                search = {"name": "search", "arguments": {"question": "mill", "library": "bench"}}
                message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search}
                answer = client.post(url, json=message, headers=named)
                if answer.status_code != 200 or '"isError":true' in answer.text.replace(" ", ""):
                    failed.append(f"search: {answer.status_code} {answer.text[:200]}")
            if number % 2:
                client.delete(url, headers=named)
            if number % max(1, options.count // _SAMPLES) == 0:
                samples.take()
        steady = samples.report()
    return {"sessions": len(took), **_milliseconds(took), **steady, "errors": failed[:5] + steady["errors"]}


class Day:
    """A fake clock, and the changes of a folder that it brings about. It passes a quarter of a second at each tick."""

    _FILES, _TICKS_PER_MINUTE = 40, 240

    def __init__(self, folder: Path, engine: Engine, hours: float) -> None:
        self._folder, self._engine, self._chance = folder, engine, random.Random(1)
        self._reader = JobReader(engine._context.parts.catalog)
        self._minutes, self._tick = round(hours * 60), 0
        self.samples = Samples(psutil.Process())
        self.over = threading.Event()
        self.changes, self.took, self.errors = 0, list[float](), list[str]()

    def monotonic(self) -> float:
        return self._tick / 4

    def hints(self, folder: Path, home: Path, *, events: bool, stop: threading.Event) -> Iterator[bool]:
        """Let the day pass. Yield True for the tick after a change if the system reports changes."""
        while not stop.is_set() and not self.over.is_set():
            self._tick += 1
            minute, rest = divmod(self._tick, self._TICKS_PER_MINUTE)
            changed = rest == 1 and minute % 60 < 50  # ten quiet minutes an hour, in which all must settle
            if changed:
                self._change(minute)
            yield changed and events
            if rest == 60:  # 15 s after the change
                self._settle()
            if rest == 0 and minute % 60 == 0:
                self._compare()
            if rest == 0 and minute % max(1, self._minutes // _SAMPLES) == 0:
                self.samples.take()
            if minute >= self._minutes:
                self.over.set()
        stop.wait(0.5)

    def _change(self, minute: int) -> None:
        files = sorted(self._folder.iterdir())
        path = self._chance.choice(files) if files else self._folder / "0.md"
        self.changes += 1
        if len(files) < self._FILES or self._chance.random() < 0.1:
            path = self._folder / f"{minute}.md"
        elif self._chance.random() < 0.2:
            path.unlink()
            return
        elif self._chance.random() < 0.2:
            path.rename(self._folder / f"moved-{minute}.md")
            return
        path.write_text(f"# Minute {minute}\n\nThe heron of minute {minute} is grey, {self._chance.random()}.\n")

    def _settle(self) -> None:
        """Wait, by the real clock, until no job waits or runs."""
        began = time.monotonic()
        while (counts := self._reader.counts()).waiting or counts.running:
            if time.monotonic() > began + 300:
                self.errors.append(f"jobs did not end within 5 minutes: {counts}")
                self.over.set()
                return
            time.sleep(0.02)
        self.took.append(time.monotonic() - began)

    def _compare(self) -> None:
        documents = {document.name for document in run(self._engine.documents.list())}
        files = {path.name for path in self._folder.iterdir()}
        if documents != files:
            self.errors.append(f"after {self._tick / 14400:.0f} h: {sorted(documents ^ files)[:5]} differ")
        for path in self._chance.sample(sorted(self._folder.iterdir()), 3):
            words = path.read_text().splitlines()[-1]
            best = [hit.doc_name for hit in self._engine.search_now(words, effort="fast", expert="none").results[:1]]
            if best != [path.name]:
                self.errors.append(f"after {self._tick / 14400:.0f} h: {words!r} finds {best} instead of {path.name}")


def following(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    watched, real = folder / "files", (watcher.time, watcher.hints)
    watched.mkdir()
    with closing(Engine(folder / "home")) as engine:
        run(engine.sources.watch_folder(watched, poll=options.poll))
        day = Day(watched, engine, options.hours)

        async def follow() -> None:
            watching = asyncio.ensure_future(engine.sources.watch())
            while not day.over.is_set() and not watching.done():
                await asyncio.sleep(0.1)
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

        watcher.time, watcher.hints = day, day.hints  # type: ignore[assignment]
        try:
            asyncio.run(follow())
        finally:
            watcher.time, watcher.hints = real
        steady = day.samples.report()
    return {
        "hours": options.hours, "changes": day.changes, **_milliseconds(day.took or [0]), **steady,
        "errors": day.errors[:5] + steady["errors"],
    }  # fmt: skip


PARTS = {
    "clients": clients, "searches": searches, "streams": streams, "sessions": sessions, "following": following,
}  # fmt: skip
_COUNTS = {"searches": 100_000, "streams": 200, "sessions": 10_000}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--count", type=int)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--poll", action="store_true")
    options = parser.parse_args()
    options.count = options.count or _COUNTS.get(options.part, 0)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = PARTS[options.part](Path(folder), options)
    print(json.dumps({"part": options.part, **figures, "took_s": round(time.monotonic() - began)}))
    return 1 if figures["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
