"""An index whose damage makes Edge abort the process that loads it: no more than one process dies of it."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hybrid_core.store.qdrant_edge.library import Library, Opener, right
from tests.hybrid_core.store.qdrant_edge.worker import Worker

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


def dies(worker: Worker) -> bool:
    worker.process.communicate()
    return worker.process.returncode == -signal.SIGABRT


def test_what_another_wrote_into_the_index_ends_no_process(
    start: Callable[..., Worker], reopen: Opener, folder: Path
) -> None:
    reopen().close()
    damage(folder)
    worker = start()
    assert "ended by signal 6" in str(worker.opened["rebuilt"])
    assert worker.opened["private"] is False
    worker.kill()
    assert start().opened == {"private": False, "rebuilt": ""}


def test_a_disk_that_forgets_ends_one_process(
    start: Callable[..., Worker], reopen: Opener, library: Library, folder: Path
) -> None:
    reopen().close()
    damage(folder, keep_time=True)
    assert dies(start(wait=False))
    assert "ended by signal 6" in str(start().opened["rebuilt"])


def test_a_copy_of_a_damaged_index_ends_one_process(
    start: Callable[..., Worker], reopen: Opener, library: Library, folder: Path
) -> None:
    owner = reopen()
    damage(folder, keep_time=True)
    assert dies(start(wait=False))
    for _ in range(2):
        copy = start()
        assert copy.opened["private"] is True
        assert "ended by signal 6" in str(copy.opened["rebuilt"])
    right(owner, library)
    owner.close()
    again = start()
    assert again.opened["private"] is False
    assert "ended by signal 6" in str(again.opened["rebuilt"])


def test_a_process_killed_while_it_loads_costs_no_rebuild(reopen: Opener, library: Library, folder: Path) -> None:
    reopen().close()
    (folder / "loading").touch()
    index = reopen()
    right(index, library)
    assert index.rebuilt == ""
    assert not (folder / "loading").exists()
