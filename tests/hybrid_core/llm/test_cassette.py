"""Replies recorded from a real endpoint over HTTP, played without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from hybrid_core.errors import ChatError, UsageError
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.chat import Message
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.client import Retries
from hybrid_core.llm.offline import Player, Recorder
from tests.doubles.replies import FakeReply
from tests.doubles.scripted_server import scripted_server

pytest.importorskip("openai", reason="the extra openai is not installed")

KEY = "sk-very-secret-0123456789"
PNG = b"\x89PNG\r\n\x1a\n picture"


class Found(BaseModel):
    page: int


def test_what_was_recorded_is_played(tmp_path: Path) -> None:
    path = tmp_path / "tapes" / "run.jsonl"
    with scripted_server() as server:
        server.replies = [
            FakeReply(status=500, body=KEY),
            FakeReply("chat"),
            FakeReply('{"page": 3}'),
            FakeReply("one"),
            FakeReply("two"),
            FakeReply("ü"),
        ]
        url = server.url.replace("//", "//user:pass-word@")
        caller = ChatModel(Recorder(OpenAIChat("m", api_key=KEY, base_url=url), path), retries=Retries(first_wait=0.01))
        caller.ask([Message("user", "Page?", (PNG,))], Found)
        for text in ("Say.", "Say.", "Other"):
            caller.say([Message("user", text)], on_text=lambda piece: None)
        caller.close()
    written = path.read_text(encoding="utf-8")
    assert KEY not in written and "pass-word" not in written and "PNG" not in written
    assert [json.loads(line)["reply"]["text"] for line in written.splitlines()] == [
        "chat", '{"page": 3}', "one", "two", "ü",
    ]  # fmt: skip

    played = ChatModel(Player(path))
    assert played.name == f"recorded:openai:m@{server.url}"
    reply = played.ask([Message("user", "  Page?\n", (PNG,))], Found, max_tokens=7)
    assert reply.value == Found(page=3) and reply.usage.calls == 2 and reply.usage.input_tokens > 0
    heard: list[str] = []
    texts = [played.say([Message("user", "Say.")], on_text=heard.append).text for _ in range(3)]
    assert texts == heard == ["one", "two", "two"], "in their order, then the last one"
    for message in (Message("user", "Page?", (PNG + b"2",)), Message("user", "New"), Message("user", "Page?")):
        with pytest.raises(
            ChatError, match=r"contains no recorded reply to a request.*Record the replies again"
        ) as caught:
            played.ask([message], Found)
        assert caught.value.failure == "cassette" and not caught.value.retryable


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, content in (("words", "hello"), ("keys", '{"key": 1}\n'), ("list", "[]\n")):
        (tmp_path / name).write_text(content)
    for name in ("words", "keys", "list", "missing"):
        with pytest.raises(UsageError, match=f"{name}: this file does not contain recorded replies"):
            Player(tmp_path / name)
