"""Celery's workers do what waits in a catalog; whatever becomes of messages, each job is done, and once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.jobs.reading import JobReader
from hybrid_pageindex import Engine, run
from tests import pdfs, redis_real

redis = pytest.importorskip("redis", reason="the extra celery is not installed")
pytestmark = pytest.mark.slow
DISPATCHER = "hybrid_pageindex.doors.dispatcher"


@pytest.fixture
def broker() -> Iterator[str]:
    with redis_real.server() as url:
        yield url


def until(true: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def begun(home: Path, broker: str, *arguments: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PAGEINDEX_REDIS_URL": broker, "PAGEINDEX_STORAGE_PATH": str(home)}
    command = [sys.executable, "-m", "celery", "-A", DISPATCHER, *arguments]
    return subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_jobs_are_done_once_whatever_becomes_of_messages(engine: Engine, tmp_path: Path, broker: str) -> None:
    files = [pdfs.numbered(tmp_path / f"{number}.pdf", 1, f"cape {number}") for number in range(4)]
    run(engine.index(files[:2], detach=True))
    reader = JobReader(engine._catalog())

    def done() -> int:
        return reader.counts().done

    processes = [begun(engine.home, broker, "worker", "--pool", "prefork", "--concurrency", "2")]
    try:
        with closing(redis.Redis.from_url(broker)) as messages:
            sent = (
                f"from {DISPATCHER} import app, work\n"
                "for _ in range(3): [work.apply_async((n,), queue='pageindex.index') for n in (1, 2, 99)]"
            )
            environment = os.environ | {"PAGEINDEX_REDIS_URL": broker, "PAGEINDEX_STORAGE_PATH": str(engine.home)}
            subprocess.run([sys.executable, "-c", sent], env=environment, check=True, timeout=60)
            until(lambda: done() == 2)  # each was sent three times, with one that there is not
            run(engine.index(files[2:], detach=True))
            messages.flushall()  # and nobody has sent these
            processes.append(begun(engine.home, broker, "beat", "--schedule", str(tmp_path / "beat")))
            until(lambda: done() == 4)
        for number in range(1, 5):
            assert [event.kind for event in reader.events(job=number)].count("claimed") == 1
        assert {result.doc_name for result in run(engine.search("cape 3")).results} >= {"3.pdf"}
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)


def test_without_a_broker_it_says_what_to_set(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", f"import {DISPATCHER}"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode and "Set PAGEINDEX_REDIS_URL" in ran.stderr
