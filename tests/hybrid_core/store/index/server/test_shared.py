"""Libraries that share a collection: nobody reaches another's points, and who grows gets a collection of its own."""

from __future__ import annotations

import time

import pytest

from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.placement import Places
from tests.contract.vectors.library import Library, agree, ask
from tests.hybrid_core.store.index.server.opening import MANIFEST
from tests.qdrant_local import client_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def places(server: Server, name: str, library: Library) -> Places:
    return Places(server, "0123456789ab-", name, library)


@pytest.fixture
def other() -> Library:
    """With a document of the same id and version as one of the first library's, and other words on it."""
    other = Library()
    other.publish("a", "a1", {1: 3.0}, {5: 1.0})
    return other


def test_each_finds_counts_and_deletes_its_own_alone(server: Server, library: Library, other: Library) -> None:
    mine = places(server, "mine", library).open(True, MANIFEST, 0, False)
    theirs = places(server, "theirs", other).open(True, MANIFEST, 0, False)
    assert mine.store.name == theirs.store.name and len(server.collections()) == 1
    assert (mine.count(), theirs.count()) == (4, 2)
    agree(mine, library, {1: 1.0, 2: 1.0})
    agree(theirs, other, {1: 1.0, 5: 1.0})
    assert ask(mine, {5: 1.0}) == []
    library.remove("a")
    mine.catch_up(library)
    mine.store.refill((point for version in library.published() for point in library.points(*version)), 3)
    assert (mine.count(), theirs.count()) == (1, 2)
    assert places(server, "mine", library).drop() == [mine.store.name]
    agree(theirs, other, {1: 1.0, 5: 1.0})
    assert places(server, "theirs", other).drop() == [theirs.store.name] and server.collections() == []


def test_a_library_that_has_grown_leaves_the_others(
    server: Server, library: Library, other: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = places(server, "theirs", other).open(True, MANIFEST, 0, False)
    small = places(server, "mine", library).open(True, MANIFEST, 0, False)
    large = places(server, "mine", library).open(False, MANIFEST, 0, False)
    assert large.store.name != small.store.name
    library.publish("c", "c1", {1: 2.0})
    for index in (small, large):  # a process that still has it open where it was goes on
        index.catch_up(library)
        agree(index, library, {1: 1.0})
    assert places(server, "mine", library).open(True, MANIFEST, 0, False).store.name == large.store.name
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    places(server, "mine", library).open(False, MANIFEST, 0, False)
    held = client_of(server).scroll(theirs.store.name, limit=100)[0]
    assert {(point.payload or {})["library"] for point in held} == {"theirs"}
