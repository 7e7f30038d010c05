"""Searches while no disk has room for the index: words find the pages, and the result says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.errors import DiskFullError
from hybrid_core.store.index.edge.folders import read_state
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.search import handles
from hybrid_pageindex.engine.search.handles import BackgroundFollower, index_folder

Fill = Callable[[int], None]


@pytest.fixture(autouse=True)
def _nobody_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BackgroundFollower, "start", lambda _: None)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with closing(Engine(tmp_path / "home")) as engine:
        yield engine


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Fill:
    """Leave so many bytes on every disk."""
    usage = shutil.disk_usage("/")

    def left(free: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))

    return left


def add(engine: Engine, folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    run(engine.index([folder / name], workers=1))


def search(engine: Engine, question: str) -> tuple[str, str]:
    """Return the name of the first document, and the notes on the index."""
    result = run(engine.search(question))
    return result.results[0].doc_name, " ".join(note for note in result.notes if "index" in note)


def test_a_document_that_the_index_has_no_room_for_is_found_by_its_words(
    engine: Engine, tmp_path: Path, fill: Fill
) -> None:
    add(engine, tmp_path, "mill.md", "# The mill\n\nThe mill cost 4,200 crowns.\n")
    assert search(engine, "crowns of the mill") == ("mill.md", "")
    free = shutil.disk_usage("/").free
    fill(50 << 20)  # enough for the catalog, and to load an index, but not to write one
    add(engine, tmp_path, "lock.md", "# The lock\n\nThe duke of Alster opened the lock.\n")
    for _ in range(3):
        name, notes = search(engine, "duke of Alster")
        assert name == "lock.md" and "lacks 1 page" in notes and "needs 96 MB" in notes
    assert search(engine, "crowns of the mill")[0] == "mill.md", "what the index holds is found in it"
    fill(free)
    engine._parts().indexes.follow_all()
    assert search(engine, "duke of Alster") == ("lock.md", "")


def test_an_index_that_cannot_be_opened_is_opened_once_there_is_room(
    engine: Engine, tmp_path: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(engine, tmp_path, "mill.md", "# The mill\n\nThe mill cost 4,200 crowns.\n")
    free = shutil.disk_usage("/").free
    fill(1 << 20)
    name, notes = search(engine, "crowns of the mill")
    assert name == "mill.md" and "lacks 1 page" in notes and "in a temporary folder" in notes
    with pytest.raises(DiskFullError, match="MB"):
        engine._parts().indexes.ready("default")
    monkeypatch.setattr(handles.IndexHandle, "may_try", lambda _: True)
    fill(free)
    assert search(engine, "crowns of the mill") == ("mill.md", "")


def test_an_index_that_must_be_made_anew_stays_while_there_is_no_room(
    engine: Engine, tmp_path: Path, fill: Fill
) -> None:
    add(engine, tmp_path, "mill.md", "# The mill\n\nThe mill cost 4,200 crowns.\n")
    search(engine, "crowns")
    engine.close()
    folder = index_folder(engine.home, "default")
    state = folder / "state.json"
    state.write_text(state.read_text().replace('"points": 1', '"points": 0'))
    fill(50 << 20)
    assert search(engine, "crowns of the mill")[0] == "mill.md"
    assert read_state(state) is not None and any((folder / "shard").rglob("*.dat"))
