"""The queue where the database is locked or full, among very many ended jobs, and asked by many processes at once."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, insert
from sqlalchemy.engine import Engine

from hybrid_core.errors import StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.control import JobControl, Keep, fold
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.store.jobs.tables import jobs
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import JobProgress, JobRequest, JobUpdate

pytestmark = pytest.mark.slow


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "catalog.sqlite")
    yield made
    made.close()


def requests(count: int) -> list[JobRequest]:
    return [JobRequest("default", "index", f"/{number}.pdf", "parse") for number in range(count)]


@pytest.mark.parametrize("seconds", [8, pytest.param(30, marks=pytest.mark.endurance)])
def test_a_database_that_is_locked_for_long_loses_no_lease(catalog: Catalog, seconds: int) -> None:
    """Reads go on meanwhile, and every write is done afterwards."""
    queue, reader = JobQueue(catalog), JobReader(catalog)
    queue.enqueue(requests(2))
    [job] = queue.claim("w", [])
    locked, over = threading.Event(), threading.Event()

    def lock() -> None:
        other = sqlite3.connect(catalog.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        locked.set()
        over.wait(seconds)
        other.execute("ROLLBACK")
        other.close()

    locker = threading.Thread(target=lock)
    locker.start()
    assert locked.wait(600)
    begun = time.monotonic()
    done: dict[str, float] = {}
    writes = {
        "renewed": lambda: queue.renew("w"),
        "told": lambda: queue.progress([JobProgress(job.fence, 3, 9)]),
        "enqueued": lambda: queue.enqueue(requests(3)),
        "claimed": lambda: queue.claim("other", []),
    }

    def write(name: str) -> None:
        writes[name]()
        done[name] = time.monotonic() - begun

    writers = [threading.Thread(target=write, args=(name,)) for name in writes]
    for writer in writers:
        writer.start()
    assert [lease.fence for lease in queue.leases("w")] == [job.fence] and reader.job(job.id).done == 0
    assert not done
    for thread in (*writers, locker):
        thread.join(600)
    assert done.keys() == writes.keys() and min(done.values()) > seconds - 4
    queue.advance(job.fence, JobUpdate("done"))
    assert [(one.subject, one.status) for one in reader.listed()] == [
        ("/1.pdf", "running"), ("/2.pdf", "waiting"), ("/0.pdf", "done"),
    ]  # fmt: skip


class _Disk:
    """A disk with room for so many pages of the database."""

    def __init__(self, engine: Engine) -> None:
        self.pages = 2**30
        event.listen(engine, "begin", self._limit)

    def _limit(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {self.pages}")


def test_a_full_disk_leaves_the_queue_as_it_was(catalog: Catalog) -> None:
    queue, reader = JobQueue(catalog), JobReader(catalog)
    disk = _Disk(catalog._database.engine)
    made = queue.enqueue(requests(10), waiter="w")
    [job] = queue.claim("w", [])
    with catalog.reading() as connection:
        disk.pages = connection.exec_driver_sql("PRAGMA page_count").scalar() or 0
    with pytest.raises(StoreError, match="full"):
        queue.enqueue(requests(5000), waiter="w")
    assert reader.counts().waiting == 9 and reader.counts(waiter="w").running == 1
    with pytest.raises(StoreError, match="full"):
        for _ in range(1000):
            queue.fail(job.fence, "broken " * 1000, final=True)
            JobControl(catalog).retry([job.id])
            [job] = queue.claim("w", [])
    assert {job.id for job in reader.jobs([one.job for one in made])} == {one.job for one in made}
    disk.pages = 2**30
    for running in reader.listed(status=["running"]):
        queue.advance(running.fence, JobUpdate("done"))
    while taken := queue.claim("w", []):
        queue.advance(taken[0].fence, JobUpdate("done"))
    counts = reader.counts()
    assert (counts.waiting, counts.running, counts.done + counts.failed) == (0, 0, 10)


def put_ended(catalog: Catalog, count: int) -> None:
    old = {
        "library": "default", "kind": "index", "options": "{}", "needs": "", "version": "", "priority": 10,
        "status": "done", "stage": "parse", "created_at": 1, "claim": 1,
    }  # fmt: skip
    values = [
        old | {"subject": f"/old/{number}", "key": f"old {number}", "finished_at": 10**12 + number}
        for number in range(count)
    ]
    with catalog.writing() as connection:
        connection.execute(insert(jobs), values)


def test_ended_jobs_are_never_gone_through_to_take_one(catalog: Catalog) -> None:
    """How long that takes among a million is in benchmarks/jobs.py; here, that what is read does not grow with them."""
    queue = JobQueue(catalog)
    put_ended(catalog, 20_000)
    queue.enqueue(requests(50), waiter="w")
    statements: list[tuple[str, object]] = []

    def note(_c: object, _cursor: object, statement: str, parameters: object, _x: object, _many: bool) -> None:
        statements.append((statement, parameters))

    event.listen(catalog._database.engine, "before_cursor_execute", note)
    for awaited in (False, True):
        queue.enqueue([JobRequest("default", "index", f"/{name}.pdf", "parse") for name in ("new", 1, 2)])
        [job] = queue.claim("w", [], only_awaited=awaited)
        queue.leases("w")
        queue.renew("w")
        queue.expire()
        queue.progress([JobProgress(job.fence, 1, 2)])
        queue.advance(job.fence, JobUpdate("done"))
        Workers(catalog).sweep("w")
        Workers(catalog).leave("other")
        JobControl(catalog).cancel(library="default", subjects=["/5.pdf"])
    event.remove(catalog._database.engine, "before_cursor_execute", note)
    with sqlite3.connect(catalog.path) as direct:
        for statement, parameters in statements:
            if statement.startswith(("SELECT", "WITH", "UPDATE jobs", "DELETE")):
                plan = [row[3] for row in direct.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]  # type: ignore[arg-type]
                if "jobs.not_before <=" in statement:
                    assert not any("ORDER BY" in step for step in plan), "all that waits is sorted"
                bad = [step for step in plan if step.startswith("SCAN jobs") and "USING" not in step]
                assert not bad, f"{bad} in {statement}"
                ended = [step for step in plan if "jobs_by_" in step and "status=?" not in step]
                assert not [step for step in ended if "by_end" in step or "by_library" in step], statement
    direct.close()


def test_what_is_too_much_is_folded_away_while_others_work(catalog: Catalog) -> None:
    queue = JobQueue(catalog)
    put_ended(catalog, 20_000)
    queue.enqueue(requests(20))
    folding = threading.Thread(target=fold, args=(catalog, Keep(rows=1000, days=36_500)))
    folding.start()
    while taken := queue.claim("w", []):
        queue.advance(taken[0].fence, JobUpdate("done"))
    folding.join()
    fold(catalog, Keep(rows=1000, days=36_500))
    assert JobReader(catalog).counts().done == 1000
    newest = JobReader(catalog).listed(limit=25)
    assert {job.subject for job in newest[:20]} == {f"/{number}.pdf" for number in range(20)}


def _enqueue(path: Path) -> list[str]:
    catalog = Catalog(path)
    outcomes = [one.outcome for one in JobQueue(catalog).enqueue(requests(1000))]
    catalog.close()
    return outcomes


def test_8_processes_that_ask_for_the_same_1000_files_make_each_job_once(catalog: Catalog) -> None:
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        outcomes = pool.map(_enqueue, [catalog.path] * 8, 1)
    assert Counter(one for some in outcomes for one in some) == {"new": 1000, "joined": 7000}
    assert JobReader(catalog).counts().waiting == 1000
