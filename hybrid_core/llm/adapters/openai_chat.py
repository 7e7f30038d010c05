"""Chat and vision through OpenAI's API, which OpenAI, vLLM, Ollama, LM Studio, llama.cpp, LiteLLM and others offer."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from hybrid_core.errors import ChatError, EndpointError, UsageError
from hybrid_core.llm.adapters.sdk import (
    address,
    network_errors,
    refusal,
    reported,
    translated,
    unusable,
    whole_message,
)
from hybrid_core.llm.chat import Completion, Message, Request, ToolCall, Tools, image_type
from hybrid_core.llm.replies import instruction
from hybrid_core.system import require

DEFAULT_URL = "https://api.openai.com/v1"
_ENDINGS = ("/chat/completions", "/responses")
_LONGEST_TOKEN = 40  # maximum characters per token; a stream with more than max_tokens of these is endless
_OPTIONS = {  # options that may be left out, with words in the errors of servers that refuse them
    "response_format": ("response_format", "json_schema", "structured output", "guided", "grammar", "schema"),
    "temperature": ("temperature",),
    "stream_options": ("stream_options",),
    "max_completion_tokens": ("max_completion_tokens",),
    "max_tokens": ("max_tokens",),
    "parallel_tool_calls": ("parallel_tool_calls",),
}
_LIMITS = {"max_tokens", "max_completion_tokens"}  # two names of one option, of which one is always sent


class OpenAIChat:
    """An ``Endpoint`` for OpenAI's API. Options that a server refuses, such as a schema, are not sent again.

    The key never appears in messages, logs or reprs. Servers other than OpenAI's may work without a key.
    """

    def __init__(self, model: str, *, api_key: str | None = None, base_url: str | None = None) -> None:
        if not api_key and not base_url:
            raise UsageError(
                "OpenAI's models need an API key, and none is set.",
                "Set llm_api_key (or vlm_api_key for a vision model), or the base URL of another server.",
            )
        self._model = model
        server = address(base_url or DEFAULT_URL, DEFAULT_URL, "model's server", _ENDINGS)
        self._secrets = [secret for secret in (api_key, *server.secrets) if secret]
        self._name = f"openai:{model}@{server.name}"
        # OpenAI's newer models accept only one name of the limit, other servers often only the other
        self._refused = {"max_tokens" if server.name == DEFAULT_URL else "max_completion_tokens"}
        self._sdk: Any = require("openai", "openai")
        self._client: Any = self._sdk.OpenAI(**server.options(api_key or "none"))

    def __repr__(self) -> str:
        return f"OpenAIChat({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def takes_schemas(self) -> bool:
        """Return whether the server has not refused the schema of a reply so far."""
        return "response_format" not in self._refused

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        refused = set(self._refused)
        tried: set[str] = set()
        while True:
            options = _options(self._model, request, refused, streamed=on_text is not None)
            try:
                if on_text is None:
                    completion = self._request(options, timeout)
                else:
                    completion = self._stream(options, timeout, request.max_tokens, on_text)
            except _UnknownError as unknown:
                if unknown.option in tried:
                    raise unknown.meaning from None
                tried.add(unknown.option)
                refused = (refused - _LIMITS if unknown.option in _LIMITS else refused) | {unknown.option}
            else:
                self._refused = refused
                return completion

    def close(self) -> None:
        self._client.close()

    def _request(self, options: dict[str, Any], timeout: float) -> Completion:
        with self._translated_errors(options, timeout):
            # JSON in both directions, since converting to the SDK's types takes as long as the rest of a call
            options_of_call = {"timeout": timeout}
            answer = self._client.post("/chat/completions", cast_to=object, body=options, options=options_of_call)
            choices = _part(answer, "choices")
            if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
                if problem := _part(answer, "error"):
                    raise reported(self._name, problem, self._secrets)
                raise unusable(self._name, "it contains no answer")
            message = _part(choices[0], "message")
            if refused := _part(message, "refusal"):
                raise refusal(self._name, str(refused))
            text = _text(_part(message, "content"))
            if text is None:
                raise unusable(self._name, "its answer is not text")
            calls = tuple(_call(call) for call in _part(message, "tool_calls") or [])
            return self._completion(text, _part(choices[0], "finish_reason"), answer, calls)

    def _stream(
        self, options: dict[str, Any], timeout: float, max_tokens: int, on_text: Callable[[str], None]
    ) -> Completion:
        ends = time.monotonic() + timeout
        text = refused = ""
        reason = counted = None
        calls: dict[int, list[str]] = {}  # id, name and arguments by position
        heard = False
        with closing(self._chunks(options, timeout)) as chunks:
            for chunk in chunks:
                heard = True
                counted = chunk if getattr(chunk, "usage", None) else counted
                for choice in (getattr(chunk, "choices", None) or [])[:1]:
                    reason = choice.finish_reason or reason
                    refused += getattr(choice.delta, "refusal", None) or ""
                    if piece := _text(getattr(choice.delta, "content", None)):
                        text += piece
                        on_text(piece)
                    for call in getattr(choice.delta, "tool_calls", None) or []:
                        _add_piece(calls.setdefault(call.index, ["", "", ""]), call)
                if len(text) + sum(len(call[2]) for call in calls.values()) > max_tokens * _LONGEST_TOKEN:
                    reason = "length"
                    break
                if time.monotonic() > ends:
                    message = f"{self._name} did not finish its answer within {timeout:g} s."
                    raise ChatError(message, "Raise the setting model_timeout.", failure="timeout", retryable=True)
        if refused:
            raise refusal(self._name, refused)
        if reason is None:
            message = f"{self._name} stopped in the middle of an answer."
            advice = "Try again later."
            if not heard:
                message = f"{self._name} ended its answer without any text."
                advice = "Try again later, or check the base URL (it usually ends in /v1)."
            raise ChatError(message, advice, failure="connection", retryable=True)
        complete = tuple(ToolCall(*calls[at]) for at in sorted(calls))
        return self._completion(text, reason, counted, complete)

    def _chunks(self, options: dict[str, Any], timeout: float) -> Generator[Any]:
        """Yield the chunks of a streamed response. Translate errors of the SDK.

        Errors that the caller raises between chunks are not translated.
        """
        with (
            self._translated_errors(options, timeout),
            self._client.chat.completions.create(**options, timeout=timeout) as sent,
        ):
            yield from sent

    def _completion(self, text: str, reason: Any, answer: Any, calls: tuple[ToolCall, ...]) -> Completion:
        if str(reason).startswith("content_filter"):  # Gemini adds a category
            raise refusal(self._name, "the content filter stopped it")
        usage = _part(answer, "usage")
        counts = [_part(usage, name) for name in ("prompt_tokens", "completion_tokens")]
        tokens = [count if isinstance(count, int) else 0 for count in counts]
        if calls and not all(call.id and call.name for call in calls):
            raise unusable(self._name, "it calls a function without an id or a name")
        return Completion(text, reason != "length", tokens[0], tokens[1], calls)

    @contextmanager
    def _translated_errors(self, options: dict[str, Any], timeout: float) -> Iterator[None]:
        """Translate errors of the SDK into ChatError, or _UnknownError if the server refuses an option."""
        sdk = self._sdk
        try:
            yield
        except (sdk.OpenAIError, *network_errors(), ValueError, TypeError, AttributeError, RuntimeError) as error:
            meaning = translated(self._name, error, self._secrets, timeout=timeout)
            if meaning.failure == "request" and (option := _refused_option(whole_message(error), options)):
                raise _UnknownError(option, meaning) from None
            raise meaning from meaning.__cause__


class _UnknownError(Exception):
    """The server does not support an option of the request."""

    def __init__(self, option: str, meaning: EndpointError) -> None:
        super().__init__(option)
        self.option = option
        self.meaning = meaning


def _part(answer: Any, name: str) -> Any:
    """Return a field of a response, None if it is missing. A response is JSON, or an object of the SDK in a stream."""
    return answer.get(name) if isinstance(answer, dict) else getattr(answer, name, None)


def _text(content: Any) -> str | None:
    """Return the text of a message, without the reasoning that some servers send as further parts.

    Return None if it is neither text nor a list of parts.
    """
    if isinstance(content, list):
        parts = [part for part in content if _part(part, "type") == "text"]
        return "".join(str(_part(part, "text") or "") for part in parts)
    return content or "" if isinstance(content, str | None) else None


def _call(call: Any) -> ToolCall:
    function = _part(call, "function")
    return ToolCall(
        *(str(_part(at, name) or "") for at, name in ((call, "id"), (function, "name"), (function, "arguments")))
    )


def _add_piece(call: list[str], piece: Any) -> None:
    """Add a piece of a streamed call. Some servers repeat its id and name in each piece."""
    function = piece.function
    call[0], call[1] = piece.id or call[0], getattr(function, "name", None) or call[1]
    call[2] += getattr(function, "arguments", None) or ""


def _refused_option(message: str, options: dict[str, Any]) -> str | None:
    """Return the name of the option that a server refuses in its error message, None if it is unknown.

    If the message names no option and no image, assume that it is the schema, provided that one was sent.
    """
    message = message.lower()
    for option, words in _OPTIONS.items():
        if option in options and any(word in message for word in words):
            return option
    return "response_format" if "response_format" in options and "image" not in message else None


def _options(model: str, request: Request, refused: set[str], *, streamed: bool) -> dict[str, Any]:
    options: dict[str, Any] = {"temperature": 0, **dict.fromkeys(_LIMITS, request.max_tokens)}
    if streamed:
        options |= {"stream": True, "stream_options": {"include_usage": True}}
    if request.schema is not None:
        named = {"name": request.title or "reply", "schema": request.schema, "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": named}
    if request.tools is not None and request.tools.functions:
        options |= _tools(request.tools)
    options = {name: value for name, value in options.items() if name not in refused}
    messages = list(request.messages)
    if request.schema is not None and "response_format" not in options:
        last = messages[-1]
        messages[-1] = replace(last, text=f"{last.text}\n\n{instruction(request.schema)}")
    return options | {"model": model, "messages": [_message_json(message) for message in messages]}


def _tools(tools: Tools) -> dict[str, Any]:
    named = {"type": "function", "function": {"name": tools.named}}
    options: dict[str, Any] = {
        "tools": [{"type": "function", "function": dict(function)} for function in tools.functions],
        "tool_choice": named if tools.named else tools.choice,
    }
    return options if tools.parallel is None else options | {"parallel_tool_calls": tools.parallel}


def _message_json(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if message.calls:
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    if not message.images:
        return {"role": message.role, "content": message.text}
    parts: list[dict[str, Any]] = [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{image_type(image)};base64,{base64.b64encode(image).decode()}"},
        }
        for image in message.images
    ]
    return {"role": message.role, "content": [*parts, {"type": "text", "text": message.text}]}
