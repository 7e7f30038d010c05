"""What every ``VectorIndex`` must do with dense vectors."""

from __future__ import annotations

import math

import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.index.points import version_tag
from hybrid_core.types.documents import Hit
from tests.contract.vectors.library import (
    Library,
    Opener,
    Vector,
    agree,
    agree_dense,
    ask_dense,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


def test_a_page_scores_as_its_best_point(open_index: Opener, embedded: Library) -> None:
    index = open_index(embedded, 2)
    hits = ask_dense(index, [1.0, 0.0], 10)
    assert [(h.doc_id, h.page) for h in hits] == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert [h.score for h in hits] == pytest.approx([1.0, 0.8, 0.0, -1.0], abs=1e-6)  # a chunk, a page, pages
    assert hits[0] == Hit("a", version_tag("a1"), 1, score=hits[0].score, dense=hits[0].score)
    agree_dense(index, embedded, [0.6, -0.8])


def test_dense_vectors_change_no_sparse_score(open_index: Opener, embedded: Library) -> None:
    agree(open_index(embedded, 2), embedded, {1: 1.0, 2: 2.0})


def test_dense_search_keeps_to_the_documents_and_the_limit(open_index: Opener, embedded: Library) -> None:
    index = open_index(embedded, 2)
    agree_dense(index, embedded, [1.0, 0.0], doc_ids={"b"})
    assert ask_dense(index, [1.0, 0.0], 5, doc_ids=[]) == []
    assert ask_dense(index, [1.0, 0.0], 5, doc_ids={"nothing"}) == []
    assert ask_dense(index, [1.0, 0.0], 0) == []
    assert [(h.doc_id, h.page) for h in ask_dense(index, [1.0, 0.0], 2)] == [("a", 1), ("a", 2)]


def test_the_limit_cuts_equal_dense_scores_by_document_and_page(open_index: Opener) -> None:
    library = Library()
    for doc_id in "cadb":
        library.publish(doc_id, f"{doc_id}1", *[{5: 1.0}] * 20)
        library.embed(doc_id, {(page, chunk): (1.0, 0.0) for page in range(1, 21) for chunk in range(3)})
    library.publish("z", "z1", {5: 1.0})
    library.embed("z", {(1, 0): (1.0, 0.0), (1, 1): (2.0, 0.0)})
    index = open_index(library, 2)
    for limit in (1, 2, 3, 21, 100):
        found = [(h.doc_id, h.page) for h in ask_dense(index, [1.0, 0.0], limit)]
        assert found == [("z", 1), *((d, p) for d in "abcd" for p in range(1, 21))][:limit]


def test_without_dense_vectors_a_dense_search_finds_nothing(open_index: Opener, library: Library) -> None:
    assert ask_dense(open_index(library), [1.0, 0.0], 5) == []
    assert ask_dense(open_index(library, 2), [1.0, 0.0], 5) == []  # none yet


@pytest.mark.parametrize(
    ("vector", "message"),
    [([1.0], "shape"), ([1.0, 0.0, 0.0], "shape"), ([], "shape"), ([math.nan, 0.0], "NaN or infinite")],
)
def test_a_dense_vector_that_does_not_fit_is_refused(
    open_index: Opener, embedded: Library, vector: Vector, message: str
) -> None:
    index = open_index(embedded, 2)
    with pytest.raises(StoreError, match=message):
        ask_dense(index, vector, 5)
    good = embedded.dense["b1"]
    embedded.embed("b", {(1, 0): vector})
    with pytest.raises(StoreError, match=message):
        index.catch_up(embedded)
    embedded.embed("b", good)
    index.catch_up(embedded)
    agree_dense(index, embedded, [1.0, 0.0])


def test_dense_vectors_appear_when_a_document_is_written_again(open_index: Opener, library: Library) -> None:
    index = open_index(library, 2)
    assert index.count() == 4
    library.embed("b", {(1, 0): (0.0, 1.0), (1, 3): (1.0, 0.0)})
    index.catch_up(library)
    assert index.count() == 6
    agree_dense(index, library, [1.0, 0.0])
    agree(index, library, {1: 1.0})
    library.publish("b", "b2", {1: 1.0}, {1: 2.0})  # not embedded yet
    index.catch_up(library)
    assert ask_dense(index, [1.0, 0.0], 5) == []
    library.embed("b", {(2, 0): (1.0, 0.0)})
    index.catch_up(library)
    agree_dense(index, library, [1.0, 0.0])
    index.close()
    agree_dense(open_index(library, 2), library, [1.0, 0.0])


def test_another_dimension_is_another_index(open_index: Opener, embedded: Library) -> None:
    open_index(embedded, 2).close()
    embedded.dense = {"a1": {(1, 0): (0.0, 0.6, 0.8)}}
    index = open_index(embedded, 3)
    agree_dense(index, embedded, [0.0, 1.0, 0.0])
