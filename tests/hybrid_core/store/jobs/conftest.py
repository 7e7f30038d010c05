"""A store of jobs whose clock is moved by the test: a catalog, and the same tables on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.store.catalog.catalog import Catalog
from tests.hybrid_core.store.jobs.clocks import Clock
from tests.postgres import PostgresStore

Store = Catalog | PostgresStore


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    if request.param == "sqlite":
        made: Store = Catalog(tmp_path / "catalog.sqlite")
    else:
        made = PostgresStore(request.getfixturevalue("postgres_url"))
    clock.rules(made)
    yield made
    made.close()
