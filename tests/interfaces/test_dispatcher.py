"""Celery's workers do what waits in a catalog; whatever becomes of messages, each job is done, and once."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.jobs import JobRequest
from hybrid_pageindex import Engine, run
from tests import pdfs, redis_real
from tests.indexers.jobs.test_limits import endless

redis = pytest.importorskip("redis", reason="the extra celery is not installed")
pytestmark = pytest.mark.slow
DISPATCHER = "hybrid_pageindex.dispatcher"
Process = subprocess.Popen[bytes]


@pytest.fixture
def broker() -> Iterator[str]:
    with redis_real.server() as url:
        yield url


def until(true: Callable[[], object], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


AHEAD = """
import datetime, sys
class Ahead(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(minutes=1)
datetime.datetime = Ahead
from celery.__main__ import main
main()
"""
"""Celery on a machine whose clock is a minute ahead."""


@contextmanager
def begun(home: Path, broker: str, *arguments: str, main: Sequence[str] = ("-m", "celery")) -> Iterator[Process]:
    environment = os.environ | {"PAGEINDEX_REDIS_URL": broker, "PAGEINDEX_STORAGE_PATH": str(home)}
    command = [sys.executable, *main, "-A", DISPATCHER, *arguments]
    process = subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(600)
        finally:
            process.kill()


def jobs_of(library: str, count: int, *needs: str) -> list[JobRequest]:
    names = (f"/{library}/{number}.pdf" for number in range(count))
    return [JobRequest(library, "index", name, "parse", needs=frozenset(needs)) for name in names]


def test_jobs_are_done_once_whatever_becomes_of_messages(engine: Engine, tmp_path: Path, broker: str) -> None:
    files = [pdfs.numbered(tmp_path / f"{number}.pdf", 1, f"cape {number}") for number in range(4)]
    run(engine.index(files[:2], detach=True))
    reader = JobReader(engine._catalog())

    def done() -> int:
        return reader.counts().done

    with ExitStack() as processes, closing(redis.Redis.from_url(broker)) as messages:
        processes.enter_context(begun(engine.home, broker, "worker", "--pool", "prefork", "--concurrency", "2"))
        sent = (
            f"from {DISPATCHER} import app, work\n"
            "for _ in range(3): [work.apply_async((n,), queue='pageindex.index') for n in (1, 2, 99)]"
        )
        environment = os.environ | {"PAGEINDEX_REDIS_URL": broker, "PAGEINDEX_STORAGE_PATH": str(engine.home)}
        subprocess.run([sys.executable, "-c", sent], env=environment, check=True, timeout=600)
        until(lambda: done() == 2)  # each was sent three times, with one that there is not
        run(engine.index(files[2:], detach=True))
        messages.flushall()  # and nobody has sent these
        processes.enter_context(begun(engine.home, broker, "beat"))
        until(lambda: done() == 4)
        for number in range(1, 5):
            assert [event.kind for event in reader.events(job=number)].count("claimed") == 1
        assert {result.doc_name for result in run(engine.search("cape 3")).results} >= {"3.pdf"}


@pytest.mark.parametrize("how", ["paused", "unable", "ahead", "one queue", "own beat"])
def test_a_worker_gets_jobs(engine: Engine, tmp_path: Path, broker: str, how: str) -> None:
    """Whatever else waits before them, whatever its clock says, and whichever queue it reads."""
    run(engine.index(pdfs.numbered(tmp_path / "before.pdf", 1, "cape"), library="many", detach=True))
    if how in ("paused", "unable"):
        queue = JobQueue(engine._catalog())
        queue.enqueue(jobs_of("many", 1100, *(["machine:away"] if how == "unable" else [])))
    if how == "paused":
        run(engine.jobs.pause(library="many"))
    run(engine.index(pdfs.numbered(tmp_path / "wanted.pdf", 1, "cape"), library="other", detach=True))
    wanted = run(engine.jobs.list(library="other")).jobs[0].job.id
    main = ["-c", AHEAD] if how == "ahead" else ["-m", "celery"]
    queues = ["--queues", "pageindex.index"] if how == "one queue" else []
    worker = ["worker", "--pool", "prefork", "--concurrency", "1", *queues]
    with ExitStack() as processes:
        if how == "own beat":
            worker.append("--beat")
        else:
            processes.enter_context(begun(engine.home, broker, "beat"))
        processes.enter_context(begun(engine.home, broker, *worker, main=main))
        until(lambda: JobReader(engine._catalog()).job(wanted).status == "done")


def test_messages_that_nobody_takes_are_replaced_and_none_is_too_old(engine: Engine, broker: str) -> None:
    queue = JobQueue(engine._catalog())
    queue.enqueue([*jobs_of("many", 300), *jobs_of("other", 1)])
    with closing(redis.Redis.from_url(broker)) as messages, begun(engine.home, broker, "beat"):

        def waiting() -> list[dict[str, Any]]:
            return [json.loads(one) for one in messages.lrange("pageindex.index", 0, -1)]

        until(lambda: len(waiting()) == 200)
        first = waiting()
        until(lambda: len(now := waiting()) == 200 and now[0]["headers"]["id"] != first[0]["headers"]["id"])
    assert all(message["headers"]["expires"] is None for message in first)
    assert 301 in [json.loads(base64.b64decode(message["body"]))[0][0] for message in first]


@pytest.mark.parametrize("pool", ["prefork", "solo", "threads"])
def test_a_worker_that_is_told_to_end_gives_back_what_it_has(
    engine: Engine, tmp_path: Path, broker: str, pool: str
) -> None:
    run(engine.index(endless(tmp_path / "endless.pdf", 2), detach=True))
    reader = JobReader(engine._catalog())
    worker = ["worker", "--pool", pool, "--concurrency", "1"]
    with begun(engine.home, broker, "beat"), begun(engine.home, broker, *worker) as process:
        until(lambda: reader.job(1).status == "running")
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        process.wait(600)
    job = reader.job(1)
    assert (job.status, job.attempts) == ("waiting", 0)
    assert reader.events(job=1)[-1].kind == "released" and not run(engine.jobs.list()).workers


def test_without_a_broker_it_says_what_to_set(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", f"import {DISPATCHER}"], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode and "Set PAGEINDEX_REDIS_URL" in ran.stderr
