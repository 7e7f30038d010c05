"""Full disks, forks, many changes."""

from __future__ import annotations

import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.index.edge import child, store
from hybrid_core.store.index.edge.shard import LAYOUT, require_space
from hybrid_core.store.index.edge.store import open_edge
from tests.hybrid_core.store.index.edge.library import MANIFEST, Library, Opener, ask, right


def test_the_layout_names_the_release_it_was_checked_with() -> None:
    assert f"qdrant-edge-py {version('qdrant-edge-py')}," in LAYOUT


def test_a_full_disk_is_an_error_before_the_write(
    reopen: Opener, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = reopen()
    library.publish(("d", "d1", 4))
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10 << 20))
    with pytest.raises(StoreError, match=r"needs 9\d MB, .* has only 10 MB free.* Free at least 8\d MB"):
        index.catch_up(library)
    assert ask(index, [1], 5)  # what is there can still be searched
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
    index.store._process = index.store._shard._process = os.getpid() + 1
    with pytest.raises(StoreError, match="This process was forked from one"):
        ask(index, [1], 5)
    index.close()
    index.store._process = index.store._shard._process = os.getpid()
    right(index, library)


def test_many_changes_are_optimised_on_opening(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_OPTIMIZE_POINTS", 40)
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
    monkeypatch.setattr(store, "_OPTIMIZE_POINTS", 1)
    monkeypatch.setattr(store, "optimize_in_child", lambda folder, handles: real(folder / "no", handles))
    real = child.optimize_in_child
    index = reopen()
    assert "was not optimised (status 1)" in caplog.text
    right(index, library)
    assert index.rebuilt == ""


def test_a_long_catch_up_is_saved_on_the_way(
    reopen: Opener, library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_CHECKPOINT_POINTS", 10)
    index = reopen()
    library.publish(*((f"n{number}", f"n{number}", 6) for number in range(10)))
    seen: list[tuple[int, bool]] = []
    save = store.EdgeStore._save

    def spy(self: store.EdgeStore, position: int, mark: int, *, more: bool = False) -> None:
        save(self, position, mark, more=more)
        seen.append((position, more))

    monkeypatch.setattr(store.EdgeStore, "_save", spy)
    index.catch_up(library)
    assert seen == [(5, True), (7, True), (9, True), (11, True), (13, True), (13, False)]
    right(index, library)
