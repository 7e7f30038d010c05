"""A catalog in each database that may hold one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.store.catalog.catalog import Catalog
from tests.postgres import new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    url = "" if request.param == "sqlite" else new_database(request.getfixturevalue("postgres_url"))
    made = Catalog(tmp_path / "catalog.sqlite", url)
    made.ensure_library("default")
    yield made
    made.close()
