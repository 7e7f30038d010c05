"""The server index under doubt, under errors, and written by several processes in any order, some of them killed.

Run as a script, this file is another process.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qdrant_client import models

from hybrid_core.errors import IndexDamagedError, StoreError, UnreachableError
from hybrid_core.store import qdrant_server, server_connection
from hybrid_core.store.qdrant_server import ServerIndex, drop_collections, library_collection, open_server
from hybrid_core.store.server_collection import RECORD, ServerCollection
from hybrid_core.store.server_connection import Server, connect
from tests import qdrant_stub
from tests.contract.test_vectors import Library, agree, agree_dense, ask
from tests.hybrid_core import test_bm25, test_qdrant_edge
from tests.qdrant_local import local_server
from tests.qdrant_stub import Answer, Stub

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)
NAME = library_collection("", "0123456789abcdef", "reports")
MANIFEST: dict[str, str | int] = {"tokenizer": "test"}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_server, "_PATIENCE", (0.0, 0.0))


@pytest.fixture
def server() -> Iterator[Server]:
    server = local_server()
    yield server
    server.close()


@pytest.fixture
def stub() -> Iterator[Stub]:
    with qdrant_stub.running(api_key="secret-key") as stub:
        yield stub


@pytest.fixture
def library() -> Library:
    library = Library()
    library.publish("a", "a1", {1: 1.0, 2: 0.5}, {2: 2.0}, {})
    library.publish("b", "b1", {1: 0.25})
    return library


def opened(
    server: Server, library: Any, manifest: dict[str, str | int] | None = None, dimension: int = 0
) -> ServerIndex:
    return open_server(server, NAME, library, manifest or MANIFEST, dimension)


# --- what is in the collection, and what its name says ---


def test_the_record_is_in_no_search_and_no_count(server: Server, library: Library) -> None:
    index = opened(server, library)
    held, _ = server.client.scroll(index.collection, limit=100, with_vectors=True)
    records = [point for point in held if point.id == RECORD]
    assert (len(held), len(records), index.count()) == (5, 1, 4)
    assert records[0].vector == {} and (records[0].payload or {})["position"] == 2
    agree(index, library, {1: 1.0, 2: 1.0})  # with the idf of 4 pages


def test_points_have_the_payload_of_the_embedded_index(server: Server, library: Library) -> None:
    index = opened(server, library)
    held, _ = server.client.scroll(index.collection, limit=100)
    pages = [point.payload or {} for point in held if point.id != RECORD]
    assert {(p["doc_id"], p["content_id"], p["page"]) for p in pages} == {
        ("a", "a1", 1), ("a", "a1", 2), ("a", "a1", 3), ("b", "b1", 1)
    }  # fmt: skip
    assert {p["at"] for p in pages} == {2}


def test_collections_are_named_after_catalog_and_library() -> None:
    assert NAME.startswith("0123456789ab-reports-")
    odd = [library_collection("p-", "0123", name) for name in ("../../日本語 報告", "日本語", "A b", "a B", "x" * 300)]
    assert len(set(odd)) == 5
    assert all(len(name) < 100 and not set(name) & set('<>:"/\\|?*\0') for name in odd)
    assert odd[0].startswith("p-0123-library-")


def test_what_was_made_otherwise_is_another_collection(server: Server, library: Library) -> None:
    first, second = opened(server, library), opened(server, library, {"tokenizer": "new"})
    third = opened(server, library, dimension=2)
    assert len({first.collection, second.collection, third.collection}) == 3
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
    assert old.collection in server.collections()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    new = opened(server, library, {"tokenizer": "new"})
    assert set(server.collections()) == {new.collection, other.collection}  # another library's stays
    with pytest.raises(IndexDamagedError):
        ask(old, {1: 1.0})
    old.catch_up(library)
    agree(old, library, {1: 1.0})


def test_a_collection_in_use_is_noted(server: Server, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    index, now = opened(server, library), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 25 * 3600)
    monkeypatch.setattr(qdrant_server, "_TOUCH_SECONDS", -1.0)
    index.catch_up(library)
    opened(server, library, {"tokenizer": "new"})
    assert index.collection in server.collections()


def test_dropping_a_library_leaves_the_others(server: Server, library: Library) -> None:
    first, second = opened(server, library), opened(server, library, dimension=2)
    other = open_server(server, library_collection("", "0123456789abcdef", "reports 2"), library, MANIFEST)
    assert set(drop_collections(server, NAME)) == {first.collection, second.collection}
    assert server.collections() == [other.collection]
    assert drop_collections(server, NAME) == []


# --- doubt ---


def test_what_is_there_is_used_again(server: Server, library: Library) -> None:
    opened(server, library)
    calls: list[str] = []
    index = opened(local_server(server.client, calls.append), library)
    agree(index, library, {1: 1.0})
    assert index.rebuilt == "" and "upsert" not in calls and "delete" not in calls


def test_missing_points_are_written_again(server: Server, library: Library) -> None:
    name = opened(server, library).collection
    held, _ = server.client.scroll(name, limit=100)
    server.client.delete(name, [next(point.id for point in held if point.id != RECORD)])
    index = opened(server, library)
    agree(index, library, {1: 1.0, 2: 1.0})
    assert index.rebuilt == "it holds 3 vectors and the catalog 4"


def test_points_of_somebody_else_are_deleted(server: Server, library: Library) -> None:
    name = opened(server, library).collection
    vector = {"bm25": models.SparseVector(indices=[1], values=[1.0])}
    server.client.upsert(name, [models.PointStruct(id=7, vector=vector, payload={"doc_id": "a"})])
    index = opened(server, library)
    agree(index, library, {1: 1.0, 2: 1.0})
    assert index.rebuilt == "it holds 5 vectors and the catalog 4"


def test_a_point_that_says_nothing_is_found_in_the_search(server: Server, library: Library) -> None:
    index = opened(server, library)
    vector = {"bm25": models.SparseVector(indices=[1], values=[1.0])}
    server.client.upsert(index.collection, [models.PointStruct(id=7, vector=vector, payload={})])
    with pytest.raises(IndexDamagedError, match="doc_id"):
        ask(index, {1: 1.0})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


def test_a_collection_that_vanishes_is_made_again(server: Server, library: Library) -> None:
    index = opened(server, library)
    server.client.delete_collection(index.collection)
    with pytest.raises(IndexDamagedError, match="not found"):
        ask(index, {1: 1.0})
    index.catch_up(library)
    agree(index, library, {1: 1.0})


def test_a_catalog_that_was_put_back_is_followed(server: Server, library: Library) -> None:
    before = Library()
    before.log, before.versions = [*library.log], dict(library.versions)
    library.publish("a", "a2", {5: 1.0})
    library.publish("c", "c1", {5: 1.0})
    opened(server, library)
    index = opened(server, before)
    assert index.rebuilt == "it is ahead of the catalog"
    agree(index, before, {1: 1.0, 5: 1.0})


def test_a_catalog_that_counts_wrongly_is_said_to_be_damaged(server: Server, library: Library) -> None:
    library.expected_vectors = lambda: 9  # type: ignore[method-assign]
    with pytest.raises(IndexDamagedError, match="holds 4 vectors and the catalog 9"):
        opened(server, library)


def test_two_processes_make_the_collection_at_the_same_time(server: Server, library: Library) -> None:
    def rival(call: str) -> None:
        if call == "create_collection" and not server.collections():
            opened(server, library)

    index = opened(local_server(server.client, rival), library)
    agree(index, library, {1: 1.0})
    assert len(server.collections()) == 1


def test_the_record_moves_forward_only(server: Server) -> None:
    collection = ServerCollection(server, "some", 0)
    assert collection.recorded() is None
    collection.create()
    assert collection.recorded() is None  # there, but not built
    for position, expected in ((0, 0), (5, 5), (3, 5), (-1, 5), (6, 6)):
        collection.advance(position)
        assert collection.recorded() == expected
    collection.create()
    assert collection.recorded() == 6


def test_many_documents_are_recorded_in_parts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_server, "_DOCUMENTS_AT_ONCE", 3)
    library = Library()
    index = opened(server, library)
    for number in range(10):
        library.publish(f"d{number}", f"c{number}", {1: 1.0 + number})
    left = [8]

    def die(_: str) -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed

    with pytest.raises(Killed):
        opened(local_server(server.client, die), library)
    part = ServerCollection(server, index.collection, 0).recorded()
    assert part == 6  # of ten
    index.catch_up(library)
    agree(index, library, {1: 1.0})


# --- several processes, any order, any death ---


class Killed(BaseException):
    """Ends a simulated process."""


class Process:
    """A simulated process: its calls to the server and to the catalog are made one by one, when ``step`` says so."""

    def __init__(self, server: Server, library: Library) -> None:
        self._library = library
        self._server = local_server(server.client, lambda call: self._pause(call))
        self._index: ServerIndex | None = None
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._dies, self.failed = False, list[BaseException]()

    def __getattr__(self, name: str) -> Any:  # what a PointSource does, seen from this process
        def call(*args: Any) -> Any:
            self._pause(name)
            found = getattr(self._library, name)(*args)
            return found if isinstance(found, int) else list(found)

        return call

    def start(self) -> None:
        """Begin to catch up (or to open), unless it is at it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
            self._stopped.acquire()

    def step(self, calls: int = 1) -> None:
        for _ in range(calls):
            if self._thread is None:
                return
            self._go.release()
            self._stopped.acquire()
            if not self._thread.is_alive() or self._ended:
                self._thread.join()
                self._thread = None

    def finish(self) -> None:
        while self._thread is not None:
            self.step()

    def kill(self) -> None:
        """Stop where it is, in the middle of whatever it does; a new process takes its place."""
        self._dies = True
        self.finish()
        self._dies, self._index = False, None

    @property
    def index(self) -> ServerIndex:
        assert self._index is not None
        return self._index

    @property
    def alive(self) -> bool:
        return self._index is not None

    _ended = False

    def _run(self) -> None:
        self._ended = False
        try:
            self._pause("start")
            if self._index is None:
                self._index = opened(self._server, self, dimension=2)
            else:
                self._index.catch_up(self)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - for the test to raise
            self.failed.append(error)
        self._ended = True
        self._stopped.release()

    def _pause(self, _: str) -> None:
        if threading.current_thread() is not self._thread:
            return
        self._stopped.release()
        self._go.acquire()
        if self._dies:
            raise Killed


Event = tuple[Any, ...]
some_pages = st.lists(st.sampled_from([{1: 1.0}, {1: 2.0, 2: 1.0}, {3: 0.5}]), min_size=1, max_size=2)
documents = st.sampled_from("aaab")
publish = st.tuples(st.just("publish"), documents, st.integers(1, 3), some_pages)
change = st.one_of(publish, publish, st.tuples(st.sampled_from(["remove", "embed"]), documents))


@st.composite
def races(draw: st.DrawFn) -> list[Event]:
    """A process is stopped somewhere in the middle, things change, another overtakes it; then it goes on or dies."""
    slow = draw(st.integers(0, 1))
    ends = draw(st.sampled_from(["finish", "finish", "stay", "kill"]))
    return [
        *draw(st.lists(change, min_size=1, max_size=2)),
        ("run", slow, draw(st.integers(2, 9))),
        *draw(st.lists(change, max_size=2)),
        ("run", 1 - slow, draw(st.sampled_from([99, 99, 7, 8, 9]))),
        ("run", slow, 99 if ends == "finish" else draw(st.integers(0, 3))),
        *([("kill", slow)] if ends == "kill" else []),
    ]


events = st.lists(races(), min_size=1, max_size=4).map(lambda some: [event for race in some for event in race])


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events=events)
def test_whatever_the_order_and_whoever_dies_the_end_is_right(events: list[Event]) -> None:
    server, library = local_server(), Library()
    processes = [Process(server, library), Process(server, library)]
    for process in processes:
        process.start()
        process.finish()
    contents: dict[str, list[dict[int, float]]] = {}
    for what, who, *rest in events:
        if what == "publish":
            # A few contents only, so that earlier ones return; a content's pages never change.
            content = f"{who}{rest[0]}"
            library.publish(who, content, *contents.setdefault(content, rest[1]))
        elif what == "remove":
            library.remove(who)
        elif what == "embed":
            if who in library.versions:
                pages = range(1, len(library.versions[who][1]) + 1)
                library.embed(who, {(page, chunk): (0.6, 0.8) for page in pages for chunk in (0, 1)})
        elif what == "run":
            processes[who].start()
            processes[who].step(rest[0])
        else:
            processes[who].kill()
    for process in processes:
        process.finish()
    for _round in range(2):
        for process in [p for p in processes if p.alive]:
            process.start()
            process.finish()
            assert not process.failed
    for process in [p for p in processes if p.alive]:
        # What was killed may have left old points, which no search shows. Nothing that is published may be missing.
        found = {(hit.doc_id, hit.content_id, hit.page) for hit in ask(process.index, {1: 1.0, 2: 1.0, 3: 1.0})}
        assert found >= {row[:3] for row in library.scores({1: 1.0, 2: 1.0, 3: 1.0})}
        assert len(process.index.search_dense([1.0, 0.0], 99)) >= len(library.dense_scores([1.0, 0.0]))
    killed = any(event[0] == "kill" for event in events)
    # Whoever opens next clears away what the killed left; what those alive left they have cleared themselves.
    index = opened(server, library, dimension=2) if killed else processes[0].index
    agree(index, library, {1: 1.0, 2: 1.0, 3: 1.0})
    agree_dense(index, library, [1.0, 0.0])
    server.close()


def paused(process: Process, before: str) -> None:
    """Let a process run until it is about to make a call, for the first time."""
    seen: list[str] = []
    real = process._pause

    def pause(name: str) -> None:
        seen.append(name)
        real(name)

    process._pause = pause  # type: ignore[method-assign]
    process.start()
    while seen[-1] != before:
        process.step()


@pytest.mark.parametrize("before", ["upsert", "delete"])
def test_a_slow_process_does_not_undo_a_newer_version(server: Server, library: Library, before: str) -> None:
    slow, fast = Process(server, library), opened(server, library, dimension=2)
    slow.start()
    slow.finish()
    library.publish("a", "a2", {1: 5.0}, {2: 5.0})
    paused(slow, before)  # it has read a2, or written it as well
    library.publish("a", "a3", {1: 7.0})
    fast.catch_up(library)
    agree(fast, library, {1: 1.0, 2: 1.0})
    slow.step()
    assert ("a", "a3", 1) in {(hit.doc_id, hit.content_id, hit.page) for hit in ask(fast, {1: 1.0})}
    slow.finish()
    fast.catch_up(library)
    agree(fast, library, {1: 1.0, 2: 1.0})  # a3 is there, and a2 was cleared away by the slow one itself


def test_a_slow_process_does_not_take_dense_vectors_away(server: Server, library: Library) -> None:
    slow, fast = Process(server, library), opened(server, library, dimension=2)
    slow.start()
    slow.finish()
    library.publish("b", "b2", {1: 5.0})
    paused(slow, "upsert")  # it has read b2 without vectors
    library.embed("b", {(1, 0): (1.0, 0.0)})
    fast.catch_up(library)
    slow.step()
    agree_dense(fast, library, [1.0, 0.0])
    slow.finish()
    agree_dense(fast, library, [1.0, 0.0])


def test_a_slow_process_whose_connection_breaks_clears_away_later(server: Server, library: Library) -> None:
    broken = [False]

    def before(call: str) -> None:
        if broken[0] and call == "delete":
            raise ValueError("broken pipe")
        if broken[0] and call == "upsert":  # meanwhile
            library.remove("a")
            broken[0] = False
            fast.catch_up(library)
            broken[0] = True

    fast = opened(server, library)
    slow = opened(local_server(server.client, before), library)
    library.publish("a", "a2", {1: 5.0})
    broken[0] = True
    with pytest.raises(StoreError, match="broken pipe"):
        slow.catch_up(library)
    assert fast.count() == 2  # a2 was removed before it was written
    broken[0] = False
    slow.catch_up(library)
    agree(fast, library, {1: 1.0})


# --- the server's engine and real processes, over REST ---


@pytest.mark.parametrize("backend", ["local mode", "its engine"])
def test_scores_equal_bm25s_lucene(stub: Stub, server: Server, backend: str) -> None:
    text = test_bm25.LICENCE.read_text(encoding="utf-8")
    passages = [terms for p in text.split("\n\n") if (terms := test_bm25.text.tokenise(p))]
    used = server if backend == "local mode" else connect(stub.url, "secret-key")
    index = opened(used, test_bm25.Passages(passages))
    for written in test_bm25.QUERIES:
        terms = test_bm25.query(written)
        hits = index.search(list(terms), list(terms.values()), 1000)
        asked = list(dict.fromkeys(test_bm25.text.tokenise(written)))
        theirs = test_bm25.oracle(passages).get_scores(asked)
        assert {hit.page - 1 for hit in hits} == set(np.flatnonzero(theirs))
        assert [hit.score for hit in hits] == pytest.approx([float(theirs[h.page - 1]) for h in hits], rel=1e-4)
        assert all(one.score >= two.score for one, two in pairwise(hits))
    used.close()


def writer(url: str, path: str) -> subprocess.Popen[bytes]:
    """Another process that opens the index and catches up until it is killed or told to end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, __file__, url, path], env=environment, stdout=subprocess.PIPE)


def test_processes_that_are_killed_leave_a_right_index(stub: Stub, tmp_path: Path) -> None:
    library = test_qdrant_edge.Library(tmp_path / "library.db")
    library.publish(("a", "a1", 30), ("b", "b1", 5), ("c", "c1", 15))
    rng = random.Random(5)
    others = [writer(stub.url, str(library.path)) for _ in range(3)]
    for other in others:
        assert other.stdout and other.stdout.readline() == b"open\n"
    for number in range(30):
        library.publish((rng.choice("abc"), f"n{number % 7}", rng.randint(1, 40)))
        if number % 5 == 1:
            library.remove(rng.choice("abc"))
        time.sleep(rng.random() / 30)
        if number in (10, 20):
            others[number // 20].send_signal(signal.SIGKILL)
    (tmp_path / "end").touch()
    assert [other.wait(30) for other in others] == [-signal.SIGKILL, -signal.SIGKILL, 0]
    with_key = connect(stub.url, "secret-key")
    index = opened(with_key, library)
    test_qdrant_edge.right(index, library)  # type: ignore[arg-type]  # any index
    with_key.close()
    for other in others:
        assert other.stdout
        other.stdout.close()


def _be_a_process(url: str, path: str) -> None:
    library = test_qdrant_edge.Library(Path(path))
    index = opened(connect(url, "secret-key"), library)
    print("open", flush=True)
    while not (Path(path).parent / "end").exists():
        index.catch_up(library)
    index.catch_up(library)


# --- a server that is not there, or not well ---


def failing(stub: Stub, status: int, said: Any) -> Callable[[], None]:
    """Let every call but the version's fail; what is returned ends that."""

    def refuse(method: str, path: str, body: bytes) -> Answer | None:
        return None if path == "/" else (status, said)

    stub.refuse = refuse
    return lambda: setattr(stub, "refuse", lambda *_: None)


def test_a_server_that_is_not_there(library: Library) -> None:
    with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:9: .* cannot be reached.*runs") as caught:
        connect("http://127.0.0.1:9", "secret-key")
    assert caught.value.retryable and "secret-key" not in str(caught.value)


def test_a_server_that_goes_away_and_comes_back(stub: Stub, library: Library) -> None:
    index = opened(connect(stub.url, "secret-key"), library)
    well = failing(stub, 503, "starting")
    with pytest.raises(UnreachableError, match=r"503 starting"):
        ask(index, {1: 1.0})
    library.publish("b", "b2", {1: 4.0})
    with pytest.raises(UnreachableError, match=r"503 starting"):
        index.catch_up(library)
    well()
    index.catch_up(library)
    agree(index, library, {1: 1.0})
    assert index.rebuilt == ""


@pytest.mark.parametrize(
    ("status", "said", "message", "retryable"),
    [
        (401, "no", "refused the key.*PAGEINDEX_QDRANT_API_KEY", False),
        (403, {"status": {"error": "read only"}}, "refused the key", False),
        (400, {"status": {"error": "Wrong  input"}}, "refused a call .400 Wrong input", False),
        (500, {"status": {"error": "No space left on device"}}, "500 No space left on device", True),
        (502, "<html>bad gateway</html>", "502 <html>bad gateway", True),
        (429, {"status": {"error": "slow down"}}, "429 slow down", True),
        (200, "<html>hello</html>", "no Qdrant server, or one of another version", False),
    ],
)
def test_what_a_server_refuses(
    stub: Stub, library: Library, status: int, said: Any, message: str, retryable: bool
) -> None:
    server = connect(stub.url, "secret-key")
    failing(stub, status, said)
    with pytest.raises(StoreError, match=message) as caught:
        opened(server, library)
    assert caught.value.retryable is retryable
    assert stub.url in str(caught.value) and "secret-key" not in str(caught.value)
    server.close()


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_key_that_is_not_accepted(stub: Stub, library: Library, key: str) -> None:
    with pytest.raises(StoreError, match="refused the key"):
        opened(connect(stub.url, key), library)


def test_a_server_that_is_slow(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "_SECONDS", 1)
    stub.refuse = lambda *_: time.sleep(1.5)  # type: ignore[func-returns-value]
    with pytest.raises(UnreachableError, match="did not answer within 1 s"):
        connect(stub.url, "secret-key")


@pytest.mark.parametrize("version", ["1.18.2", "2.0.0", "nonsense"])
def test_a_server_of_another_version_is_refused(stub: Stub, version: str) -> None:
    stub.version = version
    with pytest.raises(StoreError, match=f"Qdrant {version} does not fit.*Upgrade"):
        connect(stub.url, "secret-key")


def test_later_versions_are_taken(stub: Stub) -> None:
    stub.version = "1.23.4"
    server = connect(stub.url, "secret-key")
    assert server.version() == "1.23.4"
    server.close()


@pytest.mark.parametrize("said", [(404, "nothing here"), (200, "<html></html>"), (200, {"hello": "world"})])
def test_something_that_is_no_qdrant_server(stub: Stub, said: Answer) -> None:
    stub.refuse = lambda *_: said
    with pytest.raises(StoreError, match="no Qdrant server"):
        connect(stub.url, "secret-key")


@pytest.mark.parametrize(
    "url", ["localhost:6333", "ftp://host", "http://", "http://host:port", "http://[::1", "qdrant"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(StoreError, match=r"not an address.*http://localhost:6333"):
        connect(url)


@pytest.mark.parametrize("key", ["ключ", "two\nlines", " space "])
def test_a_key_that_is_none(key: str) -> None:
    with pytest.raises(StoreError, match="API key holds characters") as caught:
        connect("http://localhost:9", key)
    assert key not in str(caught.value)


def test_messages_hold_no_password() -> None:
    with pytest.raises(UnreachableError, match=r"^http://127\.0\.0\.1:9/sub: ") as caught:
        connect("http://user:pass%20word@127.0.0.1:9/sub/?token=abc", "secret-key")
    assert not any(secret in str(caught.value) for secret in ("user", "pass", "abc", "secret-key"))


def test_the_compose_file(stub: Stub) -> None:
    """Docker does not run here, so: what it says, and whether its health check can tell well from unwell."""
    compose = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.qdrant.yaml").read_text(encoding="utf-8"))
    service = compose["services"]["qdrant"]
    image, client = service["image"].split(":v"), version("qdrant-client").split(".")
    assert image[0] == "qdrant/qdrant" and image[1].count(".") == 2
    assert 0 <= int(client[1]) - int(image[1].split(".")[1]) <= 1 and image[1].split(".")[0] == client[0]
    assert all(port.startswith("${QDRANT_BIND:-127.0.0.1}:") for port in service["ports"])
    assert {volume.split(":")[0] for volume in service["volumes"]} == set(compose["volumes"])
    assert service["environment"]["QDRANT__SERVICE__API_KEY"].startswith("${PAGEINDEX_QDRANT_API_KEY:?")
    check = service["healthcheck"]["test"]
    assert check[0] == "CMD"
    command = [*check[1:-1], check[-1].replace("$$", "$").replace("6333", stub.url.rsplit(":", 1)[1])]
    assert subprocess.run(command, timeout=10, check=False).returncode == 0
    failing(stub, 503, "not ready")
    assert subprocess.run(command, timeout=10, check=False).returncode == 1
    gone = [*command[:-1], command[-1].replace(stub.url.rsplit(":", 1)[1], "9")]
    assert subprocess.run(gone, timeout=10, check=False, stderr=subprocess.DEVNULL).returncode == 1


if __name__ == "__main__":
    _be_a_process(*sys.argv[1:])
