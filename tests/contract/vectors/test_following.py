"""What a search waits for while another thread brings the index up to the log."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from hybrid_core.store.index.follower import _points
from hybrid_core.store.index.points import Point
from tests.contract.vectors.library import Library, Opener, agree, ask

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)
_SECONDS = 60


class Slow(Library):
    """A library whose document "slow" is not read before ``go`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go = threading.Event(), threading.Event()

    def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
        if doc_id == "slow":
            self.reading.set()
            assert self.go.wait(_SECONDS)
        yield from super().points(doc_id, content_id)


@pytest.fixture
def slow() -> Library:
    slow = Slow()
    slow.publish("a", "a1", {1: 1.0})
    return slow


def test_a_search_does_not_wait_for_what_is_published_after_it_began(open_index: Opener, slow: Slow) -> None:
    index, began = open_index(slow), slow.position()
    slow.publish("slow", "s1", {1: 2.0})
    follower = threading.Thread(target=index.catch_up, args=(slow,))
    follower.start()
    assert slow.reading.wait(_SECONDS)
    index.catch_up(slow, began)  # returns while the other is being written
    assert [hit.doc_id for hit in ask(index, {1: 1.0})] == ["a"]
    slow.go.set()
    follower.join()
    agree(index, slow, {1: 1.0})


def test_a_search_waits_for_what_was_published_before_it_began(open_index: Opener, slow: Slow) -> None:
    index = open_index(slow)
    slow.publish("slow", "s1", {1: 2.0})
    began = slow.position()
    found: list[str] = []

    def search() -> None:
        index.catch_up(slow, began)
        found.extend(hit.doc_id for hit in ask(index, {1: 1.0}))

    threads = [threading.Thread(target=index.catch_up, args=(slow,)), threading.Thread(target=search)]
    for thread in threads:
        thread.start()
    assert slow.reading.wait(_SECONDS)
    assert found == []
    slow.go.set()
    for thread in threads:
        thread.join()
    assert found == ["slow", "a"]


def test_a_thread_goes_on_when_the_one_it_waits_for_fails(open_index: Opener, slow: Slow) -> None:
    index = open_index(slow)
    slow.publish("slow", "s1", {1: 2.0})
    read, failed = slow.points, list[BaseException]()

    def fail_once(doc_id: str, content_id: str) -> Iterator[Point]:
        slow.points = read  # type: ignore[method-assign]
        slow.reading.set()
        assert slow.go.wait(_SECONDS)
        raise RuntimeError("the source broke")
        yield

    def follow() -> None:
        try:
            index.catch_up(slow)
        except RuntimeError as error:
            failed.append(error)

    slow.points = fail_once  # type: ignore[method-assign]
    threads = [threading.Thread(target=follow), threading.Thread(target=follow)]
    threads[0].start()
    assert slow.reading.wait(_SECONDS)
    threads[1].start()
    slow.go.set()
    for thread in threads:
        thread.join()
    assert [str(error) for error in failed] == ["the source broke"]
    agree(index, slow, {1: 1.0})


def test_points_are_written_in_one_order_whatever_the_sources(library: Library) -> None:
    """Databases list rows in orders of their own, and an engine's sums depend on it in their last digits."""
    versions = list(library.published())
    orders = [[point.doc_id for point in _points(library, some)] for some in (versions, versions[::-1])]
    assert orders[0] == orders[1] == ["a", "a", "a", "b"]
