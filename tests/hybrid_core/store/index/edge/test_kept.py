"""What the Edge index keeps, and what makes it doubtful."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import qdrant_edge

from hybrid_core.errors import IndexDamagedError
from hybrid_core.store.index.edge import shard as edge_shard
from hybrid_core.store.index.edge.folders import ShardState, copy_shard, read_state, write_state
from hybrid_core.store.index.edge.shard import LAYOUT
from hybrid_core.store.index.edge.store import CHANGED, EdgeStore, open_edge
from tests.hybrid_core.store.index.edge.library import MANIFEST, Library, Opener, ask, right


def test_what_was_indexed_is_loaded_again(reopen: Opener, library: Library, folder: Path) -> None:
    first = reopen()
    assert (first.rebuilt, first.store.private) == ("", False)
    first.close()
    before = (folder / "state.json").read_bytes()
    second = reopen()
    right(second, library)
    assert second.rebuilt == ""
    assert (folder / "state.json").read_bytes() == before  # nothing was written again


def test_a_closed_index_has_a_checksum_however_it_was_written(reopen: Opener, library: Library, folder: Path) -> None:
    index = reopen()
    library.publish(("a", "a2", 3), ("d", "d1", 4))
    index.catch_up(library)
    written = read_state(folder / "state.json")
    index.close()
    closed = read_state(folder / "state.json")
    assert written is not None and not written.checked and closed is not None and closed.checked
    index = reopen()
    right(index, library)
    assert index.rebuilt == ""


def test_an_open_that_is_interrupted_costs_no_rebuild(
    reopen: Opener, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading what was written changes files, whose checksum is recorded after that."""

    def interrupt(_: EdgeStore) -> None:
        raise KeyboardInterrupt

    index = reopen()
    library.publish(("a", "a2", 3), ("d", "d1", 4))
    index.catch_up(library)
    index.close()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(EdgeStore, "_seal", interrupt)
        reopen()
    index = reopen()
    right(index, library)
    assert index.rebuilt == ""


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
        assert (index.rebuilt, index.store.private) == ("", False)
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
    assert "changes that the catalog does not" in index.rebuilt
    right(index, library)


def test_a_catalog_restored_under_an_open_index_rebuilds(reopen: Opener, library: Library, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(library.path, backup)
    library.publish(("d", "d1", 4))
    index = reopen()
    shutil.copy(backup, library.path)
    index.catch_up(library)
    assert "changes that the catalog does not" in index.rebuilt
    right(index, library)


def test_a_lost_point_rebuilds(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    shard = qdrant_edge.EdgeShard.load(str(folder / "shard"))
    ids = [record.id for record in shard.scroll(qdrant_edge.ScrollRequest(limit=1))[0]]
    shard.update(qdrant_edge.UpdateOperation.delete_points(ids))
    shard.flush()
    shard.close()
    index = reopen()
    assert index.rebuilt == CHANGED
    right(index, library)


def test_a_catalog_that_changed_without_its_log_rebuilds(reopen: Opener, library: Library) -> None:
    reopen().close()
    with closing(sqlite3.connect(library.path)) as db, db:
        db.execute("insert into version values ('unlogged', 'u1', 2)")
    index = reopen()
    assert index.rebuilt == "the index contains 50 vectors, but the catalog expects 52"
    right(index, library)


def test_a_catalog_that_contradicts_itself_is_an_error(folder: Path, library: Library) -> None:
    class Contradicting(Library):
        def expected_vectors(self) -> int:
            return super().expected_vectors() + 1

    with pytest.raises(IndexDamagedError, match="contains 50 vectors, but the catalog expects 51"):
        open_edge(folder, Contradicting(library.path), MANIFEST)
    with closing(open_edge(folder, library, MANIFEST)) as index:  # and it let go of everything
        assert not index.store.private
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


@pytest.mark.slow
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
                ask(index, [1], 100)
            except IndexDamagedError:
                index.catch_up(library)  # a search that failed is healed by the next catch-up
            right(index, library)
            rebuilt += bool(index.rebuilt)
    assert rebuilt > len(files) // 3


def test_a_poisoned_write_ahead_log_is_healed(reopen: Opener, library: Library, folder: Path) -> None:
    """A vector that slipped past the checks panics now and at every load (PanicException is no Exception)."""
    index = reopen()
    vector = {edge_shard.SPARSE: qdrant_edge.SparseVector([1, 2], [1.0])}
    shard = index.store._shard
    with pytest.raises(IndexDamagedError, match="out of bounds"), shard._calling() as raw:
        raw.update(qdrant_edge.UpdateOperation.upsert_points([qdrant_edge.Point(1, vector, {})]))
    index.close()
    index = reopen()
    assert index.rebuilt == CHANGED
    right(index, library)


def test_a_failed_search_is_rebuilt_by_whoever_opens_next(
    reopen: Opener, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = reopen()

    def fail(*_: object) -> None:
        raise IndexDamagedError("it broke")

    with monkeypatch.context() as patch:
        patch.setattr(edge_shard.Shard, "nearest", fail)
        with pytest.raises(IndexDamagedError, match="it broke"):
            ask(index, [1], 1)
    with pytest.raises(IndexDamagedError, match="it broke"):
        ask(index, [1], 1)
    index.close()
    index = reopen()
    assert "missing" in index.rebuilt
    right(index, library)
