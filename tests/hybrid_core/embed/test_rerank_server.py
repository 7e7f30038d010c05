"""Reranking over real HTTP: the forms of the servers, their failures, and the time that a search allows."""

from __future__ import annotations

import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.embed.rerank_server import MAX_CHARACTERS, RerankServer
from hybrid_core.errors import EndpointError, UsageError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.models.embedders import reranker
from tests import pdfs
from tests.homes import settings_of
from tests.tiny_models import EmbeddingServer, Reply, embedding_server

pytest.importorskip("openai", reason="the extra openai is not installed")
KEY = "sk-very-secret-0123456789"
TEXTS = ["one", "a penguin", "penguins"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


def scored(texts: list[str]) -> list[tuple[int, float]]:
    """Positions and scores, the best first: shorter texts with "penguin" are better."""
    worth = [10 / len(text) if "penguin" in text.lower() else -3.5 for text in texts]
    return sorted(enumerate(worth), key=lambda pair: -pair[1])


def cohere(body: dict[str, Any]) -> Reply:
    """Cohere v2, Jina, vLLM and llama.cpp; Jina repeats each document."""
    rows = [{"index": i, "relevance_score": s, "document": {"text": ""}} for i, s in scored(body["documents"])]
    assert body.keys() == {"model", "query", "documents", "top_n"} and body["top_n"] == len(rows)
    return Reply(body={"id": "r", "results": rows, "meta": {}, "usage": {"total_tokens": 5}})


def voyage(body: dict[str, Any]) -> Reply:
    return Reply(body={"object": "list", "data": cohere(body).body["results"]})


def tei(body: dict[str, Any]) -> Reply:
    if "texts" not in body:
        return Reply(422, "Failed to deserialize the JSON body into the target type: missing field `texts`")
    assert body.keys() == {"query", "texts", "truncate"}
    return Reply(body=[{"index": i, "score": s} for i, s in scored(body["texts"])])


@pytest.mark.parametrize("form", [cohere, voyage, tei])
@pytest.mark.parametrize("address", ["{}", "{}/", " {}/rerank ", "{}/rerank?version=2"])
def test_each_form_gives_the_scores_in_the_order_of_the_texts(
    server: EmbeddingServer, form: Callable[[dict[str, Any]], Reply], address: str
) -> None:
    server.answer = form
    reranker = RerankServer("m", address.format(server.url), api_key=KEY, seconds=20)
    for _ in range(2):
        assert reranker.scores("penguin", TEXTS).tolist() == pytest.approx([-3.5, 10 / 9, 10 / 8])
    assert len(server.requests) == (3 if form is tei else 2), "the form is remembered"
    path = "/v1/rerank" + ("?version=2" if "?" in address else "")
    assert {(request.path, request.headers["Authorization"]) for request in server.requests} == {
        (path, f"Bearer {KEY}")
    }
    assert reranker.scores("penguin", []).shape == (0,)
    reranker.close()


@pytest.mark.parametrize(
    ("reply", "failure", "advice"),
    [
        (Reply(401, {"message": f"invalid api token {KEY}"}), "key", "rerank_api_key"),
        (Reply(404, {"detail": "Not Found"}), "model", "rerank_base_url"),
        (Reply(429, {"message": "trial limit"}, {"Retry-After": "20"}), "rate limit", "asks to wait 20 s"),
        (Reply(500, "worker died"), "overload", "worker died"),
        (Reply(400, {"message": "no"}), "request", "/rerank"),
        (Reply(200, "<html>Welcome</html>"), "reply", "/rerank"),
        (Reply(200, '{"results": [{"ind'), "reply", "no usable answer"),
        (Reply(200, {"results": []}), "reply", "each of the 3 texts"),
        (Reply(200, {"results": [{"index": 0, "relevance_score": 1.0}] * 3}), "reply", "each of the 3 texts"),
        (Reply(200, {"results": [{"index": i, "relevance_score": "high"} for i in range(3)]}), "reply", "3 texts"),
        (Reply(200, [{"index": i, "score": float("nan")} for i in range(3)]), "reply", "3 texts"),
        (Reply(200, {"results": [{"index": i, "relevance_score": 1.0} for i in (0, 1, 7)]}), "reply", "3 texts"),
        (Reply(200, {"error": {"message": "out of memory"}}), "reply", "3 texts"),
    ],
)
def test_failures_say_what_to_do_and_show_no_key(
    server: EmbeddingServer, reply: Reply, failure: str, advice: str
) -> None:
    server.answer = lambda body: reply
    reranker = RerankServer("m", server.url, api_key=KEY, seconds=20)
    with pytest.raises(EndpointError) as caught:
        reranker.scores("penguin", TEXTS)
    shown = "".join(traceback.format_exception(caught.value)) + repr(reranker)
    assert caught.value.failure == failure and advice in f"{caught.value.message} {caught.value.advice}"
    assert KEY not in shown and reranker.name in caught.value.message
    reranker.close()


def test_texts_that_are_too_long_are_halved(server: EmbeddingServer) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        if max(map(len, body["documents"])) > 2_000:
            return Reply(400, {"message": "This model's maximum context length is 512 tokens."})
        return cohere(body)

    server.answer = answer
    reranker = RerankServer("m", server.url, seconds=20)
    reranker.scores("penguin", ["x" * 50_000, "penguin"])
    assert [len(request.body["documents"][0]) for request in server.requests] == [MAX_CHARACTERS, 4_000, 2_000]
    assert server.requests[-1].body["documents"][1] == "penguin"
    reranker.close()


def test_a_search_continues_without_the_server_when_its_time_is_up(tmp_path: Path, server: EmbeddingServer) -> None:
    server.answer = cohere
    settings = settings_of(
        tmp_path / "home", rerank="server", rerank_base_url=server.url, rerank_model="m", rerank_seconds=20
    )
    engine = Engine(settings=settings)
    run(engine.index([pdfs.numbered(tmp_path / "lagoon.pdf", 3, "lagoon")]))
    reranked = run(engine.search("The word for this page"))
    assert [result.receipt.rerank for result in reranked.results] == [pytest.approx(0.15)] * len(reranked.results)
    engine.close()
    server.answer = lambda body: Reply(wait=60)
    engine = Engine(settings=settings_of(engine.home, rerank="server", rerank_base_url=server.url, rerank_seconds=0.3))
    for _ in range(3):
        start = time.monotonic()
        late = run(engine.search("The word for this page"))
        assert len(late.results) == len(reranked.results) and late.results[0].receipt.rerank is None
        assert any("were not reranked" in note and "rerank_seconds" in note for note in late.notes)
        assert time.monotonic() - start < 30
    assert len(server.requests) == 3, "after two late answers the server is not asked for a while"
    engine.close()


def test_a_server_that_sends_byte_by_byte_does_not_stretch_the_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
                for _ in range(100):
                    connection.sendall(b" ")
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        reranker = RerankServer("m", f"http://127.0.0.1:{listener.getsockname()[1]}", seconds=0.5)
        start = time.monotonic()
        with pytest.raises(EndpointError, match=r"did not answer within 0\.5 s") as caught:
            reranker.scores("penguin", TEXTS)
        assert time.monotonic() - start < 5 and caught.value.failure == "timeout"
        reranker.close()


def test_the_check_of_doctor(tmp_path: Path, server: EmbeddingServer) -> None:
    server.answer = cohere
    settings = settings_of(tmp_path, rerank="server", rerank_model="m", rerank_base_url=server.url, rerank_seconds=20)
    assert f"m@{server.url} scores two texts" in reranker(settings)
    server.answer = lambda body: Reply(body={"results": [{"index": i, "relevance_score": i} for i in range(2)]})
    with pytest.raises(Exception, match=r"does not prefer the right one of two texts.*Set rerank_model"):
        reranker(settings)
    with pytest.raises(UsageError, match=r"no server is configured.*Set rerank_base_url"):
        reranker(settings_of(tmp_path, rerank="server"))
    assert reranker(settings_of(tmp_path)) == ""
