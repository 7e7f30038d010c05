"""What the page on operating says of backups: made while everything runs, and restored where nothing is."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.home import CATALOG, ORIGINALS
from hybrid_pageindex import Engine, run
from tests import pdfs, postgres

pytestmark = pytest.mark.slow
WORDS = ("albatross", "curlew", "dunlin")


def pages(engine: Engine) -> list[list[tuple[str, int, float]]]:
    found = [run(engine.search(word)).results for word in WORDS]
    return [[(page.doc_name, page.page, page.score) for page in results] for results in found]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_is_restored_into_an_empty_home_and_into_the_one_that_went_on(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    before, after = (postgres.new_database(server) if server else "" for _ in range(2))
    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", before)
    files = [pdfs.numbered(tmp_path / f"{word}.pdf", 3, word) for word in WORDS]
    home, backup, new = tmp_path / "home", tmp_path / "backup", tmp_path / "new"
    for folder in (backup, new):
        folder.mkdir()
    dump = backup / "catalog.dump"
    with closing(Engine(home)) as engine:
        run(engine.index(files[0]))
        run(engine.index(files[1].read_bytes(), name="curlew.pdf"))
        expected = pages(engine)
        assert expected[0] and expected[1] and not expected[2]
        if server:
            subprocess.run([postgres.program("pg_dump"), "-Fc", "-f", dump, postgres.plain(before)], check=True)
        else:
            with closing(sqlite3.connect(home / CATALOG)) as live:
                live.execute("VACUUM INTO ?", [str(backup / CATALOG)])
        shutil.copytree(home / ORIGINALS, backup / ORIGINALS)
        run(engine.index(files[2]))
        assert pages(engine)[2]

    if server:
        restore = [postgres.program("pg_restore"), "--no-owner", "-d", postgres.plain(after), dump]
        subprocess.run(restore, check=True)
        monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", after)
    else:
        for file in home.glob("catalog.sqlite*"):
            file.unlink()
        for folder in (home, new):
            shutil.copy(backup / CATALOG, folder)
    shutil.copytree(backup / ORIGINALS, new / ORIGINALS)
    for folder in (new, home):  # the index of the one that went on is ahead of the catalog that was restored
        with closing(Engine(folder)) as engine:
            assert pages(engine) == expected
            assert run(engine.doctor(deep=True)).ok
    with closing(Engine(home)) as engine:
        assert [file.status for file in run(engine.index(files)).files] == ["unchanged", "indexed", "indexed"]
        assert all(pages(engine))
