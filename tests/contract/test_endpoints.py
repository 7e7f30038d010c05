"""What every endpoint owes the client: adapters over HTTP, recordings, the scripted model, the fake of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from eval.runs.scripted import ScriptedEndpoint
from hybrid_core.errors import ChatError
from hybrid_core.llm.adapters.anthropic_chat import AnthropicChat
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.chat import Completion, Endpoint, Message, Request, ToolCall, Tools
from hybrid_core.llm.offline import Player, Recorder
from tests.doubles.replies import FakeEndpoint, FakeReply
from tests.doubles.scripted_server import scripted_server

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

WORDS = "Net sales were 418.2 million."
SCHEMA = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
KINDS = ("openai", "anthropic", "recorded", "harness", "tests")


def asked(text: str, schema: dict[str, object] | None = None) -> Request:
    return Request((Message("system", "Be brief."), Message("user", text)), 50, schema, "Found" if schema else "")


CALLS = (ToolCall("c1", "weather", '{"city": "Oslo", "days": 2}'), ToolCall("c2", "weather", '{"city": "Rome"}'))
WEATHER = {"name": "weather", "description": "The weather.", "parameters": {"type": "object", "properties": {}}}
CALLING = Request((Message("user", "Weather?"),), 50, tools=Tools((WEATHER,), "required"))
CALLED = Request(
    (
        Message("user", "Weather?"),
        Message("assistant", "", calls=CALLS),
        Message("tool", "Snow", call="c1"),
        Message("tool", "Sun", call="c2"),
    ),
    50,
    tools=Tools((WEATHER,)),
)
REQUESTS = [
    asked("Sales?"),
    asked("Page?", SCHEMA),
    asked("Long?"),
    *(asked(f"Number {n}?") for n in range(8)),
    CALLING,
    CALLED,
]


def rule(request: Request) -> FakeReply:
    text = request.messages[-1].text
    if text == "Long?":
        return FakeReply("Net sal", finish="length")
    if request.tools is not None:
        results = [(m.call, m.text) for m in request.messages if m.role == "tool"]
        if not results:
            assert request.tools.choice == "required" and request.tools.functions[0]["name"] == "weather"
            return FakeReply(calls=CALLS)
        assert [m.calls for m in request.messages if m.calls] == [CALLS]
        return FakeReply(f"{results}")
    if text == "Never?":
        return FakeReply(refusal="no")
    return FakeReply('{"page": 3}') if request.schema else FakeReply(f"{WORDS} {text}")


def completed(request: Request) -> Completion:
    made = rule(request)
    if made.refusal:
        raise ChatError("declined", failure="refusal")
    return Completion(made.text, made.finish != "length", 7, 3, made.calls)


@contextmanager
def made(kind: str, folder: Path) -> Iterator[Endpoint]:
    if kind == "harness":
        yield ScriptedEndpoint(completed)
        return
    if kind == "tests":
        yield FakeEndpoint(rule)
        return
    with scripted_server(rule) as server:
        if kind == "anthropic":
            yield AnthropicChat("m", api_key="k", base_url=server.url.removesuffix("/v1"))
            return
        connected: Endpoint = OpenAIChat("m", api_key="k", base_url=server.url)
        if kind == "recorded":
            recorder = Recorder(connected, folder / "tape.jsonl")
            for request in REQUESTS:
                recorder.complete(request, 10)
            recorder.close()
            connected = Player(folder / "tape.jsonl")
        yield connected


@pytest.fixture(params=KINDS)
def endpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Endpoint]:
    with made(request.param, tmp_path) as one:
        yield one
        one.close()
        one.close()


def test_it_answers_in_words_in_json_and_says_what_was_cut_off(endpoint: Endpoint) -> None:
    words, found, cut = (endpoint.complete(request, 10) for request in REQUESTS[:3])
    assert words.text == f"{WORDS} Sales?" and words.finished
    assert '{"page": 3}' in found.text
    assert cut.text == "Net sal" and not cut.finished
    assert min(words.input_tokens, words.output_tokens) > 0
    assert ":" in endpoint.name and endpoint.name == endpoint.name


def test_what_is_heard_is_what_is_answered(endpoint: Endpoint) -> None:
    heard: list[str] = []
    assert endpoint.complete(REQUESTS[0], 10, heard.append).text == "".join(heard) == f"{WORDS} Sales?"


def test_a_model_calls_functions_and_reads_what_they_returned(endpoint: Endpoint) -> None:
    heard: list[str] = []
    assert endpoint.complete(CALLING, 10).calls == endpoint.complete(CALLING, 10, heard.append).calls == CALLS
    assert not "".join(heard)
    assert endpoint.complete(CALLED, 10).text == "[('c1', 'Snow'), ('c2', 'Sun')]"


def test_several_threads_each_get_their_own_answer(endpoint: Endpoint) -> None:
    ask: Callable[[Request], Completion] = lambda request: endpoint.complete(request, 10)  # noqa: E731
    with ThreadPoolExecutor(4) as pool:
        texts = [made.text for made in pool.map(ask, REQUESTS[3:11])]
    assert texts == [f"{WORDS} Number {n}?" for n in range(8)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "recorded"])  # failures are not recorded
def test_a_model_that_declines_is_a_refusal(kind: str, tmp_path: Path) -> None:
    with made(kind, tmp_path) as endpoint, pytest.raises(ChatError) as caught:
        endpoint.complete(asked("Never?"), 10)
    assert caught.value.failure == "refusal" and not caught.value.retryable
    endpoint.close()
