"""Vector indexes on a Qdrant server, and moving them there and back, as a user does it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import IndexDamagedError, NotFoundError, UnreachableError, UsageError
from hybrid_core.store.index.catalog_source import CatalogSource
from hybrid_core.store.index.edge.folders import read_state
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli.main import main
from hybrid_pageindex.config.settings import Settings, load_settings
from hybrid_pageindex.engine.search.handles import index_folder
from tests import pdfs, qdrant_stub
from tests.conftest import Cli
from tests.qdrant_stub import Stub

pytestmark = pytest.mark.slow

KEY = "a-secret-key"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with qdrant_stub.running(api_key=KEY) as stub:
        yield stub


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two small libraries, one of them with vectors."""
    home = tmp_path / "home"
    with_words = pdfs.numbered(tmp_path / "a.pdf", 5, "shoals")
    engine = Engine(home)
    run(engine.index([with_words, pdfs.numbered(tmp_path / "b.pdf", 3, "fjords")]))
    run(engine.models.embed("hashed:32"))
    run(engine.index(with_words, library="other one"))
    engine.close()
    return home


def on_server(home: Path, stub: Stub) -> Engine:
    return Engine(settings=Settings(storage_path=home, qdrant_url=stub.url, qdrant_api_key=KEY))


def answers(engine: Engine) -> list[tuple[str, int, float]]:
    """What a few questions find, with scores."""
    return [
        (found.doc_name, found.page, round(found.score, 4))
        for question in ("harbour", pdfs.landmark("shoals", 2), pdfs.landmark("fjords", 3))
        for found in run(engine.search(question, effort="fast", top_k=8)).results
    ]


def test_to_the_server_and_back(home: Path, stub: Stub) -> None:
    with_edge = Engine(home)
    before, folder = answers(with_edge), index_folder(home, "default")
    with_edge.close()
    assert before and folder.exists()

    engine = on_server(home, stub)
    first, second = run(engine.admin.migrate("server"))
    assert (first.library, second.library) == ("default", "other one")
    assert first.vectors == first.expected > second.vectors == second.expected == 5  # pages; here also vectors
    assert first.dropped and not folder.exists() and second.dropped  # index had made both
    assert answers(engine) == before
    assert run(engine.admin.doctor()).ok
    names = [check.detail for check in run(engine.admin.doctor()).checks if check.name == "vector index"]
    assert names[0].startswith(f"Qdrant server 1.20.0 at {stub.url} (qdrant-client 1.")
    assert not folder.exists()

    (back,) = run(engine.admin.migrate("embedded", library="default"))
    assert back.vectors == back.expected == first.expected and back.dropped and folder.exists()
    assert "unset" in back.notes[0]
    assert run(engine.admin.migrate("embedded", library="other one"))[0].dropped
    engine.close()
    calls = len(stub.calls)
    assert sum(call.startswith("DELETE") for call in stub.calls) == 2
    with_edge = Engine(home)
    assert answers(with_edge) == before
    with_edge.close()
    assert len(stub.calls) == calls


def test_the_command(cli: Cli, home: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = cli("migrate", "--to", "server")
    assert refused.returncode == 2 and "PAGEINDEX_QDRANT_URL" in refused.stderr
    monkeypatch.setenv("PAGEINDEX_QDRANT_URL", stub.url)
    refused = cli("migrate", "--to", "server")
    assert refused.returncode == 1 and "refused the key" in refused.stderr and "Traceback" not in refused.stderr
    monkeypatch.setenv("PAGEINDEX_QDRANT_API_KEY", KEY)
    done = cli("migrate", "--to", "server", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = json.loads(done.stdout)["migrated"]
    assert {"library": "default", "to": "server", "dropped": True}.items() <= first.items()
    assert first["vectors"] == first["expected"] and second["library"] == "other one"
    found = json.loads(cli("search", pdfs.landmark("shoals", 2), "--top-k", 1, "--json").stdout)["results"]
    assert (found[0]["doc_name"], found[0]["page"]) == ("a.pdf", 2)
    back = cli("migrate", "--to", "embedded", "--library", "default")
    assert back.returncode == 0 and "default  embedded" in back.stdout and "unset the variable" in back.stdout
    assert cli("migrate", "--to", "cloud").returncode == 2


def test_nothing_is_deleted_where_the_server_is_away_or_counts_differently(
    home: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_edge = Engine(home)
    before = answers(with_edge)
    with_edge.close()
    engine = on_server(home, stub)
    stub.refuse = lambda method, path, body: (503, "full") if path.endswith("/points") and b'"page"' in body else None
    with pytest.raises(UnreachableError, match="503 full"):
        run(engine.admin.migrate("server", library="default"))
    stub.refuse = lambda *_: None
    real = CatalogSource.expected_vectors
    monkeypatch.setattr(CatalogSource, "expected_vectors", lambda source: real(source) + 1)
    with pytest.raises(IndexDamagedError, match="the catalog"):
        run(engine.admin.migrate("server", library="default"))
    monkeypatch.undo()
    engine.close()
    assert index_folder(home, "default").exists()
    with_edge = Engine(home)
    assert answers(with_edge) == before
    with_edge.close()


def test_an_embedded_index_that_is_in_use_is_left(home: Path, stub: Stub) -> None:
    busy = Engine(home)
    before = answers(busy)
    engine = on_server(home, stub)
    (moved,) = run(engine.admin.migrate("server", library="default"))
    assert not moved.dropped and "another process" in moved.notes[0]
    assert answers(busy) == answers(engine) == before
    busy.close()
    (moved,) = run(engine.admin.migrate("server", library="default"))
    assert moved.dropped and moved.notes == ()
    engine.close()


def test_what_cannot_be_moved(tmp_path: Path, home: Path, stub: Stub) -> None:
    engine = Engine(home)
    with pytest.raises(UsageError, match="No Qdrant server is configured"):
        run(engine.admin.migrate("server"))
    with pytest.raises(NotFoundError, match="The library 'nowhere' does not exist"):
        run(engine.admin.migrate("embedded", library="nowhere"))
    (moved,) = run(engine.admin.migrate("embedded", library="default"))  # already there: nothing happens
    assert not moved.dropped and moved.notes == ()
    engine.close()
    empty = on_server(tmp_path / "empty", stub)
    assert run(empty.admin.migrate("server")) == []
    empty.close()


def test_several_engines_share_the_servers_index(home: Path, stub: Stub, tmp_path: Path) -> None:
    one, two = on_server(home, stub), on_server(home, stub)
    before = read_state(index_folder(home, "default") / "state.json")  # of the embedded index, which is not used
    assert answers(one) == answers(two)
    path = pdfs.numbered(tmp_path / "a.pdf", 2, "estuaries")  # a new version of a.pdf
    run(one.index(path))
    word = pdfs.landmark("estuaries", 2)
    for engine in (two, one):
        (found, *_) = run(engine.search(word, effort="fast")).results
        assert (found.doc_name, found.page) == ("a.pdf", 2)
        assert run(engine.search(pdfs.landmark("shoals", 5), effort="fast", top_k=1)).evidence.level != "strong"
    run(two.documents.remove(["a.pdf"]))
    assert {found.doc_name for found in run(one.search(word, effort="fast")).results} <= {"b.pdf"}
    assert read_state(index_folder(home, "default") / "state.json") == before
    one.close()
    two.close()


def test_clear_deletes_the_collections_or_nothing(home: Path, stub: Stub) -> None:
    engine = on_server(home, stub)
    answers(engine)
    run(engine.admin.migrate("server", library="other one"))
    stub.refuse = lambda *_: (503, "away")
    with pytest.raises(UnreachableError):
        run(engine.libraries.clear(library="default", for_good=True))
    stub.refuse = lambda *_: None
    assert {size.name for size in run(engine.libraries.list())} == {"default", "other one"}
    run(engine.libraries.clear(library="default", for_good=True))
    assert sum(call.startswith("DELETE") for call in stub.calls) == 1
    run(engine.libraries.clear())
    assert sum(call.startswith("DELETE") for call in stub.calls) == 2
    engine.close()


def test_doctor_says_what_is_wrong_with_the_server(
    home: Path, stub: Stub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGEINDEX_QDRANT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PAGEINDEX_QDRANT_API_KEY", KEY)
    assert main(["--home", str(home), "doctor", "--json"]) == 1
    shown = capsys.readouterr()
    checks: dict[str, Any] = {check["name"]: check for check in json.loads(shown.out)["checks"]}
    assert not checks["vector index"]["ok"] and "http://127.0.0.1:9" in checks["vector index"]["detail"]
    assert checks["catalog"]["ok"] and KEY not in shown.out + shown.err


def test_settings_keep_the_key_to_themselves(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {"PAGEINDEX_QDRANT_URL": "http://host", "PAGEINDEX_QDRANT_API_KEY": KEY})
    assert settings.qdrant_api_key == KEY and KEY not in repr(settings)
    with pytest.raises(UsageError, match="qdrant_prefix is 'a/b'"):
        load_settings(tmp_path, {"PAGEINDEX_QDRANT_PREFIX": "a/b"})
