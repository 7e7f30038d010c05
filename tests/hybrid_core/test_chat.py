"""Chat models over real HTTP: what is sent, what is made of what comes back, and every way in which it can go wrong."""

from __future__ import annotations

import copy
import json
import logging
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from hybrid_core.errors import ChatError, ReplyError, UsageError
from hybrid_core.models import fakes
from hybrid_core.models.anthropic_chat import AnthropicChat
from hybrid_core.models.caller import Caller
from hybrid_core.models.chat import Message
from hybrid_core.models.endpoint import Endpoint
from hybrid_core.models.fakes import Said
from hybrid_core.models.limiter import Limiter
from hybrid_core.models.openai_chat import OpenAIChat
from hybrid_core.models.prices import Price
from hybrid_core.models.remote import Retries
from hybrid_core.models.reply_cache import ReplyCache
from hybrid_core.models.scripted_server import ScriptedServer, scripted_server
from hybrid_core.store.catalog import Catalog
from hybrid_core.usage import Usage

pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("anthropic", reason="the extra anthropic is not installed")

KEY = "sk-very-secret-0123456789"
PNG = b"\x89PNG\r\n\x1a\n picture"
QUICK = Retries(tries=3, first_wait=0.01, longest_wait=0.02)
QUESTION = [Message("system", "Be brief."), Message("user", "Which page?")]
Interface = Literal["openai", "anthropic"]
both = pytest.mark.parametrize("interface", ["openai", "anthropic"])


class Found(BaseModel):
    page: int = Field(ge=1)
    why: str | None = None
    sure: bool = True


GOOD = '{"page": 12, "why": null, "sure": true}'


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server(lambda request: GOOD) as made:
        yield made


@pytest.fixture
def connect(server: ScriptedServer) -> Iterator[Callable[..., Caller]]:
    made: list[Caller] = []

    def _connect(interface: Interface = "openai", **options: Any) -> Caller:
        endpoint: Endpoint
        if interface == "openai":
            endpoint = OpenAIChat("m", api_key=KEY, base_url=server.url)
        else:
            endpoint = AnthropicChat("m", api_key=KEY, base_url=server.url.removesuffix("/v1"))
        made.append(Caller(endpoint, **({"retries": QUICK, "timeout": 10} | options)))
        return made[-1]

    yield _connect
    for caller in made:
        caller.close()


Connect = Callable[..., Caller]


@both
def test_what_is_sent_and_what_it_costs(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    messages = [*QUESTION[:1], Message("user", "Look.", (PNG, b"\xff\xd8\xff jpeg")), *QUESTION]
    before = copy.deepcopy(messages)
    reply = connect(interface, price=Price(2.5, 10)).ask(messages, Found, max_tokens=77)
    assert reply.value == Found(page=12) and reply.finished
    sent = server.requests[0]
    if interface == "openai":
        assert sent.messages == tuple(messages)
        kinds = [part["type"] for part in server.bodies[0]["messages"][1]["content"]]
        assert kinds == ["image_url", "image_url", "text"], "images come before the text"
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}" and server.bodies[0]["temperature"] == 0
    else:
        assert sent.messages[0] == Message("system", "Be brief.\n\nBe brief.") and sent.messages[1] == messages[1]
        assert KEY in str(server.headers[0])
    assert sent.max_tokens == 77 and sent.schema is not None
    assert sent.schema["required"] == ["page", "why", "sure"] and sent.schema["additionalProperties"] is False
    assert "minimum" not in sent.schema["properties"]["page"], "bounds are no part of what endpoints can force"
    usage = reply.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, fakes.tokens(sent), len(GOOD) // 4)
    assert usage.cost == pytest.approx((usage.input_tokens * 2.5 + usage.output_tokens * 10) / 1e6)
    assert 0 < usage.seconds < 10
    assert messages == before, "the caller's messages are its own"


@both
def test_a_stream(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    server.answer = lambda request: "Revenue was $418 million."
    heard: list[str] = []
    reply = connect(interface).say(QUESTION, on_text=heard.append)
    assert reply.text == "".join(heard) == "Revenue was $418 million." and len(heard) == 4
    assert reply.usage.input_tokens == fakes.tokens(server.requests[0]) and reply.usage.output_tokens == 6


@both
@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        fakes.fenced(GOOD),
        fakes.chatty(GOOD),
        fakes.thoughtful(GOOD),
        fakes.pythonic(GOOD),
        fakes.trailing_commas(GOOD),
        fakes.chatty(fakes.fenced(fakes.trailing_commas(fakes.pythonic(GOOD)))),
    ],
)
def test_untidy_json_costs_no_second_call(
    server: ScriptedServer, connect: Connect, interface: Interface, said: str
) -> None:
    server.answer = lambda request: said
    reply = connect(interface).ask(QUESTION, Found)
    assert reply.value == Found(page=12) and reply.usage.calls == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("null", "no complete JSON value"),
        ("I cannot say.", "no complete JSON value"),
        (fakes.truncated(GOOD), "no complete JSON value"),
        ('{"page": "twelve"}', "page: Input should be a valid integer"),
        ('{"page": "5,100"}', "page: Input should be a valid integer"),
        ('{"page": 0}', "page: Input should be greater than or equal to 1"),
        ('{"seite": 12}', "page: Field required"),
        ("[12]", "the value: Input should be a valid dictionary"),
        ("[" * 5000, "no complete JSON value"),
    ],
)
def test_one_repair_turn_with_the_reason(server: ScriptedServer, connect: Connect, said: str, told: str) -> None:
    server.replies = [Said(said)]
    reply = connect().ask(QUESTION, Found)
    assert reply.value == Found(page=12) and reply.usage.calls == 2
    turns = server.requests[1].messages
    assert turns[: len(QUESTION)] == tuple(QUESTION) and told in turns[-1].text
    assert [turn.role for turn in turns[2:]] == (["assistant", "user"] if said.strip() else ["user"])
    server.answer = lambda request: said
    with pytest.raises(ReplyError, match="also after it was told so") as caught:
        connect().ask(QUESTION, Found)
    assert len(server.requests) == 4, "two calls at most"
    assert caught.value.failure == "reply" and not caught.value.retryable and caught.value.text == said
    assert caught.value.usage.calls == 2 and caught.value.usage.input_tokens > 0, "what it cost in vain is known"


def test_an_answer_that_was_cut_off_gets_more_room(server: ScriptedServer, connect: Connect) -> None:
    server.replies = [Said('{"page": 1', finish="length")]
    assert connect().ask(QUESTION, Found, max_tokens=50).value == Found(page=12)
    assert [request.max_tokens for request in server.requests] == [50, 100]
    assert server.requests[1].messages == tuple(QUESTION), "a cut-off answer is not shown to the model"
    server.answer = lambda request: Said('{"page": 1', finish="length")
    with pytest.raises(ReplyError, match=r"cut off after 100 tokens.*max_tokens"):
        connect().ask(QUESTION, Found, max_tokens=50)
    assert connect().say(QUESTION).finished is False


def test_nothing_said_is_never_an_answer(server: ScriptedServer, connect: Connect) -> None:
    server.replies = [Said(" ")]
    server.answer = lambda request: "Page 12."
    reply = connect().say(QUESTION)
    assert reply.text == "Page 12." and reply.usage.calls == 2
    server.answer = lambda request: "\n"
    with pytest.raises(ReplyError, match="answered nothing, twice"):
        connect().say(QUESTION)


@pytest.mark.parametrize("option", ["response_format", "temperature", "max_tokens", "max_completion_tokens"])
def test_an_endpoint_that_does_not_know_an_option(server: ScriptedServer, connect: Connect, option: str) -> None:
    server.unknown = {option}
    caller = connect()
    for _ in range(3):
        assert caller.ask(QUESTION, Found).value == Found(page=12)
    refused = [option in body for body in server.bodies]
    assert sum(refused) <= 1 and not any(refused[1:]), "it is asked with it once"
    if option == "response_format":
        assert '"page":{"type":"integer"}' in server.requests[-1].messages[-1].text, "the prompt holds the schema"
    assert {"max_tokens", "max_completion_tokens"} & set(server.bodies[-1])


def test_an_endpoint_that_knows_neither_name_of_the_limit(server: ScriptedServer, connect: Connect) -> None:
    server.unknown = {"max_tokens", "max_completion_tokens"}
    with pytest.raises(ChatError, match="Unsupported parameter") as caught:
        connect().ask(QUESTION, Found)
    assert caught.value.failure == "request" and len(server.bodies) == 3


def test_a_refusal_without_reasons_is_tried_without_the_schema(server: ScriptedServer, connect: Connect) -> None:
    caller = connect()
    server.replies = [Said(status=400, body="")]
    assert caller.ask(QUESTION, Found).value == Found(page=12)
    server.replies = [Said(status=400, body={"error": {"message": "bad"}})]
    with pytest.raises(ChatError) as caught:
        caller.ask(QUESTION, Found)
    assert caught.value.failure == "request" and len(server.bodies) == 3
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


def test_an_anthropic_model_without_structured_output(server: ScriptedServer, connect: Connect) -> None:
    server.unknown = {"output_config"}
    caller = connect("anthropic")
    assert caller.ask(QUESTION, Found).value == caller.ask(QUESTION, Found).value == Found(page=12)
    assert ["output_config" in body for body in server.bodies] == [True, False, False]


@both
@pytest.mark.parametrize(
    ("status", "message", "failure", "advice"),
    [
        (401, f"Incorrect API key provided: {KEY}", "key", "Check the API key"),
        (403, "not yours", "key", "Check the API key"),
        (404, "The model m does not exist", "model", "Check the model's name and the base URL"),
        (402, "pay first", "quota", "billing"),
        (429, "You exceeded your current quota", "quota", "billing"),
        (400, "Your credit balance is too low", "quota", "billing"),
        (400, "This model's maximum context length is 8192 tokens", "too long", "takes longer texts"),
        (413, "large", "too long", "takes longer texts"),
        (400, "blocked by our content management policy", "refusal", "Choose another model"),
        (400, "image_url is only supported by vision models", "request", "a vision model"),
        (422, "no", "request", "takes such requests"),
    ],
)
def test_what_cannot_help_is_not_tried_again(
    server: ScriptedServer,
    connect: Connect,
    interface: Interface,
    status: int,
    message: str,
    failure: str,
    advice: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.answer = lambda request: Said(status=status, body={"error": {"message": message}})
    caplog.set_level(logging.DEBUG)
    caller = connect(interface)
    with pytest.raises(ChatError, match=str(status)) as caught:
        caller.say(QUESTION)
    assert (caught.value.failure, caught.value.retryable, len(server.requests)) == (failure, False, 1)
    assert advice in caught.value.advice
    assert caught.value.usage.calls == 0 and caught.value.usage.seconds > 0
    shown = [*traceback.format_exception(caught.value), repr(caught.value), repr(caller), repr(caller.__dict__)]
    assert KEY not in "".join(shown) + caplog.text


@both
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_trying_again_helps_or_ends(
    server: ScriptedServer, connect: Connect, interface: Interface, status: int
) -> None:
    failing = Said(status=status, body={"error": {"message": "busy"}})
    server.replies = [failing, failing]
    assert connect(interface).ask(QUESTION, Found).usage.calls == 1
    server.requests.clear()
    server.answer = lambda request: failing
    with pytest.raises(ChatError, match=r"busy.*tried 3 times") as caught:
        connect(interface).ask(QUESTION, Found)
    assert caught.value.retryable and len(server.requests) == 3
    assert caught.value.failure in {408: ("timeout",), 409: ("overload",), 429: ("rate limit",)}.get(
        status, ("overload",)
    )


@both
def test_retry_after_is_waited_for_by_all_calls(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    limiter = Limiter(8)
    server.replies = [Said(status=429, headers={"Retry-After": "0.5"}, body={"error": {"message": "slow down"}})]
    first, second = connect(interface, limiter=limiter), connect(interface, limiter=limiter)
    start = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(first.ask, QUESTION, Found)
        while not server.requests:
            time.sleep(0.005)
        time.sleep(0.1)
        other = pool.submit(second.ask, QUESTION, Found)
        assert slow.result().value == other.result().value == Found(page=12)
    assert 0.5 <= time.monotonic() - start < 5 and len(server.requests) == 3
    server.replies = [Said(status=429, headers={"Retry-After": "86400"}, body={"error": {"message": "tomorrow"}})]
    with pytest.raises(ChatError, match=r"tomorrow.*asks to wait 86400 s"):
        connect(interface).ask(QUESTION, Found)


@both
@pytest.mark.parametrize("streamed", [False, True])
def test_a_server_that_hangs(server: ScriptedServer, connect: Connect, interface: Interface, streamed: bool) -> None:
    server.answer = lambda request: Said("ok", wait=60)
    caller = connect(interface, timeout=0.2, retries=Retries(tries=2, first_wait=0.01))
    start = time.monotonic()
    with pytest.raises(ChatError, match=r"did not answer within 0\.2 s.*tried 2 times") as caught:
        caller.say(QUESTION, on_text=(lambda text: None) if streamed else None)
    assert caught.value.failure == "timeout" and 0.4 <= time.monotonic() - start < 10


@both
def test_a_deadline_over_everything(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    server.answer = lambda request: Said(status=503, body={"error": {"message": "busy"}})
    patient = Retries(tries=1000, first_wait=0.05, longest_wait=0.05)
    start = time.monotonic()
    with pytest.raises(ChatError, match="deadline"):
        connect(interface, retries=patient).ask(QUESTION, Found, deadline=0.4)
    assert time.monotonic() - start < 5 and len(server.requests) > 2
    with pytest.raises(ChatError) as caught:
        connect(interface).ask(QUESTION, Found, deadline=-1)
    assert caught.value.failure == "timeout"


@both
def test_a_stream_without_an_end(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    """Each word comes in time, and they never stop."""
    server.answer = lambda request: Said("loop " * 5000, wait=0.02)
    start = time.monotonic()
    with pytest.raises(ChatError, match="did not come to an end") as caught:
        connect(interface, timeout=0.5).say(QUESTION, on_text=lambda text: None)
    assert caught.value.failure == "timeout" and time.monotonic() - start < 5
    assert len(server.requests) == 1, "what was shown cannot be taken back"


def test_a_stream_that_ignores_the_limit(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda request: "loop " * 5000
    reply = connect().say(QUESTION, on_text=lambda text: None, max_tokens=10)
    assert not reply.finished and len(reply.text) < 1000


@both
def test_a_disconnect_in_the_middle_of_a_stream(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    heard: list[str] = []
    server.answer = lambda request: Said("one two three", break_after=4)
    with pytest.raises(ChatError, match="broke off") as caught:
        connect(interface).say(QUESTION, on_text=heard.append)
    assert heard == ["one"] and caught.value.failure == "connection" and len(server.requests) == 1
    heard.clear()
    server.replies = [Said("one two", break_after=0)]
    server.answer = lambda request: "one two"
    assert connect(interface).say(QUESTION, on_text=heard.append).text == "one two" == "".join(heard)
    server.replies = [Said(GOOD, break_after=0)]
    server.answer = lambda request: GOOD
    assert connect(interface).ask(QUESTION, Found).value == Found(page=12), "a disconnect before an answer is retried"


@both
@pytest.mark.parametrize("streamed", [False, True])
def test_refusals(server: ScriptedServer, connect: Connect, interface: Interface, streamed: bool) -> None:
    for said in (Said(refusal="I must not."), Said("Half an", finish="content_filter")):
        server.answer = lambda request, said=said: said  # type: ignore[misc]
        with pytest.raises(ChatError, match="declined to answer") as caught:
            connect(interface).say(QUESTION, on_text=(lambda text: None) if streamed else None)
        assert caught.value.failure == "refusal" and not caught.value.retryable


@both
@pytest.mark.parametrize("body", ["<html>Welcome</html>", "{'not': json", "", [], {}, {"choices": []}, {"content": 1}])
def test_something_that_is_no_chat(server: ScriptedServer, connect: Connect, interface: Interface, body: Any) -> None:
    server.answer = lambda request: Said(body=body)
    with pytest.raises(ChatError, match="no usable answer") as caught:
        connect(interface).ask(QUESTION, Found)
    assert caught.value.failure == "reply" and "base URL" in caught.value.advice


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for endpoint in (OpenAIChat("m", base_url=url), AnthropicChat("m", api_key=KEY, base_url=url)):
            with pytest.raises(ChatError, match=r"cannot be reached.*tried 3 times") as caught:
                Caller(endpoint, retries=QUICK).say(QUESTION)
            assert caught.value.failure == "connection" and caught.value.retryable
            endpoint.close()


def test_what_a_reader_of_pieces_raises_is_its_own(server: ScriptedServer, connect: Connect) -> None:
    def stop(text: str) -> None:
        raise ValueError("the terminal is gone")

    caller = connect(limiter=Limiter(1))
    with pytest.raises(ValueError, match="the terminal is gone"):
        caller.say(QUESTION, on_text=stop)
    assert caller.say(QUESTION).text == GOOD, "its place is free again"


def test_closing_ends_every_wait(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda request: Said(status=429, headers={"Retry-After": "60"}, body={})
    limiter = Limiter(1)
    caller = connect(limiter=limiter)
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            caller.ask(QUESTION, Found)
        except UsageError as error:
            caught.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not server.requests:
        time.sleep(0.01)
    caller.close()
    for thread in threads:
        thread.join(10)
    assert [str(error)[-22:] for error in caught] == ["is closed. Load it again."[-22:]] * 3
    with pytest.raises(UsageError, match="is closed"):
        caller.say(QUESTION)


def test_one_limiter_for_all_threads_and_models(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda request: Said(GOOD, wait=0.05)
    limiter = Limiter(4)
    callers = [connect("openai", limiter=limiter), connect("anthropic", limiter=limiter)]
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda n: callers[n % 2].ask(QUESTION, Found), range(24)))
    assert server.at_once == 4
    assert sum((reply.usage for reply in replies), Usage()).calls == 24


def test_calls_per_minute_are_spread(server: ScriptedServer, connect: Connect) -> None:
    caller = connect(limiter=Limiter(8, per_minute=600))
    start = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: caller.ask(QUESTION, Found), range(6)))
    assert 0.5 <= time.monotonic() - start < 3, "one in 0.1 s"


def test_replies_are_paid_for_once(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    cache = ReplyCache(catalog, 10**6)
    caller = connect(cache=cache, price=Price(1, 1))
    server.replies = [Said("chat"), Said(fakes.fenced(GOOD))]
    first = caller.ask(QUESTION, Found, prompt="p@1")
    assert caller.ask(QUESTION, Found, prompt="p@1").usage == Usage(cached=1), "also before it is written"
    cache.flush()
    second = connect(cache=ReplyCache(catalog, 10**6)).ask(QUESTION, Found, prompt="p@1")
    assert first.value == second.value and second.usage == Usage(cached=1) and first.usage.calls == 2
    heard: list[str] = []
    said = [caller.say(QUESTION, on_text=heard.append) for _ in range(2)]
    assert said[1].usage == Usage(cached=1) and heard[-1] == said[0].text
    asked = len(server.requests)
    changed = [
        lambda: caller.ask(QUESTION, Found, prompt="p@2"),
        lambda: caller.ask([*QUESTION[:1], Message("user", "Which  page?")], Found, prompt="p@1"),
        lambda: caller.ask([Message("user", "Which page?", (PNG,))], Found),
        lambda: caller.ask([Message("user", "Which page?", (PNG + b"2",))], Found),
        lambda: caller.say(QUESTION, max_tokens=5),
    ]
    for n, call in enumerate(changed, 1):
        assert call().usage.cached == 0 and len(server.requests) == asked + n
    server.answer = lambda request: "no JSON"
    asked = len(server.requests)
    for _ in range(2):
        with pytest.raises(ReplyError):
            caller.ask([Message("user", "Other?")], Found)
    assert len(server.requests) == asked + 4, "what is unusable is not kept"
    server.answer = lambda request: Said("cut", finish="length")
    assert [caller.say([Message("user", "Long?")]).usage.cached for _ in range(2)] == [0, 0]
    caller.close()
    catalog.close()


def test_replies_of_many_threads_are_all_kept(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    caller = connect(cache=ReplyCache(catalog, 10**6), limiter=Limiter(16))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: caller.ask([Message("user", f"Question {n}?")], Found), range(200)))
    caller.close()
    again = connect(cache=ReplyCache(catalog, 10**6))
    kept = [again.ask([Message("user", f"Question {n}?")], Found).usage for n in range(200)]
    assert sum(kept, Usage()) == Usage(cached=200) and len(server.requests) == 200
    catalog.close()


def test_the_environment_is_not_read(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-from-the-environment")
    with pytest.raises(UsageError, match="need an API key"):
        OpenAIChat("m")
    with pytest.raises(UsageError, match="need an API key"):
        AnthropicChat("m")
    for endpoint in (OpenAIChat("m", base_url=server.url), AnthropicChat("m", api_key=KEY, base_url=server.url[:-3])):
        Caller(endpoint).say(QUESTION)
        endpoint.close()
    assert "environment" not in "".join(map(str, server.headers))


def test_secrets_in_the_url_are_not_shown(server: ScriptedServer) -> None:
    server.answer = lambda request: Said(status=401, body={"error": {"message": "no access with pass-word, to-ken"}})
    url = server.url.replace("//", "//user:pass-word@") + "?key=to-ken"
    endpoint = OpenAIChat("m", base_url=url)
    assert repr(endpoint) == f"OpenAIChat('openai:m@{server.url}')"
    with pytest.raises(ChatError) as caught:
        Caller(endpoint).say(QUESTION)
    shown = "".join(traceback.format_exception(caught.value))
    assert "pass-word" not in shown and "to-ken" not in shown
    endpoint.close()


@pytest.mark.parametrize(
    ("messages", "options", "said"),
    [
        ([], {}, "last message"),
        ([Message("assistant", "Yes.")], {}, "last message"),
        ([Message("user", "Look.", (b"GIF89a",))], {}, "neither PNG nor JPEG"),
        (QUESTION, {"max_tokens": 0}, "max_tokens is 0"),
    ],
)
def test_wrong_calls(
    server: ScriptedServer, connect: Connect, messages: list[Message], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        connect().ask(messages, Found, **options)
    assert not server.requests


def test_half_a_surrogate_pair_can_be_sent(server: ScriptedServer, connect: Connect) -> None:
    connect().ask([Message("user", "a\ud800b")], Found)
    assert json.loads(json.dumps(server.bodies[0]))["messages"][0]["content"].startswith("a?b")
