"""What every ``VectorIndex`` must do with the words of pages."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.index.points import Point, Query, version_tag
from hybrid_core.types.documents import Change, Hit
from tests.contract.vectors.library import (
    Library,
    Opener,
    agree,
    ask,
    random_pages,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def test_score_is_the_inner_product(open_index: Opener, library: Library) -> None:
    hits = ask(open_index(library), {2: 2.0, 1: 1.0})
    assert [(h.doc_id, h.page) for h in hits] == [("a", 2), ("a", 1), ("b", 1)]
    assert [h.score for h in hits] == pytest.approx([2 * 2, 1 + 2 * 0.5, 0.25])
    assert hits[0] == Hit("a", version_tag("a1"), 2, score=hits[0].score, sparse=hits[0].score)


def test_an_empty_library_is_searchable(open_index: Opener) -> None:
    index = open_index(Library())
    assert (ask(index, {1: 1.0}), index.count(), index.position) == ([], 0, 0)


def test_a_page_without_text_counts_but_is_never_found(open_index: Opener) -> None:
    library = Library()
    library.publish("a", "a1", {7: 1.0}, {}, {}, {})
    index = open_index(library)
    agree(index, library, {7: 1.0})
    index.close()
    agree(open_index(library), library, {7: 1.0})


def test_a_new_version_replaces_all_pages_of_the_old(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    library.publish("a", "a2", {2: 1.0})
    index.catch_up(library)
    assert [(h.doc_id, h.version, h.page) for h in ask(index, {2: 1.0})] == [("a", version_tag("a2"), 1)]
    agree(index, library, {1: 1.0, 2: 1.0})


def test_a_removed_document_is_gone(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    library.remove("a")
    index.catch_up(library)
    assert ask(index, {2: 1.0}) == []
    assert ask(index, {1: 1.0})[0].score == pytest.approx(0.25)
    library.remove("b")
    index.catch_up(library)
    agree(index, library, {1: 1.0})
    assert index.count() == 0


def test_a_removed_document_can_return(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    library.remove("b")
    index.catch_up(library)
    library.publish("b", "b1", {1: 0.25})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


def test_scores_stay_exact_through_changes_and_reopening(open_index: Opener) -> None:
    library = Library()
    for number in range(30):
        library.publish(f"d{number}", f"c{number}", *random_pages(number, 10))
    index = open_index(library)
    query = {term: 1.0 + term / 100 for term in range(0, 40, 3)}
    agree(index, library, query)
    for number in range(0, 30, 2):
        library.publish(f"d{number}", f"new{number}", *random_pages(1000 + number, 6))
    library.remove("d1")
    index.catch_up(library)
    agree(index, library, query)
    agree(index, library, query, doc_ids={"d2", "d3", "d1"})
    index.close()
    index = open_index(library)
    agree(index, library, query)
    library.remove("d3")
    index.catch_up(library)
    agree(index, library, query)


def test_the_filter_keeps_documents_and_their_scores(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    everywhere = {(h.doc_id, h.page): h.score for h in ask(index, {1: 1.0})}
    assert {(h.doc_id, h.page): h.score for h in ask(index, {1: 1.0}, doc_ids=["b", "nothing"])} == {
        ("b", 1): pytest.approx(everywhere["b", 1])
    }
    assert ask(index, {1: 1.0}, doc_ids=[]) == []
    assert ask(index, {1: 1.0}, doc_ids=frozenset({"nothing"})) == []


def test_the_limit_cuts_ties_by_document_and_page(open_index: Opener) -> None:
    library = Library()
    for doc_id in "cadb":
        library.publish(doc_id, f"{doc_id}1", *[{5: 1.0}] * 40)
    library.publish("z", "z1", {5: 2.0})
    index = open_index(library)
    for limit in (1, 2, 3, 41, 42, 100):
        found = [(h.doc_id, h.page) for h in ask(index, {5: 1.0}, limit)]
        assert found == [("z", 1), *((d, p) for d in "abcd" for p in range(1, 41))][:limit]
    assert ask(index, {5: 1.0}, limit=0) == []


def test_a_query_without_terms_or_with_unknown_ones_finds_nothing(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    assert ask(index, {}) == []
    assert ask(index, {999: 1.0}) == []
    assert ask(index, {999: 1.0}, doc_ids={"a"}) == []


@pytest.mark.slow
def test_a_query_of_a_hundred_thousand_terms(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    agree(index, library, dict.fromkeys(range(100_000), 1.0))


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [
        ([1, 1], [1.0, 1.0], "the same term twice"),
        ([1, 2], [1.0], "2,.*1,"),
        ([1], [math.nan], "NaN or infinite"),
        ([1], [1e39], "NaN or infinite"),
        ([-1], [1.0], "32-bit unsigned"),
        ([2**32], [1.0], "32-bit unsigned"),
        ([1.5], [1.0], "32-bit unsigned"),
    ],
)
def test_bad_vectors_are_refused_and_do_no_harm(
    open_index: Opener, library: Library, indices: Sequence[int], values: Sequence[float], message: str
) -> None:
    index = open_index(library)
    with pytest.raises(StoreError, match=message):
        index.search(Query("bm25", (indices, values), 5))

    class Bad(Library):
        def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
            yield Point(doc_id, content_id, 1, np.array(indices), np.array(values))

    bad = Bad()
    bad.log, bad.versions = [*library.log], {**library.versions}
    bad.publish("c", "c1", {})
    with pytest.raises(StoreError, match=message):
        index.catch_up(bad)
    library.publish("c", "c1", {1: 3.0})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


def test_catching_up_twice_changes_nothing(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    index.catch_up(library)
    agree(index, library, {1: 1.0, 2: 1.0})


def test_superseded_and_repeated_changes_are_harmless(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    library.publish("a", "old", {1: 9.0})
    library.remove("a")
    library.publish("a", "older", {1: 8.0}, {2: 8.0})
    library.publish("a", "a1", {1: 1.0}, {3: 1.0})
    for change in [*library.log]:  # the whole log once more, with new numbers
        library.log.append(Change(library.position() + 1, change.doc_id, change.content_id))
    index.catch_up(library)
    agree(index, library, {1: 1.0, 2: 1.0, 3: 1.0})


def test_a_log_that_moves_while_it_is_applied(open_index: Opener, library: Library) -> None:
    index = open_index(library)

    class Moving(Library):
        moves = 3

        def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
            if self.moves:
                self.moves -= 1
                self.publish("a", f"moved{self.moves}", {1: 1.0 + self.moves}, {6: 1.0})
            yield from super().points(doc_id, content_id)

    moving = Moving()
    moving.log, moving.versions = [*library.log], {**library.versions}
    moving.publish("a", "a2", {1: 5.0})
    index.catch_up(moving)
    agree(index, moving, {1: 1.0, 6: 1.0})


@pytest.mark.parametrize("doc_id", ["日本語/報告 2024.pdf", "é\"\\\n\t'", "😀", "a" * 2000, " "])
def test_any_document_id(open_index: Opener, library: Library, doc_id: str) -> None:
    library.publish(doc_id, doc_id + "1", {1: 1.0})
    index = open_index(library)
    agree(index, library, {1: 1.0}, doc_ids={doc_id})
    library.publish(doc_id, doc_id + "2", {1: 2.0})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


@pytest.mark.slow
def test_several_threads_search_while_one_catches_up(open_index: Opener) -> None:
    library = Library()
    library.publish("still", "s1", {1: 1.0})
    index = open_index(library)
    stop, failures = threading.Event(), list[Exception]()

    def searcher() -> None:
        try:
            while not stop.is_set():
                assert "still" in {hit.doc_id for hit in ask(index, {1: 1.0})}
        except (StoreError, AssertionError) as error:
            failures.append(error)

    threads = [threading.Thread(target=searcher) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(10):
        library.publish("moving", f"m{number}", *[{1: 0.5, number + 2: 1.0}] * 20)
        index.catch_up(library)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    agree(index, library, {1: 1.0, 11: 1.0})


def test_closing_twice_and_using_what_is_closed(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    index.close()
    index.close()
    with pytest.raises(StoreError, match="closed"):
        ask(index, {1: 1.0})
    with pytest.raises(StoreError, match="closed"):
        index.catch_up(library)
