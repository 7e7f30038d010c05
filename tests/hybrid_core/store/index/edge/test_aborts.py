"""An index whose damage makes Edge abort the process that loads it: no process dies of it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.store.index.edge.folders import read_state, write_state
from hybrid_core.store.index.edge.store import CHANGED
from tests.hybrid_core.store.index.edge.library import Library, Opener, right
from tests.hybrid_core.store.index.edge.worker import Worker

_POINT = 21  # bytes an id tracker writes of one: its kind, its id, and last its number


@pytest.fixture(autouse=True)
def _little_memory() -> Iterator[None]:
    """So little that the damaged number of a point asks for too much on every machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (64 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def damage(folder: Path, *, keep_time: bool = False) -> None:
    (path,) = (path for path in (folder / "shard").rglob("mutable_id_tracker.mappings") if path.stat().st_size)
    before, held = path.stat(), bytearray(path.read_bytes())
    held[5 * _POINT + _POINT - 1] ^= 0xFF
    path.write_bytes(held)
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def unchecked(folder: Path) -> None:
    """Leave the checksum out of the record, as older versions did: what is damaged is tried in a child then."""
    state = read_state(folder / "state.json")
    assert state is not None
    write_state(folder / "state.json", replace(state, files=""))


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_changed_file_is_never_loaded(
    start: Callable[..., Worker], reopen: Opener, folder: Path, keep_time: bool
) -> None:
    reopen().close()
    damage(folder, keep_time=keep_time)
    worker = start()
    assert worker.opened == {"private": False, "rebuilt": CHANGED}
    worker.kill()
    assert start().opened == {"private": False, "rebuilt": ""}


def test_a_copy_of_a_changed_file_is_never_loaded(
    start: Callable[..., Worker], reopen: Opener, library: Library, folder: Path
) -> None:
    owner = reopen()
    damage(folder, keep_time=True)
    for _ in range(2):
        assert start().opened == {"private": True, "rebuilt": CHANGED}
    right(owner, library)
    owner.close()
    assert start().opened == {"private": False, "rebuilt": CHANGED}


def test_without_a_checksum_a_child_tries_the_index_first(
    start: Callable[..., Worker], reopen: Opener, folder: Path
) -> None:
    reopen().close()
    damage(folder)
    unchecked(folder)
    worker = start()
    assert worker.opened["private"] is False
    assert "killed by signal 6" in str(worker.opened["rebuilt"])
    worker.kill()
    assert start().opened == {"private": False, "rebuilt": ""}


def test_a_process_killed_while_it_loads_costs_no_rebuild(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    (folder / "loading").touch()
    index = reopen()
    right(index, library)
    assert index.rebuilt == ""
    assert not (folder / "loading").exists()
