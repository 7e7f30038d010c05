"""Every way in which a call can go wrong, over real HTTP."""

from __future__ import annotations

import json
import logging
import socket
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hybrid_core.errors import ChatError
from hybrid_core.llm.adapters.anthropic_chat import AnthropicChat
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.adapters.sdk import address
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.client import Retries
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.scope import CallScope
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.hybrid_core.llm.said import GOOD, KEY, QUESTION, QUICK, Connect, Found, Interface, both

pytestmark = pytest.mark.slow


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
        (400, "This model's maximum context length is 8192 tokens", "too long", "longer context"),
        (413, "large", "too long", "longer context"),
        (400, "blocked by our content management policy", "refusal", "Choose another model"),
        (400, "image_url is only supported by vision models", "request", "a vision model"),
        (422, "no", "request", "accepts such requests"),
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
    server.answer = lambda request: FakeReply(status=status, body={"error": {"message": message}})
    caplog.set_level(logging.DEBUG)
    caller = connect(interface)
    with pytest.raises(ChatError, match=str(status)) as caught:
        caller.say(QUESTION)
    assert (caught.value.failure, caught.value.retryable, len(server.requests)) == (failure, False, 1)
    assert advice in caught.value.advice
    assert caught.value.usage.calls == 0 and caught.value.usage.seconds > 0
    shown = [*traceback.format_exception(caught.value), repr(caught.value), repr(caller), repr(caller.__dict__)]
    assert KEY not in "".join(shown) + caplog.text


GEMINI_LIMIT = {
    "code": 429, "message": "You exceeded your current quota, please check your plan and billing details.",
    "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"}],
}  # fmt: skip


@pytest.mark.parametrize("schema", [False, True])
@pytest.mark.parametrize(
    ("status", "headers", "body", "failure", "wait", "quoted"),
    [
        (400, {}, [{"error": {"message": "API key not valid. Please pass a valid API key."}}], "key", 0, "not valid"),
        (400, {}, [{"error": {"message": "The input token count (12) exceeds the maximum number of tokens."}}],
         "too long", 0, "token count"),
        (429, {}, [{"error": GEMINI_LIMIT}], "rate limit", 30, "quota"),
        (400, {}, {"object": "error", "message": "Invalid model: m"}, "model", 0, "Invalid model"),
        (400, {}, {"error": {"message": "The provided model identifier is invalid."}}, "model", 0, "identifier"),
        (400, {}, {"error": {"message": "Invalid prompt: may violate our usage policy."}}, "refusal", 0, "usage"),
        (400, {}, {"error": {"message": "the request exceeds the available context size (4096 tokens)"}},
         "too long", 0, "context size"),
        (400, {}, {"error": {"message": "This model's maximum prompt length is 9 but the request contains 12 tokens."}},
         "too long", 0, "prompt length"),
        (429, {"retry-after-ms": "1500"}, {"error": {"message": "slow down"}}, "rate limit", 1.5, "slow down"),
        (429, {}, {"error": {"message": "Rate limit reached. Please try again in 20s."}}, "rate limit", 20, "20s"),
        (404, {}, "404 page not found", "model", 0, "page not found"),
        (403, {}, {"detail": "no seat left"}, "key", 0, "no seat left"),
        (502, {}, "<html><style>p {color: red}</style><h1>502 Bad Gateway</h1></html>", "overload", 0, "Bad Gateway"),
        (200, {}, {"error": {"code": 502, "message": "Provider returned error"}}, "overload", 0, "Provider returned"),
        (200, {}, {"error": {"code": 429, "message": "slow down"}}, "rate limit", 0, "slow down"),
        (200, {}, {"error": "out of memory"}, "overload", 0, "out of memory"),
        (200, {}, {"choices": [None]}, "reply", 0, "no answer"),
        (200, {}, {"choices": [{"message": {}, "finish_reason": "content_filter: SAFETY"}]}, "refusal", 0, "filter"),
    ],
)  # fmt: skip
def test_what_other_providers_of_this_interface_say(
    server: ScriptedServer, schema: bool, status: int, headers: dict[str, str], body: Any, failure: str, wait: float,
    quoted: str,
) -> None:  # fmt: skip
    server.answer = lambda request: FakeReply(status=status, headers=headers, body=body)
    endpoint = OpenAIChat("m", api_key=KEY, base_url=server.url)
    with pytest.raises(ChatError, match=quoted) as caught:
        endpoint.complete(Request(tuple(QUESTION), 50, {"type": "object"} if schema else None, "Found"), 10)
    assert (caught.value.failure, caught.value.wait, len(server.requests)) == (failure, wait, 1)
    assert "<" not in caught.value.message and "red" not in caught.value.message.split()
    endpoint.close()


@pytest.mark.parametrize("streamed", [False, True])
def test_an_option_refused_in_a_body_of_another_form_is_left_out(server: ScriptedServer, streamed: bool) -> None:
    problem = {"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}
    server.replies = [FakeReply(status=422, body={"object": "error", "message": {"detail": [problem]}})]
    endpoint = OpenAIChat("m", base_url=server.url)
    assert endpoint.complete(Request(tuple(QUESTION), 50), 10, (lambda _: None) if streamed else None).text == GOOD
    assert ["temperature" in body for body in server.bodies] == [True, False]
    endpoint.close()


@pytest.mark.parametrize("words", ["Output blocked by content filtering policy", "input exceeds the context limit"])
def test_what_anthropic_says(server: ScriptedServer, connect: Connect, words: str) -> None:
    server.answer = lambda request: FakeReply(status=400, body={"type": "error", "error": {"message": words}})
    with pytest.raises(ChatError) as caught:
        connect("anthropic").say(QUESTION)
    assert caught.value.failure == ("refusal" if "policy" in words else "too long")


@pytest.mark.parametrize(
    ("kind", "failure"),
    [("overloaded_error", "overload"), ("rate_limit_error", "rate limit"), ("authentication_error", "key")],
)
def test_an_error_event_in_a_stream_of_anthropic(
    server: ScriptedServer, connect: Connect, kind: str, failure: str
) -> None:
    event = {"type": "error", "error": {"type": kind, "message": "Sorry"}}
    stream = f"event: error\ndata: {json.dumps(event)}\n\n"
    server.answer = lambda request: FakeReply(headers={"Content-Type": "text/event-stream"}, body=stream)
    with pytest.raises(ChatError, match="in the middle of an answer") as caught:
        connect("anthropic").say(QUESTION, on_text=lambda text: None)
    assert caught.value.failure == failure


@both
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", [" {} ", "{}/", "{}{}", "{}{}?api-version=2024-10-21&code=hush-hush"])
def test_addresses_as_people_write_them(
    server: ScriptedServer, interface: Interface, form: str, streamed: bool
) -> None:
    whole = {"openai": "/chat/completions", "anthropic": "/messages"}[interface]
    url = form.format(server.url, whole)
    endpoint = (OpenAIChat if interface == "openai" else AnthropicChat)("m", api_key=KEY, base_url=url)
    heard: list[str] = []
    assert endpoint.complete(Request(tuple(QUESTION), 50), 10, heard.append if streamed else None).text == GOOD
    assert server.paths == ["/v1" + whole + ("?api-version=2024-10-21&code=hush-hush" if "?" in form else "")]
    assert "hush" not in endpoint.name + repr(endpoint)
    endpoint.close()


def test_azure_gets_the_key_in_its_own_header() -> None:
    for host, own in (("r.openai.azure.com", True), ("r.services.ai.azure.com", True), ("azure.com.example", False)):
        server = address(f"https://{host}/openai/deployments/d?api-version=1", "", "server")
        assert server.options(KEY)["default_headers"] == ({"api-key": KEY} if own else {})
        assert server.name == f"https://{host}/openai/deployments/d" and server.query == {"api-version": "1"}


def test_a_placeholder_for_a_key_leaves_messages_readable(server: ScriptedServer) -> None:
    server.answer = lambda request: FakeReply(status=400, body={"error": {"message": "six extra boxes"}})
    endpoint = OpenAIChat("m", api_key="x", base_url=f"{server.url}?v=1")
    with pytest.raises(ChatError, match=r"refused \(Error code: 400 - six extra boxes\)"):
        endpoint.complete(Request(tuple(QUESTION), 50), 10)
    endpoint.close()


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_in_parts(server: ScriptedServer, streamed: bool) -> None:
    """Mistral's models that reason send a list of parts."""
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Page 12"}]
    choice = {"index": 0, "finish_reason": "stop", ("delta" if streamed else "message"): {"content": parts}}
    body: Any = {"choices": [choice], "usage": {"prompt_tokens": "many", "completion_tokens": 3}}
    if streamed:
        body = f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n"
        server.answer = lambda request: FakeReply(headers={"Content-Type": "text/event-stream"}, body=body)
    else:
        server.answer = lambda request: FakeReply(body=body)
    endpoint = OpenAIChat("m", base_url=server.url)
    heard: list[str] = []
    completion = endpoint.complete(Request(tuple(QUESTION), 50), 10, heard.append if streamed else None)
    assert (completion.text, completion.input_tokens, completion.output_tokens) == ("Page 12", 0, 3)
    assert heard == (["Page 12"] if streamed else [])
    endpoint.close()


@both
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_trying_again_helps_or_ends(
    server: ScriptedServer, connect: Connect, interface: Interface, status: int
) -> None:
    failing = FakeReply(status=status, body={"error": {"message": "busy"}})
    server.replies = [failing, failing]
    assert connect(interface).ask(QUESTION, Found, scope=CallScope(patient=True)).usage.calls == 1
    server.requests.clear()
    server.answer = lambda request: failing
    with pytest.raises(ChatError, match=r"busy.*tried 3 times") as caught:
        connect(interface).ask(QUESTION, Found, scope=CallScope(patient=True))
    assert caught.value.retryable and len(server.requests) == 3
    assert caught.value.failure in {429: ("rate limit",)}.get(status, ("overload",))


@both
def test_retry_after_is_waited_for_by_all_calls(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    limiter = Limiter(8)
    server.replies = [FakeReply(status=429, headers={"Retry-After": "0.5"}, body={"error": {"message": "slow down"}})]
    first, second = connect(interface, limiter=limiter), connect(interface, limiter=limiter)
    start = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(first.ask, QUESTION, Found)
        while not server.requests:
            time.sleep(0.005)
        time.sleep(0.1)
        other = pool.submit(second.ask, QUESTION, Found)
        assert slow.result().value == other.result().value == Found(page=12)
    assert 0.5 <= time.monotonic() - start < 60 and len(server.requests) == 3
    server.replies = [FakeReply(status=429, headers={"Retry-After": "86400"}, body={"error": {"message": "tomorrow"}})]
    with pytest.raises(ChatError, match=r"tomorrow.*asks to wait 86400 s"):
        connect(interface).ask(QUESTION, Found)


@both
@pytest.mark.parametrize("streamed", [False, True])
def test_a_server_that_hangs(server: ScriptedServer, connect: Connect, interface: Interface, streamed: bool) -> None:
    connect(interface).ask(QUESTION, Found)  # a first call takes longer
    server.answer = lambda request: FakeReply("ok", wait=60)
    caller = connect(interface, timeout=0.2, retries=Retries(tries=2, first_wait=0.01))
    start = time.monotonic()
    with pytest.raises(ChatError, match=r"did not (answer|come to an end) within 0\.2 s.*tried 2 times") as caught:
        caller.say(QUESTION, on_text=(lambda text: None) if streamed else None)
    assert caught.value.failure == "timeout" and 0.4 <= time.monotonic() - start < 60


@both
def test_a_deadline_over_everything(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    caller = connect(interface, retries=Retries(tries=1000, first_wait=0.05, longest_wait=0.05))
    caller.ask(QUESTION, Found)  # a first call takes longer
    server.answer = lambda request: FakeReply(status=503, body={"error": {"message": "busy"}})
    start = time.monotonic()
    with pytest.raises(ChatError, match="deadline"):
        caller.ask(QUESTION, Found, scope=CallScope(seconds=1, patient=True))
    assert time.monotonic() - start < 60 and len(server.requests) >= 3
    with pytest.raises(ChatError) as caught:
        connect(interface).ask(QUESTION, Found, scope=CallScope(seconds=-1))
    assert caught.value.failure == "timeout"


@both
def test_a_stream_without_an_end(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    """Each word comes in time, and they never stop."""
    connect(interface).say(QUESTION, on_text=lambda text: None)  # the first one imports much
    caller = connect(interface, timeout=1.0)
    server.answer = lambda request: FakeReply("loop " * 5000, wait=0.02)
    start = time.monotonic()
    with pytest.raises(ChatError, match="did not finish its answer") as caught:
        caller.say(QUESTION, on_text=lambda text: None)
    assert caught.value.failure == "timeout" and time.monotonic() - start < 60
    assert len(server.requests) == 2, "what was shown cannot be taken back"


def test_a_stream_that_ignores_the_limit(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda request: "loop " * 5000
    reply = connect().say(QUESTION, on_text=lambda text: None, max_tokens=10)
    assert not reply.finished and len(reply.text) < 1000


@both
def test_a_disconnect_in_the_middle_of_a_stream(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    heard: list[str] = []
    server.answer = lambda request: FakeReply("one two three", break_after=4)
    with pytest.raises(ChatError, match="stopped in the middle") as caught:
        connect(interface).say(QUESTION, on_text=heard.append)
    assert heard == ["one"] and caught.value.failure == "connection" and len(server.requests) == 1
    heard.clear()
    server.replies = [FakeReply("one two", break_after=0)]
    server.answer = lambda request: "one two"
    assert connect(interface).say(QUESTION, on_text=heard.append).text == "one two" == "".join(heard)
    server.replies = [FakeReply(GOOD, break_after=0)]
    server.answer = lambda request: GOOD
    assert connect(interface).ask(QUESTION, Found).value == Found(page=12), "a disconnect before an answer is retried"


@both
@pytest.mark.parametrize("streamed", [False, True])
def test_refusals(server: ScriptedServer, connect: Connect, interface: Interface, streamed: bool) -> None:
    for said in (FakeReply(refusal="I must not."), FakeReply("Half an", finish="content_filter")):
        server.answer = lambda request, said=said: said  # type: ignore[misc]
        with pytest.raises(ChatError, match="declined to answer") as caught:
            connect(interface).say(QUESTION, on_text=(lambda text: None) if streamed else None)
        assert caught.value.failure == "refusal" and not caught.value.retryable


@both
@pytest.mark.parametrize("body", ["<html>Welcome</html>", "{'not': json", "", [], {}, {"choices": []}, {"content": 1}])
def test_something_that_is_no_chat(server: ScriptedServer, connect: Connect, interface: Interface, body: Any) -> None:
    server.answer = lambda request: FakeReply(body=body)
    with pytest.raises(ChatError, match="no usable answer") as caught:
        connect(interface).ask(QUESTION, Found)
    assert caught.value.failure == "reply" and "base URL" in caught.value.advice


def test_a_page_where_a_stream_should_be(server: ScriptedServer, connect: Connect) -> None:
    server.answer = lambda request: FakeReply(body="<html>Welcome</html>")
    with pytest.raises(ChatError, match="ended its answer without any text") as caught:
        connect("openai").say(QUESTION, on_text=lambda text: None)
    assert "base URL" in caught.value.advice


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for endpoint in (OpenAIChat("m", base_url=url), AnthropicChat("m", api_key=KEY, base_url=url)):
            with pytest.raises(ChatError, match=r"cannot be reached.*tried 2 times") as caught:
                ChatModel(endpoint, retries=QUICK).say(QUESTION)
            assert caught.value.failure == "connection" and caught.value.retryable
            endpoint.close()


def test_what_a_reader_of_pieces_raises_is_its_own(server: ScriptedServer, connect: Connect) -> None:
    def stop(text: str) -> None:
        raise ValueError("the terminal is gone")

    caller = connect(limiter=Limiter(1))
    with pytest.raises(ValueError, match="the terminal is gone"):
        caller.say(QUESTION, on_text=stop)
    assert caller.say(QUESTION).text == GOOD, "its place is free again"
