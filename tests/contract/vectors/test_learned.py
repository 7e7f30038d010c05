"""What every ``VectorIndex`` must do with learned term weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.index.points import Point, Query, version_tag
from hybrid_core.types.documents import Hit
from tests.contract.vectors.library import (
    Library,
    Opener,
    agree,
    agree_dense,
    agree_learned,
    arrays,
    ask_learned,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def test_a_page_scores_by_learned_weights_as_its_best_point(open_index: Opener, weighted: Library) -> None:
    index = open_index(weighted, 2, True)
    hits = ask_learned(index, {7: 2.0, 8: 1.0, 9: 5.0}, 10)
    assert [(h.doc_id, h.page, h.score) for h in hits] == [("a", 1, 2.5), ("a", 2, 1.5)], "no idf, no unknown token"
    assert hits[0] == Hit("a", version_tag("a1"), 1, score=2.5, learned=2.5)
    agree_learned(index, weighted, {7: 0.5, 8: 3.0, 250_001: 1.0})
    agree_learned(index, weighted, {250_001: 1.0, 7: 1.0}, doc_ids={"b"})
    assert ask_learned(index, {7: 1.0}, 1) == ask_learned(index, {7: 1.0}, 9)[:1]
    assert ask_learned(index, {}, 5) == ask_learned(index, {7: 1.0}, 5, doc_ids=[]) == []
    agree(index, weighted, {1: 1.0, 2: 2.0})
    agree_dense(index, weighted, [1.0, 0.0])


def test_the_limit_cuts_equal_learned_scores_by_document_and_page(open_index: Opener) -> None:
    library = Library()
    for doc_id in "cadb":
        library.publish(doc_id, f"{doc_id}1", *[{5: 1.0}] * 20)
        points = [(page, chunk) for page in range(1, 21) for chunk in range(3)]
        library.embed(doc_id, dict.fromkeys(points, (1.0, 0.0)), {key: {3: 1.0} for key in points})
    index = open_index(library, 2, True)
    for limit in (1, 2, 21, 100):
        found = [(h.doc_id, h.page) for h in ask_learned(index, {3: 1.0}, limit)]
        assert found == [(d, p) for d in "abcd" for p in range(1, 21)][:limit]


def test_learned_vectors_follow_the_log_and_survive_reopening(open_index: Opener, weighted: Library) -> None:
    index = open_index(weighted, 2, True)
    weighted.publish("a", "a2", {1: 1.0}, {1: 2.0})  # not embedded yet
    index.catch_up(weighted)
    agree_learned(index, weighted, {7: 1.0, 8: 1.0, 250_001: 1.0})
    weighted.embed("a", {(2, 0): (1, 0), (2, 4): (0, 1)}, {(2, 0): {7: 1.0}, (2, 4): {9: 1.0}})
    index.catch_up(weighted)
    agree_learned(index, weighted, {7: 1.0, 9: 2.0})
    index.close()
    index = open_index(weighted, 2, True)
    agree_learned(index, weighted, {7: 1.0, 9: 2.0})
    assert index.rebuilt == ""
    weighted.remove("a")
    index.catch_up(weighted)
    agree_learned(index, weighted, {7: 1.0, 250_001: 1.0})


def test_an_index_without_learned_vectors_finds_nothing_by_them(open_index: Opener, embedded: Library) -> None:
    index = open_index(embedded, 2)
    assert ask_learned(index, {7: 1.0}, 5) == []
    index.close()
    embedded.embed("b", {(1, 0): (1, 0)}, {(1, 0): {7: 1.0}})
    embedded.embed("a", {})
    agree_learned(open_index(embedded, 2, True), embedded, {7: 1.0})  # another index


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [([1, 1], [1.0, 1.0], "the same term twice"), ([1, 2], [1.0], "2,.*1,"), ([1], [math.inf], "NaN or infinite")],
)
def test_bad_learned_vectors_are_refused_and_do_no_harm(
    open_index: Opener, weighted: Library, indices: Sequence[int], values: Sequence[float], message: str
) -> None:
    index = open_index(weighted, 2, True)
    with pytest.raises(StoreError, match=message):
        index.search(Query("learned-sparse", (indices, values), 5))

    class Bad(Library):
        def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
            tokens = np.array(indices), np.array(values)
            yield Point(doc_id, content_id, 1, *arrays({}), dense=np.ones(2, np.float32), learned=tokens)

    bad = Bad()
    bad.log, bad.versions = [*weighted.log], {**weighted.versions}
    bad.publish("c", "c1", {})
    with pytest.raises(StoreError, match=message):
        index.catch_up(bad)
    weighted.publish("c", "c1", {1: 3.0})
    index.catch_up(weighted)
    agree_learned(index, weighted, {7: 1.0})
