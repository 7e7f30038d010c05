"""What one node does not know, another may: a collection is missing where two say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from hybrid_core.errors import IndexMissingError, UnreachableError
from hybrid_core.store.index.server.connection import Layout, connect
from hybrid_core.store.index.server.placement import catalog_collections
from tests import qdrant_real
from tests.contract.vectors.library import Library, agree
from tests.hybrid_core.store.index.server.opening import opened
from tests.qdrant_real import Node


@pytest.fixture(scope="module")
def running() -> Iterator[list[Node]]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.cluster(3) as running:
        yield running


@pytest.fixture(scope="module")
def stranger(running: list[Node]) -> Iterator[str]:
    """The address of a node that knows no collection, as one that joined a moment ago."""
    with qdrant_real.node() as url:
        yield url


def test_a_node_that_does_not_know_a_collection_is_not_believed(
    running: list[Node], stranger: str, library: Library
) -> None:
    holders = connect(",".join(node.url for node in running), layout=Layout(shards=2, replicas=2))
    made = opened(holders, library)
    for urls in (f"{stranger},{running[0].url}", f"{stranger},{running[0].url},{running[1].url}"):
        server = connect(urls)
        assert len(catalog_collections(server, "0123456789ab-")) == 1
        server.close()
        server = connect(urls)
        index = opened(server, library)
        assert index.rebuilt == "" and index.count() == made.count()
        agree(index, library, {1: 1.0, 2: 1.0})
        server.close()
    alone = connect(stranger)
    assert alone.collections() == [], "nothing was made there"
    with pytest.raises(IndexMissingError):
        alone.call(lambda client: client.count("missing"))
    alone.close()
    with pytest.raises(IndexMissingError, match="missing"):
        holders.call(lambda client: client.count("missing"))
    made.store.drop()  # type: ignore[attr-defined]
    holders.close()


def test_a_node_that_knows_a_collection_before_its_points_is_not_believed(
    running: list[Node], stranger: str, library: Library
) -> None:
    holders = connect(",".join(node.url for node in running), layout=Layout(shards=2, replicas=2))
    index_of_all = opened(holders, library)
    name, position = index_of_all.store.name, index_of_all.position  # type: ignore[attr-defined]
    empty = connect(stranger)
    empty.call(lambda client: client.create_collection(name, vectors_config={}), writes=True)
    try:
        server = connect(f"{stranger},{running[0].url}")
        index = opened(server, library)
        server.nodes._first = 0
        assert index.rebuilt == "" and index.store.recorded() == position  # type: ignore[attr-defined]
        server.close()
        alone = connect(stranger)
        alone.nodes._first = 0
        assert alone.call(lambda client: client.count(name)).count == 0, "nothing was written there"
        alone.close()
    finally:
        empty.call(lambda client: client.delete_collection(name), writes=True)
        empty.close()
    index_of_all.store.drop()  # type: ignore[attr-defined]
    holders.close()


def test_what_nobody_confirms_is_not_missing(running: list[Node]) -> None:
    server = connect(f"{running[0].url},http://127.0.0.1:9")
    with pytest.raises(UnreachableError, match=r"`missing` doesn't exist.*cannot be reached"):
        server.call(lambda client: client.count("missing"))
    server.close()


@pytest.mark.parametrize("many", ["a cluster of one", "no cluster"])
def test_of_several_addresses_one_may_be_in_use(many: str, stranger: str, library: Library) -> None:
    """As where a cluster's addresses are set, and its other nodes are not started."""
    with qdrant_real.cluster(1) if many == "a cluster of one" else nullcontext([]) as nodes:
        server = connect(f"{nodes[0].url if nodes else stranger},http://127.0.0.1:9,http://127.0.0.1:19")
        index = opened(server, library)
        agree(index, library, {1: 1.0, 2: 1.0})
        index.store.drop()  # type: ignore[attr-defined]
        assert server.collections() == []
        server.close()


def test_a_node_that_joins_makes_nobody_make_a_collection_anew(running: list[Node], library: Library) -> None:
    lost, other = running[1], running[2]
    urls = f"{lost.url},{other.url},{running[0].url}"
    server = connect(urls, layout=Layout(shards=2, replicas=3))
    index = opened(server, library)
    peer = lost.asked("/cluster")["result"]["peer_id"]
    lost.wipe()
    other.wait_for(lambda: bool(other.asked(f"/cluster/peer/{peer}?force=true", "DELETE")["result"]))
    lost.start(other)
    lost.wait_for(lost.answers)
    position, unknown = index.position, 0
    while unknown < 20:  # it knows no collection for a fifth of a second
        unknown += lost.asked("/collections")["result"]["collections"] == [] or 5
        server.nodes._first = 0  # it answered last
        assert index.store.recorded() == position  # type: ignore[attr-defined]
        assert server.collections() == [index.store.name]  # type: ignore[attr-defined]
    lost.wait_for(lambda: len(lost.asked("/cluster")["result"]["peers"]) == len(running))
    server.close()
