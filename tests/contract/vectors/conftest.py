"""Running backends, and libraries to index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.server.connection import connect
from hybrid_core.store.index.server.opening import drop_collections
from tests import qdrant_stub
from tests.contract.vectors.backends import BACKENDS, REAL, SERVERS
from tests.contract.vectors.library import (
    Library,
    Opener,
)
from tests.qdrant_local import local_server


@pytest.fixture(scope="module", autouse=True)
def _running() -> Iterator[None]:
    with qdrant_stub.running(api_key="k") as stub:
        SERVERS.update(local=local_server(), stub=connect(stub.url, "k"))
        if REAL[0]:
            SERVERS["real"] = connect(*REAL)
        yield
        for name in SERVERS["real"].collections() if REAL[0] else []:
            if name.startswith("test-contract-"):
                drop_collections(SERVERS["real"], name.rsplit("-", 1)[0])
        for server in SERVERS.values():
            server.close()


@pytest.fixture(params=BACKENDS)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    opened: list[VectorIndex] = []

    def opener(library: Library, dimension: int = 0, learned: bool = False, place: str = "index") -> VectorIndex:
        opened.append(BACKENDS[request.param](tmp_path / place, library, dimension, learned))
        return opened[-1]

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def library() -> Library:
    library = Library()
    library.publish("a", "a1", {1: 1.0, 2: 0.5}, {2: 2.0}, {})
    library.publish("b", "b1", {1: 0.25, 4_294_967_295: 1.5})
    return library


@pytest.fixture
def embedded(library: Library) -> Library:
    """Page 1 of "a" has a weak summary and a strong chunk, page 2 the other way round; "b" has no chunks."""
    library.embed(
        "a", {(1, 0): (0.6, 0.8), (1, 1): (1.0, 0.0), (2, 0): (0.8, 0.6), (2, 2): (0.0, -1.0), (3, 0): (0, 1)}
    )
    library.embed("b", {(1, 0): (-1.0, 0.0)})
    return library


@pytest.fixture
def weighted(library: Library) -> Library:
    """Page 1 of "a" has a weak summary and a strong chunk, page 2 the other way round, page 3 no tokens at all."""
    library.embed(
        "a",
        {(1, 0): (1, 0), (1, 1): (1, 0), (2, 0): (1, 0), (2, 2): (1, 0), (3, 0): (1, 0)},
        {(1, 0): {7: 0.25}, (1, 1): {7: 1.0, 8: 0.5}, (2, 0): {7: 0.75}, (2, 2): {8: 0.125}, (3, 0): {}},
    )
    library.embed("b", {(1, 0): (0, 1)}, {(1, 0): {250_001: 0.5}})
    return library
