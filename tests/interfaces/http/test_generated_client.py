"""A client that is generated from the description reads what the server answers."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_pageindex.http.api import FILE
from tests.interfaces.http.conftest import MILL, START, Serving, serving, upload

pytest.importorskip("openapi_python_client", reason="openapi-python-client is not installed")
PACKAGE = "hybrid_page_index_client"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Every operation is in it; of the answers only files of a type that the generator does not know are not read."""
    folder = tmp_path_factory.mktemp("generated") / "client"
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(FILE), "--output-path", folder]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    said = made.stdout + made.stderr
    warnings = [line for line in said.splitlines() if line.startswith(("Cannot parse", "Unable"))]
    assert all("Unsupported content_type" in line for line in warnings), said
    assert "Endpoint" not in said and "will not be generated" not in said
    sys.path.insert(0, str(folder))
    yield PACKAGE
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def mills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("generated-served")) as made:
        with made.client() as client:
            client.post("/libraries", json={"name": "mills"})
            upload(client, "mills", mill=MILL)
        yield made


def test_operations_of_a_generated_client_are_answered_and_read(generated: str, mills: Serving) -> None:
    package = importlib.import_module(generated)
    models = importlib.import_module(f"{generated}.models")

    def call(tag: str, name: str, **arguments: Any) -> Any:
        """What was answered, read as the type that is described."""
        module = importlib.import_module(f"{generated}.api.{tag}.{name}")
        answered = module.sync_detailed(client=client, **arguments)
        assert answered.status_code < 300, (name, answered.content)
        return answered.parsed

    with package.AuthenticatedClient(base_url=mills.url, token=START) as client:
        assert call("operations", "health").status == "ok" and call("operations", "ready").ready
        made = call("libraries", "create_library", body=models.NewLibrary(name="made", alias="Made here"))
        assert made.name == "made"
        assert {one.name for one in call("libraries", "list_libraries")} == {"mills", "made"}
        part = call("documents", "list_documents", library="mills", limit=10)
        [document] = part.documents
        assert part.total == 1 and document.name == "mill.md" and document.published
        named = {"library": "mills", "document": document.doc_id}
        assert call("documents", "show_document", **named).sha256 == document.sha256
        assert call("documents", "list_versions", **named)[0].current
        assert "1987" in call("pages", "read_pages", pages="1", **named)[0].text
        assert call("pages", "find_words", q="mill", **named).matches
        assert call("pages", "layout", number=1, **named).words
        found = call(
            "search", "search", body=models.SearchBody(question="When was the mill sold?", libraries=["mills"])
        )
        assert found.results[0].doc_name == "mill.md" and found.evidence.level
        assert call("search", "ask", body=models.AskBody(question="mill sold", libraries=["mills"])).status
        counted = call("search", "grep", body=models.GrepBody(pattern="mill", libraries=["mills"]))
        assert counted.total_documents == 1
        [job] = call("jobs", "list_jobs", library="mills").jobs
        assert job.status == "done" and call("jobs", "show_job", job=job.id).events
        note = call("notes", "add_note", library="mills", body=models.NewNote(text="A note."))
        assert [one.id for one in call("notes", "list_notes", library="mills")] == [note.id]
        talk = call("conversations", "begin_conversation", body=models.NewConversation(libraries=["mills"]))
        assert call("conversations", "list_conversations").conversations[0].id == talk.id
        assert call("sources", "list_sources", library="mills") == []
        assert call("tokens", "list_tokens") == [] and call("settings", "show_settings")
        assert call("openai", "list_models").data[0].object_ == "model"
        picture = importlib.import_module(f"{generated}.api.pages.picture").sync_detailed(
            client=client, number=1, **named
        )
        assert picture.content.startswith(b"\x89PNG")
        missing = importlib.import_module(f"{generated}.api.libraries.show_library")
        refused = missing.sync_detailed(client=client, library="nothing")
        assert refused.status_code == 404 and b"application/problem+json" in refused.headers["content-type"].encode()
