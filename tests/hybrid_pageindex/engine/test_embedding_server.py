"""Searches whose vectors come from a server: what each costs it, and what they cost where it fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, Settings, run
from hybrid_pageindex.engine.models.embedders import Embedders
from tests import pdfs
from tests.homes import settings_of
from tests.tiny_models import EmbeddingServer, Reply, embedding_server, embeddings

pytest.importorskip("openai", reason="the extra openai is not installed")
QUESTION = "The word for this page"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as made:
        yield made


@pytest.fixture
def embedded(tmp_path: Path, server: EmbeddingServer) -> Iterator[Settings]:
    """Of a home with one document, embedded by the server; every search loads its embedder anew."""
    settings = settings_of(tmp_path / "home", embedding_base_url=server.url)
    engine = Engine(settings=settings)
    run(engine.index([pdfs.numbered(tmp_path / "lagoon.pdf", 3, "lagoon")]))
    run(engine.models.embed("openai:m"))
    engine.close()
    server.requests.clear()
    yield settings


def test_a_search_is_one_request(embedded: Settings, server: EmbeddingServer) -> None:
    engine = Engine(settings=embedded)
    for asked in (1, 2):
        found = run(engine.search(f"{QUESTION} {asked}"))
        assert found.results[0].receipt.dense is not None and len(server.requests) == asked
    engine.close()


def test_another_dimension_is_another_model(embedded: Settings, server: EmbeddingServer) -> None:
    server.answer = lambda body: Reply(body=embeddings(body["input"], 16))
    engine = Engine(settings=embedded)
    found = run(engine.search(QUESTION))
    assert found.results and found.results[0].receipt.dense is None
    assert any("The vectors of the library were computed by another version" in note for note in found.notes)
    engine.close()


@pytest.mark.parametrize(
    ("reply", "said", "asked"),
    [
        (Reply(500, {"error": {"message": "out of order"}}), "out of order). It was tried 2 times", 2),
        (Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "20"}),
         "slow down). The server asks to wait 20 s", 1),
    ],
)  # fmt: skip
def test_a_server_that_fails_costs_the_first_search_a_second_and_the_next_nothing(
    embedded: Settings, server: EmbeddingServer, reply: Reply, said: str, asked: int
) -> None:
    engine = Engine(settings=embedded)
    run(engine.search(QUESTION))  # a first call takes longer
    server.requests.clear()
    server.answer = lambda body: reply
    for refused in (False, True):
        found = run(engine.search(QUESTION))
        assert found.results and found.results[0].receipt.dense is None and len(server.requests) == asked
        note = next(note for note in found.notes if "pages are ranked by their words only" in note)
        assert said in note and ("The next call is made" in note) == refused
    engine.close()


def test_a_key_goes_only_to_the_server_that_the_settings_name(tmp_path: Path, server: EmbeddingServer) -> None:
    """The vectors of a library stay those of its server when the settings name another one."""
    embedders = Embedders(Settings(embedding_base_url=f"{server.url}/embeddings?v=1", embedding_api_key="sk-of-this"))
    for spec in ("openai:m", f"openai:m@{server.url}"):
        embedders.load(spec).embed(["words"], "document")
    assert {(request.path, request.headers["Authorization"]) for request in server.requests} == {
        ("/v1/embeddings?v=1", "Bearer sk-of-this")
    }
    embedders.use(Settings(embedding_base_url="http://127.0.0.1:9/v1", embedding_api_key="sk-of-another"))
    server.requests.clear()
    embedders.load(f"openai:m@{server.url}").embed(["words"], "document")
    assert [request.headers["Authorization"] for request in server.requests] == ["Bearer none"]
    embedders.close()
