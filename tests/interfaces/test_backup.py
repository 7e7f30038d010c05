"""The commands of the page on operating that make a backup and restore it, run as they stand there."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run
from tests import buckets, pdfs, postgres, qdrant_real
from tests.conftest import Cli

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
URL = "postgresql://user:password@localhost/trial"
WORDS = ("albatross", "curlew", "dunlin")


def scripts(heading: str) -> list[str]:
    """The blocks of commands under a heading of the page: a backup, a restore in place, and one beside the original."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    blocks = re.findall(r"^```console\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3 and all(line.startswith("$ ") for block in blocks for line in block.splitlines())
    return ["\n".join(line[2:] for line in block.splitlines()) for block in blocks]


def results(engine: Engine) -> list[list[tuple[str, int, float]]]:
    pages = [engine.search_now(word).results for word in WORDS]
    return [[(page.doc_name, page.page, page.score) for page in found] for found in pages]


def places(found: list[list[tuple[str, int, float]]]) -> list[list[tuple[str, int]]]:
    return [[(name, page) for name, page, _ in pages] for pages in found]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home and a folder for backups; the shell's programs are those of this checkout."""
    user, programs = tmp_path / "user", tmp_path / "bin"
    for folder in (user, programs, tmp_path / "backup"):
        folder.mkdir(exist_ok=True)
    command = programs / "hybrid-pageindex"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybrid_pageindex "$@"\n')
    command.chmod(0o755)
    dump = postgres.program("pg_dump")
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(programs), *([str(dump.parent)] if dump else []), os.environ["PATH"]])
    )
    monkeypatch.setenv("PYTHONPATH", str(PAGE.parents[1]))
    monkeypatch.setenv("HOME", str(user))
    return user


def execute(script: str, tmp_path: Path, trial: str = "") -> None:
    script = script.replace("/backup", str(tmp_path / "backup")).replace(URL, trial)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("kind", ["With SQLite", "With PostgreSQL"])
def test_a_backup_is_restored_in_place_and_beside_the_home_that_goes_on(
    kind: str, shell: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("sqlite3 is not installed (Debian: apt-get install sqlite3)")
    database = trial_database = ""
    if kind == "With PostgreSQL":
        server = request.getfixturevalue("postgres_url")
        database, trial_database = (postgres.plain(postgres.new_database(server)) for _ in range(2))
        if qdrant_real.program() is None:
            pytest.skip(qdrant_real.REASON)
        monkeypatch.setenv("PAGEINDEX_QDRANT_URL", request.getfixturevalue("qdrant"))
    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", database)
    backup, restore, beside = scripts(kind)
    files = [pdfs.numbered(tmp_path / f"{word}.pdf", 3, word) for word in WORDS]
    with closing(Engine()) as engine:
        run(engine.index(files[0]))
        run(engine.index(files[1].read_bytes(), name="curlew.pdf"))
        expected = results(engine)
        assert expected[0] and expected[1] and not expected[2]
        execute(backup, tmp_path)  # while it runs
        run(engine.index(files[2]))
        run(engine.documents.remove(["curlew.pdf"]))
        assert results(engine)[2] and not results(engine)[1]

    execute(restore, tmp_path)
    with closing(Engine()) as engine:
        assert engine.settings.storage_path == shell / ".pageindex"
        assert results(engine) == expected
        assert run(engine.admin.doctor(deep=True)).ok
        execute(beside, tmp_path, trial_database)
        run(engine.index(files[2]))
        after = results(engine)
        assert places(after[:2]) == places(expected[:2]) and after[2]  # scores depend on what else there is
        monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", trial_database)
        with closing(Engine(shell / "trial")) as trial:
            assert results(trial) == expected
            run(trial.documents.remove(["albatross.pdf"]))
            assert places(results(trial)) == places([[], expected[1], []])
            assert run(trial.admin.doctor(deep=True)).ok
        assert results(engine) == after
        monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", database)
        assert run(engine.admin.doctor()).ok


@pytest.fixture
def qdrant() -> Iterator[str]:
    """The address of a node."""
    with qdrant_real.node() as url:
        yield url


@contextmanager
def place_of_data(kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Where homes keep their data. Yields what gives the next home a place of its own."""
    if kind == "sqlite":
        yield lambda: None
        return
    with postgres.server() as server, ExitStack() as stack:

        def another() -> None:
            monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", postgres.plain(postgres.new_database(server.url)))
            for name, value in buckets.variables(stack.enter_context(buckets.bucket())).items():
                monkeypatch.setenv(name, value)

        another()
        yield another


@pytest.mark.parametrize("kind", ["sqlite", "postgresql and a bucket"])
def test_the_command_backs_up_a_home_in_use_and_restores_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    files = [pdfs.numbered(tmp_path / f"{word}.pdf", 3, word) for word in WORDS]
    file, stop = tmp_path / "home.backup", threading.Event()
    with place_of_data(kind, monkeypatch) as another_place:
        with closing(Engine(tmp_path / "home")) as engine:
            run(engine.index(files[0]))
            run(engine.index(files[1].read_bytes(), name="curlew.pdf"))
            engine.notes.add("default", "ann", "A title", "a note that stays", "", 0)
            expected = results(engine)

            def write_on() -> None:
                while not stop.is_set():
                    engine.notes.add("default", "ann", "Written meanwhile", "text", "", 0)

            writer = threading.Thread(target=write_on)
            writer.start()
            try:
                made = cli("backup", file, "--json")
            finally:
                stop.set()
                writer.join()
            assert made.returncode == 0, made.stderr
            assert json.loads(made.stdout)["documents"] == 2 and file.stat().st_mode & 0o077 == 0
            assert "already exists" in cli("backup", file).stderr
            checked = cli("restore", file, "--check", "--json")
            assert checked.returncode == 0 and json.loads(checked.stdout)["differing"] == [], checked.stderr
            assert "already contains libraries" in cli("restore", file).stderr
            assert results(engine) == expected, "a check changes nothing"
        another_place()
        empty = tmp_path / "restored"
        with closing(Engine(empty)) as serving:  # open before, as a server's
            assert run(serving.libraries.list()) == []
            restored = cli("restore", file, "--json", home=empty)
            assert restored.returncode == 0 and json.loads(restored.stdout)["ok"], restored.stderr
            assert results(serving) == expected
            assert run(serving.documents.original("curlew.pdf")).read_bytes() == files[1].read_bytes()
            assert "a note that stays" in [note.text for note in serving.notes.all("default")]
            assert run(serving.admin.doctor(deep=True)).ok
            run(serving.index(files[2]))
            assert results(serving)[2]


@pytest.mark.parametrize("harm", ["cut", "an original", "a row", "another archive", "a newer one"])
def test_a_damaged_backup_is_found_out(harm: str, tmp_path: Path, cli: Cli) -> None:
    file, bad = tmp_path / "home.backup", tmp_path / "bad.backup"
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index(b"# Heron\n\nA heron stands in the bay.\n", name="heron.md"))
        run(engine.admin.backup(file))
    if harm == "cut":
        bad.write_bytes(file.read_bytes()[:-40])
    else:
        with zipfile.ZipFile(file) as sound, zipfile.ZipFile(bad, "w") as archive:
            for name in sound.namelist():
                content = sound.read(name)
                if harm == "an original" and name.startswith("originals/"):
                    content = content.replace(b"heron", b"crane")
                elif harm == "a row" and name == "backup.json":
                    manifest = json.loads(content)
                    manifest["tables"]["documents"][1] = "0" * 64
                    content = json.dumps(manifest).encode()
                elif harm == "another archive" and name == "backup.json":
                    continue
                elif harm == "a newer one" and name == "catalog.sqlite":
                    content = _newer(tmp_path / "newer.sqlite", content)
                archive.writestr(name, content)
    done = cli("restore", bad, "--check")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    said = {"cut": "not a backup", "another archive": "not a backup", "a newer one": "newer version"}
    assert said.get(harm, "Differs from what was backed up") in done.stdout + done.stderr


def _newer(place: Path, content: bytes) -> bytes:
    place.write_bytes(content)
    with closing(sqlite3.connect(place)) as catalog, catalog:
        catalog.execute("UPDATE meta SET value = '9999' WHERE key = 'schema'")
    return place.read_bytes()
