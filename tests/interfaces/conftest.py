"""What tests of the MCP server and of workers share: a file that is indexed for as long as they look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexers.formats import registry
from tests.doubles import gated


class LongFile:
    """Puts a file somewhere that is read to its middle, and to its end once it is ``opened``."""

    def __init__(self, gate: Path) -> None:
        self._gate = gate

    def __call__(self, path: Path) -> Path:
        assert path.suffix == gated.SUFFIX
        return gated.write(path, self._gate, "reeds")

    def opened(self) -> None:
        self._gate.touch()


@pytest.fixture(scope="session")
def _packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    gated.install(folder)
    return folder


@pytest.fixture
def long_file(
    _packages: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LongFile]:
    """One worker each, where a test says nothing else: it starts sooner than several."""
    monkeypatch.setenv("PAGEINDEX_WORKERS", "1")
    monkeypatch.setenv("PYTHONPATH", str(_packages))
    monkeypatch.syspath_prepend(str(_packages))
    registry._all.cache_clear()
    yield LongFile(tmp_path_factory.mktemp("gate") / "open")
    registry._all.cache_clear()
