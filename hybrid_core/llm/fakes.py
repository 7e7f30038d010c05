"""Models that answer from rules: for tests, for floors and ceilings in the harness, for trying out without a key."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.chat import Message
from hybrid_core.llm.client.endpoint import Completion, Request


@dataclass(frozen=True, slots=True)
class Said:
    """One answer, or one failure: all but ``text``, ``finish``, ``refusal`` and ``wait`` exist over HTTP only.

    ``break_after`` cuts the connection after so many characters of the text; ``body`` is sent in place of an answer.
    """

    text: str = ""
    finish: str = "stop"  # "length": max_tokens cut it off; "content_filter"
    refusal: str = ""
    wait: float = 0.0  # seconds before it answers, in a stream before each piece
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    break_after: int | None = None
    body: Any = None


Answer = Callable[[Request], "Said | BaseModel | dict[str, Any] | str"]


def said(answer: Said | BaseModel | dict[str, Any] | str) -> Said:
    """What a rule returned as an answer; models and dictionaries become JSON."""
    if isinstance(answer, BaseModel):
        return Said(answer.model_dump_json())
    if isinstance(answer, dict):
        return Said(json.dumps(answer, ensure_ascii=False))
    return Said(answer) if isinstance(answer, str) else answer


def tokens(request: Request) -> int:
    """What a scripted model counts: four characters a token, 500 an image."""
    return sum(len(m.text) // 4 + 500 * len(m.images) for m in request.messages)


class ScriptedEndpoint:
    """An ``Endpoint`` without a network: ``answer`` says what it replies. Keeps every request in ``requests``."""

    def __init__(self, answer: Answer, name: str = "rules") -> None:
        self._answer = answer
        self._name = f"scripted:{name}"
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        self.requests.append(request)
        made = said(self._answer(request))
        time.sleep(made.wait)
        if made.refusal or made.finish == "content_filter":
            raise ChatError(f"{self._name} declined to answer ({made.refusal}).", failure="refusal")
        if on_text is not None:
            for piece in pieces(made.text):
                on_text(piece)
        return Completion(made.text, made.finish != "length", tokens(request), len(made.text) // 4)

    def close(self) -> None:
        pass


def pieces(text: str) -> list[str]:
    """A text as it is streamed, word by word."""
    return re.findall(r"\s*\S+|\s+$", text)


def read_request(body: dict[str, Any]) -> Request:
    """A request in OpenAI's or Anthropic's JSON as the one that it was made from; images come back as their bytes."""
    messages = [Message("system", body["system"])] if body.get("system") else []
    for turn in body["messages"]:
        content = turn["content"]
        parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        urls = [part["image_url"]["url"].split(",", 1)[1] for part in parts if part["type"] == "image_url"]
        urls += [part["source"]["data"] for part in parts if part["type"] == "image"]
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        messages.append(Message(turn["role"], text, tuple(map(base64.b64decode, urls))))
    named = (body.get("response_format") or {}).get("json_schema") or {}
    schema = named.get("schema") or ((body.get("output_config") or {}).get("format") or {}).get("schema")
    most = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    return Request(tuple(messages), most, schema, named.get("name", ""))


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
