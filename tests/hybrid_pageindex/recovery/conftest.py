"""One home with something of everything, of which each test damages a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_core.store.home import CATALOG, ORIGINALS
from tests.hybrid_pageindex.recovery.damaged_homes import Rows, all_rows, fill


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A home that no test changes."""
    if request.config.getoption("--catalog") != "sqlite":
        pytest.skip("it looks into the catalog's file")
    base = tmp_path_factory.mktemp("filled")
    fill(base / "home", base / "files")
    return base / "home"


@pytest.fixture(scope="session")
def before(filled: Path) -> Rows:
    return all_rows(filled / CATALOG)


@pytest.fixture
def copied(filled: Path, tmp_path: Path) -> Callable[[], Path]:
    """Make a copy of the home's catalog and uploads anew, and return its path."""

    def copy() -> Path:
        home = tmp_path / "home"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(mode=0o700)
        shutil.copy(filled / CATALOG, home)
        shutil.copytree(filled / ORIGINALS, home / ORIGINALS)
        return home

    return copy
