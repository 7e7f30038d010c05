"""Collections that others changed, lost or made at the same time."""

from __future__ import annotations

import pytest
from qdrant_client import models

from hybrid_core.errors import IndexDamagedError, OtherHistoryError
from hybrid_core.store.index.server.collection import CollectionStore
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.requests import ANNOUNCED, RECORD
from tests.contract.vectors.library import Library, agree, ask
from tests.hybrid_core.store.index.server.opening import Killed, opened
from tests.qdrant_local import client_of, local_server

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def test_what_is_there_is_used_again(server: Server, library: Library) -> None:
    opened(server, library)
    calls: list[str] = []
    index = opened(local_server(client_of(server), calls.append), library)
    agree(index, library, {1: 1.0})
    assert index.rebuilt == "" and "upsert" not in calls and "delete" not in calls


def test_missing_points_are_written_again(server: Server, library: Library) -> None:
    name = opened(server, library).store.name
    held, _ = client_of(server).scroll(name, limit=100)
    client_of(server).delete(name, [next(point.id for point in held if point.id not in (RECORD, ANNOUNCED))])
    index = opened(server, library)
    agree(index, library, {1: 1.0, 2: 1.0})
    assert index.rebuilt == "the index contains 3 vectors, but the catalog expects 4"


def test_points_of_somebody_else_are_deleted(server: Server, library: Library) -> None:
    name = opened(server, library).store.name
    vector = {"bm25": models.SparseVector(indices=[1], values=[1.0])}
    client_of(server).upsert(name, [models.PointStruct(id=7, vector=vector, payload={"doc_id": "a"})])
    index = opened(server, library)
    agree(index, library, {1: 1.0, 2: 1.0})
    assert index.rebuilt == "the index contains 5 vectors, but the catalog expects 4"


def test_a_point_that_says_nothing_is_found_in_the_search(server: Server, library: Library) -> None:
    index = opened(server, library)
    vector = {"bm25": models.SparseVector(indices=[1], values=[1.0])}
    client_of(server).upsert(index.store.name, [models.PointStruct(id=7, vector=vector, payload={})])
    with pytest.raises(IndexDamagedError, match="doc_id"):
        ask(index, {1: 1.0})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


def test_a_collection_that_vanishes_is_made_again(server: Server, library: Library) -> None:
    index = opened(server, library)
    client_of(server).delete_collection(index.store.name)
    with pytest.raises(IndexDamagedError, match="not found"):
        ask(index, {1: 1.0})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


def test_a_catalog_that_was_put_back_writes_nothing_into_what_is_of_another_history(
    server: Server, library: Library
) -> None:
    before = Library()
    before.log, before.versions = [*library.log], dict(library.versions)
    library.publish("a", "a2", {5: 1.0})
    library.publish("c", "c1", {5: 1.0})
    index, calls = opened(server, library), list[str]()
    with pytest.raises(OtherHistoryError):
        opened(local_server(client_of(server), calls.append), before)
    assert calls and not {"upsert", "delete", "set_payload", "delete_collection"} & set(calls)
    agree(index, library, {1: 1.0, 5: 1.0})


def test_a_catalog_that_counts_wrongly_is_said_to_be_damaged(server: Server, library: Library) -> None:
    library.expected_vectors = lambda: 9  # type: ignore[method-assign]
    with pytest.raises(IndexDamagedError, match="contains 4 vectors, but the catalog expects 9"):
        opened(server, library)


def test_two_processes_make_the_collection_at_the_same_time(server: Server, library: Library) -> None:
    def rival(call: str) -> None:
        if call == "create_collection" and not server.collections():
            opened(server, library)

    index = opened(local_server(client_of(server), rival), library)
    agree(index, library, {1: 1.0})
    assert len(server.collections()) == 1


def test_the_record_moves_forward_only(server: Server) -> None:
    collection = CollectionStore(server, "some", 0)
    assert collection.recorded() is None
    collection.create()
    assert collection.recorded() is None  # there, but not built
    for position, expected in ((0, 0), (5, 5), (3, 5), (-1, 5), (6, 6)):
        collection.advance(position)
        assert collection.recorded() == expected
    collection.create()
    assert collection.recorded() == 6


def test_many_documents_are_recorded_in_parts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CollectionStore, "documents_at_once", 3)
    library = Library()
    index = opened(server, library)
    for number in range(10):
        library.publish(f"d{number}", f"c{number}", {1: 1.0 + number})
    left = [11]

    def die(_: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed

    with pytest.raises(Killed):
        opened(local_server(client_of(server), die), library)
    part = CollectionStore(server, index.store.name, 0).recorded()
    assert part == 6  # of ten
    index.catch_up(library)
    agree(index, library, {1: 1.0})
