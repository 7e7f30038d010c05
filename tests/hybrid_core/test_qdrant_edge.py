"""The Edge index under doubt, several processes and kill -9. Run as a script, this file is the other process."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge

from hybrid_core.errors import BusyError, IndexDamagedError, StoreError
from hybrid_core.store import edge_optimize, edge_shard, recorded_shard
from hybrid_core.store.edge_shard import LAYOUT, require_space
from hybrid_core.store.qdrant_edge import EdgeIndex, open_edge
from hybrid_core.store.shard_folders import FolderLock, allocated_bytes, claim, copy_shard
from hybrid_core.store.shard_state import ShardState, read_state, write_state
from hybrid_core.store.vectors import Change, Point

MANIFEST: dict[str, str | int] = {"tokenizer": "test", "average": 200}
TERMS = 60


class Library:
    """A ``PointSource`` in one SQLite file that several processes share. Pages follow from their content id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(self._connect()) as db, db:
            db.execute("create table if not exists log (seq integer primary key, doc_id text, content_id text)")
            db.execute("create table if not exists version (doc_id text primary key, content_id text, pages integer)")

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30)
        db.execute("pragma synchronous = off")  # a commit survives a kill all the same
        return db

    def _all(self, sql: str, *values: str | int) -> list[tuple[object, ...]]:
        with closing(self._connect()) as db:
            return db.execute(sql, values).fetchall()

    def publish(self, *versions: tuple[str, str, int]) -> None:
        with closing(self._connect()) as db, db:
            db.executemany("insert or replace into version values (?, ?, ?)", versions)
            db.executemany("insert into log (doc_id, content_id) values (?, ?)", [row[:2] for row in versions])

    def remove(self, doc_id: str) -> None:
        with closing(self._connect()) as db, db:
            db.execute("delete from version where doc_id = ?", [doc_id])
            db.execute("insert into log (doc_id) values (?)", [doc_id])

    def position(self) -> int:
        return int(str(self._all("select coalesce(max(seq), 0) from log")[0][0]))

    def changes(self, after: int) -> Iterable[Change]:
        return [Change(*row) for row in self._all("select * from log where seq > ? order by seq", after)]  # type: ignore[arg-type]

    def published(self) -> Iterable[tuple[str, str]]:
        return [(str(doc), str(content)) for doc, content in self._all("select doc_id, content_id from version")]

    def points(self, doc_id: str, content_id: str) -> Iterator[Point]:
        rows = self._all("select pages from version where doc_id = ? and content_id = ?", doc_id, content_id)
        for number in range(1, int(str(rows[0][0])) + 1 if rows else 0):
            rng = random.Random(f"{content_id}/{number}")
            terms = rng.sample(range(TERMS), rng.randint(0, 20))
            values = np.array([rng.uniform(0.5, 2) for _ in terms], np.float32)
            yield Point(doc_id, content_id, number, np.array(terms, np.uint32), values)

    def expected_vectors(self) -> int:
        return int(str(self._all("select coalesce(sum(pages), 0) from version")[0][0]))


def right(index: EdgeIndex, library: Library) -> None:
    """The index holds exactly what is published: every page, found with the score worked out by hand."""
    pages = [p for version in library.published() for p in library.points(*version)]
    holding = np.zeros(TERMS)
    for page in pages:
        holding[page.indices] += 1
    idf = np.log(1 + (len(pages) - holding + 0.5) / (holding + 0.5))
    expected = {(p.doc_id, p.content_id, p.page): float(idf[p.indices] @ p.values) for p in pages if p.values.size}
    hits = index.search(range(TERMS), [1.0] * TERMS, len(pages) + 10)
    assert {(h.doc_id, h.content_id, h.page): h.score for h in hits} == pytest.approx(expected, rel=1e-4)
    assert index.count() == library.expected_vectors() == len(pages)
    assert index.position == library.position()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library.db")
    library.publish(("a", "a1", 30), ("b", "b1", 5), ("c", "c1", 15))
    return library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def reopen(folder: Path, library: Library) -> Iterator[Callable[[], EdgeIndex]]:
    opened: list[EdgeIndex] = []

    def opener() -> EdgeIndex:
        opened.append(open_edge(folder, library, MANIFEST))
        return opened[-1]

    yield opener
    for index in opened:
        index.close()


Opener = Callable[[], EdgeIndex]


# --- what is kept, and what makes it doubtful ---


def test_what_was_indexed_is_loaded_again(reopen: Opener, library: Library, folder: Path) -> None:
    first = reopen()
    assert (first.rebuilt, first.private) == ("", False)
    first.close()
    before = (folder / "state.json").read_bytes()
    second = reopen()
    right(second, library)
    assert second.rebuilt == ""
    assert (folder / "state.json").read_bytes() == before  # nothing was written again


def test_changes_made_while_closed_are_replayed(reopen: Opener, library: Library) -> None:
    reopen().close()
    library.publish(("a", "a2", 3), ("d", "d1", 4))
    library.remove("b")
    index = reopen()
    right(index, library)
    assert index.rebuilt == ""


def test_a_forgotten_close_loses_nothing(folder: Path, library: Library) -> None:
    for number in range(3):
        library.publish(("a", f"again{number}", 3 + number))
        index = open_edge(folder, library, MANIFEST)
        right(index, library)
        assert (index.rebuilt, index.private) == ("", False)
        del index


def test_another_manifest_rebuilds(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    with closing(open_edge(folder, library, {**MANIFEST, "average": 201})) as index:
        assert "other settings" in index.rebuilt
        right(index, library)


def test_a_restored_catalog_rebuilds(reopen: Opener, library: Library, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(library.path, backup)
    library.publish(("a", "a2", 3), ("d", "d1", 4))
    index = reopen()
    index.close()
    shutil.copy(backup, library.path)
    index = reopen()
    assert "ahead" in index.rebuilt
    right(index, library)


def test_a_catalog_restored_under_an_open_index_rebuilds(reopen: Opener, library: Library, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(library.path, backup)
    library.publish(("d", "d1", 4))
    index = reopen()
    shutil.copy(backup, library.path)
    index.catch_up(library)
    assert "ahead" in index.rebuilt
    right(index, library)


def test_a_lost_point_rebuilds(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    shard = qdrant_edge.EdgeShard.load(str(folder / "shard"))
    ids = [record.id for record in shard.scroll(qdrant_edge.ScrollRequest(limit=1))[0]]
    shard.update(qdrant_edge.UpdateOperation.delete_points(ids))
    shard.flush()
    shard.close()
    index = reopen()
    assert index.rebuilt == "it holds 49 vectors and not 50"
    right(index, library)


def test_a_catalog_that_changed_without_its_log_rebuilds(reopen: Opener, library: Library) -> None:
    reopen().close()
    with closing(sqlite3.connect(library.path)) as db, db:
        db.execute("insert into version values ('unlogged', 'u1', 2)")
    index = reopen()
    assert index.rebuilt == "it holds 50 vectors and the catalog 52"
    right(index, library)


def test_a_catalog_that_contradicts_itself_is_an_error(folder: Path, library: Library) -> None:
    class Contradicting(Library):
        def expected_vectors(self) -> int:
            return super().expected_vectors() + 1

    with pytest.raises(IndexDamagedError, match="holds 50 vectors and the catalog 51"):
        open_edge(folder, Contradicting(library.path), MANIFEST)
    with closing(open_edge(folder, library, MANIFEST)) as index:  # and it let go of everything
        assert not index.private
        right(index, library)


STATES = {
    "empty": b"",
    "cut": b'{"manifest": {',
    "no object": b"[1]",
    "other fields": b'{"a": 1}',
    "not text": b"\xff\xfe\x00",
    "negative": json.dumps({"manifest": {**MANIFEST, "layout": LAYOUT}, "position": -1, "count": 50}).encode(),
    "text for a number": json.dumps({"manifest": {}, "position": "3", "count": 50}).encode(),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_an_unreadable_record_rebuilds(reopen: Opener, library: Library, folder: Path, state: bytes) -> None:
    reopen().close()
    (folder / "state.json").write_bytes(state)
    index = reopen()
    assert "missing or unreadable" in index.rebuilt
    right(index, library)


def test_a_missing_record_rebuilds(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    (folder / "state.json").unlink()
    index = reopen()
    assert "missing" in index.rebuilt
    right(index, library)


def test_a_missing_shard_rebuilds(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    shutil.rmtree(folder / "shard")
    index = reopen()
    assert index.rebuilt
    right(index, library)


def test_the_state_survives_its_own_round_trip(tmp_path: Path) -> None:
    state = ShardState({"é": "ü", "n": 3}, position=7, count=5, churn=2, writing=True)
    write_state(tmp_path / "state.json", state)
    assert read_state(tmp_path / "state.json") == state
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_any_damaged_file_leaves_right_answers(reopen: Opener, library: Library, folder: Path, tmp_path: Path) -> None:
    """Every file of the shard in turn is cut or overwritten."""
    reopen().close()
    good = tmp_path / "good"
    shutil.copytree(folder, good)
    files = sorted(path.relative_to(good) for path in (good / "shard").rglob("*") if path.is_file())
    files = [name for name in files if "payload_index" not in name.parts]  # many, and all alike
    rebuilt = 0
    for number, name in enumerate(files):
        shutil.rmtree(folder)
        folder.mkdir()
        shutil.copy(good / "state.json", folder)
        copy_shard(good / "shard", folder / "shard")
        damaged = folder / name
        if number % 2:
            os.truncate(damaged, damaged.stat().st_size // 2)
        else:
            with damaged.open("r+b") as file:
                file.write(random.Random(number).randbytes(min(4096, damaged.stat().st_size)))
        with closing(open_edge(folder, library, MANIFEST)) as index:
            try:
                index.search([1], [1.0], 100)
            except IndexDamagedError:
                index.catch_up(library)  # a search that failed is healed by the next catch-up
            right(index, library)
            rebuilt += bool(index.rebuilt)
    assert rebuilt > len(files) // 3


def test_a_poisoned_write_ahead_log_is_healed(reopen: Opener, library: Library, folder: Path) -> None:
    """A vector that slipped past the checks panics now and at every load (PanicException is no Exception)."""
    index = reopen()
    vector = {edge_shard.SPARSE: qdrant_edge.SparseVector([1, 2], [1.0])}
    shard = index._kept.shard
    with pytest.raises(IndexDamagedError, match="out of bounds"), shard._calling() as raw:
        raw.update(qdrant_edge.UpdateOperation.upsert_points([qdrant_edge.Point(1, vector, {})]))
    index.close()
    index = reopen()
    assert "out of bounds" in index.rebuilt
    right(index, library)


def test_a_failed_search_is_rebuilt_by_whoever_opens_next(
    reopen: Opener, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = reopen()

    def fail(*_: object) -> None:
        raise IndexDamagedError("it broke")

    with monkeypatch.context() as patch:
        patch.setattr(edge_shard.Shard, "search", fail)
        with pytest.raises(IndexDamagedError, match="it broke"):
            index.search([1], [1.0], 1)
    with pytest.raises(IndexDamagedError, match="it broke"):
        index.search([1], [1.0], 1)
    index.close()
    index = reopen()
    assert "missing" in index.rebuilt
    right(index, library)


# --- guards ---


def test_the_layout_names_the_release_it_was_checked_with() -> None:
    assert f"qdrant-edge-py {version('qdrant-edge-py')}," in LAYOUT


def test_a_full_disk_is_an_error_before_the_write(
    reopen: Opener, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = reopen()
    library.publish(("d", "d1", 4))
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10 << 20))
    with pytest.raises(StoreError, match=r"needs 9\d MB .* has 10 MB free.* Free at least 8\d MB"):
        index.catch_up(library)
    assert index.search([1], [1.0], 5)  # what is there can still be searched
    monkeypatch.undo()
    index.catch_up(library)
    right(index, library)


def test_a_folder_that_cannot_be_made_is_an_error(library: Library, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"cannot be read or written.*permissions"):
        open_edge(tmp_path / "file" / "index", library, MANIFEST)


def test_space_is_looked_up_where_the_folder_will_be(tmp_path: Path) -> None:
    require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(StoreError, match="Free at least"):
        require_space(tmp_path / "not" / "yet", 1 << 60)


def test_a_forked_child_is_told_and_harms_nothing(reopen: Opener, library: Library) -> None:
    index = reopen()
    index._kept._process = index._kept.shard._process = os.getpid() + 1
    with pytest.raises(StoreError, match="before this process was forked"):
        index.search([1], [1.0], 5)
    index.close()
    index._kept._process = index._kept.shard._process = os.getpid()
    right(index, library)


def test_many_changes_are_optimised_on_opening(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_shard, "_OPTIMIZE_POINTS", 40)
    library.publish(("big", "big1", 500))
    reopen().close()
    assert json.loads((folder / "state.json").read_text())["churn"] == 0
    library.publish(*((f"n{number}", f"n{number}", 1) for number in range(100)))
    library.remove("big")
    reopen().close()
    assert json.loads((folder / "state.json").read_text())["churn"] == 0
    index = reopen()
    right(index, library)
    assert index.rebuilt == ""


def test_a_failed_optimisation_costs_only_speed(
    reopen: Opener, library: Library, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorded_shard, "_OPTIMIZE_POINTS", 1)
    monkeypatch.setattr(recorded_shard, "optimize_in_child", lambda folder, handles: optimize(folder / "no", handles))
    optimize = edge_optimize.optimize_in_child
    index = reopen()
    assert "was not optimised (status 1)" in caplog.text
    right(index, library)
    assert index.rebuilt == ""


def test_a_long_catch_up_is_saved_on_the_way(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_core.store.qdrant_edge._CHECKPOINT_POINTS", 10)
    index = reopen()
    library.publish(*((f"n{number}", f"n{number}", 6) for number in range(10)))
    seen: list[tuple[int, bool]] = []
    save = recorded_shard.RecordedShard.save

    def spy(self: recorded_shard.RecordedShard, position: int, *, more: bool = False) -> None:
        save(self, position, more=more)
        seen.append((position, more))

    monkeypatch.setattr(recorded_shard.RecordedShard, "save", spy)
    index.catch_up(library)
    assert seen == [(5, True), (7, True), (9, True), (11, True), (13, True), (13, False)]
    right(index, library)


# --- folders and locks ---


def test_a_lock_is_exclusive_within_one_process(tmp_path: Path) -> None:
    one, two = FolderLock(tmp_path / "lock"), FolderLock(tmp_path / "lock")
    assert one.acquire()
    assert not two.acquire(timeout=0.05)
    one.release()
    one.release()
    assert two.acquire()


def test_a_copy_has_the_same_bytes_and_the_same_holes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "empty folder").mkdir()
    (source / "deep" / "file").write_bytes(os.urandom(100_000))
    (source / "empty").touch()
    with (source / "holes").open("wb") as file:
        file.seek(5 << 20)
        file.write(b"end")
        file.truncate(32 << 20)
    copy_shard(source, tmp_path / "copy")
    for path in source.rglob("*"):
        twin = tmp_path / "copy" / path.relative_to(source)
        assert twin.is_dir() if path.is_dir() else twin.read_bytes() == path.read_bytes()
    assert allocated_bytes(tmp_path / "copy") < 1 << 20


def test_a_second_handle_reads_a_private_copy(reopen: Opener, library: Library, folder: Path) -> None:
    first, second = reopen(), reopen()
    assert (first.private, second.private, second.rebuilt) == (False, True, "")
    library.publish(("a", "a2", 4))
    second.catch_up(library)
    right(second, library)
    first.catch_up(library)
    right(first, library)
    second.close()
    assert list((folder / "private").iterdir()) == []
    first.close()
    assert not reopen().private


def test_a_copy_is_rebuilt_where_the_shard_cannot_be_trusted(reopen: Opener, library: Library, folder: Path) -> None:
    first = reopen()
    (folder / "state.json").unlink()
    second = reopen()
    assert second.private and "missing" in second.rebuilt
    right(second, library)
    right(first, library)


def test_a_copy_is_rebuilt_where_the_owner_writes_for_long(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_shard, "_COPY_SECONDS", 0.05)
    monkeypatch.setattr(recorded_shard, "_WRITE_SECONDS", 0.05)
    first = reopen()
    lock = FolderLock(folder / "write.lock")
    assert lock.acquire()
    second = reopen()
    assert second.private and "being written" in second.rebuilt
    right(second, library)
    library.publish(("d", "d1", 2))
    with pytest.raises(BusyError, match="being written"):
        first.catch_up(library)
    lock.release()
    first.catch_up(library)
    right(first, library)


def test_abandoned_private_folders_are_removed_and_living_ones_kept(folder: Path) -> None:
    owner, living, dead = claim(folder), claim(folder), claim(folder)
    living.shard.mkdir()
    dead.shard.mkdir()
    dead._life.release()  # what the system does when a process dies
    (folder / "private" / "stray").touch()
    claim(folder).release()
    assert living.shard.exists() and not dead.shard.exists()
    assert not owner.private


def test_who_comes_after_a_killed_owner_waits_for_its_child_and_owns_the_shard(
    reopen: Opener, library: Library, folder: Path
) -> None:
    reopen().close()
    place = claim(folder)
    with place.whole(1.0):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.6)"], pass_fds=place.handles)
    place.release()  # what the system does when the owner is killed; the child lives on
    assert not FolderLock(folder / "write.lock").acquire()
    index = reopen()
    assert (index.private, index.rebuilt) == (False, "")
    assert child.wait(timeout=5) == 0
    right(index, library)


# --- other processes ---


class Worker:
    """This file run as a script: opens the index, then does what it is told line by line."""

    def __init__(self, folder: Path, library: Library, *, wait: bool = True) -> None:
        command = [sys.executable, "-P", __file__, str(folder), str(library.path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.opened = self.read() if wait else {}

    def read(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker died"
        answer: dict[str, object] = json.loads(line)
        return answer

    def tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def ask(self, word: str) -> dict[str, object]:
        self.tell(word)
        return self.read()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(folder: Path, library: Library) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def starter(*, wait: bool = True) -> Worker:
        workers.append(Worker(folder, library, wait=wait))
        return workers[-1]

    yield starter
    for worker in workers:
        worker.kill()


def test_two_processes_read_while_the_first_follows_the_log(
    start: Callable[..., Worker], reopen: Opener, library: Library, folder: Path
) -> None:
    worker = start()
    assert worker.opened == {"private": False, "rebuilt": ""}
    index = reopen()
    assert (index.private, index.rebuilt) == (True, "")
    for number in range(5):
        library.publish(("a", f"new{number}", 40 + number))
        worker.tell("right")
        index.catch_up(library)
        right(index, library)
        assert worker.read() == {"right": library.position()}
    worker.kill()
    index.catch_up(library)
    right(index, library)
    after = open_edge(folder, library, MANIFEST)  # the owner is dead: the next to open owns the shard
    with closing(after):
        assert (after.private, after.rebuilt) == (False, "")
        right(after, library)


def test_copies_taken_while_the_owner_writes_are_whole(
    start: Callable[..., Worker], reopen: Opener, library: Library
) -> None:
    library.publish(*((f"n{number}", f"n{number}", 10) for number in range(200)))
    worker = start()
    worker.tell("churn")
    copies = [reopen() for _ in range(8)]
    worker.kill()
    for index in copies:
        assert (index.private, index.rebuilt) == (True, "")
        index.catch_up(library)
        right(index, library)


def test_the_folder_of_a_killed_reader_is_removed(start: Callable[..., Worker], reopen: Opener, folder: Path) -> None:
    index = reopen()
    reader, other = start(), start()
    assert reader.opened["private"] and other.opened["private"]
    assert len(list((folder / "private").iterdir())) == 2
    reader.kill()
    third = reopen()
    assert len(list((folder / "private").iterdir())) == 2  # the living reader's and the new one
    assert other.ask("right") == {"right": index.position}
    third.close()


def test_kill_at_any_moment_of_a_catch_up(start: Callable[..., Worker], library: Library, folder: Path) -> None:
    rng = random.Random(5)
    open_edge(folder, library, MANIFEST).close()
    for round_ in range(15):
        library.publish(*((f"n{number}", f"n{number}-{round_}", rng.randint(0, 30)) for number in range(40)))
        library.remove(f"n{rng.randrange(40)}")
        worker = start(wait=False)
        worker.tell("churn")
        time.sleep(rng.uniform(0.2, 0.6))
        worker.process.send_signal(signal.SIGKILL)
        worker.process.communicate()
        with closing(open_edge(folder, library, MANIFEST)) as index:
            assert not index.private
            right(index, library)


def test_kill_while_it_is_rebuilt(start: Callable[..., Worker], library: Library, folder: Path) -> None:
    library.publish(*((f"n{number}", f"n{number}", 20) for number in range(200)))
    for delay in (0.3, 0.45, 0.6):
        (folder / "state.json").unlink(missing_ok=True)
        worker = start(wait=False)
        time.sleep(delay)
        worker.kill()
    with closing(open_edge(folder, library, MANIFEST)) as index:
        right(index, library)


def test_threads_catch_up_at_once(reopen: Opener, library: Library) -> None:
    index = reopen()
    library.publish(*((f"n{number}", f"n{number}", 5) for number in range(100)))
    threads = [threading.Thread(target=index.catch_up, args=(library,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right(index, library)


def work(folder: Path, library: Library) -> None:
    """The other process: says that it has opened the index, then obeys."""
    index = open_edge(folder, library, MANIFEST)
    print(json.dumps({"private": index.private, "rebuilt": index.rebuilt}), flush=True)
    for word in sys.stdin:
        match word.strip():
            case "right":
                index.catch_up(library)
                right(index, library)
                print(json.dumps({"right": index.position}), flush=True)
            case "churn":
                for number in range(1_000_000):
                    library.publish((f"n{number % 50}", f"x{os.getpid()}-{number}", number % 25))
                    index.catch_up(library)


if __name__ == "__main__":
    work(Path(sys.argv[1]), Library(Path(sys.argv[2])))
