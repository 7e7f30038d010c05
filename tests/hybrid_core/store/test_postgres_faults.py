"""A PostgreSQL server that restarts, is full or takes no writes: waited for, or said plainly, and nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.errors import StoreError, UnreachableError
from hybrid_core.store import postgres as module
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.jobs import JobRequest
from tests import postgres
from tests.hybrid_core.store.test_catalog import ALPHA, content, publish
from tests.pooler import pooler

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    """Of its own: it is stopped."""
    with postgres.server() as made:
        yield made


@pytest.fixture
def catalog(server: postgres.Server, tmp_path: Path) -> Iterator[Catalog]:
    """As a user without rights of the server's own, with a document."""
    url = postgres.new_database(server.url)
    known = "SELECT 1 FROM pg_roles WHERE rolname = 'app'"
    postgres.ordered(url, f"DO $$ BEGIN IF NOT EXISTS ({known}) THEN CREATE ROLE app LOGIN; END IF; END $$")
    postgres.ordered(url, "GRANT ALL ON SCHEMA public TO app")
    made = Catalog(tmp_path / "catalog.sqlite", url.replace("tests@", "app@"))
    made.ensure_library("default")
    publish(made, "d1", ALPHA, content(1, "alpha"))
    yield made
    made.close()


def published(catalog: Catalog) -> set[str]:
    with catalog.snapshot() as snapshot:
        return set(snapshot.published("default"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_restarts_costs_a_moment(server: postgres.Server, catalog: Catalog, how: signal.Signals) -> None:
    assert published(catalog) == {"d1"}
    server.stop(how)
    starting = threading.Timer(0.5, server.start)
    starting.start()
    assert published(catalog) == {"d1"}
    publish(catalog, "d2", ALPHA, None)
    starting.join()
    assert published(catalog) == {"d1", "d2"}


def test_one_that_stays_away_is_said_and_served_again_when_it_is_back(
    server: postgres.Server, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog._database, "_patience", 0.3)
    server.stop()
    for work in (lambda: published(catalog), lambda: publish(catalog, "d2", ALPHA, None)):
        with pytest.raises(UnreachableError, match=r"does not answer .*Try again when it does") as raised:
            work()
        assert raised.value.retryable
    server.start()
    assert published(catalog) == {"d1"}


def test_one_without_connections_is_waited_for_and_said(
    server: postgres.Server, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.3)
    with closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
        other._database.engine.dispose()  # type: ignore[attr-defined]
        postgres.ordered(server.url, "ALTER ROLE app CONNECTION LIMIT 1")
        with catalog.snapshot() as held:
            with pytest.raises(UnreachableError, match="too many connections") as raised:
                published(other)
            assert raised.value.retryable and set(held.published("default")) == {"d1"}
        catalog._database.engine.dispose()  # type: ignore[attr-defined]
        assert published(other) == {"d1"}
    postgres.ordered(server.url, "ALTER ROLE app CONNECTION LIMIT -1")


def test_one_that_takes_no_writes_is_read(server: postgres.Server, catalog: Catalog, tmp_path: Path) -> None:
    postgres.ordered(server.url, "ALTER ROLE app SET default_transaction_read_only = on")
    try:
        with closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
            assert published(other) == {"d1"}
            with pytest.raises(StoreError, match=r"the server takes no writes .*Name its primary") as raised:
                publish(other, "d2", ALPHA, None)
            assert not raised.value.retryable
    finally:
        postgres.ordered(server.url, "ALTER ROLE app RESET default_transaction_read_only")
    publish(catalog, "d2", ALPHA, None)
    assert published(catalog) == {"d1", "d2"}


def test_behind_a_pooler_in_transaction_mode_many_threads_do_as_before(server: postgres.Server, tmp_path: Path) -> None:
    """Each transaction may have another connection of the server: two serve eight threads of two catalogs."""
    url = postgres.new_database(server.url)
    with (
        pooler(url) as through,
        closing(Catalog(tmp_path / "one" / "catalog.sqlite", through)) as one,
        closing(Catalog(tmp_path / "two" / "catalog.sqlite", through)) as two,
    ):
        one.ensure_library("default")
        JobQueue(one).enqueue([JobRequest("default", "index", f"/{number}", "parse") for number in range(16)])
        taken, failures = list[int](), list[BaseException]()

        def work(number: int) -> None:
            catalog = (one, two)[number % 2]
            try:
                publish(catalog, f"d{number}", ALPHA, content(1, f"alpha {number}"))
                assert f"d{number}" in published(catalog)
                for _ in range(2):
                    taken.extend(job.id for job in JobQueue(catalog).claim(f"w{number}", []))
            except BaseException as error:  # noqa: BLE001 - told to the test
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        assert published(two) == {f"d{number}" for number in range(8)}
        assert sorted(taken) == sorted(set(taken)) and len(taken) == 16
