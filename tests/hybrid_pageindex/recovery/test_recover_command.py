"""``hybrid-pageindex recover``: the catalog, what it lost indexed again, the report; kills, and other processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import BusyError, StoreError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CATALOG, ORIGINALS, lock_for_recovery
from hybrid_core.store.notes import NoteStore
from hybrid_core.store.recovery.recovery import recover_catalog
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli.main import main
from tests import pdfs
from tests.hybrid_pageindex.recovery.damaged_homes import Rows, places, zero

pytestmark = pytest.mark.slow
Copied = Callable[[], Path]

_DIES = """
import os, signal, sys
from pathlib import Path
from hybrid_core.store.recovery import recovery

def counted(work):
    def call(*arguments, **options):
        global steps
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments, **options)
    return call

for owner, name in (
    (os, "link"), (Path, "replace"), (Path, "unlink"), (recovery, "sync_file"), (recovery, "sync_folder"),
    (recovery, "_finish"),
):
    setattr(owner, name, counted(getattr(owner, name)))
for line in sys.stdin:
    steps = int(line)
    child = os.fork()
    if not child:
        recovery.recover_catalog(Path(sys.argv[1]))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Recovers a home once for each number on its input, and is killed after so many steps of it."""


def test_a_damaged_home_works_again(copied: Copied, capsys: pytest.CaptureFixture[str], before: Rows) -> None:
    """Lose one document's text, some notes and the index of the schema and read its file again."""
    home = copied()
    pages = places(home / CATALOG)
    zero(home / CATALOG, 1, pages["notes"][3][0], next(page for page, kind in pages["pages"] if kind == "overflow"))
    assert main(["--home", str(home), "list"]) == 1
    assert "Run 'hybrid-pageindex recover'" in capsys.readouterr().err
    assert main(["--home", str(home), "recover", "--json"]) == 1, "notes were deleted"
    report = json.loads(capsys.readouterr().out)
    kinds = {entry["kind"]: entry for entry in report["kinds"]}
    assert report["catalog"] == "damaged" and Path(report["damaged"]).is_file() and not report["complete"]
    assert kinds["notes"]["gone"] == len(before["notes"]) - kinds["notes"]["kept"] > 0
    assert kinds["corrections"]["kept"] == 3 and kinds["tokens and users"]["kept"] == 40
    assert report["indexed"] > 0 and report["failed"] == []
    with closing(Engine(home)) as engine:
        assert all(entry.content_id for entry in run(engine.documents.list()))
        for number in range(4):
            hit = run(engine.search(pdfs.landmark(f"harbour {number}", 7))).results[0]
            assert (hit.doc_name, hit.page) == (f"report-{number}.pdf", 7)
        assert run(engine.search(pdfs.landmark("curlew 2", 3))).results[0].doc_name == "up-2.pdf"
        assert run(engine.admin.doctor(deep=True)).ok
        assert {entry.title for entry in run(engine.documents.list())} >= {"Title 0", "Title 1", "Title 2"}
    assert main(["--home", str(home), "recover"]) == 0
    shown = capsys.readouterr().out
    assert "The catalog is undamaged" in shown and "Nothing was lost" in shown


def test_without_a_catalog_uploads_are_indexed_again(copied: Copied, capsys: pytest.CaptureFixture[str]) -> None:
    """Index what was packed in an upload once."""
    home = copied()
    for file in home.glob(f"{CATALOG}*"):
        file.unlink()
    packed = home.parent / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside.md", "# Inside\n\nThe dunlin is brown.\n")
    shutil.rmtree(home / ORIGINALS)
    with closing(Engine(home)) as engine:
        run(engine.index(packed.read_bytes(), name="packed.zip"))
        run(engine.index(b"# Alone\n\nThe albatross is white.\n", name="alone.md"))
    for file in home.glob(f"{CATALOG}*"):
        file.unlink()
    assert main(["--home", str(home), "recover", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["catalog"] == "missing" and report["damaged"] is None
    with closing(Engine(home)) as engine:
        names = {entry.name[12:] for entry in run(engine.documents.list(library="recovered")) if entry.content_id}
        assert names == {".md", ".zip", ".zip!/inside.md"}
        [hit, *_] = run(engine.search("What colour is the albatross?", library="recovered")).results
        assert hit.doc_name.endswith(".md")
    assert len(list((home / ORIGINALS).glob("*/*"))) == 3


def test_notes_find_their_document_again(copied: Copied) -> None:
    """The row of an upload is lost whole; its original's row names library and path."""
    home = copied()
    with closing(Engine(home)) as engine:
        [document] = [entry for entry in run(engine.documents.list()) if entry.name == "up-1.pdf"]
        engine.notes.add("default", "ann", "On it", "text", document.doc_id)
    with closing(sqlite3.connect(home / CATALOG)) as direct:
        direct.execute("DELETE FROM documents WHERE doc_id = ?", [document.doc_id])
        direct.commit()
    zero(home / CATALOG, places(home / CATALOG)["feedback"][2][0])
    with closing(Engine(home)) as engine:
        report = run(engine.admin.recover())
        assert report.indexed == 1 and not any("do not" in note or "not there" in note for note in report.notes)
        assert [note.title for note in engine.notes.all("default", document.doc_id)] == ["On it"]
        assert run(engine.search(pdfs.landmark("curlew 1", 2))).results[0].doc_id == document.doc_id


def test_killed_between_any_two_steps_it_is_the_old_catalog_or_the_new_one(tmp_path: Path) -> None:
    """With a log beside it, which holds the latest note."""
    home = tmp_path / "home"
    left = _left_by_a_kill(tmp_path / "made")
    states, statuses = list[str](), list[int]()
    command = [sys.executable, "-c", _DIES, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        while 0 not in statuses:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            for name, content in left.items():
                (home / f"{CATALOG}{name}").write_bytes(content)
            other.stdin.write(f"{len(statuses)}\n")
            other.stdin.flush()
            statuses.append(int(other.stdout.readline()))
            states.append(_state(home))
            recover_catalog(home)
            assert _state(home) == "new", len(statuses)
            copies = {file.name[-4:]: file.read_bytes() for file in home.glob(f"{CATALOG}.damaged-*")}
            assert copies.pop("-wal") == left["-wal"] and left[""] in copies.values()
    assert set(statuses) == {0, -signal.SIGKILL} and len(statuses) > 10
    assert states == sorted(states, reverse=True) and set(states) == {"old", "new"}


def _left_by_a_kill(home: Path) -> dict[str, bytes]:
    """A damaged catalog and the log of a process that was killed, by what follows its name."""
    catalog = Catalog(home / CATALOG)
    catalog.ensure_library("default")
    store = NoteStore(catalog)
    first = store.add("default", "ann", "first", "text " * 50)
    store.restore([replace(first, id=f"note {number:03}") for number in range(100)])
    catalog.close()
    page = next(page for page, kind in places(home / CATALOG)["notes"] if kind == "root")
    with closing(sqlite3.connect(home / CATALOG, isolation_level=None)) as direct:
        direct.execute("INSERT INTO exclusions VALUES ('default', 'latest')")
        left = {name: (home / f"{CATALOG}{name}").read_bytes() for name in ("", "-wal")}
    (home / CATALOG).write_bytes(left[""])
    zero(home / CATALOG, page)
    return left | {"": (home / CATALOG).read_bytes()}


def _state(home: Path) -> str:
    """Return which catalog a process finds that opens it now."""
    copy = home.parent / "looked at"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in ("", "-wal"):
        if (home / f"{CATALOG}{name}").exists():
            shutil.copy(home / f"{CATALOG}{name}", copy)
    with closing(sqlite3.connect(copy / CATALOG)) as direct:
        assert direct.execute("SELECT path FROM exclusions").fetchall() == [("latest",)]
        try:
            assert len(direct.execute("SELECT text FROM notes").fetchall()) == 101
        except sqlite3.DatabaseError:
            return "old"
        assert direct.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return "new"


def test_while_another_process_has_the_home_nothing_is_done(copied: Copied) -> None:
    home = copied()
    zero(home / CATALOG, 1)
    content = (home / CATALOG).read_bytes()
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA journal_mode=WAL');"
        "c.execute('CREATE TABLE t (x)'); c.commit(); print('open', flush=True); sys.stdin.read()"
    )
    (home / CATALOG).write_bytes(b"")
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(home / CATALOG)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None and other.stdout.readline() == b"open\n"
        with pytest.raises(BusyError, match=r"while another process uses it.*Stop every process"):
            recover_catalog(home)
    finally:
        other.communicate()
    (home / CATALOG).write_bytes(content)
    recover_catalog(home)


def test_another_engine_of_this_process_is_noticed_too(tmp_path: Path) -> None:
    with closing(Catalog(tmp_path / CATALOG)) as catalog:
        catalog.ensure_library("default")
        with pytest.raises(BusyError, match="while another process uses it"):
            recover_catalog(tmp_path)
    assert recover_catalog(tmp_path).whole


def test_nobody_opens_a_catalog_that_is_being_recovered(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / CATALOG)
    catalog.close()
    with lock_for_recovery(tmp_path) as alone:
        assert alone
        with pytest.raises(BusyError, match="is rebuilding the catalog"):
            Catalog(tmp_path / CATALOG)
        with pytest.raises(BusyError, match="another process is recovering"):
            recover_catalog(tmp_path)
    Catalog(tmp_path / CATALOG).close()


def test_over_postgresql_a_dump_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", "postgresql://nobody@localhost:1/none")
    with closing(Engine(tmp_path)) as engine, pytest.raises(UsageError, match=r"PostgreSQL.*pg_restore"):
        run(engine.admin.recover())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_rights_is_told(copied: Copied) -> None:
    home = copied()
    (home / CATALOG).chmod(0)
    with pytest.raises(StoreError, match="cannot be read"):
        recover_catalog(home)
