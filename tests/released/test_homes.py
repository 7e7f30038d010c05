"""Homes and backups of released versions are opened, and a home of a newer version is refused."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.home import CATALOG
from hybrid_pageindex import Engine, run
from tests.conftest import Cli
from tests.released.homes import BACKUP, FOLDER, HOME, contents, keep, unpack

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_a_file")]
NOW = "this version"


@pytest.fixture(scope="module")
def made_now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("released") / "home.zip"
    keep(file)
    return file


@pytest.mark.parametrize("version", [*sorted(file.stem for file in FOLDER.glob("*.zip")), NOW])
def test_a_home_and_a_backup_of_a_version_hold_all_that_they_held(version: str, tmp_path: Path, made_now: Path) -> None:
    expected = unpack(made_now if version == NOW else FOLDER / f"{version}.zip", tmp_path)
    with closing(Engine(tmp_path / HOME)) as engine:
        assert contents(engine) == expected
        assert run(engine.admin.doctor(deep=True)).ok
        run(engine.index(b"# Godwit\n\nThe godwit rests in the dunes.\n", name="godwit.md"))
        assert run(engine.search("Where does the godwit rest?")).results[0].doc_name == "godwit.md"
    with closing(Engine(tmp_path / "restored")) as engine:
        assert run(engine.admin.restore(tmp_path / BACKUP)).ok
        assert contents(engine) == expected


def test_a_home_of_a_newer_version_is_refused_and_stays_as_it_is(tmp_path: Path, made_now: Path, cli: Cli) -> None:
    unpack(made_now, tmp_path)
    home, file = tmp_path / HOME, tmp_path / "godwit.md"
    file.write_text("# Godwit\n\nThe godwit rests in the dunes.\n")
    with closing(sqlite3.connect(home / CATALOG)) as direct, direct:
        direct.execute("UPDATE meta SET value = ? WHERE key = 'schema'", [str(SCHEMA_VERSION + 1)])
        direct.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('program', '7.8.9')")
    before = _digests(home)
    for command in (
        ["search", "avocet"],
        ["index", file],
        ["list"],
        ["backup", tmp_path / "b"],
        ["recover"],
        ["serve"],
    ):
        refused = cli(*command, home=home)
        assert refused.returncode == 1 and "Upgrade hybrid-pageindex to 7.8.9 or newer" in refused.stderr, refused
    assert _digests(home) == before


def _digests(home: Path) -> dict[str, str]:
    files = sorted(path for path in home.rglob("*") if path.is_file() and path.parent.name != "locks")
    return {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
