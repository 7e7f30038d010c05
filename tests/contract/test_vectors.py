"""What every ``VectorIndex`` must do. A new backend adds one line to ``BACKENDS``."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.errors import StoreError
from hybrid_core.store.qdrant_edge import open_edge
from hybrid_core.store.qdrant_server import drop_collections, library_collection, open_server
from hybrid_core.store.server_connection import Server, connect
from hybrid_core.store.vectors import Change, Point, PointSource, VectorIndex
from hybrid_core.types import Hit
from tests import qdrant_stub
from tests.qdrant_local import local_server

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)
Open = Callable[[Path, PointSource, int, bool], VectorIndex]
_servers: dict[str, Server] = {}


def _on(kind: str, folder: Path, source: PointSource, dimension: int, learned: bool) -> VectorIndex:
    collection = library_collection("test-", "contract", str(folder))
    return open_server(_servers[kind], collection, source, {"tokenizer": 1}, dimension, learned)


BACKENDS: dict[str, Open] = {
    "edge": lambda folder, source, *vectors: open_edge(folder, source, {"tokenizer": 1}, *vectors),
    "server (local mode)": lambda *asked: _on("local", *asked),
    "server (its REST and engine)": lambda *asked: _on("stub", *asked),
}
# Settings of the environment are taken away from every test, so they are read here.
REAL = os.environ.get("PAGEINDEX_QDRANT_URL", ""), os.environ.get("PAGEINDEX_QDRANT_API_KEY", "")
if REAL[0]:
    BACKENDS["server (real)"] = lambda *asked: _on("real", *asked)


@pytest.fixture(scope="module", autouse=True)
def _running() -> Iterator[None]:
    with qdrant_stub.running(api_key="k") as stub:
        _servers.update(local=local_server(), stub=connect(stub.url, "k"))
        if REAL[0]:
            _servers["real"] = connect(*REAL)
        yield
        for name in _servers["real"].collections() if REAL[0] else []:
            if name.startswith("test-contract-"):
                drop_collections(_servers["real"], name.rsplit("-", 1)[0])
        for server in _servers.values():
            server.close()


Weights = dict[int, float]  # term to document weight
Vector = Sequence[float]


def arrays(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    return np.array(list(weights), np.uint32), np.array(list(weights.values()), np.float32)


class Library:
    """A ``PointSource`` in memory, and the scores worked out by hand from what it publishes."""

    def __init__(self) -> None:
        self.log: list[Change] = []
        self.versions: dict[str, tuple[str, list[Weights]]] = {}
        self.dense: dict[str, dict[tuple[int, int], Vector]] = {}  # of a version: (page, chunk) to vector
        self.learned: dict[str, dict[tuple[int, int], Weights]] = {}  # the same, to learned weights

    def embed(
        self,
        doc_id: str,
        vectors: dict[tuple[int, int], Vector],
        learned: dict[tuple[int, int], Weights] | None = None,
    ) -> None:
        """The published version gets vectors for its pages (chunk 0) and chunks; the log says so."""
        content_id = self.versions[doc_id][0]
        self.dense[content_id] = vectors
        self.learned[content_id] = learned or {}
        self.log.append(Change(self.position() + 1, doc_id, content_id))

    def publish(self, doc_id: str, content_id: str, *pages: Weights) -> None:
        self.versions[doc_id] = (content_id, list(pages))
        self.log.append(Change(self.position() + 1, doc_id, content_id))

    def remove(self, doc_id: str) -> None:
        self.versions.pop(doc_id, None)
        self.log.append(Change(self.position() + 1, doc_id, None))

    def position(self) -> int:
        return self.log[-1].seq if self.log else 0

    def changes(self, after: int) -> Iterable[Change]:
        return (change for change in self.log if change.seq > after)

    def published(self) -> Iterable[tuple[str, str]]:
        return [(doc_id, content_id) for doc_id, (content_id, _) in self.versions.items()]

    def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
        current, pages = self.versions.get(doc_id, ("", []))
        dense, learned = self.dense.get(content_id, {}), self.learned.get(content_id, {})
        for number, weights in enumerate(pages if current == content_id else [], 1):
            vector = np.array(dense[number, 0], np.float32) if (number, 0) in dense else None
            tokens = arrays(learned[number, 0]) if (number, 0) in learned else None
            yield Point(doc_id, content_id, number, *arrays(weights), dense=vector, learned=tokens)
        for (page, chunk), held in dense.items() if current == content_id else ():
            if chunk:
                tokens = arrays(learned[page, chunk]) if (page, chunk) in learned else None
                yield Point(doc_id, content_id, page, *arrays({}), chunk, np.array(held, np.float32), tokens)

    def expected_vectors(self) -> int:
        return sum(
            len(pages) + len(self.dense.get(content, {})) + len(self.learned.get(content, {}))
            for content, pages in self.versions.values()
        )

    def learned_scores(self, query: Weights, doc_ids: Collection[str] | None = None) -> list[tuple[str, int, float]]:
        """(document, page, the best inner product of its points) where a token is shared, best first."""
        best: dict[tuple[str, int], float] = {}
        for doc_id, (content_id, _) in self.versions.items():
            for (page, _), weights in self.learned.get(content_id, {}).items():
                if (doc_ids is None or doc_id in doc_ids) and not weights.keys().isdisjoint(query):
                    score = sum(query[token] * weights[token] for token in query if token in weights)
                    best[doc_id, page] = max(best.get((doc_id, page), 0.0), score)
        return sorted(((*page, score) for page, score in best.items()), key=lambda row: (-row[2], row[0], row[1]))

    def dense_scores(self, query: Vector, doc_ids: Collection[str] | None = None) -> list[tuple[str, int, float]]:
        """(document, page, the best dot product of its points), best first."""
        best: dict[tuple[str, int], float] = {}
        for doc_id, (content_id, _) in self.versions.items():
            for (page, _), vector in self.dense.get(content_id, {}).items():
                score = float(np.dot(np.array(query, np.float32), np.array(vector, np.float32)))
                if doc_ids is None or doc_id in doc_ids:
                    best[doc_id, page] = max(best.get((doc_id, page), -math.inf), score)
        found = [(doc_id, page, score) for (doc_id, page), score in best.items()]
        return sorted(found, key=lambda row: (-row[2], row[0], row[1]))

    def scores(self, query: Weights, doc_ids: Collection[str] | None = None) -> list[tuple[str, str, int, float]]:
        pages = [
            (doc_id, content_id, number, weights)
            for doc_id, (content_id, pages) in self.versions.items()
            for number, weights in enumerate(pages, 1)
        ]
        holding = {term: sum(term in weights for *_, weights in pages) for term in query}
        idf = {term: math.log(1 + (len(pages) - n + 0.5) / (n + 0.5)) for term, n in holding.items()}
        found = [
            (doc_id, content_id, number, sum(query[t] * idf[t] * weights[t] for t in query if t in weights))
            for doc_id, content_id, number, weights in pages
            if (doc_ids is None or doc_id in doc_ids) and not weights.keys().isdisjoint(query)
        ]
        return sorted(found, key=lambda row: (-row[3], row[0], row[2]))


def ask(index: VectorIndex, query: Weights, limit: int = 1000, doc_ids: Collection[str] | None = None) -> list[Hit]:
    return index.search(*arrays(query), limit, doc_ids)


def agree(index: VectorIndex, library: Library, query: Weights, doc_ids: Collection[str] | None = None) -> None:
    """The index returns the pages and scores worked out by hand."""
    hits, expected = ask(index, query, doc_ids=doc_ids), library.scores(query, doc_ids)
    assert {(h.doc_id, h.content_id, h.page) for h in hits} == {row[:3] for row in expected}
    by_page = {row[:3]: row[3] for row in expected}
    for hit in hits:
        assert hit.score == pytest.approx(by_page[hit.doc_id, hit.content_id, hit.page], rel=1e-5)
        assert hit.sparse == hit.score
    assert hits == sorted(hits, key=lambda h: (-h.score, h.doc_id, h.page))
    assert index.count() == library.expected_vectors()
    assert index.position == library.position()


def random_pages(seed: int, pages: int, terms: int = 30, vocabulary: int = 200) -> list[Weights]:
    rng = np.random.default_rng(seed)
    return [
        {
            int(t): float(w)
            for t, w in zip(rng.choice(vocabulary, terms, replace=False), rng.random(terms) + 0.5, strict=True)
        }
        for _ in range(pages)
    ]


Opener = Callable[..., VectorIndex]  # of a library, the dense vectors' dimension, whether there are learned ones


@pytest.fixture(params=BACKENDS)
def open_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    opened: list[VectorIndex] = []

    def opener(library: Library, dimension: int = 0, learned: bool = False) -> VectorIndex:
        opened.append(BACKENDS[request.param](tmp_path / "index", library, dimension, learned))
        return opened[-1]

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def library() -> Library:
    library = Library()
    library.publish("a", "a1", {1: 1.0, 2: 0.5}, {2: 2.0}, {})
    library.publish("b", "b1", {1: 0.25, 4_294_967_295: 1.5})
    return library


def test_score_is_the_formula_worked_out_by_hand(open_index: Opener, library: Library) -> None:
    hits = ask(open_index(library), {2: 2.0, 1: 1.0})
    both, only = math.log(1 + (4 - 2 + 0.5) / 2.5), math.log(1 + (4 - 2 + 0.5) / 2.5)
    assert [(h.doc_id, h.page) for h in hits] == [("a", 2), ("a", 1), ("b", 1)]
    assert [h.score for h in hits] == pytest.approx([2 * 2 * only, (1 + 2 * 0.5) * both, 0.25 * both])
    assert hits[0] == Hit("a", "a1", 2, score=hits[0].score, sparse=hits[0].score)


def test_an_empty_library_is_searchable(open_index: Opener) -> None:
    index = open_index(Library())
    assert (ask(index, {1: 1.0}), index.count(), index.position) == ([], 0, 0)


def test_a_page_without_text_counts_but_is_never_found(open_index: Opener) -> None:
    library = Library()
    library.publish("a", "a1", {7: 1.0}, {}, {}, {})
    index = open_index(library)
    assert ask(index, {7: 1.0})[0].score == pytest.approx(math.log(1 + 3.5 / 1.5))  # N is 4
    agree(index, library, {7: 1.0})
    index.close()
    agree(open_index(library), library, {7: 1.0})


def test_a_new_version_replaces_all_pages_of_the_old(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    library.publish("a", "a2", {2: 1.0})
    index.catch_up(library)
    assert [(h.doc_id, h.content_id, h.page) for h in ask(index, {2: 1.0})] == [("a", "a2", 1)]
    agree(index, library, {1: 1.0, 2: 1.0})


def test_a_removed_document_is_gone_from_hits_and_idf(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    library.remove("a")
    index.catch_up(library)
    assert ask(index, {2: 1.0}) == []
    assert ask(index, {1: 1.0})[0].score == pytest.approx(0.25 * math.log(1 + 0.5 / 1.5))  # N and n are 1
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


def test_the_filter_keeps_documents_and_not_their_idf(open_index: Opener, library: Library) -> None:
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


def test_a_query_of_a_hundred_thousand_terms(open_index: Opener, library: Library) -> None:
    index = open_index(library)
    agree(index, library, dict.fromkeys(range(100_000), 1.0))


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [
        ([1, 1], [1.0, 1.0], "same index twice"),
        ([1, 2], [1.0], "2,.*1,"),
        ([1], [math.nan], "not finite"),
        ([1], [1e39], "not finite"),
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
        index.search(indices, values, 5)

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


# --- dense vectors ---


@pytest.fixture
def embedded(library: Library) -> Library:
    """Page 1 of "a" has a weak summary and a strong chunk, page 2 the other way round; "b" has no chunks."""
    library.embed(
        "a", {(1, 0): (0.6, 0.8), (1, 1): (1.0, 0.0), (2, 0): (0.8, 0.6), (2, 2): (0.0, -1.0), (3, 0): (0, 1)}
    )
    library.embed("b", {(1, 0): (-1.0, 0.0)})
    return library


def agree_dense(index: VectorIndex, library: Library, query: Vector, doc_ids: Collection[str] | None = None) -> None:
    """The index returns every page that has a vector, each by its best, in order, and counts all of them."""
    hits, expected = index.search_dense(query, 1000, doc_ids), library.dense_scores(query, doc_ids)
    assert [(h.doc_id, h.page) for h in hits] == [row[:2] for row in expected]
    assert [h.score for h in hits] == pytest.approx([row[2] for row in expected], abs=1e-6)
    assert all(h.dense == h.score and h.sparse == 0.0 for h in hits)
    assert all(h.content_id == library.versions[h.doc_id][0] for h in hits)
    assert index.count() == library.expected_vectors()
    assert index.position == library.position()


def test_a_page_scores_as_its_best_point(open_index: Opener, embedded: Library) -> None:
    index = open_index(embedded, 2)
    hits = index.search_dense([1.0, 0.0], 10)
    assert [(h.doc_id, h.page) for h in hits] == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert [h.score for h in hits] == pytest.approx([1.0, 0.8, 0.0, -1.0], abs=1e-6)  # a chunk, a page, pages
    assert hits[0] == Hit("a", "a1", 1, score=hits[0].score, dense=hits[0].score)
    agree_dense(index, embedded, [0.6, -0.8])


def test_dense_vectors_change_no_sparse_score(open_index: Opener, embedded: Library) -> None:
    agree(open_index(embedded, 2), embedded, {1: 1.0, 2: 2.0})


def test_dense_search_keeps_to_the_documents_and_the_limit(open_index: Opener, embedded: Library) -> None:
    index = open_index(embedded, 2)
    agree_dense(index, embedded, [1.0, 0.0], doc_ids={"b"})
    assert index.search_dense([1.0, 0.0], 5, doc_ids=[]) == []
    assert index.search_dense([1.0, 0.0], 5, doc_ids={"nothing"}) == []
    assert index.search_dense([1.0, 0.0], 0) == []
    assert [(h.doc_id, h.page) for h in index.search_dense([1.0, 0.0], 2)] == [("a", 1), ("a", 2)]


def test_the_limit_cuts_equal_dense_scores_by_document_and_page(open_index: Opener) -> None:
    library = Library()
    for doc_id in "cadb":
        library.publish(doc_id, f"{doc_id}1", *[{5: 1.0}] * 20)
        library.embed(doc_id, {(page, chunk): (1.0, 0.0) for page in range(1, 21) for chunk in range(3)})
    library.publish("z", "z1", {5: 1.0})
    library.embed("z", {(1, 0): (1.0, 0.0), (1, 1): (2.0, 0.0)})
    index = open_index(library, 2)
    for limit in (1, 2, 3, 21, 100):
        found = [(h.doc_id, h.page) for h in index.search_dense([1.0, 0.0], limit)]
        assert found == [("z", 1), *((d, p) for d in "abcd" for p in range(1, 21))][:limit]


def test_without_dense_vectors_a_dense_search_finds_nothing(open_index: Opener, library: Library) -> None:
    assert open_index(library).search_dense([1.0, 0.0], 5) == []
    assert open_index(library, 2).search_dense([1.0, 0.0], 5) == []  # none yet


@pytest.mark.parametrize(
    ("vector", "message"),
    [([1.0], "shape"), ([1.0, 0.0, 0.0], "shape"), ([], "shape"), ([math.nan, 0.0], "not finite")],
)
def test_a_dense_vector_that_does_not_fit_is_refused(
    open_index: Opener, embedded: Library, vector: Vector, message: str
) -> None:
    index = open_index(embedded, 2)
    with pytest.raises(StoreError, match=message):
        index.search_dense(vector, 5)
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
    assert index.search_dense([1.0, 0.0], 5) == []
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


# --- learned sparse vectors ---


@pytest.fixture
def weighted(library: Library) -> Library:
    """Page 1 of "a" has a weak summary and a strong chunk, page 2 the other way round, page 3 no tokens at all."""
    library.embed(
        "a",
        {(1, 0): (1, 0), (1, 1): (1, 0), (2, 0): (1, 0), (2, 2): (1, 0), (3, 0): (1, 0)},
        {(1, 0): {7: 0.25}, (1, 1): {7: 1.0, 8: 0.5}, (2, 0): {7: 0.75}, (2, 2): {8: 0.125}, (3, 0): {}},
    )
    library.embed("b", {(1, 0): (0, 1)}, {(1, 0): {250_001: 0.5}})
    return library


def agree_learned(index: VectorIndex, library: Library, query: Weights, doc_ids: Collection[str] | None = None) -> None:
    """The index returns every page that shares a token, each by its best point, in order, and counts all vectors."""
    hits, expected = index.search_learned(*arrays(query), 1000, doc_ids), library.learned_scores(query, doc_ids)
    assert [(h.doc_id, h.page) for h in hits] == [row[:2] for row in expected]
    assert [h.score for h in hits] == pytest.approx([row[2] for row in expected], abs=1e-6)
    assert all(h.learned == h.score and h.sparse == 0.0 and h.dense is None for h in hits)
    assert all(h.content_id == library.versions[h.doc_id][0] for h in hits)
    assert index.count() == library.expected_vectors()


def test_a_page_scores_by_learned_weights_as_its_best_point(open_index: Opener, weighted: Library) -> None:
    index = open_index(weighted, 2, True)
    hits = index.search_learned(*arrays({7: 2.0, 8: 1.0, 9: 5.0}), 10)
    assert [(h.doc_id, h.page, h.score) for h in hits] == [("a", 1, 2.5), ("a", 2, 1.5)], "no idf, no unknown token"
    assert hits[0] == Hit("a", "a1", 1, score=2.5, learned=2.5)
    agree_learned(index, weighted, {7: 0.5, 8: 3.0, 250_001: 1.0})
    agree_learned(index, weighted, {250_001: 1.0, 7: 1.0}, doc_ids={"b"})
    assert index.search_learned(*arrays({7: 1.0}), 1) == index.search_learned(*arrays({7: 1.0}), 9)[:1]
    assert index.search_learned([], [], 5) == index.search_learned([7], [1.0], 5, doc_ids=[]) == []
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
        found = [(h.doc_id, h.page) for h in index.search_learned([3], [1.0], limit)]
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
    assert index.search_learned([7], [1.0], 5) == []
    index.close()
    embedded.embed("b", {(1, 0): (1, 0)}, {(1, 0): {7: 1.0}})
    embedded.embed("a", {})
    agree_learned(open_index(embedded, 2, True), embedded, {7: 1.0})  # another index


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [([1, 1], [1.0, 1.0], "same index twice"), ([1, 2], [1.0], "2,.*1,"), ([1], [math.inf], "not finite")],
)
def test_bad_learned_vectors_are_refused_and_do_no_harm(
    open_index: Opener, weighted: Library, indices: Sequence[int], values: Sequence[float], message: str
) -> None:
    index = open_index(weighted, 2, True)
    with pytest.raises(StoreError, match=message):
        index.search_learned(indices, values, 5)

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


steps = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from("abc"),
            st.lists(st.dictionaries(st.integers(0, 6), st.floats(0.125, 4, width=32), max_size=4), max_size=3),
        ),
        st.tuples(st.sampled_from("abc"), st.none()),
        st.just(("reopen", None)),
        st.just(("catch up", None)),
    ),
    max_size=12,
)


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=steps)
def test_any_history_ends_in_what_is_published(
    backend: str, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[Weights] | None]]
) -> None:
    folder, library = tmp_path_factory.mktemp("index"), Library()
    index = BACKENDS[backend](folder, library, 0, False)
    try:
        for number, (name, pages) in enumerate(steps):
            if name == "reopen":
                index.close()
                index = BACKENDS[backend](folder, library, 0, False)
            elif name == "catch up":
                index.catch_up(library)
            elif pages is None:
                library.remove(name)
            else:
                library.publish(name, f"{name}{number}", *pages)
        index.catch_up(library)
        agree(index, library, dict.fromkeys(range(7), 1.0))
        agree(index, library, {2: 1.0}, doc_ids={"a"})
    finally:
        index.close()
