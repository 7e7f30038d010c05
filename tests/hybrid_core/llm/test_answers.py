"""What is sent, and what is made of an answer."""

from __future__ import annotations

import copy

import pytest

from eval.runs.scripted import tokens
from hybrid_core.errors import ChatError, ReplyError
from hybrid_core.llm.budget import Price
from hybrid_core.llm.chat import Message
from tests.doubles import replies
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import ScriptedServer
from tests.hybrid_core.llm.said import GOOD, KEY, PNG, QUESTION, Connect, Found, Interface, both


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
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (1, tokens(sent), len(GOOD) // 4)
    assert usage.cost == pytest.approx((usage.input_tokens * 2.5 + usage.output_tokens * 10) / 1e6)
    assert 0 < usage.seconds < 60
    assert messages == before, "the caller's messages are its own"


@both
def test_a_stream(server: ScriptedServer, connect: Connect, interface: Interface) -> None:
    server.answer = lambda request: "Revenue was $418 million."
    heard: list[str] = []
    reply = connect(interface).say(QUESTION, on_text=heard.append)
    assert reply.text == "".join(heard) == "Revenue was $418 million." and len(heard) == 4
    assert reply.usage.input_tokens == tokens(server.requests[0]) and reply.usage.output_tokens == 6


@both
@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        replies.fenced(GOOD),
        replies.chatty(GOOD),
        replies.thoughtful(GOOD),
        replies.pythonic(GOOD),
        replies.trailing_commas(GOOD),
        replies.chatty(replies.fenced(replies.trailing_commas(replies.pythonic(GOOD)))),
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
        (replies.truncated(GOOD), "no complete JSON value"),
        ('{"page": "twelve"}', "page: Input should be a valid integer"),
        ('{"page": "5,100"}', "page: Input should be a valid integer"),
        ('{"page": 0}', "page: Input should be greater than or equal to 1"),
        ('{"seite": 12}', "page: Field required"),
        ("[12]", "the value: Input should be a valid dictionary"),
        ("[" * 5000, "no complete JSON value"),
    ],
)
def test_one_repair_turn_with_the_reason(server: ScriptedServer, connect: Connect, said: str, told: str) -> None:
    server.replies = [FakeReply(said)]
    reply = connect().ask(QUESTION, Found)
    assert reply.value == Found(page=12) and reply.usage.calls == 2
    turns = server.requests[1].messages
    assert turns[: len(QUESTION)] == tuple(QUESTION) and told in turns[-1].text
    assert len(QUESTION) == 2, "the caller's own list stays as it was"
    assert [turn.role for turn in turns[2:]] == (["assistant", "user"] if said.strip() else ["user"])
    server.answer = lambda request: said
    with pytest.raises(ReplyError, match="even when asked to correct it") as caught:
        connect().ask(QUESTION, Found)
    assert len(server.requests) == 4, "two calls at most"
    assert caught.value.failure == "reply" and not caught.value.retryable and caught.value.text == said
    assert caught.value.usage.calls == 2 and caught.value.usage.input_tokens > 0, "what it cost in vain is known"


def test_an_answer_that_was_cut_off_gets_more_room(server: ScriptedServer, connect: Connect) -> None:
    server.replies = [FakeReply('{"page": 1', finish="length")]
    assert connect().ask(QUESTION, Found, max_tokens=50).value == Found(page=12)
    assert [request.max_tokens for request in server.requests] == [50, 100]
    assert server.requests[1].messages == tuple(QUESTION), "a cut-off answer is not shown to the model"
    server.answer = lambda request: FakeReply('{"page": 1', finish="length")
    with pytest.raises(ReplyError, match=r"cut off after 100 tokens.*max_tokens"):
        connect().ask(QUESTION, Found, max_tokens=50)
    assert connect().say(QUESTION).finished is False


def test_nothing_said_is_never_an_answer(server: ScriptedServer, connect: Connect) -> None:
    server.replies = [FakeReply(" ")]
    server.answer = lambda request: "Page 12."
    reply = connect().say(QUESTION)
    assert reply.text == "Page 12." and reply.usage.calls == 2
    server.answer = lambda request: "\n"
    with pytest.raises(ReplyError, match="returned an empty answer twice"):
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
    server.replies = [FakeReply(status=400, body="")]
    assert caller.ask(QUESTION, Found).value == Found(page=12)
    server.replies = [FakeReply(status=400, body={"error": {"message": "bad"}})]
    with pytest.raises(ChatError) as caught:
        caller.ask(QUESTION, Found)
    assert caught.value.failure == "request" and len(server.bodies) == 3
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


def test_an_anthropic_model_without_structured_output(server: ScriptedServer, connect: Connect) -> None:
    server.unknown = {"output_config"}
    caller = connect("anthropic")
    assert caller.ask(QUESTION, Found).value == caller.ask(QUESTION, Found).value == Found(page=12)
    assert ["output_config" in body for body in server.bodies] == [True, False, False]
