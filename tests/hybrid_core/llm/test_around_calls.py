"""What happens around calls: closing, limits, replies that are kept, secrets."""

from __future__ import annotations

import json
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hybrid_core.errors import ChatError, ReplyError, UsageError
from hybrid_core.llm.adapters.anthropic_chat import AnthropicChat
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.budget import Price
from hybrid_core.llm.chat import Message, Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.replies import ReplyCache
from hybrid_core.store.cache import Cache
from hybrid_core.types.usage import Usage
from tests.doubles import replies
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.hybrid_core.llm.said import GOOD, KEY, PNG, QUESTION, Connect, Found

pytestmark = pytest.mark.slow


def test_closing_ends_every_wait(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda request: FakeReply(status=429, headers={"Retry-After": "60"}, body={})
    limiter = Limiter(1)
    caller = connect(limiter=limiter)
    caught: list[BaseException] = []

    def ask() -> None:
        try:
            caller.ask(QUESTION, Found, scope=CallScope(patient=True))
        except UsageError as error:
            caught.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not server.requests:
        time.sleep(0.01)
    caller.close()
    for thread in threads:
        thread.join(600)
    assert [str(error)[-22:] for error in caught] == ["is closed. Load the model again."[-22:]] * 3
    with pytest.raises(UsageError, match="is closed"):
        caller.say(QUESTION)


def test_one_limiter_for_all_threads_and_models(server: ScriptedServer, connect: Connect) -> None:
    together = threading.Barrier(4)

    def answer(request: Request) -> FakeReply:
        together.wait(600)
        return FakeReply(GOOD, wait=0.05)

    server.answer = answer
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
    assert 0.5 <= time.monotonic() - start < 60, "one in 0.1 s"


def test_replies_are_paid_for_once(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    kept = Cache(tmp_path / "cache.sqlite", 10**6)
    cache = ReplyCache(kept)
    caller = connect(cache=cache, price=Price(1, 1))
    server.replies = [FakeReply("chat"), FakeReply(replies.fenced(GOOD))]
    first = caller.ask(QUESTION, Found, prompt="p@1")
    assert caller.ask(QUESTION, Found, prompt="p@1").usage == Usage(cached=1), "also before it is written"
    cache.flush()
    second = connect(cache=ReplyCache(kept)).ask(QUESTION, Found, prompt="p@1")
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
    server.answer = lambda request: FakeReply("cut", finish="length")
    assert [caller.say([Message("user", "Long?")]).usage.cached for _ in range(2)] == [0, 0]
    caller.close()
    kept.close()


def test_replies_of_many_threads_are_all_kept(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    kept = Cache(tmp_path / "cache.sqlite", 10**6)
    caller = connect(cache=ReplyCache(kept), limiter=Limiter(16))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: caller.ask([Message("user", f"Question {n}?")], Found), range(200)))
    caller.close()
    again = connect(cache=ReplyCache(kept))
    usage = [again.ask([Message("user", f"Question {n}?")], Found).usage for n in range(200)]
    assert sum(usage, Usage()) == Usage(cached=200) and len(server.requests) == 200
    kept.close()


def test_the_environment_is_not_read(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-from-the-environment")
    with pytest.raises(UsageError, match="need an API key"):
        OpenAIChat("m")
    with pytest.raises(UsageError, match="need an API key"):
        AnthropicChat("m")
    for endpoint in (OpenAIChat("m", base_url=server.url), AnthropicChat("m", api_key=KEY, base_url=server.url[:-3])):
        ChatModel(endpoint).say(QUESTION)
        endpoint.close()
    assert "environment" not in "".join(map(str, server.headers))


def test_secrets_in_the_url_are_not_shown(server: ScriptedServer) -> None:
    server.answer = lambda request: FakeReply(
        status=401, body={"error": {"message": "no access with pass-word, to-ken"}}
    )
    url = server.url.replace("//", "//user:pass-word@") + "?key=to-ken"
    endpoint = OpenAIChat("m", base_url=url)
    assert repr(endpoint) == f"OpenAIChat('openai:m@{server.url}')"
    with pytest.raises(ChatError) as caught:
        ChatModel(endpoint).say(QUESTION)
    shown = "".join(traceback.format_exception(caught.value))
    assert "pass-word" not in shown and "to-ken" not in shown
    endpoint.close()


@pytest.mark.parametrize(
    ("messages", "options", "said"),
    [
        ([], {}, "last message"),
        ([Message("assistant", "Yes.")], {}, "last message"),
        ([Message("user", "Look.", (b"GIF89a",))], {}, "neither a PNG nor a JPEG file"),
        (QUESTION, {"max_tokens": 0}, "max_tokens of the request to the model is 0"),
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
