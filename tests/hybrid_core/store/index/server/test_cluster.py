"""Three real nodes, four shards, two replicas: whatever happens to a node, the ranking is the embedded one."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_core.errors import UnreachableError
from hybrid_core.store.index.edge.store import open_edge
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import Query
from hybrid_core.store.index.server import connection
from hybrid_core.store.index.server.connection import Layout, Server, connect
from hybrid_core.store.index.server.placement import complete
from hybrid_core.text.bm25 import query_weights
from tests import qdrant_real
from tests.contract.vectors.library import Library, Weights, arrays, random_pages
from tests.hybrid_core.store.index.server.opening import MANIFEST, opened
from tests.qdrant_real import Node

DIMENSION = 8
LAYOUT = Layout(shards=4, replicas=2)


@pytest.fixture(scope="module")
def running() -> Iterator[list[Node]]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.cluster(3, "k") as running:
        yield running


@pytest.fixture
def cluster(running: list[Node], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(connection, "_READ_SECONDS", 2)
    server = connect(",".join(node.url for node in running), "k", LAYOUT)
    yield server
    for name in server.collections():
        server.call(lambda client, name=name: client.delete_collection(name), writes=True)  # type: ignore[misc]
    server.close()


@pytest.fixture
def library() -> Library:
    """400 pages; most are also in other documents."""
    library = Library()
    for number in range(40):
        publish(library, number)
    return library


def publish(library: Library, number: int, version: int = 0) -> None:
    same = 100 * version + (number if number % 4 == 0 else 4 * (number // 16))
    library.publish(f"d{number:02}", f"c{number}-{version}", *random_pages(same, 10, terms=40))
    rows = np.random.default_rng(same).normal(size=(10, DIMENSION))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    library.embed(f"d{number:02}", {(page, 0): unit[page - 1] for page in range(1, 11)})


def questions(many: int) -> list[Weights]:
    rng = np.random.default_rng(7)
    return [
        dict(
            zip(rng.choice(200, 16, replace=False).tolist(), query_weights(rng.random(16) + 0.5).tolist(), strict=True)
        )
        for _ in range(many)
    ]


def agree(embedded: VectorIndex, index: VectorIndex, many: int = 10) -> None:
    """The same pages in the same order, also where the limit cuts through equal scores."""
    for number, question in enumerate(questions(many)):
        vector = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
        for limit in (1, 7, 50, 200):
            for query in (Query("bm25", arrays(question), limit), Query("dense", vector, limit)):
                expected, found = embedded.search(query), index.search(query)
                assert [(hit.doc_id, hit.page) for hit in found] == [(hit.doc_id, hit.page) for hit in expected]
                same = [hit.score for hit in expected]
                if query.using == "dense":
                    assert [hit.score for hit in found] == pytest.approx(same, rel=1e-6, abs=1e-6)
                else:
                    assert [hit.score for hit in found] == same, "to the last digit"


def whole(cluster: Server, node: Node, name: str) -> bool:
    """Whether a node says that every replica of a collection is active."""
    found = node.asked(f"/collections/{name}/cluster")["result"]
    shards = found["local_shards"] + found["remote_shards"]
    return len(shards) == LAYOUT.shards * LAYOUT.replicas and all(one["state"] == "Active" for one in shards)


def test_the_ranking_is_the_embedded_one_whatever_happens_to_a_node(
    cluster: Server, running: list[Node], library: Library, tmp_path: Path
) -> None:
    embedded = open_edge(tmp_path / "edge", library, MANIFEST, DIMENSION)
    index = opened(cluster, library, dimension=DIMENSION)
    agree(embedded, index)
    for node in (running[0], running[2]):
        node.kill()
        agree(embedded, index)
        publish(library, 5, version=running.index(node) + 1)  # with one node away
        embedded.catch_up(library)
        index.catch_up(library)
        agree(embedded, index)
        node.start()
        node.wait_for(node.answers)
        agree(embedded, index)  # while it takes up what it missed
        node.wait_for(lambda node=node: whole(cluster, node, index.store.name))  # type: ignore[misc, attr-defined]
        agree(embedded, index)
    assert index.rebuilt == ""
    embedded.close()
    index.close()


@pytest.mark.parametrize("number", [0, 1])
def test_a_node_that_lost_its_disk_holds_again_what_it_held(
    cluster: Server, running: list[Node], library: Library, tmp_path: Path, number: int
) -> None:
    embedded = open_edge(tmp_path / "edge", library, MANIFEST, DIMENSION)
    index = opened(cluster, library, dimension=DIMENSION)
    name: str = index.store.name  # type: ignore[attr-defined]
    lost, other = running[number], running[2]
    peer = lost.asked("/cluster")["result"]["peer_id"]
    lost.wipe()
    other.wait_for(lambda: bool(other.asked(f"/cluster/peer/{peer}?force=true", "DELETE")["result"]))
    lost.start(other)
    lost.wait_for(lambda: len(lost.asked("/cluster")["result"]["peers"]) == len(running))
    agree(embedded, index)
    assert not whole(cluster, other, name)
    assert complete(cluster, name, seconds=60) > 0
    other.wait_for(lambda: whole(cluster, other, name))  # each node hears of it by itself
    assert complete(cluster, name) == 0
    agree(embedded, index)
    other.kill()  # so that what was copied has to answer
    agree(embedded, index)
    other.start()
    other.wait_for(lambda: whole(cluster, other, name))
    assert index.rebuilt == ""
    embedded.close()
    index.close()


def test_where_there_are_too_few_nodes_it_is_said(running: list[Node], library: Library) -> None:
    server = connect(running[0].url, "k", Layout(shards=1, replicas=4))
    index = opened(server, library, dimension=DIMENSION)
    name: str = index.store.name  # type: ignore[attr-defined]
    with pytest.raises(
        UnreachableError, match=rf"shard 0 of {name} is on 3 of 4 nodes, and no other node can take a copy"
    ):
        complete(server, name)
    index.close()
    server.call(lambda client: client.delete_collection(name), writes=True)
    server.close()


def test_it_is_the_version_that_is_named(running: list[Node]) -> None:
    assert {node.asked("/")["version"] for node in running} == {qdrant_real.VERSION}


def test_a_node_that_does_not_answer_costs_a_moment_once(
    cluster: Server, running: list[Node], library: Library, tmp_path: Path
) -> None:
    embedded = open_edge(tmp_path / "edge", library, MANIFEST, DIMENSION)
    index = opened(cluster, library, dimension=DIMENSION)
    running[0].pause()
    try:
        agree(embedded, index, 1)
        began = time.monotonic()
        for _ in range(100):
            index.search(Query("bm25", arrays(questions(1)[0]), 50))
        assert time.monotonic() - began < 25 * connection._READ_SECONDS  # it is not asked first each time
    finally:
        running[0].resume()
    embedded.close()
    index.close()


def test_each_call_has_a_connection_of_its_own(running: list[Node], monkeypatch: pytest.MonkeyPatch) -> None:
    """On one that is kept the end of an answer waits 40 ms for what this machine acknowledges late."""
    made, connect_to = list[Any](), socket.create_connection

    def counted(address: Any, *arguments: Any, **more: Any) -> socket.socket:
        made.append(address)
        return connect_to(address, *arguments, **more)

    monkeypatch.setattr(socket, "create_connection", counted)
    server = connect(running[1].url.replace("127.0.0.1", "127.1"), "k")  # the client itself keeps none to 127.0.0.1
    before = len(made)
    for _ in range(3):
        server.collections()
    server.close()
    assert len(made) - before == 3


def test_where_no_node_answers_all_are_named() -> None:
    with pytest.raises(
        UnreachableError, match=r"No node of the Qdrant cluster .* http://127\.0\.0\.1:9: .* http://127\.0\.0\.1:19: "
    ):
        connect("http://127.0.0.1:9, http://127.0.0.1:19")
