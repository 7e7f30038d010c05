"""What tests of the MCP server share: a file that takes long to index."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import pdfs

LONG = 2500  # pages; long enough to be caught in the middle, by one worker on a fast machine

LongFile = Callable[[Path], Path]


@pytest.fixture(scope="session")
def _long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pdfs.numbered(tmp_path_factory.mktemp("long") / "long.pdf", LONG, "reeds")


@pytest.fixture
def long_file(_long: Path, monkeypatch: pytest.MonkeyPatch) -> LongFile:
    """Puts a file of LONG pages somewhere. Each run has one worker: many cores must not make it a short one."""
    monkeypatch.setenv("PAGEINDEX_WORKERS", "1")
    return lambda path: Path(shutil.copyfile(_long, path))
