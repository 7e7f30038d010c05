"""A home whose catalog is in PostgreSQL gives what a home of SQLite gives, also after its server went down."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_core.store.catalog.catalog import Catalog
from tests import pdfs, postgres
from tests.conftest import Cli

QUESTIONS = ["revenue of Borealis in fiscal 2022", "page 2"]


def found(program: Cli, question: str) -> list[tuple[str, int, float]]:
    ran = program("search", question, "--json")
    assert ran.returncode == 0, ran.stderr
    return [(page["doc_name"], page["page"], page["score"]) for page in json.loads(ran.stdout)["results"]]


def test_a_catalog_moves_to_postgresql_and_back(
    tmp_path: Path, program: Cli, filings: list[Path], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program("index", *filings[:3]).returncode == 0
    before = [found(program, question) for question in QUESTIONS]
    assert any(before)
    url = postgres.new_database(postgres_url, "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
    moved = program("migrate", "--catalog", url)
    assert moved.returncode == 0 and "each table compared" in moved.stdout, moved.stderr
    assert "Set PAGEINDEX_POSTGRES_URL" in moved.stdout

    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", url)
    assert [found(program, question) for question in QUESTIONS] == before
    assert [found(lambda *a: program(*a, home=tmp_path / "new"), question) for question in QUESTIONS] == before
    assert program("index", filings[3]).returncode == 0
    checked = program("doctor")
    assert checked.returncode == 0 and "in PostgreSQL, schema" in checked.stdout
    full = [found(program, question) for question in QUESTIONS]
    assert program("migrate", "--catalog", "sqlite").stderr.startswith("hybrid-pageindex: The catalog to copy to holds")
    for file in (tmp_path / "home").glob("catalog.sqlite*"):
        file.unlink()
    assert program("migrate", "--catalog", "sqlite").returncode == 0
    monkeypatch.delenv("PAGEINDEX_POSTGRES_URL")
    assert [found(program, question) for question in QUESTIONS] == full


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://nobody:secret@127.0.0.1:1/none", "nobody:***@127.0.0.1:1/none: does not answer"),
        ("mysql://localhost/x", "names mysql, not PostgreSQL"),
        ("rubbish", "is no address"),
    ],
)
def test_a_database_that_is_not_there_is_said(
    program: Cli, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", url)
    ran = program("search", "anything")
    assert ran.returncode != 0 and said in ran.stderr and "secret" not in ran.stderr and "Traceback" not in ran.stderr


def test_a_server_that_dies_while_files_are_indexed_costs_nothing(tmp_path: Path, program: Cli) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number in range(12):
        pdfs.numbered(files / f"{number}.pdf", 30, f"word{number}")
    with postgres.server() as server:
        command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(tmp_path / "home"), "index", str(files)]
        import os

        env = os.environ | {"PAGEINDEX_POSTGRES_URL": server.url}
        running = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        catalog = Catalog(tmp_path / "other" / "catalog.sqlite", server.url)
        while running.poll() is None:
            with catalog.snapshot() as snapshot:
                if "default" in snapshot.libraries() and len(snapshot.published("default")) >= 3:
                    break
        server.stop(signal.SIGQUIT)
        server.start()
        out, err = running.communicate(timeout=200)
        assert "Traceback" not in err, err
        if running.returncode:  # it said that the server was gone: the same command completes it
            again = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
            assert again.returncode == 0, (out, err, again.stderr)
        with catalog.snapshot() as snapshot:
            assert len(snapshot.published("default")) == 12
            assert [change.seq for change in snapshot.changes("default", 0)] == list(range(1, 13)), "each once"
        catalog.close()
