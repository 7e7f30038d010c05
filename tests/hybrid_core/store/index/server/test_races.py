"""Several processes, any order, any death."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_core.errors import StoreError
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import version_tag
from hybrid_core.store.index.server.connection import Server
from tests.contract.vectors.library import Library, agree, agree_dense, ask, ask_dense
from tests.hybrid_core.store.index.server.opening import Killed, opened
from tests.qdrant_local import client_of, local_server
from tests.work import examples

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)


class Process:
    """A simulated process: its calls to the server and to the catalog are made one by one, when ``step`` says so."""

    def __init__(self, server: Server, library: Library) -> None:
        self._library = library
        self._server = local_server(client_of(server), lambda call: self._pause(call))
        self._index: VectorIndex | None = None
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
    def index(self) -> VectorIndex:
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


@pytest.mark.slow
@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
        found = {(hit.doc_id, hit.version, hit.page) for hit in ask(process.index, {1: 1.0, 2: 1.0, 3: 1.0})}
        expected = library.scores({1: 1.0, 2: 1.0, 3: 1.0})
        assert found >= {(doc_id, version_tag(content_id), page) for doc_id, content_id, page, _ in expected}
        assert len(ask_dense(process.index, [1.0, 0.0], 99)) >= len(library.dense_scores([1.0, 0.0]))
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
    assert ("a", version_tag("a3"), 1) in {(hit.doc_id, hit.version, hit.page) for hit in ask(fast, {1: 1.0})}
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
    broken, upserts = [False], [0]

    def before(call: str) -> None:
        if broken[0] and call == "delete":
            raise ValueError("broken pipe")
        upserts[0] += broken[0] and call == "upsert"
        if broken[0] and call == "upsert" and upserts[0] == 2:  # meanwhile; the first one announces the change
            library.remove("a")
            broken[0] = False
            fast.catch_up(library)
            broken[0] = True

    fast = opened(server, library)
    slow = opened(local_server(client_of(server), before), library)
    library.publish("a", "a2", {1: 5.0})
    broken[0] = True
    with pytest.raises(StoreError, match="broken pipe"):
        slow.catch_up(library)
    assert fast.count() == 2  # a2 was removed before it was written
    broken[0] = False
    slow.catch_up(library)
    agree(fast, library, {1: 1.0})
