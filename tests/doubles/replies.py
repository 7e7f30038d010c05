"""Replies of scripted models: answers, failures, and the untidy ways in which models write JSON."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from eval.runs.scripted import ScriptedEndpoint, as_text, tokens
from hybrid_core.errors import ChatError
from hybrid_core.llm.chat import Completion, Message, Request, ToolCall, Tools


@dataclass(frozen=True, slots=True)
class FakeReply:
    """One answer, or one failure: all but ``text``, ``finish``, ``refusal`` and ``wait`` exist over HTTP only.

    ``break_after`` cuts the connection after so many characters of the text; ``body`` is sent in place of an answer.
    """

    text: str = ""
    finish: str = "stop"  # "length": max_tokens cut it off; "content_filter"
    refusal: str = ""
    calls: tuple[ToolCall, ...] = ()
    wait: float = 0.0  # seconds before it answers, in a stream before each piece
    hold: threading.Event | None = None  # the last piece of a stream waits for it
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    break_after: int | None = None
    body: Any = None


Answer = Callable[[Request], "FakeReply | BaseModel | dict[str, Any] | str"]


def fake_reply(answer: FakeReply | BaseModel | dict[str, Any] | str) -> FakeReply:
    """What a rule returned as an answer."""
    return answer if isinstance(answer, FakeReply) else FakeReply(as_text(answer))


class FakeEndpoint(ScriptedEndpoint):
    """One whose rule may also wait, be cut off, and decline."""

    def __init__(self, answer: Answer, name: str = "rules") -> None:
        def rule(request: Request) -> Completion:
            made = fake_reply(answer(request))
            time.sleep(made.wait)
            if made.refusal or made.finish == "content_filter":
                raise ChatError(f"{self.name} declined to answer ({made.refusal}).", failure="refusal")
            return Completion(made.text, made.finish != "length", tokens(request), len(made.text) // 4, made.calls)

        super().__init__(rule, name)


def read_request(body: dict[str, Any]) -> Request:
    """A request in OpenAI's or Anthropic's JSON as the one that it was made from; images come back as their bytes."""
    messages = [Message("system", body["system"])] if body.get("system") else []
    for turn in body["messages"]:
        content = turn["content"] or ""
        parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [part for part in parts if part["type"] == "tool_result"]
        if results:  # Anthropic's
            messages += [Message("tool", part["content"], call=part["tool_use_id"]) for part in results]
            continue
        urls = [part["image_url"]["url"].split(",", 1)[1] for part in parts if part["type"] == "image_url"]
        urls += [part["source"]["data"] for part in parts if part["type"] == "image"]
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        images = tuple(map(base64.b64decode, urls))
        messages.append(Message(turn["role"], text, images, _calls(turn, parts), turn.get("tool_call_id", "")))
    named = (body.get("response_format") or {}).get("json_schema") or {}
    schema = named.get("schema") or ((body.get("output_config") or {}).get("format") or {}).get("schema")
    most = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    return Request(tuple(messages), most, schema, named.get("name", ""), _tools(body))


def _calls(turn: dict[str, Any], parts: list[Any]) -> tuple[ToolCall, ...]:
    called = [ToolCall(one["id"], **one["function"]) for one in turn.get("tool_calls") or ()]
    used = [ToolCall(one["id"], one["name"], json.dumps(one["input"])) for one in parts if one["type"] == "tool_use"]
    return (*called, *used)


def _tools(body: dict[str, Any]) -> Tools | None:
    if "tools" not in body:
        return None
    functions = tuple(one.get("function", one) for one in body["tools"])
    choice = body["tool_choice"]
    if isinstance(choice, dict) and choice["type"] in ("function", "tool"):
        return Tools(functions, named=choice.get("function", choice)["name"])
    kind = choice if isinstance(choice, str) else {"any": "required"}.get(choice["type"], choice["type"])
    return Tools(functions, kind)


def fenced(text: str) -> str:
    return f"```json\n{text}\n```"


def chatty(text: str) -> str:
    return (
        f'Sure! Here\'s what I found in the "document" {{as JSON}}:\n\n{text}\n\nLet me know if you need anything else.'
    )


def thoughtful(text: str) -> str:
    return f'<think>The user wants JSON such as {{"answer": 0}}, so…</think>\n{text}'


def truncated(text: str) -> str:
    return text[: len(text) // 2]


def pythonic(text: str) -> str:
    """None for null, True for true."""
    for json_word, python_word in (("null", "None"), ("true", "True"), ("false", "False")):
        text = re.sub(rf"(?<=[:\[,\s]){json_word}\b", python_word, text)
    return text


def trailing_commas(text: str) -> str:
    return re.sub(r"(?<=[\w\"\]}])([\]}])", r",\1", text)
