"""A home and a restored copy of it beside it, with one Qdrant server: neither loses a document to the other."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.home import CATALOG
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import Settings
from tests import qdrant_real

NAMES = ("alder", "birch", "cedar", "elm")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.node() as url:
        yield url


def engine_of(home: Path, url: str) -> Engine:
    return Engine(settings=Settings(storage_path=home, qdrant_url=url))


def edit(engine: Engine, *names: str, by: str) -> None:
    """Uploads that hold a word of whoever edits, and are as long as before."""
    for name in names:
        run(engine.index(f"# The {name}\n\nIt is known for {name}{by}.\n".encode(), name=f"{name}.md"))


def finds(engine: Engine, by: str) -> set[str]:
    """Return the names whose word is found, each in its own document alone."""
    found = {name: [page.doc_name for page in engine.search_now(f"{name}{by}").results] for name in NAMES}
    assert all(names in ([], [f"{name}.md"]) for name, names in found.items()), found
    return {name for name, names in found.items() if names}


def collections(engine: Engine) -> set[str]:
    return set(engine._indexes()._connected().collections())


@pytest.fixture
def home(tmp_path: Path, url: str) -> Path:
    home = tmp_path / "home"
    with closing(engine_of(home, url)) as engine:
        edit(engine, *NAMES, by="first")
        assert finds(engine, "first") == set(NAMES)
    return home


@pytest.fixture
def restored(home: Path, tmp_path: Path) -> Path:
    shutil.copytree(home, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("first", ["the original", "the copy"])
def test_both_are_edited_and_started_again(home: Path, restored: Path, url: str, first: str) -> None:
    places = (home, restored) if first == "the original" else (restored, home)
    changed = {places[0]: ("alder", "birch"), places[1]: ("birch", "cedar")}
    for place in places:
        with closing(engine_of(place, url)) as engine:
            edit(engine, *changed[place], by=place.name)
    for _ in range(2):
        for place in places:
            with closing(engine_of(place, url)) as engine:
                assert finds(engine, place.name) == set(changed[place])
                assert finds(engine, "first") == set(NAMES) - set(changed[place])
                assert not finds(engine, (restored if place is home else home).name)
                assert run(engine.admin.doctor()).ok
    with closing(engine_of(home, url)) as one, closing(engine_of(restored, url)) as other:
        assert one._indexes()._beginning() != other._indexes()._beginning()


def test_both_run_all_the_while(home: Path, restored: Path, url: str) -> None:
    with closing(engine_of(home, url)) as one, closing(engine_of(restored, url)) as other:
        assert finds(one, "first") == finds(other, "first") == set(NAMES)
        edit(other, "alder", by="copy")
        assert finds(one, "first") == set(NAMES) and finds(other, "first") == set(NAMES) - {"alder"}
        edit(one, "birch", "cedar", by="home")
        assert finds(other, "copy") == {"alder"} and finds(one, "home") == {"birch", "cedar"}
        assert finds(one, "first") == {"alder", "elm"} and finds(other, "first") == {"birch", "cedar", "elm"}
        run(other.documents.remove(["elm.md"]))
        assert finds(one, "first") == {"alder", "elm"} and finds(other, "first") == {"birch", "cedar"}


def test_a_backup_restored_in_place_leaves_the_collection_and_names_it(home: Path, tmp_path: Path, url: str) -> None:
    backup = tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(home / CATALOG)) as live:
        live.execute("VACUUM INTO ?", [str(backup)])
    with closing(engine_of(home, url)) as engine:
        edit(engine, "alder", by="lost")
        assert finds(engine, "lost") == {"alder"}
        left = collections(engine)
    for file in home.glob("catalog.sqlite*"):
        file.unlink()
    shutil.copy(backup, home / CATALOG)
    with closing(engine_of(home, url)) as engine:
        assert finds(engine, "first") == set(NAMES) and not finds(engine, "lost")
        health = run(engine.admin.doctor())
        assert health.ok and left < collections(engine)
        details = {check.name: check.detail for check in health.checks}
        (name,) = engine._indexes().other_epochs()
        assert name in left and name in details["other collections"]
        assert f"curl -X DELETE {url}/collections/{name}" in details["other collections"]


def test_processes_over_one_catalog_choose_one_epoch(home: Path, restored: Path, url: str) -> None:
    with closing(engine_of(home, url)) as engine:
        edit(engine, "alder", by="home")
        before = collections(engine)
    engines = [engine_of(restored, url) for _ in range(3)]
    begin = threading.Barrier(len(engines))
    found: list[set[str]] = []

    def search(engine: Engine) -> None:
        begin.wait()
        found.append(finds(engine, "first"))

    threads = [threading.Thread(target=search, args=[engine]) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert found == [set(NAMES)] * 3
        assert len({engine._indexes()._beginning() for engine in engines}) == 1
        assert len(collections(engines[0]) - before) == 1
    finally:
        for engine in engines:
            engine.close()


@pytest.mark.parametrize("edited", ["", "alder"])
def test_a_copy_that_is_cleared_takes_nothing_from_the_original(
    edited: str, home: Path, restored: Path, url: str
) -> None:
    with closing(engine_of(home, url)) as engine, closing(engine_of(restored, url)) as other:
        edit(engine, *edited.split(), by="home")
        before = collections(engine)
        run(other.libraries.clear())
        assert not edited or collections(engine) == before
        assert finds(engine, "home") == set(edited.split())
        assert finds(engine, "first") == set(NAMES) - {edited}, "also where the collection had to be made anew"
