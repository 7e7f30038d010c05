"""Measure the engine's overhead per model call, and how throughput depends on the limit of simultaneous calls.

    python -m benchmarks models [--calls 640] [--server-ms 200]

The server runs in its own process, answers every call after a fixed time, and has no limit. The ideal time is
ceil(calls / concurrency) × the server's time. Overhead is the additional wall time in per cent of the ideal time. The
first calls open the connections and are not timed. "bare" makes the same calls with the HTTP library alone and shows
the overhead of machine and server. On a busy machine, read the processor time per call instead. The last rows show the
throughput for each limit, with twice as many callers as the largest limit.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
from pydantic import BaseModel

from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.chat import Message
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.replies import ReplyCache
from hybrid_core.store.cache import Cache

SERVER = """
import sys, time
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server
text = '{"page": 12, "why": "' + "because the table stands there " * 20 + '"}'
with scripted_server(lambda request: FakeReply(text, wait=float(sys.argv[1]))) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""
PROMPT = (
    "Which of these pages holds the answer? " + "A page about revenue and its growth in 2018. " * 200
)  # 2,300 tokens


LIMITS = (1, 4, 8, 16, 32)


class Found(BaseModel):
    page: int
    why: str


def timed(call: Callable[[int], object], calls: int, threads: int) -> tuple[float, float]:
    """Return the wall seconds of the calls, and this process's processor seconds. Untimed calls open the connections
    first.
    """
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(call, range(-threads, 0)))
        start, worked = time.perf_counter(), time.process_time()
        list(pool.map(call, range(calls)))
        return time.perf_counter() - start, time.process_time() - worked


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--server-ms", type=float, default=200)
    options = parser.parse_args()
    wait = options.server_ms / 1000
    served = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(wait)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert served.stdout is not None and served.stdin is not None
    url = served.stdout.readline().strip()
    rows = []
    with tempfile.TemporaryDirectory() as folder, httpx2.Client(limits=httpx2.Limits(max_connections=100)) as http:
        stored = Cache(Path(folder) / "cache.sqlite", 10**9)
        for concurrency in LIMITS:
            calls = max(concurrency, options.calls * concurrency // 32)
            ideal = math.ceil(calls / concurrency) * wait
            body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}

            def bare(n: int) -> object:
                return http.post(f"{url}/chat/completions", json=body).json()  # noqa: B023

            taken = {"bare": timed(bare, calls, concurrency)}
            for name, cache in (("engine", None), ("engine with reply cache", ReplyCache(stored))):
                caller = ChatModel(OpenAIChat("m", base_url=url), limiter=Limiter(concurrency), cache=cache)

                def ask(n: int) -> object:
                    return caller.ask([Message("user", f"{concurrency}/{n} {PROMPT}")], Found)  # noqa: B023

                taken[name] = timed(ask, calls, concurrency)
                if cache is not None:
                    start = time.perf_counter()
                    for n in range(calls):
                        ask(n)
                    call_ms = (time.perf_counter() - start) / calls * 1000
                caller.close()
            rows += [
                {
                    "at once": concurrency,
                    "calls": calls,
                    "how": name,
                    "seconds": round(seconds, 3),
                    "calls per second": round(calls / seconds, 1),
                    "overhead %": round((seconds / ideal - 1) * 100, 2),
                    "processor ms per call": round(worked / calls * 1000, 2),
                }
                for name, (seconds, worked) in taken.items()
            ]
            print(*map(json.dumps, rows[-3:]), f"a kept reply: {call_ms:.2f} ms", sep="\n", flush=True)
        for limit in LIMITS:
            caller = ChatModel(OpenAIChat("m", base_url=url), limiter=Limiter(limit))
            calls = max(limit, options.calls * limit // 32)

            def waiting(n: int) -> object:
                return caller.ask([Message("user", f"{n} {PROMPT}")], Found)  # noqa: B023

            seconds, _ = timed(waiting, calls, 2 * LIMITS[-1])
            caller.close()
            expected = limit / wait
            row = {"limit": limit, "callers": 2 * LIMITS[-1], "calls per second": round(calls / seconds, 1)}
            print(json.dumps(row | {"share of what is possible": round(calls / seconds / expected, 3)}), flush=True)
        stored.close()
    served.stdin.close()
    served.wait(10)


if __name__ == "__main__":
    main()
