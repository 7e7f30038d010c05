"""What is in a collection, and what its name says."""

from __future__ import annotations

import time

import pytest

from hybrid_core.errors import IndexDamagedError
from hybrid_core.store.index.server import collection
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.placement import drop_collections, library_collection, open_server
from hybrid_core.store.index.server.requests import ANNOUNCED, RECORD
from tests.contract.vectors.library import Library, agree, ask
from tests.hybrid_core.store.index.server.opening import MANIFEST, NAME, opened
from tests.qdrant_local import client_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def test_the_record_is_in_no_search_and_no_count(server: Server, library: Library) -> None:
    index = opened(server, library)
    held, _ = client_of(server).scroll(index.store.name, limit=100, with_vectors=True)
    records = [point for point in held if point.id == RECORD]
    assert (len(held), len(records), index.count()) == (6, 1, 4)
    assert records[0].vector == {} and (records[0].payload or {})["position"] == 2
    agree(index, library, {1: 1.0, 2: 1.0})  # with the idf of 4 pages


def test_points_have_the_payload_of_the_embedded_index(server: Server, library: Library) -> None:
    index = opened(server, library)
    held, _ = client_of(server).scroll(index.store.name, limit=100)
    pages = [point.payload or {} for point in held if point.id not in (RECORD, ANNOUNCED)]
    assert {(p["doc_id"], p["content_id"], p["page"]) for p in pages} == {
        ("a", "a1", 1), ("a", "a1", 2), ("a", "a1", 3), ("b", "b1", 1)
    }  # fmt: skip
    assert {p["at"] for p in pages} == {2}


def test_collections_are_named_after_catalog_and_library() -> None:
    assert NAME.startswith("0123456789ab-reports-")
    odd = [library_collection("p-0123-", name) for name in ("../../日本語 報告", "日本語", "A b", "a B", "x" * 300)]
    assert len(set(odd)) == 5
    assert all(len(name) < 100 and not set(name) & set('<>:"/\\|?*\0') for name in odd)
    assert odd[0].startswith("p-0123-library-")


def test_what_was_made_otherwise_is_another_collection(server: Server, library: Library) -> None:
    first, second = opened(server, library), opened(server, library, {"tokenizer": "new"})
    third = opened(server, library, dimension=2)
    assert len({first.store.name, second.store.name, third.store.name}) == 3
    library.publish("b", "b2", {1: 3.0})
    for index in (second, third, first):  # nobody's searches are disturbed
        index.catch_up(library)
        agree(index, library, {1: 1.0})
        assert index.rebuilt == ""


def test_collections_that_nobody_used_for_a_day_are_deleted(
    server: Server, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, now = opened(server, library), time.time()
    other = open_server(server, NAME[:-1] + ("0" if NAME[-1] != "0" else "1"), library, MANIFEST)
    monkeypatch.setattr(time, "time", lambda: now + 23 * 3600)
    opened(server, library, {"tokenizer": "new"})
    assert old.store.name in server.collections()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    new = opened(server, library, {"tokenizer": "new"})
    assert set(server.collections()) == {new.store.name, other.store.name}  # another library's stays
    with pytest.raises(IndexDamagedError):
        ask(old, {1: 1.0})
    old.catch_up(library)
    agree(old, library, {1: 1.0})


def test_a_collection_in_use_is_noted(server: Server, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    index, now = opened(server, library), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    monkeypatch.setattr(collection, "_TOUCH_SECONDS", -1.0)
    ask(index, {1: 1.0})
    assert isinstance(index.store, collection.CollectionStore) and index.store.touching
    index.store.touching.join()
    opened(server, library, {"tokenizer": "new"})
    assert index.store.name in server.collections()


def test_dropping_a_library_leaves_the_others(server: Server, library: Library) -> None:
    first, second = opened(server, library), opened(server, library, dimension=2)
    other = open_server(server, library_collection("0123456789ab-", "reports 2"), library, MANIFEST)
    assert set(drop_collections(server, NAME, library)) == {first.store.name, second.store.name}
    assert server.collections() == [other.store.name]
    assert drop_collections(server, NAME, library) == []
