"""A source and a copy of it on one server: of two histories one writes into a collection, and never the other."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable

import pytest

from hybrid_core.errors import OtherHistoryError
from hybrid_core.store.index.points import Head
from hybrid_core.store.index.server.collection import CollectionStore
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.placement import drop_collections
from hybrid_core.types.documents import Change
from tests.contract.vectors.library import Library, Weights, agree, ask
from tests.hybrid_core.store.index.server.opening import NAME, opened
from tests.qdrant_local import client_of, local_server

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)
WRITES = {"upsert", "delete", "set_payload", "delete_collection", "create_collection"}


class Marked(Library):
    """Its changes have marks, as a catalog's have."""

    def publish(self, doc_id: str, content_id: str, *pages: Weights) -> None:
        super().publish(doc_id, content_id, *pages)
        self._mark_last()

    def remove(self, doc_id: str) -> None:
        super().remove(doc_id)
        self._mark_last()

    def mark(self, seq: int) -> int | None:
        return next((change.mark for change in self.log if change.seq == seq), None) if seq else 0

    def copy(self) -> Marked:
        made = Marked()
        made.log, made.versions = list(self.log), dict(self.versions)
        return made

    def _mark_last(self) -> None:
        seq, doc_id, content_id = self.log[-1].seq, self.log[-1].doc_id, self.log[-1].content_id
        self.log[-1] = Change(seq, doc_id, content_id, random.getrandbits(62) + 1)


@pytest.fixture
def original() -> Marked:
    made = Marked()
    for name in "abc":
        made.publish(name, f"{name}1", {1: 1.0}, {2: 1.0})
    return made


def held(server: Server, name: str) -> list[tuple[str, object]]:
    points = client_of(server).scroll(name, limit=1000)[0]
    return sorted((str(point.id), {**(point.payload or {}), "used": 0}) for point in points)


def watched(server: Server, calls: list[str]) -> Server:
    return local_server(client_of(server), calls.append)


def test_a_copy_that_is_as_the_original_was_searches_with_its_collection(server: Server, original: Marked) -> None:
    opened(server, original)
    calls: list[str] = []
    agree(opened(watched(server, calls), original.copy()), original, {1: 1.0})
    assert not WRITES - {"set_payload"} & set(calls)


@pytest.mark.parametrize("first", ["original", "copy"])
@pytest.mark.parametrize("change", ["another version", "a removal", "a new document"])
def test_whoever_writes_second_writes_nothing(server: Server, original: Marked, first: str, change: str) -> None:
    copy, name = original.copy(), opened(server, original).store.name  # type: ignore[attr-defined]
    winner, loser = (original, copy) if first == "original" else (copy, original)
    running = opened(server, loser)
    winner.publish("b", "b2", {1: 2.0})
    for library in (winner, loser):
        if change == "another version":
            library.publish("a", f"a{id(library)}", {1: 3.0})
        elif change == "a removal":
            library.remove("a" if library is winner else "c")
        else:
            library.publish("d", "d1", {1: 4.0})
    index = opened(server, winner)
    before, calls = held(server, name), list[str]()
    with pytest.raises(OtherHistoryError):
        opened(watched(server, calls), loser)
    assert not WRITES & set(calls) and held(server, name) == before
    agree(index, winner, {1: 1.0, 2: 1.0})
    with pytest.raises(OtherHistoryError):
        running.catch_up(loser)
    assert held(server, name) == before


def test_a_search_notices_what_another_history_wrote_meanwhile(server: Server, original: Marked) -> None:
    copy = original.copy()
    index, other = opened(server, original), opened(server, copy)
    assert len(ask(other, {1: 1.0})) == 3
    original.publish("a", "a2", {1: 3.0})
    index.catch_up(original)
    assert len(ask(index, {1: 1.0})) == 3
    with pytest.raises(OtherHistoryError):
        ask(other, {1: 1.0})


def test_of_two_that_announce_at_the_same_time_one_writes(server: Server, original: Marked) -> None:
    copy, name = original.copy(), opened(server, original).store.name  # type: ignore[attr-defined]
    rival = opened(server, copy)
    original.publish("a", "a2", {1: 3.0})
    copy.remove("a")

    def between(call: str) -> None:
        if call == "upsert" and rival.position < copy.position():  # after it was looked what is announced
            rival.catch_up(copy)

    with pytest.raises(OtherHistoryError):
        opened(local_server(client_of(server), between), original)
    agree(rival, copy, {1: 1.0, 2: 1.0})
    assert not any("a2" in str(payload) for _, payload in held(server, name))


def test_what_is_published_while_an_earlier_change_is_applied_is_announced_too(
    server: Server, original: Marked
) -> None:
    """The copy applies a change that both have, and reads a version that it alone has."""
    name = opened(server, original).store.name  # type: ignore[attr-defined]
    original.publish("b", "b2", {1: 2.0})
    copy = original.copy()
    published = copy.published

    def late(doc_ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        if copy.position() == original.position():
            copy.publish("b", "b3", {1: 9.0})
        return published(doc_ids)

    copy.published = late  # type: ignore[method-assign]
    other = opened(server, copy)  # which announces what it alone has
    with pytest.raises(OtherHistoryError):
        opened(server, original)
    assert CollectionStore(server, name, 0).head() == Head(copy.position(), copy.mark(copy.position()) or 0)
    agree(other, copy, {1: 1.0})


def test_nobody_drops_a_collection_of_another_history(server: Server, original: Marked) -> None:
    copy = original.copy()
    index = opened(server, original)
    original.publish("a", "a2", {1: 3.0})
    index.catch_up(original)
    copy.remove("a")
    assert drop_collections(server, NAME, copy) == []
    agree(index, original, {1: 1.0})
    assert drop_collections(server, NAME, original) == [index.store.name]  # type: ignore[attr-defined]
