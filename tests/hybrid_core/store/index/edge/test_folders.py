"""Locks, private copies and the folders that are left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hybrid_core.errors import BusyError
from hybrid_core.store.index.edge import folders, store
from hybrid_core.store.index.edge.folders import FolderLock, allocated_bytes, claim, copy_shard
from tests.hybrid_core.store.index.edge.library import Library, Opener, right


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
    assert (first.store.private, second.store.private, second.rebuilt) == (False, True, "")
    library.publish(("a", "a2", 4))
    second.catch_up(library)
    right(second, library)
    first.catch_up(library)
    right(first, library)
    second.close()
    assert list((folder / "private").iterdir()) == []
    first.close()
    assert not reopen().store.private


def test_a_copy_is_rebuilt_where_the_shard_cannot_be_trusted(reopen: Opener, library: Library, folder: Path) -> None:
    first = reopen()
    (folder / "state.json").unlink()
    second = reopen()
    assert second.store.private and "missing" in second.rebuilt
    right(second, library)
    right(first, library)


def test_a_file_that_vanishes_while_it_is_copied_costs_another_try(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reopen()
    passing = folder / "shard" / "wal" / "tmp-open-9"
    passing.touch()
    copy = folders._copy_sparse

    def copy_late(source: Path, target: Path) -> None:
        passing.unlink(missing_ok=True)  # it was listed before
        copy(source, target)

    monkeypatch.setattr(folders, "_copy_sparse", copy_late)
    second = reopen()
    assert (second.store.private, second.rebuilt) == (True, "")
    right(second, library)
    right(first, library)


def test_a_copy_is_rebuilt_where_the_owner_writes_for_long(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_COPY_SECONDS", 0.05)
    monkeypatch.setattr(store, "_WRITE_SECONDS", 0.05)
    first = reopen()
    lock = FolderLock(folder / "write.lock")
    assert lock.acquire()
    second = reopen()
    assert second.store.private and "being written" in second.rebuilt
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
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, pass_fds=place.handles
        )
    place.release()  # what the system does when the owner is killed; the child lives on
    assert not FolderLock(folder / "write.lock").acquire()
    assert child.stdin
    threading.Timer(0.5, child.stdin.close).start()  # it ends while the next one waits
    index = reopen()
    assert (index.store.private, index.rebuilt) == (False, "")
    assert child.wait(timeout=600) == 0
    right(index, library)
