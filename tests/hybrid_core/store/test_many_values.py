"""More values than one statement of PostgreSQL takes."""

from __future__ import annotations

import pytest
from sqlalchemy import insert

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.tables import job_waiters, pauses, workers
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import JobRequest
from tests.hybrid_core.store.test_catalog import ALPHA, BETA, C1, C2, content, publish

MANY = 70_000  # it takes 65,535

pytestmark = pytest.mark.slow


def test_contents_and_pages_are_read_by_any_number_of_them(catalog: Catalog) -> None:
    publish(catalog, "d1", ALPHA, content(3, "alpha"))
    publish(catalog, "d2", BETA, content(1, "beta"))
    gone = [f"c{number}" for number in range(MANY)]
    numbers = [3, *range(MANY, 0, -1)]
    with catalog.snapshot() as snapshot:
        assert set(snapshot.looked_into([C1, *gone, C2])) == {C1, C2}
        assert [page.number for page in snapshot.pages(C1, numbers)] == [1, 2, 3]
        assert [chunk.number for chunk in snapshot.chunks(C1, numbers)] == [1, 2, 3]
        assert snapshot.pages(C1, []) == [] and snapshot.chunks(C1, []) == []


def test_jobs_are_taken_beside_any_number_that_are_paused(catalog: Catalog) -> None:
    queue = JobQueue(catalog)
    made = queue.enqueue([JobRequest("default", "index", f"/{number}", "parse") for number in range(2)])
    with catalog.writing() as connection:
        others = [str(made[0].job), *(str(10**12 + number) for number in range(MANY))]
        connection.execute(insert(pauses), [{"scope": "job", "id": one, "at": 1} for one in others])
    assert [job.id for job in queue.claim("w1", [], limit=2)] == [made[1].job]


def test_any_number_of_workers_may_be_gone(catalog: Catalog) -> None:
    with catalog.writing() as connection:
        names = [f"w{number}" for number in range(MANY)]
        row = {"host": "h", "pid": 1, "kind": "worker", "abilities": "", "started_at": 1, "heartbeat_at": 1}
        connection.execute(insert(workers), [row | {"id": name} for name in names])
        connection.execute(insert(job_waiters), [{"worker_id": name, "job_id": 1} for name in names[:2]])
    Workers(catalog).sweep()
    with catalog.reading() as connection:
        assert not connection.execute(workers.select()).all() and not connection.execute(job_waiters.select()).all()
