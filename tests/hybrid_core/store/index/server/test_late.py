"""What a killed writer left on one replica alone, where others are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hybrid_core.store.index.points import VectorName
from hybrid_core.store.index.server.collection import CollectionStore
from hybrid_core.store.index.server.connection import Layout, Server, connect
from tests import qdrant_real
from tests.contract.vectors.library import Library, agree
from tests.hybrid_core.store.index.server.opening import opened
from tests.qdrant_local import client_of, local_server

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


@pytest.fixture(params=["local", "real"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "local":
        yield replace(local_server(), layout=Layout(replicas=2))
        return
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.cluster(3) as running:
        server = connect(",".join(node.url for node in running), layout=Layout(replicas=2))
        yield server
        server.close()


def test_whoever_checks_the_count_deletes_what_recent_changes_made_old(
    server: Server, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(server, library).store
    assert isinstance(store, CollectionStore)
    late = [point for version in library.published(["a"]) for point in library.points(*version)]
    read = library.position()
    library.publish("c", "c1", {1: 4.0})
    library.publish("a", "a2", {2: 1.0})  # with fewer pages
    library.remove("b")
    opened(server, library).catch_up(library)
    store._write(late, read)  # after the others had deleted it
    assert client_of(server).count(store.name).count == 2 + 2 + 3
    expected = library.expected_vectors()

    def of_another(self: CollectionStore, *_: VectorName) -> int:
        return expected

    with monkeypatch.context() as patch:
        patch.setattr(CollectionStore, "count", of_another)  # on a replica without it
        index = opened(server, library)
    assert index.rebuilt == "" and index.count() == expected
    agree(index, library, {1: 1.0, 2: 1.0})
