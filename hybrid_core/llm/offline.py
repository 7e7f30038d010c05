"""Endpoints that call no model: recorded replies, and token estimates."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_core.errors import ChatError, UsageError
from hybrid_core.llm.budget import MESSAGE_TOKENS, estimate
from hybrid_core.llm.chat import Completion, Endpoint, Request, ToolCall
from hybrid_core.llm.replies import ReplyCache

PICTURE = 1600
"""The number of tokens of a picture at the endpoints that count most. They scale down pictures above 1,568 pixels."""
# Tokens of a typical reply, or of an entry in it.
_USUAL_REPLY = {"PageSaid": 350, "SectionSummary": 70, "Check": 12, "Description": 50}
_MIN_REPLY = 60
_SECTION = re.compile(r"^\[section (\d+)\]", re.MULTILINE)
_ENTRY = re.compile(r"^\d+\. Title: ", re.MULTILINE)
_SUMMARY = "What the section says of its matter, with the names and figures that stand in it. " * 3


class Recorder:
    """An ``Endpoint`` that appends each response of another endpoint to a JSONL file. Failures are not recorded.

    A line contains the name of the model, the request without its images, and the response. It contains no keys,
    headers or URLs with secrets.
    """

    def __init__(self, endpoint: Endpoint, path: Path) -> None:
        self._endpoint = endpoint
        self._path = path
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._endpoint.name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        completion = self._endpoint.complete(request, timeout, on_text)
        messages = [{"role": m.role, "text": m.text, "images": len(m.images)} for m in request.messages]
        entry = {"key": request_hash(request), "model": self.name, "messages": messages, "reply": asdict(completion)}
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(line)
            except OSError as error:
                raise UsageError(
                    f"{self._path}: the recorded replies cannot be written to this file ({error}).",
                    "Set record_replies to another file.",
                ) from error
        return completion

    def close(self) -> None:
        self._endpoint.close()


class Player:
    """An ``Endpoint`` that answers from a recording and calls no model.

    A request that was recorded several times gets its replies in order, then the last one again. Raise UsageError for
    an invalid recording. ``complete`` raises ChatError ("cassette") for a request that was not recorded.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._replies: dict[str, list[Completion]] = defaultdict(list)
        self._lock = threading.Lock()
        self._name = "recorded"
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                entry: dict[str, Any] = json.loads(line)
                calls = tuple(ToolCall(**call) for call in entry["reply"].get("calls", ()))
                self._replies[entry["key"]].append(Completion(**entry["reply"] | {"calls": calls}))
                self._name = f"recorded:{entry['model']}"
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"{path}: this file does not contain recorded replies of a model ({error}).",
                "Set record_replies to this path, and ask the questions again to record the replies.",
            ) from error

    @property
    def name(self) -> str:
        return self._name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        with self._lock:
            replies = self._replies.get(request_hash(request))
            if not replies:
                last = " ".join(request.messages[-1].text.split())[:80]
                raise ChatError(
                    f"{self._path} contains no recorded reply to a request that ends in: {last}",
                    "The documents, the question or a prompt have changed. Record the replies again.",
                    failure="cassette",
                )
            completion = replies.pop(0) if len(replies) > 1 else replies[0]
        if on_text is not None:
            on_text(completion.text)
        return completion

    def close(self) -> None:
        pass


def request_hash(request: Request) -> str:
    """Return a hash of a request's roles, words, images, schema and tools.

    Spacing and the token limit do not change it.
    """
    messages = [
        [m.role, " ".join(m.text.split()), *(hashlib.sha256(image).hexdigest() for image in m.images)]
        for m in request.messages
    ]
    calls = [[asdict(call) for call in m.calls] or m.call for m in request.messages]
    tools = [asdict(request.tools), calls] if request.tools else []  # recordings without tools have no such part
    content = json.dumps([messages, request.schema, *tools], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


class CountingEndpoint:
    """An ``Endpoint`` that estimates tokens and calls no model.

    It has the name of another endpoint, so that cached replies of that endpoint are used. Estimates are rather too
    high: three bytes per token for inputs, the typical size for outputs.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        text = "\n".join(message.text for message in request.messages)
        tokens = sum(
            estimate(message.text) + MESSAGE_TOKENS + PICTURE * len(message.images) for message in request.messages
        )
        if request.schema is not None:
            tokens += estimate(json.dumps(request.schema, ensure_ascii=False, separators=(",", ":")))
        sections = [int(number) for number in _SECTION.findall(text)] if request.title == "SectionSummaries" else []
        answer = _smallest_value(request.schema or {}, request.schema or {})
        if sections:
            answer = {"summaries": [{"section": section, "summary": _SUMMARY, "gaps": []} for section in sections]}
        usual = _USUAL_REPLY.get(request.title, _MIN_REPLY)
        usual = max(
            usual, _USUAL_REPLY["SectionSummary"] * len(sections), _USUAL_REPLY["Check"] * len(_ENTRY.findall(text))
        )
        return Completion(json.dumps(answer), True, tokens, min(usual, request.max_tokens))

    def close(self) -> None:
        pass


class SealedReplies(ReplyCache):
    """A reply cache that is read and never written."""

    def put(self, key: str, text: str) -> None:
        pass

    def put_part(self, key: str, text: str) -> None:
        pass


def _smallest_value(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Return the shortest value that a JSON schema in the form of ``replies.json_schema`` allows."""
    if "$ref" in schema:
        return _smallest_value(whole["$defs"][schema["$ref"].rsplit("/", 1)[1]], whole)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _smallest_value(schema["anyOf"][0], whole)
    kind = schema.get("type")
    if kind == "object":
        return {name: _smallest_value(field, whole) for name, field in schema.get("properties", {}).items()}
    return {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}.get(str(kind), "-")
