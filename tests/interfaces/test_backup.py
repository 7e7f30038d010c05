"""The commands of the page on operating that make a backup and restore it, run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run
from tests import pdfs, postgres, qdrant_real

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
