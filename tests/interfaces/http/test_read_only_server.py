"""A server over a home that cannot be written answers what reads, and refuses what writes in words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hybrid_core.errors import ReadOnlyError
from hybrid_core.store.access import TokenStore
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CATALOG
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.types.jobs import JobRequest
from hybrid_pageindex import Engine, run
from hybrid_pageindex.client import Client
from tests.interfaces.http.conftest import MILL, SOLD, START, Serving, serving
from tests.mounts import contents, full_disk, read_only

pytestmark = pytest.mark.usefixtures("in_a_file")


@pytest.fixture(scope="module")
def tokened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, str]]:
    """A server over a home with a document, a token and a job that waits; nothing in it changes."""
    folder = tmp_path_factory.mktemp("read-only")
    (folder / "mill.md").write_text(MILL)
    with closing(Engine(folder / "home")) as engine:
        run(engine.index([folder / "mill.md"], workers=1))
        secret = engine.tokens.create("reader").secret
    with closing(Catalog(folder / "home" / CATALOG)) as catalog:
        JobQueue(catalog).enqueue([JobRequest("default", "index", str(folder / "none.md"), "parse")])
    had = contents(folder / "home")
    with serving(folder / "home", before=read_only(folder / "home")) as served:
        yield served, secret
    assert contents(folder / "home") == had
    assert len(served.said) == 1 and "open for reading only (read-only file system)" in served.said[0], served.said


def test_it_answers_what_reads(tokened: tuple[Serving, str]) -> None:
    served, secret = tokened
    for client in (served.client(), served.client(secret)):
        with client:
            result = client.post("/search", json={"question": SOLD}).raise_for_status().json()
            assert "1987" in result["results"][0]["snippet"]
            assert any("cannot be written" in note for note in result["notes"])
            answer = client.post("/ask", json={"question": SOLD}).raise_for_status().json()
            assert "1987" in str(answer["sources"])
            listed = client.get("/libraries/default/documents").raise_for_status()
            assert "mill.md" in listed.text
            assert client.get("/ready").json() == {"ready": True}


WRITES = [
    ("POST", "/libraries", {"json": {"name": "new"}}),
    ("POST", "/libraries/default/documents", {"files": [("file", ("new.md", b"# New"))]}),
    ("DELETE", "/libraries/default", {}),
    ("POST", "/conversations", {"json": {"libraries": ["default"]}}),
    ("POST", "/libraries", {"json": {"name": "new"}, "headers": {"Idempotency-Key": "k"}}),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_it_refuses_what_writes(tokened: tuple[Serving, str], method: str, path: str, body: dict[str, object]) -> None:
    with tokened[0].client() as client:
        answer = client.request(method, path, **body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, "read_only"), answer.text
    assert "cannot be written" in error["message"] and error["advice"]


def test_the_client_in_python_raises_what_the_engine_does(tokened: tuple[Serving, str]) -> None:
    async def create() -> None:
        async with Client(tokened[0].url, START) as client:
            await client.libraries.create("new")

    with pytest.raises(ReadOnlyError, match="cannot be written"):
        run(create())


def test_a_browser_signs_in_for_as_long_as_the_server_runs(tokened: tuple[Serving, str]) -> None:
    served, secret = tokened
    where = urlsplit(served.url)
    with served.bare(Origin=f"http://{where.netloc}") as browser:
        browser.post("/session", json={"token": secret}).raise_for_status()
        assert browser.get("/session").json()["name"] == "reader"
        assert browser.post("/search", json={"question": SOLD}).status_code == 200
        browser.delete("/session").raise_for_status()
        assert browser.get("/session").status_code == 401


def test_it_answers_on_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL)
    with closing(Engine(tmp_path / "home")) as engine:
        run(engine.index([tmp_path / "mill.md"], workers=1))
    disk = tmp_path / "disk"
    with serving(disk / "home", before=full_disk(tmp_path / "home", disk)) as served, served.client() as client:
        result = client.post("/search", json={"question": SOLD}).raise_for_status().json()
        assert "1987" in result["results"][0]["snippet"] and any("disk is full" in note for note in result["notes"])
        refused = client.post("/libraries", json={"name": "new"})
        assert refused.status_code == 503 and "Free some space" in refused.json()["error"]["advice"]
        assert client.get("/ready").json()["missing"] == {"disk": "The disk is full."}
    opened, unrecorded = served.said
    assert "disk is full" in opened and ": create_library by owner at /libraries" in unrecorded, "the log has it"


def test_a_token_works_though_its_use_cannot_be_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Catalog(tmp_path / CATALOG)) as catalog:
        store = TokenStore(catalog)
        token, _ = store.create("reader", {})
        monkeypatch.setattr("hybrid_core.store.access.now_ms", lambda: time.time_ns() // 1_000_000 + 10**7)

        def refused() -> None:
            raise ReadOnlyError("It cannot be written.")

        monkeypatch.setattr(catalog, "writing", refused)
        store.used(token)
