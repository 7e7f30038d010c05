"""Chat and vision through Anthropic's API."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from hybrid_core.errors import ChatError, UsageError
from hybrid_core.llm.adapters.sdk import address, network_errors, refusal, translated, unusable
from hybrid_core.llm.chat import Completion, Message, Request, ToolCall, Tools, image_type
from hybrid_core.llm.replies import instruction
from hybrid_core.system import require

DEFAULT_URL = "https://api.anthropic.com"
_ENDINGS = ("/messages", "/v1")
_FORMAT = ("output_config", "output_format", "json_schema", "structured output", "schema", "grammar")


class AnthropicChat:
    """An ``Endpoint`` for Anthropic's API.

    After a model has refused a schema, later prompts describe the schema in words.
    """

    def __init__(self, model: str, *, api_key: str | None = None, base_url: str | None = None) -> None:
        if not api_key:
            raise UsageError(
                "Anthropic's models need an API key, and none is set.",
                "Set llm_api_key (or vlm_api_key for a vision model).",
            )
        self._model = model
        server = address(base_url or DEFAULT_URL, DEFAULT_URL, "model's server", _ENDINGS)
        self._secrets = [secret for secret in (api_key, *server.secrets) if secret]
        self._name = f"anthropic:{model}@{server.name}"
        self._forced = True
        self._sdk: Any = require("anthropic", "anthropic")
        self._client: Any = self._sdk.Anthropic(**server.options(api_key))

    def __repr__(self) -> str:
        return f"AnthropicChat({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def takes_schemas(self) -> bool:
        """Return whether the server has not refused the schema of a reply so far."""
        return self._forced

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        forced = self._forced and request.schema is not None
        try:
            return self._send(request, timeout, on_text, forced)
        except ChatError as error:
            if not forced or error.failure != "request" or not any(w in error.message.lower() for w in _FORMAT):
                raise
        self._forced = False
        return self._send(request, timeout, on_text, False)

    def close(self) -> None:
        self._client.close()

    def _send(
        self, request: Request, timeout: float, on_text: Callable[[str], None] | None, forced: bool
    ) -> Completion:
        options = _options(self._model, request, forced)
        if on_text is not None:
            return self._stream(options, timeout, on_text)
        with self._translated_errors(timeout):
            answer = self._client.messages.create(**options, timeout=timeout)
            if not isinstance(getattr(answer, "content", None), list):
                raise unusable(self._name, "it is empty")
            text = "".join(block.text for block in answer.content if block.type == "text")
            calls = tuple(
                ToolCall(block.id, block.name, json.dumps(block.input, ensure_ascii=False))
                for block in answer.content
                if block.type == "tool_use"
            )
            usage = answer.usage
            return self._completion(text, answer.stop_reason, usage.input_tokens, usage.output_tokens, calls)

    def _stream(self, options: dict[str, Any], timeout: float, on_text: Callable[[str], None]) -> Completion:
        ends = time.monotonic() + timeout
        text = ""
        reason = None
        calls: dict[int, list[str]] = {}  # id, name and arguments by position
        input_tokens = output_tokens = 0
        with closing(self._events(options, timeout)) as events:
            for event in events:
                if event.type == "message_start":
                    input_tokens = event.message.usage.input_tokens
                elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                    text += event.delta.text
                    on_text(event.delta.text)
                elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                    calls[event.index] = [event.content_block.id, event.content_block.name, ""]
                elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    calls[event.index][2] += event.delta.partial_json
                elif event.type == "message_delta":
                    reason, output_tokens = event.delta.stop_reason, event.usage.output_tokens
                if time.monotonic() > ends:
                    message = f"{self._name} did not finish its answer within {timeout:g} s."
                    raise ChatError(message, "Raise the setting model_timeout.", failure="timeout", retryable=True)
        if reason is None:
            message = f"{self._name} stopped in the middle of an answer."
            raise ChatError(message, "Try again later.", failure="connection", retryable=True)
        complete = tuple(ToolCall(call, name, arguments or "{}") for call, name, arguments in calls.values())
        return self._completion(text, reason, input_tokens, output_tokens, complete)

    def _events(self, options: dict[str, Any], timeout: float) -> Generator[Any]:
        """Yield the events of a streamed response. Translate errors of the SDK.

        Errors that the caller raises between events are not translated.
        """
        with (
            self._translated_errors(timeout),
            self._client.messages.create(**options, stream=True, timeout=timeout) as stream,
        ):
            yield from stream

    def _completion(
        self, text: str, reason: str | None, input_tokens: int, output_tokens: int, calls: tuple[ToolCall, ...]
    ) -> Completion:
        if reason == "refusal":
            raise refusal(self._name, text or "no reason given")
        finished = reason not in ("max_tokens", "model_context_window_exceeded")
        return Completion(text, finished, input_tokens, output_tokens, calls)

    @contextmanager
    def _translated_errors(self, timeout: float) -> Iterator[None]:
        try:
            yield
        except (
            self._sdk.AnthropicError, *network_errors(), ValueError, TypeError, AttributeError, RuntimeError,
        ) as error:  # fmt: skip
            meaning = translated(self._name, error, self._secrets, timeout=timeout)
            raise meaning from meaning.__cause__


def _options(model: str, request: Request, forced: bool) -> dict[str, Any]:
    messages = list(request.messages)
    options: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens}
    if request.schema is not None and forced:
        options["output_config"] = {"format": {"type": "json_schema", "schema": request.schema}}
    elif request.schema is not None:
        messages[-1] = replace(messages[-1], text=f"{messages[-1].text}\n\n{instruction(request.schema)}")
    if system := "\n\n".join(message.text for message in messages if message.role == "system"):
        options["system"] = system
    if request.tools is not None and request.tools.functions:
        options |= _tools(request.tools)
    converted: list[dict[str, Any]] = []
    for message in messages:
        item = _message_json(message)
        if message.role == "tool" and converted and converted[-1]["role"] == "user":
            converted[-1]["content"] += item["content"]  # results of several calls are one message
        elif message.role != "system":
            converted.append(item)
    return options | {"messages": converted}


def _tools(tools: Tools) -> dict[str, Any]:
    definitions = [
        {
            "name": function["name"], "description": function.get("description") or "",
            "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
        }
        for function in tools.functions
    ]  # fmt: skip
    kind = "tool" if tools.named else {"required": "any"}.get(tools.choice, tools.choice)
    choice: dict[str, Any] = {"type": kind} | ({"name": tools.named} if tools.named else {})
    if tools.parallel is False and kind != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tools": definitions, "tool_choice": choice}


def _input(arguments: str) -> Any:
    """Return the arguments of a call as an object, which this API requires."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _message_json(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        result = {"type": "tool_result", "tool_use_id": message.call, "content": message.text}
        return {"role": "user", "content": [result]}
    if message.calls:
        text = [{"type": "text", "text": message.text}] if message.text.strip() else []
        calls = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call.arguments)}
            for call in message.calls
        ]
        return {"role": message.role, "content": [*text, *calls]}
    parts: list[dict[str, Any]] = [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": image_type(image),
                "data": base64.b64encode(image).decode(),
            },
        }
        for image in message.images
    ]
    return {"role": message.role, "content": [*parts, {"type": "text", "text": message.text}]}
