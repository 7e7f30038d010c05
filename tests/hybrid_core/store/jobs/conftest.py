"""A catalog for jobs, and its clock to be moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.store.catalog.catalog import Catalog
from tests.hybrid_core.store.jobs.clocks import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def catalog(tmp_path: Path, clock: Clock) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "catalog.sqlite")
    made.ensure_library("default")
    clock.rules(made)
    yield made
    made.close()
