"""A PostgreSQL server that restarts, is full or takes no writes: waited for, or said plainly, and nothing is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from hybrid_core.errors import StoreError, UnreachableError
from hybrid_core.store import postgres as module
from hybrid_core.store.catalog.catalog import Catalog
from tests import postgres
from tests.hybrid_core.store.test_catalog import ALPHA, content, publish

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
    ordered(url, f"DO $$ BEGIN IF NOT EXISTS ({known}) THEN CREATE ROLE app LOGIN; END IF; END $$")
    ordered(url, "GRANT ALL ON SCHEMA public TO app")
    made = Catalog(tmp_path / "catalog.sqlite", url.replace("tests@", "app@"))
    made.ensure_library("default")
    publish(made, "d1", ALPHA, content(1, "alpha"))
    yield made
    made.close()


def ordered(url: str, statement: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as admin:
        admin.execute(text(statement))
    engine.dispose()


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
        ordered(server.url, "ALTER ROLE app CONNECTION LIMIT 1")
        with catalog.snapshot() as held:
            with pytest.raises(UnreachableError, match="too many connections") as raised:
                published(other)
            assert raised.value.retryable and set(held.published("default")) == {"d1"}
        catalog._database.engine.dispose()  # type: ignore[attr-defined]
        assert published(other) == {"d1"}
    ordered(server.url, "ALTER ROLE app CONNECTION LIMIT -1")


def test_one_that_takes_no_writes_is_read(server: postgres.Server, catalog: Catalog, tmp_path: Path) -> None:
    ordered(server.url, "ALTER ROLE app SET default_transaction_read_only = on")
    try:
        with closing(Catalog(tmp_path / "another" / "catalog.sqlite", catalog.url)) as other:
            assert published(other) == {"d1"}
            with pytest.raises(StoreError, match=r"the server takes no writes .*Name its primary") as raised:
                publish(other, "d2", ALPHA, None)
            assert not raised.value.retryable
    finally:
        ordered(server.url, "ALTER ROLE app RESET default_transaction_read_only")
    publish(catalog, "d2", ALPHA, None)
    assert published(catalog) == {"d1", "d2"}
