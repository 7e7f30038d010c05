"""The client of OpenAI-like servers, against a real server on this machine."""

from __future__ import annotations

import logging
import socket
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import numpy as np
import pytest

from hybrid_core.embed.embedder import Kind
from hybrid_core.embed.hashed import HashedEmbedder
from hybrid_core.embed.openai_embeddings import MAX_CHARACTERS, OpenAIEmbedder
from hybrid_core.errors import EndpointError, ModelError, UsageError
from hybrid_core.llm.adapters.sdk import retry_after
from hybrid_core.llm.client.client import Retries
from hybrid_core.llm.client.limiter import Limiter
from tests.tiny_models import EmbeddingServer, Reply, embedding_server, embeddings

pytestmark = pytest.mark.slow

pytest.importorskip("openai", reason="the extra openai is not installed")

KEY = "sk-very-secret-0123456789"
QUICK = Retries(tries=3, first_wait=0.01, longest_wait=0.02)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as made:
        yield made


def client(server: EmbeddingServer, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("m", **{"api_key": KEY, "base_url": server.url, "retries": QUICK, "timeout": 10} | options)


def test_what_is_sent_and_what_comes_back(server: EmbeddingServer) -> None:
    embedder = client(server)
    texts = [f"revenue of year {n}" for n in range(300)]
    vectors = embedder.embed(texts, "document")
    np.testing.assert_allclose(vectors, HashedEmbedder(32).embed(texts, "document"), atol=1e-6)
    assert [len(request.body["input"]) for request in server.requests] == [128, 128, 44]
    first = server.requests[0]
    assert first.path == "/v1/embeddings" and first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.body["model"] == "m" and first.body["encoding_format"] == "float"
    assert embedder.id.dimension == 32 and len(server.requests) == 3, "the dimension was learnt on the way"
    assert embedder.id.name == f"openai:m@{server.url}"


def test_the_dimension_costs_one_request(server: EmbeddingServer) -> None:
    embedder = client(server, base_url=server.url + "/")
    assert server.requests == []
    assert embedder.id.dimension == 32 and embedder.id == embedder.id
    assert embedder.embed([], "query").shape == (0, 32)
    assert [request.body["input"] for request in server.requests] == [[" "]]
    assert embedder.id == client(server).id != OpenAIEmbedder("n", base_url=server.url).id


def test_long_texts_are_cut_and_large_requests_split(server: EmbeddingServer) -> None:
    client(server).embed([" " * 9000 + "é" * (MAX_CHARACTERS + 1)] * 60, "document")
    sent = [request.body["input"] for request in server.requests]
    assert [len(batch) for batch in sent] == [25, 25, 10]
    assert {text for batch in sent for text in batch} == {"é" * MAX_CHARACTERS}


def test_a_server_with_a_smaller_limit(server: EmbeddingServer) -> None:
    said = {"error": {"message": "This model's maximum context length is 300 tokens.", "code": None}}

    def answer(body: dict[str, Any]) -> Reply:
        long = any(len(text) > 1200 for text in body["input"])
        return Reply(400, said) if long else Reply(body=embeddings(body["input"]))

    server.answer = answer
    long = "".join(f"word{n} " for n in range(800))
    embedder = client(server)
    vectors = embedder.embed(["short", long, "other", long[:100]], "document")
    cut = long.strip()
    while len(cut) > 1200:
        cut = cut[: len(cut) // 2]
    np.testing.assert_allclose(vectors, embedder.embed(["short", cut, "other", long[:100]], "document"), atol=1e-6)
    server.answer = lambda body: Reply(413, "too large")
    with pytest.raises(ModelError, match=r"refused \(.*413.*longer context") as caught:
        embedder.embed([long], "query")
    assert not caught.value.retryable


def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(server: EmbeddingServer) -> None:
    server.replies = [Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.4"}), Reply(503, "busy")]
    start = time.monotonic()
    assert client(server).embed(["a"], "document").shape == (1, 32)
    assert len(server.requests) == 3 and 0.4 <= time.monotonic() - start < 60


def test_a_server_that_asks_for_too_long_a_wait(server: EmbeddingServer) -> None:
    server.replies = [Reply(429, {"error": {"message": "tomorrow"}}, {"Retry-After": "86400"})]
    with pytest.raises(ModelError, match=r"tomorrow.*asks to wait 86400 s") as caught:
        client(server).embed(["a"], "query")
    assert caught.value.retryable and len(server.requests) == 1


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [("7", 7, 7), ("1.5", 1.5, 1.5), ("", 0, 0), ("soon", 0, 0), ("-3", 0, 0), ("nan", 0, 0), ("DATE", 10, 30)],
)
def test_retry_after(said: str, least: float, most: float) -> None:
    header = formatdate(time.time() + 29, usegmt=True) if said == "DATE" else said
    assert least <= retry_after({"retry-after": header}) <= most


@pytest.mark.parametrize(("kind", "tries"), [("document", 3), ("query", 2)])
@pytest.mark.parametrize(
    ("status", "failure"),
    [(500, "overload"), (502, "overload"), (503, "overload"), (529, "overload"), (408, "overload"), (409, "overload"),
     (429, "rate limit")],
)  # fmt: skip
def test_trying_again_ends(server: EmbeddingServer, status: int, failure: str, kind: Kind, tries: int) -> None:
    server.answer = lambda body: Reply(status, {"error": {"message": "the model is overloaded"}})
    with pytest.raises(EndpointError, match=rf"overloaded.*tried {tries} times") as caught:
        client(server).embed(["a"], kind)
    assert (caught.value.failure, caught.value.retryable) == (failure, True)
    assert len(server.requests) == tries


@pytest.mark.parametrize("status", [429, 500])
def test_a_question_learns_soon_that_the_server_fails_and_the_next_at_once(
    server: EmbeddingServer, status: int
) -> None:
    server.answer = lambda body: Reply(status, {"error": {"message": "busy"}})
    embedder = client(server, retries=Retries())
    start = time.monotonic()
    with pytest.raises(EndpointError, match=r"busy.*tried 2 times"):
        embedder.embed(["a"], "query")
    with pytest.raises(EndpointError, match=r"busy.*The next call is made"):
        embedder.embed(["b"], "query")
    assert len(server.requests) == 2 and time.monotonic() - start < 60


def test_a_question_does_not_wait_as_long_as_the_server_asks_and_documents_do(server: EmbeddingServer) -> None:
    server.replies = [Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "9"})]
    embedder = client(server)
    with pytest.raises(EndpointError, match=r"slow down.*asks to wait 9 s") as caught:
        embedder.embed(["a"], "query")
    assert (caught.value.failure, caught.value.wait, len(server.requests)) == ("rate limit", 9, 1)
    with pytest.raises(EndpointError, match=r"slow down.*The next call is made in \d s") as refused:
        embedder.embed(["a"], "query")
    assert 0 < refused.value.wait <= 9 and len(server.requests) == 1, "it rests as long as the server asked"
    server.replies = [Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "1.4"})]
    start = time.monotonic()
    assert embedder.embed(["a"], "document").shape == (1, 32) and time.monotonic() - start >= 1.4
    assert embedder.embed(["a"], "query").shape == (1, 32)


def test_the_dimension_is_asked_for_patiently(server: EmbeddingServer) -> None:
    server.replies = [Reply(503, "loading"), Reply(503, "loading")]
    assert client(server).id.dimension == 32 and len(server.requests) == 3


def test_one_limiter_for_all_threads(server: EmbeddingServer) -> None:
    under_way, most, lock, together = 0, 0, threading.Lock(), threading.Barrier(2)

    def answer(body: dict[str, Any]) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait(600)
        with lock:
            under_way -= 1
        return Reply(body=embeddings(body["input"]))

    server.answer = answer
    limiter = Limiter(2)
    embedders = [client(server, limiter=limiter) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: embedders[n % 2].embed([f"text {n}"], "query"), range(12)))
    assert most == 2 and len(server.requests) == 12


@pytest.mark.parametrize(
    ("status", "error", "advice"),
    [
        (401, {"message": f"Incorrect API key provided: {KEY}"}, "Check the API key"),
        (403, {"message": "not yours"}, "Check the API key"),
        (404, {"message": "The model m does not exist"}, "Check the model's name and the base URL"),
        (400, {"message": "bad input"}, "offers embeddings"),
        (422, {"message": "bad input"}, "offers embeddings"),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}, "billing"),
    ],
)
def test_what_cannot_help_is_not_tried_again(
    server: EmbeddingServer, status: int, error: dict[str, str], advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda body: Reply(status, {"error": error})
    caplog.set_level(logging.DEBUG)
    embedder = client(server)
    with pytest.raises(ModelError, match=str(status)) as caught:
        embedder.embed(["a"], "query")
    assert not caught.value.retryable and len(server.requests) == 1
    assert advice in caught.value.advice
    everything = [
        *traceback.format_exception(caught.value),
        repr(caught.value),
        repr(embedder),
        repr(embedder.__dict__["_client"]),
    ]
    assert KEY not in "".join(everything) + caplog.text


def test_secrets_in_the_url_are_not_shown(server: EmbeddingServer) -> None:
    server.answer = lambda body: Reply(401, {"error": {"message": "no access with pass-word and to-ken"}})
    url = server.url.replace("//", "//user:pass-word@") + "?key=to-ken"
    embedder = OpenAIEmbedder("m", base_url=url, retries=QUICK)
    assert repr(embedder) == f"OpenAIEmbedder('openai:m@{server.url}')"
    with pytest.raises(ModelError) as caught:
        embedder.embed(["a"], "query")
    assert "pass-word" not in "".join(traceback.format_exception(caught.value))


def _vectors(*rows: Any, index: list[Any] | None = None) -> dict[str, Any]:
    places = list(range(len(rows))) if index is None else index
    return {
        "data": [{"embedding": row} | ({} if i is None else {"index": i}) for i, row in zip(places, rows, strict=True)]
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (_vectors([1, 2]), "it contains 1 vectors, but 2 texts were sent"),
        (_vectors([1, 2], [1, 2], [3, 4]), "it contains 3 vectors, but 2 texts were sent"),
        (_vectors([1, 2], [1, float("nan")]), "the vector of text 2 of 2 holds NaN"),
        (_vectors([1, 2], [1, None]), "the vector of text 2 of 2 holds NaN"),
        (_vectors([1, 2], [0, 0]), "the vector of text 2 of 2 is zero"),
        (_vectors([1, 2], [1, 2, 3]), r"text 2 of 2 has the shape \(3,\) instead of \(2,\)"),
        (_vectors([1, 2], "AAAA"), "text 2 of 2 is not a list of numbers"),
        (_vectors([1, 2], None), "text 2 of 2"),
        (_vectors([1, 2], [3, 4], index=[0, 7]), "its 2 vectors have the numbers 0, 7, so their order is unknown"),
        ({"data": []}, "it contains 0 vectors, but 2 texts were sent"),
        ({"data": None}, "it contains no embeddings"),
        ({"data": [1, 2]}, "it contains no embeddings"),
        ({"models": []}, "it contains no embeddings"),
        ([], "no usable answer|it contains no embeddings"),
        ("{'not': json", "no usable answer"),
        ("", "no usable answer"),
    ],
)
def test_unusable_answers(server: EmbeddingServer, body: Any, said: str) -> None:
    server.answer = lambda request: Reply(body=body)
    with pytest.raises(ModelError, match=said) as caught:
        client(server).embed(["aa", "b"], "query")
    assert not caught.value.retryable and caught.value.advice and len(server.requests) == 1


def test_a_page_instead_of_json(server: EmbeddingServer) -> None:
    server.answer = lambda body: Reply(200, "<html>Welcome</html>", {"Content-Type": "text/html"})
    with pytest.raises(ModelError, match=r"base URL.*ends in /v1"):
        client(server).embed(["a"], "query")


@pytest.mark.parametrize("index", [[None, None], [0, 0]])
def test_servers_that_number_nothing_keep_the_order(server: EmbeddingServer, index: list[Any]) -> None:
    server.answer = lambda body: Reply(body=_vectors([1, 0], [0, 1], index=index))
    assert client(server).embed(["aa", "b"], "query").tolist() == [[1, 0], [0, 1]]


def test_a_dimension_that_changes(server: EmbeddingServer) -> None:
    embedder = client(server)
    embedder.embed(["a"], "query")
    server.answer = lambda body: Reply(body=embeddings(body["input"], 16))
    with pytest.raises(ModelError, match=r"shape \(16,\) instead of \(32,\)"):
        embedder.embed(["a"], "query")


def test_a_server_that_hangs(server: EmbeddingServer) -> None:
    server.answer = lambda body: Reply(body=embeddings(body["input"]), wait=60)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"did not answer within 0\.3 s.*tried 2 times") as caught:
        client(server, timeout=0.3, retries=Retries(tries=2, first_wait=0.01)).embed(["a"], "query")
    assert caught.value.retryable and 0.6 <= time.monotonic() - start < 60


def test_nobody_listens_and_the_next_question_does_not_wait_for_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        embedder = OpenAIEmbedder("m", base_url=url, retries=QUICK, timeout=5)
        for said in ("tried 2 times", "The next call is made in 30 s"):
            with pytest.raises(ModelError, match=rf"cannot be reached.*{said}") as caught:
                embedder.embed(["a"], "query")
            assert caught.value.retryable
        with pytest.raises(ModelError, match=r"cannot be reached.*tried 3 times"):
            embedder.embed(["a"], "document")
        with pytest.raises(ModelError, match=r"cannot be reached.*tried 3 times"):
            _ = embedder.id


def test_documents_that_are_embedded_tell_that_questions_can_be_again(server: EmbeddingServer) -> None:
    embedder = client(server)
    server.answer = lambda body: Reply(503, {"error": {"message": "loading"}})
    with pytest.raises(ModelError, match=r"loading.*tried 2 times"):
        embedder.embed(["a"], "query")
    server.answer = lambda body: Reply(body=embeddings(body["input"]))
    with pytest.raises(ModelError, match=r"loading.*The next call is made"):
        embedder.embed(["a"], "query")
    assert len(server.requests) == 2
    embedder.embed(["b"], "document")
    assert embedder.embed(["a"], "query").shape == (1, 32)


def test_closing_ends_a_wait(server: EmbeddingServer) -> None:
    server.answer = lambda body: Reply(429, {}, {"Retry-After": "60"})
    embedder = client(server)
    caught: list[BaseException] = []

    def embed() -> None:
        try:
            embedder.embed(["a"], "document")
        except UsageError as error:
            caught.append(error)

    thread = threading.Thread(target=embed)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    time.sleep(0.1)
    embedder.close()
    thread.join(600)
    assert not thread.is_alive() and "is closed" in str(caught[0])


def test_the_environment_is_not_read(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with pytest.raises(UsageError, match="need an API key"):
        OpenAIEmbedder("m")
    client(server, api_key=None).embed(["a"], "query")
    assert "environment" not in str(server.requests[0].headers)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "http://", "http://[::1", "http://h:99999/v1", "/v1"])
def test_base_urls_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match=r"is not a URL.*https://api.openai.com/v1"):
        OpenAIEmbedder("m", base_url=url)


def test_a_timeout_of_nothing(server: EmbeddingServer) -> None:
    with pytest.raises(UsageError, match="The timeout of requests to the model is 0"):
        client(server, timeout=0)
