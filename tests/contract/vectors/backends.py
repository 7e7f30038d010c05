"""What every test of the contract runs on. A new backend adds one line to ``BACKENDS``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hybrid_core.store.index.edge.store import open_edge
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import PointSource
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.placement import library_collection, open_server, shared_collection

Open = Callable[[Path, PointSource, int, bool], VectorIndex]
SERVERS: dict[str, Server] = {}


def on(kind: str, folder: Path, source: PointSource, dimension: int, learned: bool) -> VectorIndex:
    collection = library_collection("test-contract-", str(folder))
    return open_server(SERVERS[kind], collection, source, {"tokenizer": 1}, dimension, learned)


def shared(kind: str, folder: Path, source: PointSource, dimension: int, learned: bool) -> VectorIndex:
    """In one collection with the libraries of all other tests."""
    collection = shared_collection("test-contract-")
    return open_server(SERVERS[kind], collection, source, {"tokenizer": 1}, dimension, learned, tenant=str(folder))


BACKENDS: dict[str, Open] = {
    "edge": lambda folder, source, *vectors: open_edge(folder, source, {"tokenizer": 1}, *vectors),
    "server (local mode)": lambda *asked: on("local", *asked),
    "server (its REST and engine)": lambda *asked: on("stub", *asked),
    "server (real)": lambda *asked: on("real", *asked),
    "server (real, shared collection)": lambda *asked: shared("real", *asked),
    "server (real, three nodes)": lambda *asked: on("cluster", *asked),
}
