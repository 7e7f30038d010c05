"""A COMMIT that was done and whose answer was lost: it may be tried again, and that does no harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.errors import LeaseLostError, UnreachableError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.types.jobs import JobRequest, JobUpdate
from tests import postgres
from tests.forgetful import Forgetful, forgetful
from tests.hybrid_core.store.test_catalog import ALPHA, C1, content, publish, rows

REQUEST = JobRequest("default", "index", "/a.pdf", "parse")


@pytest.fixture
def way(postgres_url: str) -> Iterator[Forgetful]:
    with forgetful(postgres.new_database(postgres_url)) as made:
        yield made


@pytest.fixture
def catalog(way: Forgetful, tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "catalog.sqlite", way.url)) as made:
        made.ensure_library("default")
        yield made


def unheard(way: Forgetful, work: Callable[[], object]) -> None:
    """Done, and the answer lost."""
    before = way.lost
    way.armed.set()
    with pytest.raises(UnreachableError) as raised:
        work()
    assert raised.value.retryable and way.lost == before + 1


def test_a_publication(way: Forgetful, catalog: Catalog) -> None:
    queue = JobQueue(catalog)
    queue.enqueue([REQUEST])
    [job] = queue.claim("w", [])

    def work() -> None:
        publish(catalog, "a", ALPHA, content(3, "alpha"), fence=job.fence, advance=JobUpdate("done"))

    unheard(way, work)
    with pytest.raises(LeaseLostError):  # the job has ended, so its second try writes nothing
        work()
    with catalog.snapshot() as snapshot:
        assert snapshot.published("default") == {"a": C1}
        assert [change.doc_id for change in snapshot.changes("default", 0)] == ["a"]
    assert rows(catalog)["contents"] == 1
    assert JobReader(catalog).job(job.id).status == "done"


def test_a_request(way: Forgetful, catalog: Catalog) -> None:
    queue = JobQueue(catalog)
    unheard(way, lambda: queue.enqueue([REQUEST]))
    [again] = queue.enqueue([REQUEST])
    assert again.outcome == "joined"
    assert [job.id for job in queue.claim("w", [], limit=9)] == [again.job]


def test_a_claim(way: Forgetful, catalog: Catalog) -> None:
    queue = JobQueue(catalog)
    queue.enqueue([REQUEST])
    unheard(way, lambda: queue.claim("w", []))
    [lease] = queue.leases("w")  # which the worker finds among what it has, and gives back as it knows nothing of it
    assert queue.claim("another", []) == []
    queue.release(lease.fence)
    assert [job.subject for job in queue.claim("another", [])] == ["/a.pdf"]


def test_a_next_stage(way: Forgetful, catalog: Catalog) -> None:
    queue = JobQueue(catalog)
    queue.enqueue([REQUEST])
    [job] = queue.claim("w", [])
    unheard(way, lambda: queue.advance(job.fence, JobUpdate("waiting", stage="ocr")))
    with pytest.raises(LeaseLostError):
        queue.advance(job.fence, JobUpdate("waiting", stage="ocr"))
    [taken] = queue.claim("w", [], limit=9)
    assert taken.stage == "ocr" and taken.claim == job.claim + 1
