"""A PostgreSQL server that restarts, is full or takes no writes: waited for, or said plainly, and nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from hybrid_core.errors import StoreError, UnreachableError
from hybrid_core.store import postgres as module
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.jobs import JobRequest
from tests import postgres
from tests.hybrid_core.store.test_catalog import ALPHA, content, publish
from tests.pooler import pooler

pytestmark = pytest.mark.slow


@pytest.fixture
def catalog(own_postgres: postgres.Server, tmp_path: Path) -> Iterator[Catalog]:
    """As a user without rights of the server's own, with a document."""
    url = postgres.new_database(own_postgres.url)
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
def test_a_server_that_restarts_costs_a_moment(
    own_postgres: postgres.Server, catalog: Catalog, how: signal.Signals
) -> None:
    assert published(catalog) == {"d1"}
    own_postgres.stop(how)
    starting = threading.Timer(0.5, own_postgres.start)
    starting.start()
    assert published(catalog) == {"d1"}
    publish(catalog, "d2", ALPHA, None)
    starting.join()
    assert published(catalog) == {"d1", "d2"}


def test_one_that_stays_away_is_said_and_served_again_when_it_is_back(
    own_postgres: postgres.Server, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.3)
    own_postgres.stop()
    for work in (lambda: published(catalog), lambda: publish(catalog, "d2", ALPHA, None)):
        with pytest.raises(
            UnreachableError, match=r"does not answer .*Try again when the server is reachable"
        ) as raised:
            work()
        assert raised.value.retryable
    own_postgres.start()
    assert published(catalog) == {"d1"}


def test_one_without_connections_is_waited_for_and_said(
    own_postgres: postgres.Server, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.3)
    with closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
        other._database.engine.dispose()  # type: ignore[attr-defined]
        postgres.ordered(own_postgres.url, "ALTER ROLE app CONNECTION LIMIT 1")
        with catalog.snapshot() as held:
            with pytest.raises(UnreachableError, match="too many connections") as raised:
                published(other)
            assert raised.value.retryable and set(held.published("default")) == {"d1"}
        catalog._database.engine.dispose()  # type: ignore[attr-defined]
        assert published(other) == {"d1"}
    postgres.ordered(own_postgres.url, "ALTER ROLE app CONNECTION LIMIT -1")


def test_one_that_takes_no_writes_is_read(own_postgres: postgres.Server, catalog: Catalog, tmp_path: Path) -> None:
    postgres.ordered(own_postgres.url, "ALTER ROLE app SET default_transaction_read_only = on")
    try:
        with closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
            assert published(other) == {"d1"}
            with pytest.raises(StoreError, match=r"the database server refuses writes .*primary server") as raised:
                publish(other, "d2", ALPHA, None)
            assert not raised.value.retryable
    finally:
        postgres.ordered(own_postgres.url, "ALTER ROLE app RESET default_transaction_read_only")
    publish(catalog, "d2", ALPHA, None)
    assert published(catalog) == {"d1", "d2"}


def test_whoever_opens_a_catalog_takes_no_turn_among_those_who_write(catalog: Catalog, tmp_path: Path) -> None:
    with catalog.writing(), closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
        assert published(other) == {"d1"}


def test_a_process_that_starts_while_the_server_does_waits_for_it(
    own_postgres: postgres.Server, catalog: Catalog, tmp_path: Path
) -> None:
    own_postgres.stop(signal.SIGQUIT)
    starting = threading.Timer(0.5, own_postgres.start)
    starting.start()
    with closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
        assert published(other) == {"d1"}
    starting.join()


@pytest.mark.parametrize("wrong", ["app@", "5432/"])
def test_what_stays_wrong_is_said_at_once(
    catalog: Catalog, tmp_path: Path, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 3600.0)  # whoever waited would not end within the time limit of a test
    url = make_url(catalog.url)
    url = url.set(username="nobody") if wrong == "app@" else url.set(database="nothing")
    with pytest.raises(
        StoreError,
        match=r"refuses the connection \(.*does not exist\)\. Correct the user, the password or the database",
    ):
        Catalog(tmp_path / "another" / "catalog.sqlite", url.render_as_string(hide_password=False))


def test_a_reading_is_one_state_and_writes_nothing(catalog: Catalog) -> None:
    with catalog.snapshot() as before:
        assert set(before.published("default")) == {"d1"}
        publish(catalog, "d2", ALPHA, None)
        assert set(before.published("default")) == {"d1"}
    with pytest.raises(StoreError, match="refuses writes"), catalog.reading() as connection:
        connection.execute(text("DELETE FROM documents"))
    assert published(catalog) == {"d1", "d2"}


def test_writers_see_what_was_written_before_their_turn_whatever_the_server_is_set_to(
    own_postgres: postgres.Server, catalog: Catalog
) -> None:
    postgres.ordered(own_postgres.url, "ALTER ROLE app SET default_transaction_isolation = 'repeatable read'")
    try:
        catalog._database.engine.dispose()  # type: ignore[attr-defined]
        with ThreadPoolExecutor(6) as pool:
            for one in [pool.submit(publish, catalog, f"n{at}", ALPHA, None) for at in range(18)]:
                one.result(60)
    finally:
        postgres.ordered(own_postgres.url, "ALTER ROLE app RESET default_transaction_isolation")
    assert published(catalog) == {"d1", *(f"n{at}" for at in range(18))}


def test_a_statement_that_took_too_long_may_be_tried_again(own_postgres: postgres.Server, catalog: Catalog) -> None:
    postgres.ordered(own_postgres.url, "ALTER ROLE app SET statement_timeout = '50ms'")
    try:
        catalog._database.engine.dispose()  # type: ignore[attr-defined]
        with pytest.raises(UnreachableError, match="statement timeout"), catalog.reading() as connection:
            connection.execute(text("SELECT pg_sleep(1)"))
    finally:
        postgres.ordered(own_postgres.url, "ALTER ROLE app RESET statement_timeout")
        catalog._database.engine.dispose()  # type: ignore[attr-defined]
    assert published(catalog) == {"d1"}


def test_a_file_of_more_than_two_gigabytes_is_remembered(catalog: Catalog) -> None:
    catalog.record_failure(library="default", doc_id="big", path="/big.pdf", size=3_000_000_000, error="too large")
    with catalog.snapshot() as snapshot:
        assert [one.size for one in snapshot.documents("default") if one.doc_id == "big"] == [3_000_000_000]


def test_behind_a_pooler_in_transaction_mode_many_threads_do_as_before(
    own_postgres: postgres.Server, tmp_path: Path
) -> None:
    """Each transaction may have another connection of the server: two serve eight threads of two catalogs."""
    url = postgres.new_database(own_postgres.url)
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
