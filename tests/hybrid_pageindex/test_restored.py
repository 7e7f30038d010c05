"""A catalog that was restored from a backup beside an index that went on, and then written before any search."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.home import CATALOG
from hybrid_core.store.index.edge.folders import read_state, write_state
from hybrid_core.store.index.points import OTHER_HISTORY
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.search.handles import index_folder
from tests import qdrant_real

pytestmark = pytest.mark.usefixtures("in_a_file")

NAMES = ("alder", "birch", "cedar", "elm", "fir", "larch")


def edit(engine: Engine, folder: Path, *names: str) -> None:
    """Index files that hold a word of their own now, and are as long as before."""
    for name in names:
        (folder / f"{name}.md").write_text(f"# The {name}\n\nIt is known for {name}word.\n")
    run(engine.index(folder))


def named(engine: Engine, word: str) -> list[str]:
    return [page.doc_name for page in engine.search_now(word).results]


def restore(home: Path, backup: Path) -> None:
    """As the page on operating has it: the index stays."""
    for file in home.glob("catalog.sqlite*"):
        file.unlink()
    shutil.copy(backup, home / CATALOG)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Six files of one page."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.md").write_text(f"# The {name}\n\nIt is known for nothing.\n")
    return folder


@pytest.fixture
def backup(tmp_path: Path, files: Path) -> Path:
    """Of a catalog at which the index stood, too."""
    made = tmp_path / "backup.sqlite"
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(files))
        assert named(engine, "larch")
        with closing(sqlite3.connect(tmp_path / "home" / CATALOG)) as live:
            live.execute("VACUUM INTO ?", [str(made)])
    return made


@pytest.fixture(scope="module")
def qdrant() -> Iterator[str]:
    """The address of a node."""
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.node() as url:
        yield url


@pytest.mark.parametrize("disk", ["files as they were", "files as they are"])
@pytest.mark.parametrize("later", ["cedar", "cedar elm", "cedar birch", "cedar elm fir", "elm fir cedar larch"])
def test_an_index_of_what_was_lost_is_not_taken_for_that_of_what_came_after(
    later: str, disk: str, tmp_path: Path, files: Path, backup: Path
) -> None:
    home, before = tmp_path / "home", {file: file.read_bytes() for file in files.iterdir()}
    with closing(Engine(home)) as engine:
        edit(engine, files, "alder", "birch")
        assert named(engine, "alderword") and named(engine, "birchword")
    restore(home, backup)
    expected = set(later.split())
    if disk == "files as they were":
        for file, data in before.items():
            file.write_bytes(data)
    else:
        expected |= {"alder", "birch"}
    with closing(Engine(home)) as engine:
        edit(engine, files, *later.split())
    with closing(Engine(home)) as engine:
        found = {name: named(engine, f"{name}word") for name in NAMES}
        assert found == {name: [f"{name}.md"] if name in expected else [] for name in NAMES}


def test_an_index_that_an_older_version_recorded_is_used_and_knows_its_history_from_the_next_change_on(
    tmp_path: Path, files: Path, backup: Path
) -> None:
    home = tmp_path / "home"
    record = index_folder(home, "default") / "state.json"
    with closing(sqlite3.connect(home / CATALOG)) as catalog, catalog:
        catalog.execute("UPDATE changes SET mark = 0")  # as the upgrade leaves them
    state = read_state(record)
    assert state is not None and state.mark
    write_state(record, type(state)(state.manifest, state.position, state.count, state.churn))
    with closing(Engine(home)) as engine:
        assert named(engine, "larch")
        assert engine._indexes().ready("default").rebuilt == ""
        edit(engine, files, "alder")
        assert named(engine, "alderword")
        assert engine._indexes().ready("default").rebuilt == ""
    found = read_state(record)
    assert found is not None and found.mark


def test_an_index_whose_last_change_is_gone_from_the_log_is_made_anew(tmp_path: Path, backup: Path) -> None:
    home = tmp_path / "home"
    with closing(sqlite3.connect(home / CATALOG)) as catalog, catalog:
        catalog.execute("UPDATE changes SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM changes)")
    with closing(Engine(home)) as engine:
        assert named(engine, "larch")
        assert engine._indexes().ready("default").rebuilt == OTHER_HISTORY


@pytest.mark.parametrize("where", ["embedded", "server"])
@pytest.mark.parametrize("later", ["cedar", "cedar alder", "elm fir cedar"])
def test_a_catalog_that_is_replaced_under_a_running_process_by_one_of_as_many_changes(
    later: str, where: str, tmp_path: Path, files: Path, backup: Path, request: pytest.FixtureRequest
) -> None:
    """As a database is restored in place: with sqlite3's .restore, or pg_restore --clean."""
    home, branch = tmp_path / "home", tmp_path / "branch"
    url = request.getfixturevalue("qdrant") if where == "server" else ""
    expected = set(later.split())
    branch.mkdir()
    shutil.copy(backup, branch / CATALOG)
    before = {file.name: file.read_bytes() for file in files.iterdir()}
    with closing(Engine(branch)) as engine:
        edit(engine, files, *expected)
    for name, data in before.items():
        (files / name).write_bytes(data)
    with closing(Engine(settings=Settings(storage_path=home, qdrant_url=url))) as engine:
        edit(engine, files, *("alder", "birch", "larch")[: len(expected)])
        assert named(engine, "alderword")
        with closing(sqlite3.connect(branch / CATALOG)) as source, closing(sqlite3.connect(home / CATALOG)) as live:
            position = "SELECT max(seq) FROM changes"
            assert source.execute(position).fetchone() == live.execute(position).fetchone()
            source.backup(live)
        found = {name: named(engine, f"{name}word") for name in NAMES}
        assert found == {name: [f"{name}.md"] if name in expected else [] for name in NAMES}
        assert run(engine.admin.doctor()).ok
