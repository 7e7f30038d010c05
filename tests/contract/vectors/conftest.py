"""Running backends, and libraries to index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.server.connection import Server, connect
from tests import qdrant_real, qdrant_stub
from tests.contract.vectors.backends import BACKENDS, SERVERS, Open
from tests.contract.vectors.library import (
    Library,
    Opener,
)
from tests.qdrant_local import local_server


@pytest.fixture(scope="session")
def qdrant() -> Iterator[Server]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.node("k") as url:
        server = connect(url, "k")
        yield server
        server.close()


@pytest.fixture(scope="module", autouse=True)
def _running() -> Iterator[None]:
    with qdrant_stub.running(api_key="k") as stub:
        SERVERS.update(local=local_server(), stub=connect(stub.url, "k"))
        yield
        for name in ("local", "stub"):
            SERVERS.pop(name).close()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Open:
    if request.param.startswith("server (real"):
        SERVERS["real"] = request.getfixturevalue("qdrant")
        SERVERS["sharded"] = replace(SERVERS["real"], shards=4)
    return BACKENDS[request.param]


@pytest.fixture
def open_index(backend: Open, tmp_path: Path) -> Iterator[Opener]:
    opened: list[VectorIndex] = []

    def opener(library: Library, dimension: int = 0, learned: bool = False, place: str = "index") -> VectorIndex:
        opened.append(backend(tmp_path / place, library, dimension, learned))
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
