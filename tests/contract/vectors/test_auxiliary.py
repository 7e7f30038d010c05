"""What an index lacks is searched beside it, by the same scores, and it follows as far as somebody lets it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from hybrid_core.errors import StoreError
from hybrid_core.store.index import points as queries
from hybrid_core.store.index.index import AuxiliaryIndex, CountedDocument, WeightedIndex, completed
from hybrid_core.store.index.points import MOST_SENT, Query, version_tag
from hybrid_core.text.bm25 import Bm25, document_weights, query_weights
from hybrid_core.text.terms import TermCounts
from tests.contract.vectors.conftest import Opener
from tests.contract.vectors.library import Library, agree, arrays, ask

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)
BM25 = Bm25()
_TERMS = (*range(0, 40, 3), 999, 5000)
TERMS = dict(zip(_TERMS, query_weights([1.0 + term / 50 for term in _TERMS]).tolist(), strict=True))


class Counted(Library):
    """A library whose documents have term counts too."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, TermCounts] = {}

    def add(self, doc_id: str, content_id: str, seed: int, pages: int = 7) -> None:
        rng = np.random.default_rng(seed)
        words = [{int(t): int(rng.integers(1, 9)) for t in rng.choice(60, 20, replace=False)} for _ in range(pages)]
        lengths = [sum(page.values()) for page in words]
        self.counts[content_id] = TermCounts.build(words, lengths)
        weighed = [
            {
                t: float(document_weights(BM25.weights(np.array([n], np.uint16), float(length)))[0])
                for t, n in page.items()
            }
            for page, length in zip(words, lengths, strict=True)
        ]
        self.publish(doc_id, content_id, *weighed)

    def counted(self, doc_ids: set[str]) -> list[CountedDocument]:
        return [
            CountedDocument(doc, content, self.counts[content])
            for doc, (content, _) in self.versions.items()
            if doc in doc_ids
        ]


@pytest.fixture
def counted() -> Counted:
    library = Counted()
    for number in range(12):
        library.add(f"d{number:02}", f"c{number}", number, 5 + number % 4)
    return library


def test_new_documents_are_found_as_an_index_that_holds_them_finds_them(open_index: Opener, counted: Counted) -> None:
    behind = open_index(counted, place="behind")
    new = {"n1", "n2", "n3"}
    for number, doc_id in enumerate(sorted(new)):
        counted.add(doc_id, f"{doc_id}-1", 100 + number)
    whole, joined = open_index(counted, place="whole"), completed(behind, new, counted.counted(new), BM25)
    for limit, doc_ids in ((1000, None), (9, None), (1000, {"d01", "n2"}), (1000, {"n3"})):
        query = Query("bm25", arrays(TERMS), limit, doc_ids)
        expected, found = whole.search(query), joined.search(query)
        assert [(hit.doc_id, hit.version, hit.page) for hit in found] == [
            (hit.doc_id, hit.version, hit.page) for hit in expected
        ]
        assert [hit.score for hit in found] == [hit.score for hit in expected], "to the last digit"
    assert joined.search(Query("dense", (1.0, 0.0), 10)) == []


class _Frequencies:
    """How many pages of a library hold each term."""

    def __init__(self, library: Counted) -> None:
        self._counts = [library.counts[content] for content, _ in library.versions.values()]

    def of(self, terms: Sequence[int]) -> tuple[int, NDArray[np.int64]]:
        held = np.sum([counts.occurrences(terms).holding for counts in self._counts], axis=0)
        return sum(counts.page_count for counts in self._counts), np.asarray(held, np.int64)


def test_a_few_documents_are_scored_from_their_term_counts_as_the_index_scores_them(
    open_index: Opener, counted: Counted
) -> None:
    for number in range(3):  # the same pages under three names more: ties, which limits cut
        counted.add(f"copy{number}", f"k{number}", 1, 6)
    index = WeightedIndex(open_index(counted), _Frequencies(counted))
    for documents in ({"d01"}, {"d01", "copy0", "copy1", "copy2"}, {"d03", "copy2", "nowhere"}):
        few = index.within(counted.counted(documents))
        for limit in (1, 2, 3, 7, 1000):
            query = Query("bm25", arrays(TERMS), limit, documents)
            assert few.search(query) == index.search(query)
    assert few.search(Query("bm25", arrays(TERMS), 1000, {"d00"})) == []


def test_what_was_replaced_or_removed_is_never_shown(open_index: Opener, counted: Counted) -> None:
    behind = open_index(counted)
    counted.add("d00", "c0-2", 200)
    counted.remove("d01")
    changed = {"d00", "d01"}
    joined = completed(behind, changed, counted.counted(changed), BM25)
    for doc_ids in (None, {"d00", "d01", "d02"}):
        found = {(hit.doc_id, hit.version) for hit in joined.search(Query("bm25", arrays(TERMS), 1000, doc_ids))}
        assert ("d00", version_tag("c0-2")) in found and ("d02", version_tag("c2")) in found
        assert not {("d00", version_tag("c0")), ("d01", version_tag("c1"))} & found
    assert joined.search(Query("bm25", arrays(TERMS), 1000, {"d01"})) == []


def test_following_ends_where_it_is_enough_and_goes_on_from_there(open_index: Opener, counted: Counted) -> None:
    index = open_index(counted)
    for number in range(250):  # a server is sent a hundred documents at once
        counted.add(f"n{number:03}", f"n{number}", 300 + number, 1)
    asked: list[int] = []

    def after(turns: int) -> Callable[[], bool]:
        def enough() -> bool:
            asked.append(1)
            return len(asked) >= turns

        return enough

    began = index.position
    index.catch_up(counted, enough=after(1))
    assert began < index.position < counted.position()
    reached = index.position
    assert index.store.position() == reached, "and it is recorded"
    assert ask(index, TERMS, doc_ids={"n000"})
    index.catch_up(counted, enough=after(2))
    assert reached < index.position
    index.catch_up(counted)
    agree(index, counted, TERMS)


@pytest.mark.parametrize("named", [False, True])
def test_many_changed_documents_are_dropped_from_what_it_finds_instead_of_being_named(
    open_index: Opener, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    library = Counted()
    for number in range(3 * MOST_SENT // 2):
        library.add(f"d{number:03}", f"c{number}", number % 50, 1)  # many of equal score
        library.embed(f"d{number:03}", {(1, 0): (math.cos(number), math.sin(number))})
    index = open_index(library, 2)
    changed = {f"d{number:03}" for number in range(MOST_SENT + 20)}
    unchanged = library.versions.keys() - changed if named else None
    for doc_id in sorted(changed)[::2]:
        library.remove(doc_id)
    asked, nearest = list[Query](), index.store.nearest
    monkeypatch.setattr(index.store, "nearest", lambda query: asked.append(query) or nearest(query))
    for using, vector in (("bm25", arrays(TERMS)), ("dense", (0.6, 0.8))):
        for limit in (1, 7, 100, 1000):
            query = Query(using, vector, limit)  # type: ignore[arg-type]
            found = completed(index, changed, library.counted(changed), BM25, unchanged).search(query)
            assert all(len(one.without) + len(one.doc_ids or ()) <= MOST_SENT for one in asked) and asked
            with monkeypatch.context() as patch:
                patch.setattr(queries, "MOST_SENT", 10_000)
                assert found == completed(index, changed, library.counted(changed), BM25).search(query)
            asked.clear()


def test_an_index_that_holds_nothing_is_not_asked(open_index: Opener, counted: Counted) -> None:
    index = open_index(counted)
    everything = set(counted.versions)
    index.close()  # so that it says so where it is asked
    query = Query("bm25", arrays(TERMS), 9)
    with pytest.raises(StoreError, match="closed"):
        completed(index, everything, counted.counted(everything), BM25).search(query)
    found = completed(index, everything, counted.counted(everything), BM25, ()).search(query)
    assert found == AuxiliaryIndex(counted.counted(everything), BM25).search(query) != []
