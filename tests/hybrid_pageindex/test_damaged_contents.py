"""The stored reading of one document is damaged: that one fails visibly, and all others go on."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from hybrid_core.errors import DamageError
from hybrid_core.store.home import CATALOG
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.index.indexing import follow
from tests import postgres
from tests.conftest import Cli
from tests.homes import settings_of

pytestmark = pytest.mark.usefixtures("in_a_file")

DAMAGES = {
    "a page's text": "UPDATE pages SET text = CAST(x'ff41' AS TEXT) WHERE content_id = ?",
    "words": "UPDATE terms SET body = substr(body, 2) WHERE content_id = ?",
    "headings": "UPDATE terms SET headings = substr(headings, 2) WHERE content_id = ?",
    "a tree": "UPDATE trees SET sections = substr(sections, 2) WHERE content_id = ?",
    "metadata": "UPDATE contents SET metadata = '{' WHERE content_id = ?",
}


def write(folder: Path, version: int) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"# Harbour {name}\n\nThe heron of bay {name} is grey: {version}.\n")


def indexed(home: Path, folder: Path, damage: str) -> None:
    """Index three files, and damage what is stored of the second one."""
    write(folder, 1)
    with closing(Engine(home)) as engine:
        run(engine.index(folder))
    with closing(sqlite3.connect(home / CATALOG)) as direct, direct:
        [(content,)] = direct.execute("SELECT content_id FROM documents WHERE name = 'b.md'")
        assert direct.execute(DAMAGES[damage], (content,)).rowcount == 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_index_goes_on_with_the_other_files(tmp_path: Path, damage: str) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    indexed(home, folder, damage)
    with closing(Engine(home)) as engine:
        for name in ("a", "b"):
            (folder / f"{name}.md").rename(folder / f"{name} moved.md")
        write(folder / "more", 2)
        report = run(engine.index(folder))
        outcomes = {Path(file.path).relative_to(folder).as_posix(): file for file in report.files}
        assert {"more/a.md", "more/b.md", "more/c.md", "a moved.md", "c.md"} <= set(outcomes)
        assert all(file.status != "failed" for name, file in outcomes.items() if not name.startswith("b"))
        moved = outcomes["b moved.md"]
        assert moved.status != "failed" or "damaged" in (moved.error or "")


@pytest.mark.parametrize(("damage", "name"), [("a page's text", "d.md"), ("metadata", "b.md"), ("metadata", "d.md")])
def test_a_file_whose_reading_is_damaged_fails_by_its_name(tmp_path: Path, cli: Cli, damage: str, name: str) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    indexed(home, folder, damage)
    shutil.move(folder / "b.md", folder / name)
    (folder / "e.md").write_text("# New\n\nA curlew.\n")
    ended = cli("index", folder)
    assert ended.returncode == 1 and name in ended.stdout + ended.stderr
    assert "damaged" in ended.stdout + ended.stderr and "recover" in ended.stdout + ended.stderr
    with closing(Engine(home)) as engine, engine._catalog().snapshot() as snapshot:
        assert "e.md" in {document.name for document in snapshot.sound_documents("default") if document.published}


def test_embed_goes_on_with_the_other_documents_and_says_which_it_left_out(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    indexed(home, folder, "a page's text")
    with closing(Engine(home)) as engine:
        with pytest.raises(DamageError, match="1 of 3 documents could not be embedded; the others were embedded"):
            run(engine.models.embed("hashed:16"))
        with engine._catalog().snapshot() as snapshot:
            sound = {document.content_id for document in snapshot.documents("default") if document.name != "b.md"}
            embedder = next(filter(None, snapshot.embedder("default")))
            assert len(sound) == 2 and sound == set(snapshot.embedded(embedder.fingerprint))


@pytest.mark.parametrize("damage", ["words", "headings"])
def test_an_index_that_is_filled_anew_holds_the_other_documents(tmp_path: Path, damage: str) -> None:
    home, folder = tmp_path / "home", tmp_path / "files"
    indexed(home, folder, damage)
    with closing(Engine(home)) as engine:
        run(engine.admin.rebuild_index())
        assert follow(engine._parts(), "default", lambda: False) == ()


def test_the_advice_for_a_database_is_that_of_a_database(tmp_path: Path, postgres_url: str) -> None:
    url, folder = postgres.new_database(postgres_url), tmp_path / "files"
    write(folder, 1)
    damages = [
        ("UPDATE contents SET metadata = '{'", lambda engine: run(engine.documents.list())),
        ("UPDATE terms SET body = substr(body, 2)", lambda engine: engine.search_now("heron")),
        ("UPDATE trees SET sections = substr(sections, 2)", lambda engine: run(engine.outline("a.md"))),
    ]
    with closing(Engine(settings=settings_of(tmp_path / "home", postgres_url=url))) as engine:
        run(engine.index(folder))
    database = create_engine(url)
    for statement, ask in damages:
        with database.begin() as direct:
            direct.execute(text(statement))
        with closing(Engine(settings=settings_of(tmp_path / "home", postgres_url=url))) as engine:
            with pytest.raises(DamageError) as raised:
                ask(engine)
            assert "pg_restore" in raised.value.advice and "sqlite" not in raised.value.advice
    database.dispose()
