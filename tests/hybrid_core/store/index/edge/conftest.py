"""A library, and its index as often as it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hybrid_core.store.index.edge.store import open_edge
from hybrid_core.store.index.index import VectorIndex
from tests.hybrid_core.store.index.edge.library import MANIFEST, Library
from tests.hybrid_core.store.index.edge.worker import Worker


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library.db")
    library.publish(("a", "a1", 30), ("b", "b1", 5), ("c", "c1", 15))
    return library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def reopen(folder: Path, library: Library) -> Iterator[Callable[[], VectorIndex]]:
    opened: list[VectorIndex] = []

    def opener() -> VectorIndex:
        opened.append(open_edge(folder, library, MANIFEST))
        return opened[-1]

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def start(folder: Path, library: Library) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def starter(*, wait: bool = True) -> Worker:
        workers.append(Worker(folder, library, wait=wait))
        return workers[-1]

    yield starter
    for worker in workers:
        worker.kill()
