"""Running backends, and libraries to index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.server.connection import Layout, Server, connect
from tests import qdrant_real, qdrant_stub
from tests.contract.vectors.backends import BACKENDS, SERVERS, Open
from tests.contract.vectors.library import (
    Library,
    Opener,
)
from tests.qdrant_local import local_server


def _running_nodes(nodes: int, layout: Layout) -> Iterator[Server]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.cluster(nodes, "k") as running:
        server = connect(",".join(node.url for node in running), "k", layout)
        yield server
        server.close()


@pytest.fixture(scope="module")  # a node that nothing asks takes 3 % of a core, and memory, from the tests after it
def real() -> Iterator[Server]:
    yield from _running_nodes(1, Layout())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Server]:
    yield from _running_nodes(3, Layout(shards=4, replicas=2))


@pytest.fixture(scope="module", autouse=True)
def _running() -> Iterator[None]:
    with qdrant_stub.running(api_key="k") as stub:
        SERVERS.update(local=local_server(), stub=connect(stub.url, "k"))
        yield
        for name in ("local", "stub"):
            SERVERS.pop(name).close()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Open]:
    name = "cluster" if "nodes" in request.param else "real"
    if request.param.startswith("server (real"):
        SERVERS[name] = request.getfixturevalue(name)
    yield BACKENDS[request.param]
    SERVERS.pop(name, None)


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
