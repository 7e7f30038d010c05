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
from tests.interfaces.http.conftest import MILL, SOLD, serving, until, upload, wait_for_jobs

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
    assert moved.returncode == 0 and "each table was compared" in moved.stdout, moved.stderr
    assert "Set PAGEINDEX_POSTGRES_URL" in moved.stdout

    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", url)
    assert [found(program, question) for question in QUESTIONS] == before
    assert [found(lambda *a: program(*a, home=tmp_path / "new"), question) for question in QUESTIONS] == before
    assert program("index", filings[3]).returncode == 0
    checked = program("doctor")
    assert checked.returncode == 0 and f"{url} (schema" in checked.stdout and "catalog.sqlite" not in checked.stdout
    full = [found(program, question) for question in QUESTIONS]
    assert program("migrate", "--catalog", "sqlite").stderr.startswith(
        "hybrid-pageindex: The catalog cannot be copied, because the target database"
    )
    for file in (tmp_path / "home").glob("catalog.sqlite*"):
        file.unlink()
    assert program("migrate", "--catalog", "sqlite").returncode == 0
    monkeypatch.delenv("PAGEINDEX_POSTGRES_URL")
    assert [found(program, question) for question in QUESTIONS] == full


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "postgresql://nobody:secret@127.0.0.1:1/none",
            "@127.0.0.1:1/none: the database server does not answer",
        ),
        ("mysql://localhost/x", "is the address of a database of the type mysql, but only PostgreSQL"),
        ("rubbish", "is not a valid address"),
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
        out, err = running.communicate(timeout=600)
        assert "Traceback" not in err, err
        if running.returncode:  # it said that the server was gone: the same command completes it
            again = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
            assert again.returncode == 0, (out, err, again.stderr)
        with catalog.snapshot() as snapshot:
            assert len(snapshot.published("default")) == 12
            assert [change.seq for change in snapshot.changes("default", 0)] == list(range(1, 13)), "each once"
        catalog.close()


def test_a_service_over_a_server_in_trouble_says_so_and_goes_on(tmp_path: Path) -> None:
    """It takes no writes for a while, then no connections: what can be answered is, the rest is told and done later."""
    with postgres.server() as server:
        url = postgres.new_database(server.url)
        role = "CREATE ROLE app LOGIN; GRANT ALL ON SCHEMA public TO app"
        postgres.ordered(url, role)

        def anew(changed: str) -> None:
            """The role's rights are looked at when it connects."""
            postgres.ordered(url, f"ALTER ROLE app {changed}")
            postgres.ordered(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")

        with (
            serving(tmp_path / "home", PAGEINDEX_POSTGRES_URL=url.replace("tests@", "app@")) as served,
            served.client() as client,
        ):
            client.post("/libraries", json={"name": "mills"})
            upload(client, "mills", mill=MILL)
            asked = {"question": SOLD, "libraries": ["mills"], "effort": "fast"}
            before = client.post("/search", json=asked).json()["results"]
            later = {"file": ("later.md", b"# Later\n\nThe weir was sold in 1990.\n")}

            anew("SET default_transaction_read_only = on")
            assert client.post("/search", json=asked).json()["results"] == before
            refused = client.post("/libraries/mills/documents", files=later)
            assert refused.status_code in (500, 503), refused.text
            assert "refuses writes" in refused.json()["error"]["message"]
            anew("RESET default_transaction_read_only")
            until(lambda: client.post("/libraries/mills/documents", files=later).status_code == 202)

            anew("CONNECTION LIMIT 0")
            refused = client.post("/search", json=asked)
            assert refused.status_code == 503 and "too many connections" in refused.json()["error"]["message"]
            anew("CONNECTION LIMIT -1")
            until(lambda: client.post("/search", json=asked).status_code == 200)
            until(lambda: client.get("/libraries/mills/documents").json()["total"] == 2)
            wait_for_jobs(client, [one["id"] for one in client.get("/jobs").json()["jobs"]])
            assert {one["status"] for one in client.get("/jobs").json()["jobs"]} == {"done"}


def test_a_slow_disk_costs_time_and_nothing_else(tmp_path: Path) -> None:
    """Each write that must last takes 20 ms; then the machine of the server dies."""
    with (
        postgres.server(slow=0.02) as server,
        serving(tmp_path / "home", PAGEINDEX_POSTGRES_URL=server.url) as served,
        served.client() as client,
    ):
        client.post("/libraries", json={"name": "mills"})
        sent = [("file", (f"{n}.md", f"# Mill {n}\n\nMill {n} was sold in {1900 + n}.\n".encode())) for n in range(4)]
        jobs = [file["job"] for file in client.post("/libraries/mills/documents", files=sent).json()["files"]]
        asked = {"question": SOLD, "libraries": ["mills"], "effort": "fast"}
        assert client.post("/search", json=asked).status_code == 200, "a search waits for no write"
        assert {one["status"] for one in wait_for_jobs(client, jobs)} == {"done"}
        server.stop(signal.SIGQUIT)
        server.mend()  # else it would look after each file of its cluster for half a minute
        server.start()
        assert client.get("/libraries/mills/documents").json()["total"] == 4
        found = client.post("/search", json={**asked, "question": "When was mill 3 sold?"}).json()
        assert found["results"][0]["doc_name"] == "3.md"
